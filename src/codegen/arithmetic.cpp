#include "codegen/arithmetic.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "codegen/functions.h"
#include "codegen/recipe_code.h"

namespace heddle::codegen {
namespace {

// Operators over one Code.
struct Arithmetic {
    Code& code;

    CodeValue op(CodeOp o, CodeValue a, CodeValue b = {}) const { return code.operation(o, a, b); }
    CodeValue integer(CodeValue like, int64_t value) const {
        return widened(code, code.integer(like.dtype, value), like.width);
    }
    CodeValue real(CodeValue like, double value) const {
        return widened(code, code.real(like.dtype, value), like.width);
    }
    CodeValue zero(CodeValue like) const { return is_float(like.dtype) ? real(like, 0) : integer(like, 0); }
    CodeValue logical_not(CodeValue a) const { return op(CodeOp::bit_xor, a, integer(a, 1)); }
    CodeValue both(CodeValue a, CodeValue b) const { return op(CodeOp::bit_and, a, b); }
    CodeValue either(CodeValue a, CodeValue b) const { return op(CodeOp::bit_or, a, b); }
    CodeValue less(CodeValue a, CodeValue b) const { return op(CodeOp::less, a, b); }
    CodeValue equal(CodeValue a, CodeValue b) const { return op(CodeOp::equal, a, b); }
    CodeValue is_nan(CodeValue a) const { return op(CodeOp::not_equal, a, a); }
    CodeValue select(CodeValue c, CodeValue a, CodeValue b) const { return code.select(c, a, b); }
    bool is_signed(CodeValue a) const { return info(a.dtype).kind == DTypeClass::signed_integer; }

    DType bits_type(CodeValue a) const { return a.dtype == DType::float64 ? DType::uint64 : DType::uint32; }
    CodeValue sign_bit(CodeValue a) const {
        const DType type = bits_type(a);
        const int64_t bit = type == DType::uint64 ? INT64_MIN : int64_t{1} << 31;
        return widened(code, code.integer(type, bit), a.width);
    }
    CodeValue with_bits(CodeOp o, CodeValue a, CodeValue mask) const {
        return code.reinterpret(op(o, code.reinterpret(a, mask.dtype), mask), a.dtype);
    }
    CodeValue negate(CodeValue a) const {
        if (!is_float(a.dtype)) return op(CodeOp::subtract, integer(a, 0), a);
        return op(CodeOp::negate, a);
    }
    CodeValue absolute(CodeValue a) const {
        if (is_float(a.dtype)) {
            const CodeValue sign = sign_bit(a);
            return with_bits(CodeOp::bit_and, a, op(CodeOp::bit_xor, sign, integer(sign, -1)));
        }
        return is_signed(a) ? select(less(a, integer(a, 0)), negate(a), a) : a;
    }
    CodeValue copy_sign(CodeValue magnitude, CodeValue sign) const {
        const CodeValue bit = sign_bit(sign);
        return with_bits(CodeOp::bit_or, absolute(magnitude),
                         op(CodeOp::bit_and, code.reinterpret(sign, bit.dtype), bit));
    }
    CodeValue is_infinite(CodeValue a) const {
        return equal(absolute(a), real(a, std::numeric_limits<double>::infinity()));
    }

    // Written so that one x86 min or max does it but for a NaN in b.
    CodeValue extreme(bool smallest, CodeValue a, CodeValue b) const {
        const CodeValue chosen = select(smallest ? less(b, a) : less(a, b), b, a);
        return is_float(a.dtype) ? select(is_nan(b), b, chosen) : chosen;
    }

