// Sharded graphs as documents: for exchange, validation and pictures.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "interchange/document.h"

namespace heddle::explain {

// The document of a graph whose operations are cut as cuts_of says (shards.h). Codes: those of cuts_of and of
// sharding::place; sharding.limit for more than 65,536 shards, too.
// An operation that is cut along axes of its index has an application for each shard, with the ranges that its part of
// the index projects to. One that is cut along another axis has no index to say so by: it becomes an operation for each
// of its stages, and one for each combination of partial results. Their kernels are "shard:" with the operator's name
// and "combine:" with what combines; their applications have the regions that shards touch.
Result<interchange::GraphDocument> sharded_document(const Graph& graph, const std::vector<std::string>& texts);

}  // namespace heddle::explain
