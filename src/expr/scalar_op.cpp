#include "expr/scalar_op.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "expr/scalar_functions.h"

namespace heddle {
namespace {

using namespace type_sets;
using enum ScalarClass;
namespace meaning = scalar_functions;

template <typename Meaning, typename T>
constexpr T (*value_of())(T, T) {
    if constexpr (meaning::BinaryOf<Meaning, T>)
        return [](T a, T b) { return static_cast<T>(Meaning::apply(a, b)); };
    else if constexpr (meaning::UnaryOf<Meaning, T>)
        return [](T a, T) { return static_cast<T>(Meaning::apply(a)); };
    else
        return nullptr;
}

template <typename Meaning>
constexpr ScalarOpInfo row(ScalarOp op, std::string_view name, std::string_view infix, ScalarClass kind, int operands,
                           TypeSet accepts, int cost, int size, double ulps, IntervalRule interval,
                           std::string_view first, std::string_view second, std::string_view third = {}) {
    return {op,
            name,
            infix,
            kind,
            operands,
            accepts,
            cost,
            size,
            ulps,
            interval,
            {first, second, third},
            value_of<Meaning, double>(),
            value_of<Meaning, int64_t>()};
}

constexpr std::array table = {
#define HEDDLE_SCALAR(op, name, infix, kind, operands, accepts, cost, size, ulps, function, carry, interval, first, \
                      second)                                                                                       \
    row<meaning::function>(ScalarOp::op, name, infix, kind, operands, accepts, cost, size, ulps,                    \
                           IntervalRule::interval, first, second),
#define HEDDLE_TERNARY(op, name, accepts, cost, size, ulps, function, carry, first, second, third)               \
    row<meaning::function>(ScalarOp::op, name, "", arithmetic, 3, accepts, cost, size, ulps, IntervalRule::none, \
                           first, second, third),
#define HEDDLE_FUNCTION(op, name, cost, size, ulps, value, carry, interval, first)                                 \
    row<meaning::of_##op>(ScalarOp::op, name, "", arithmetic, 1, floats, cost, size, ulps, IntervalRule::interval, \
                          first, ""),
#include "expr/scalar_ops.def"
};
static_assert(table.size() == scalar_op_count);

struct ReducerRow {
    std::string_view name;
    TypeSet accepts;
    std::optional<ScalarOp> joining;
};
constexpr std::array<ReducerRow, 8> reducers = {{
    {"sum", integers | floats | complexes, ScalarOp::add},
    {"prod", integers | floats, ScalarOp::multiply},
    {"min", integers | floats, ScalarOp::minimum},
    {"max", integers | floats, ScalarOp::maximum},
    {"any", bools | integers, ScalarOp::bit_or},
    {"all", bools, ScalarOp::logical_and},
    {"argmin", integers | floats, {}},
    {"argmax", integers | floats, {}},
}};

bool is_in(DType dtype, TypeSet set) {
    if (is_narrow(dtype)) return false;
    const TypeSet whole = info(dtype).kind == DTypeClass::unsigned_integer ? integers | naturals : integers;
    if (dtype == DType::int32 && (set & words) != 0) return true;
    const TypeSet own = is_bool(dtype) ? bools : is_float(dtype) ? floats : is_complex(dtype) ? complexes : whole;
    return (set & own) != 0;
}

}  // namespace

const ScalarOpInfo& info(ScalarOp op) { return table[static_cast<size_t>(op)]; }

std::span<const ScalarOpInfo> all_scalar_ops() { return table; }

std::optional<ScalarOp> scalar_op_named(std::string_view name) {
    const auto found = std::ranges::find(table, name, &ScalarOpInfo::name);
    return found == table.end() ? std::nullopt : std::optional(found->op);
}

bool accepts(ScalarOp op, DType operand) { return is_in(operand, info(op).accepts); }

DType result_type(ScalarOp op, DType of) {
    const ScalarClass kind = info(op).kind;
    if (kind == comparison || kind == predicate) return DType::boolean;
    if (op == ScalarOp::complex) return of == DType::float64 ? DType::complex128 : DType::complex64;
    const bool real = op == ScalarOp::real_part || op == ScalarOp::imaginary_part || op == ScalarOp::absolute;
    return real ? real_type(of) : of;
}

bool is_typed(ScalarOp op, DType result, std::span<const DType> operands) {
    if (operands.size() != static_cast<size_t>(info(op).operands) || !accepts(op, operands[0])) return false;
    return std::ranges::all_of(operands, [&](DType of) { return of == operands[0]; }) &&
           result == result_type(op, operands[0]);
}

bool is_typed_real(ScalarOp op, DType result, std::span<const DType> operands) {
    return is_typed(op, result, operands) && !is_complex(result) && !is_complex(operands[0]);
}

std::string_view name(Reducer reducer) { return reducers[static_cast<size_t>(reducer)].name; }

std::optional<Reducer> reducer_named(std::string_view name) {
    const auto found = std::ranges::find(reducers, name, &ReducerRow::name);
    return found == reducers.end() ? std::nullopt : std::optional(static_cast<Reducer>(found - reducers.begin()));
}

bool accepts(Reducer reducer, DType term) { return is_in(term, reducers[static_cast<size_t>(reducer)].accepts); }

NeutralTerm neutral(Reducer reducer, DType term) {
    const DTypeInfo& type = info(term);
    const bool is_signed = type.kind == DTypeClass::signed_integer;
    const uint64_t bits = ~uint64_t{0} >> (64 - (is_bool(term) ? 1 : std::min(type.bits, 64)));
    const auto highest = static_cast<int64_t>(is_signed ? bits >> 1 : bits);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    switch (reducer) {
    case Reducer::sum:
    case Reducer::any: return {0, 0};
    case Reducer::product:
    case Reducer::all: return {1, 1};
    case Reducer::minimum:
    case Reducer::argument_minimum: return {highest, infinity};
    case Reducer::maximum:
    case Reducer::argument_maximum: return {is_signed ? -highest - 1 : 0, -infinity};
    }
    return {};
}

std::optional<ScalarOp> joining_op(Reducer reducer) { return reducers[static_cast<size_t>(reducer)].joining; }

}  // namespace heddle
