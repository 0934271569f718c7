// One use of an operator: its tensors, the values of those that must be known, and its parameters; and what comes of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/library.h"
#include "support/tensor_data.h"
#include "symbolic/environment.h"

namespace heddle::rewrite {

struct MadeUpUse {
    std::map<std::string, std::vector<TensorType>> tensors;  // by input; those that are not given are not there
    std::map<std::string, TensorData> values;                // of inputs whose values must be known
    std::map<std::string, StaticValue> parameters;
    // Where `$n` of a pattern stands: the tensor, and its dimension.
    struct Dimension {
        std::string input;
        size_t tensor = 0, dimension = 0;
    };
    std::multimap<std::string, Dimension> named;
    bool plain = true;  // no size that was free is below 3: of smaller ones much is right that is wrong otherwise
    bool usual = true;  // of the dtypes that are tried first
    std::vector<uint8_t> choices;

    std::string text() const;  // "x: float32[7, 6], $axis = 1"
};

// Applies an operator, or only binds it, in a graph of its own.
class AppliedUse {
public:
    AppliedUse(const Template& metakernel, const Library& library, const MadeUpUse& use);
    ~AppliedUse();
    // The names of inputs and parameters, where they fit.
    Result<std::unique_ptr<Environment>> bind() const;
    Diagnostics failure();
    std::optional<Graph> graph();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::rewrite
