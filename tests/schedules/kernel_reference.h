// A naive interpreter of schedules::Kernel: plain loops, floats in double, rounded as their types say, each with a bound on
// its distance from the exact value (docs/equality.md). Tests only.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "evaluate/bounds.h"
#include "expr/scalar_functions.h"
#include "schedules/kernel.h"
#include "support/narrow_float.h"

namespace heddle::schedules::reference {

// A tensor's memory with its margins; `base` is the element of coordinate 0.
struct Buffer {
    std::vector<std::byte> bytes;
    int64_t base = 0;
    size_t offset = 0;  // of the first element in `bytes`, so that it is aligned

    std::byte* data() { return bytes.data() + offset; }
};

struct Scalar {
    double real = 0;
    int64_t integer = 0;
    double bound = 0;
};

inline int64_t wrap(int64_t value, DType dtype) { return is_bool(dtype) ? value != 0 : wrapped_to(dtype, value); }

inline double round_to(double value, DType dtype) {
    if (dtype == DType::float32) return static_cast<float>(value);
    return is_narrow(dtype) ? stored_as(dtype, value) : value;
}

inline Scalar load(Buffer& buffer, DType dtype, int64_t element) {
    const std::byte* at = buffer.data() + (buffer.base + element) * bytes(dtype);
    Scalar s;
    auto get = [&](auto zero) {
        std::memcpy(&zero, at, sizeof zero);
        return zero;
    };
    switch (dtype) {
    case DType::float32: s.real = get(float{}); break;
    case DType::float64: s.real = get(double{}); break;
    case DType::float16:
    case DType::bfloat16: s.real = float_from_code(dtype, get(uint16_t{})); break;
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: s.real = float_from_code(dtype, get(uint8_t{})); break;
    case DType::int4:
    case DType::uint4: s.integer = wrapped_to(dtype, get(uint8_t{})); break;
    case DType::int8: s.integer = get(int8_t{}); break;
    case DType::int16: s.integer = get(int16_t{}); break;
    case DType::int32: s.integer = get(int32_t{}); break;
    case DType::int64:
    case DType::uint64: s.integer = get(int64_t{}); break;
    case DType::boolean: s.integer = get(uint8_t{}) != 0; break;
    case DType::uint8: s.integer = get(uint8_t{}); break;
    case DType::uint16: s.integer = get(uint16_t{}); break;
    case DType::uint32: s.integer = get(uint32_t{}); break;
    default: break;  // kernels have reals only
    }
    return s;
}

inline void store(Buffer& buffer, DType dtype, int64_t element, Scalar s) {
    std::byte* at = buffer.data() + (buffer.base + element) * bytes(dtype);
    auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    switch (dtype) {
    case DType::float32: put(static_cast<float>(s.real)); break;
    case DType::float64: put(s.real); break;
    case DType::float16:
    case DType::bfloat16: put(static_cast<uint16_t>(code_from_real(dtype, s.real))); break;
    case DType::float8e4m3fn:
    case DType::float8e4m3fnuz:
    case DType::float8e5m2:
    case DType::float8e5m2fnuz: put(static_cast<uint8_t>(code_from_real(dtype, s.real))); break;
    case DType::int4:
    case DType::uint4: put(static_cast<uint8_t>(s.integer & 0xF)); break;
    case DType::boolean: put(static_cast<uint8_t>(s.integer != 0)); break;
    case DType::int8:
    case DType::uint8: put(static_cast<uint8_t>(s.integer)); break;
    case DType::int16:
    case DType::uint16: put(static_cast<uint16_t>(s.integer)); break;
    case DType::int32:
    case DType::uint32: put(static_cast<uint32_t>(s.integer)); break;
    default: put(s.integer);
    }
}

// Memory for a tensor of the kernel, margins filled, the rest zero.
inline Buffer make_buffer(const KernelTensor& tensor) {
    int64_t low = 0, high = 0;
    bool empty = false;
    for (const BufferDimension& d : tensor.dimensions) {
        empty = empty || d.extent + d.margin_before + d.margin_after == 0;
        low -= d.margin_before * d.stride;
        high += std::max<int64_t>(0, d.extent + d.margin_after - 1) * d.stride;
    }
    Buffer buffer;
    buffer.base = -low;
    int64_t elements = empty ? 0 : high - low + 1;
    buffer.bytes.resize(static_cast<size_t>(elements * bytes(tensor.dtype) + 128));
    buffer.offset = (64 - reinterpret_cast<uintptr_t>(buffer.bytes.data()) % 64) % 64;
    Scalar fill;
    fill.real = tensor.filling;
    fill.integer = static_cast<int64_t>(std::isfinite(tensor.filling) ? tensor.filling : 0);
    for (int64_t i = 0; i < elements; i++) store(buffer, tensor.dtype, i + low, fill);
    return buffer;
}

// Calls the function with every element's address inside of the tensor (not its margins).
inline void for_each_element(const KernelTensor& tensor, const std::function<void(int64_t)>& function,
                             size_t dimension = 0, int64_t at = 0) {
    if (dimension == tensor.dimensions.size()) return function(at);
    for (int64_t i = 0; i < tensor.dimensions[dimension].extent; i++) {
        for_each_element(tensor, function, dimension + 1, at + i * tensor.dimensions[dimension].stride);
    }
}

class Interpreter {
public:
    // One buffer a tensor; those of locals are made here.
    Interpreter(const Kernel& kernel, std::vector<Buffer>& buffers)
        : kernel_(kernel), buffers_(buffers), point_(kernel.arena->axis_count()) {
        dense_ = kernel.tensors;
        for (size_t t = 0; t < dense_.size(); t++) {
            if (dense_[t].role != KernelTensor::Role::local) continue;
            int64_t stride = 1;
            for (size_t d = dense_[t].dimensions.size(); d-- > 0;) {
                dense_[t].dimensions[d].stride = stride;
                stride *= std::max<int64_t>(1, dense_[t].dimensions[d].extent);
            }
            buffers_[t] = make_buffer(dense_[t]);
        }
        for (size_t t = 0; t < dense_.size(); t++) {
            const size_t elements = buffers_[t].bytes.size() / static_cast<size_t>(bytes(dense_[t].dtype));
            bounds_.emplace_back(elements, 0.0);
        }
    }

