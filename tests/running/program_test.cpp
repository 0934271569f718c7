// One program whose parts run on several kinds of device, beside the interpreter.
#include <set>

#include "running/program.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/codes.h"
#include "helpers/device_backend.h"
#include "helpers/programs.h"
#include "helpers/running.h"
#include "helpers/systems.h"

namespace heddle::running {
namespace {

using placing::DeviceId;
using placing::MemoryId;

SystemDevice device(const std::string& name, const std::string& kind, int id = 0) {
    auto target = std::make_shared<Target>();
    target->kind = kind;
    return {.name = name, .target = target, .id = id};
}

// Three kinds that this machine has, and two cards that only a test has.
Target several_kinds() {
    Target machine;
    machine.kind = "machine";
    machine.devices = {device("cpu0", "cpu"), device("c0", "c"), device("ref0", "reference"), device("gpu0", "cuda", 0),
                       device("gpu1", "cuda", 1)};
    machine.devices[1].scopes = {{"global", int64_t{1} << 28, 1e10}, {"fast", 1 << 20, 1e11}};
    for (size_t d = 1; d < machine.devices.size(); d++)
        machine.links.push_back({"cpu0", machine.devices[d].name, 10e9, 1e-6});
    return machine;
}

MemoryId memory_named(const placing::System& system, const std::string& device, const std::string& scope = "") {
    const auto found = placing::locations_for(system, {device, scope});
    EXPECT_TRUE(found) << device;
    return found ? found->front().memory : MemoryId();
}

DeviceId device_named(const placing::System& system, const std::string& device) {
    const auto found = placing::locations_for(system, {device, ""});
    EXPECT_TRUE(found) << device;
    return found ? found->front().device : DeviceId();
}

const Inventory& inventory() {
    static const Inventory inventory = [] {
        Inventory made = inventory_of_this_machine(2);
        // Cards with memory of their own, whose addresses lead nowhere here.
        for (int card = 0; card < 2; card++) {
            const auto engine =
                inference::make_engine(2, inference::make_kernel_cache(nullptr, std::make_shared<FarBackend>()));
            made.devices.push_back({"cuda",
                                    "card " + std::to_string(card),
                                    "sm_90",
                                    {"tensor-cores"},
                                    int64_t{1} << 30,
                                    1,
                                    driver_of(engine)});
        }
        return made;
    }();
    return inventory;
}

placing::Module module_of(const Graph& graph, const Target& target, const std::vector<std::string>& annotations) {
    placing::Module source{
        std::make_shared<const placing::System>(system_for(target)), std::make_shared<const Target>(target), {}};
    source.add_function(
        placing::mixed_function("main", graph, *source.system, placed(graph, *source.system, annotations)));
    auto module = placing::split(source);
    EXPECT_TRUE(module) << (module ? "" : render(module.error()));
    if (!module) return {};
    const auto fine = placing::verify(*module);
    EXPECT_TRUE(fine) << (fine ? "" : render(fine.error())) << placing::print(*module);
    return std::move(*module);
}

std::shared_ptr<Program> load(placing::Module module) {
    auto program = Program::load(std::move(module), inventory());
    EXPECT_TRUE(program) << (program ? "" : render(program.error()));
    return program ? *program : nullptr;
}

std::vector<DeviceTensor> arguments_for(Program& program, const std::vector<TensorData>& feeds) {
    std::vector<DeviceTensor> arguments;
    for (size_t i = 0; i < feeds.size(); i++) {
        auto there = program.put(feeds[i], program.entry().value(program.entry().parameters[i]).memory);
        EXPECT_TRUE(there) << (there ? "" : render(there.error()));
        if (there) arguments.push_back(std::move(*there));
    }
    return arguments;
}

// Within the bounds of the oracle.
void expect_as_interpreted(const Graph& graph, const std::vector<TensorData>& feeds,
                           const std::vector<DeviceTensor>& found) {
    const auto expected = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    ASSERT_EQ(found.size(), graph.outputs.size());
    for (size_t i = 0; i < found.size(); i++) {
        const auto verdict = compare_bounded(found[i].data, (*expected)[graph.outputs[i]]);
        EXPECT_TRUE(verdict.equal) << i << ": " << verdict.text();
        EXPECT_EQ(verdict.undecided, 0);
    }
}

Graph network() {
    return graph_of(
        "h = relu(matmul(x, w)); s = softmax(h, axis: 1); t = tanh(h); m = mul(s, t); y = matmul(m, v); z = exp(y)",
        {input("x", {24, 32}), input("w", {32, 48}), input("v", {48, 8})});
}

std::vector<TensorData> feeds() {
    return {random_tensor({24, 32}, 1, 0.3), random_tensor({32, 48}, 2, 0.3), random_tensor({48, 8}, 3, 0.3)};
}

TEST(Devices, OneProgramRunsOnTwoKindsOfDevice) {
    const Graph graph = network();
    for (const char* kind : {"c0", "ref0", "gpu0"}) {
        const std::string other = std::string("=") + kind;
        auto program = load(
            module_of(graph, several_kinds(), {"h=cpu0", "s" + other, "t=cpu0", "m" + other, "y=cpu0", "z" + other}));
        ASSERT_TRUE(program);
        RunReport report;
        auto found = program->run(arguments_for(*program, feeds()), &report);
        ASSERT_TRUE(found) << render(found.error());
        expect_as_interpreted(graph, feeds(), *found);
        EXPECT_EQ(report.launches, 2) << kind;  // s and m together, and z
        EXPECT_EQ(report.copies, 4) << kind;    // h and t there, m back, y there; z stays
    }
}

TEST(Devices, AllKindsTakePartInOneProgram) {
    const Graph graph = network();
    auto program =
        load(module_of(graph, several_kinds(), {"h=c0", "s=ref0", "t=gpu0", "m=gpu1", "y=c0:fast", "z=cpu0"}));
    ASSERT_TRUE(program);
    for (int again = 0; again < 2; again++) {
        RunReport report;
        auto found = program->run(arguments_for(*program, feeds()), &report);
        ASSERT_TRUE(found) << render(found.error());
        expect_as_interpreted(graph, feeds(), *found);
        EXPECT_EQ(report.launches, 5);
    }
    // All that a run needed is free again.
    for (size_t m = 0; m < program->system().memories.size(); m++)
        EXPECT_EQ(program->memory(MemoryId(m)).used(), 0) << m;
    EXPECT_GT(program->memory(memory_named(program->system(), "c0", "fast")).most_used(), 0);
}

TEST(Devices, RandomPlacementsComputeTheSame) {
    const Graph graph = network();
    const std::vector<std::string> names = {"h", "s", "t", "m", "y", "z"},
                                   places = {"cpu0", "c0", "ref0", "gpu0", "gpu1", "c0:fast"};
    std::mt19937 random(5);
    for (int i = 0; i < 8; i++) {
        std::vector<std::string> annotations;
        for (const std::string& name : names) {
            if (random() % 3 != 0) annotations.push_back(name + "=" + places[random() % places.size()]);
        }
        auto program = load(module_of(graph, several_kinds(), annotations));
        ASSERT_TRUE(program);
        auto found = program->run(arguments_for(*program, feeds()));
        ASSERT_TRUE(found) << render(found.error());
        expect_as_interpreted(graph, feeds(), *found);
    }
}

// Programs of tensors of 16 columns, some of which are made in parts, at random places.
TEST(Devices, RandomProgramsAtRandomPlacesComputeTheSame) {
    const std::vector<std::string> places = {"cpu0", "c0", "ref0", "gpu0", "gpu1", "c0:fast"};
    int launches = 0, copies = 0;
    for (unsigned seed = 0; seed < 10; seed++) {
        std::mt19937 random(seed);
        const auto pick = [&](size_t n) { return random() % n; };
        struct Known {
            std::string name;
            int64_t rows;
        };
        std::vector<Known> values = {{"x", 16}, {"w", 16}};
        std::string calls;
        std::vector<std::string> annotations;
        for (int i = 0; i < 9; i++) {
            const Known a = values[pick(values.size())], b = values[pick(values.size())];
            Known made{"v" + std::to_string(i), a.rows};
            std::string call = std::vector<std::string>{"relu(", "tanh(", "softmax("}[pick(3)] + a.name + ")";
            if (pick(2) == 0 && b.rows == 16) call = "matmul(" + a.name + ", " + b.name + ")";
            if (pick(3) == 0 && a.rows == b.rows) call = "mul(" + a.name + ", " + b.name + ")";
            if (pick(3) == 0 && a.rows + b.rows < 80) {
                call = "concat([" + a.name + ", " + b.name + "], axis: 0)";
                made.rows += b.rows;
            }
            calls += (i ? "; " : "") + made.name + " = " + call;
            if (pick(2) == 0) annotations.push_back(made.name + "=" + places[pick(places.size())]);
            values.push_back(made);
        }
        // One result of all, so that everything is wanted.
        calls += "; y = concat([";
        for (size_t v = 2; v < values.size(); v++) calls += (v > 2 ? ", " : "") + values[v].name;
        calls += "], axis: 0)";
        const Graph graph = graph_of(calls, {input("x", {16, 16}), input("w", {16, 16})});
        const std::vector<TensorData> data = {random_tensor({16, 16}, 2 * seed + 1, 0.3),
                                              random_tensor({16, 16}, 2 * seed + 2, 0.3)};
        auto program = load(module_of(graph, several_kinds(), annotations));
        ASSERT_TRUE(program);
        RunReport report;
        auto found = program->run(arguments_for(*program, data), &report);
        ASSERT_TRUE(found) << calls << render(found.error());
        expect_as_interpreted(graph, data, *found);
        launches += static_cast<int>(report.launches);
        copies += static_cast<int>(report.copies);
    }
    EXPECT_GT(launches, 15);
    EXPECT_GT(copies, 30);
}

TEST(Targets7, TensorsOnTwoDevicesGiveAnErrorThatNamesTheArgument) {
    auto program =
        load(module_of(network(), several_kinds(),
                       {"h=gpu0", "s=gpu0", "t=gpu0", "m=gpu0", "y=gpu0", "z=gpu0", "x=gpu0", "w=gpu0", "v=gpu0"}));
    ASSERT_TRUE(program);
    auto arguments = arguments_for(*program, feeds());
    arguments[1] = *program->put(feeds()[1], memory_named(program->system(), "gpu1"));
    const auto refused = program->run(arguments);
    ASSERT_EQ(code_of(refused), "running.argument");
    EXPECT_NE(refused.error()[0].summary.find("'w'"), std::string::npos) << render(refused.error());
    EXPECT_EQ(refused.error()[0].found, "gpu1");
    EXPECT_EQ(refused.error().size(), 1u);
}

TEST(Targets7, AProgramOfOneDeviceTakesTheDeviceFromItsArguments) {
    const Graph graph = graph_of("y = relu(add([a, b]))", {input("a", {8}), input("b", {8})});
    Target machine = several_kinds();
    machine.devices.push_back(device("cpu1", "cpu", 1));
    machine.links.push_back({"cpu0", "cpu1", 1e9, 1e-6});
    auto program = load(module_of(graph, machine, {"y=cpu0"}));
    ASSERT_TRUE(program);
    const std::vector<TensorData> data = {random_tensor({8}, 1), random_tensor({8}, 2)};
    const MemoryId here = memory_named(program->system(), "cpu0");
    const MemoryId there = memory_named(program->system(), "cpu1");
    for (MemoryId memory : {here, there}) {
        auto found = program->run({*program->put(data[0], memory), *program->put(data[1], memory)});
        ASSERT_TRUE(found) << render(found.error());
        EXPECT_EQ(found->front().memory, memory);
        expect_as_interpreted(graph, data, *found);
    }
    const auto mixed = program->run({*program->put(data[0], there), *program->put(data[1], here)});
    ASSERT_EQ(code_of(mixed), "running.argument");
    EXPECT_NE(mixed.error()[0].summary.find("'b'"), std::string::npos) << render(mixed.error());
    EXPECT_EQ(mixed.error()[0].expected, "cpu1, as 'a'");
    const MemoryId other_kind = memory_named(program->system(), "c0");
    EXPECT_EQ(code_of(program->run({*program->put(data[0], other_kind), *program->put(data[1], other_kind)})),
              "running.argument");
}

TEST(Targets17, VirtualDevicesAreBoundWhenAProgramIsLoaded) {
    Target machine = several_kinds();
    // One device under two targets, as a second entry says; and two devices under one target.
    machine.devices.push_back(device("gpu0b", "cuda", 0));
    machine.links.push_back({"cpu0", "gpu0b", 1e9, 1e-6});
    const placing::System system = system_for(machine);
    const auto binding = bind_devices(system, inventory());
    ASSERT_TRUE(binding) << render(binding.error());
    const auto bound = [&](const char* name) { return binding->devices[device_named(system, name)]; };
    EXPECT_EQ(bound("gpu0"), bound("gpu0b"));
    EXPECT_NE(bound("gpu0"), bound("gpu1"));
    EXPECT_EQ(inventory().devices[bound("gpu1")].name, "card 1");
}

TEST(Targets17, WhatIsMissingIsRefusedWithItsName) {
    const auto refusal = [](const Target& machine, const std::vector<int64_t>& needed = {}) {
        auto binding = bind_devices(system_for(machine), inventory(), needed);
        return binding ? Diagnostic{} : binding.error().front();
    };
    Target machine = several_kinds();
    machine.devices.push_back(device("npu0", "hexagon"));
    EXPECT_EQ(refusal(machine).code, "running.missing_kind");
    EXPECT_NE(refusal(machine).summary.find("'npu0'"), std::string::npos);

    machine = several_kinds();
    auto eager = *machine.devices[3].target;
    eager.features = "+tensor-cores,+time-travel";
    machine.devices[3].target = std::make_shared<const Target>(eager);
    EXPECT_EQ(refusal(machine).code, "running.missing_feature");
    EXPECT_NE(refusal(machine).summary.find("time-travel"), std::string::npos);
    eager.features = "+tensor-cores";
    machine.devices[3].target = std::make_shared<const Target>(eager);
    EXPECT_EQ(refusal(machine).code, "");

    machine.devices[4].scopes = {{"global", int64_t{1} << 31, 1e12}};
    EXPECT_EQ(refusal(machine).code, "running.missing_memory");
    EXPECT_NE(refusal(machine).found.find("card"), std::string::npos);
    machine = several_kinds();
    std::vector<int64_t> needed(system_for(machine).memories.size(), 0);
    needed[memory_named(system_for(machine), "gpu0")] = int64_t{1} << 31;
    EXPECT_EQ(refusal(machine, needed).code, "running.missing_memory");

    machine = several_kinds();
    machine.devices.push_back(device("gpu2", "cuda", 2));
    EXPECT_EQ(refusal(machine).code, "running.missing_device");
}

TEST(Targets17, AMemoryThatIsTooSmallWhileRunningIsAnErrorToo) {
    Target machine = several_kinds();
    machine.devices[1].scopes[1].bytes = 100;
    auto program = load(module_of(graph_of("y = relu(x)", {input("x", {8})}), machine, {"y=c0:fast"}));
    ASSERT_TRUE(program);
    const auto there = program->put(random_tensor({64}, 1), memory_named(program->system(), "c0", "fast"));
    EXPECT_EQ(code_of(there), "running.out_of_memory");
    EXPECT_TRUE(program->run(arguments_for(*program, {random_tensor({8}, 1)})));
}

placing::Module with_outside(const std::vector<std::map<std::string, std::string>>& option_sets,
                             const std::string& library = "cc") {
    const Target machine = several_kinds();
    placing::Module source{
        std::make_shared<const placing::System>(system_for(machine)), std::make_shared<const Target>(machine), {}};
    const auto graph = std::make_shared<const Graph>(graph_of("y = tanh(softmax(x, axis: 1))", {input("x", {16, 16})}));
    placing::Function main{.name = "main", .entry = true};
    const MemoryId memory = memory_named(*source.system, "cpu0");
    placing::ValueId value = main.add_value("x", graph->tensor(graph->inputs[0]).type, memory);
    main.parameters = {value};
    for (const auto& options : option_sets) {
        Target target;
        target.kind = "library";
        target.library = library;
        target.options = options;
        const auto outside =
            source.add_function(placing::function_of("outside", graph, std::make_shared<const Target>(target)));
        const auto next = main.add_value("y", graph->tensor(graph->outputs[0]).type, memory);
        main.steps.push_back(
            {.kind = placing::Step::Kind::call, .inputs = {value}, .outputs = {next}, .callee = outside});
        value = next;
    }
    main.results = {value};
    source.add_function(std::move(main));
    auto module = placing::split(source);
    EXPECT_TRUE(module) << (module ? "" : render(module.error()));
    return module ? std::move(*module) : placing::Module{};
}

TEST(Targets20, FunctionsForTwoOptionSetsOfOneCompilerRunInOneProgram) {
    auto program = load(with_outside({{{"optimise", "0"}}, {{"optimise", "3"}}}));
    ASSERT_TRUE(program);
    auto found = program->run(arguments_for(*program, {random_tensor({16, 16}, 4)}));
    ASSERT_TRUE(found) << render(found.error());
    const Graph twice = graph_of("y = tanh(softmax(tanh(softmax(x, axis: 1)), axis: 1))", {input("x", {16, 16})});
    expect_as_interpreted(twice, {random_tensor({16, 16}, 4)}, *found);
    EXPECT_EQ(code_of(Program::load(with_outside({{{"speed", "9"}}}), inventory())), "running.option");
    EXPECT_EQ(code_of(Program::load(with_outside({{}}, "blas"), inventory())), "running.missing_library");
}

// Libraries are placed as devices are: one partition, one table.
TEST(Targets20, AnOutsideLibraryIsADeviceOfTheSystem) {
    Target machine = several_kinds(), outside;
    outside.kind = "library";
    outside.library = "cc";
    for (const char* level : {"0", "2"}) {
        outside.options = {{"optimise", level}};
        machine.devices.push_back(
            {.name = std::string("cc") + level, .target = std::make_shared<const Target>(outside), .host = "cpu0"});
    }
    const Graph graph = network();
    auto program = load(module_of(graph, machine, {"h=cpu0", "s=cc0", "t=cc2", "m=cpu0", "y=cpu0", "z=cpu0"}));
    ASSERT_TRUE(program);
    RunReport report;
    auto found = program->run(arguments_for(*program, feeds()), &report);
    ASSERT_TRUE(found) << render(found.error());
    expect_as_interpreted(graph, feeds(), *found);
    EXPECT_EQ(report.launches, 2);
    EXPECT_EQ(report.copies, 0);  // it works in its host's memory
    outside.library = "blas";
    machine.devices.back().target = std::make_shared<const Target>(outside);
    EXPECT_EQ(code_of(bind_devices(system_for(machine), inventory())), "running.missing_library");
}

TEST(Targets3, FunctionsOfDevicesAloneAreNotRunHere) {
    const Target card = *several_kinds().devices[3].target;
    EXPECT_EQ(code_of(Program::load(module_of(network(), card, {}), inventory())), "running.no_entry");
}

TEST(Targets21, FunctionsForCAndLlvmAndACardAreInOneModule) {
    const auto module = module_of(network(), several_kinds(), {"h=c0", "s=ref0", "t=gpu0", "m=gpu1", "y=c0", "z=cpu0"});
    std::set<std::string> kinds;
    for (const placing::Function& function : module.functions) kinds.insert(function.target->kind);
    EXPECT_EQ(kinds, (std::set<std::string>{"machine", "c", "reference", "cuda"}));
}

}  // namespace
}  // namespace heddle::running
