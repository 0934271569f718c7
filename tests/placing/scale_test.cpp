// Costs of many places, worked out of a few, against those of all places (cut_search.h).
#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "alike_processes.h"
#include "helpers/programs.h"
#include "placing/cut_search.h"
#include "placing/scale.h"
#include "sharding/sharded.h"

namespace heddle::placing {
namespace {

using sharding::PlaceId;

// So many places, of which some, one after another, are a machine with faster links.
System system_of(int64_t places, const MachineLinks& links) {
    System system =
        alike_processes(Target{}, static_cast<int32_t>(places), links.across.bandwidth, links.across.latency);
    for (Link& link : system.links) {
        if (system.memory(link.from).process / links.places != system.memory(link.to).process / links.places) continue;
        link.bandwidth = links.within.bandwidth;
        link.latency = links.within.latency;
    }
    return system;
}

struct Both {
    CutCosts exact;
    ScaleCosts scaled;
    int64_t gathered = 0;  // exactly
};

// One cut for each operation: the first that `pick` says of so many.
template <typename Pick>
Both both(const Graph& graph, const SaidCuts& said, const MachineLinks& links, const Pick& pick) {
    const System system = system_of(place_count(said.mesh), links);
    const auto kinds = kinds_of(graph, *system.devices.front().target);
    const auto table = cut_table(graph, kinds, said, system, nullptr);
    EXPECT_TRUE(table) << render(table.error());
    Layouts layouts(system);
    CutSearch search(graph, *table, layouts, {}), reads(graph, *table, layouts, {PlaceId(0)});
    CutChoices choices;
    std::vector<AxesOfMesh> cuts;
    for (const auto& own : table->choices) {
        choices.push_back(own[pick(own.size())]);
        cuts.push_back(choices.back()->axes);
    }
    const auto scaled = costs_at_scale(graph, kinds, said.mesh, cuts, *system.devices[0].target, links);
    EXPECT_TRUE(scaled) << render(scaled.error());
    const CutCosts exact = search.costs(choices);
    return {exact, *scaled, reads.costs(choices).bytes - exact.bytes};
}

Graph graph_number(int number, int64_t size) {
    switch (number) {
    case 0:
        return graph_of("h = relu(matmul(x, w)); y = matmul(h, v)",
                        {input("x", {size, size}), input("w", {size, 2 * size}), input("v", {2 * size, size})});
    case 1:
        return graph_of("s = matmul(x, w); p = softmax(s, axis: 1); y = matmul(p, w)",
                        {input("x", {size, size}), input("w", {size, size})});
    case 2:
        return graph_of("h = conv(x, k, pads: [1, 1, 1, 1]); y = relu(conv(h, k, pads: [1, 1, 1, 1]))",
                        {input("x", {2, 16, size, size}), input("k", {16, 16, 3, 3})});
    default:
        return graph_of("h = transpose(x, perm: [1, 0]); a = add2(h, x); y = softmax(a, axis: 0)",
                        {input("x", {size, size})});
    }
}

struct Far {
    int equal = 0, all = 0;  // bytes
    double bytes = 0, seconds = 0, gathered = 0;
    std::vector<double> each;

