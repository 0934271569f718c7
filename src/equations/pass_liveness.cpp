// Of a state that is updated in its place, elements that no later step asks for need no update: behind the pivot of an
// elimination what lies before it, and the half of a symmetric matrix that no pivot's row has. Which they are follows
// from where the state is read: at the step itself (`rest[t, t, i]`), under conditions on axes (`i >= t`). There the
// step keeps what it has, and the schedule leaves such points out (schedules.md, "Demand and change").
#include <algorithm>
#include <optional>

#include "equations/passes.h"
#include "equations/kept_steps.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

// A read of the state elsewhere than at its own point, and coordinates that are below 0 wherever it is asked for.
struct LaterRead {
    Expr read = nullptr;
    AxisId ordered = no_id;
    int64_t first = 1;  // the reading is at least so many steps behind the making
    std::vector<Expr> below_zero;
};

class LiveElements {
public:
    LiveElements(System& system, int32_t index, size_t dimension)
        : system_(system), arena_(*system.arena), equation_(system.equation(index)), dimension_(dimension) {}

    // Coordinates, of the equation's axes, that are below 0 where the element is asked for later; none if all may be.
    std::vector<Expr> conditions() {
        if (!is_plain() || !collect() || reads_.empty()) return {};
        std::vector<Expr> found;
        for (size_t d = 0; d < equation_.left.size(); d++) {
            if (auto behind = behind_step(d)) found.push_back(*behind);
        }
        for (const LaterRead& later : reads_) {
            for (Expr guard : later.below_zero) {
                const auto condition = of_element(later, guard);
                if (!condition || std::ranges::find(found, *condition) != found.end()) continue;
                const auto holds = [&](const LaterRead& read) { return implies(read, *condition); };
                if (std::ranges::all_of(reads_, holds)) found.push_back(*condition);
            }
        }
        return found;
    }

private:
    // Its own coordinates are axes.
    bool is_plain() const {
        for (size_t d = 0; d < equation_.left.size(); d++) {
            if (d != dimension_ && equation_.left[d]->kind != Kind::variable) return false;
        }
        return !equation_.reducer;
    }

    // False where something else reads it, or more than can be followed.
    bool collect() {
        for (const Equation& reader : system_.equations) {
            if (reader.dead) continue;
            const bool any =
                std::ranges::any_of(reads(reader), [&](Expr r) { return r->tensor() == equation_.tensor; });
            if (!any) continue;
            const auto add = [&](Expr read, const std::vector<Expr>& below_zero) {
                return read->tensor() != equation_.tensor || add_read(reader, read, below_zero);
            };
            const auto is_guarded = [&](Expr r) {
                return r->tensor() == equation_.tensor && r->kind == Kind::guarded_read;
            };
            if (reader.scan != equation_.scan || std::ranges::any_of(reads(reader), is_guarded)) return false;
            if (!visit_guarded_reads(arena_, reader.right, add)) return false;
        }
        return true;
    }

    bool add_read(const Equation& reader, Expr read, const std::vector<Expr>& below_zero) {
        const auto step = step_of_read(reader, read, equation_);
        if (!step || *step > 0) return false;
        if (&reader == &equation_) return *step == -1 && is_own_point(read);
        reads_.push_back({read, reader.ordered, -*step, below_zero});
        return true;
    }

    bool is_own_point(Expr read) const {
        for (size_t d = 0; d < equation_.left.size(); d++) {
            if (d != dimension_ && read->parts()[d] != equation_.left[d]) return false;
        }
        return true;
    }

    // Every read is at a t + k along this dimension: an element before the least of these is not asked for any more.
    std::optional<Expr> behind_step(size_t d) const {
        if (d == dimension_) return std::nullopt;
        std::optional<Place> least;
        for (const LaterRead& later : reads_) {
            auto place = place_of(later, d);
            if (!place || (least && least->factor != place->factor)) return std::nullopt;
            place->ahead += place->factor * later.first;
            if (!least || place->ahead < least->ahead) least = place;
        }
        Expr first = arena_.add(arena_.integer(least->ahead), arena_.axis_value(equation_.ordered), least->factor);
        return arena_.add(arena_.add(first, equation_.left[d], -1), arena_.integer(-1));
    }

