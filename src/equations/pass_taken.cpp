// What is read after a scan at another step for each element (of waves, `y[i, j] = u[2 * i + j, 6, i]`) is taken when it
// is made: an array of the elements becomes a state of the scan, in which each step leaves all but its own as they are,
// and which is read after the last one. The state that was read is then kept for few steps (kept_steps.h). Where all
// that does not take much less memory, nothing changes.
#include <algorithm>
#include <optional>
#include <set>

#include "equations/kept_steps.h"
#include "equations/pass_support.h"
#include "equations/passes.h"
#include "equations/system_rules.h"
#include "expr/arena_interval.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

constexpr double least_gain = 2;      // in bytes of all that is kept
constexpr int64_t fewest_places = 16;  // along the axis of which a step has one place: it leaves the others alone

// How a tensor's steps are made.
struct Steps {
    int32_t equation = -1;
    size_t dimension = 0;  // that counts them
    int64_t first = 0;     // the coordinate of the first one
};

// A read of another step at each element.
struct Taken {
    Expr read = nullptr;
    Steps of;
    Expr step = nullptr;    // by the reader's axes, at which its element is made
    AxisId along = no_id;   // one place of it is of each step
    int64_t direction = 1;  // the step's coefficient of this axis, 1 or -1
};

class ElementTaker {
public:
    explicit ElementTaker(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        std::set<int32_t> scans;
        for (const Equation& equation : system_.equations) {
            if (!equation.dead && equation.scan >= 0) scans.insert(equation.scan);
        }
        for (int32_t scan : scans) take_of(scan);
    }

private:
    void take_of(int32_t scan) {
        std::vector<std::pair<int32_t, Taken>> found;
        for (size_t i = 0; i < system_.equations.size(); i++) {
            const Equation& equation = system_.equations[i];
            if (equation.dead || equation.scan == scan) continue;
            for (Expr read : reads(equation)) {
                if (auto taken = taken_by(equation, read, scan)) found.emplace_back(static_cast<int32_t>(i), *taken);
            }
        }
        if (found.empty()) return;
        System before = system_;
        for (const auto& [index, taken] : found) take(index, taken);
        if (kept_bytes(system_) * least_gain > kept_bytes(before)) system_ = std::move(before);
    }

    std::optional<Steps> steps_of(TensorIndex tensor, int32_t scan) const {
        std::optional<Steps> steps;
        for (int32_t index : system_.tensor(tensor).equations) {
            const Equation& made = system_.equation(index);
            if (made.dead || made.scan != scan) continue;
            if (steps) return std::nullopt;
            for (size_t d = 0; d < made.left.size(); d++) {
                const CoordinateForm form = linear_form(made.left[d]);
                const bool counts = made.left[d]->axes == std::vector{made.ordered} && form.terms.size() == 1 &&
                                    form.terms[0].second == 1;
                if (counts) steps = Steps{index, d, form.constant};
            }
            if (!steps) return std::nullopt;
        }
        return steps;
    }

    std::optional<Taken> taken_by(const Equation& reader, Expr read, int32_t scan) const {
        const auto steps = steps_of(read->tensor(), scan);
        if (!steps) return std::nullopt;
        Taken taken{read, *steps};
        taken.step = arena_.add(read->parts()[steps->dimension], arena_.integer(-steps->first));
        const int64_t count = arena_.extent(system_.equation(steps->equation).ordered);
        if (!interval(taken.step).within(0, count - 1)) return std::nullopt;
        for (const auto& [atom, factor] : linear_form(taken.step).terms) {
            if (atom->kind != Kind::variable || arena_.axis(atom->axes[0]).named) return std::nullopt;
            if (std::abs(factor) != 1 || arena_.extent(atom->axes[0]) < fewest_places) continue;
            taken.along = atom->axes[0];
            taken.direction = factor;
        }
        const auto waits = [&](Expr node) {
            return node != read && node->is_read() && system_.tensor(node->tensor()).kind == SystemTensor::Kind::computed;
        };
        const bool alone = std::ranges::none_of(walk(read), waits);
        const bool alike = system_.tensor(read->tensor()).prepared == system_.tensor(reader.tensor).prepared;
        return taken.along != no_id && alone && alike ? std::optional(taken) : std::nullopt;
    }