    // Integers: the quotient and remainder of C, without its undefined cases.
    struct Divided {
        CodeValue quotient, rest;
    };
    Divided divide_integers(CodeValue a, CodeValue b) const {
        const CodeValue zero_value = integer(a, 0), one = integer(a, 1);
        const CodeValue by_zero = equal(b, zero_value);
        CodeValue special = by_zero;
        CodeValue minus_one{};
        if (is_signed(a)) {
            minus_one = equal(b, integer(b, -1));
            special = either(by_zero, minus_one);
        }
        const CodeValue divisor = select(special, one, b);
        CodeValue quotient = op(CodeOp::divide, a, divisor);
        if (is_signed(a)) quotient = select(minus_one, negate(a), quotient);
        quotient = select(by_zero, zero_value, quotient);
        // b = -1: a - (-a)(-1) = 0; b = 0 is to give 0
        const CodeValue rest = op(CodeOp::subtract, a, op(CodeOp::multiply, quotient, b));
        return {quotient, select(by_zero, zero_value, rest)};
    }
    CodeValue differs_in_sign(CodeValue rest, CodeValue b) const {
        const CodeValue z = zero(rest);
        return both(op(CodeOp::not_equal, rest, z), op(CodeOp::bit_xor, less(rest, z), less(b, z)));
    }
    CodeValue floor_divide_integers(CodeValue a, CodeValue b) const {
        const Divided d = divide_integers(a, b);
        if (!is_signed(a)) return d.quotient;
        return select(differs_in_sign(d.rest, b), op(CodeOp::subtract, d.quotient, integer(a, 1)), d.quotient);
    }
    CodeValue floor_modulo_integers(CodeValue a, CodeValue b) const {
        const Divided d = divide_integers(a, b);
        if (!is_signed(a)) return d.rest;
        return select(differs_in_sign(d.rest, b), op(CodeOp::add, d.rest, b), d.rest);
    }

    // C's fmod, exact: long division, a chunk of the quotient's leading bits at a time. A chunk never exceeds the
    // quotient, so that its product taken off is exact.
    CodeValue exact_remainder(CodeValue a, CodeValue b) const {
        const bool wide = a.dtype == DType::float64;
        const CodeValue divisor = absolute(b);
        const CodeValue infinity = real(a, std::numeric_limits<double>::infinity());
        const CodeValue possible = both(less(absolute(a), infinity), less(zero(a), divisor));
        const Cell rest_cell = code.cell(select(possible, absolute(a), zero(a)));
        const auto unfinished = [&] { return both(possible, op(CodeOp::less_equal, divisor, code.get(rest_cell))); };
        code.repeat_while(
            [&] { return code.any(unfinished()); },
            [&] {
                const CodeValue rest = code.get(rest_cell);
                // Far away, multiples of the divisor by a power of two: no quotient overflows.
                const CodeValue far = real(a, wide ? 0x1p900 : 0x1p100);
                CodeValue step = divisor;
                for (int k = 0; k < 2; k++) {
                    step = select(less(far, op(CodeOp::divide, rest, step)), op(CodeOp::multiply, step, far), step);
                }
                const CodeValue quotient = op(CodeOp::divide, rest, step);
                const DType type = bits_type(a);
                const CodeValue leading =
                    widened(code, code.integer(type, wide ? ~int64_t{7} : int64_t{0xfffffff8}), a.width);
                // A quotient that was rounded up is one unit less before the low bits go, and no other: with a unit more
                // to take off, the rest of a divisor just below a power of two has a bit too many.
                const CodeValue raw = code.reinterpret(quotient, type);
                const CodeValue rounded_up = less(code.multiply_add(negate(quotient), step, rest), zero(a));
                const CodeValue down = select(rounded_up, op(CodeOp::subtract, raw, integer(raw, 1)), raw);
                const CodeValue below = op(CodeOp::bit_and, down, leading);
                const CodeValue chunk = select(less(quotient, real(a, wide ? 0x1p51 : 0x1p21)),
                                               op(CodeOp::truncate, quotient), code.reinterpret(below, a.dtype));
                CodeValue next = code.multiply_add(negate(chunk), step, rest);
                next = select(less(next, zero(a)), op(CodeOp::add, next, step), next);
                code.set(rest_cell, select(unfinished(), next, rest));
            });
        const CodeValue result = copy_sign(code.get(rest_cell), a);
        return select(possible, result, real(a, std::numeric_limits<double>::quiet_NaN()));
    }
    // The rounded quotient's floor; no number for an infinite dividend.
    CodeValue floor_divide_floats(CodeValue a, CodeValue b) const {
        const CodeValue floor = op(CodeOp::floor, op(CodeOp::divide, a, b));
        return op(CodeOp::subtract, floor, op(CodeOp::subtract, a, a));
    }
    CodeValue floor_modulo_floats(CodeValue a, CodeValue b) const {
        const CodeValue rest = exact_remainder(a, b);
        const CodeValue moved = select(differs_in_sign(rest, b), op(CodeOp::add, rest, b), rest);
        return select(equal(rest, zero(a)), copy_sign(zero(a), b), moved);
    }
    // An amount for all lanes is bounded as a scalar, so that machines see that it is one.
    CodeValue shift(bool to_left, CodeValue a, CodeValue amount) const {
        const int bits = static_cast<int>(bytes(a.dtype) * 8);
        const CodeValue low = op(CodeOp::bit_and, amount, integer(amount, bits - 1));
        const CodeValue within = widened(code, equal(low, amount), a.width);
        const CodeValue shifted =
            op(to_left ? CodeOp::shift_left : CodeOp::shift_right, a, widened(code, low, a.width));
        const CodeValue all_out =
            !to_left && is_signed(a) ? op(CodeOp::shift_right, a, integer(a, bits - 1)) : integer(a, 0);
        return select(within, shifted, all_out);
    }

