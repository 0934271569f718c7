// Whole against sharded: both are evaluated and compared.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "../symbolic/acceptance_cases.h"
#include "evaluate/compare.h"
#include "graph/verify.h"
#include "sharding/shard.h"

namespace heddle::sharding {

// Whether floats are added or multiplied up: the order of that is free, also the evaluator's within one part, so that
// values agree within error bounds. All else agrees bit by bit.
inline bool rounds(const Graph& graph) {
    for (const Operation& operation : graph.operations) {
        if (!operation.body) continue;
        for (const Node& node : operation.body->nodes) {
            bool adds = node.reducer == Reducer::sum || node.reducer == Reducer::product;
            const bool whole = is_integer(node.dtype) || is_bool(node.dtype);
            if (node.kind == Node::Kind::reduce && adds && !whole) return true;
        }
    }
    return false;
}

// Floats in -limit .. limit, integers in 0 .. integers - 1.
inline std::vector<TensorData> random_feeds(const Graph& graph, std::mt19937& random, double limit, uint32_t integers) {
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const TensorType& type = graph.tensor(id).type;
        TensorData data = feeds.emplace_back(type.dtype, type.extents()).reals();
        for (int64_t i = 0; i < data.size(); ++i) {
            if (is_float(data.dtype()))
                data.set_real(i, (static_cast<double>(random() % 2001) / 1000 - 1) * limit);
            else
                data.set_integer(i, static_cast<int64_t>(random() % integers));
        }
    }
    return feeds;
}

// One operation cut, all at one place.
struct Sharded : Sharding {
    Graph graph;
};

inline Result<Sharded> shard(const Graph& graph, OperationId operation, const std::vector<Box>& boxes,
                             bool rescale = false) {
    std::vector<Cut> cuts;
    for (const Operation& of : graph.operations) cuts.push_back(uncut(axes_of(graph, of)));
    cuts[operation].boxes = boxes;
    cuts[operation].rescale = rescale;
    auto placed = place(graph, cuts, {PlaceId(0)}, {}, true);
    if (!placed) return fail(std::move(placed.error()));
    return Sharded{std::move(placed->operations[operation]), std::move(placed->graph)};
}

inline void expect_same_values(const Graph& graph, const std::vector<TensorData>& feeds, const Sharded& sharding) {
    auto sound = verify(sharding.graph);
    ASSERT_TRUE(sound) << render(sound.error()) << print(sharding.graph);
    auto whole = evaluate_graph(graph, feeds, Precision::body);
    auto parts = evaluate_graph(sharding.graph, feeds, Precision::body);
    ASSERT_TRUE(whole) << render(whole.error());
    ASSERT_TRUE(parts) << render(parts.error()) << print(sharding.graph);
    bool exact = !rounds(graph);
    std::vector<BoundedTensor> bounded;
    if (!exact) {
        auto values = evaluate_graph_bounded(graph, feeds);
        ASSERT_TRUE(values);
        bounded = std::move(*values);
    }
    for (TensorId id : graph.outputs) {
        const TensorData &expected = (*whole)[static_cast<size_t>(id)], &found = (*parts)[static_cast<size_t>(id)];
        ASSERT_EQ(found.shape(), expected.shape());
        if (exact) {
            bool same = std::memcmp(found.data(), expected.data(), static_cast<size_t>(found.byte_size())) == 0;
            ASSERT_TRUE(same) << graph.tensor(id).name << print(sharding.graph);
        } else {
            auto comparison = compare_bounded(found.reals(), bounded[static_cast<size_t>(id)]);
            ASSERT_TRUE(comparison.equal) << comparison.text() << print(sharding.graph);
        }
    }
}

// An operator of a library on types, as a graph.
inline Graph graph_of(const Library& library, const std::string& name,
                      const std::vector<std::pair<DType, std::vector<int64_t>>>& types,
                      const std::map<std::string, StaticValue>& parameters = {}) {
    Session session(library);
    auto metakernel = library.find(name);
    EXPECT_TRUE(metakernel);
    std::vector<Argument> arguments;
    for (size_t i = 0; i < types.size(); ++i) {
        std::vector<Size> shape(types[i].second.begin(), types[i].second.end());
        arguments.push_back(session.add_input((*metakernel)->inputs[i].name, {types[i].first, shape}));
    }
    ApplyOptions options;
    for (const TensorSpec& output : (*metakernel)->outputs) options.names.push_back(output.name);
    auto made = session.apply(**metakernel, arguments, parameters, options);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? session.finish(std::move(*made)) : Graph();
}

inline Graph graph_of(const std::string& yaml, const std::string& name,
                      const std::vector<std::pair<DType, std::vector<int64_t>>>& types,
                      const std::map<std::string, StaticValue>& parameters = {}) {
    return graph_of(library_of(yaml), name, types, parameters);
}

inline const Axis* axis_named(const std::vector<Axis>& axes, const std::string& name) {
    for (const Axis& axis : axes)
        if (axis.name == name) return &axis;
    return nullptr;
}

inline Sharded sharded(const Graph& graph, const std::vector<std::pair<std::string, int64_t>>& parts,
                       OperationId operation = OperationId(0), bool rescale = false) {
    const Operation& of = graph.operations[static_cast<size_t>(operation)];
    auto boxes = boxes_by(of, axes_of(graph, of), parts);
    EXPECT_TRUE(boxes) << (boxes ? "" : render(boxes.error()));
    if (!boxes) return {};
    auto result = shard(graph, operation, *boxes, rescale);
    EXPECT_TRUE(result) << (result ? "" : render(result.error()));
    return result ? std::move(*result) : Sharded();
}

// Every axis that can be cut, alone and with the others. Gives those that cannot.
inline std::map<std::string, std::string> cut_all(const Graph& graph, std::mt19937& random) {
    std::map<std::string, std::string> refused;
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    std::vector<std::pair<std::string, int64_t>> all;
    std::vector<TensorData> feeds = random_feeds(graph, random, 1, 5);
    for (const Axis& axis : axes) {
        if (axis.refusal) {
            refused[axis.name] = axis.refusal->code + ": " + axis.refusal->reason;
            continue;
        }
        SCOPED_TRACE(axis.name);
        for (int64_t parts : {2, 3, 9}) {
            expect_same_values(graph, feeds, sharded(graph, {{axis.name, parts}}));
            if (testing::Test::HasFatalFailure()) return refused;
        }
        all.emplace_back(axis.name, 1 + static_cast<int64_t>(random() % 3));
    }
    expect_same_values(graph, feeds, sharded(graph, all));
    return refused;
}

}  // namespace heddle::sharding
