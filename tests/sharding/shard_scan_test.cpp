// Recurrences in parts: along their steps, where a part begins with what the one before ends with, and along what no step
// needs from elsewhere. What is refused says which read stands against it.
#include <algorithm>
#include <random>

#include "helpers/library.h"
#include "sharded.h"

namespace heddle::sharding {
namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64;

using Types = std::vector<std::pair<DType, std::vector<int64_t>>>;
using Parameters = std::map<std::string, StaticValue>;

const char* const operators = R"yaml(
decay:
  doc: A state with an axis of its own, which each step reads at its own coordinate; and what the steps say of it.
  inputs: {x: "$T[$steps, $batch, $n, $in]", w: "$T[$in, $n]", keep: "$T[$n]", first: "$T[$batch, $n]"}
  index: "[$batch]"
  outputs: {y: "$T[$batch, $n, $steps]", last: "$T[$batch]", norms: "$T[$steps, $batch]", before: "$T[$steps, $batch]"}
  body: |
    scan t < $steps:
      let new[j < $n] = sum(i < $in : x[t, @batch, j, i] * w[i, j])
      h[t, j < $n] = keep[j] * h[t - 1, j] + new[j] from first[@batch, j]
      norms[t, @batch] = sum(k < $n : h[t, k] * h[t, k])
      before[t, @batch] = max(k < $n : h[t - 1, k])
    y[@batch, j, s] = h[s, j]
    last[@batch] = max(k < $n : h[$steps - 1, k])
normed:
  doc: Each step needs the norm of the one before.
  inputs: {x: "$T[$steps, $n]"}
  params: {ones: "int = 1"}
  let: "$one = $ones"
  index: "[$one]"
  outputs: {y: "$T[$one, $steps, $n]"}
  body: |
    scan t < $steps:
      h[t, j < $n] = h[t - 1, j] * norm[t - 1] + x[t, j] from 0
      norm[t] = sum(k < $n : h[t, k] * h[t, k]) from 0
      y[@one, t, j] = h[t, j]
summed:
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $steps:
      h[t] = h[t - 1] * x[t, @n] + x[t, @n] from x[0, @n]
    y = h[$steps - 1]
chosen:
  doc: A step that data decide.
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $steps:
      h[t] = h[t - 1] * x[t, @n] + x[t, @n] from 0
    y = h[argmax(k < $steps : x[k, @n])]
every_second:
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$steps / 2, $n]"}
  body: |
    scan t < $steps:
      h[t] = h[t - 1] * x[t, @n] + x[t, @n] from 0
    y[s, @n] = h[2 * s]
second_order:
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$steps, $n]", z: "$T[$steps, $n]"}
  body: |
    scan t < $steps:
      h[t] = x[t, @n] + 0.5 * h[t - 1] - 0.25 * (h[t - 2] ?? 0) * (h[t - 3] ?? x[t, @n]) from x[1, @n]
      y[t, @n] = h[t] - h[t - 1]
    z[s, @n] = h[s - 1] * h[$steps - 1 - s]
in_turn:
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$steps, $n]", z: "$T[$n]"}
  body: |
    scan t < $steps:
      h[t] = 0.5 * h[t - 1] + x[t, @n] from 0
    scan p < $steps:
      g[p] = max(g[p - 1], h[p]) + h[$steps - 1 - p] from h[0]
      y[p, @n] = g[p] * g[p - 1]
    z = max(k < $steps : h[k] * g[k])
bounded:
  inputs: {x: "$T[$steps, $n]"}
  index: "[$n]"
  outputs: {y: "$T[$steps, $n]", count: "int32[$n]"}
  body: |
    scan t < $steps until h[t] > 1:
      h[t] = h[t - 1] + x[t, @n] * x[t, @n] from 0
      c[t] = c[t - 1] + 1 from int32(0)
    y[s, @n] = h[s]
    count = c[$steps - 1]