    // taken[0, ..] = 0; taken[w + 1, ..] = step == w ? what is read : taken[w, ..]; the reader reads the last one.
    void take(int32_t index, const Taken& taken) {
        const Equation reader = system_.equation(index), made = system_.equation(taken.of.equation);
        const SystemTensor of = system_.tensor(taken.read->tensor());
        const AxisId wave = arena_.add_axis(Axis(arena_.axis(made.ordered)));
        const Expr now = arena_.axis_value(wave);
        Equation start{.left = {arena_.integer(0)}};
        Equation step{.axes = {wave}, .left = {arena_.add(now, arena_.integer(1))}, .scan = made.scan, .ordered = wave};
        SystemTensor tensor{.name = of.name + "_taken", .dtype = of.dtype, .prepared = of.prepared};
        tensor.operation = of.operation;
        const auto add_size = [&](const Size& size) {
            tensor.sizes.push_back(size);
            tensor.shape.push_back(size.value);
        };
        add_size(Size(arena_.extent(wave) + 1));
        std::vector<Expr> before = {now}, last = {arena_.integer(arena_.extent(wave))};
        Arena::Substitution own;
        const auto copied = [&](AxisId axis) { return arena_.axis_value(arena_.add_axis(Axis(arena_.axis(axis)))); };
        for (const auto* axes : {&reader.axes, &reader.reduced}) {
            for (AxisId axis : *axes) {
                if (!depends(taken.read, axis)) continue;
                add_size(size_of_axis(system_, reader, axis));
                last.push_back(arena_.axis_value(axis));
                start.left.push_back(copied(axis));
                start.axes.push_back(start.left.back()->axes[0]);
                before.push_back(own[axis] = copied(axis));
                step.axes.push_back(before.back()->axes[0]);
                step.left.push_back(before.back());
            }
        }
        start.right = neutral(arena_, of.dtype == DType::boolean ? Reducer::any : Reducer::sum, of.dtype);
        start.tensor = step.tensor = system_.add_tensor(std::move(tensor));
        step.right = arena_.select(arena_.substitute(is_made_at(taken, now), own),
                                   arena_.substitute(at_step(taken, now), own),
                                   arena_.read(step.tensor, of.dtype, std::move(before)));
        const Expr instead = arena_.read(step.tensor, of.dtype, std::move(last));
        system_.equation(index).right = remade(reader.right, [&](Expr node, std::vector<Expr> operands) {
            return node == taken.read ? instead : arena_.rebuild(node, std::move(operands));
        });
        system_.add_equation(std::move(start));
        system_.add_equation(std::move(step));
    }

    Expr at_step(const Taken& taken, Expr now) {
        std::vector<Expr> at = coordinates_of(taken.read);
        at[taken.of.dimension] = arena_.add(now, arena_.integer(taken.of.first));
        const SystemTensor& of = system_.tensor(taken.read->tensor());
        if (taken.read->kind == Kind::read) return arena_.read(taken.read->tensor(), of.dtype, std::move(at));
        return arena_.guarded_read(taken.read->tensor(), of.dtype, std::move(at), taken.read->parts().back(), of.shape);
    }

    // step == now, and, for whole rows to be left out, what that says without the axis along which one place is asked.
    Expr is_made_at(const Taken& taken, Expr now) {
        const auto is_below = [&](Expr a, Expr b) { return arena_.less(arena_.add(a, b, -1), arena_.integer(0)); };
        const auto next = [&](Expr e) { return arena_.add(e, arena_.integer(1)); };
        const auto with = [&](int64_t place) {
            return arena_.substitute(taken.step, {{taken.along, arena_.integer(place)}});
        };
        const int64_t end = arena_.extent(taken.along) - 1;
        const Expr row = arena_.conjunction(is_below(with(taken.direction > 0 ? 0 : end), next(now)),
                                            is_below(now, next(with(taken.direction > 0 ? end : 0))));
        const Expr place = arena_.conjunction(is_below(taken.step, next(now)), is_below(now, next(taken.step)));
        return arena_.conjunction(row, place);
    }

    static double kept_bytes(const System& system) {
        const std::vector<KeptSteps> kept = kept_steps(system);
        double sum = 0;
        for (size_t t = 0; t < kept.size(); t++) {
            const SystemTensor& tensor = system.tensors[t];
            if (tensor.dead || tensor.kind != SystemTensor::Kind::computed) continue;
            double elements = 1;
            for (size_t d = 0; d < tensor.shape.size(); d++) {
                const bool in_turn = kept[t].places > 0 && kept[t].dimension == d;
                elements *= static_cast<double>(in_turn ? kept[t].places : tensor.shape[d]);
            }
            sum += elements * static_cast<double>(bytes(tensor.dtype));
        }
        return sum;
    }

    System& system_;
    Arena& arena_;
};

}  // namespace

void take_elements(System& system) { ElementTaker(system).run(); }

}  // namespace heddle::equations
