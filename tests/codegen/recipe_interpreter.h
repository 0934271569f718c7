// Runs a recipe on arrays, in blocks, one step after the other: for tests.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codegen/functions.h"

namespace heddle::codegen {

namespace interpreter_detail {

constexpr size_t block = 128;

// What instructions do, and the worst that an estimate may be.
template <typename F>
F scaled(F x, F exponent) {
    if (std::isnan(exponent)) return exponent;
    if (std::isinf(exponent)) return exponent > 0 ? x * exponent : x * F(0);
    return std::ldexp(x, static_cast<int>(std::clamp(exponent, F(-5000), F(5000))));
}
template <typename F>
F significand(F x) {
    if (std::isnan(x) || x < 0) return std::numeric_limits<F>::quiet_NaN();
    if (x == 0 || std::isinf(x)) return 1;
    int exponent;
    const F half = std::frexp(x, &exponent);
    return half < F(0.75) ? 2 * half : half;
}
template <typename F>
F root_estimate(F x) {
    const F root = 1 / std::sqrt(x);
    return std::isfinite(root) && root > 0 ? root * F(1 + 0x1p-14) : root;
}

template <typename F, typename I>
void run_step(const Step& s, const std::vector<uint64_t>& slots, uint64_t* out, size_t n) {
    const auto operand = [&](int i) { return slots.data() + static_cast<size_t>(s.operands[i]) * block; };
    const auto f = [](uint64_t v) { return std::bit_cast<F>(static_cast<I>(v)); };
    const auto fo = [](F v) { return static_cast<uint64_t>(std::bit_cast<I>(v)); };
    const auto floats = [&](auto function) {
        for (size_t i = 0; i < n; i++) out[i] = fo(function(i));
    };
    const auto masks = [&](auto function) {
        for (size_t i = 0; i < n; i++) out[i] = function(i);
    };
    const auto integers = [&](auto function) {
        for (size_t i = 0; i < n; i++) out[i] = static_cast<I>(function(i));
    };
    const uint64_t *a = s.operands[0] >= 0 ? operand(0) : nullptr, *b = s.operands[1] >= 0 ? operand(1) : nullptr,
                   *c = s.operands[2] >= 0 ? operand(2) : nullptr;
    using Signed = std::make_signed_t<I>;
    switch (s.primitive) {
    case Primitive::argument: break;
    case Primitive::constant:
        if (s.type == StepType::float32 || s.type == StepType::float64)
            floats([&](size_t) { return F(s.real); });
        else
            integers([&](size_t) { return s.integer; });
        break;
    case Primitive::add: floats([&](size_t i) { return f(a[i]) + f(b[i]); }); break;
    case Primitive::subtract: floats([&](size_t i) { return f(a[i]) - f(b[i]); }); break;
    case Primitive::multiply: floats([&](size_t i) { return f(a[i]) * f(b[i]); }); break;
    case Primitive::divide: floats([&](size_t i) { return f(a[i]) / f(b[i]); }); break;
    case Primitive::multiply_add: floats([&](size_t i) { return std::fma(f(a[i]), f(b[i]), f(c[i])); }); break;
    case Primitive::square_root: floats([&](size_t i) { return std::sqrt(f(a[i])); }); break;
    case Primitive::pinned: std::copy(a, a + n, out); break;
    case Primitive::round_even: floats([&](size_t i) { return std::nearbyint(f(a[i])); }); break;
    case Primitive::scale: floats([&](size_t i) { return scaled(f(a[i]), f(b[i])); }); break;
    case Primitive::exponent_of: floats([&](size_t i) { return std::logb(f(a[i])); }); break;
    case Primitive::significand_of: floats([&](size_t i) { return significand(f(a[i])); }); break;
    case Primitive::reciprocal_root_estimate: floats([&](size_t i) { return root_estimate(f(a[i])); }); break;
    case Primitive::look_up: break;  // by interpret, which has the table
    case Primitive::widen:
        for (size_t i = 0; i < n; i++) {
            out[i] = std::bit_cast<uint64_t>(double(std::bit_cast<float>(static_cast<uint32_t>(a[i]))));
        }
        break;
    case Primitive::narrow:
        for (size_t i = 0; i < n; i++)
            out[i] = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(a[i])));
        break;
    case Primitive::bits_of:
    case Primitive::float_of_bits: std::copy(a, a + n, out); break;
    case Primitive::float_of_integer: floats([&](size_t i) { return F(static_cast<Signed>(a[i])); }); break;
    case Primitive::integer_of_float:
        integers([&](size_t i) { return std::abs(f(a[i])) < F(0x1p31) ? static_cast<Signed>(f(a[i])) : Signed(0); });
        break;
    case Primitive::integer_add: integers([&](size_t i) { return a[i] + b[i]; }); break;
    case Primitive::integer_subtract: integers([&](size_t i) { return a[i] - b[i]; }); break;
    case Primitive::bit_and: integers([&](size_t i) { return a[i] & b[i]; }); break;
    case Primitive::bit_or: integers([&](size_t i) { return a[i] | b[i]; }); break;
    case Primitive::bit_xor: integers([&](size_t i) { return a[i] ^ b[i]; }); break;
    case Primitive::shift_left: integers([&](size_t i) { return a[i] << s.integer; }); break;
    case Primitive::shift_right: integers([&](size_t i) { return static_cast<I>(a[i]) >> s.integer; }); break;
    case Primitive::shift_right_signed:
        integers([&](size_t i) { return static_cast<Signed>(a[i]) >> s.integer; });
        break;
    case Primitive::less: masks([&](size_t i) { return f(a[i]) < f(b[i]); }); break;
    case Primitive::less_equal: masks([&](size_t i) { return f(a[i]) <= f(b[i]); }); break;
    case Primitive::equal: masks([&](size_t i) { return f(a[i]) == f(b[i]); }); break;
    case Primitive::not_equal: masks([&](size_t i) { return f(a[i]) != f(b[i]); }); break;
    case Primitive::integer_equal: masks([&](size_t i) { return static_cast<I>(a[i]) == static_cast<I>(b[i]); }); break;
    case Primitive::mask_and: masks([&](size_t i) { return a[i] & b[i]; }); break;
    case Primitive::mask_or: masks([&](size_t i) { return a[i] | b[i]; }); break;
    case Primitive::mask_not: masks([&](size_t i) { return a[i] ^ 1; }); break;
    case Primitive::select: integers([&](size_t i) { return a[i] ? b[i] : c[i]; }); break;
    }
}

