// Which box of a tensor the reads of a body touch, and how much of it they leave unread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "symbolic/projection_accesses.h"
#include "zspace/box.h"

namespace heddle::sharding {

// The least box that holds what is read of tensor `input`, from the values that each coordinate can take, each by
// itself; a coordinate that depends on tensors' elements may be anything. Guarded reads outside the tensor do not
// count: the box begins and ends at a step inside it. All of the tensor, if the body is too large to look at.
Box read_region(const BodyAccesses& accesses, int32_t input, const std::vector<int64_t>& extents);

// Of an operation's input; all of it, if the operation has no body.
Box read_region(const Graph& graph, const Operation& operation, size_t input);

// The elements of `region` that no point of the body reads: a strided window's gaps. Nothing where that would take too
// long to count, or reads depend on data.
std::optional<int64_t> unread_elements(const BodyAccesses& accesses, int32_t input, const Box& region);

}  // namespace heddle::sharding
