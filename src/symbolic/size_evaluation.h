// Small bodies over sizes: a shape tensor's elements keep where they came from through whatever operators compute with
// them, also as floats that are rounded again. No operator is special: the body itself is interpreted.
#pragma once

#include <optional>
#include <vector>

#include "graph/body.h"
#include "support/tensor_data.h"
#include "zspace/size_quotient.h"

namespace heddle {

inline constexpr int64_t largest_sized_tensor = 64;  // elements

struct SizeEvaluation {
    struct Input {
        const TensorData* data = nullptr;          // row-major
        const std::vector<SizeQuotient>* sizes = nullptr;  // its elements with origins; null: plain numbers
    };
    struct Output {
        const TensorData* data = nullptr;            // as computed with numbers
        std::vector<SizeQuotient>* sizes = nullptr;  // of as many elements (at most `largest_sized_tensor`)
    };
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    bool lost = false;  // something that is computed from named dimensions is a plain number
};

// Puts the origins of the elements that `body` writes into the outputs' sizes. What cannot be followed (roots of sizes, too
// much work, a result that differs from the number) stays a plain number: something is lost.
void evaluate_sizes(const Body& body, SizeEvaluation& evaluation);
// A fact from now on: the sizes that it comes from are these numbers.
void tell_numbers(const Body& body, const SizeEvaluation& evaluation);

// What floats of a type hold of sizes; nothing for types that are not followed.
std::optional<FloatSizes> float_sizes(DType dtype);
// What an element of the type is for a static value; nothing where that is not followed.
std::optional<SizeQuotient> held_in(DType dtype, const SizeQuotient& value);
// The element itself, as such a type has it. No fact.
double element_of(DType dtype, const SizeQuotient& value);
// All of them, of integers or floats. No fact but of the type's sizes.
TensorData data_of(const TensorType& type, const std::vector<SizeQuotient>& elements);

}  // namespace heddle
