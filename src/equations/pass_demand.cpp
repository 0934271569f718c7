// Elements of a scan's steps that nobody asks for: behind the ends of an anti-diagonal (`i <= t`), of a tree that
// shrinks (`i < n - t`). Which they are is proved by induction over the steps. Of every tensor that a scan makes, what
// its conditions and guards ask of the step and another axis may bound the elements that are asked for; a bound goes
// where some read, under the conditions around it and under the bounds of what its reader makes, is not known to stay
// within it. What is left holds. Elsewhere an element's equation then says that it is what it is: the schedule leaves
// these points out ("Scans").
#include <algorithm>
#include <map>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {
namespace {

struct Made {
    int32_t equation = -1;
    size_t dimension = 0;      // that counts the steps
    std::vector<Expr> bounds;  // below 0 wherever an element is asked for; of the equation's axes
};

class AskedElements {
public:
    explicit AskedElements(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        for (size_t i = 0; i < system_.equations.size(); i++) add_maker(static_cast<int32_t>(i));
        std::erase_if(made_, [&](const auto& made) { return !reads_neighbours(scan_of(made.second)); });
        for (auto& [tensor, made] : made_) add_candidates(made);
        std::erase_if(made_, [](const auto& made) { return made.second.bounds.empty(); });
        while (drop_one_round()) {
        }
        for (const auto& [tensor, made] : made_) leave_out(made);
    }

private:
    static constexpr size_t most_candidates = 60;  // of a tensor: more take longer than they are worth

    const Equation& of(const Made& made) const { return system_.equation(made.equation); }
    int32_t scan_of(const Made& made) const { return of(made).scan; }

    // One equation makes all steps, and what is on the left are axes and t + a number.
    void add_maker(int32_t index) {
        const Equation& equation = system_.equation(index);
        if (equation.dead || equation.scan < 0 || equation.ordered < 0 || equation.reducer) return;
        const SystemTensor& tensor = system_.tensor(equation.tensor);
        const bool alone = std::ranges::none_of(tensor.equations, [&](int32_t other) {
            return other != index && !system_.equation(other).dead && system_.equation(other).scan >= 0;
        });
        if (tensor.is_output || !alone) return;
        Made made{index};
        bool counted = false;
        for (size_t d = 0; d < equation.left.size(); d++) {
            const CoordinateForm form = linear_form(equation.left[d]);
            const bool plain = form.terms.size() <= 1 && (form.terms.empty() || form.terms[0].second == 1);
            if (!plain) return;
            if (equation.left[d]->axes == std::vector{equation.ordered}) {
                made.dimension = d;
                counted = true;
            } else if (equation.left[d]->kind != Kind::variable) {
                return;
            }
        }
        if (counted) made_[equation.tensor] = std::move(made);
    }

    // Else its points do not depend on one another: their steps stay together.
    bool reads_neighbours(int32_t scan) const {
        return std::ranges::any_of(made_, [&](const auto& entry) {
            const Equation& maker = of(entry.second);
            if (maker.scan != scan) return false;
            return std::ranges::any_of(system_.equations, [&](const Equation& reader) {
                if (reader.dead || reader.scan != scan) return false;
                return std::ranges::any_of(reads(reader), [&](Expr read) {
                    return read->tensor() == maker.tensor && reader.tensor == maker.tensor &&
                           !is_own(read, entry.second);
                });
            });
        });
    }

    bool is_own(Expr read, const Made& made) const {
        const Equation& maker = of(made);
        for (size_t d = 0; d < maker.left.size(); d++) {
            if (d != made.dimension && read->parts()[d] != maker.left[d]) return false;
        }
        return true;
    }

    // What equations of the scan ask of the step and of an axis, as if it were asked of this tensor's element instead,
    // or of the element that it reads.
    void add_candidates(Made& made) {
        for (const auto& [tensor, other] : made_) {
            if (scan_of(other) != scan_of(made)) continue;
            const bool alike = of(other).left.size() == of(made).left.size() && other.dimension == made.dimension;
            if (alike) add_asked(made, other, arena_.axis_value(of(made).ordered), of(made).left);
            const Size first = linear_form(of(other).left[other.dimension]).constant;
            for (Expr read : reads(of(made))) {
                if (read->tensor() != tensor || tensor == of(made).tensor) continue;
                Expr step = arena_.add(read->parts()[other.dimension], arena_.integer(-first));
                add_asked(made, other, step, coordinates_of(read));
            }
        }
    }

    void add_asked(Made& made, const Made& other, Expr step, const std::vector<Expr>& at) {
        Arena::Substitution to_own;
        for (size_t d = 0; d < at.size(); d++)
            to_own[of(other).left[d]->axes.front()] = d == other.dimension ? step : at[d];
        for (Expr c : asked_in(of(other).right, of(other).ordered)) {
            const auto known = [&](AxisId axis) { return to_own.contains(axis); };
            if (std::ranges::all_of(c->axes, known)) add_near(made, arena_.substitute(c, to_own));
        }
    }

