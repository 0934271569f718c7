// Steps of a state that change few elements: ratings after a match, the cell under an ant, a table that is filled entry
// by entry. What is written is named, an equation of the step that is worked out once and not at every element; then
// the changes no longer read the state, and may be made in place (changes_of, kept_steps.h): a step costs what it
// changes.
#include <algorithm>
#include <map>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "equations/system_rules.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

bool reads_tensor(Expr e, TensorIndex tensor) {
    return std::ranges::any_of(reads_below(e), [&](Expr read) { return read->tensor() == tensor; });
}

// The state's own element, a step before.
bool is_kept(const System& system, const Equation& equation, Expr value) {
    if (value->kind != Kind::read || value->tensor() != equation.tensor) return false;
    for (size_t d = 0; d < equation.left.size(); d++) {
        const Expr left = equation.left[d], at = value->parts()[d];
        const bool steps = depends(left, equation.ordered);
        if (at != (steps ? system.arena->add(left, system.arena->integer(-1)) : left)) return false;
    }
    return true;
}

// What holds where the condition does not, if that is one condition.
Expr contrary(Arena& arena, Expr condition) {
    if (condition->kind != Kind::scalar) return nullptr;
    if (condition->op == ScalarOp::logical_not) return condition->parts()[0];
    if (condition->op == ScalarOp::not_equal)
        return arena.scalar(ScalarOp::equal, DType::boolean, {condition->parts()[0], condition->parts()[1]});
    return nullptr;
}

struct Choice {
    std::vector<Expr> conditions;
    Expr term = nullptr;
};

// Of selections that end in what is kept; nothing for others.
std::vector<Choice> choices_of(const System& system, const Equation& equation) {
    std::vector<Choice> found;
    std::vector<Expr> around;  // of all that follow: elsewhere the element is kept
    const auto with = [&](Expr condition) {
        std::vector<Expr> all = around;
        all.push_back(condition);
        return all;
    };
    Expr rest = equation.right;
    while (rest->kind == Kind::select) {
        Expr condition = rest->parts()[0], then = rest->parts()[1], otherwise = rest->parts()[2];
        if (is_kept(system, equation, then)) {
            std::swap(then, otherwise);
            condition = contrary(*system.arena, condition);
            if (!condition) return {};
        }
        const bool either = condition->kind == Kind::scalar && condition->op == ScalarOp::logical_or;
        if (either) {
            for (Expr part : condition->parts()) found.push_back({with(part), then});
            rest = otherwise;
        } else if (is_kept(system, equation, otherwise)) {
            around.push_back(condition);
            rest = then;
        } else {
            found.push_back({with(condition), then});
            rest = otherwise;
        }
    }
    if (!is_kept(system, equation, rest)) found.push_back({around, rest});
    if (!is_kept(system, equation, rest) && around.empty()) return {};
    return found;
}

// All that a change is made of, but for its term.
std::vector<Expr> places_of(const Scatter& change) {
    std::vector<Expr> places = {change.condition};
    for (Expr at : change.at) {
        if (at) places.push_back(at);
    }
    return places;
}

class ChangeNamer {
public:
    ChangeNamer(System& system, int32_t index, std::vector<Scatter> changes)
        : system_(system),
          arena_(*system.arena),
          index_(index),
          changes_(std::move(changes)),
          choices_(choices_of(system, system.equation(index))) {}

    // The terms that read the state become reads of what is worked out once.
    void run() {
        for (size_t k = 0; k < changes_.size(); k++) asked_.push_back(asked(k));
        share_expensive();
        const Equation& equation = system_.equation(index_);
        std::vector<Expr> at = equation.left;
        for (Expr& c : at) {
            if (depends(c, equation.ordered)) c = arena_.add(c, arena_.integer(-1));
        }
        Expr right = arena_.read(equation.tensor, equation.right->dtype, at);
        for (size_t k = changes_.size(); k-- > 0;) {
            const auto& [conditions, term] = choices_[k];
            Expr holds = arena_.truth(true);
            for (Expr condition : conditions) holds = lazy_conjunction(system_, holds, condition);
            right = arena_.select(holds, is_named(k) ? name(asked_[k], changes_[k].term) : term, right);
        }
        system_.equation(index_).right = right;
    }

private:
    TensorIndex state() const { return system_.equation(index_).tensor; }
    Expr place(const Scatter& change, size_t d) const {
        return change.at[d] ? change.at[d] : system_.equation(index_).left[d];
    }
    Expr same(Expr a, Expr b) const {
        return a == b ? arena_.truth(true) : arena_.scalar(ScalarOp::equal, DType::boolean, {a, b});
    }

    // Where the term is asked for: its place lies inside, and no change before it is made there.
    Expr asked(size_t k) const {
        const SystemTensor& tensor = system_.tensor(state());
        const Scatter& change = changes_[k];
        Expr asked = change.condition;
        for (size_t d = 0; d < change.at.size(); d++) {
            if (change.at[d]) asked = arena_.conjunction(asked, arena_.inside(change.at[d], tensor.shape[d]));
        }
        for (size_t j = 0; j < k; j++) {
            Expr before = changes_[j].condition;
            for (size_t d = 0; d < change.at.size(); d++)
                before = arena_.conjunction(before, same(place(changes_[j], d), place(change, d)));
            asked = arena_.conjunction(asked, arena_.scalar(ScalarOp::logical_not, DType::boolean, {before}));
        }
        return asked;
    }

