// What `heddle explain` says of shards: which axes can be cut and how, and what parts of them touch.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "pictures/draw_parts.h"
#include "sharding/shard.h"

namespace heddle::explain {

// A graph, and what became of it at one place.
struct ShardedGraph {
    Graph before;
    sharding::PlacedGraph placed;
    std::vector<OperationId> cut;  // of the graph before, in order
};

// How `heddle run` would cut a graph by these texts of `--shard`, all at one place: what is said holds, the rest is chosen by
// costs (placing/choose_cuts.h), as on processors that nothing is known of. Codes: cli.shard (there is no operation to
// cut), sharding.limit (more than sharding::most_shards places), those of parse_cuts and choose_cuts.
Result<std::vector<sharding::Cut>> cuts_of(const Graph& graph, const std::vector<std::string>& texts);

// Codes: those of cuts_of and of sharding::place.
Result<ShardedGraph> shard_operations(const Graph& graph, const std::vector<std::string>& texts, bool one_round);

// [{name, extent, size, cut, combiners, refusal, ordered, inputs, outputs}]
nlohmann::ordered_json axes_json(const Graph& graph, const Operation& operation);
// What one point in the middle of the index reads, where a projection has no common affine start for it: {index: {AXIS:
// COORDINATE}, inputs: [{tensor, start, end}]}, by the boxes that shards have. Null where the projections say it all.
nlohmann::ordered_json point_json(const Graph& graph, const Operation& operation);
// Of one of the operations that are cut.
nlohmann::ordered_json shards_json(const ShardedGraph& sharded, OperationId operation);

// Two spaces in, a line an axis.
std::string point_text(const nlohmann::ordered_json& point);
std::string axes_text(const nlohmann::ordered_json& axes);
std::string shards_text(const nlohmann::ordered_json& shards);

// Each stage a row: the tensors that its applications touch, with one colour a shard.
pictures::Picture draw_shards(const ShardedGraph& sharded);

}  // namespace heddle::explain