    void run() {
        const auto& all = kernel_.equations;
        for (size_t first = 0, end = 1; first < all.size(); first = end++) {
            const AxisId ordered = all[first].ordered;
            while (ordered >= 0 && end < all.size() && all[end].ordered == ordered) end++;
            int64_t none = 0;
            int64_t& step = ordered >= 0 ? point_[static_cast<size_t>(ordered)] : none;
            const int64_t steps = ordered >= 0 ? kernel_.axis(ordered).extent.value() : 1;
            for (step = 0; step < steps && !failed_; step++) {
                for (size_t i = first; i < end; i++) points(all[i], all[i].axes, 0);
            }
        }
    }
    bool failed() const { return failed_; }
    // Of an element's address, as for_each_element has it. What was there before the kernel has none.
    double bound(size_t tensor, int64_t element) const {
        return bounds_[tensor][static_cast<size_t>(buffers_[tensor].base + element)];
    }

private:
    void store_bounded(TensorIndex tensor, int64_t element, Scalar s) {
        const auto t = static_cast<size_t>(tensor);
        store(buffers_[t], dense_[t].dtype, element, s);
        bounds_[t][static_cast<size_t>(buffers_[t].base + element)] = s.bound;
    }
    void points(const KernelEquation& e, const std::vector<AxisId>& axes, size_t depth) {
        if (depth < axes.size()) {
            auto& at = point_[static_cast<size_t>(axes[depth])];
            for (at = 0; at < kernel_.axis(axes[depth]).extent && !failed_; at++) points(e, axes, depth + 1);
            return;
        }
        if (e.update) return updates(e, 0);
        int64_t element = 0;
        for (size_t d = 0; d < e.left.size(); d++)
            element += value(e.left[d]).integer * dense_[static_cast<size_t>(e.tensor)].dimensions[d].stride;
        DType dtype = kernel_.tensor(e.tensor).dtype, from = e.right->dtype;
        Scalar result = e.reducer ? reduce(e) : value(e.right);
        if (e.reducer && is_argument(*e.reducer)) from = DType::int64;
        store_bounded(e.tensor, element, cast(result, from, dtype));
    }