    CodeValue integer_power(CodeValue a, CodeValue b) const {
        const CodeValue zero_value = integer(a, 0), one = integer(a, 1);
        const CodeValue negative =
            is_signed(b) ? less(b, zero_value) : widened(code, code.integer(DType::boolean, 0), a.width);
        const Cell result = code.cell(one), base = code.cell(a), exponent = code.cell(select(negative, zero_value, b));
        code.repeat_while([&] { return code.any(op(CodeOp::not_equal, code.get(exponent), zero_value)); },
                          [&] {
                              const CodeValue e = code.get(exponent), factor = code.get(base), r = code.get(result);
                              const CodeValue odd = equal(op(CodeOp::bit_and, e, one), one);
                              code.set(result, select(odd, op(CodeOp::multiply, r, factor), r));
                              code.set(base, op(CodeOp::multiply, factor, factor));
                              code.set(exponent, op(CodeOp::shift_right, e, one));
                          });
        const CodeValue odd = equal(op(CodeOp::bit_and, b, one), one);
        const CodeValue minus_one = integer(a, -1);
        const CodeValue of_units =
            select(equal(a, one), one, select(equal(a, minus_one), select(odd, minus_one, one), zero_value));
        return select(negative, of_units, code.get(result));
    }

    // Every bit below the highest one set, then counted.
    CodeValue bit_length(CodeValue a) const {
        const int width = static_cast<int>(bytes(a.dtype) * 8);
        for (int step = 1; step < width; step *= 2) a = either(a, op(CodeOp::shift_right, a, integer(a, step)));
        return op(CodeOp::count_bits, a);
    }

    CodeValue sign(CodeValue a) const {
        const CodeValue z = zero(a);
        const CodeValue one = is_float(a.dtype) ? real(a, 1) : integer(a, 1);
        CodeValue result = select(less(z, a), one, z);
        if (is_float(a.dtype) || is_signed(a)) {
            result = select(less(a, z), is_float(a.dtype) ? real(a, -1) : integer(a, -1), result);
        }
        return is_float(a.dtype) ? select(is_nan(a), a, result) : result;
    }
};

CodeValue from_bfloat16(Code& code, CodeValue value) {
    const Arithmetic m{code};
    const CodeValue raw = code.convert(code.reinterpret(value, DType::uint16), DType::uint32);
    return code.reinterpret(m.op(CodeOp::shift_left, raw, m.integer(raw, 16)), DType::float32);
}
// To nearest even; a NaN stays one.
CodeValue to_bfloat16(Code& code, CodeValue value) {
    const Arithmetic m{code};
    const CodeValue raw = code.reinterpret(value, DType::uint32);
    const CodeValue top = m.op(CodeOp::shift_right, raw, m.integer(raw, 16));
    const CodeValue half = m.op(CodeOp::add, m.integer(raw, 0x7fff), m.op(CodeOp::bit_and, top, m.integer(raw, 1)));
    const CodeValue rounded = m.op(CodeOp::shift_right, m.op(CodeOp::add, raw, half), m.integer(raw, 16));
    const CodeValue quiet = m.op(CodeOp::bit_or, top, m.integer(raw, 0x40));
    const CodeValue bits = m.select(m.is_nan(value), quiet, rounded);
    return code.reinterpret(code.convert(bits, DType::uint16), DType::bfloat16);
}
// An 8-bit float: widening and rounding by its format, as narrow_float.cpp does them, on all lanes at once.
struct SmallFloat {
    SmallFloat(Code& code, DType dtype)
        : m{code}, dtype(dtype), format(info(dtype).format), shift(23 - format.mantissa_bits) {}

