#include "equations/scatter.h"

#include <algorithm>
#include <map>

#include "equations/pass_support.h"
#include "equations/system_rules.h"
#include "zspace/linear_equation.h"

namespace heddle::equations {
namespace {

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// The right side of `a && b` is worked out where a does not hold too, unless it may read outside.
std::vector<Expr> conditions_inside(const System& system, Expr condition) {
    return conditions_of(condition, [&](Expr part) { return reads_inside(system, part); });
}

// What `left` is where `like` is `value`, if they are the same but for a constant; else null. If it is one axis and a
// constant, `solution` gets what that axis is.
Expr solved(Arena& arena, Expr left, Expr like, Expr value, Arena::Substitution& solution) {
    const CoordinateForm form = linear_form(left), given = linear_form(like);
    if (form.terms != given.terms) return nullptr;
    if (const auto axis = lone_atom(form))
        solution[(*axis)->axes[0]] = arena.add(value, arena.integer(-given.constant));
    return arena.add(value, arena.integer(form.constant - given.constant));
}

// Finds what chooses each dimension, and takes the chosen axes out of everything else.
class Inverter {
public:
    Inverter(const System& system, const std::vector<Expr>& left, AxisId step)
        : system_(system), arena_(*system.arena), left_(left), step_(step) {
        result_.at.resize(left.size());
    }

    std::optional<Scatter> run(const std::vector<Expr>& conditions, Expr term) {
        std::vector<Expr> parts, rest;
        for (Expr whole : conditions) std::ranges::copy(conditions_inside(system_, whole), std::back_inserter(parts));
        for (size_t i = 0; i < parts.size(); i++) {
            if (!parts[i] || choose(parts[i])) continue;
            const auto other = std::find_if(parts.begin() + static_cast<int64_t>(i) + 1, parts.end(),
                                            [&](Expr part) { return part && choose_between(parts[i], part); });
            if (other == parts.end())
                rest.push_back(parts[i]);
            else
                *other = nullptr;
        }
        if (result_.chosen.empty()) return std::nullopt;
        result_.condition = arena_.truth(true);
        for (Expr condition : rest) {
            Expr there = arena_.substitute(condition, solution_);
            if (there != condition && !reads_inside(system_, there))
                there = arena_.select(is_solved_inside(), there, arena_.truth(false));
            result_.condition = arena_.conjunction(result_.condition, there);
        }
        result_.term = arena_.substitute(term, solution_);
        std::vector<Expr> all = result_.at;
        all.insert(all.end(), {result_.condition, result_.term});
        for (Expr e : all) {
            if (e && std::any_of(e->axes.begin(), e->axes.end(), [&](AxisId a) { return result_.chooses(a); }))
                return std::nullopt;
        }
        return std::move(result_);
    }

private:
    bool choose(Expr condition) {
        if (condition->kind != Kind::scalar || condition->op != ScalarOp::equal) return false;
        return choose(condition->parts()[0], condition->parts()[1]) ||
               choose(condition->parts()[1], condition->parts()[0]);
    }

    // `axis == value` of coordinates, as two conditions, axis - value - 1 < 0 and value - axis - 1 < 0; the value is one
    // of the step alone.
    bool choose_between(Expr one, Expr other) {
        if (step_ == no_id || one->kind != Kind::negative || other->kind != Kind::negative) return false;
        const CoordinateForm both = linear_form(arena_.add(one->parts()[0], other->parts()[0]));
        if (!both.terms.empty() || both.constant != -2) return false;
        const Expr zero = arena_.add(one->parts()[0], arena_.integer(1));
        for (auto [atom, factor] : linear_form(zero).terms) {
            if (atom->kind != Kind::variable || std::abs(factor) != 1 || atom->axes[0] == step_) continue;
            const Expr value = arena_.scale(arena_.add(zero, atom, -factor), -factor);
            const bool of_step = std::ranges::all_of(value->axes, [&](AxisId axis) { return axis == step_; });
            if (of_step && choose(atom, value)) return true;
        }
        return false;
    }

    // `axes == value`, where `axes` runs as the left side of a dimension does.
    bool choose(Expr axes, Expr value) {
        if (!is_integer(axes->dtype) || axes->axes.empty()) return false;
        axes = arena_.cast(DType::int64, axes);  // no cast is left where its type holds all values
        if (!axes->is_coordinate()) return false;
        if (reads_axes(value, axes->axes) || reads_axes(value, result_.chosen)) return false;
        for (size_t d = 0; d < left_.size(); d++) {
            if (result_.at[d]) continue;
            result_.at[d] = solved(arena_, left_[d], axes, arena_.cast(DType::int64, value), solution_);
            if (!result_.at[d]) continue;
            result_.chosen.insert(result_.chosen.end(), axes->axes.begin(), axes->axes.end());
            return true;
        }
        return false;
    }

    // What is chosen may lie outside of all points: nothing is asked there.
    Expr is_solved_inside() {
        Expr inside = arena_.truth(true);
        for (const auto& [axis, value] : solution_)
            inside = arena_.conjunction(inside, arena_.inside(value, arena_.extent(axis)));
        return inside;
    }

