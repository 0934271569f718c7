#include "schedules/running_term.h"

#include <cmath>

#include "schedules/accesses.h"

namespace heddle::schedules {
namespace {

std::optional<Reducer> reducer_of(ScalarOp op) {
    switch (op) {
    case ScalarOp::add:
    case ScalarOp::subtract: return Reducer::sum;
    case ScalarOp::multiply: return Reducer::product;
    case ScalarOp::minimum: return Reducer::minimum;
    case ScalarOp::maximum: return Reducer::maximum;
    case ScalarOp::logical_or: return Reducer::any;
    case ScalarOp::logical_and: return Reducer::all;
    default: return std::nullopt;
    }
}

class Finder {
public:
    Finder(Arena& arena, TensorIndex state, const std::function<bool(Expr)>& is_state)
        : arena_(arena), state_(state), is_state_(is_state) {}

    std::optional<RunningTerm> find(Expr next) {
        const auto taken = taken_into(next);
        if (taken && taken->term) return RunningTerm{*reducer_, taken->term, taken->keeps};
        const auto line = linear(next);
        if (!line || !line->factor || (is_float(next->dtype) && !is_safe(line->factor))) return std::nullopt;
        return RunningTerm{Reducer::sum, line->term ? line->term : zero(next->dtype), line->factor};
    }

private:
    struct Taken {
        Expr term = nullptr;   // null: nothing, it is the state itself
        Expr keeps = nullptr;  // null: always; where it does not hold, the state before does not count
    };
    struct Linear {
        Expr factor = nullptr, term = nullptr;  // null: zero
    };

    std::optional<Taken> taken_into(Expr e) {
        if (is_state_(e)) return Taken{};
        if (e->kind == Kind::select) return of_selection(e);
        if (e->kind != Kind::scalar || e->operands.size() != 2) return std::nullopt;
        const auto reducer = reducer_of(e->op);
        if (!reducer || reducer_.value_or(*reducer) != *reducer) return std::nullopt;
        reducer_ = reducer;
        const Expr left = e->parts()[0], right = e->parts()[1];
        const bool on_left = reads_tensor(left, state_), on_right = reads_tensor(right, state_);
        if (on_left == on_right || (on_right && e->op == ScalarOp::subtract)) return std::nullopt;
        const auto inside = taken_into(on_left ? left : right);
        if (!inside) return std::nullopt;
        Expr more = on_left ? right : left;
        if (e->op == ScalarOp::subtract) more = arena_.scalar(ScalarOp::negate, e->dtype, {more});
        const ScalarOp op = e->op == ScalarOp::subtract ? ScalarOp::add : e->op;
        return Taken{inside->term ? arena_.scalar(op, e->dtype, {inside->term, more}) : more, inside->keeps};
    }

    // Where the state stays as it is, nothing is taken; where it is not asked for, nothing of it is left.
    std::optional<Taken> of_selection(Expr e) {
        const Expr condition = e->parts()[0];
        if (reads_tensor(condition, state_)) return std::nullopt;
        const auto then = of_branch(e->parts()[1]), otherwise = then ? of_branch(e->parts()[2]) : std::nullopt;
        if (!otherwise) return std::nullopt;
        if (!reducer_) reducer_ = is_bool(e->dtype) ? Reducer::any : Reducer::maximum;
        const auto term = [&](const Taken& taken) { return taken.term ? taken.term : nothing(e->dtype); };
        const auto keeps = [&](const Taken& taken) { return taken.keeps ? taken.keeps : arena_.truth(true); };
        const bool always = !then->keeps && !otherwise->keeps;
        return Taken{arena_.select(condition, term(*then), term(*otherwise)),
                     always ? nullptr : selected(condition, keeps(*then), keeps(*otherwise))};
    }

    std::optional<Taken> of_branch(Expr e) {
        return reads_tensor(e, state_) ? taken_into(e) : Taken{e, arena_.truth(false)};
    }

    Expr selected(Expr condition, Expr then, Expr otherwise) {
        const Expr yes = arena_.truth(true), no = arena_.truth(false);
        if (then == yes && otherwise == no) return condition;
        if (then == no && otherwise == yes) return arena_.scalar(ScalarOp::logical_not, DType::boolean, {condition});
        return arena_.select(condition, then, otherwise);
    }

    Expr nothing(DType dtype) {
        const NeutralTerm neutral = heddle::neutral(*reducer_, dtype);
        return is_float(dtype) ? arena_.real(dtype, neutral.real) : arena_.literal(dtype, neutral.integer);
    }

    // factor * state + term.
    std::optional<Linear> linear(Expr e) {
        if (!reads_tensor(e, state_)) return Linear{nullptr, e};
        if (is_state_(e)) return Linear{number(e->dtype, 1), nullptr};
        if (e->kind != Kind::scalar) return std::nullopt;
        const auto left = linear(e->parts()[0]);
        if (!left) return std::nullopt;
        if (e->op == ScalarOp::negate) return scaled(*left, number(e->dtype, -1));
        const auto right = e->parts().size() == 2 ? linear(e->parts()[1]) : std::nullopt;
        if (!right) return std::nullopt;
        if (e->op == ScalarOp::multiply) {
            if (left->factor && right->factor) return std::nullopt;
            return left->factor ? scaled(*left, right->term) : scaled(*right, left->term);
        }
        if (e->op != ScalarOp::add && e->op != ScalarOp::subtract) return std::nullopt;
        const Linear more = e->op == ScalarOp::add ? *right : scaled(*right, number(e->dtype, -1));
        return Linear{sum(left->factor, more.factor), sum(left->term, more.term)};
    }

    Linear scaled(const Linear& line, Expr by) { return {product(line.factor, by), product(line.term, by)}; }
    Expr sum(Expr a, Expr b) { return !a || !b ? (a ? a : b) : joined(ScalarOp::add, a, b); }
    Expr product(Expr a, Expr by) { return a ? joined(ScalarOp::multiply, a, by) : nullptr; }
    Expr zero(DType dtype) { return number(dtype, 0); }

    Expr number(DType dtype, int64_t value) {
        return is_float(dtype) ? arena_.real(dtype, static_cast<double>(value)) : arena_.literal(dtype, value);
    }

    Expr joined(ScalarOp op, Expr a, Expr b) {
        if (a->kind != Kind::real || b->kind != Kind::real) return arena_.scalar(op, a->dtype, {a, b});
        const double value = op == ScalarOp::add ? a->real + b->real : a->real * b->real;
        return arena_.real(a->dtype, value, a->from_template && b->from_template);
    }

    // So many as a vector has, multiplied with one another, are as far from the ends of the type's range as one is.
    static bool is_safe(Expr factor) {
        constexpr double most = 128;
        const double size = factor->kind == Kind::real ? std::fabs(factor->real) : 0;
        return size >= 1 / most && size <= most;
    }

    Arena& arena_;
    const TensorIndex state_;
    const std::function<bool(Expr)>& is_state_;
    std::optional<Reducer> reducer_;
};

}  // namespace

std::optional<RunningTerm> running_term(Arena& arena, Expr next, TensorIndex state,
                                        const std::function<bool(Expr)>& is_state) {
    return Finder(arena, state, is_state).find(next);
}

}  // namespace heddle::schedules
