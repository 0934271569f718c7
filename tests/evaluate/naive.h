// A point-by-point interpreter of bodies that shares nothing with the evaluator: for comparison, slow and plain.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "expr/scalar_functions.h"
#include "graph/graph.h"

namespace heddle {

// A value of a node: an integer (bools as 0 and 1, uint64 as its bits), or a float. Nothing: a read outside, or a
// reduction of no terms.
struct NaiveValue {
    int64_t integer = 0;
    double real = 0;
};

class Naive {
public:
    Naive(const Body& body, const std::vector<TensorData>& inputs)
        : body_(body), inputs_(inputs), values_(body.variables.size()) {}

    // False if a point of an equation has no value.
    bool run(std::vector<TensorData>& outputs) {
        for (const BodyEquation& equation : body_.equations) {
            bool fine = walk(equation.variables, [&] {
                auto value = evaluate(equation.value);
                if (!value) return false;
                TensorData& output = outputs[static_cast<size_t>(equation.output)];
                int64_t address = 0;
                for (size_t d = 0; d < equation.left.size(); d++)
                    address = address * output.shape()[d] + evaluate(equation.left[d])->integer;
                is_float(output.dtype()) ? output.set_real(address, value->real)
                                         : output.set_integer(address, value->integer);
                return true;
            });
            if (!fine) return false;
        }
        return true;
    }

private:
    template <typename Visit>
    bool walk(std::span<const VariableId> variables, Visit visit, size_t depth = 0) {
        if (depth == variables.size()) return visit();
        auto id = static_cast<size_t>(variables[depth]);
        int64_t saved = values_[id];
        bool fine = true;
        for (int64_t v = 0; v < body_.variable(variables[depth]).extent.value() && fine; v++) {
            values_[id] = v;
            fine = walk(variables, visit, depth + 1);
        }
        values_[id] = saved;
        return fine;
    }

    static int64_t wrapped(DType dtype, int64_t value) {
        int bits = is_bool(dtype) ? 1 : info(dtype).bits;
        if (bits == 64) return value;
        auto low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
        bool negative = info(dtype).kind == DTypeClass::signed_integer && (low >> (bits - 1)) != 0;
        return static_cast<int64_t>(negative ? low - (uint64_t{1} << bits) : low);
    }

    static double rounded(DType dtype, double value) {
        TensorData cell(dtype, {1});
        cell.set_real(0, value);
        return cell.real_at(0);
    }

    std::optional<NaiveValue> evaluate(NodeId id) {
        const Node& node = body_.node(id);
        switch (node.kind) {
        case Node::Kind::integer: return NaiveValue{node.integer, 0};
        case Node::Kind::real: return NaiveValue{0, rounded(node.dtype, node.real)};
        case Node::Kind::variable: return NaiveValue{values_[static_cast<size_t>(node.index)], 0};
        case Node::Kind::scalar: return scalar(node);
        case Node::Kind::cast: return cast(node);
        case Node::Kind::select: {
            auto condition = evaluate(node.operands[0]);
            return condition ? evaluate(node.operands[condition->integer ? 1 : 2]) : std::nullopt;
        }
        case Node::Kind::read:
        case Node::Kind::guarded_read: return read(node);
        case Node::Kind::local: return local(node);
        case Node::Kind::previous: return previous(node);
        case Node::Kind::reduce: return reduce(node);
        default: return std::nullopt;  // a kind of systems
        }
    }

    std::optional<NaiveValue> read(const Node& node) {
        const TensorData& tensor = inputs_[static_cast<size_t>(node.index)];
        int64_t address = 0;
        bool inside = true;
        for (size_t d = 0; d < tensor.shape().size(); d++) {
            auto coordinate = evaluate(node.operands[d]);
            if (!coordinate) return std::nullopt;
            inside = inside && coordinate->integer >= 0 && coordinate->integer < tensor.shape()[d];
            if (inside) address = address * tensor.shape()[d] + coordinate->integer;
        }
        if (!inside) return node.kind == Node::Kind::guarded_read ? evaluate(node.operands.back()) : std::nullopt;
        if (is_float(tensor.dtype())) return NaiveValue{0, tensor.real_at(address)};
        return NaiveValue{tensor.integer_at(address), 0};
    }

