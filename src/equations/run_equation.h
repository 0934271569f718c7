// One equation through the oracle: what `run` and the checker of kernels are made of.
#pragma once

#include "equations/system.h"

namespace heddle::equations {

struct EquationBody {
    Body body;                        // one equation, one output
    std::vector<TensorIndex> inputs;  // its tensors, by first use
};
EquationBody body_of(const System& system, const Equation& equation);

// Values by TensorIndex: inputs and constants in place, computed tensors zeroed. Errors: equations.feeds,
// equations.no_value.
Result<std::vector<TensorData>> initial_values(const System& system, const std::vector<TensorData>& feeds);

// Writes the equation's box of its tensor.
Result<void> run_equation(const System& system, const Equation& equation, std::vector<TensorData>& values);

}  // namespace heddle::equations