    Arithmetic m;
    DType dtype;
    const FloatFormat& format;
    int shift;  // from a mantissa here to one in float32

    static constexpr int64_t sign = 0x80;
    int64_t rebias() const { return static_cast<int64_t>(127 - format.bias) << 23; }
    // The first code after the greatest finite one: infinity, or NaN.
    int64_t overflow() const {
        if (format.specials == FloatSpecials::ieee) return sign - (int64_t{1} << format.mantissa_bits);
        return format.specials == FloatSpecials::only_nan ? sign - 1 : sign;
    }
    CodeValue shifted(CodeOp o, CodeValue a, int by) const { return m.op(o, a, m.integer(a, by)); }
    CodeValue at_least(CodeValue a, int64_t least) const { return m.op(CodeOp::less_equal, m.integer(a, least), a); }

    CodeValue widened(CodeValue value) const {
        Code& code = m.code;
        const CodeValue raw = code.convert(code.reinterpret(value, DType::uint8), DType::uint32);
        const CodeValue magnitude = m.op(CodeOp::bit_and, raw, m.integer(raw, sign - 1));
        const CodeValue placed = shifted(CodeOp::shift_left, magnitude, shift);
        const CodeValue normal = m.op(CodeOp::add, placed, m.integer(raw, rebias()));
        const CodeValue whole = code.convert(code.convert(magnitude, DType::int32), DType::float32);
        const CodeValue subnormal = m.op(CodeOp::multiply, whole, m.real(whole, format.spacing));
        CodeValue wide = m.select(at_least(magnitude, int64_t{1} << format.mantissa_bits), normal,
                                  code.reinterpret(subnormal, DType::uint32));
        if (format.specials == FloatSpecials::ieee) {
            const CodeValue top = m.op(CodeOp::bit_or, placed, m.integer(raw, 0x7F800000));
            wide = m.select(at_least(magnitude, overflow()), top, wide);
        } else {
            const bool one_nan = format.specials == FloatSpecials::single_nan;
            const CodeValue is_nan = m.equal(one_nan ? raw : magnitude, m.integer(raw, overflow()));
            wide = m.select(is_nan, m.integer(raw, 0x7FC00000), wide);
        }
        const CodeValue sign_bit = m.op(CodeOp::bit_and, raw, m.integer(raw, sign));
        return code.reinterpret(m.op(CodeOp::bit_or, wide, shifted(CodeOp::shift_left, sign_bit, 24)), DType::float32);
    }