    static bool reads_axes(Expr value, const std::vector<AxisId>& axes) {
        return std::any_of(axes.begin(), axes.end(), [&](AxisId axis) { return contains(value->axes, axis); });
    }

    const System& system_;
    Arena& arena_;
    const std::vector<Expr>& left_;
    const AxisId step_;
    Scatter result_;
    Arena::Substitution solution_;
};

bool holds(Expr root, Expr part) {
    const auto nodes = walk(root);
    return std::find(nodes.begin(), nodes.end(), part) != nodes.end();
}

// The branch that is taken where no term was: of `read < 0`, or of its contrary.
std::optional<size_t> branch_without(Expr condition, Expr read) {
    bool below = true;
    if (condition->kind == Kind::scalar && condition->op == ScalarOp::logical_not)
        condition = condition->parts()[0], below = false;
    if (condition->parts().empty() || condition->parts()[0] != read) return std::nullopt;
    if (condition->kind == Kind::scalar) {
        const bool less = condition->op == ScalarOp::less;
        Expr zero = condition->parts().back();
        if (!less && condition->op != ScalarOp::greater_equal) return std::nullopt;
        if (zero->kind != Kind::integer || zero->integer != 0) return std::nullopt;
        below = below == less;
    } else if (condition->kind != Kind::negative) {
        return std::nullopt;
    }
    return below ? 1 : 2;
}

// Whether `read`, of a scatter's result, is all that the reader joins to something else.
class Joiner {
public:
    Joiner(const System& system, const Equation& reader, Expr read)
        : system_(system), arena_(*system.arena), reader_(reader), read_(read) {}

    std::optional<ScatterInto> run() {
        const SystemTensor& tensor = system_.tensor(read_->tensor());
        if (tensor.is_output || tensor.equations.size() != 1) return std::nullopt;
        result_.scatter = tensor.equations[0];
        maker_ = &system_.equation(result_.scatter);
        auto scatter = scatter_of(system_, *maker_);
        if (!scatter) return std::nullopt;
        scatter_ = std::move(*scatter);
        const bool found = reader_.right->kind == Kind::scalar ? joins() : replaces();
        if (!found || !runs_through_its_points() || !place() || read_elsewhere()) return std::nullopt;
        result_.reduced = maker_->reduced;
        Scatter& update = result_.update;
        update.condition = arena_.substitute(scatter_.condition, renamed_);
        update.term = stored_ ? arena_.substitute(stored_, solution_) : arena_.substitute(scatter_.term, renamed_);
        const auto& axes = update.term->axes;
        if (std::any_of(axes.begin(), axes.end(), [&](AxisId axis) { return update.chooses(axis); }))
            return std::nullopt;
        return std::move(result_);
    }

private:
    // What is joined has no tensor of its own.
    bool read_elsewhere() const {
        return std::ranges::any_of(system_.equations, [&](const Equation& other) {
            return !other.dead && &other != &reader_ &&
                   std::ranges::any_of(reads(other), [&](Expr read) { return read->tensor() == read_->tensor(); });
        });
    }

    // `initial + read`, in the scatter's own way of joining.
    bool joins() {
        const auto& operands = reader_.right->parts();
        result_.join = joining_op(*maker_->reducer);
        if (reader_.right->op != *result_.join || operands.size() != 2) return false;
        const size_t at = operands[0] == read_ ? 0 : 1;
        result_.initial = operands[1 - at];
        return operands[at] == read_ && !holds(result_.initial, read_);
    }

    // `read < 0 ? initial : value of read`, where the read is the largest number of a term.
    bool replaces() {
        Expr number = number_of_term(arena_, maker_->reduced);
        const auto without = branch_without(reader_.right->parts()[0], read_);
        if (!without || maker_->reducer != Reducer::maximum || scatter_.term != number) return false;
        result_.initial = reader_.right->parts()[*without];
        stored_ = replace_reads(arena_, reader_.right->parts()[3 - *without],
                                [&](Expr read) { return read == read_ ? number : nullptr; });
        return !holds(result_.initial, read_);
    }

    // Each axis of the scatter is one of the reader's, which may have more.
    bool runs_through_its_points() {
        std::vector<AxisId> used;
        for (size_t d = 0; d < maker_->left.size(); d++) {
            for (auto [axis, digit] : digits_at(arena_, maker_->left[d], read_->parts()[d])) {
                if (digit->kind != Kind::variable) return false;
                const AxisId own = digit->axes[0];
                if (!contains(reader_.axes, own) || contains(used, own) || arena_.extent(axis) != arena_.extent(own))
                    return false;
                renamed_[axis] = digit;
                used.push_back(own);
                if (scatter_.chooses(axis)) result_.update.chosen.push_back(own);
            }
        }
        return true;
    }

    // What chooses each dimension of the reader's left side.
    bool place() {
        result_.update.at.resize(reader_.left.size());
        for (size_t d = 0; d < reader_.left.size(); d++) {
            const auto& axes = reader_.left[d]->axes;
            const bool moves =
                std::any_of(axes.begin(), axes.end(), [&](AxisId axis) { return result_.update.chooses(axis); });
            if (moves && !place(d)) return false;
        }
        return true;
    }

