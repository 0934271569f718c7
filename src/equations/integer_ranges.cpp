#include "equations/integer_ranges.h"

#include "expr/arena_interval.h"
#include "expr/scalar_interval.h"

namespace heddle::equations {

bool holds(DType dtype, Interval values) { return values.within(interval_of(dtype)); }

bool is_exact_on_integers(Expr value) {
    if (value->kind != Kind::scalar) return false;
    // What rounds down gives the same in any type that holds it.
    if (value->op == ScalarOp::floor_divide)
        return value->parts()[1]->kind == Kind::integer && value->parts()[1]->integer > 0;
    return value->op == ScalarOp::add || value->op == ScalarOp::subtract || value->op == ScalarOp::multiply ||
           value->op == ScalarOp::minimum || value->op == ScalarOp::maximum;
}

Interval IntegerRanges::of(Expr e) {
    if (is_float(e->dtype)) return {};
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    const Interval all = e->dtype == DType::int64 ? interval(e) : interval_of(e->dtype);
    Interval found;
    if (e->kind == Kind::integer)
        found = Interval::point(e->integer);
    else if (e->kind == Kind::cast)
        found = of(e->parts()[0]);
    else if (e->kind == Kind::select)
        found = hull(of(e->parts()[1]), of(e->parts()[2]));
    else if (e->is_read())
        found = of_elements(e->tensor());
    else if (is_exact_on_integers(e) && of(e->parts()[0]).known() && of(e->parts()[1]).known())
        found = interval_of(e->op, of(e->parts()[0]), of(e->parts()[1]));
    if (e->kind == Kind::guarded_read) found = hull(found, of(e->parts().back()));
    // What leaves its type wraps.
    return known_[e] = found.within(all) ? found : all;
}

Expr IntegerRanges::narrowed(Arena& arena, Expr e, DType dtype) {
    if (!holds(dtype, of(e))) return nullptr;
    if (e->dtype == dtype) return e;
    if (e->kind == Kind::integer) return arena.literal(dtype, e->integer, e->from_template);
    if (e->is_read() && system_.tensor(e->tensor()).constant) return arena.cast(dtype, e);
    if (e->kind == Kind::cast && bytes(e->parts()[0]->dtype) <= bytes(dtype)) return arena.cast(dtype, e->parts()[0]);
    const bool chosen = e->kind == Kind::select;
    if (!chosen && !is_exact_on_integers(e)) return nullptr;
    const Expr a = narrowed(arena, e->parts()[chosen ? 1 : 0], dtype);
    const Expr b = narrowed(arena, e->parts()[chosen ? 2 : 1], dtype);
    if (a == nullptr || b == nullptr) return nullptr;
    return chosen ? arena.select(e->parts()[0], a, b) : arena.scalar(e->op, dtype, {a, b});
}

Interval IntegerRanges::of_numbers(const TensorData& table) {
    constexpr int64_t most_looked_at = 256;
    if (table.size() == 0 || table.size() > most_looked_at || !is_integer(table.dtype())) return {};
    Interval found = Interval::point(table.integer_at(0));
    for (int64_t i = 1; i < table.size(); i++) found = hull(found, Interval::point(table.integer_at(i)));
    return found;
}

// Nothing where a reduction or a scan makes some of them.
Interval IntegerRanges::of_elements(TensorIndex tensor) {
    const SystemTensor& info = system_.tensor(tensor);
    if (info.constant) return of_numbers(*info.constant);
    if (info.kind != SystemTensor::Kind::computed || info.equations.empty()) return {};
    if (const auto known = elements_.find(tensor); known != elements_.end()) return known->second;
    elements_[tensor] = {};
    Interval all;
    for (size_t i = 0; i < info.equations.size(); i++) {
        const Equation& equation = system_.equation(info.equations[i]);
        if (equation.reducer || equation.scan >= 0) return {};
        const Interval own = of(equation.right);
        all = i == 0 ? own : hull(all, own);
    }
    return elements_[tensor] = all;
}

}  // namespace heddle::equations
