// Windows of several axes, one axis after the other: the sum over a window of p x q is a sum over q of sums over p,
// which neighbours share (docs/equations.md, "Windows by rows and columns"). And reductions that several axes see by
// one place alone, such as a row that is chosen for each, are worked out for each place.
#include <algorithm>
#include <optional>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "equations/written_terms.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

constexpr double least_gain = 2;  // in terms: what lies between is written and read once more

// Terms that move with a reduced axis in one coordinate alone, over free axes that are nowhere else. Without an axis:
// terms that free axes move by one coordinate alone.
struct Window {
    AxisId axis = no_id;
    Expr place = nullptr;
};

class Separator {
public:
    explicit Separator(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        for (size_t i = 0; i < system_.equations.size(); i++) {
            while (const auto window = window_of(system_.equations[i])) separate(static_cast<int32_t>(i), *window);
            if (const auto window = place_of(system_.equations[i])) separate(static_cast<int32_t>(i), *window);
        }
        for (int32_t index : separated_) write_out(index);
    }

private:
    double places_of(Expr place) const;
    bool may_be_separated(const Equation& equation) const;
    std::optional<Window> window_of(const Equation& equation) const;
    std::optional<Window> window_along(const Equation& equation, AxisId axis) const;
    bool moves_alone(const Equation& equation, Expr place) const;
    std::optional<Window> place_of(const Equation& equation) const;
    bool pays(const Equation& equation, const Window& window) const;
    void separate(int32_t index, const Window& window);
    void write_out(int32_t index);

    System& system_;
    Arena& arena_;
    std::set<int32_t> separated_;
};

bool Separator::may_be_separated(const Equation& equation) const {
    if (equation.dead || !equation.reducer || is_argument(*equation.reducer) || equation.scan >= 0) return false;
    const DType dtype = equation.right->dtype;
    const bool rounds = *equation.reducer == Reducer::sum || *equation.reducer == Reducer::product;
    if (equation.reduced.size() < 2 || system_.tensor(equation.tensor).prepared) return false;
    if (rounds && info(dtype).accumulator != dtype) return false;
    const auto is_named = [&](AxisId axis) { return arena_.axis(axis).named; };
    return std::ranges::none_of(equation.axes, is_named) && std::ranges::none_of(equation.reduced, is_named) &&
           !shares_operand(system_, equation) && !scatter_of(system_, equation);
}

// The last axis that fits: what lies between is then as long as rows are, and of one row.
std::optional<Window> Separator::window_of(const Equation& equation) const {
    if (!may_be_separated(equation)) return std::nullopt;
    for (size_t i = equation.reduced.size(); i-- > 0;) {
        const auto window = window_along(equation, equation.reduced[i]);
        if (window && pays(equation, *window)) return window;
    }
    return std::nullopt;
}

std::optional<Window> Separator::window_along(const Equation& equation, AxisId axis) const {
    Window window{axis, nullptr};
    for (Expr read : reads(equation)) {
        for (Expr place : coordinates_of(read)) {
            if (!depends(place, axis)) continue;
            if (window.place && window.place != place) return std::nullopt;
            if (read->kind == Kind::read && place->low < 0) return std::nullopt;
            window.place = place;
        }
    }
    if (!window.place || window.place->axes.size() < 2) return std::nullopt;
    if (window.place->low == INT64_MIN || window.place->high == INT64_MAX) return std::nullopt;
    for (AxisId other : equation.reduced) {
        if (other != axis && depends(window.place, other)) return std::nullopt;
    }
    return moves_alone(equation, window.place) ? std::optional(window) : std::nullopt;
}

// Nothing else moves with the place's axes.
bool Separator::moves_alone(const Equation& equation, Expr place) const {
    bool alone = true;
    Arena::Memo memo;
    memo[place] = arena_.integer(0);
    remade(
        equation.right, memo,
        [&](Expr e) -> Expr {
            if (e->kind == Kind::variable) alone = alone && !depends(place, e->axes[0]);
            return e->kind == Kind::variable || e->parts().empty() ? e : nullptr;
        },
        [](Expr e) { return e->parts(); }, [](Expr e, const std::vector<Expr>&) { return e; });
    return alone;
}

// At the size class's representative.
double Separator::places_of(Expr place) const {
    const auto at = [&](const Size& end) { return static_cast<double>(end.at(system_.representatives)); };
    return at(place->high) - at(place->low) + 1;
}