table:
  inputs: {x: "$T[$m, $n]"}
  params: {ones: "int = 1"}
  let: "$one = $ones"
  index: "[$one]"
  outputs: {y: "$T[$one, $m, $n]"}
  body: |
    scan i < $m, j < $n:
      d[i, j] = max(d[i - 1, j], d[i, j - 1]) + x[i, j] * d[i - 1, j - 1] from 1
    y[@one, a, b] = d[a, b]
backwards:
  inputs: {x: "$T[$steps, $batch, $n]"}
  index: "[$batch]"
  outputs: {y: "$T[$batch, $n]"}
  body: |
    scan t < $steps:
      h[t, j < $n] = h[t - 1, j] + x[t, @batch, j] from 0
    y[@batch, j] = h[$steps - 1, $n - 1 - j]
)yaml";

TEST(ShardScan, StateAxesThatAreReadAtTheirOwnCoordinateAreCut) {
    std::mt19937 random(1);
    Graph graph = graph_of(operators, "decay", {{f64, {4, 3, 5, 2}}, {f64, {2, 5}}, {f64, {5}}, {f64, {3, 5}}});
    auto refused = cut_all(graph, random);
    EXPECT_EQ(refused.size(), 0u);
    // What reads all steps goes with them.
    const Axis* const steps = axis_named(axes_of(graph, graph.operations[0]), "t");
    EXPECT_TRUE(steps);
    EXPECT_FALSE(axis_named(axes_of(graph, graph.operations[0]), "s"));
    // The axis of the state goes with all that read it; a shard reads its part of each input.
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    auto state = std::ranges::find_if(axes, [](const Axis& axis) { return axis.reductions.size() == 3; });
    ASSERT_NE(state, axes.end());
    Sharded parts = sharded(graph, {{state->name, 5}});
    for (const Application& application : parts.applications) {
        for (const Region& region : application.inputs) {
            if (region.tensor != graph.inputs[0]) continue;
            EXPECT_EQ(region.box.shape(), (std::vector<int64_t>{4, 3, 1, 2}));
            EXPECT_EQ(region.box.start[2], static_cast<int64_t>(application.shard));
        }
    }
}

TEST(ShardScan, RecurrentLayersAreCutAlongStepsTheBatchAndWhatComesIn) {
    std::mt19937 random(2);
    DType lengths = DType::int32;
    int64_t steps = 4, batch = 3, in = 2, hidden = 3;
    struct Layer {
        const char* name;
        int64_t gates;
        size_t states;
        const char* read;
    };
    for (const Layer& layer : {Layer{"rnn", 1, 1, "h"}, Layer{"gru", 3, 1, "h"}, Layer{"lstm", 4, 2, "h"}}) {
        SCOPED_TRACE(layer.name);
        int64_t rows = layer.gates * hidden;
        Types types{{f64, {steps, batch, in}},
                    {f64, {1, rows, in}},
                    {f64, {1, rows, hidden}},
                    {f64, {1, 2 * rows}},
                    {lengths, {batch}}};
        for (size_t n = 0; n < layer.states; ++n) types.push_back({f64, {1, batch, hidden}});
        for (bool backward : {false, true}) {
            for (bool full : {true, false}) {
                Types given = full ? types : Types(types.begin(), types.begin() + 3);
                Graph graph = graph_of(library(), layer.name, given, {{"backward", StaticValue::of(backward)}});
                auto refused = cut_all(graph, random);
                if (HasFatalFailure()) return;
                for (const char* axis : {"batch", "i", "t"}) EXPECT_FALSE(refused.contains(axis));
                EXPECT_EQ(refused["k"], "sharding.state: each step needs the sum along all of it from the step before");
                // Along the hidden axis each part would need all of the state.
                std::string whole =
                    "sharding.state: parts of it need all of the state 'h', which is read at h[t - 1, @batch, ";
                bool named = false;
                for (const auto& [axis, why] : refused) named = named || why.starts_with(whole);
                EXPECT_TRUE(named);
            }
        }
    }
}

