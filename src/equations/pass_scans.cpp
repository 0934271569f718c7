// A pointwise reader of what a scan makes, which walks its steps as the scan does, joins it: each step then writes the
// reader's part, and the scan need not keep its states for it. What waits for the whole scan elsewhere does not join.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// Tensors of which a scan makes something, and of which something is made of that outside of it: some are both. What
// any scan reads of its own making is a state: another equation of it is the initial value, and part of no scan.
struct Reach {
    std::set<TensorIndex> made, behind, states;
};

class ScanReaders {
public:
    explicit ScanReaders(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        std::set<int32_t> scans;
        for (const Equation& equation : system_.equations) {
            if (!equation.dead && equation.scan >= 0) scans.insert(equation.scan);
        }
        if (!scans.empty()) readers_ = readers(system_);
        for (int32_t scan : scans) {
            while (has_reader(scan) && join_one(scan)) {
            }
        }
    }

private:
    static bool may_join(const Equation& equation) { return equation.scan < 0 && !equation.reducer; }

    // Whether anything would join if it waited for nothing else: of most scans nothing does, and nothing is put in order.
    bool has_reader(int32_t scan) {
        Reach reach;
        for (const Equation& equation : system_.equations)
            if (!equation.dead && equation.scan == scan) reach.made.insert(equation.tensor);
        return std::ranges::any_of(reach.made, [&](TensorIndex tensor) {
            return std::ranges::any_of(readers_[tensor], [&](int32_t reader) {
                const Equation& equation = system_.equation(reader);
                return may_join(equation) && joined(equation, scan, reach);
            });
        });
    }

    // The equation as a part of the scan, if it can be one.
    std::optional<Equation> joined(Equation equation, int32_t scan, const Reach& reach) {
        auto axis = shared_axis(equation, scan, reach);
        if (!axis) {
            const auto turned = turned_round(equation, reach);
            if (turned) axis = shared_axis(*turned, scan, reach);
            if (axis) equation = *turned;
        }
        if (!axis) return std::nullopt;
        equation.scan = scan;
        equation.ordered = *axis;
        return equation;
    }

    bool join_one(int32_t scan) {
        const std::vector<int32_t> order = system_.order();
        const Reach reach = reach_of(scan, order);
        for (int32_t index : order) {
            Equation& equation = system_.equation(index);
            if (!may_join(equation) || reach.states.contains(equation.tensor)) continue;
            auto part = joined(equation, scan, reach);
            if (!part) continue;
            equation = std::move(*part);
            return true;
        }
        return false;
    }

    Reach reach_of(int32_t scan, const std::vector<int32_t>& order) const {
        Reach reach;
        std::map<int32_t, std::set<TensorIndex>> made;  // by scan
        for (int32_t index : order) {
            const Equation& equation = system_.equation(index);
            if (equation.scan >= 0) made[equation.scan].insert(equation.tensor);
        }
        reach.made = made[scan];
        for (int32_t index : order) {
            const Equation& equation = system_.equation(index);
            for (Expr read : reads(equation)) {
                const TensorIndex from = read->tensor();
                if (equation.scan >= 0 && made[equation.scan].contains(from)) reach.states.insert(from);
                if (equation.scan == scan || !(reach.made.contains(from) || reach.behind.contains(from))) continue;
                // The equations of another scan run together: what one waits for, all of them do.
                reach.behind.insert(equation.tensor);
                if (equation.scan >= 0) reach.behind.insert(made[equation.scan].begin(), made[equation.scan].end());
            }
        }
        return reach;
    }

    // The axis by which it reads all that it reads of the scan at one step or the one before.
    std::optional<AxisId> shared_axis(const Equation& equation, int32_t scan, const Reach& reach) const {
        Equation trial = equation;
        bool any = false;
        for (Expr read : reads(equation)) {
            if (reach.behind.contains(read->tensor())) return std::nullopt;
            if (!reach.made.contains(read->tensor())) continue;
            if (read->kind != Kind::read) return std::nullopt;
            for (int32_t maker : system_.tensor(read->tensor()).equations) {
                const Equation& made = system_.equation(maker);
                if (made.dead || made.scan != scan) continue;
                if (system_.tensor(made.tensor).prepared != system_.tensor(equation.tensor).prepared)
                    return std::nullopt;
                if (trial.ordered < 0) trial.ordered = axis_like(equation, read, made);
                const auto step = trial.ordered < 0 ? std::nullopt : step_of_read(trial, read, made);
                if (!step || *step > 0 || *step < -1) return std::nullopt;
                any = true;
            }
        }
        return any && counts_steps(equation, trial.ordered) ? std::optional(trial.ordered) : std::nullopt;
    }

    // Nobody asks which point of the equation has made an element.
    bool may_be_turned(const Equation& equation) const {
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        const auto reads_it = [&](const Equation& other) {
            return !other.dead &&
                   std::ranges::any_of(reads(other), [&](Expr read) { return read->tensor() == equation.tensor; });
        };
        return tensor.is_output && tensor.equations.size() == 1 && std::ranges::none_of(system_.equations, reads_it);
    }

    // The same equation, its points along an axis the other way round, if it reads steps of the scan from the last one
    // on (`x[i] = h[n - 1 - i]`, a result of steps that go back).
    std::optional<Equation> turned_round(Equation equation, const Reach& reach) {
        if (!may_be_turned(equation)) return std::nullopt;
        for (Expr read : reads(equation)) {
            if (!reach.made.contains(read->tensor())) continue;
            for (Expr coordinate : coordinates_of(read)) {
                const CoordinateForm form = linear_form(coordinate);
                if (form.terms.size() != 1 || form.terms[0].second != -1 || form.terms[0].first->axes.size() != 1)
                    continue;
                const AxisId axis = form.terms[0].first->axes[0];
                const Expr back = arena_.add(arena_.integer(arena_.extent(axis) - 1), arena_.axis_value(axis), -1);
                const Arena::Substitution turn = {{axis, back}};
                for (Expr& left : equation.left) left = arena_.substitute(left, turn);
                equation.right = arena_.substitute(equation.right, turn);
                return equation;
            }
        }
        return std::nullopt;
    }

    AxisId axis_like(const Equation& equation, Expr read, const Equation& made) const {
        for (size_t d = 0; d < made.left.size(); d++) {
            const auto& of = made.left[d]->axes;
            if (std::find(of.begin(), of.end(), made.ordered) == of.end() || read->parts()[d]->axes.size() != 1)
                continue;
            const AxisId axis = read->parts()[d]->axes[0];
            const bool own = std::find(equation.axes.begin(), equation.axes.end(), axis) != equation.axes.end();
            if (own && arena_.extent(axis) == arena_.extent(made.ordered)) return axis;
        }
        return no_id;
    }

    static bool counts_steps(const Equation& equation, AxisId axis) {
        return std::any_of(equation.left.begin(), equation.left.end(), [&](Expr left) {
            const CoordinateForm form = linear_form(left);
            return form.terms.size() == 1 && form.terms[0].first->axes == std::vector{axis};
        });
    }

    System& system_;
    Arena& arena_;
    std::map<TensorIndex, std::vector<int32_t>> readers_;
};

}  // namespace

void join_scans(System& system) { ScanReaders(system).run(); }

}  // namespace heddle::equations
