// A running maximum never falls below its first value. Where the step's element is a number that is no larger
// (`h[t, i] = i >= t ? 0 : ..`, `best[t, i] = max(best[t - 1, i], h[t, i]) from 0`), it stays what it was: then nobody
// asks for the element there, and nothing is done. So it is with a minimum.
#include <optional>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

class RunningExtremes {
public:
    explicit RunningExtremes(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        for (Equation& equation : system_.equations) {
            if (equation.dead || equation.scan < 0 || equation.reducer) continue;
            const Expr right = equation.right;
            if (right->kind != Kind::scalar) continue;
            if (right->op != ScalarOp::maximum && right->op != ScalarOp::minimum) continue;
            leave_unchanged(equation, right->parts()[0], right->parts()[1]);
            if (equation.right == right) leave_unchanged(equation, right->parts()[1], right->parts()[0]);
        }
    }

private:
    void leave_unchanged(Equation& equation, Expr before, Expr term) {
        const auto first = first_value(equation, before);
        if (term->kind == Kind::cast && !is_float(term->dtype)) term = term->parts()[0];
        if (!first || term->kind != Kind::read) return;
        const int32_t maker = maker_of(system_, term);
        if (maker < 0) return;
        const Equation& made = system_.equation(maker);
        const Expr value = made.right;
        if (made.scan != equation.scan || step_of_read(equation, term, made) != 0 || made.reducer) return;
        if (value->kind != Kind::select) return;
        const Expr condition = arena_.substitute(value->parts()[0], axes_at(arena_, made, coordinates_of(term)));
        if (is_no_further(value->parts()[1], *first, equation.right->op))
            equation.right = arena_.select(condition, before, equation.right);
        else if (is_no_further(value->parts()[2], *first, equation.right->op))
            equation.right = arena_.select(condition, equation.right, before);
    }

    // Of the state that the equation makes, if `before` is its own element one step earlier.
    std::optional<Expr> first_value(const Equation& equation, Expr before) const {
        if (before->kind != Kind::read || before->tensor() != equation.tensor) return std::nullopt;
        if (step_of_read(equation, before, equation) != -1) return std::nullopt;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const bool counts = equation.left[d]->axes == std::vector{equation.ordered};
            if (!counts && before->parts()[d] != equation.left[d]) return std::nullopt;
        }
        std::optional<Expr> first;
        for (int32_t index : system_.tensor(equation.tensor).equations) {
            const Equation& other = system_.equation(index);
            if (&other == &equation) continue;
            if (first || other.reducer || !other.right->is_literal()) return std::nullopt;
            first = other.right;
        }
        return first;
    }

    static bool is_no_further(Expr value, Expr first, ScalarOp op) {
        if (!value->is_literal() || !value->from_template || !first->from_template) return false;
        const double a = number(value), b = number(first);
        return op == ScalarOp::maximum ? a <= b : a >= b;
    }

    static double number(Expr literal) {
        return literal->kind == Kind::real ? literal->real : static_cast<double>(literal->integer);
    }

    System& system_;
    Arena& arena_;
};

}  // namespace

void leave_extremes(System& system) { RunningExtremes(system).run(); }

}  // namespace heddle::equations