TEST(ShardScan, RegionsOfALayerAreThoseOfItsPartOfTheBatch) {
    Graph graph = graph_of(library(), "rnn", {{f32, {5, 4, 3}}, {f32, {1, 6, 3}}, {f32, {1, 6, 6}}});
    Sharded halves = sharded(graph, {{"batch", 2}});
    ASSERT_EQ(halves.applications.size(), 2u);
    const Application& second = halves.applications[1];
    EXPECT_EQ(second.inputs[0].box, (Box{{0, 2, 0}, {5, 4, 3}}));
    EXPECT_EQ(second.inputs[1].box, (Box{{0, 0, 0}, {1, 6, 3}}));
    EXPECT_EQ(second.outputs[0].box, (Box{{0, 0, 2, 0}, {5, 1, 4, 6}}));
    EXPECT_EQ(second.outputs[1].box, (Box{{0, 2, 0}, {1, 4, 6}}));
    for (const Region& region : second.inputs) EXPECT_EQ(region.unread, 0);
    // What comes in is a product of its own: partial sums for all steps, then the steps.
    Sharded inner = sharded(graph, {{"i", 3}});
    ASSERT_EQ(inner.combinations.size(), 1u);
    EXPECT_EQ(inner.applications.size(), 4u);
}

TEST(ShardScan, APartBeginsWithTheStateThatTheOneBeforeEndsWith) {
    Graph graph = graph_of(library(), "rnn", {{f32, {5, 4, 3}}, {f32, {1, 6, 3}}, {f32, {1, 6, 6}}});
    Sharded steps = sharded(graph, {{"t", 2}});
    ASSERT_EQ(steps.applications.size(), 4u);  // states of each part, then results of each
    const auto region_of = [&](const std::vector<Region>& regions, const std::string& name) {
        for (const Region& region : regions)
            if (steps.graph.tensor(region.tensor).name == name) return region.box;
        return Box();
    };
    EXPECT_EQ(steps.applications[0].part, "states over t from 0");
    EXPECT_EQ(steps.applications[1].part, "states over t from 3");
    EXPECT_EQ(region_of(steps.applications[0].outputs, "rnn h"), (Box{{0, 0, 0}, {4, 4, 6}}));
    EXPECT_EQ(region_of(steps.applications[1].inputs, "rnn h"), (Box{{3, 0, 0}, {4, 4, 6}}));
    EXPECT_EQ(region_of(steps.applications[1].inputs, "X"), (Box{{3, 0, 0}, {5, 4, 3}}));
    EXPECT_EQ(region_of(steps.applications[1].outputs, "rnn h"), (Box{{4, 0, 0}, {6, 4, 6}}));
}

// What only the next step reads is kept of a part's last step alone.
TEST(ShardScan, OnlyStepsThatAreReadAreKept) {
    std::mt19937 random(5);
    Graph graph = graph_of(operators, "summed", {{f64, {7, 3}}});
    EXPECT_EQ(cut_all(graph, random).size(), 0u);
    for (const Application& application : sharded(graph, {{"t", 3}}).applications)
        for (const Region& region : application.outputs) {
            if (region.box.rank() == 2) EXPECT_EQ(region.box.extent(0), 1);
        }
}

// Which step is read follows from parts of a reduction: it may be any.
TEST(ShardScan, StepsThatDataDecide) {
    std::mt19937 random(7);
    const Graph graph = graph_of(operators, "chosen", {{f64, {7, 3}}});
    EXPECT_EQ(cut_all(graph, random).size(), 0u);
    expect_same_values(graph, random_feeds(graph, random, 1, 5), sharded(graph, {{"t", 2}, {"k", 3}}));
}

// By every axis, of which one at least is a scan's. What is refused.
std::map<std::string, std::string> cut_along_steps(const Graph& graph, std::mt19937& random) {
    auto refused = cut_all(graph, random);
    EXPECT_TRUE(std::ranges::any_of(axes_of(graph, graph.operations[0]),
                                    [](const Axis& axis) { return axis.ordered && !axis.refusal; }));
    return refused;
}

// States of earlier steps, scans that read scans, reductions over steps, ends that states decide.
TEST(ShardScan, WhateverAScanSaysIsCutAlongItsSteps) {
    std::mt19937 random(6);
    for (const char* name : {"second_order", "in_turn", "bounded", "table"}) {
        SCOPED_TRACE(name);
        Graph graph = graph_of(operators, name, {{f64, {7, 4}}});
        const auto refused = cut_along_steps(graph, random);
        if (HasFatalFailure()) return;
        for (const auto& [axis, why] : refused) EXPECT_TRUE(why.starts_with("sharding.state")) << axis << why;
    }
}

