#include "schedules/running_term.h"

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
        if (!taken || !taken->term) return std::nullopt;
        return RunningTerm{*reducer_, taken->term};
    }

private:
    struct Taken {
        Expr term = nullptr;  // null: nothing, it is the state itself
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
        return Taken{inside->term ? arena_.scalar(op, e->dtype, {inside->term, more}) : more};
    }

    // Where the state stays as it is, nothing is taken.
    std::optional<Taken> of_selection(Expr e) {
        if (reads_tensor(e->parts()[0], state_)) return std::nullopt;
        const auto then = taken_into(e->parts()[1]), otherwise = then ? taken_into(e->parts()[2]) : std::nullopt;
        if (!otherwise || !reducer_) return std::nullopt;
        const auto term = [&](const Taken& taken) { return taken.term ? taken.term : nothing(e->dtype); };
        return Taken{arena_.select(e->parts()[0], term(*then), term(*otherwise))};
    }

    Expr nothing(DType dtype) {
        const NeutralTerm neutral = heddle::neutral(*reducer_, dtype);
        return is_float(dtype) ? arena_.real(dtype, neutral.real) : arena_.literal(dtype, neutral.integer);
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
