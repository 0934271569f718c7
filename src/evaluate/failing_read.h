// Which read that data lead fails first: for messages, after a run has failed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle {

struct FailingRead {
    std::string operator_name;
    std::string computed;  // the first tensor that the operation makes
    std::string indexed;   // a tensor, or a local array or state of the body
    std::vector<std::pair<std::string, int64_t>>
        point;  // by axes: of the statement, then of reductions around the read
    int64_t index = 0, extent = 0;
    Place place;  // nowhere for operations that no text says
};

// The first one: by operations in the graph's order, arrays and states before equations, reads as they are written, and
// points in row-major order. Nothing if none is found, or if the values that it depends on are much work. Feeds are
// those of evaluate_graph.
std::optional<FailingRead> first_failing_read(const Graph& graph, const std::vector<TensorData>& feeds);

// Errors of a run of the graph: those about an index out of range with the place and the point, if they are found.
Diagnostics located(Diagnostics errors, const Graph& graph, const std::vector<TensorData>& feeds);

}  // namespace heddle
