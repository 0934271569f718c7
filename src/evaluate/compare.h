// What "equal" means (docs/equality.md), with the measures that decided it.
#pragma once

#include <string>

#include "evaluate/evaluate.h"

namespace heddle {

// Values computed in another way against bounded ones: |a - b| <= 4 e for each element. Where e is infinite anything
// passes; integers and bools (and floats with a bound of zero) agree exactly. A NaN agrees with a NaN, an infinity with
// itself.
struct BoundedComparison {
    bool equal = false;
    int64_t failures = 0;    // elements
    int64_t undecided = 0;   // elements with an infinite bound: "all pass" may mean that nothing was compared
    double worst_ratio = 0;  // greatest |a - b| / e over finite bounds above zero
    int64_t worst = -1;      // the element with it, or the first failure
    std::string text() const;
};
BoundedComparison compare_bounded(const TensorData& found, const BoundedTensor& expected);

// Whole models, per output tensor.
struct ModelTolerance {
    double maximum = 2e-5;  // max|a - b| <= maximum * max|b|
    double norm = 1e-5;     // |a - b|_2 <= norm * |b|_2
};
inline constexpr ModelTolerance float_tolerance{2e-5, 1e-5};
inline constexpr ModelTolerance half_tolerance{1e-3, 5e-4};
// At least what one element makes that is rounded the other way when it is stored.
ModelTolerance model_tolerance(DType dtype);

struct ModelComparison {
    bool equal = false;
    double greatest = 0;            // max|b|: near zero a comparison proves nothing
    double maximum_difference = 0;  // max|a - b|
    double relative_maximum = 0;    // max|a - b| / max|b|
    double relative_norm = 0;       // |a - b|_2 / |b|_2
    int64_t rows = 0;               // along the last dimension, for argmax
    int64_t argmax_differences =
        0;  // rows whose best element differs though the best two are further apart than tolerated
    std::string text() const;
};
// b is the reference. Tensors that are not floats must be equal. The argmax rule looks at each row of the last
// dimension.
ModelComparison compare_model(const TensorData& a, const TensorData& b, ModelTolerance tolerance = float_tolerance);

}  // namespace heddle
