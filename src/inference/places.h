// Several places that run each program of an engine together (docs/machines.md). What makes them is above this room
// (running/places.h).
#pragma once

#include <memory>
#include <vector>

#include "graph/graph.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle::inference {

// A program of one graph, cut over the places.
class PlacedProgram {
public:
    virtual ~PlacedProgram() = default;
    // Of processes each calls it, with the same inputs, and gets all outputs.
    virtual Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs) = 0;
};

class Places {
public:
    virtual ~Places() = default;
    // Of processes each calls it, with the same graph.
    virtual Result<std::shared_ptr<PlacedProgram>> compile(const Graph& graph) = 0;
};

}  // namespace heddle::inference