// A coordinate of two free axes or more that has at most half as many places as they have points.
std::optional<Window> Separator::place_of(const Equation& equation) const {
    constexpr double most_places = 1 << 20, least_terms = 1 << 16;
    const SystemTensor& tensor = system_.tensor(equation.tensor);
    if (equation.dead || !equation.reducer || is_argument(*equation.reducer) || equation.scan >= 0) return std::nullopt;
    if (tensor.is_output || tensor.prepared || tensor.equations.size() != 1 || scatter_of(system_, equation))
        return std::nullopt;
    if (hint_points(system_, equation) < least_terms) return std::nullopt;
    const auto is_plain = [&](AxisId axis) {
        return std::ranges::find(equation.axes, axis) != equation.axes.end() && !arena_.axis(axis).named;
    };
    for (Expr read : reads(equation)) {
        for (Expr place : coordinates_of(read)) {
            if (read->kind != Kind::read || place->axes.size() < 2 || place->low < 0) continue;
            const double places = places_of(place);
            const double points = hint_points(arena_, {place->axes.begin(), place->axes.end()});
            if (places > most_places || points < least_gain * places) continue;
            if (std::ranges::all_of(place->axes, is_plain) && moves_alone(equation, place)) return Window{no_id, place};
        }
    }
    return std::nullopt;
}

bool Separator::pays(const Equation& equation, const Window& window) const {
    const auto extent = [&](AxisId axis) { return static_cast<double>(arena_.hint(axis)); };
    double terms = 1, free = 1, moved = 1;
    for (AxisId axis : equation.reduced) terms *= extent(axis);
    for (AxisId axis : equation.axes) {
        free *= extent(axis);
        if (depends(window.place, axis)) moved *= extent(axis);
    }
    if (free == 0 || terms == 0) return false;
    const double between = free / moved * places_of(window.place) * terms / extent(window.axis);
    return free * terms >= least_gain * (between + free * extent(window.axis));
}

void Separator::separate(int32_t index, const Window& window) {
    Equation inner = system_.equation(index);
    const SystemTensor whole = system_.tensor(inner.tensor);
    SystemTensor tensor{.name = whole.name + "_window", .dtype = window.axis < 0 ? whole.dtype : inner.right->dtype};
    tensor.operation = whole.operation;
    const Size first = window.place->low;
    // The axes that it keeps, and the places along the window's.
    std::vector<AxisId> kept;
    std::vector<Expr> at;
    for (AxisId axis : inner.axes) {
        if (!depends(window.place, axis)) kept.push_back(axis);
    }
    Arena::Substitution renaming;
    Arena::Memo memo;
    inner.axes.clear();
    inner.left.clear();
    const auto add = [&](Axis axis, Expr place) {
        tensor.shape.push_back(axis.extent);
        inner.axes.push_back(arena_.add_axis(std::move(axis)));
        inner.left.push_back(arena_.axis_value(inner.axes.back()));
        at.push_back(place);
    };
    for (AxisId axis : kept) {
        add(Axis(arena_.axis(axis)), arena_.axis_value(axis));
        renaming[axis] = inner.left.back();
    }
    const bool sums = window.axis >= 0;  // over the window, of what is worked out for each place
    const AxisId named = sums ? window.axis : window.place->axes.front();
    add(axis_of_extent(system_, arena_.axis(named).name, window.place->high - first + 1),
        arena_.add(window.place, arena_.integer(-first)));
    memo[window.place] = arena_.add(inner.left.back(), arena_.integer(first));
    std::erase(inner.reduced, window.axis);
    for (AxisId& axis : inner.reduced) {
        const AxisId own = arena_.add_axis(Axis(arena_.axis(axis)));
        renaming[axis] = arena_.axis_value(own);
        axis = own;
    }
    inner.right = remade(
        inner.right, memo,
        [&](Expr e) -> Expr {
            if (e->kind != Kind::variable) return nullptr;
            const auto found = renaming.find(e->axes[0]);
            return found == renaming.end() ? e : found->second;
        },
        [](Expr e) { return e->parts(); },
        [&](Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); });
    inner.piece = 0;
    inner.tensor = system_.add_tensor(std::move(tensor));
    const TensorIndex between = inner.tensor;
    const int32_t made = system_.add_equation(std::move(inner));
    Equation& outer = system_.equation(index);
    outer.right = arena_.read(between, system_.tensor(between).dtype, std::move(at));
    if (sums) {
        outer.reduced = {window.axis};
        separated_.insert({index, made});
        return;
    }
    outer.reduced.clear();
    outer.reducer.reset();
}

void Separator::write_out(int32_t index) {
    Equation& equation = system_.equation(index);
    Size terms = 1;
    for (AxisId axis : equation.reduced) terms *= arena_.extent(axis);
    if (terms.named() || terms > longest_written_axis || terms == 0) return;
    equation.right = arena_.cast(system_.tensor(equation.tensor).dtype,
                                 joined_terms(system_, *equation.reducer, equation.right, equation.reduced));
    equation.reducer.reset();
    equation.reduced.clear();
}

}  // namespace

void separate_windows(System& system) { Separator(system).run(); }

}  // namespace heddle::equations