    std::optional<NaiveValue> previous(const Node& node) {
        const Local& state = body_.local(node.local());
        std::vector<int64_t> at = {values_[static_cast<size_t>(state.variables[0])]};
        for (NodeId operand : node.operands) {
            auto coordinate = evaluate(operand);
            if (!coordinate) return std::nullopt;
            at.push_back(coordinate->integer);
        }
        return state_at(node.index, std::move(at));
    }

    // Element [steps done, ...] of a state, each worked out once.
    std::optional<NaiveValue> state_at(int32_t index, std::vector<int64_t> at) {
        const Local& state = body_.locals[static_cast<size_t>(index)];
        for (size_t d = 0; d < at.size(); d++) {
            if (at[d] < 0 || at[d] >= body_.variable(state.variables[d]).extent.value() + (d == 0)) return std::nullopt;
        }
        auto known = states_.find({index, at});
        if (known != states_.end()) return known->second;
        std::vector<int64_t> saved = values_;
        for (size_t d = 0; d < at.size(); d++) values_[static_cast<size_t>(state.variables[d])] = at[d] - (d == 0);
        auto value = evaluate(at[0] == 0 ? state.initial : state.value);
        values_ = std::move(saved);
        return states_[{index, std::move(at)}] = value;
    }

    std::optional<NaiveValue> local(const Node& node) {
        const Local& local = body_.local(node.local());
        if (local.is_state()) {
            std::vector<int64_t> at;
            for (NodeId operand : node.operands) {
                auto coordinate = evaluate(operand);
                if (!coordinate) return std::nullopt;
                at.push_back(coordinate->integer);
            }
            return state_at(node.index, std::move(at));
        }
        std::vector<int64_t> coordinates;
        for (size_t i = 0; i < local.variables.size(); i++) {
            auto coordinate = evaluate(node.operands[i]);
            if (!coordinate || coordinate->integer < 0 ||
                coordinate->integer >= body_.variable(local.variables[i]).extent.value())
                return std::nullopt;
            coordinates.push_back(coordinate->integer);
        }
        for (size_t i = 0; i < coordinates.size(); i++)
            std::swap(values_[static_cast<size_t>(local.variables[i])], coordinates[i]);
        auto result = evaluate(local.value);
        for (size_t i = 0; i < coordinates.size(); i++)
            std::swap(values_[static_cast<size_t>(local.variables[i])], coordinates[i]);
        return result;
    }

    static bool before(DType dtype, NaiveValue a, NaiveValue b, bool lowest) {
        if (is_float(dtype)) {
            if (std::isnan(b.real)) return false;
            return std::isnan(a.real) || (lowest ? a.real < b.real : a.real > b.real);
        }
        if (dtype == DType::uint64) {
            auto x = static_cast<uint64_t>(a.integer), y = static_cast<uint64_t>(b.integer);
            return lowest ? x < y : x > y;
        }
        return lowest ? a.integer < b.integer : a.integer > b.integer;
    }

    static NaiveValue limit(DType dtype, bool greatest) {
        NaiveValue value;
        value.real = greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
        bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        int bits = info(dtype).bits;
        if (is_signed) value.integer = greatest ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits);
        if (!is_signed && greatest) value.integer = static_cast<int64_t>(UINT64_MAX >> (64 - bits));
        return value;
    }