inline bool runs_wide(const Recipe& recipe, const Step& s) {
    const auto wide = [](StepType type) {
        return type == StepType::float64 || type == StepType::int64 || type == StepType::mask64;
    };
    if (s.primitive == Primitive::widen || s.primitive == Primitive::narrow) return true;
    return wide(s.operands[0] >= 0 && s.primitive != Primitive::select
                    ? recipe.steps[static_cast<size_t>(s.operands[0])].type
                    : s.type);
}

}  // namespace interpreter_detail

// result[i] = recipe(x[i], y[i]); `y` is not read where the recipe has one argument.
template <typename T>
void interpret(const Recipe& recipe, const T* x, const T* y, T* result, size_t count) {
    using namespace interpreter_detail;
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    std::vector<uint64_t> slots(recipe.steps.size() * block);
    for (size_t at = 0; at < count; at += block) {
        const size_t n = std::min(block, count - at);
        for (size_t k = 0; k < recipe.steps.size(); k++) {
            const Step& s = recipe.steps[k];
            uint64_t* out = slots.data() + k * block;
            if (s.primitive == Primitive::argument) {
                const T* from = s.integer == 0 ? x : y;
                for (size_t i = 0; i < n; i++) out[i] = std::bit_cast<Bits>(from[at + i]);
            } else if (s.primitive == Primitive::look_up) {
                const uint64_t* index = slots.data() + static_cast<size_t>(s.operands[0]) * block;
                for (size_t i = 0; i < n; i++)
                    out[i] = std::bit_cast<uint32_t>(recipe.tables[static_cast<size_t>(s.integer)][index[i] & 15]);
            } else if (runs_wide(recipe, s)) {
                run_step<double, uint64_t>(s, slots, out, n);
            } else {
                run_step<float, uint32_t>(s, slots, out, n);
            }
        }
        const uint64_t* from = slots.data() + static_cast<size_t>(recipe.result) * block;
        for (size_t i = 0; i < n; i++) result[at + i] = std::bit_cast<T>(static_cast<Bits>(from[i]));
    }
}

}  // namespace heddle::codegen