    // To nearest even; a NaN stays one.
    CodeValue rounded(CodeValue value) const {
        Code& code = m.code;
        const CodeValue raw = code.reinterpret(value, DType::uint32);
        const CodeValue magnitude = m.absolute(value);
        const CodeValue rebiased =
            m.op(CodeOp::subtract, code.reinterpret(magnitude, DType::uint32), m.integer(raw, rebias()));
        const CodeValue odd = m.op(CodeOp::bit_and, shifted(CodeOp::shift_right, rebiased, shift), m.integer(raw, 1));
        const CodeValue half = m.integer(raw, (int64_t{1} << (shift - 1)) - 1);
        const CodeValue normal =
            shifted(CodeOp::shift_right, m.op(CodeOp::add, m.op(CodeOp::add, rebiased, half), odd), shift);
        // A sum whose unit is the spacing of subnormals: the addition rounds.
        const CodeValue unit = m.real(value, format.spacing * 0x1p23);
        const CodeValue sum = code.reinterpret(m.op(CodeOp::add, magnitude, unit), DType::uint32);
        const CodeValue subnormal = m.op(CodeOp::subtract, sum, code.reinterpret(unit, DType::uint32));
        const CodeValue finite = m.select(m.less(magnitude, m.real(value, format.least_normal)), subnormal, normal);
        const CodeValue beyond = m.integer(raw, overflow());
        CodeValue result = m.select(at_least(finite, overflow()), beyond, finite);
        const int64_t quiet = format.specials == FloatSpecials::ieee ? int64_t{1} << (format.mantissa_bits - 1) : 0;
        result = m.select(m.is_nan(value), m.integer(raw, overflow() | quiet), result);
        CodeValue sign_bit = m.op(CodeOp::bit_and, shifted(CodeOp::shift_right, raw, 24), m.integer(raw, sign));
        if (format.specials == FloatSpecials::single_nan)
            sign_bit = m.select(m.equal(result, m.integer(raw, 0)), result, sign_bit);
        return code.reinterpret(code.convert(m.op(CodeOp::bit_or, result, sign_bit), DType::uint8), dtype);
    }
};

CodeValue from_narrow(Code& code, CodeValue value) {
    const DType wide = info(value.dtype).arithmetic;
    if (value.dtype == DType::float16) return code.convert(value, wide);
    if (value.dtype == DType::bfloat16) return from_bfloat16(code, value);
    if (is_float(value.dtype)) return SmallFloat(code, value.dtype).widened(value);
    // The sign is in the highest of the bits that count; what is above may be anything.
    const Arithmetic m{code};
    const CodeValue raw = code.reinterpret(value, wide), unused = m.integer(raw, 8 - info(value.dtype).bits);
    return m.op(CodeOp::shift_right, m.op(CodeOp::shift_left, raw, unused), unused);
}

// To float32 rounding to odd, so that a further rounding to a half is right.
CodeValue double_to_odd_single(Code& code, CodeValue value) {
    const Arithmetic m{code};
    const CodeValue nearest = code.convert(value, DType::float32);
    const CodeValue back = code.convert(nearest, DType::float64);
    const CodeValue raw = code.reinterpret(nearest, DType::uint32);
    const CodeValue even = m.equal(m.op(CodeOp::bit_and, raw, m.integer(raw, 1)), m.integer(raw, 0));
    const CodeValue inexact = m.both(m.logical_not(m.equal(back, value)), m.logical_not(m.is_nan(value)));
    const CodeValue outward = m.less(m.absolute(back), m.absolute(value));
    const CodeValue moved =
        m.select(outward, m.op(CodeOp::add, raw, m.integer(raw, 1)), m.op(CodeOp::subtract, raw, m.integer(raw, 1)));
    return code.reinterpret(m.select(m.both(even, inexact), moved, raw), DType::float32);
}

// The same of an integer: bits below the lowest that is kept become it, where they are not all zero. Wide integers have 53 bits in
// between; devices without float64 hold none that need more than 32.
CodeValue integer_to_odd_single(Code& code, CodeValue value) {
    const Arithmetic m{code};
    const int bits = info(value.dtype).bits;
    if (bits <= 16) return code.convert(value, DType::float32);
    const bool by_double = bits == 64 && code.units() != Units::single;
    const int64_t lowest = int64_t{1} << (by_double ? 11 : 8), exact = int64_t{1} << (by_double ? 53 : 24);
    const CodeValue below = m.op(CodeOp::bit_and, value, m.integer(value, lowest - 1));
    const CodeValue sticky = m.select(m.equal(below, m.zero(value)), m.zero(value), m.integer(value, lowest));
    const CodeValue odd = m.either(m.op(CodeOp::bit_and, value, m.integer(value, -lowest)), sticky);
    CodeValue is_short = m.less(value, m.integer(value, exact));
    if (m.is_signed(value)) is_short = m.both(is_short, m.less(m.integer(value, -exact), value));
    const CodeValue shortened = m.select(is_short, value, odd);
    if (!by_double) return code.convert(shortened, DType::float32);
    return double_to_odd_single(code, code.convert(shortened, DType::float64));
}

// Truncates and saturates; NaN gives 0. In the type of the arithmetic of `dtype`. The lowest integer is a float, so
// that what lies below goes there first; the highest is not.
CodeValue float_to_integer(Code& code, CodeValue value, DType dtype) {
    const Arithmetic m{code};
    const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
    const int bits = info(dtype).bits - (is_signed ? 1 : 0);
    double above = 1;
    for (int i = 0; i < bits; i++) above *= 2;
    const CodeValue lowest = m.real(value, is_signed ? -above : 0), end = m.real(value, above);
    const CodeValue raised = m.select(m.less(value, lowest), lowest, value);
    const CodeValue result = code.convert(m.select(m.less(raised, end), raised, m.zero(value)), info(dtype).arithmetic);
    const int64_t highest = bits == 64 ? -1 : bits == 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
    return m.select(m.op(CodeOp::less_equal, end, value), m.integer(result, highest), result);
}

}  // namespace

CodeValue widened(Code& code, CodeValue value, int width) {
    return value.width == width ? value : code.broadcast(value, width);
}

CodeValue cast(Code& code, CodeValue value, DType dtype) {
    const Arithmetic m{code};
    if (value.dtype == dtype) return value;
    if (is_narrow(value.dtype)) return cast(code, from_narrow(code, value), dtype);
    if (is_narrow(dtype) && is_float(dtype)) {
        const CodeValue single = value.dtype == DType::float64 ? double_to_odd_single(code, value)
                                 : is_integer(value.dtype)     ? integer_to_odd_single(code, value)
                                                               : cast(code, value, DType::float32);
        if (dtype == DType::float16) return code.convert(single, dtype);
        return dtype == DType::bfloat16 ? to_bfloat16(code, single) : SmallFloat(code, dtype).rounded(single);
    }
    if (is_narrow(dtype)) {
        const CodeValue whole =
            is_float(value.dtype) ? float_to_integer(code, value, dtype) : cast(code, value, info(dtype).arithmetic);
        const CodeValue low = m.integer(whole, (int64_t{1} << info(dtype).bits) - 1);
        return code.reinterpret(m.op(CodeOp::bit_and, whole, low), dtype);
    }
    if (is_bool(dtype)) return m.op(CodeOp::not_equal, value, m.zero(value));
    if (is_bool(value.dtype)) {
        const auto constant = [&](int v) {
            return widened(code, is_float(dtype) ? code.real(dtype, v) : code.integer(dtype, v), value.width);
        };
        return code.select(value, constant(1), constant(0));
    }
    if (is_float(value.dtype) && is_integer(dtype)) return float_to_integer(code, value, dtype);
    return code.convert(value, dtype);
}

CodeValue apply(Code& code, ScalarOp op, std::span<const CodeValue> operands) {
    const Arithmetic m{code};
    int width = 1;
    for (const CodeValue& v : operands) width = std::max(width, v.width);
    std::vector<CodeValue> v;
    for (const CodeValue& operand : operands) v.push_back(widened(code, operand, width));
    if (const Recipe* function = recipe(op, v[0].dtype, code.units())) {
        return code.function(std::string(info(op).name), v, Runs::always, [&](std::span<const CodeValue> arguments) {
            return std::vector<CodeValue>{run(code, *function, arguments)};
        })[0];
    }
    const CodeValue a = v[0], b = v.size() > 1 ? v[1] : CodeValue{};
    const bool real = is_float(a.dtype);
    switch (op) {
    case ScalarOp::add: return m.op(CodeOp::add, a, b);
    case ScalarOp::subtract: return m.op(CodeOp::subtract, a, b);
    case ScalarOp::multiply: return m.op(CodeOp::multiply, a, b);
    case ScalarOp::multiply_add: return code.multiply_add(a, b, v[2]);
    case ScalarOp::divide: return m.op(CodeOp::divide, a, b);
    case ScalarOp::floor_divide: return real ? m.floor_divide_floats(a, b) : m.floor_divide_integers(a, b);
    case ScalarOp::modulo: return real ? m.floor_modulo_floats(a, b) : m.floor_modulo_integers(a, b);
    case ScalarOp::truncate_divide: return m.divide_integers(a, b).quotient;
    case ScalarOp::truncate_remainder: return real ? m.exact_remainder(a, b) : m.divide_integers(a, b).rest;
    case ScalarOp::minimum: return m.extreme(true, a, b);
    case ScalarOp::maximum: return m.extreme(false, a, b);
    case ScalarOp::power: return m.integer_power(a, b);
    case ScalarOp::bit_and:
    case ScalarOp::logical_and: return m.both(a, b);
    case ScalarOp::bit_or:
    case ScalarOp::logical_or: return m.either(a, b);
    case ScalarOp::bit_xor:
    case ScalarOp::logical_xor: return m.op(CodeOp::bit_xor, a, b);
    case ScalarOp::shift_left: return m.shift(true, a, operands[1]);
    case ScalarOp::shift_right: return m.shift(false, a, operands[1]);
    case ScalarOp::equal: return m.equal(a, b);
    case ScalarOp::not_equal: return m.op(CodeOp::not_equal, a, b);
    case ScalarOp::less: return m.less(a, b);
    case ScalarOp::less_equal: return m.op(CodeOp::less_equal, a, b);
    case ScalarOp::greater: return m.less(b, a);
    case ScalarOp::greater_equal: return m.op(CodeOp::less_equal, b, a);
    case ScalarOp::negate: return m.negate(a);
    case ScalarOp::absolute: return m.absolute(a);
    case ScalarOp::sign: return m.sign(a);
    case ScalarOp::logical_not: return m.logical_not(a);
    case ScalarOp::bit_not: return m.op(CodeOp::bit_xor, a, m.integer(a, -1));
    case ScalarOp::count_bits: return m.op(CodeOp::count_bits, a);
    case ScalarOp::bit_length: return m.bit_length(a);
    case ScalarOp::dot_pairs: return m.op(CodeOp::dot_pairs, a, b);
    case ScalarOp::floor: return m.op(CodeOp::floor, a);
    case ScalarOp::ceil: return m.op(CodeOp::ceil, a);
    case ScalarOp::round: return m.op(CodeOp::round, a);
    case ScalarOp::truncate: return m.op(CodeOp::truncate, a);
    case ScalarOp::is_nan: return m.is_nan(a);
    case ScalarOp::is_infinite: return m.is_infinite(a);
    default: break;
    }
    assert(!"what the table of operations admits is above, or has a recipe");
    return {};
}

CodeValue combine(Code& code, Reducer reducer, CodeValue accumulator, CodeValue term) {
    const Arithmetic m{code};
    switch (reducer) {
    case Reducer::sum: return m.op(CodeOp::add, accumulator, term);
    case Reducer::product: return m.op(CodeOp::multiply, accumulator, term);
    case Reducer::minimum:
    case Reducer::argument_minimum: return m.extreme(true, accumulator, term);
    case Reducer::maximum:
    case Reducer::argument_maximum: return m.extreme(false, accumulator, term);
    case Reducer::any: return m.either(accumulator, term);
    case Reducer::all: return m.both(accumulator, term);
    }
    return accumulator;
}

CodeValue is_better(Code& code, Reducer reducer, CodeValue a, CodeValue b) {
    const Arithmetic m{code};
    const CodeValue strictly = reducer == Reducer::argument_minimum ? m.less(b, a) : m.less(a, b);
    if (!is_float(a.dtype)) return strictly;
    return m.either(strictly, m.both(m.is_nan(b), m.logical_not(m.is_nan(a))));
}

CodeValue is_better_or_first(Code& code, Reducer reducer, CodeValue a, CodeValue a_index, CodeValue b,
                             CodeValue b_index) {
    const Arithmetic m{code};
    CodeValue same = m.equal(a, b);
    if (is_float(a.dtype)) same = m.either(same, m.both(m.is_nan(a), m.is_nan(b)));
    return m.either(is_better(code, reducer, a, b), m.both(same, m.less(b_index, a_index)));
}

CodeValue neutral(Code& code, Reducer reducer, DType dtype) {
    const NeutralTerm term = heddle::neutral(reducer, dtype);
    return is_float(dtype) ? code.real(dtype, term.real) : code.integer(dtype, term.integer);
}

}  // namespace heddle::codegen
