// What stands behind the operator of `heddle explain`: types for inputs, values for inputs and parameters.
//
//     x=float32[2, 3]     x=float32[batch=4, 3]     bias=float32     shape=[3, 4]     axis=1     mode=reflect
//     x=float32[200:210, 50:55]      (a range that does not begin at zero)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "language/template.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"
#include "symbolic/value.h"

namespace heddle::explain {

// One tensor for an input: a type, or a value that is known.
struct InputArgument {
    std::string name;
    TensorType type;
    std::optional<TensorData> value;
    std::vector<int64_t> start = {};  // where the range begins (graph.h); empty: at zero
};

struct OperatorArguments {
    std::vector<std::vector<InputArgument>> inputs;  // by position of the template's inputs; several for a variadic one
    std::map<std::string, StaticValue> parameters;
    std::map<std::string, int64_t> dimensions;  // named dimensions
};

// Codes: cli.argument (not NAME=..., or given twice), cli.unknown_argument, cli.type (a type that does not parse),
// cli.dimension_conflict (a name with two numbers), cli.value (a value that is no tensor), and those of expressions.
// Places are in the texts; all errors at once.
Result<OperatorArguments> parse_operator_arguments(const Template& metakernel, const std::vector<std::string>& texts);

// "batch=4,seq=128", several times. Code cli.binding.
Result<std::map<std::string, int64_t>> parse_bindings(const std::vector<std::string>& texts);

// NAME=TYPE without an operator: `dimensions` are those named so far. Codes as above.
Result<InputArgument> parse_input_type(const std::string& text, std::map<std::string, int64_t>& dimensions);

}  // namespace heddle::explain
