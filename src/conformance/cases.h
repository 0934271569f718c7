// Calls of operators with inputs of random shapes.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/library.h"

namespace heddle::conformance {

// Extents are separated by spaces: a number, a small letter (a small size, the same wherever the letter stands) or a
// capital one (a larger one, so that vectors have tails).
struct CaseInput {
    const char* name;
    const char* shape;
    DType dtype = DType::float32;
    const char* below = "8";  // integers are less than this extent, and not negative
};

struct Case {
    const char* name;
    const char* program;
    std::vector<CaseInput> inputs;
    bool gradient = true;  // with respect to all float inputs
    bool tape = false;     // the gradient in two programs, too
};

const std::vector<Case>& cases();

std::vector<TensorId> float_inputs(const Graph& graph);

// What a case is for one seed.
struct Instance {
    Graph graph;
    std::vector<TensorData> feeds;
};
// Codes: those of building the program, or its gradient.
Result<Instance> instance_of(const Case& made, const Library& library, uint64_t seed);
// From the same inputs, and random adjoints of the outputs, to the adjoints of the float inputs.
Result<Instance> gradient_of(const Instance& instance, uint64_t seed);

}  // namespace heddle::conformance
