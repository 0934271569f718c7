// Factoring: the digits of mixed radices become axes of their own, over the whole system. Cuts are asked for by what is
// left of // and %, by full mixed radices in reads, by slices whose offset and length divide, and by comparisons of an
// axis with a divisor of its extent. Axes that read one another are one class; a class keeps a chain of divisors, most
// asked first, and its members are cut alike (docs/equations.md, "Substitution").
#include <algorithm>
#include <map>
#include <numeric>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "support/union_find.h"
#include "zspace/linear_equation.h"

namespace heddle::equations {
namespace {

constexpr int maximum_rounds = 6;

// Classes of axes; the root of a class is the least of them.
using AxisClasses = UnionFind<AxisId>;

class Factoring {
public:
    explicit Factoring(System& system) : system_(system), arena_(*system.arena) {}

    bool round();  // true if something was cut

private:
    void join_classes(AxisClasses& classes) const;
    void ask(AxisClasses& classes, AxisId axis, const Size& cut);
    void ask_for_division(AxisClasses& classes, Expr division);
    void ask_for_comparison(AxisClasses& classes, Expr comparison);
    void ask_for_read(AxisClasses& classes, Expr read);
    void ask_for_dimension(AxisClasses& classes, AxisId made, Expr coordinate);
    std::map<AxisId, std::vector<int64_t>> chains(AxisClasses& classes) const;
    bool cut(Equation& equation, AxisClasses& classes, const std::map<AxisId, std::vector<int64_t>>& chains);
    Expr cut_axis(AxisId axis, const std::vector<int64_t>& chain, std::vector<AxisId>& digits);

