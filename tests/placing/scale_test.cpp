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

struct Both {
    CutCosts exact;
    ScaleCosts scaled;
    int64_t gathered = 0;  // exactly
};

// One cut for each operation: the first that `pick` says of so many.
template <typename Pick>
Both both(const Graph& graph, const SaidCuts& said, double bandwidth, double latency, const Pick& pick) {
    Target device;
    const System system = alike_processes(device, static_cast<int32_t>(place_count(said.mesh)), bandwidth, latency);
    const auto kinds = kinds_of(graph, *system.devices.front().target);
    const auto table = cut_table(graph, kinds, said, system, nullptr);
    EXPECT_TRUE(table) << render(table.error());
    const LinkFigures links = link_figures(system);
    Layouts layouts(system.devices.size(), links.bandwidth, links.latency, *system.devices.front().target);
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

// Where parts are equal. Random cuts, which fit together badly.
TEST(Scale, EqualsAllPlaces) {
    std::mt19937 random(7);
    int equal = 0, all = 0;
    double farthest = 0, farthest_seconds = 0;
    for (int number = 0; number < 4; number++) {
        for (const Mesh& mesh : std::vector<Mesh>{{1}, {2}, {4}, {2, 2}, {2, 4}, {8}, {16}, {4, 4}, {2, 8}}) {
            for (int i = 0; i < 12; i++) {
                const double latency = i % 2 ? 1e-5 : 1e-9;
                const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
                const Both costs = both(graph_number(number, number == 2 ? 32 : 64), {mesh, {}}, 1e9, latency, pick);
                const auto far = [](double a, double b) { return b == 0 ? (a == 0 ? 0.0 : 1.0) : std::abs(a - b) / b; };
                const double off = far(static_cast<double>(costs.scaled.bytes), static_cast<double>(costs.exact.bytes));
                const double time = far(costs.scaled.seconds(), costs.exact.seconds());
                farthest = std::max(farthest, off);
                farthest_seconds = std::max(farthest_seconds, time);
                equal += costs.scaled.bytes == costs.exact.bytes;
                all++;
            }
        }
    }
    fmt::print("{} of {} equal; farthest: bytes {:.3g}, seconds {:.3g}\n", equal, all, farthest, farthest_seconds);
    EXPECT_GE(equal, all * 99 / 100);
    EXPECT_LE(farthest, 0.01);
    // Pieces that are copied side by side, and places that send more than the others, are reckoned more roughly.
    EXPECT_LE(farthest_seconds, 0.45);
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
    const auto scaled = costs_at_scale(graph, kinds, {4}, {{axis}}, Target{}, {1e9, 1e-6});
    ASSERT_FALSE(scaled);
    EXPECT_EQ(scaled.error()[0].code, "placing.scale");
}

}  // namespace
}  // namespace heddle::placing