    void add(const Both& costs) {
        const auto far = [](double a, double b) { return b == 0 ? (a == 0 ? 0.0 : 1.0) : std::abs(a - b) / b; };
        const double off = far(static_cast<double>(costs.scaled.bytes), static_cast<double>(costs.exact.bytes));
        each.push_back(far(costs.scaled.seconds(), costs.exact.seconds()));
        bytes = std::max(bytes, off);
        seconds = std::max(seconds, each.back());
        gathered = std::max(gathered,
                            far(static_cast<double>(costs.scaled.gathered_bytes), static_cast<double>(costs.gathered)));
        equal += costs.scaled.bytes == costs.exact.bytes;
        all++;
    }
    double seconds_of_most() {  // that nine of ten are within
        std::ranges::sort(each);
        return each[each.size() * 9 / 10];
    }
};

// Random cuts, which fit together badly.
Far compare(const std::vector<int64_t>& sizes, const std::vector<Mesh>& meshes, int64_t machine, int draws) {
    std::mt19937 random(7);
    const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
    Far far;
    for (int number = 0; number < 4; number++) {
        for (const Mesh& mesh : meshes) {
            for (int i = 0; i < draws; i++) {
                const double latency = i % 2 ? 1e-5 : 1e-9;
                MachineLinks links{{1e10, latency / 4}, {1e9, latency}, machine};
                if (place_count(mesh) <= machine) links = {links.within, links.within};
                const int64_t size = sizes[pick(sizes.size())];
                const Both costs = both(graph_number(number, number == 2 ? size / 2 : size), {mesh, {}}, links, pick);
                far.add(costs);
            }
        }
    }
    fmt::print(
        "bytes of {} of {} equal; farthest: bytes {:.3g}, seconds {:.3g}, of nine in ten {:.3g}, results {:.3g}\n",
        far.equal, far.all, far.bytes, far.seconds, far.seconds_of_most(), far.gathered);
    return far;
}

TEST(Scale, EqualsAllPlaces) {
    Far far = compare({64}, {{1}, {2}, {4}, {2, 2}, {2, 4}, {8}, {16}, {4, 4}, {2, 8}}, 1, 3);
    EXPECT_GE(far.equal, far.all * 99 / 100);
    EXPECT_LE(far.bytes, 0.01);
    // How many pieces are put together is reckoned as if all were as large as the largest one.
    EXPECT_LE(far.seconds, 0.2);
    EXPECT_LE(far.seconds_of_most(), 0.1);
}

// Places that send more than any receives are reckoned more roughly.
TEST(Scale, PartsThatAreNotEqual) {
    Far far = compare({37, 50, 90, 5}, {{3}, {6}, {8}, {3, 2}, {2, 5}, {12}}, 1, 4);
    EXPECT_LE(far.bytes, 0.2);
    EXPECT_LE(far.seconds, 0.3);
    EXPECT_LE(far.seconds_of_most(), 0.1);
    EXPECT_EQ(far.gathered, 0);
}

TEST(Scale, MachinesAndTheNetworkBetweenThem) {
    for (const int64_t machine : {2, 4}) {
        Far far = compare({64}, {{8}, {2, 2}, {2, 4}, {4, 2}}, machine, 3);
        EXPECT_LE(far.bytes, 0.01);
        EXPECT_LE(far.seconds, 0.2);
        EXPECT_LE(far.seconds_of_most(), 0.1);
        EXPECT_EQ(far.gathered, 0);
    }
}

TEST(Scale, PartsThatAnotherOperatorCombinesAreRefused) {
    const Graph graph = sharding::graph_of(R"yaml(
product:
  inputs: {X: "$T[$rows, $inner]", W: "$T[$inner, $cols]"}
  index: "[$rows, $cols]"
  outputs: {y: "$T"}
  reduces: {inner: sum}
  body: "y = sum(k < $inner : X[@rows, k] * W[k, @cols])"
)yaml",
                                           "product", {{DType::float32, {8, 12}}, {DType::float32, {12, 4}}});
    const auto kinds = kinds_of(graph, Target{});
    const auto& axes = kinds.kinds[0].axes;
    const auto folded = std::ranges::find_if(axes, [](const sharding::Axis& axis) { return axis.fold.has_value(); });
    ASSERT_NE(folded, axes.end());
    const auto axis = static_cast<int32_t>(folded - axes.begin());
    const auto scaled = costs_at_scale(graph, kinds, {4}, {{axis}}, Target{}, {{1e9, 1e-6}, {1e9, 1e-6}});
    ASSERT_FALSE(scaled);
    EXPECT_EQ(scaled.error()[0].code, "placing.scale");
}

}  // namespace
}  // namespace heddle::placing