    System& system_;
    Arena& arena_;
    std::map<AxisId, std::map<int64_t, int>> asked_;  // class -> cut -> how often
};

void Factoring::join_classes(AxisClasses& classes) const {
    for (const Equation& equation : system_.equations) {
        if (equation.dead) continue;
        for (Expr read : reads(equation)) {
            const SystemTensor& tensor = system_.tensor(read->tensor());
            for (int32_t maker : tensor.equations) {
                const Equation& made = system_.equation(maker);
                const Box box = box_of(made);
                for (size_t d = 0; d < made.left.size(); d++) {
                    if (box.start[d] != 0 || box.end[d] != tensor.shape[d]) continue;  // a piece cuts it
                    const auto digits = digits_of(made.left[d]);
                    for (size_t k = 0; k < digits.size(); k++) {
                        Expr value = arena_.floor_divide(read->parts()[d], digits[k].radix);
                        if (k > 0) value = arena_.modulo(value, maximum(arena_.extent(digits[k].axis), 1));
                        if (value->kind != Kind::variable) continue;
                        const AxisId axis = value->axes[0];
                        if (arena_.extent(axis) != arena_.extent(digits[k].axis)) continue;
                        const auto [first, second] = std::minmax({classes.root(axis), classes.root(digits[k].axis)});
                        classes.join(first, second);
                    }
                }
            }
        }
    }
}

void Factoring::ask(AxisClasses& classes, AxisId axis, const Size& cut) {
    const Size& extent = arena_.extent(axis);
    if (cut.named() || cut <= 1 || cut.number() >= extent.number() || !divides(cut, extent)) return;
    asked_[classes.root(axis)][cut.number()]++;
}

void Factoring::ask_for_division(AxisClasses& classes, Expr division) {
    const CoordinateForm form = linear_form(division->parts()[0]);
    const Size& divisor = division->integer;
    if (!divides(divisor, form.constant)) return;
    for (const auto& [atom, factor] : form.terms) {
        if (atom->kind == Kind::variable && factor > 0 && divides(factor, divisor)) {
            ask(classes, atom->axes[0], floor_divide(divisor, factor));
        }
    }
}

// axis < bound, or bound <= axis
void Factoring::ask_for_comparison(AxisClasses& classes, Expr comparison) {
    const CoordinateForm form = linear_form(comparison->parts()[0]);
    if (form.terms.size() != 1) return;
    const auto& [atom, factor] = form.terms[0];
    if (atom->kind != Kind::variable || (!factor.same_as(1) && !factor.same_as(-1))) return;
    ask(classes, atom->axes[0], factor.same_as(1) ? -form.constant : form.constant + 1);
}

// How a reader looks at a dimension that one axis makes: as a full mixed radix, or at a slice.
void Factoring::ask_for_dimension(AxisClasses& classes, AxisId made, Expr coordinate) {
    const CoordinateForm form = linear_form(coordinate);
    const Size& extent = arena_.extent(made);
    for (const auto& [atom, factor] : form.terms) {
        if (atom->kind != Kind::variable || factor <= 0) return;
    }
    if (form.constant.same_as(0) && form.terms.size() > 1) {
        RadixDigits<Expr> digits;
        for (const auto& [atom, factor] : form.terms) digits.push_back({atom, factor, arena_.extent(atom->axes[0])});
        const auto radix = mixed_radix(std::move(digits));
        if (!radix.fits() || !Size::always_equal(radix.extent, extent)) return;
        for (const auto& digit : radix.digits) ask(classes, made, digit.factor);
    } else if (const auto lone = lone_atom(form); lone && form.constant >= 0) {
        const Size& length = arena_.extent((*lone)->axes[0]);
        if (!length.named() && length > 1 && divides(length, form.constant)) ask(classes, made, length);
    }
}

void Factoring::ask_for_read(AxisClasses& classes, Expr read) {
    for (int32_t maker : system_.tensor(read->tensor()).equations) {
        const Equation& made = system_.equation(maker);
        for (size_t d = 0; d < made.left.size(); d++) {
            const Expr coordinate = read->parts()[d];
            if (made.left[d]->kind == Kind::variable) {
                ask_for_dimension(classes, made.left[d]->axes[0], coordinate);
            } else if (coordinate->kind == Kind::variable) {
                // An axis walks what several ones make.
                for (const Digit& digit : digits_of(made.left[d])) ask(classes, coordinate->axes[0], digit.radix);
            }
        }
    }
}

std::map<AxisId, std::vector<int64_t>> Factoring::chains(AxisClasses& classes) const {
    // A named extent is cut only where every size of its class can be.
    std::map<AxisId, int64_t> known_factor;
    for (const Equation& equation : system_.equations) {
        if (equation.dead) continue;
        for (const auto* list : {&equation.axes, &equation.reduced}) {
            for (AxisId axis : *list) {
                if (!arena_.axis(axis).named) continue;
                int64_t& factor = known_factor[classes.root(axis)];
                factor = std::gcd(factor, std::max<int64_t>(arena_.axis(axis).factor, 1));
            }
        }
    }
    std::map<AxisId, std::vector<int64_t>> result;
    for (const auto& [axis, wanted] : asked_) {
        std::vector<std::pair<int, int64_t>> by_count;
        const auto named = known_factor.find(axis);
        for (const auto& [cut, count] : wanted) {
            if (named == known_factor.end() || named->second % cut == 0) by_count.emplace_back(-count, cut);
        }
        std::sort(by_count.begin(), by_count.end());
        std::vector<int64_t> chain;
        for (const auto& [count, cut] : by_count) {
            const bool fits = std::all_of(chain.begin(), chain.end(),
                                          [&](int64_t other) { return cut % other == 0 || other % cut == 0; });
            if (fits) chain.push_back(cut);
        }
        std::sort(chain.begin(), chain.end());
        if (!chain.empty()) result[axis] = chain;
    }
    return result;
}

// The axis as its digits; `digits` gets them outermost first.
Expr Factoring::cut_axis(AxisId axis, const std::vector<int64_t>& chain, std::vector<AxisId>& digits) {
    const Axis whole = arena_.axis(axis);
    std::vector<int64_t> radices = {1};
    radices.insert(radices.end(), chain.begin(), chain.end());
    Expr sum = arena_.integer(0);
    for (size_t k = 0; k < radices.size(); k++) {
        const bool outermost = k + 1 == radices.size();
        Axis digit = whole;
        digit.extent = (outermost ? whole.extent : Size(radices[k + 1])) / radices[k];
        digit.named = outermost && whole.named;
        digit.factor = outermost ? whole.factor / radices[k] : 0;
        digit.hint = outermost && whole.hint > 0 ? std::max<int64_t>(whole.hint / radices[k], 1) : 0;
        const AxisId id = arena_.add_axis(std::move(digit));
        digits.insert(digits.begin(), id);
        sum = arena_.add(sum, arena_.axis_value(id), radices[k]);
    }
    return sum;
}

bool Factoring::cut(Equation& equation, AxisClasses& classes, const std::map<AxisId, std::vector<int64_t>>& chains) {
    Arena::Substitution substitution;
    for (auto* list : {&equation.axes, &equation.reduced}) {
        std::vector<AxisId> axes;
        for (AxisId axis : *list) {
            auto chain = chains.find(classes.root(axis));
            if (chain == chains.end()) {
                axes.push_back(axis);
                continue;
            }
            std::vector<AxisId> digits;
            substitution[axis] = cut_axis(axis, chain->second, digits);
            axes.insert(axes.end(), digits.begin(), digits.end());
        }
        *list = std::move(axes);
    }
    if (substitution.empty()) return false;
    for (Expr& coordinate : equation.left) coordinate = arena_.substitute(coordinate, substitution);
    equation.right = arena_.substitute(equation.right, substitution);
    return true;
}

// Of a scan's equation what conditions alone ask for is left out: points are lanes of one nest, whatever their digits.
std::vector<Expr> asking(const Equation& equation) {
    if (equation.scan < 0) return walk(equation.right);
    Arena::Memo seen;
    std::vector<Expr> found = {equation.right};
    for (size_t i = 0; i < found.size(); i++) {
        if (found[i]->kind == Kind::negative) continue;
        for (Expr part : found[i]->parts()) {
            if (seen.emplace(part, part).second) found.push_back(part);
        }
    }
    return found;
}

bool Factoring::round() {
    AxisClasses classes(arena_.axis_count());
    join_classes(classes);
    asked_.clear();
    for (const Equation& equation : system_.equations) {
        if (equation.dead) continue;
        for (Expr node : asking(equation)) {
            if (node->kind == Kind::floor_divide || node->kind == Kind::modulo) ask_for_division(classes, node);
            if (node->kind == Kind::negative && !equation.reducer) ask_for_comparison(classes, node);
            if (node->is_read()) ask_for_read(classes, node);
        }
    }
    const auto cuts = chains(classes);
    bool changed = false;
    for (Equation& equation : system_.equations) {
        if (!equation.dead) changed = cut(equation, classes, cuts) || changed;
    }
    return changed;
}

}  // namespace

void factor_axes(System& system) {
    Factoring factoring(system);
    for (int round = 0; round < maximum_rounds; round++) {
        if (!factoring.round()) break;
    }
}

}  // namespace heddle::equations