    // Both answers of the condition, and those a little weaker or stronger: reads are often a step or an element away.
    void add_near(Made& made, Expr coordinate) {
        Expr opposite = arena_.add(arena_.integer(-1), coordinate, -1);
        for (int64_t near : {0, -1, 1, -2, 2}) {
            for (Expr c : {coordinate, opposite}) {
                Expr candidate = arena_.add(c, arena_.integer(near));
                if (made.bounds.size() == most_candidates ||
                    std::ranges::find(made.bounds, candidate) != made.bounds.end())
                    continue;
                made.bounds.push_back(candidate);
            }
        }
    }

    // Coordinates that conditions and guards compare with numbers, and that hold the step and another axis.
    std::vector<Expr> asked_in(Expr right, AxisId ordered) const {
        std::vector<Expr> found;
        const auto add = [&](Expr c) {
            const auto terms = linear_form(c).terms;
            const auto plain = [](const auto& term) { return term.first->kind == Kind::variable; };
            const bool moves = c->axes.size() > 1 && std::ranges::binary_search(c->axes, ordered);
            if (moves && std::ranges::all_of(terms, plain)) found.push_back(c);
        };
        for (Expr e : walk(right)) {
            if (e->kind == Kind::negative || e->kind == Kind::inside) add(e->parts()[0]);
            if (e->kind == Kind::inside) add(arena_.add(e->parts()[0], arena_.integer(-e->integer)));
            if (e->kind != Kind::guarded_read) continue;
            const std::vector<Size>& shape = system_.tensor(e->tensor()).shape;
            for (size_t d = 0; d < shape.size(); d++) {
                add(e->parts()[d]);
                add(arena_.add(e->parts()[d], arena_.integer(-shape[d])));
            }
        }
        return found;
    }

    // Whether a bound was dropped.
    bool drop_one_round() {
        bool dropped = false;
        for (const Equation& reader : system_.equations) {
            if (reader.dead) continue;
            const auto own = made_.find(reader.tensor);
            const bool is_maker = own != made_.end() && &of(own->second) == &reader;
            const auto visit = [&](Expr read, const std::vector<Expr>& below_zero) {
                const auto made = made_.find(read->tensor());
                if (made != made_.end()) dropped |= drop_unproved(made->second, read, below_zero);
                return true;
            };
            const std::vector<Expr> known = is_maker ? own->second.bounds : std::vector<Expr>();
            if (visit_guarded_reads(arena_, reader.right, visit, known)) continue;
            for (Expr read : reads(reader)) {  // too many ways
                const auto made = made_.find(read->tensor());
                if (made == made_.end()) continue;
                dropped |= !made->second.bounds.empty();
                made->second.bounds.clear();
            }
        }
        return dropped;
    }

    bool drop_unproved(Made& made, Expr read, std::vector<Expr> below_zero) {
        const Equation& maker = of(made);
        Arena::Substitution element;
        for (size_t d = 0; d < maker.left.size(); d++) {
            Expr at = read->parts()[d];
            const Size first = linear_form(maker.left[d]).constant;
            element[maker.left[d]->axes.front()] = arena_.add(at, arena_.integer(-first));
            if (read->kind != Kind::guarded_read) continue;
            below_zero.push_back(arena_.add(arena_.integer(-1), at, -1));
            below_zero.push_back(arena_.add(at, arena_.integer(-system_.tensor(maker.tensor).shape[d])));
        }
        return std::erase_if(made.bounds,
                             [&](Expr c) { return !follows(arena_, arena_.substitute(c, element), below_zero); }) > 0;
    }

    // What stands where nobody asks: what was there, or where nothing was, anything.
    Expr anything(const Equation& equation) const {
        const auto& makers = system_.tensor(equation.tensor).equations;
        const auto lives = [&](int32_t maker) { return !system_.equation(maker).dead; };
        const DType dtype = equation.right->dtype;
        if (std::ranges::count_if(makers, lives) > 1) return arena_.read(equation.tensor, dtype, equation.left);
        return is_float(dtype) ? arena_.real(dtype, 0) : arena_.literal(dtype, 0);
    }

    // Of bounds that differ by a number, the strongest one.
    void leave_out(const Made& made) {
        Equation& equation = system_.equation(made.equation);
        const Expr itself = anything(equation);
        for (Expr c : made.bounds) {
            const auto is_stronger = [&](Expr other) {
                Expr more = arena_.add(other, c, -1);
                return more->kind == Kind::integer && more->integer > 0;
            };
            if (c->high < 0 || std::ranges::any_of(made.bounds, is_stronger)) continue;
            equation.right = arena_.select(arena_.less(c, arena_.integer(0)), equation.right, itself);
        }
    }

    System& system_;
    Arena& arena_;
    std::map<TensorIndex, Made> made_;
};

}  // namespace

void leave_undemanded_elements(System& system) { AskedElements(system).run(); }

}  // namespace heddle::equations
