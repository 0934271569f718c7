#include "equations/written_terms.h"

#include <algorithm>

#include "equations/pass_support.h"

namespace heddle::equations {

bool next_point(const Arena& arena, const std::vector<AxisId>& axes, std::vector<int64_t>& point) {
    for (size_t i = axes.size(); i-- > 0;) {
        if (++point[i] < arena.extent(axes[i])) return true;
        point[i] = 0;
    }
    return false;
}

Expr at_point(System& system, Expr e, const std::vector<AxisId>& axes, const std::vector<int64_t>& point) {
    Arena& arena = *system.arena;
    Arena::Substitution at;
    for (size_t i = 0; i < axes.size(); i++) at[axes[i]] = arena.integer(point[i]);
    return replace_reads(arena, arena.substitute(e, at), [&](Expr read) -> Expr {
        const auto& table = system.tensor(read->tensor()).constant;
        if (!table || read->kind != Kind::read) return nullptr;
        int64_t element = 0;
        for (size_t d = 0; d < table->shape().size(); d++) {
            Expr c = read->parts()[d];
            if (c->kind != Kind::integer || c->integer < 0 || c->integer >= table->shape()[d]) return nullptr;
            element = element * table->shape()[d] + c->integer;
        }
        if (is_bool(read->dtype)) return arena.truth(table->integer_at(element) != 0);
        return is_float(read->dtype) ? arena.real(read->dtype, table->real_at(element), false)
                                     : arena.literal(read->dtype, table->integer_at(element), false);
    });
}

Expr with_term(Arena& arena, ScalarOp join, Expr so_far, Expr term) {
    const bool is_product = term->kind == Kind::scalar && term->op == ScalarOp::multiply;
    if (join == ScalarOp::add && is_product && (so_far->dtype == DType::float32 || so_far->dtype == DType::float64))
        return arena.scalar(ScalarOp::multiply_add, so_far->dtype, {term->parts()[0], term->parts()[1], so_far});
    return arena.scalar(join, so_far->dtype, {so_far, term});
}

Expr joined_terms(System& system, Reducer reducer, Expr right, const std::vector<AxisId>& reduced) {
    Arena& arena = *system.arena;
    const bool rounds = reducer == Reducer::sum || reducer == Reducer::product;
    const DType kept = rounds ? info(right->dtype).accumulator : right->dtype;
    const ScalarOp join = *joining_op(reducer);
    // A sum of negative zeros is zero.
    Expr all = reducer == Reducer::sum && is_float(kept) ? arena.real(kept, 0) : nullptr;
    std::vector<int64_t> point(reduced.size());
    do {
        Expr term = arena.cast(kept, at_point(system, right, reduced, point));
        all = all ? with_term(arena, join, all, term) : term;
    } while (next_point(arena, reduced, point));
    return arena.cast(right->dtype, all);
}

bool shares_operand(const System& system, const Equation& equation) {
    for (Expr read : reads(equation)) {
        if (system.tensor(read->tensor()).constant) continue;
        for (AxisId axis : equation.axes) {
            const bool is_short = !system.arena->axis(axis).named && system.arena->extent(axis) <= longest_written_axis;
            if (!is_short && !std::ranges::binary_search(read->axes, axis)) return true;
        }
    }
    return false;
}

}  // namespace heddle::equations
