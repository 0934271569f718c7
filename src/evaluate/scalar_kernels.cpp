// Kernels of the scalar operations: a loop over lanes around each function object.
#include "evaluate/lanes.h"
#include "evaluate/scalar_functions.h"

namespace heddle::evaluation {
namespace {

template <typename F, typename T>
concept UnaryOf = requires(T a) { F::apply(a); };
template <typename F, typename T>
concept BinaryOf = requires(T a, T b) { F::apply(a, b); };

// Comparisons and predicates yield int64 lanes of 0 and 1.
template <typename R, typename T>
using Lane = std::conditional_t<std::is_same_v<R, bool>, int64_t, T>;

template <typename F, typename T>
void unary(void* result, const void* const* operands, int64_t count) {
    using R = Lane<decltype(F::apply(T{})), T>;
    auto* r = static_cast<R*>(result);
    auto* a = static_cast<const T*>(operands[0]);
    for (int64_t i = 0; i < count; i++) r[i] = static_cast<R>(F::apply(a[i]));
}

template <typename F, typename T>
void binary(void* result, const void* const* operands, int64_t count) {
    using R = Lane<decltype(F::apply(T{}, T{})), T>;
    auto* r = static_cast<R*>(result);
    auto* a = static_cast<const T*>(operands[0]);
    auto* b = static_cast<const T*>(operands[1]);
    for (int64_t i = 0; i < count; i++) r[i] = static_cast<R>(F::apply(a[i], b[i]));
}

template <typename F, typename T>
Kernel kernel_of() {
    if constexpr (BinaryOf<F, T>) {
        return &binary<F, T>;
    } else if constexpr (UnaryOf<F, T>) {
        return &unary<F, T>;
    } else {
        return nullptr;
    }
}

template <typename F>
Kernel pick(DType dtype, LaneType lanes) {
    if (lanes == LaneType::single) return kernel_of<F, float>();
    if (lanes == LaneType::real) return kernel_of<F, double>();
    return dtype == DType::uint64 ? kernel_of<F, uint64_t>() : kernel_of<F, int64_t>();
}

template <typename Narrow>
void wrap(void* result, const void* const* operands, int64_t count) {
    auto* r = static_cast<int64_t*>(result);
    auto* a = static_cast<const int64_t*>(operands[0]);
    for (int64_t i = 0; i < count; i++) r[i] = static_cast<Narrow>(a[i]);
}

template <typename T>
void select(void* result, const void* const* operands, int64_t count) {
    auto* r = static_cast<T*>(result);
    auto* condition = static_cast<const int64_t*>(operands[0]);
    auto* a = static_cast<const T*>(operands[1]);
    auto* b = static_cast<const T*>(operands[2]);
    for (int64_t i = 0; i < count; i++) r[i] = condition[i] ? a[i] : b[i];
}

void wrap_bool(void* result, const void* const* operands, int64_t count) {
    auto* r = static_cast<int64_t*>(result);
    auto* a = static_cast<const int64_t*>(operands[0]);
    for (int64_t i = 0; i < count; i++) r[i] = a[i] & 1;
}

}  // namespace

Kernel scalar_kernel(ScalarOp op, DType dtype, LaneType lanes) {
    switch (op) {
    case ScalarOp::add: return pick<Add>(dtype, lanes);
    case ScalarOp::subtract: return pick<Subtract>(dtype, lanes);
    case ScalarOp::multiply: return pick<Multiply>(dtype, lanes);
    case ScalarOp::divide: return pick<Divide>(dtype, lanes);
    case ScalarOp::floor_divide: return pick<FloorDivide>(dtype, lanes);
    case ScalarOp::modulo: return pick<Modulo>(dtype, lanes);
    case ScalarOp::truncate_divide: return pick<TruncateDivide>(dtype, lanes);
    case ScalarOp::truncate_remainder: return pick<TruncateRemainder>(dtype, lanes);
    case ScalarOp::minimum: return pick<Minimum>(dtype, lanes);
    case ScalarOp::maximum: return pick<Maximum>(dtype, lanes);
    case ScalarOp::power: return pick<Power>(dtype, lanes);
    case ScalarOp::atan2: return pick<Atan2>(dtype, lanes);
    case ScalarOp::bit_and:
    case ScalarOp::logical_and: return pick<BitAnd>(dtype, lanes);
    case ScalarOp::bit_or:
    case ScalarOp::logical_or: return pick<BitOr>(dtype, lanes);
    case ScalarOp::bit_xor:
    case ScalarOp::logical_xor: return pick<BitXor>(dtype, lanes);
    case ScalarOp::shift_left: return pick<ShiftLeft>(dtype, lanes);
    case ScalarOp::shift_right: return pick<ShiftRight>(dtype, lanes);
    case ScalarOp::equal: return pick<Equal>(dtype, lanes);
    case ScalarOp::not_equal: return pick<NotEqual>(dtype, lanes);
    case ScalarOp::less: return pick<Less>(dtype, lanes);
    case ScalarOp::less_equal: return pick<LessEqual>(dtype, lanes);
    case ScalarOp::greater: return pick<Greater>(dtype, lanes);
    case ScalarOp::greater_equal: return pick<GreaterEqual>(dtype, lanes);
    case ScalarOp::negate: return pick<Negate>(dtype, lanes);
    case ScalarOp::absolute: return pick<Absolute>(dtype, lanes);
    case ScalarOp::sign: return pick<Sign>(dtype, lanes);
    case ScalarOp::logical_not: return pick<LogicalNot>(dtype, lanes);
    case ScalarOp::bit_not: return pick<BitNot>(dtype, lanes);
    case ScalarOp::floor: return pick<Floor>(dtype, lanes);
    case ScalarOp::ceil: return pick<Ceil>(dtype, lanes);
    case ScalarOp::round: return pick<Round>(dtype, lanes);
    case ScalarOp::truncate: return pick<Truncate>(dtype, lanes);
    case ScalarOp::sqrt: return pick<Sqrt>(dtype, lanes);
    case ScalarOp::rsqrt: return pick<Rsqrt>(dtype, lanes);
    case ScalarOp::reciprocal: return pick<Reciprocal>(dtype, lanes);
    case ScalarOp::exp: return pick<Exp>(dtype, lanes);
    case ScalarOp::exp2: return pick<Exp2>(dtype, lanes);
    case ScalarOp::expm1: return pick<Expm1>(dtype, lanes);
    case ScalarOp::log: return pick<Log>(dtype, lanes);
    case ScalarOp::log2: return pick<Log2>(dtype, lanes);
    case ScalarOp::log1p: return pick<Log1p>(dtype, lanes);
    case ScalarOp::sin: return pick<Sin>(dtype, lanes);
    case ScalarOp::cos: return pick<Cos>(dtype, lanes);
    case ScalarOp::tan: return pick<Tan>(dtype, lanes);
    case ScalarOp::asin: return pick<Asin>(dtype, lanes);
    case ScalarOp::acos: return pick<Acos>(dtype, lanes);
    case ScalarOp::atan: return pick<Atan>(dtype, lanes);
    case ScalarOp::sinh: return pick<Sinh>(dtype, lanes);
    case ScalarOp::cosh: return pick<Cosh>(dtype, lanes);
    case ScalarOp::tanh: return pick<Tanh>(dtype, lanes);
    case ScalarOp::asinh: return pick<Asinh>(dtype, lanes);
    case ScalarOp::acosh: return pick<Acosh>(dtype, lanes);
    case ScalarOp::atanh: return pick<Atanh>(dtype, lanes);
    case ScalarOp::erf: return pick<Erf>(dtype, lanes);
    case ScalarOp::sigmoid: return pick<Sigmoid>(dtype, lanes);
    case ScalarOp::is_nan: return pick<IsNan>(dtype, lanes);
    case ScalarOp::is_infinite: return pick<IsInfinite>(dtype, lanes);
    case ScalarOp::complex:
    case ScalarOp::real_part:
    case ScalarOp::imaginary_part:
    case ScalarOp::conjugate: break;  // taken apart before
    }
    return nullptr;
}

Kernel wrap_kernel(DType dtype) {
    switch (dtype) {
    case DType::boolean: return &wrap_bool;
    case DType::int8: return &wrap<int8_t>;
    case DType::int16: return &wrap<int16_t>;
    case DType::int32: return &wrap<int32_t>;
    case DType::uint8: return &wrap<uint8_t>;
    case DType::uint16: return &wrap<uint16_t>;
    case DType::uint32: return &wrap<uint32_t>;
    default: return nullptr;
    }
}

Kernel select_kernel(LaneType lanes) {
    switch (lanes) {
    case LaneType::integer: return &select<int64_t>;
    case LaneType::single: return &select<float>;
    case LaneType::real: return &select<double>;
    }
    return nullptr;
}

}  // namespace heddle::evaluation