TEST(ShardScan, RunningSumsAndLinearRecurrences) {
    std::mt19937 random(3);
    for (int64_t axis = 0; axis < 3; ++axis) {
        for (bool exclusive : {false, true}) {
            for (bool reverse : {false, true}) {
                Graph graph = graph_of(library(), "cumsum", {{f32, {3, 4, 5}}},
                                       {{"axis", StaticValue::of(axis)},
                                        {"exclusive", StaticValue::of(exclusive)},
                                        {"reverse", StaticValue::of(reverse)}});
                EXPECT_EQ(cut_all(graph, random).size(), 0u);
                if (HasFatalFailure()) return;
            }
        }
        Graph linear = graph_of(library(), "linear_recurrence", {{f32, {3, 4, 5}}, {f32, {3, 4, 5}}},
                                {{"axis", StaticValue::of(axis)}});
        EXPECT_EQ(cut_all(linear, random).size(), 0u);
    }
}

TEST(ShardScan, ShippedOperatorsWithAScan) {
    struct Case {
        const char* name;
        Types types;
        Parameters parameters;
    };
    const auto number = [](int64_t value) { return StaticValue::of(value); };
    const std::vector<Case> cases = {
        {"cumprod", {{f64, {3, 7}}}, {{"axis", number(1)}}},
        {"linear_attention", {{f64, {2, 4, 5, 3}}, {f64, {2, 2, 5, 3}}, {f64, {2, 2, 5, 4}}}, {}},
        {"determinant", {{f64, {2, 4, 4}}}, {}},
        {"kept_boxes", {{f64, {2, 6, 4}}, {f64, {2, 6}}, {f64, {}}}, {{"k", number(4)}}},
        {"top_k_selected", {{f64, {2, 9}}}, {{"k", number(5)}}},
        {"top_k_by_threshold", {{f32, {2, 8}}}, {{"k", number(3)}}},
        {"order_of_rows", {{f64, {5, 2}}}, {}}};
    std::mt19937 random(8);
    for (const Case& of : cases) {
        SCOPED_TRACE(of.name);
        const Graph graph = graph_of(library(), of.name, of.types, of.parameters);
        if (HasFailure()) return;
        const auto refused = cut_along_steps(graph, random);
        if (HasFatalFailure()) return;
        for (const auto& [axis, why] : refused) EXPECT_FALSE(why.starts_with("sharding.ordered")) << axis << why;
    }
}

TEST(ShardScanErrors, WhatEachStepNeedsWholeIsRefused) {
    std::mt19937 random(4);
    Graph normed = graph_of(operators, "normed", {{f64, {4, 5}}});
    auto refused = cut_all(normed, random);
    EXPECT_FALSE(refused.contains("t"));
    EXPECT_EQ(refused["j"], "sharding.state: each step needs the sum along all of it from the step before");
    Graph backwards = graph_of(operators, "backwards", {{f64, {4, 3, 5}}});
    refused = cut_all(backwards, random);
    EXPECT_FALSE(refused.contains("batch"));
    EXPECT_EQ(refused["j"],
              "sharding.state: parts of it need all of the state 'h', which is read at h[3, @batch, -j + 4]");
    auto boxes = boxes_by(normed.operations[0], axes_of(normed, normed.operations[0]), {{"j", 2}});
    ASSERT_FALSE(boxes);
    EXPECT_EQ(boxes.error()[0].code, "sharding.state");
    // Every second step: parts of these are no parts of the scan.
    refused = cut_all(graph_of(operators, "every_second", {{f64, {6, 3}}}), random);
    EXPECT_FALSE(refused.contains("t"));
    EXPECT_EQ(refused["s"],
              "sharding.ordered_axis: the state is read at h[2 * s, @n], and along t each step needs the one "
              "before it");
}

}  // namespace
}  // namespace heddle::sharding