    std::optional<NaiveValue> reduce(const Node& node) {
        DType dtype = body_.node(node.operands[0]).dtype;
        bool lowest = node.reducer == Reducer::minimum || node.reducer == Reducer::argument_minimum;
        std::optional<NaiveValue> best;
        int64_t best_position = 0, position = 0;
        NaiveValue total;
        if (node.reducer == Reducer::product) total = {1, 1};
        if (node.reducer == Reducer::all) total.integer = 1;
        bool fine = walk(node.variables, [&] {
            int64_t here = position++;
            if (node.operands.size() > 1) {
                auto filter = evaluate(node.operands[1]);
                if (!filter) return false;
                if (!filter->integer) return true;
            }
            auto term = evaluate(node.operands[0]);
            if (!term) return false;
            switch (node.reducer) {
            case Reducer::sum:
                total.real += term->real;
                total.integer =
                    static_cast<int64_t>(static_cast<uint64_t>(total.integer) + static_cast<uint64_t>(term->integer));
                break;
            case Reducer::product:
                total.real *= term->real;
                total.integer =
                    static_cast<int64_t>(static_cast<uint64_t>(total.integer) * static_cast<uint64_t>(term->integer));
                break;
            case Reducer::any: total.integer |= term->integer; break;
            case Reducer::all: total.integer &= term->integer; break;
            default:
                if (!best || before(dtype, *term, *best, lowest)) {
                    best = *term;
                    best_position = here;
                }
            }
            return true;
        });
        if (!fine) return std::nullopt;
        if (is_argument(node.reducer)) return NaiveValue{best ? best_position : -1, 0};
        if (node.reducer == Reducer::minimum || node.reducer == Reducer::maximum)
            return best ? *best : limit(dtype, lowest);
        return is_float(dtype) ? NaiveValue{0, rounded(dtype, total.real)}
                               : NaiveValue{wrapped(dtype, total.integer), 0};
    }

