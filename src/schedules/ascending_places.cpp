#include "schedules/ascending_places.h"

#include <algorithm>
#include <cstdlib>

#include "expr/remake.h"
#include "schedules/accesses.h"

namespace heddle::schedules {
namespace {

bool is_number(Expr e, double value) {
    if (e->kind == Kind::real) return e->real == value;
    return e->kind == Kind::integer && static_cast<double>(e->integer) == value;
}

// What must hold of all that the condition asks.
void collect_conditions(Expr e, std::vector<Expr>& found) {
    const bool either = e->kind == Kind::conjunction || (e->kind == Kind::scalar && e->op == ScalarOp::logical_and);
    const bool chosen = e->kind == Kind::select && is_number(e->parts()[2], 0);
    if (!either && !chosen) return found.push_back(e);
    collect_conditions(e->parts()[0], found);
    collect_conditions(e->parts()[1], found);
}

constexpr int64_t farthest_begin = int64_t{1} << 30;  // no count from there on leaves 32 bits

bool is_wide(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

// The place of an element: so many times the count, and whether it moves with the axis, too.
struct Place {
    Expr count = nullptr;  // the read of the state, as it is; null: none
    int64_t factor = 0, steps = 0;
    bool wraps = false;  // what was added in 32 bits may have left the type: nothing brings it back inside
};

class PlaceFinder {
public:
    explicit PlaceFinder(AxisId axis) : axis_(axis) {}

    // Nothing where the axis moves anything else in it.
    std::optional<Place> of(Expr e) const {
        if (!is_wide(e->dtype)) return std::nullopt;
        if (!depends_on(e, axis_)) return Place{};
        if (plain_axis(e) == axis_) return Place{nullptr, 0, 1};
        if (e->kind == Kind::read) return Place{e, 1, 0};
        if (e->kind == Kind::cast) return e->dtype == DType::int64 ? of(e->parts()[0]) : std::nullopt;
        std::optional<Place> sum = Place{};
        if (e->kind == Kind::linear) {
            for (size_t i = 0; i < e->parts().size(); i++) sum = joined(sum, of(e->parts()[i]), e->coefficients[i]);
        } else {
            if (e->kind != Kind::scalar || (e->op != ScalarOp::add && e->op != ScalarOp::subtract)) return std::nullopt;
            sum = joined(of(e->parts()[0]), of(e->parts()[1]), e->op == ScalarOp::add ? 1 : -1);
        }
        if (!sum || (sum->wraps && e->dtype == DType::int64)) return std::nullopt;
        sum->wraps = e->dtype == DType::int32;
        return sum;
    }

private:
    static std::optional<Place> joined(std::optional<Place> a, std::optional<Place> b, int64_t factor) {
        if (!a || !b || (a->count && b->count)) return std::nullopt;
        return Place{a->count ? a->count : b->count, a->factor + factor * b->factor, a->steps + factor * b->steps,
                     a->wraps || b->wraps};
    }

    const AxisId axis_;
};

class Finder {
public:
    explicit Finder(const Kernel& kernel) : kernel_(copied(kernel)), arena_(*kernel_.arena) {}

    std::optional<Kernel> run() {
        bool any = false;
        for (KernelEquation& e : kernel_.equations) any = (e.update && ascends(e)) || any;
        return any ? std::optional(std::move(kernel_)) : std::nullopt;
    }

private:
    bool ascends(KernelEquation& e) {
        const Expr filling = e.reduced.size() == 1 && e.ordered < 0 ? filled_with(e) : nullptr;
        const bool plain = filling && std::ranges::all_of(e.left.begin(), e.left.end() - 1,
                                                          [&](Expr c) { return contains(e.axes, plain_axis(c)); });
        if (!plain || bytes(kernel_.tensor(e.tensor).dtype) < bytes(DType::int32)) return false;
        const AxisId axis = e.reduced.front();
        const Expr at = e.left.back();
        const auto place = PlaceFinder(axis).of(at);
        if (!place || !place->count) return false;
        const bool counts = place->factor == 1 && place->steps == 0;
        if (!counts && (place->factor != -1 || place->steps != 1)) return false;
        Expr taken = taken_by(place->count, axis);
        if (!taken) return false;
        if (!counts) taken = arena_.scalar(ScalarOp::logical_not, DType::boolean, {taken});
        return rewrite(e, filling, taken, first_place(at, place->count, axis, counts));
    }

    // The number that all elements start with, if nothing else is done to them.
    Expr filled_with(const KernelEquation& update) const {
        Expr filling = nullptr;
        int equations = 0;
        for (const KernelEquation& e : kernel_.equations) {
            if (e.tensor != update.tensor) continue;
            equations++;
            if (!e.update && e.right->is_literal()) filling = e.right;
        }
        return equations == 2 && !kernel_.tensor(update.tensor).may_alias() ? filling : nullptr;
    }

    // Where the state that is read grows by one, at the read's point; nothing where it may grow otherwise. The read is
    // of the state before the axis' point, or behind it.
    Expr taken_by(Expr count, AxisId axis) {
        const KernelEquation* steps = nullptr;
        int equations = 0;
        bool begins = false;
        for (const KernelEquation& e : kernel_.equations) {
            if (e.tensor != count->tensor()) continue;
            equations++;
            if (e.ordered >= 0 && !e.reducer && !e.update) steps = &e;
            begins = begins || (e.right->kind == Kind::integer && std::abs(e.right->integer) <= farthest_begin);
        }
        if (!steps || equations != 2 || !begins) return nullptr;
        Arena::Substitution point;
        for (size_t d = 0; d < steps->left.size(); d++) {
            const Expr left = steps->left[d], read = count->parts()[d];
            const bool is_step = left == arena_.add(arena_.axis_value(steps->ordered), arena_.integer(1));
            if (is_step) {
                const int64_t ahead = parts_of(read).constant;
                if (ahead < 0 || ahead > 1 || read != arena_.add(arena_.axis_value(axis), arena_.integer(ahead)))
                    return nullptr;
                point[steps->ordered] = arena_.axis_value(axis);
            } else {
                if (!contains(steps->axes, plain_axis(left)) || depends_on(read, axis)) return nullptr;
                point[plain_axis(left)] = read;
            }
        }
        const Expr grows = point.contains(steps->ordered) ? condition_of(*steps) : nullptr;
        return grows && !reads_steps(grows) ? arena_.substitute(grows, point) : nullptr;
    }

    // What a step makes may be another one's behind the scan.
    bool reads_steps(Expr e) const {
        return std::ranges::any_of(kernel_.equations, [&](const KernelEquation& made) {
            return made.ordered >= 0 && reads_tensor(e, made.tensor);
        });
    }

    // c of `p[t] + (c ? 1 : 0)`.
    Expr condition_of(const KernelEquation& steps) {
        const Expr sum = steps.right;
        if (sum->kind != Kind::scalar || sum->op != ScalarOp::add) return nullptr;
        std::vector<Expr> before = steps.left;
        for (Expr& c : before) {
            if (depends_on(c, steps.ordered)) c = arena_.axis_value(steps.ordered);
        }
        for (size_t k : {0, 1}) {
            const Expr state = sum->parts()[k], step = sum->parts()[1 - k];
            if (state->kind != Kind::read || state->tensor() != steps.tensor || coordinates_of(state) != before)
                continue;
            if (reads_tensor(step, steps.tensor)) continue;
            if (step->kind == Kind::cast && is_bool(step->parts()[0]->dtype)) return step->parts()[0];
            const bool selects =
                step->kind == Kind::select && is_number(step->parts()[1], 1) && is_number(step->parts()[2], 0);
            if (selects) return step->parts()[0];
        }
        return nullptr;
    }

    // Of a vector, where the first that is taken goes: what lane 0 says. A count behind the point is one less before
    // it.
    Expr first_place(Expr at, Expr count, AxisId axis, bool counts) {
        std::vector<Expr> before = coordinates_of(count);
        bool behind = false;
        for (Expr& c : before) {
            if (!depends_on(c, axis)) continue;
            behind = c != arena_.axis_value(axis);
            c = arena_.axis_value(axis);
        }
        Expr first = arena_.read(count->tensor(), count->dtype, before);
        if (behind && counts)
            first = arena_.scalar(ScalarOp::add, count->dtype, {first, arena_.literal(count->dtype, 1)});
        const Expr place = behind ? replaced(at, count, first) : at;
        return arena_.maximum(place, arena_.integer(0));  // places below that are not inside
    }

    Expr replaced(Expr root, Expr old, Expr by) {
        Arena::Memo memo;
        const auto given = [&](Expr e) { return e == old ? by : e->kind == Kind::variable ? e : nullptr; };
        const auto make = [&](Expr e, std::vector<Expr> operands) { return arena_.rebuild(e, std::move(operands)); };
        return expr::remade(root, memo, given, [](Expr e) { return operands_of(e); }, make);
    }

    // All that the condition asks is that the place is inside, and that the element is taken; or where it is not,
    // nothing is added.
    bool rewrite(KernelEquation& e, Expr filling, Expr taken, Expr first) {
        std::vector<Expr> conditions;
        collect_conditions(e.right->parts()[0], conditions);
        std::erase_if(conditions, [&](Expr c) { return c->kind == Kind::inside && c->parts()[0] == e.left.back(); });
        const Expr value = e.right->parts()[1];
        const Expr old = arena_.read(e.tensor, kernel_.tensor(e.tensor).dtype, e.left);
        const bool is_taken = conditions == std::vector{taken};
        if (!is_taken && (!conditions.empty() || !adds_what_is_taken(value, old, taken))) return false;
        const Expr moved = replaced(value, old, filling);
        if (reads_tensor(moved, e.tensor)) return false;
        const Expr asked = e.right->parts()[0];
        const Expr condition = is_taken ? asked : arena_.scalar(ScalarOp::logical_and, DType::boolean, {asked, taken});
        e.right = arena_.select(condition, moved, old);
        e.left.back() = first;
        e.ascending = e.reduced.front();
        e.filling = filling;
        return true;
    }

    // A sum of the old value and one that is zero where nothing is taken.
    static bool adds_what_is_taken(Expr value, Expr old, Expr taken) {
        if (value->kind != Kind::scalar || value->op != ScalarOp::add) return false;
        for (size_t k : {0, 1}) {
            const Expr term = value->parts()[k];
            if (value->parts()[1 - k] != old) continue;
            if (term->kind == Kind::select && term->parts()[0] == taken && is_number(term->parts()[2], 0)) return true;
            const bool differs = taken->kind == Kind::scalar && taken->op == ScalarOp::not_equal;
            if (differs && taken->parts()[0] == term && is_number(taken->parts()[1], 0)) return true;
        }
        return false;
    }

    Kernel kernel_;
    Arena& arena_;
};

}  // namespace

std::optional<Kernel> with_ascending_places(const Kernel& kernel) {
    const bool updates = std::ranges::any_of(kernel.equations, [](const KernelEquation& e) { return e.update; });
    const bool steps = std::ranges::any_of(kernel.equations, [](const KernelEquation& e) { return e.ordered >= 0; });
    return updates && steps ? Finder(kernel).run() : std::nullopt;
}

}  // namespace heddle::schedules