    void updates(const KernelEquation& e, size_t depth) {
        if (depth < e.reduced.size()) {
            auto& at = point_[static_cast<size_t>(e.reduced[depth])];
            for (at = 0; at < kernel_.axis(e.reduced[depth]).extent && !failed_; at++) updates(e, depth + 1);
            return;
        }
        const Scalar chosen = value(e.right->parts()[0]);
        if (!chosen.integer) return;
        const KernelTensor& tensor = dense_[static_cast<size_t>(e.tensor)];
        int64_t element = 0;
        for (size_t d = 0; d < e.left.size(); d++) {
            int64_t c = value(e.left[d]).integer;
            if (c < 0 || c >= tensor.dimensions[d].extent) failed_ = true;
            element += c * tensor.dimensions[d].stride;
        }
        if (failed_) return;
        Scalar term = value(e.right->parts()[1]);
        if (chosen.bound > 0) term.bound = infinity;
        store_bounded(e.tensor, element, term);
    }

    Scalar reduce(const KernelEquation& e) {
        DType dtype = e.right->dtype;
        Reducer r = *e.reducer;
        Scalar acc;
        ReductionBound bound{r, evaluation::unit_roundoff(dtype)};
        if (r == Reducer::product || r == Reducer::all) acc = {1, 1};
        if (r == Reducer::minimum || r == Reducer::argument_minimum) acc = {infinity, limit(dtype, true)};
        if (r == Reducer::maximum || r == Reducer::argument_maximum) acc = {-infinity, limit(dtype, false)};
        int64_t place = 0, best = 0;
        bool nan = false;
        std::function<void(size_t)> loop = [&](size_t depth) {
            if (depth < e.reduced.size()) {
                auto& at = point_[static_cast<size_t>(e.reduced[depth])];
                for (at = 0; at < kernel_.axis(e.reduced[depth]).extent && !failed_; at++) loop(depth + 1);
                return;
            }
            Scalar v = value(e.right);
            bound.add(v, acc, is_float(dtype));
            bool less = is_float(dtype) ? v.real < acc.real : v.integer < acc.integer;
            bool greater = is_float(dtype) ? v.real > acc.real : v.integer > acc.integer;
            bool first_nan = is_float(dtype) && std::isnan(v.real) && !nan;
            switch (r) {
            case Reducer::sum:
                acc.real += v.real, acc.integer = static_cast<int64_t>(static_cast<uint64_t>(acc.integer) +
                                                                       static_cast<uint64_t>(v.integer));
                break;
            case Reducer::product:
                acc.real *= v.real, acc.integer = static_cast<int64_t>(static_cast<uint64_t>(acc.integer) *
                                                                       static_cast<uint64_t>(v.integer));
                break;
            case Reducer::any: acc.integer |= v.integer; break;
            case Reducer::all: acc.integer &= v.integer; break;
            case Reducer::minimum:
            case Reducer::argument_minimum: take(less, first_nan, nan, acc, v, best, place); break;
            case Reducer::maximum:
            case Reducer::argument_maximum: take(greater, first_nan, nan, acc, v, best, place); break;
            }
            place++;
        };
        loop(0);
        if (is_argument(r))
            acc.integer = best;
        else
            acc.integer = wrap(acc.integer, dtype);
        acc.bound = bound.of(acc);
        return acc;
    }

    // How far a reduction's result may be from the exact one, its terms taken in any order.
    struct ReductionBound {
        Reducer reducer;
        double unit;  // of the terms' type
        double sum = 0, most = 0, magnitude = 0, terms = 0, nearest = infinity;

