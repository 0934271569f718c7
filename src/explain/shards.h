// What `heddle explain` says of shards: which axes can be cut and how, and what parts of them touch.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pictures/draw_parts.h"
#include "sharding/shard.h"

namespace heddle::explain {

// One sharded operation: its number in the graph it is from, and the parts that were asked for.
struct ShardedOperation {
    Graph before;  // the graph that holds it
    OperationId operation = no_id;
    sharding::Sharding sharding;
};

// Every operation that is cut (followed_cuts.h), from the last to the first: each one's graph is what the one before it
// left. Codes: those of cuts_of and of sharding.
Result<std::vector<ShardedOperation>> shard_operations(const Graph& graph, const std::vector<std::string>& texts,
                                                       bool one_round);

// [{name, extent, size, cut, combiners, inputs, outputs, refusal}]
nlohmann::ordered_json axes_json(const Graph& graph, const Operation& operation);
// What one point in the middle of the index reads, where a projection has no common affine start for it: {index: {AXIS:
// COORDINATE}, inputs: [{tensor, start, end}]}, by the boxes that shards have. Null where the projections say it all.
nlohmann::ordered_json point_json(const Graph& graph, const Operation& operation);
nlohmann::ordered_json shards_json(const ShardedOperation& sharded);

// Two spaces in, a line an axis.
std::string point_text(const nlohmann::ordered_json& point);
std::string axes_text(const nlohmann::ordered_json& axes);
std::string shards_text(const nlohmann::ordered_json& shards);

// Each stage a row: the tensors that its applications touch, with one colour a shard.
pictures::Picture draw_shards(const std::vector<ShardedOperation>& operations);

}  // namespace heddle::explain
