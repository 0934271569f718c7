// A pointwise reader of what a scan makes, which walks its steps as the scan does, joins it: each step then writes the
// reader's part, and the scan need not keep its states for it. What waits for the whole scan elsewhere does not join.
//
// One that asks for another step at each element (of waves, `y[i, j] = u[2 * i + j, 6, i]`) becomes a state of the scan
// that takes each element at its step, and is read after the last one: where that takes much less memory.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "equations/kept_steps.h"
#include "equations/passes.h"
#include "equations/pass_support.h"
#include "equations/system_rules.h"
#include "expr/arena_interval.h"

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
        for (int32_t scan : scans) {
            while (join_one(scan)) {
            }
            take_elements(scan);
        }
    }

private:
    bool join_one(int32_t scan) {
        const Reach reach = reach_of(scan);
        for (int32_t index : system_.order()) {
            Equation& equation = system_.equation(index);
            if (equation.scan >= 0 || equation.reducer || reach.states.contains(equation.tensor)) continue;
            auto axis = shared_axis(equation, scan, reach);
            if (!axis) {
                const auto turned = turned_round(equation, reach);
                if (turned) axis = shared_axis(*turned, scan, reach);
                if (axis) equation = *turned;
            }
            if (!axis) continue;
            equation.scan = scan;
            equation.ordered = *axis;
            return true;
        }
        return false;
    }

    Reach reach_of(int32_t scan) const {
        Reach reach;
        std::map<int32_t, std::set<TensorIndex>> made;  // by scan
        const auto order = system_.order();
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

    // The states that readers no longer hold are kept for few steps, if nothing else asks for more.
    void take_elements(int32_t scan) {
        const Reach reach = reach_of(scan);
        std::vector<std::pair<int32_t, Expr>> found;
        for (int32_t index : system_.order()) {
            const Equation& equation = system_.equation(index);
            if (equation.scan >= 0 || equation.reducer || reach.states.contains(equation.tensor)) continue;
            if (Expr step = step_of_elements(equation, scan, reach)) found.emplace_back(index, step);
        }
        if (found.empty()) return;
        System before = system_;
        for (const auto& [index, step] : found) take(index, scan, step);
        constexpr double least_gain = 2;
        if (kept_bytes(system_) * least_gain > kept_bytes(before)) system_ = std::move(before);
    }

    // The step, by the equation's axes, at which all is there that it reads of the scan; null if that is no such form,
    // or if a step has many of the elements.
    Expr step_of_elements(const Equation& equation, int32_t scan, const Reach& reach) const {
        Expr last = nullptr;
        std::vector<Expr> all;
        int64_t steps = 0, most_back = INT64_MAX;
        for (Expr read : reads(equation)) {
            if (reach.behind.contains(read->tensor())) return nullptr;
            if (!reach.made.contains(read->tensor())) continue;
            const auto made = makes_steps(read->tensor(), scan);
            const bool alike = made && read->kind == Kind::read && system_.tensor(read->tensor()).prepared ==
                                                                       system_.tensor(equation.tensor).prepared;
            if (!alike) return nullptr;
            const int64_t first = linear_form(made->step->left[made->dimension]).constant;
            Expr step = arena_.add(read->parts()[made->dimension], arena_.integer(-first));
            const CoordinateForm later = last ? linear_form(arena_.add(step, last, -1)) : CoordinateForm();
            if (!later.terms.empty()) return nullptr;
            if (!last || later.constant > 0) last = step;
            all.push_back(step);
            steps = arena_.extent(made->step->ordered);
            most_back = std::min(most_back, first);
        }
        if (!last || !interval(last).within(0, steps - 1)) return nullptr;
        for (Expr step : all)
            if (linear_form(arena_.add(last, step, -1)).constant > most_back) return nullptr;
        return is_of_few(equation, last) ? last : nullptr;
    }

    // Each step has the elements of one place along some axis, and there are enough of these to leave alone.
    bool is_of_few(const Equation& equation, Expr step) const {
        constexpr int64_t fewest_places = 16;
        bool few = false;
        for (const auto& [atom, factor] : linear_form(step).terms) {
            const bool own = atom->kind == Kind::variable && std::ranges::find(equation.axes, atom->axes[0]) != equation.axes.end();
            if (!own || arena_.axis(atom->axes[0]).named) return false;
            few |= std::abs(factor) == 1 && arena_.extent(atom->axes[0]) >= fewest_places;
        }
        return few;
    }

    struct Steps {
        const Equation* step = nullptr;
        size_t dimension = 0;
    };
    std::optional<Steps> makes_steps(TensorIndex tensor, int32_t scan) const {
        std::optional<Steps> steps;
        for (int32_t maker : system_.tensor(tensor).equations) {
            const Equation& made = system_.equation(maker);
            if (made.dead || made.scan != scan) continue;
            if (steps) return std::nullopt;
            for (size_t d = 0; d < made.left.size(); d++) {
                const CoordinateForm form = linear_form(made.left[d]);
                if (made.left[d]->axes == std::vector{made.ordered} && form.terms.size() == 1 &&
                    form.terms[0].second == 1)
                    steps = Steps{&made, d};
            }
            if (!steps) return std::nullopt;
        }
        return steps;
    }

    // taken[0, ..] = 0; taken[w + 1, ..] = step == w ? what the equation says : taken[w, ..]
    void take(int32_t index, int32_t scan, Expr step) {
        const Equation equation = system_.equation(index);
        const DType dtype = equation.right->dtype;
        const AxisId like = std::ranges::find(system_.equations, scan, &Equation::scan)->ordered;
        const AxisId wave = arena_.add_axis(Axis(arena_.axis(like)));
        Expr now = arena_.axis_value(wave);
        const SystemTensor& of = system_.tensor(equation.tensor);
        SystemTensor taken{.name = of.name + "_taken", .dtype = dtype, .operation = of.operation};
        taken.shape = {arena_.extent(wave) + 1};
        taken.sizes = {Size(taken.shape[0])};
        Equation start, made{.axes = {wave}, .left = {arena_.add(now, arena_.integer(1))}, .scan = scan, .ordered = wave};
        start.left = {arena_.integer(0)};
        std::vector<Expr> before = {now}, after = {arena_.integer(arena_.extent(wave))};
        Arena::Substitution own;
        for (AxisId axis : equation.axes) {
            taken.shape.push_back(arena_.extent(axis));
            taken.sizes.push_back(size_of_axis(system_, equation, axis));
            after.push_back(arena_.axis_value(axis));
            start.axes.push_back(arena_.add_axis(Axis(arena_.axis(axis))));
            start.left.push_back(arena_.axis_value(start.axes.back()));
            made.axes.push_back(arena_.add_axis(Axis(arena_.axis(axis))));
            made.left.push_back(arena_.axis_value(made.axes.back()));
            before.push_back(made.left.back());
            own[axis] = made.left.back();
        }
        start.right = neutral(arena_, dtype == DType::boolean ? Reducer::any : Reducer::sum, dtype);
        taken.prepared = of.prepared;
        start.tensor = made.tensor = system_.add_tensor(std::move(taken));
        Expr far = arena_.add(now, arena_.substitute(step, own), -1);  // 0 at the element's step
        const Expr holds = arena_.conjunction(arena_.less(far, arena_.integer(1)), arena_.less(arena_.integer(-1), far));
        Expr right = replace_reads(arena_, equation.right, [&](Expr read) -> Expr {
            const auto steps = makes_steps(read->tensor(), scan);
            if (!steps) return nullptr;
            std::vector<Expr> at = coordinates_of(read);
            Expr& moving = at[steps->dimension];
            moving = arena_.add(now, arena_.add(moving, step, -1));
            return arena_.read(read->tensor(), read->dtype, std::move(at));
        });
        made.right = arena_.select(holds, arena_.substitute(right, own), arena_.read(made.tensor, dtype, before));
        system_.equation(index).right = arena_.read(made.tensor, dtype, after);
        system_.add_equation(std::move(start));
        system_.add_equation(std::move(made));
    }

    static double kept_bytes(const System& system) {
        const std::vector<KeptSteps> kept = kept_steps(system);
        double sum = 0;
        for (size_t t = 0; t < kept.size(); t++) {
            const SystemTensor& tensor = system.tensors[t];
            if (tensor.dead || tensor.kind != SystemTensor::Kind::computed) continue;
            double elements = 1;
            for (size_t d = 0; d < tensor.shape.size(); d++) {
                const bool few = kept[t].places > 0 && kept[t].dimension == d;
                elements *= static_cast<double>(few ? kept[t].places : tensor.shape[d]);
            }
            sum += elements * static_cast<double>(bytes(tensor.dtype));
        }
        return sum;
    }

    System& system_;
    Arena& arena_;
};

}  // namespace

void join_scans(System& system) { ScanReaders(system).run(); }

}  // namespace heddle::equations
