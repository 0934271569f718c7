// Random bodies in which every rounding is stated: arithmetic, roots, comparisons, casts and integers, without reductions and
// mathematical functions. Their results are the interpreter's, bit for bit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "random/choices.h"
#include "support/dtype.h"

namespace heddle::exact {

// Two templates `first` and `second`, of which the second reads some results of the first, in one text; each output is a body.
struct Bodies {
    DType real = DType::float32, integer = DType::int32;  // of the inputs a, b, c and i, j; p and q are bool
    std::string templates;
    std::vector<std::string> calls;            // one a template
    std::map<std::string, std::string> texts;  // by output
};

Bodies random_bodies(random::Choices& choices, int count);

}  // namespace heddle::exact
