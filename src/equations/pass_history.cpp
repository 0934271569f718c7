// States that are read further back than the step before. What hands on the step before of another state
// (`older[t] = d[t - 1]`, which is also what `d[t - 2, i] ?? 0` becomes) is that other state, read a step earlier: its
// first value stands in front of the other one's. The last few steps are then kept in turn, and nothing is copied.
#include <algorithm>
#include <optional>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// A tensor whose steps one equation of a scan makes, behind first values.
struct State {
    int32_t step = -1;     // equation
    size_t dimension = 0;  // that counts the steps
    int64_t first = 0;     // the coordinate of the scan's first step: so many values stand before it
};

class Historian {
public:
    explicit Historian(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        const bool any =
            std::ranges::any_of(system_.equations, [](const Equation& e) { return !e.dead && e.scan >= 0; });
        if (!any) return;
        bool joined = false;
        for (size_t t = 0; t < system_.tensors.size(); t++) joined |= join(TensorIndex(static_cast<int32_t>(t)));
        if (joined) prune(system_);
    }

private:
    std::optional<State> state_of(TensorIndex tensor) const {
        const SystemTensor& info = system_.tensor(tensor);
        if (info.dead || info.is_output || info.kind != SystemTensor::Kind::computed) return std::nullopt;
        std::optional<State> state;
        for (int32_t index : info.equations) {
            const Equation& made = system_.equation(index);
            if (made.scan < 0) continue;
            if (state) return std::nullopt;
            for (size_t d = 0; d < made.left.size(); d++) {
                const CoordinateForm form = linear_form(made.left[d]);
                if (made.left[d]->axes != std::vector{made.ordered} || form.terms.size() != 1 ||
                    form.terms[0].second != 1)
                    continue;
                state = State{index, d, form.constant};
            }
            if (!state) return std::nullopt;
        }
        return state && state->first > 0 ? state : std::nullopt;
    }

    // Gives the state so many more values before its first ones.
    void lead(TensorIndex tensor, const State& state, int64_t count) {
        const auto moved = [&](Expr coordinate) { return arena_.add(coordinate, arena_.integer(count)); };
        SystemTensor& info = system_.tensor(tensor);
        info.shape[state.dimension] += count;
        for (Equation& equation : system_.equations) {
            if (equation.dead) continue;
            if (equation.tensor == tensor) equation.left[state.dimension] = moved(equation.left[state.dimension]);
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) -> Expr {
                if (read->tensor() != tensor) return nullptr;
                std::vector<Expr> at = coordinates_of(read);
                at[state.dimension] = moved(at[state.dimension]);
                return read_of(tensor, read, std::move(at));
            });
        }
    }

    // `read`, elsewhere.
    Expr read_of(TensorIndex tensor, Expr read, std::vector<Expr> at) {
        const SystemTensor& info = system_.tensor(tensor);
        if (read->kind == Kind::read) return arena_.read(tensor, info.dtype, std::move(at));
        return arena_.guarded_read(tensor, info.dtype, std::move(at), read->parts().back(), info.shape);
    }

    // copy[t] = of[t - 1], each element its own: the copy's elements are the other's, its first value in front.
    bool join(TensorIndex copy) {
        const auto state = state_of(copy);
        if (!state) return false;
        const Equation& step = system_.equation(state->step);
        if (step.reducer || !is_view(step) || step.right->tensor() == copy) return false;
        const TensorIndex of = step.right->tensor();
        const auto source = state_of(of);
        if (!source || source->dimension != state->dimension || !is_copy(copy, step, of, *source)) return false;
        lead(of, *source, state->first);
        for (int32_t index : std::vector(system_.tensor(copy).equations)) {
            Equation& first = system_.equation(index);
            if (first.scan >= 0) continue;
            first.tensor = of;
            first.piece = static_cast<int32_t>(system_.tensor(of).equations.size());
            system_.tensor(of).equations.push_back(index);
        }
        std::erase_if(system_.tensor(copy).equations, [&](int32_t index) { return index != state->step; });
        system_.equation(state->step).dead = true;
        for (Equation& equation : system_.equations) {
            if (equation.dead) continue;
            equation.right = replace_reads(arena_, equation.right, [&](Expr read) -> Expr {
                return read->tensor() == copy ? read_of(of, read, coordinates_of(read)) : nullptr;
            });
        }
        return true;
    }

    bool is_copy(TensorIndex copy, const Equation& step, TensorIndex of, const State& source) const {
        const SystemTensor &from = system_.tensor(of), &to = system_.tensor(copy);
        const Equation& made = system_.equation(source.step);
        if (made.scan != step.scan || from.dtype != to.dtype || from.shape.size() != to.shape.size()) return false;
        if (step_of_read(step, step.right, made) != -source.first) return false;  // its first value is that of step 0
        for (size_t d = 0; d < step.left.size(); d++) {
            if (d == source.dimension) continue;  // a copy of a copy has more first values
            if (from.shape[d] != to.shape[d] || step.right->parts()[d] != step.left[d]) return false;
        }
        return true;
    }

    System& system_;
    Arena& arena_;
};

}  // namespace

void join_history(System& system) { Historian(system).run(); }

}  // namespace heddle::equations
