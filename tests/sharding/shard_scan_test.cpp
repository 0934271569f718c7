// Recurrences in parts: what no step needs from elsewhere is cut, and what is refused says which read stands against
// it.
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
    ASSERT_EQ(refused.size(), 2u);
    EXPECT_EQ(
        refused["t"],
        "sharding.ordered_axis: each of its steps needs the one before it: a state is read at h[t - 1, @batch, j]");
    EXPECT_EQ(
        refused["s"],
        "sharding.ordered_axis: the state is read at h[s, @batch, j], and along t each step needs the one before it");
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

TEST(ShardScan, RecurrentLayersAreCutAlongTheBatchAndWhatComesIn) {
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
                for (const char* axis : {"batch", "i"}) EXPECT_FALSE(refused.contains(axis));
                EXPECT_TRUE(
                    refused["t"].starts_with("sharding.ordered_axis: each of its steps needs the one before it"));
                EXPECT_TRUE(refused["s"].starts_with("sharding.ordered_axis: the state is read at h["));
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

TEST(ShardScan, RunningSumsAndLinearRecurrences) {
    std::mt19937 random(3);
    for (int64_t axis = 0; axis < 3; ++axis) {
        for (bool exclusive : {false, true}) {
            for (bool reverse : {false, true}) {
                Graph graph = graph_of(library(), "cumsum", {{f32, {3, 4, 5}}},
                                       {{"axis", StaticValue::of(axis)},
                                        {"exclusive", StaticValue::of(exclusive)},
                                        {"reverse", StaticValue::of(reverse)}});
                EXPECT_EQ(cut_all(graph, random).size(), 2u);  // t and j
                if (HasFatalFailure()) return;
            }
        }
        Graph linear = graph_of(library(), "linear_recurrence", {{f32, {3, 4, 5}}, {f32, {3, 4, 5}}},
                                {{"axis", StaticValue::of(axis)}});
        auto refused = cut_all(linear, random);
        EXPECT_EQ(refused.size(), 1u);
        EXPECT_TRUE(refused.contains("t"));
    }
}

TEST(ShardScanErrors, WhatEachStepNeedsWholeIsRefused) {
    std::mt19937 random(4);
    Graph normed = graph_of(operators, "normed", {{f64, {4, 5}}});
    auto refused = cut_all(normed, random);
    EXPECT_TRUE(refused.contains("t"));
    EXPECT_EQ(refused["j"], "sharding.state: each step needs the sum along all of it from the step before");
    Graph backwards = graph_of(operators, "backwards", {{f64, {4, 3, 5}}});
    refused = cut_all(backwards, random);
    EXPECT_FALSE(refused.contains("batch"));
    EXPECT_EQ(refused["j"],
              "sharding.state: parts of it need all of the state 'h', which is read at h[3, @batch, -j + 4]");
    auto boxes = boxes_by(normed.operations[0], axes_of(normed, normed.operations[0]), {{"j", 2}});
    ASSERT_FALSE(boxes);
    EXPECT_EQ(boxes.error()[0].code, "sharding.state");
}

}  // namespace
}  // namespace heddle::sharding
