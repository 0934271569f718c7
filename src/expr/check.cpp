#include "expr/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace heddle::expr {
namespace {

constexpr uint8_t in_bodies = 1, in_systems = 2, in_kernels = 4, in_arenas = in_systems | in_kernels,
                  everywhere = in_bodies | in_arenas;
constexpr int any_number = -1;
constexpr std::optional<DType> any_type;

// What a kind may be made of. Behind its row stands what `is_sound` asks besides.
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

bool follows(Expr e, const Rule& rule) {
    if (rule.operands != any_number && e->parts().size() != static_cast<size_t>(rule.operands)) return false;
    if (is_complex(e->dtype) || e->dtype != rule.result.value_or(e->dtype)) return false;
    return std::ranges::all_of(e->parts(), [&](Expr o) { return o->dtype == rule.of.value_or(o->dtype); });
}

bool is_sound(Expr e) {
    if (!follows(e, rule_of(e->kind))) return false;
    switch (e->kind) {
    case Kind::integer: return !is_float(e->dtype);
    case Kind::real: return is_float(e->dtype);
    case Kind::floor_divide:
    case Kind::modulo: return e->integer > 0;
    case Kind::scalar: {
        std::vector<DType> types;
        for (Expr operand : e->parts()) types.push_back(operand->dtype);
        return is_typed_real(e->op, e->dtype, types);
    }
    case Kind::select:
        return is_bool(e->parts()[0]->dtype) && e->parts()[1]->dtype == e->dtype && e->parts()[2]->dtype == e->dtype;
    default: return true;
    }
}

bool is_sound_read(Expr e, const ReadableTensor& tensor) {
    const auto coordinates = coordinates_of(e);
    if (e->dtype != tensor.dtype || coordinates.size() != tensor.shape.size()) return false;
    if (!std::ranges::all_of(coordinates, [](Expr c) { return c->dtype == DType::int64; })) return false;
    Expr last = e->kind == Kind::guarded_read ? e->parts().back() : nullptr;
    return !last || (last->is_literal() && last->dtype == e->dtype && e->coefficients == tensor.shape);
}

// What is wrong with the node itself; nothing if it is as it should be.
std::optional<Diagnostic> problem_of(Expr e, const Surroundings& where) {
    if (!stands_in(e->kind, where.stage))
        return Diagnostic{.code = "expr.kind", .summary = "has a kind of expression that does not stand here"};
    bool sound = is_sound(e);
    if (sound && e->is_read()) {
        const auto tensor = where.tensor(e->index);
        if (!tensor) return Diagnostic{.code = "expr.reference", .summary = "reads a tensor that does not exist"};
        sound = is_sound_read(e, *tensor);
    }
    if (sound) return std::nullopt;
    return Diagnostic{.code = "expr.type",
                      .summary = "has an expression whose operands do not fit it",
                      .found = std::string(name(e->dtype))};
}

}  // namespace

bool stands_in(Kind kind, Stage stage) {
    const uint8_t bit = stage == Stage::body ? in_bodies : stage == Stage::system ? in_systems : in_kernels;
    return rule_of(kind).stages & bit;
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
                const auto shape = where.tensor(e->index)->shape;
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