        // `before`: the result of the terms before.
        void add(const Scalar& term, const Scalar& before, bool real) {
            if (terms > 0 && (term.bound > 0 || most > 0)) {
                const double apart = real ? std::fabs(term.real - before.real)
                                          : std::fabs(static_cast<double>(term.integer - before.integer));
                nearest = std::min(nearest, apart - term.bound - most);
            }
            if (reducer == Reducer::product) {
                sum = std::fabs(before.real) * term.bound + std::fabs(term.real) * sum + sum * term.bound +
                      (terms > 0 ? unit * std::fabs(before.real * term.real) : 0);
            } else {
                sum += term.bound;
            }
            most = std::max(most, term.bound);
            magnitude += std::fabs(term.real);
            terms++;
        }
        double of(const Scalar& result) const {
            switch (reducer) {
            case Reducer::sum: {
                const double rounded = std::max(terms - 1, 0.0) * unit * magnitude;
                return std::isfinite(result.real) ? sum + rounded : 0;
            }
            case Reducer::product: return sum;
            case Reducer::minimum:
            case Reducer::maximum: return most;
            case Reducer::argument_minimum:
            case Reducer::argument_maximum: return nearest <= 0 ? infinity : 0;
            default: return most > 0 ? infinity : 0;
            }
        }
    };

    static void take(bool better, bool first_nan, bool& nan, Scalar& acc, Scalar v, int64_t& best, int64_t place) {
        if (nan || (!better && !first_nan)) return;
        nan = first_nan;
        acc = v;
        best = place;
    }

    static int64_t limit(DType dtype, bool highest) {
        int bits = info(dtype).bits;
        if (info(dtype).kind == DTypeClass::unsigned_integer)
            return highest ? (bits == 64 ? -1 : (int64_t{1} << bits) - 1) : 0;
        if (is_bool(dtype)) return highest;
        int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
        return highest ? high : -high - 1;
    }

    Scalar cast(Scalar v, DType from, DType to) {
        Scalar result;
        result.bound = cast_bound(v, from, to);
        if (is_float(to)) {
            result.real = round_to(is_float(from) ? v.real : static_cast<double>(v.integer), to);
        } else if (is_float(from)) {
            double low = static_cast<double>(limit(to, false)), high = static_cast<double>(limit(to, true));
            if (is_bool(to))
                result.integer = v.real != 0;
            else if (std::isnan(v.real))
                result.integer = 0;
            else
                result.integer = v.real >= high  ? limit(to, true)
                                 : v.real <= low ? limit(to, false)
                                                 : static_cast<int64_t>(v.real);
        } else {
            result.integer = wrap(v.integer, to);
        }
        return result;
    }

    static double cast_bound(const Scalar& v, DType from, DType to) {
        const double real = is_float(from) ? v.real : static_cast<double>(v.integer);
        if (is_bool(to)) return v.bound > 0 && std::fabs(real) <= v.bound ? infinity : 0;
        if (!is_float(to)) return is_float(from) ? evaluation::step_bound(std::trunc, real, v.bound) : v.bound;
        const bool rounds = !(is_float(from) && holds(to, from)) && !is_bool(from);
        return evaluation::with_rounding(v.bound, rounds ? evaluation::unit_roundoff(to) : 0, real, to, v.bound == 0,
                                         !std::isfinite(real) && v.bound < infinity);
    }

    Scalar select(Expr e) {
        const Scalar condition = value(e->parts()[0]);
        Scalar chosen = value(e->parts()[condition.integer ? 1 : 2]);
        if (condition.bound > 0) chosen.bound = infinity;
        return chosen;
    }

    Scalar value(Expr e) {
        auto of = [&](size_t i) { return value(e->parts()[i]); };
        auto whole = [&](ScalarOp op, DType result, int64_t b) {
            return operation(op, DType::int64, result, of(0), {0, b});
        };
        switch (e->kind) {
        case Kind::integer: return {0, e->integer};
        case Kind::real: return {round_to(e->real, e->dtype), 0};
        case Kind::variable: return {0, point_[static_cast<size_t>(e->axis())]};
        case Kind::linear: {
            Scalar sum{0, e->integer};
            for (size_t i = 0; i < e->parts().size(); i++) sum.integer += e->coefficients[i] * of(i).integer;
            return sum;
        }
        case Kind::floor_divide: return whole(ScalarOp::floor_divide, DType::int64, e->integer);
        case Kind::modulo: return whole(ScalarOp::modulo, DType::int64, e->integer);
        case Kind::negative: return whole(ScalarOp::less, DType::boolean, 0);
        case Kind::inside: {
            const int64_t c = of(0).integer;
            return {0, c >= 0 && c < e->integer};
        }
        case Kind::minimum: return operation(ScalarOp::minimum, DType::int64, DType::int64, of(0), of(1));
        case Kind::maximum: return operation(ScalarOp::maximum, DType::int64, DType::int64, of(0), of(1));
        case Kind::conjunction: return operation(ScalarOp::logical_and, DType::boolean, DType::boolean, of(0), of(1));
        case Kind::cast: return cast(of(0), e->parts()[0]->dtype, e->dtype);
        case Kind::select: return select(e);
        case Kind::read:
        case Kind::guarded_read: return read(e);
        default: break;  // an operation; the rest stands in no kernel
        }
        if (e->op == ScalarOp::multiply_add) return multiply_add(e->dtype, of(0), of(1), of(2));
        return operation(e->op, e->parts()[0]->dtype, e->dtype, of(0), e->parts().size() > 1 ? of(1) : Scalar{});
    }

