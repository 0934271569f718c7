#include <cmath>
#include <set>

#include "helpers/codes.h"
#include "helpers/programs.h"
#include "helpers/systems.h"
#include "random_graph.h"

namespace heddle::placing {
namespace {

TensorId tensor(const Graph& graph, const std::string& name) {
    for (size_t t = 0; t < graph.tensors.size(); t++) {
        if (graph.tensors[t].name == name || graph.tensors[t].name == "program." + name) return TensorId(t);
    }
    ADD_FAILURE() << name;
    return no_id;
}

std::set<std::string> copies(const Graph& graph, const System& system, const Placement& placement) {
    std::set<std::string> texts;
    for (const Copy& copy : placement.copies) {
        const std::string& name = graph.tensor(copy.tensor).name;
        texts.insert(name.substr(name.rfind('.') + 1) + " to " + system.memory(copy.to).text());
    }
    EXPECT_EQ(texts.size(), placement.copies.size());
    return texts;
}

Graph diamond() {
    return graph_of("a = relu(x); b = exp(a); c = tanh(a); d = add([b, c]); e = mul(d, a)", {input("x", {64, 64})});
}

TEST(Targets15, TwoAnnotatedTensorsGiveOneCopyForEachCrossing) {
    const Graph graph = diamond();
    const System system = system_for(two_cards());
    const Placement placement = placed(graph, system, {"b=gpu0", "c=gpu0"});
    // `a` is read by both, and copied once. What follows goes where it is cheapest.
    EXPECT_EQ(placement.operations[1], system.default_location(DeviceId(1)));
    EXPECT_EQ(placement.operations[2], system.default_location(DeviceId(1)));
    std::set<std::string> expected;
    if (placement.tensors[tensor(graph, "a")] == placement.caller)
        expected.insert("a to gpu0");
    else
        expected.insert("x to gpu0");
    const auto made = copies(graph, system, placement);
    for (const std::string& copy : expected) EXPECT_TRUE(made.contains(copy)) << copy;
}

TEST(Targets15, AScopeOfTheSameDeviceIsACrossingToo) {
    const Graph graph = diamond();
    const System system = system_for(two_cards());
    const Placement placement =
        placed(graph, system, {"x=gpu0", "a=gpu0", "b=gpu0:texture", "c=gpu1", "d=gpu0", "e=gpu0"});
    // Over the CPU, for there is no other way to the second card.
    EXPECT_EQ(copies(graph, system, placement),
              (std::set<std::string>{"a to gpu0:texture", "a to gpu1", "b to gpu0", "c to gpu0"}));
    for (const Copy& copy : placement.copies) {
        if (copy.tensor == tensor(graph, "c")) {
            EXPECT_EQ(copy.route.memories.size(), 3u);
        }
    }
    const std::string table = print(graph, system, placement);
    EXPECT_NE(table.find("gpu1 -> cpu0 -> gpu0"), std::string::npos) << table;
}

TEST(Targets15, WhatIsNotAnnotatedTakesWhatItsNeighboursHave) {
    const Graph graph = graph_of("a = relu(x); b = exp(a); c = tanh(b); d = relu(c)", {input("x", {64})});
    const System system = system_for(two_cards());
    const Placement placement = placed(graph, system, {"a=gpu1", "d=gpu1"});
    for (size_t o : {1, 2}) {
        EXPECT_EQ(placement.operations[o], system.default_location(DeviceId(2)));
        EXPECT_EQ(placement.decisions[o].rule, Decision::Rule::neighbours);
    }
    EXPECT_EQ(copies(graph, system, placement), (std::set<std::string>{"x to gpu1"}));
}

TEST(Targets15, RandomGraphsHaveExactlyTheCopiesThatCross) {
    int with_copies = 0;
    for (unsigned seed = 0; seed < 400; seed++) {
        RandomCase random(seed, 1 + static_cast<int>(seed % 30), 1 + static_cast<int>(seed % 5));
        const Annotations annotations = random.annotate(random.pick(60));
        auto placement = place(random.graph, random.system, annotations);
        ASSERT_TRUE(placement) << seed << render(placement.error());
        const auto fine = verify(random.graph, random.system, annotations, *placement);
        ASSERT_TRUE(fine) << seed << render(fine.error());
        with_copies += !placement->copies.empty();
    }
    EXPECT_GT(with_copies, 200);
}

TEST(Placement, TheVerifierNoticesDamage) {
    int damaged = 0, noticed = 0;
    for (unsigned seed = 0; seed < 200; seed++) {
        RandomCase random(seed, 12, 3);
        const Annotations annotations = random.annotate(40);
        auto placement = place(random.graph, random.system, annotations);
        ASSERT_TRUE(placement);
        if (placement->copies.empty()) continue;
        const auto at = static_cast<size_t>(random.pick(static_cast<int>(placement->copies.size())));
        for (int way = 0; way < 4; way++) {
            Placement wrong = *placement;
            if (way == 0) wrong.copies.erase(wrong.copies.begin() + static_cast<std::ptrdiff_t>(at));
            if (way == 1) wrong.copies.push_back(wrong.copies[at]);
            if (way == 2) wrong.copies[at].route.memories.pop_back();
            if (way == 3) wrong.tensors[wrong.copies[at].tensor] = wrong.copies[at].to;
            damaged++;
            noticed += code_of(verify(random.graph, random.system, annotations, wrong)) == "placing.broken";
        }
    }
    EXPECT_GT(damaged, 300);
    EXPECT_EQ(noticed, damaged);
}

// What a placement costs, counted from the graph alone.
double cost(const Graph& graph, const System& system, const std::vector<Location>& at, MemoryId caller) {
    const auto work = work_of(graph);
    double sum = 0;
    std::map<TensorId, MemoryId> home;
    for (TensorId t : graph.inputs) home[t] = caller;
    for (size_t o = 0; o < at.size(); o++) {
        sum += seconds(work[o], *system.device(at[o].device).target);
        for (TensorId t : graph.operations[o].outputs) home[t] = at[o].memory;
    }
    std::set<std::pair<TensorId, MemoryId>> crossed;
    for (size_t o = 0; o < at.size(); o++) {
        for (TensorId t : graph.operations[o].inputs) crossed.insert({t, at[o].memory});
    }
    for (TensorId t : graph.outputs) crossed.insert({t, caller});
    for (const auto& [t, memory] : crossed) {
        if (!home.contains(t) || home[t] == memory) continue;  // constants are there from the start
        sum += system.route(home[t], memory, graph.tensor(t).type.byte_size()).seconds;
    }
    return sum;
}

// All ways to place so few operations.
double least_cost(const Graph& graph, const System& system, MemoryId caller) {
    std::vector<Location> locations;
    for (size_t d = 0; d < system.devices.size(); d++) locations.push_back(system.default_location(DeviceId(d)));
    std::vector<size_t> choice(graph.operations.size(), 0);
    double least = INFINITY;
    for (;;) {
        std::vector<Location> at;
        for (size_t l : choice) at.push_back(locations[l]);
        bool allowed = true;  // parts of one tensor are made together
        std::map<TensorId, Location> made;
        for (size_t o = 0; o < at.size(); o++) {
            for (TensorId t : graph.operations[o].outputs)
                allowed = allowed && made.emplace(t, at[o]).first->second == at[o];
        }
        if (allowed) least = std::min(least, cost(graph, system, at, caller));
        size_t digit = 0;
        while (digit < choice.size() && ++choice[digit] == locations.size()) choice[digit++] = 0;
        if (digit == choice.size()) return least;
    }
}

TEST(Placement, OfTwoDevicesTheChoiceIsTheCheapestOfAll) {
    int mixed = 0;
    for (unsigned seed = 0; seed < 300; seed++) {
        RandomCase random(seed, 1 + static_cast<int>(seed % 10), 2);
        auto placement = place(random.graph, random.system, {});
        ASSERT_TRUE(placement) << render(placement.error());
        const double least = least_cost(random.graph, random.system, placement->caller);
        const double found = cost(random.graph, random.system, placement->operations, placement->caller);
        ASSERT_NEAR(found, least, 1e-9 * least + 1e-11) << seed;
        EXPECT_NEAR(placement->compute_seconds + placement->copy_seconds, found, 1e-9 * found);
        for (const Location& at : placement->operations) mixed += at != placement->operations.front();
    }
    EXPECT_GT(mixed, 50);
}

TEST(Placement, OfThreeAndFourDevicesItIsSeldomMore) {
    int cheapest = 0, cases = 0;
    double worst = 1;
    for (unsigned seed = 0; seed < 100; seed++) {
        RandomCase random(seed, 1 + static_cast<int>(seed % 7), 3 + static_cast<int>(seed % 2));
        auto placement = place(random.graph, random.system, {});
        ASSERT_TRUE(placement) << render(placement.error());
        const double least = least_cost(random.graph, random.system, placement->caller);
        const double found = cost(random.graph, random.system, placement->operations, placement->caller);
        cases++;
        cheapest += found <= least * (1 + 1e-9) + 1e-11;
        worst = std::max(worst, found / least);
    }
    EXPECT_GE(cheapest, cases - 3);
    EXPECT_LT(worst, 1.2);
}

TEST(Placement, LinksAndSpeedsDecideAndThePlaceSaysWhy) {
    const Graph graph = graph_of("y = matmul(x, w)", {input("x", {1024, 1024}), input("w", {1024, 1024})});
    Target machine = two_cards();
    Placement placement = placed(graph, system_for(machine), {});
    EXPECT_EQ(placement.operations[0].device, DeviceId(1));  // two gigaoperations: 100 ms here, 1 ms to copy
    machine.links[0].bandwidth = machine.links[1].bandwidth = 50e6;
    placement = placed(graph, system_for(machine), {});
    EXPECT_EQ(placement.operations[0].device, DeviceId(0));
    const std::string table = print(graph, system_for(machine), placement);
    EXPECT_NE(table.find("on gpu0 it takes"), std::string::npos) << table;
    EXPECT_NE(table.find("less to compute and"), std::string::npos) << table;
}

TEST(Placement, WhatHasNoRoomGoesElsewhere) {
    const Graph graph =
        graph_of("y = matmul(x, w); z = matmul(y, w)", {input("x", {512, 512}), input("w", {512, 512})});
    Target machine = two_cards();
    Placement placement = placed(graph, system_for(machine), {});
    EXPECT_EQ(placement.operations[1].device, DeviceId(1));
    machine.devices[1].scopes[0].bytes = 1 << 20;  // one matrix of four
    placement = placed(graph, system_for(machine), {});
    for (const Location& at : placement.operations) EXPECT_NE(at.device, DeviceId(1));
}

TEST(Placement, AnnotationsThatCannotHoldAreRefused) {
    const Graph graph = diamond();
    const System system = system_for(two_cards());
    EXPECT_EQ(code_of(parse_annotations({"b"}, graph, system)), "placing.annotation");
    EXPECT_EQ(code_of(parse_annotations({"b=gpu0", "b=gpu1"}, graph, system)), "placing.annotation");
    EXPECT_EQ(code_of(parse_annotations({"nothing=gpu0"}, graph, system)), "placing.unknown_name");
    EXPECT_EQ(code_of(parse_annotations({"b=gpu7"}, graph, system)), "placing.unknown_device");
    EXPECT_EQ(code_of(parse_annotations({"b=gpu0:textur"}, graph, system)), "placing.unknown_scope");
    Annotations annotations;
    annotations.tensors[tensor(graph, "b")] = {"gpu0", ""};
    annotations.operations[OperationId(1)] = {"gpu1", ""};
    const auto conflict = place(graph, system, annotations);
    ASSERT_EQ(code_of(conflict), "placing.conflict");
    EXPECT_NE(conflict.error().front().summary.find("gpu0"), std::string::npos);
    EXPECT_NE(conflict.error().front().summary.find("gpu1"), std::string::npos);
}

TEST(Placement, WhatCannotBeReachedOrHeldIsRefused) {
    const Graph graph = diamond();
    Target machine = two_cards();
    machine.links.pop_back();
    const System apart = system_for(machine);
    EXPECT_EQ(code_of(place(graph, apart, *parse_annotations({"b=gpu1"}, graph, apart))), "placing.no_way");
    machine = two_cards();
    machine.devices[1].scopes[0].bytes = 1000;
    const System small = system_for(machine);
    EXPECT_EQ(code_of(place(graph, small, *parse_annotations({"b=gpu0"}, graph, small))), "placing.memory");
    machine.links.front().from = "cpu9";
    EXPECT_EQ(code_of(system_of(machine)), "placing.system");
    machine = two_cards();
    for (int i = 0; i < 70; i++)
        machine.devices.push_back({.name = "x" + std::to_string(i), .target = machine.devices[0].target, .id = 9 + i});
    EXPECT_EQ(code_of(system_of(machine)), "placing.locations");
}

TEST(Placement, TheOrderOfTheTextSaysNothing) {
    Target machine = two_cards(), turned = machine;
    std::ranges::reverse(turned.devices);
    std::ranges::reverse(turned.devices[1].scopes);
    const Graph graph = diamond();
    const System a = system_for(machine), b = system_for(turned);
    const std::vector<std::string> annotations = {"b=gpu0", "c=gpu1"};
    EXPECT_EQ(print(graph, a, placed(graph, a, annotations)), print(graph, b, placed(graph, b, annotations)));
}

// Virtual ids count in each machine, and machines are linked by their hosts.
TEST(Placement, MachinesOfAClusterAreReachedOverTheirHosts) {
    Target cluster;
    cluster.kind = "cluster";
    const auto machine = std::make_shared<const Target>(two_cards());
    cluster.machines = {{"m", machine}, {"n", machine}};
    cluster.links = {{"m", "n", 1e9, 1e-4}};
    const System system = system_for(cluster);
    EXPECT_EQ(system.devices.size(), 6u);
    EXPECT_EQ(system.memories.size(), 8u);
    const Graph graph = diamond();
    const Placement placement = placed(graph, system, {"a=m/gpu1", "b=n/gpu0", "c=n/gpu0", "d=m/cpu0", "e=m/cpu0"});
    EXPECT_NE(print(graph, system, placement).find("m/gpu1 -> m/cpu0 -> n/cpu0 -> n/gpu0"), std::string::npos);
}

// Neither many locations nor many sizes take long.
TEST(Placement, LargeGraphsOnLargeSystemsArePlacedInTime) {
    Graph graph;
    TensorId last = graph.add_tensor("x", {DType::float32, {1000}});
    graph.inputs = {last};
    for (int o = 0; o < 3000; o++) {
        Operation operation;
        operation.name = "o" + std::to_string(o);
        operation.inputs = {last, TensorId(o / 2)};
        graph.tensors.push_back({.name = "t" + std::to_string(o), .type = {DType::float32, {1000 + o}}});
        operation.outputs = {last = last_id<TensorId>(graph.tensors)};
        graph.operations.push_back(std::move(operation));
    }
    graph.outputs = {last};
    Target machine = two_cards();
    for (int i = 0; i < 40; i++) {
        const std::string name = "x" + std::to_string(i);
        machine.devices.push_back({.name = name, .target = machine.devices[1].target, .id = 9 + i});
        machine.links.push_back({"cpu0", name, 1e9 * (i + 1), 1e-6});
    }
    placed(graph, system_for(machine), {"t5=gpu1", "t1000=x7", "t2000=x9"});
}

TEST(Placement, WishesJoinInAnyOrder) {
    const std::vector<Wish> wishes = {{},        {"a", ""},  {"b", ""},  {"", "s"},
                                      {"", "t"}, {"a", "s"}, {"a", "t"}, {"b", "s"}};
    const auto joined = [](const std::optional<Wish>& a, const std::optional<Wish>& b) -> std::optional<Wish> {
        return a && b ? join(*a, *b) : std::nullopt;
    };
    for (const Wish& a : wishes) {
        EXPECT_EQ(join(a, {}), a);
        for (const Wish& b : wishes) {
            EXPECT_EQ(join(a, b), join(b, a));
            for (const Wish& c : wishes) EXPECT_EQ(joined(join(a, b), c), joined(a, join(b, c)));
        }
    }
}

}  // namespace
}  // namespace heddle::placing