    std::optional<NaiveValue> cast(const Node& node) {
        auto value = evaluate(node.operands[0]);
        if (!value) return value;
        DType from = body_.node(node.operands[0]).dtype, to = node.dtype;
        if (is_float(to)) {
            double wide = is_float(from)          ? value->real
                          : from == DType::uint64 ? static_cast<double>(static_cast<uint64_t>(value->integer))
                                                  : static_cast<double>(value->integer);
            if (to == DType::float32 && !is_float(from)) {
                wide = from == DType::uint64 ? static_cast<float>(static_cast<uint64_t>(value->integer))
                                             : static_cast<float>(value->integer);
            }
            return NaiveValue{0, rounded(to, wide)};
        }
        if (is_bool(to)) return NaiveValue{is_float(from) ? value->real != 0 : value->integer != 0, 0};
        if (!is_float(from)) return NaiveValue{wrapped(to, value->integer), 0};
        if (std::isnan(value->real)) return NaiveValue{0, 0};
        double cut = std::trunc(value->real);
        int64_t low = limit(to, false).integer, high = limit(to, true).integer;
        if (to == DType::uint64) {
            if (cut <= 0) return NaiveValue{0, 0};
            return NaiveValue{cut >= 18446744073709551616.0 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(cut)), 0};
        }
        if (cut <= static_cast<double>(low)) return NaiveValue{low, 0};
        return NaiveValue{cut >= static_cast<double>(high) ? high : static_cast<int64_t>(cut), 0};
    }

    std::optional<NaiveValue> scalar(const Node& node) {
        std::vector<NaiveValue> v;
        for (NodeId operand : node.operands) {
            auto value = evaluate(operand);
            if (!value) return value;
            v.push_back(*value);
        }
        v.resize(3);
        DType dtype = body_.node(node.operands[0]).dtype;
        if (node.op == ScalarOp::multiply_add) {
            const double a = v[0].real, b = v[1].real, c = v[2].real;
            const bool single = dtype == DType::float32;
            return NaiveValue{
                0, single ? fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)) : fma(a, b, c)};
        }
        if (is_float(dtype)) return float_scalar(node, dtype, v[0].real, v[1].real);
        return integer_scalar(node, dtype, v[0].integer, v[1].integer);
    }

    // 128-bit arithmetic, wrapped at the end.
    static std::optional<NaiveValue> integer_scalar(const Node& node, DType dtype, int64_t x, int64_t y) {
        using Wide = __int128;
        bool large = dtype == DType::uint64;
        Wide a = large ? Wide(static_cast<uint64_t>(x)) : Wide(x), b = large ? Wide(static_cast<uint64_t>(y)) : Wide(y);
        int bits = is_bool(dtype) ? 1 : info(dtype).bits;
        auto result = [&](Wide value) {
            return NaiveValue{
                wrapped(node.dtype, static_cast<int64_t>(static_cast<uint64_t>(static_cast<unsigned __int128>(value)))),
                0};
        };
        Wide quotient = b == 0 ? 0 : a / b, rest = b == 0 ? 0 : a % b;
        bool inexact_negative = rest != 0 && (rest < 0) != (b < 0);
        switch (node.op) {
        case ScalarOp::add: return result(a + b);
        case ScalarOp::subtract: return result(a - b);
        case ScalarOp::multiply:
            return result(static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
        case ScalarOp::floor_divide: return result(quotient - inexact_negative);
        case ScalarOp::modulo: return result(inexact_negative ? rest + b : rest);
        case ScalarOp::truncate_divide: return result(quotient);
        case ScalarOp::truncate_remainder: return result(rest);
        case ScalarOp::minimum: return result(b < a ? b : a);
        case ScalarOp::maximum: return result(b > a ? b : a);
        case ScalarOp::power: {
            if (b < 0) return result(a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0);
            uint64_t power = 1, base = static_cast<uint64_t>(x);
            Wide steps = b;
            for (; steps > 0; steps /= 2, base *= base) {
                if (steps % 2) power *= base;
            }
            return result(static_cast<int64_t>(power));
        }
        case ScalarOp::bit_and:
        case ScalarOp::logical_and: return result(a & b);
        case ScalarOp::bit_or:
        case ScalarOp::logical_or: return result(a | b);
        case ScalarOp::bit_xor:
        case ScalarOp::logical_xor: return result(a ^ b);
        case ScalarOp::shift_left:
            return result(
                b < 0 || b >= bits ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(b)));
        case ScalarOp::shift_right: return result(b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b));
        case ScalarOp::equal: return result(a == b);
        case ScalarOp::not_equal: return result(a != b);
        case ScalarOp::less: return result(a < b);
        case ScalarOp::less_equal: return result(a <= b);
        case ScalarOp::greater: return result(a > b);
        case ScalarOp::greater_equal: return result(a >= b);
        case ScalarOp::negate: return result(-a);
        case ScalarOp::absolute: return result(a < 0 ? -a : a);
        case ScalarOp::sign: return result((a > 0) - (a < 0));
        case ScalarOp::logical_not: return result(a == 0);
        case ScalarOp::bit_not: return result(~a);
        case ScalarOp::count_bits: {
            int64_t bits = 0;
            for (auto rest = static_cast<uint64_t>(a); rest != 0; rest /= 2) bits += static_cast<int64_t>(rest % 2);
            return result(bits);
        }
        case ScalarOp::dot_pairs: {
            const auto half = [](int64_t x) { return wrapped_to(DType::int16, x); };
            return result(half(a) * half(b) + half(a >> 16) * half(b >> 16));
        }
        case ScalarOp::bit_length: {
            int64_t bits = 0;
            for (auto rest = static_cast<uint64_t>(a); rest != 0; rest /= 2) ++bits;
            return result(bits);
        }
        default: return std::nullopt;
        }
    }

    // In double, rounded at the end: equal to arithmetic in float for + - * / sqrt, and within an ulp or so for
    // functions.
    static std::optional<NaiveValue> float_scalar(const Node& node, DType dtype, double a, double b) {
        auto truth = [](bool value) { return NaiveValue{value, 0}; };
        auto result = [&](double value) { return NaiveValue{0, rounded(dtype, value)}; };
        bool nan = std::isnan(a) || std::isnan(b);
        switch (node.op) {
        case ScalarOp::add: return result(a + b);
        case ScalarOp::subtract: return result(a - b);
        case ScalarOp::multiply: return result(a * b);
        case ScalarOp::divide: return result(a / b);
        case ScalarOp::floor_divide: return result(std::isinf(a) ? NAN : std::floor(rounded(dtype, a / b)));
        case ScalarOp::modulo: return result(floor_rest(a, b));
        case ScalarOp::truncate_remainder: return result(std::fmod(a, b));
        case ScalarOp::minimum: return result(nan ? std::nan("") : b < a ? b : a);
        case ScalarOp::maximum: return result(nan ? std::nan("") : b > a ? b : a);
        case ScalarOp::power: return result(std::pow(a, b));
        case ScalarOp::atan2: return result(std::atan2(a, b));
        case ScalarOp::hypotenuse: return result(std::hypot(a, b));
        case ScalarOp::copy_sign: return result(std::copysign(a, b));
        case ScalarOp::equal: return truth(a == b);
        case ScalarOp::not_equal: return truth(a != b);
        case ScalarOp::less: return truth(a < b);
        case ScalarOp::less_equal: return truth(a <= b);
        case ScalarOp::greater: return truth(a > b);
        case ScalarOp::greater_equal: return truth(a >= b);
        case ScalarOp::negate: return result(-a);
        case ScalarOp::absolute: return result(std::fabs(a));
        case ScalarOp::sign: return result(std::isnan(a) ? a : (a > 0) - (a < 0));
        case ScalarOp::floor: return result(std::floor(a));
        case ScalarOp::ceil: return result(std::ceil(a));
        case ScalarOp::round: return result(std::rint(a));
        case ScalarOp::truncate: return result(std::trunc(a));
        case ScalarOp::sqrt: return result(std::sqrt(a));
        case ScalarOp::rsqrt: return result(1 / std::sqrt(a));
        case ScalarOp::reciprocal: return result(1 / a);
        case ScalarOp::exp: return result(std::exp(a));
        case ScalarOp::exp2: return result(std::exp2(a));
        case ScalarOp::expm1: return result(std::expm1(a));
        case ScalarOp::log: return result(std::log(a));
        case ScalarOp::log2: return result(std::log2(a));
        case ScalarOp::log1p: return result(std::log1p(a));
        case ScalarOp::sin: return result(std::sin(a));
        case ScalarOp::cos: return result(std::cos(a));
        case ScalarOp::tan: return result(std::tan(a));
        case ScalarOp::asin: return result(std::asin(a));
        case ScalarOp::acos: return result(std::acos(a));
        case ScalarOp::atan: return result(std::atan(a));
        case ScalarOp::sinh: return result(std::sinh(a));
        case ScalarOp::cosh: return result(std::cosh(a));
        case ScalarOp::tanh: return result(std::tanh(a));
        case ScalarOp::asinh: return result(std::asinh(a));
        case ScalarOp::acosh: return result(std::acosh(a));
        case ScalarOp::atanh: return result(std::atanh(a));
        case ScalarOp::erf: return result(std::erf(a));
        case ScalarOp::erfc: return result(std::erfc(a));
        case ScalarOp::log_gamma: return result(std::lgamma(a));
        case ScalarOp::digamma: return result(scalar_functions::psi(a));
        case ScalarOp::sigmoid: return result(1 / (1 + std::exp(-a)));
        case ScalarOp::is_nan: return truth(std::isnan(a));
        case ScalarOp::is_infinite: return truth(std::isinf(a));
        default: return std::nullopt;
        }
    }

    static double floor_rest(double a, double b) {
        double rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }

    const Body& body_;
    const std::vector<TensorData>& inputs_;
    std::map<std::pair<int32_t, std::vector<int64_t>>, std::optional<NaiveValue>> states_;
    std::vector<int64_t> values_;
};

}  // namespace heddle