    static Scalar multiply_add(DType dtype, Scalar a, Scalar b, Scalar c) {
        Scalar result;
        result.real = dtype == DType::float32
                          ? std::fma(static_cast<float>(a.real), static_cast<float>(b.real), static_cast<float>(c.real))
                          : std::fma(a.real, b.real, c.real);
        const bool special = !std::isfinite(a.real) || !std::isfinite(b.real) || !std::isfinite(c.real);
        const double carried =
            evaluation::carry_of(ScalarOp::multiply, true)(a.real, a.bound, b.real, b.bound, result.real) + c.bound;
        result.bound = evaluation::with_rounding(carried, evaluation::rounding_of(ScalarOp::multiply_add, dtype),
                                                 result.real, dtype, a.bound == 0 && b.bound == 0 && c.bound == 0,
                                                 special && carried < infinity);
        return result;
    }

    static Scalar operation(ScalarOp op, DType from, DType to, Scalar a, Scalar b) {
        Scalar result;
        bool truth = info(op).kind == ScalarClass::comparison || info(op).kind == ScalarClass::predicate;
        if (is_float(from) && truth)
            result.integer = compare(op, a.real, b.real);
        else if (is_float(from))
            result.real = round_to(real_operation(op, a.real, b.real), to);
        else if (truth)
            result.integer = compare(op, a.integer, b.integer);
        else
            result.integer = wrap(integer_operation(op, a.integer, b.integer), to);
        auto number = [](const Scalar& s, DType dtype) {
            return is_float(dtype) ? s.real : static_cast<double>(s.integer);
        };
        const double x = number(a, from), y = number(b, from), r = number(result, to);
        const bool special = (!std::isfinite(x) || !std::isfinite(y)) && a.bound < infinity && b.bound < infinity;
        result.bound =
            evaluation::with_rounding(evaluation::carry_of(op, is_float(from))(x, a.bound, y, b.bound, r),
                                      evaluation::rounding_of(op, to), r, to, a.bound == 0 && b.bound == 0, special);
        return result;
    }

    Scalar read(Expr e) {
        const auto tensor = static_cast<size_t>(e->tensor());
        int64_t element = 0;
        bool guarded = e->kind == Kind::guarded_read, inside = true;
        for (size_t d = 0; d < dense_[tensor].dimensions.size(); d++) {
            const BufferDimension& dimension = dense_[tensor].dimensions[d];
            int64_t c = value(e->parts()[d]).integer;
            bool fits = c >= 0 && c < dimension.extent;
            if (!fits && !guarded && (c < -dimension.margin_before || c >= dimension.extent + dimension.margin_after))
                failed_ = true;
            inside = inside && (fits || !guarded);
            element += c * dimension.stride;
        }
        if (failed_) return {};
        if (!inside) return value(e->parts().back());
        Scalar found = load(buffers_[tensor], e->dtype, element);
        found.bound = bound(tensor, element);
        return found;
    }

    template <typename T>
    static bool compare(ScalarOp op, T a, T b) {
        switch (op) {
        case ScalarOp::equal: return a == b;
        case ScalarOp::not_equal: return a != b;
        case ScalarOp::less: return a < b;
        case ScalarOp::less_equal: return a <= b;
        case ScalarOp::greater: return a > b;
        case ScalarOp::greater_equal: return a >= b;
        case ScalarOp::is_nan: return a != a;
        default: return std::isinf(static_cast<double>(a));
        }
    }

