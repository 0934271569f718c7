// One equation as a typed body: what the oracle interprets, so that there is one meaning of arithmetic.
#pragma once

#include "equations/system.h"

namespace heddle::equations {

struct EquationBody {
    Body body;                        // one equation, one output
    std::vector<TensorIndex> inputs;  // its tensors, by first use
};
EquationBody body_of(const System& system, const Equation& equation);

}  // namespace heddle::equations