    bool is_named(size_t k) const { return reads_tensor(changes_[k].term, state()); }

    // The largest expensive part of several terms has a name of its own: what one player gains, the other one loses.
    void share_expensive() {
        FactCache facts;
        std::map<uint32_t, std::vector<size_t>> holders;
        Expr shared = nullptr;
        for (size_t k = 0; k < changes_.size(); k++) {
            if (!is_named(k)) continue;
            for (Expr node : walk(changes_[k].term)) {
                if (node->kind != Kind::scalar || !facts.of(node).expensive) continue;
                std::vector<size_t>& of = holders[node->id];
                of.push_back(k);
                if (of.size() > 1 && (!shared || node->nodes > shared->nodes)) shared = node;
            }
        }
        if (!shared) return;
        Expr any = arena_.truth(false);
        for (size_t k : holders[shared->id])
            any = arena_.scalar(ScalarOp::logical_or, DType::boolean, {any, asked_[k]});
        Expr read = name(any, shared);
        for (size_t k : holders[shared->id]) {
            changes_[k].term = remade(changes_[k].term, [&](Expr node, std::vector<Expr> operands) {
                return node == shared ? read : arena_.rebuild(node, std::move(operands));
            });
            choices_[k].term = changes_[k].term;
        }
    }

    Expr name(Expr asked, Expr term) {
        const Equation equation = system_.equation(index_);
        const DType dtype = term->dtype;
        const Reducer none = dtype == DType::boolean ? Reducer::any : Reducer::sum;
        Expr value = arena_.select(asked, term, neutral(arena_, none, dtype));
        SystemTensor tensor;
        tensor.name = system_.tensor(state()).name + "_change";
        tensor.operation = system_.tensor(state()).operation;
        tensor.dtype = dtype;
        Equation made;
        made.scan = equation.scan;
        Arena::Substitution renaming;
        std::vector<Expr> at;
        for (AxisId axis : equation.axes) {
            if (axis != equation.ordered && !depends(value, axis)) continue;
            const AxisId own = arena_.add_axis(Axis(arena_.axis(axis)));
            if (axis == equation.ordered) made.ordered = own;
            renaming[axis] = arena_.axis_value(own);
            made.axes.push_back(own);
            made.left.push_back(arena_.axis_value(own));
            at.push_back(arena_.axis_value(axis));
            tensor.shape.push_back(arena_.extent(axis));
        }
        made.right = arena_.substitute(value, renaming);
        made.tensor = system_.add_tensor(std::move(tensor));
        Expr read = arena_.read(made.tensor, dtype, at);
        system_.add_equation(std::move(made));
        return read;
    }

    System& system_;
    Arena& arena_;
    int32_t index_;
    std::vector<Scatter> changes_;
    std::vector<Choice> choices_;
    std::vector<Expr> asked_;  // by change
};

// A coordinate of the step, without data.
bool is_of_step(Expr at, AxisId step) {
    return std::ranges::all_of(at->axes, [&](AxisId axis) { return axis == step; }) &&
           !at->has_reads;
}

// Copying a row of a few vectors costs less than finding places in it, unless the step alone says which they are.
bool pays(const System& system, const Equation& equation, const std::vector<Scatter>& changes) {
    double kept = 1;
    bool of_step = true;
    for (const Scatter& change : changes) {
        kept = std::max(kept, hint_points(*system.arena, equation.axes) / hint_points(*system.arena, change.chosen));
        for (Expr at : change.at) of_step &= !at || is_of_step(at, equation.ordered);
    }
    const double fewest_elements = of_step ? 4 : 64;  // for a change
    const double all = hint_points(*system.arena, equation.axes);
    return all >= kept * fewest_elements * static_cast<double>(changes.size());
}

}  // namespace

std::vector<Scatter> changes_of(const System& system, const Equation& equation) {
    if (equation.dead || equation.scan < 0 || equation.reducer || equation.right->kind != Kind::select) return {};
    std::vector<Scatter> changes;
    for (const Choice& choice : choices_of(system, equation)) {
        const bool safe =
            std::ranges::all_of(choice.conditions, [&](Expr condition) { return reads_inside(system, condition); });
        auto change = safe ? scatter_where(system, equation.left, choice.conditions, choice.term, equation.ordered)
                           : std::nullopt;
        if (!change || change->chooses(equation.ordered)) return {};
        for (Expr place : places_of(*change)) {
            if (reads_tensor(place, equation.tensor)) return {};
        }
        changes.push_back(std::move(*change));
    }
    return pays(system, equation, changes) ? changes : std::vector<Scatter>();
}

bool are_apart(const std::vector<Scatter>& changes, TensorIndex state) {
    return std::ranges::none_of(changes, [&](const Scatter& change) { return reads_tensor(change.term, state); });
}

void name_changes(System& system) {
    for (size_t i = 0; i < system.equations.size(); i++) {
        auto changes = changes_of(system, system.equations[i]);
        if (are_apart(changes, system.equations[i].tensor)) continue;
        ChangeNamer(system, static_cast<int32_t>(i), std::move(changes)).run();
    }
}

}  // namespace heddle::equations
