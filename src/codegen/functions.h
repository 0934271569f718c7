// Our own mathematical functions. Each is written once, as a recipe: a straight line of primitive steps on one element,
// which every emitter turns into its own (vector) instructions. So all backends compute the same bits by the same
// Units, and kernels call nothing.
//
// Accuracy is ScalarOpInfo::ulps, tested against long double. NaN in gives NaN out (but pow(x, 0) = pow(1, y) = 1, as
// in C), infinities, signed zeros and subnormal operands and results are right; exp, exp2 and sigmoid give zero in
// place of a subnormal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "expr/scalar_op.h"
#include "support/dtype.h"

namespace heddle::codegen {

// One step. The operands' types follow from it; see Step::type for the result.
enum class Primitive : uint8_t {
    argument,  // Step::integer: which
    constant,  // Step::real for a float, Step::integer for an integer
    // Floats, rounded to nearest even; multiply_add is fused.
    add,
    subtract,
    multiply,
    divide,
    multiply_add,
    square_root,
    round_even,  // to an integer, half to even
    pinned,      // the same float; what follows is not rearranged with what it was computed by
    // Where recipes may have them (Units, below).
    scale,                     // by 2^n for a whole float n, rounded once; n may be infinite
    exponent_of,               // of |x|, as a float: -infinity of 0, infinity of infinity
    significand_of,            // x / 2^n in 3/4 .. 3/2, as large as can be; NaN below 0, and 1 of zeros and infinity
    reciprocal_root_estimate,  // 1 / sqrt(x) but for 2^-14 of it, of zeros and infinity right
    look_up,                   // the element of tables[Step::integer] that the integer's low four bits say
    widen,
    narrow,  // float32 to float64 and back
    bits_of,
    float_of_bits,     // reinterpreted, same width
    float_of_integer,  // converted, same width
    integer_of_float,  // the same of a whole float in range; anything of others
    // Integers; wrap. Shifts by Step::integer, smaller than the width.
    integer_add,
    integer_subtract,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    shift_right_signed,
    // To a mask. All but not_equal are false on NaN.
    less,
    less_equal,
    equal,
    not_equal,
    integer_equal,
    mask_and,
    mask_or,
    mask_not,
    select,  // mask, then, else
};

// Masks have the width of what was compared.
enum class StepType : uint8_t { float32, float64, int32, int64, mask32, mask64 };

struct Step {
    Primitive primitive = Primitive::argument;
    StepType type = StepType::float32;   // of the result
    int32_t operands[3] = {-1, -1, -1};  // steps before this one
    double real = 0;                     // float32 constants are exactly representable
    int64_t integer = 0;
};

// Steps `first` .. `last` - 1 need not run where `mask` holds in no lane: nothing uses them but the `selections` steps
// that follow, which choose by the mask.
struct RareSteps {
    std::string name;  // of what they compute, from the steps before that they use: what computes other has another
    int32_t mask = -1;
    size_t first = 0, last = 0;
    size_t selections = 0;
};

// A table in a register.
using LookUpTable = std::array<float, 16>;

struct Recipe {
    std::vector<Step> steps;
    std::vector<LookUpTable> tables;
    std::vector<RareSteps> rare;  // in order, apart from one another
    int32_t result = -1;
    int arguments = 1;
};

// What the machine has instructions for: those of every machine, or also the parts of floats, estimates and look-ups in
// registers (AVX-512). With these, recipes are shorter; their bits are others, within the same accuracy.
// `single`: no float64, a multiply-add may be rounded twice, and sums and products may be rearranged (GPUs), so that
// rounding stands as an instruction, and what must be rounded as it is written is pinned. Angles beyond single_angle give NaN.
enum class Units : uint8_t { plain, parts_of_floats, single };
inline constexpr double single_angle = 12867;  // 8191 pi / 2

// The recipe of `op` in `type` (float32 or float64), or null where the operation is no function but an instruction, or
// has none by these units. Made once, at the first use; safe to call from several threads.
const Recipe* recipe(ScalarOp op, DType type, Units units);

}  // namespace heddle::codegen
