// Small integer bodies over sizes: a shape tensor's elements keep where they came from through whatever operators
// compute with them. No operator is special: the body itself is interpreted.
#pragma once

#include <vector>

#include "graph/body.h"
#include "support/tensor_data.h"
#include "zspace/size.h"

namespace heddle {

inline constexpr int64_t largest_sized_tensor = 64;  // elements

struct SizeEvaluation {
    struct Input {
        const TensorData* data = nullptr;          // row-major
        const std::vector<Size>* sizes = nullptr;  // its elements with origins; null: plain numbers
    };
    struct Output {
        const TensorData* data = nullptr;    // as computed with numbers
        std::vector<Size>* sizes = nullptr;  // of as many elements (at most `largest_sized_tensor`)
    };
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    bool lost = false;  // something that is computed from named dimensions is a plain number
};

// Puts the origins of the elements that `body` writes into the outputs' sizes. What cannot be followed (floats, too
// much work, a result that differs from the number) stays a plain number, and so do the sizes that it comes from.
void evaluate_sizes(const Body& body, SizeEvaluation& evaluation);

}  // namespace heddle