    // Where a step reads: at factor * t + ahead.
    struct Place {
        int64_t factor = 1, ahead = 0;
    };

    static std::optional<Place> place_of(const LaterRead& later, size_t d) {
        const CoordinateForm form = linear_form(later.read->parts()[d]);
        const bool alone = form.terms.size() == 1 && form.terms[0].second > 0 &&
                           later.read->parts()[d]->axes == std::vector{later.ordered} &&
                           form.terms[0].first->kind == Kind::variable;
        return alone ? std::optional(Place{form.terms[0].second, form.constant}) : std::nullopt;
    }

    // What it says of the element read, in place of the reader's axes; nothing if they are not all of the element.
    std::optional<Expr> of_element(const LaterRead& later, Expr coordinate) const {
        Arena::Substitution element;
        for (size_t d = 0; d < equation_.left.size(); d++) {
            if (d == dimension_) continue;
            Expr at = later.read->parts()[d];
            if (at->kind == Kind::variable) element.try_emplace(at->axes[0], equation_.left[d]);
        }
        // factor * t + ahead is the element's coordinate.
        Expr of_steps = arena_.integer(0);
        for (size_t d = 0; d < equation_.left.size() && !element.contains(later.ordered); d++) {
            const auto place = d == dimension_ ? std::nullopt : place_of(later, d);
            const int64_t steps = factor_of(coordinate, later.ordered);
            if (!place || steps % place->factor != 0) continue;
            coordinate = arena_.add(coordinate, later.read->parts()[d], -steps / place->factor);
            of_steps = arena_.add(of_steps, equation_.left[d], steps / place->factor);
        }
        const auto known = [&](AxisId axis) { return element.contains(axis); };
        if (!std::ranges::all_of(coordinate->axes, known)) return std::nullopt;
        Expr result = arena_.add(arena_.substitute(coordinate, element), of_steps);
        return result->axes.empty() ? std::nullopt : std::optional(result);
    }

    static int64_t factor_of(Expr coordinate, AxisId axis) {
        for (const auto& [atom, factor] : linear_form(coordinate).terms) {
            if (atom->kind == Kind::variable && atom->axis() == axis) return factor;
        }
        return 0;
    }

    // The condition on the element holds for each that is read so.
    bool implies(const LaterRead& later, Expr coordinate) const {
        Arena::Substitution read;
        for (size_t d = 0; d < equation_.left.size(); d++) {
            if (d != dimension_) read[equation_.left[d]->axes[0]] = later.read->parts()[d];
        }
        return follows(arena_, arena_.substitute(coordinate, read), later.below_zero);
    }

    System& system_;
    Arena& arena_;
    const Equation& equation_;
    const size_t dimension_;
    std::vector<LaterRead> reads_;
};

// The element that the equation replaces, if it reads it.
Expr replaced(const Equation& equation, size_t dimension) {
    for (Expr read : reads(equation)) {
        if (read->tensor() != equation.tensor || read->kind != Kind::read) continue;
        bool own = step_of_read(equation, read, equation) == -1;
        for (size_t d = 0; d < equation.left.size(); d++) own &= d == dimension || read->parts()[d] == equation.left[d];
        if (own) return read;
    }
    return nullptr;
}

}  // namespace

void keep_dead_elements(System& system) {
    const std::vector<KeptSteps> kept = kept_steps(system);
    for (size_t i = 0; i < system.equations.size(); i++) {
        Equation& equation = system.equations[i];
        if (equation.dead || equation.scan < 0 || equation.ordered < 0) continue;
        const KeptSteps& places = kept[static_cast<size_t>(equation.tensor)];
        Expr old = places.places == 1 ? replaced(equation, places.dimension) : nullptr;
        if (!old) continue;
        Arena& arena = *system.arena;
        for (Expr c : LiveElements(system, static_cast<int32_t>(i), places.dimension).conditions())
            equation.right = arena.select(arena.less(c, arena.integer(0)), equation.right, old);
    }
}

}  // namespace heddle::equations
