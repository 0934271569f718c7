#include <set>

#include "helpers/codes.h"
#include "helpers/programs.h"
#include "helpers/systems.h"
#include "placing/module.h"

namespace heddle::placing {
namespace {

using Side = Function::Side;

Module module_on(const Target& target) {
    return {std::make_shared<const placing::System>(system_for(target)), std::make_shared<const Target>(target), {}};
}

void expect_sound(const Module& module) {
    const auto fine = verify(module);
    EXPECT_TRUE(fine) << (fine ? "" : render(fine.error())) << print(module);
}

Module split_soundly(const Module& source) {
    expect_sound(source);
    auto made = split(source);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    if (!made) return {};
    expect_sound(*made);
    return std::move(*made);
}

std::multiset<Side> sides(const Module& module) {
    std::multiset<Side> list;
    for (const Function& function : module.functions) list.insert(function.side);
    return list;
}

// n rows of softmax between operations of the host.
Graph rows(int64_t n) {
    ProgramInput x{"x", {DType::float32, {named_size("n", n), 64}}};
    Graph graph = graph_of("a = relu(x); b = softmax(a, axis: 1); c = tanh(b); d = add([c, a]); e = exp(d)", {x});
    graph.dimension_names = {{"n", n}};
    return graph;
}

Module mixed(const Target& target, const Graph& graph, const std::vector<std::string>& annotations) {
    Module module = module_on(target);
    module.add_function(mixed_function("main", graph, *module.system, placed(graph, *module.system, annotations)));
    return module;
}

const std::vector<std::string> two_parts = {"a=cpu0", "b=gpu0", "c=cpu0", "d=gpu1", "e=cpu0"};

TEST(Targets2, AMixedFunctionBecomesOneHostFunctionAndOneForEachPartOnADevice) {
    const Module module = split_soundly(mixed(two_cards(), rows(8), two_parts));
    EXPECT_EQ(sides(module), (std::multiset<Side>{Side::host, Side::device, Side::device})) << print(module);
    const Function& host = module.function(module.find("main"));
    EXPECT_TRUE(host.entry);
    int launches = 0, copies = 0;
    for (const Step& step : host.steps) {
        copies += step.kind == Step::Kind::copy;
        if (step.kind != Step::Kind::call) continue;
        launches++;
        EXPECT_EQ(module.function(step.callee).side, Side::device);
        EXPECT_FALSE(module.function(step.callee).entry);
        // What a part computes follows from the host's parameters.
        ASSERT_EQ(step.extents.size(), 1u);
        EXPECT_EQ(step.extents[0][0].text(), "n");
        EXPECT_EQ(step.extents[0][0].origin()->evaluate({{"n", 12}}, -1), 12);
    }
    EXPECT_EQ(launches, 2);
    EXPECT_EQ(copies, 5);  // a and b to gpu0 and back, a and c to gpu1, d back
}

TEST(Targets2, ExtentsOfLaunchesAreRightAtOtherSizes) {
    const Module small = split_soundly(mixed(two_cards(), rows(8), two_parts));
    const Module large = split_soundly(mixed(two_cards(), rows(23), two_parts));
    ASSERT_EQ(small.functions.size(), large.functions.size());
    const Function &host = small.function(small.find("main")), &other = large.function(large.find("main"));
    ASSERT_EQ(host.steps.size(), other.steps.size());
    for (size_t s = 0; s < host.steps.size(); s++) {
        for (size_t r = 0; r < host.steps[s].extents.size(); r++) {
            for (size_t d = 0; d < host.steps[s].extents[r].size(); d++) {
                const Size& size = host.steps[s].extents[r][d];
                const int64_t value = size.named() ? size.origin()->evaluate({{"n", 23}}, -1) : size.value();
                EXPECT_EQ(value, other.steps[s].extents[r][d].value());
            }
        }
    }
}

TEST(Targets3, ATargetWithoutAHostGivesDeviceFunctionsAlone) {
    Target card = *two_cards().devices[1].target;
    const Module module = split_soundly(mixed(card, rows(8), {}));
    ASSERT_EQ(module.functions.size(), 1u) << print(module);
    EXPECT_EQ(module.functions[0].side, Side::device);
    EXPECT_FALSE(module.functions[0].entry);
    card.host = two_cards().devices[0].target;
    EXPECT_EQ(sides(split_soundly(mixed(card, rows(8), {"b=cuda", "c=host"}))).count(Side::host), 1u);
}

// main calls `both` from the host and from gpu0, `once` from gpu0 alone; both of them call `inner`.
Module with_helpers() {
    Module module = module_on(two_cards());
    const auto graph = std::make_shared<const Graph>(graph_of("y = relu(x)", {input("x", {8})}));
    const auto helper = [&](const std::string& name, FunctionId inner) {
        Function function = function_of(name, graph);
        if (inner != no_id) {
            const ValueId again = function.add_value("again", graph->tensor(graph->outputs[0]).type);
            function.steps.push_back(
                {.kind = Step::Kind::call, .inputs = function.results, .outputs = {again}, .callee = inner});
            function.results = {again};
        }
        return module.add_function(std::move(function));
    };
    const FunctionId inner = helper("inner", no_id), both = helper("both", inner), once = helper("once", inner);
    helper("unused", no_id);
    const MemoryId cpu = module.system->default_location(DeviceId(0)).memory;
    const MemoryId gpu = module.system->default_location(DeviceId(1)).memory;
    const TensorType type = graph->tensor(graph->outputs[0]).type;
    Function main{.name = "main", .entry = true};
    const ValueId x = main.add_value("x", type, cpu), h = main.add_value("h", type, cpu);
    const ValueId there = main.add_value("there", type, gpu), b = main.add_value("b", type, gpu);
    const ValueId o = main.add_value("o", type, gpu), back = main.add_value("back", type, cpu);
    main.parameters = {x};
    main.results = {back};
    main.steps = {{.kind = Step::Kind::call, .inputs = {x}, .outputs = {h}, .callee = both},
                  {.kind = Step::Kind::copy, .inputs = {h}, .outputs = {there}, .route = {cpu, gpu}},
                  {.kind = Step::Kind::call, .inputs = {there}, .outputs = {b}, .device = DeviceId(1), .callee = both},
                  {.kind = Step::Kind::call, .inputs = {b}, .outputs = {o}, .device = DeviceId(1), .callee = once},
                  {.kind = Step::Kind::copy, .inputs = {o}, .outputs = {back}, .route = {gpu, cpu}}};
    module.add_function(std::move(main));
    return module;
}

TEST(Targets4, HelpersAreClonedWhereBothSidesCallThemAndAreNotOnTheHostForTheDeviceAlone) {
    const Module module = split_soundly(with_helpers());
    std::set<std::string> names;
    for (const Function& function : module.functions) {
        names.insert(function.name);
        EXPECT_EQ(function.side == Side::device, function.name.ends_with("@gpu0")) << function.name;
    }
    EXPECT_EQ(names, (std::set<std::string>{"main", "both", "inner", "both@gpu0", "once@gpu0", "inner@gpu0"}));
}

TEST(Targets19, TheVerifierRefusesACalleeOutsideOfItsCallersTarget) {
    Module module = split_soundly(with_helpers());
    for (size_t f = 0; f < module.functions.size(); f++) {
        if (module.functions[f].entry) continue;
        Module wrong = module;
        const bool on_device = module.functions[f].side == Side::device;
        wrong.functions[f].target = module.system->device(DeviceId(on_device ? 0 : 1)).target;
        // `main` may call for any device of its machine, but what its helpers call or are is not of theirs then.
        EXPECT_EQ(code_of(verify(wrong)), "placing.broken") << module.functions[f].name;
        Target elsewhere;
        elsewhere.kind = "webgpu";
        wrong.functions[f].target = std::make_shared<const Target>(elsewhere);
        EXPECT_EQ(code_of(verify(wrong)), "placing.broken") << module.functions[f].name;
    }
}

TEST(Targets19, TargetsLieWithinThoseOfTheLevelsAbove) {
    const Target machine = two_cards();
    const Target &cpu = *machine.devices[0].target, &card = *machine.devices[1].target;
    Target with_host = card, cluster;
    with_host.host = machine.devices[0].target;
    cluster.machines = {{"m", std::make_shared<const Target>(machine)}};
    for (const Target* inner : std::initializer_list<const Target*>{&cpu, &card, &with_host, &machine}) {
        EXPECT_TRUE(lies_within(*inner, machine));
        EXPECT_TRUE(lies_within(*inner, cluster));
    }
    EXPECT_TRUE(lies_within(cpu, with_host));
    EXPECT_FALSE(lies_within(machine, with_host));
    EXPECT_FALSE(lies_within(cpu, card));
    EXPECT_FALSE(lies_within(with_host, card));
    Target narrow = cpu;
    narrow.cpu = "znver4";
    EXPECT_TRUE(lies_within(narrow, cpu));
    EXPECT_FALSE(lies_within(cpu, narrow));
}

std::shared_ptr<const Target> outside(const std::string& optimise) {
    Target target;
    target.kind = "library";
    target.library = "cc";
    target.version = "12";
    target.options = {{"optimise", optimise}};
    return std::make_shared<const Target>(target);
}

TEST(Targets20, TwoOptionSetsOfOneLibraryLiveInOneModule) {
    Module module = module_on(two_cards());
    const auto graph = std::make_shared<const Graph>(graph_of("y = relu(x)", {input("x", {8})}));
    const FunctionId fast = module.add_function(function_of("fast", graph, outside("3")));
    const FunctionId plain = module.add_function(function_of("plain", graph, outside("0")));
    Function main = function_of("main", graph);
    main.entry = true;
    main.steps[0] = {.kind = Step::Kind::call, .inputs = main.parameters, .outputs = main.results, .callee = fast};
    const ValueId again = main.add_value("again", graph->tensor(graph->outputs[0]).type);
    main.steps.push_back({.kind = Step::Kind::call, .inputs = main.results, .outputs = {again}, .callee = plain});
    main.results = {again};
    module.add_function(std::move(main));
    const Module made = split_soundly(module);
    EXPECT_EQ(made.function(made.find("fast")).target->options.at("optimise"), "3");
    EXPECT_EQ(made.function(made.find("plain")).target->options.at("optimise"), "0");
    EXPECT_NE(print(made).find("for library cc 12 optimise=3"), std::string::npos) << print(made);
}

TEST(Targets21, AFunctionWithoutATargetTakesTheEnclosingOne) {
    const Module module = split_soundly(with_helpers());
    EXPECT_EQ(module.function(module.find("main")).target->level(), TargetLevel::machine);
    EXPECT_EQ(module.function(module.find("inner")).target->kind, "cpu");
    EXPECT_EQ(module.function(module.find("inner@gpu0")).target->kind, "cuda");
}

TEST(Modules, WhatCannotBeSplitIsRefused) {
    Module module = with_helpers();
    Function& inner = module.functions[module.find("inner")];
    const auto own_target = inner.target;
    inner.target = module.system->device(DeviceId(1)).target;  // the host calls it, too
    EXPECT_EQ(code_of(split(module)), "placing.target");
    inner.target = own_target;
    inner.steps.push_back({.kind = Step::Kind::call,
                           .inputs = inner.parameters,
                           .outputs = {inner.add_value("z", inner.values[0].type)},
                           .callee = module.find("both")});
    EXPECT_EQ(code_of(split(module)), "placing.recursion");
    EXPECT_EQ(code_of(verify(module)), "placing.broken");
}

TEST(Modules, TheVerifierNoticesDamage) {
    const Module module = split_soundly(mixed(two_cards(), rows(8), two_parts));
    const auto broken = [&](const auto& damage) {
        Module wrong = module;
        damage(wrong, wrong.functions[wrong.find("main")]);
        return code_of(verify(wrong)) == "placing.broken";
    };
    EXPECT_TRUE(broken([](Module&, Function& main) { main.steps.erase(main.steps.begin()); }));
    EXPECT_TRUE(broken([](Module&, Function& main) { std::swap(main.steps[0], main.steps[1]); }));
    EXPECT_TRUE(broken([](Module&, Function& main) { main.steps.push_back(main.steps[0]); }));
    EXPECT_TRUE(broken([](Module&, Function& main) { main.values[main.parameters[0]].memory = MemoryId(1); }));
    EXPECT_TRUE(broken([](Module&, Function& main) { main.steps[1].route.pop_back(); }));
    EXPECT_TRUE(broken([](Module& wrong, Function& main) {
        main.name = wrong.functions[0].name;
        main.name = "main@gpu0";
    }));
    EXPECT_TRUE(broken([](Module&, Function& main) { main.results[0] = ValueId(999); }));
    EXPECT_TRUE(broken([](Module& wrong, Function&) { wrong.functions[0].side = Side::host; }));
}

}  // namespace
}  // namespace heddle::placing
