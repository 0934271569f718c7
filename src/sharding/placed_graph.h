// What is made of a placed graph when it is complete.
#pragma once

#include <map>
#include <vector>

#include "sharding/shard.h"

namespace heddle::sharding {

// What readers get, and what stays, by what operations have made.
void give_outputs(const Graph& graph, const std::vector<PlaceId>& readers, const Spreads& spreads, Assembler& assembler,
                  PlacedGraph& placed);

// Parts that nothing asks for, boxes of a tensor that no later operation reads, are not made.
void drop_unread(PlacedGraph& placed);

// What operations and readers have from other places, in the order in which they read it. `boxes`: of tensors of places
// which box of which tensor of the program they are.
std::vector<Brought> brought_in(const PlacedGraph& placed, const std::map<TensorId, Assembler::Slice>& boxes,
                                const std::vector<PlaceId>& readers);

}  // namespace heddle::sharding
