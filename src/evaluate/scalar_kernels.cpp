// Kernels of the scalar operations: a loop over lanes around each function object.
#include "evaluate/lanes.h"
#include "expr/scalar_functions.h"

namespace heddle::evaluation {
namespace {

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
void ternary(void* result, const void* const* operands, int64_t count) {
    auto* r = static_cast<T*>(result);
    auto* a = static_cast<const T*>(operands[0]);
    auto* b = static_cast<const T*>(operands[1]);
    auto* c = static_cast<const T*>(operands[2]);
    for (int64_t i = 0; i < count; i++) r[i] = F::apply(a[i], b[i], c[i]);
}

template <typename F, typename T>
Kernel kernel_of() {
    if constexpr (scalar_functions::TernaryOf<F, T>) {
        return &ternary<F, T>;
    } else if constexpr (scalar_functions::BinaryOf<F, T>) {
        return &binary<F, T>;
    } else if constexpr (scalar_functions::UnaryOf<F, T>) {
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
#define HEDDLE_SCALAR(op, name, infix, kind, operands, accepts, cost, size, ulps, meaning, ...) \
    case ScalarOp::op: return pick<scalar_functions::meaning>(dtype, lanes);
#define HEDDLE_FUNCTION(op, ...) \
    case ScalarOp::op: return pick<scalar_functions::of_##op>(dtype, lanes);
#include "expr/scalar_ops.def"
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
