// Templates with random bodies: reductions with filters, guarded, affine and indirect reads, local arrays, conditions,
// scatters, scans of one to three states, along one axis or two, and chains of them. What is read is inside of its tensor, provably.
#pragma once

#include <string>
#include <vector>

#include "random/random_program.h"

namespace heddle::random {

// One tensor that the template takes. Integers are int64 and may be used as indices below `limit`.
struct Operand {
    Type type;
    int64_t limit = 0;
};

struct RandomTemplate {
    std::string text;  // a section of a template file
    std::vector<Type> outputs;
};

// Operands are of one float type or int64, and one at least is of a float type.
RandomTemplate random_template(Choices& choices, const std::string& name, const std::vector<Operand>& operands);

}  // namespace heddle::random
