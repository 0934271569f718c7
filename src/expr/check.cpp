#include "expr/check.h"

#include <fmt/format.h>

#include <cassert>

#include "expr/scalar_interval.h"

namespace heddle::expr {
namespace {

constexpr uint8_t in_bodies = 1, in_systems = 2, in_kernels = 4, in_arenas = in_systems | in_kernels,
                  everywhere = in_bodies | in_arenas;
constexpr int any_number = -1;
constexpr std::optional<DType> any_type;

// What a kind may be made of. Behind its row stands what `misfit` asks besides.
struct Rule {
    Kind kind;
    uint8_t stages;
    int operands;
    std::optional<DType> of;  // all operands
    std::optional<DType> result;
};

constexpr DType whole = DType::int64, truth = DType::boolean;
constexpr Rule rules[] = {
    {Kind::integer, everywhere, 0, any_type, any_type},
    {Kind::variable, everywhere, 0, any_type, whole},
    {Kind::linear, in_arenas, any_number, whole, whole},
    {Kind::floor_divide, in_arenas, 1, whole, whole},
    {Kind::modulo, in_arenas, 1, whole, whole},
    {Kind::minimum, in_arenas, 2, whole, whole},
    {Kind::maximum, in_arenas, 2, whole, whole},
    {Kind::negative, in_arenas, 1, whole, truth},
    {Kind::conjunction, in_arenas, 2, truth, truth},
    {Kind::real, everywhere, 0, any_type, any_type},
    {Kind::scalar, everywhere, any_number, any_type, any_type},
    {Kind::cast, everywhere, 1, any_type, any_type},
    {Kind::select, everywhere, 3, any_type, any_type},
    {Kind::read, everywhere, any_number, any_type, any_type},
    {Kind::guarded_read, everywhere, any_number, any_type, any_type},
    {Kind::inside, in_kernels, 1, whole, truth},
    {Kind::local, in_bodies, any_number, whole, any_type},
    {Kind::previous, in_bodies, any_number, whole, any_type},
    {Kind::reduce, in_bodies, any_number, any_type, any_type},
};

const Rule& rule_of(Kind kind) {
    const Rule& rule = rules[static_cast<size_t>(kind)];
    assert(rule.kind == kind);
    return rule;
}

// Any number: of any kind whose row says so, and nothing below knows it either.
int operands_of(const Expression& e, const Rule& rule, Source source) {
    switch (e.kind) {
    case Kind::scalar: return info(e.op).operands;
    case Kind::read:
    case Kind::local: return static_cast<int>(source.rank);
    case Kind::previous: return static_cast<int>(source.rank) - 1;
    case Kind::guarded_read: return static_cast<int>(source.rank) + 1;
    case Kind::reduce: return e.operands.size() == 2 ? 2 : 1;
    default: return rule.operands;
    }
}

Misfit wrong_type(std::string expected, DType found) { return {false, std::move(expected), std::string(name(found))}; }

std::optional<Misfit> scalar_misfit(const Expression& e, std::span<const DType> of) {
    const DType result = result_type(e.op, of[0]);
    if (!accepts(e.op, of[0])) return wrong_type(fmt::format("operands that '{}' works on", info(e.op).name), of[0]);
    for (DType operand : of) {
        if (operand != of[0]) return wrong_type(fmt::format("operands of {}", name(of[0])), operand);
    }
    if (e.dtype != result) return wrong_type(fmt::format("a result of {}", name(result)), e.dtype);
    return std::nullopt;
}

std::optional<Misfit> read_misfit(const Expression& e, std::span<const DType> of, Source source) {
    const size_t coordinates = of.size() - (e.kind == Kind::guarded_read);
    for (DType coordinate : of.first(coordinates)) {
        if (coordinate != whole) return wrong_type("int64 coordinates", coordinate);
    }
    if (e.dtype != source.dtype) return wrong_type(fmt::format("{}, as it is read", name(source.dtype)), e.dtype);
    if (coordinates < of.size() && of.back() != e.dtype) return wrong_type("another value of the same type", of.back());
    return std::nullopt;
}

std::optional<Misfit> reduction_misfit(const Expression& e, std::span<const DType> of) {
    const DType result = is_argument(e.reducer) ? whole : of[0];
    if (!accepts(e.reducer, of[0])) return wrong_type(fmt::format("terms that '{}' works on", name(e.reducer)), of[0]);
    if (e.dtype != result) return wrong_type(fmt::format("a result of {}", name(result)), e.dtype);
    if (of.size() > 1 && !is_bool(of[1])) return wrong_type("a bool filter", of[1]);
    return std::nullopt;
}

// What is wrong with the node itself; nothing if it is as it should be.
std::optional<Diagnostic> problem_of(Expr e, const Surroundings& where) {
    if (!stands_in(e->kind, where.stage))
        return Diagnostic{.code = "expr.kind", .summary = "has a kind of expression that does not stand here"};
    std::optional<ReadableTensor> tensor;
    if (e->is_read()) {
        tensor = where.tensor(e->tensor());
        if (!tensor) return Diagnostic{.code = "expr.reference", .summary = "reads a tensor that does not exist"};
    }
    std::vector<DType> types;
    for (Expr operand : e->parts()) types.push_back(operand->dtype);
    auto wrong = misfit(*e, types, where.stage, tensor ? Source{tensor->dtype, tensor->shape.size()} : Source{});
    if (!wrong && e->kind == Kind::guarded_read &&
        !(e->parts().back()->is_literal() && e->coefficients == tensor->shape))
        wrong = Misfit{false, "a literal outside of the tensor's own shape", {}};
    if (!wrong) return std::nullopt;
    return Diagnostic{.code = "expr.type",
                      .summary = "has an expression whose operands do not fit it",
                      .place = {},
                      .expected = wrong->expected,
                      .found = wrong->found};
}

}  // namespace

bool stands_in(Kind kind, Stage stage) {
    const uint8_t bit = stage == Stage::body ? in_bodies : stage == Stage::system ? in_systems : in_kernels;
    return rule_of(kind).stages & bit;
}

std::optional<Misfit> misfit(const Expression& e, std::span<const DType> of, Stage stage, Source source) {
    const Rule& rule = rule_of(e.kind);
    const int number = operands_of(e, rule, source);
    if (number != any_number && of.size() != static_cast<size_t>(number))
        return Misfit{true, std::to_string(number), std::to_string(of.size())};
    if (stage != Stage::body && is_complex(e.dtype)) return wrong_type("a real type", e.dtype);
    if (e.dtype != rule.result.value_or(e.dtype)) return wrong_type(std::string(name(*rule.result)), e.dtype);
    for (DType operand : of) {
        if (operand != rule.of.value_or(operand))
            return wrong_type(fmt::format("operands of {}", name(*rule.of)), operand);
    }
    switch (e.kind) {
    case Kind::integer:
        if (!is_integer(e.dtype) && !is_bool(e.dtype)) return wrong_type("an integer type or bool", e.dtype);
        if (Interval::point(e.integer).within(interval_of(e.dtype))) return std::nullopt;
        return Misfit{false, fmt::format("a literal of {}", name(e.dtype)), std::to_string(e.integer.number())};
    case Kind::real: return is_float(e.dtype) ? std::nullopt : std::optional(wrong_type("a float type", e.dtype));
    case Kind::floor_divide:
    case Kind::modulo:
        return e.integer > 0 ? std::nullopt : std::optional(Misfit{false, "over 0", std::to_string(e.integer.number())});
    case Kind::scalar: return scalar_misfit(e, of);
    case Kind::cast:
        if (is_complex(of[0]) && !is_complex(e.dtype)) return wrong_type("a real operand or a complex type", of[0]);
        return std::nullopt;
    case Kind::select:
        if (!is_bool(of[0])) return wrong_type("a bool condition", of[0]);
        if (of[1] != e.dtype || of[2] != e.dtype) return wrong_type("branches of the selection's type", e.dtype);
        return std::nullopt;
    case Kind::read:
    case Kind::guarded_read:
    case Kind::local:
    case Kind::previous: return read_misfit(e, of, source);
    case Kind::reduce: return reduction_misfit(e, of);
    default: return std::nullopt;
    }
}

Diagnostics check(const std::vector<Expr>& roots, const Surroundings& where) {
    Diagnostics problems;
    for (Expr root : roots) {
        for (Expr e : walk(root)) {
            if (auto problem = problem_of(e, where)) problems.push_back(std::move(*problem));
        }
    }
    if (!problems.empty() || !where.leaves) return problems;
    for (Expr root : roots) {
        for (Expr e : walk(root, Skipped::left_out)) {
            for (size_t d = 0; e->kind == Kind::read && d < e->parts().size(); d++) {
                if (!where.leaves(e, d)) continue;
                const auto shape = where.tensor(e->tensor())->shape;
                problems.push_back({.code = "expr.out_of_range",
                                    .summary = fmt::format("reads outside of dimension {}, without a guard", d),
                                    .place = {},
                                    .expected = fmt::format("0 to {}", shape[d] - 1),
                                    .found = fmt::format("{} to {}", e->parts()[d]->low, e->parts()[d]->high)});
            }
        }
    }
    return problems;
}

}  // namespace heddle::expr