    static int64_t integer_operation(ScalarOp op, int64_t a, int64_t b) {
        auto u = [](int64_t x) { return static_cast<uint64_t>(x); };
        switch (op) {
        case ScalarOp::add: return static_cast<int64_t>(u(a) + u(b));
        case ScalarOp::subtract: return static_cast<int64_t>(u(a) - u(b));
        case ScalarOp::multiply: return static_cast<int64_t>(u(a) * u(b));
        case ScalarOp::minimum: return std::min(a, b);
        case ScalarOp::maximum: return std::max(a, b);
        case ScalarOp::floor_divide: return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
        case ScalarOp::modulo: return b == 0 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
        case ScalarOp::truncate_divide: return b == 0 ? 0 : a / b;
        case ScalarOp::truncate_remainder: return b == 0 ? 0 : a % b;
        case ScalarOp::bit_and:
        case ScalarOp::logical_and: return a & b;
        case ScalarOp::bit_or:
        case ScalarOp::logical_or: return a | b;
        case ScalarOp::count_bits: {
            int64_t count = 0;
            for (int bit = 0; bit < 64; bit++) count += u(a) >> bit & 1;
            return count;
        }
        case ScalarOp::dot_pairs: {
            const auto half = [](int64_t x) { return wrapped_to(DType::int16, x); };
            return half(a) * half(b) + half(a / 65536 - (a % 65536 < 0)) * half(b / 65536 - (b % 65536 < 0));
        }
        case ScalarOp::bit_xor:
        case ScalarOp::logical_xor: return a ^ b;
        case ScalarOp::logical_not: return !a;
        case ScalarOp::bit_not: return ~a;
        case ScalarOp::negate: return static_cast<int64_t>(0 - u(a));
        case ScalarOp::absolute: return a < 0 ? static_cast<int64_t>(0 - u(a)) : a;
        case ScalarOp::sign: return (a > 0) - (a < 0);
        case ScalarOp::shift_left: return static_cast<int64_t>(u(a) << (b & 63));
        case ScalarOp::shift_right: return a >> (b & 63);
        default: std::abort();
        }
    }

    static double real_operation(ScalarOp op, double a, double b) {
        switch (op) {
        case ScalarOp::add: return a + b;
        case ScalarOp::subtract: return a - b;
        case ScalarOp::multiply: return a * b;
        case ScalarOp::divide: return a / b;
        case ScalarOp::minimum: return std::isnan(a) || a < b ? a : b;
        case ScalarOp::maximum: return std::isnan(a) || a > b ? a : b;
        case ScalarOp::power: return std::pow(a, b);
        case ScalarOp::negate: return -a;
        case ScalarOp::absolute: return std::fabs(a);
        case ScalarOp::sign: return (a > 0) - (a < 0);
        case ScalarOp::floor: return std::floor(a);
        case ScalarOp::ceil: return std::ceil(a);
        case ScalarOp::round: return std::nearbyint(a);
        case ScalarOp::truncate: return std::trunc(a);
        case ScalarOp::sqrt: return std::sqrt(a);
        case ScalarOp::rsqrt: return 1 / std::sqrt(a);
        case ScalarOp::reciprocal: return 1 / a;
        case ScalarOp::exp: return std::exp(a);
        case ScalarOp::log: return std::log(a);
        case ScalarOp::sin: return std::sin(a);
        case ScalarOp::cos: return std::cos(a);
        case ScalarOp::tanh: return std::tanh(a);
        case ScalarOp::erf: return std::erf(a);
        case ScalarOp::log_gamma: return std::lgamma(a);
        case ScalarOp::digamma: return scalar_functions::psi(a);
        case ScalarOp::sigmoid: return 1 / (1 + std::exp(-a));
        default: std::abort();
        }
    }

    static constexpr double infinity = std::numeric_limits<double>::infinity();

    const Kernel& kernel_;
    std::vector<Buffer>& buffers_;
    std::vector<std::vector<double>> bounds_;  // by tensor and element
    std::vector<KernelTensor> dense_;
    std::vector<int64_t> point_;
    bool failed_ = false;
};

}  // namespace heddle::schedules::reference