    bool place(size_t dimension) {
        Expr& at = result_.update.at[dimension];
        for (size_t d = 0; d < maker_->left.size() && !at; d++) {
            if (!scatter_.at[d]) continue;
            at = solved(arena_, reader_.left[dimension], arena_.substitute(maker_->left[d], renamed_),
                        arena_.substitute(scatter_.at[d], renamed_), solution_);
        }
        return at;
    }

    const System& system_;
    Arena& arena_;
    const Equation& reader_;
    Expr read_;
    const Equation* maker_ = nullptr;
    Scatter scatter_;
    Expr stored_ = nullptr;         // what replaces: over the reader's axes and the scatter's reduced ones
    Arena::Substitution renamed_;   // the scatter's axes by the reader's
    Arena::Substitution solution_;  // chosen axes of the reader
    ScatterInto result_;
};

// `below` says that c >= 0 as -c - 1 < 0, and `above` that c - M < 0, for c = axis - place.
std::optional<ScatterInto> block_between(Arena& arena, const Equation& equation, const std::vector<Expr>& conditions,
                                         Expr below, Expr above) {
    if (below->kind != Kind::negative || above->kind != Kind::negative) return std::nullopt;
    const CoordinateForm width = linear_form(arena.add(below->parts()[0], above->parts()[0]));
    if (!width.terms.empty() || width.constant >= -1) return std::nullopt;
    const Size extent = -1 - width.constant;
    Expr inside = arena.add(arena.integer(-1), below->parts()[0], -1);
    for (size_t d = 0; d < equation.left.size(); d++) {
        const auto lone = lone_atom(linear_form(equation.left[d]));
        if (!lone) continue;
        const AxisId axis = (*lone)->axes[0];
        Expr rest = arena.add(inside, *lone, -1);
        if (contains(rest->axes, axis) || !contains(inside->axes, axis)) continue;
        const AxisId point = arena.add_axis({.name = "m", .extent = extent, .named = true, .factor = 1});
        Expr at = arena.add(arena.axis_value(point), rest, -1);
        Arena::Substitution solution;
        ScatterInto result;
        result.reduced = {point};
        result.initial = equation.right->parts()[2];
        result.update.at.resize(equation.left.size());
        result.update.at[d] = solved(arena, equation.left[d], *lone, at, solution);
        result.update.chosen = {axis};
        result.update.condition = arena.truth(true);
        for (Expr condition : conditions) {
            if (condition == below || condition == above) continue;
            result.update.condition = arena.conjunction(result.update.condition, arena.substitute(condition, solution));
        }
        result.update.term = arena.substitute(equation.right->parts()[1], solution);
        return result;
    }
    return std::nullopt;
}

}  // namespace

bool Scatter::chooses(AxisId axis) const { return contains(chosen, axis); }

std::optional<Scatter> scatter_where(const System& system, const std::vector<Expr>& left,
                                     const std::vector<Expr>& conditions, Expr term, AxisId step) {
    return Inverter(system, left, step).run(conditions, term);
}

std::optional<Scatter> scatter_of(const System& system, const Equation& equation) {
    // In a scan, one at every step.
    const auto is_own = [&](Expr read) { return read->tensor() == equation.tensor; };
    if (equation.scan >= 0 && std::ranges::any_of(reads(equation), is_own)) return std::nullopt;
    Arena& arena = *system.arena;
    if (!equation.reducer || !joining_op(*equation.reducer) || equation.right->kind != Kind::select)
        return std::nullopt;
    if (equation.right->parts()[2] != neutral(arena, *equation.reducer, equation.right->dtype)) return std::nullopt;
    const auto& parts = equation.right->parts();
    std::optional<Scatter> result = scatter_where(system, equation.left, {parts[0]}, parts[1]);
    return result && equation.scan >= 0 && result->chooses(equation.ordered) ? std::nullopt : result;
}

std::optional<ScatterInto> scatter_into(const System& system, const Equation& reader) {
    if (reader.scan >= 0) return std::nullopt;  // at every step it joins other elements
    if (reader.reducer || (reader.right->kind != Kind::scalar && reader.right->kind != Kind::select))
        return std::nullopt;
    const auto all = reads(reader);
    for (Expr read : all) {
        const bool once =
            std::count_if(all.begin(), all.end(), [&](Expr other) { return other->tensor() == read->tensor(); }) == 1;
        if (!once || read->kind != Kind::read) continue;
        if (auto result = Joiner(system, reader, read).run()) return result;
    }
    return std::nullopt;
}

std::optional<ScatterInto> block_into(const System& system, const Equation& equation) {
    if (equation.scan >= 0) return std::nullopt;  // its points run in order
    if (equation.reducer || equation.right->kind != Kind::select) return std::nullopt;
    const std::vector<Expr> conditions = conditions_inside(system, equation.right->parts()[0]);
    for (Expr below : conditions) {
        for (Expr above : conditions) {
            if (auto result = block_between(*system.arena, equation, conditions, below, above)) return result;
        }
    }
    return std::nullopt;
}

}  // namespace heddle::equations
