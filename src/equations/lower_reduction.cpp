// Reductions of a body: each becomes an equation of its own, or the one of an equal reduction.
#include <algorithm>

#include "equations/lower_body.h"
#include "equations/pass_support.h"
#include "equations/system_rules.h"
#include "expr/coordinate.h"
#include "graph/body_names.h"

namespace heddle::equations {

// Whether the filter says by data which one of a reduced variable's numbers it is: there is one term at most.
bool BodyLowering::is_chosen_by_data(const Node& reduction, const Node& equality) {
    if (!free_) free_.emplace(body_);
    for (size_t side = 0; side < 2; side++) {
        const Node& one = body_.node(equality.operands[side]);
        if (one.kind != Node::Kind::variable || std::ranges::count(reduction.variables, one.variable()) == 0) continue;
        if (has_axis(one.variable()) && !free_->contains(equality.operands[1 - side], one.variable())) return true;
    }
    return false;
}

// The filter's conditions: coordinates that must be zero, and the rest. False where operands are missing.
bool BodyLowering::split_filter(const Node& node, Expr condition, std::vector<Expr>& equalities, Expr& rest) {
    rest = arena_.truth(true);
    if (node.operands.size() < 2) return true;
    std::vector<NodeId> stack = {node.operands[1]};
    while (!stack.empty()) {
        const NodeId id = stack.back();
        stack.pop_back();
        const Node& part = body_.node(id);
        if (part.kind == Node::Kind::scalar && part.op == ScalarOp::logical_and) {
            stack.insert(stack.end(), std::make_reverse_iterator(part.operands.end()),
                         std::make_reverse_iterator(part.operands.begin()));
            continue;
        }
        // The number that an argmax gives is of the variables as they are: nothing is solved there.
        const bool equality = part.kind == Node::Kind::scalar && part.op == ScalarOp::equal &&
                              !is_argument(node.reducer) && body_.node(part.operands[0]).dtype == DType::int64 &&
                              (!has_data_[static_cast<size_t>(id)] || is_chosen_by_data(node, part));
        if (equality) {
            Expr a = need(part.operands[0], condition, true), b = need(part.operands[1], condition, true);
            if (a && b) equalities.push_back(arena_.add(a, b, -1));
        } else if (Expr holds = need(id, condition, false)) {
            rest = arena_.conjunction(rest, holds);
        }
    }
    return missing_.empty();
}

// The equation is worked out at all points, also where nobody asks for it: there its reads must lie inside, too. What
// the condition of its reader says of its own axes is mostly enough, and does not make it one over all axes of both.
Expr BodyLowering::safe_filter(Expr condition, Expr holds, Expr term, Expr none) {
    System& system = state_.system;
    const auto is_safe = [&](Expr filter) {
        return reads_inside_where_asked(system, arena_.select(filter, term, none));
    };
    if (!condition || is_safe(holds)) return holds;
    std::vector<Expr> parts = conditions_of(condition, [](Expr) { return true; });
    std::erase_if(parts, [&](Expr part) {
        return !std::ranges::all_of(part->axes, [&](AxisId axis) {
            return std::ranges::binary_search(term->axes, axis) || std::ranges::binary_search(holds->axes, axis);
        });
    });
    for (bool of_data : {false, true}) {
        Expr filter = nullptr;
        for (Expr part : parts) {
            const bool has_data = part->has_reads;
            if (has_data && !of_data) continue;
            filter = filter ? lazy_conjunction(system, filter, part) : part;
        }
        if (!filter) continue;
        filter = lazy_conjunction(system, filter, holds);
        if (is_safe(filter)) return filter;
    }
    return lazy_conjunction(system, condition, holds);
}

std::optional<BodyLowering::Draft> BodyLowering::draft_reduction(const Node& node, Expr condition) {
    std::vector<Expr> equalities;
    Expr rest = nullptr;
    if (!split_filter(node, condition, equalities, rest)) return std::nullopt;
    Expr inner = rest;
    for (Expr zero : equalities)
        inner = arena_.conjunction(inner, coordinate_of(arena_, ScalarOp::equal, zero, arena_.integer(0)));
    inner = under(condition, inner);
    Expr term = need(node.operands[0], inner->kind == Kind::integer && inner->integer != 0 ? nullptr : inner, false);
    if (!term) return std::nullopt;
    std::vector<AxisId> reduced;
    for (VariableId variable : node.variables) {
        if (has_axis(variable)) reduced.push_back(axis_of(variable));
    }
    SolvedFilter solved = solve_filter(state_.system, equalities, rest, std::move(reduced));
    term = arena_.substitute(term, solved.solution);
    const Expr none = neutral(arena_, node.reducer, term->dtype);
    Expr holds = safe_filter(condition, solved.condition, term, none);
    Draft draft;
    draft.reducer = node.reducer;
    draft.reduced = std::move(solved.reduced);
    draft.right = arena_.select(holds, term, none);
    const bool filtered = !(holds->kind == Kind::integer && holds->integer != 0);
    if (draft.reduced.empty()) {
        if (is_argument(node.reducer)) draft.right = arena_.select(holds, arena_.integer(0), arena_.integer(-1));
        draft.reducer = std::nullopt;
    } else if (is_argument(node.reducer) && filtered) {
        draft = Draft{.right = filtered_argument(std::move(draft), holds)};
    }
    return draft;
}

// Terms that the filter leaves out are neutral, and so may be those that it takes: infinities. The best one's number is
// then 0, whether taken or not. Every better one is taken, and none stands before the first one taken: of both numbers,
// the larger one. If none is taken it is -1.
Expr BodyLowering::filtered_argument(Draft best, Expr holds) {
    const Expr none = arena_.literal(DType::int64, count_of_terms(arena_, best.reduced), false);
    Draft first = best;
    first.reducer = Reducer::minimum;
    first.right = arena_.select(holds, number_of_term(arena_, best.reduced), none);
    const std::string suffix(name(*best.reducer));
    Expr first_number = name_reduction(std::move(first), suffix + "_taken");
    Expr larger =
        arena_.scalar(ScalarOp::maximum, DType::int64, {name_reduction(std::move(best), suffix), first_number});
    const Expr is_none = arena_.scalar(ScalarOp::equal, DType::boolean, {first_number, none});
    return arena_.select(is_none, arena_.integer(-1), larger);
}

Expr BodyLowering::name_reduction(Draft draft, const std::string& suffix) {
    draft.right = finish_right(draft.right, open_axes(draft.right, draft.reduced));
    draft.axes = open_axes(draft.right, draft.reduced);
    return name_draft(std::move(draft), suffix);
}

Expr BodyLowering::convert_reduce(const Node& node, Expr condition) {
    std::optional<Draft> draft = draft_reduction(node, condition);
    if (!draft) return nullptr;
    if (!draft->reducer) return draft->right;
    const std::string* const called = name_of(body_, NodeId(&node - body_.nodes.data()));
    return name_reduction(std::move(*draft), called ? *called : std::string(name(node.reducer)));
}

// The axes of variables that `right` is computed from, without those that are bound.
std::vector<AxisId> BodyLowering::open_axes(Expr right, const std::vector<AxisId>& bound) const {
    std::vector<AxisId> axes;
    for (auto [variable, axis] : axes_) {
        const bool used = std::binary_search(right->axes.begin(), right->axes.end(), axis);
        if (used && std::find(bound.begin(), bound.end(), axis) == bound.end()) axes.push_back(axis);
    }
    return axes;
}

BodyLowering::Draft BodyLowering::renamed(const Draft& draft, bool fresh, Arena::Substitution& substitution) {
    Draft result = draft;
    size_t position = 0;
    for (std::vector<AxisId>* list : {&result.axes, &result.reduced}) {
        for (AxisId& axis : *list) {
            const AxisId own = fresh ? arena_.add_axis(Axis(arena_.axis(axis))) : placeholders_.get(position, axis);
            position++;
            substitution[axis] = arena_.axis_value(own);
            axis = own;
        }
    }
    result.right = arena_.substitute(draft.right, substitution);
    return result;
}

// A tensor of its own for a finished draft, or the one of an equal draft; a read of it over the draft's axes.
Expr BodyLowering::name_draft(Draft draft, const std::string& suffix) {
    const DType dtype = draft.reducer && is_argument(*draft.reducer) ? DType::int64 : draft.right->dtype;
    Arena::Substitution placeholders;
    const Draft general = renamed(draft, false, placeholders);
    auto [it, added] = named_.try_emplace(
        {draft.reducer ? static_cast<int>(*draft.reducer) : -1, general.right, general.axes, general.reduced}, no_id);
    std::vector<Expr> at;
    for (AxisId axis : draft.axes) at.push_back(arena_.axis_value(axis));
    if (added) {
        SystemTensor tensor;
        tensor.name = state_.graph.tensor(operation_.outputs[0]).name + "." + suffix;
        tensor.operation = state_.graph.tensor(operation_.outputs[0]).producer;
        tensor.dtype = dtype;
        for (AxisId axis : draft.axes) {
            const auto variable =
                std::find_if(axes_.begin(), axes_.end(), [&](const auto& pair) { return pair.second == axis; });
            tensor.shape.push_back(body_.variable(variable->first).extent);
        }
        it->second = state_.system.add_tensor(std::move(tensor));
        if (dtype == DType::int64 && draft.reducer && is_argument(*draft.reducer)) {
            const Size terms = count_of_terms(arena_, draft.reduced);  // as a coordinate one's number is inside
            if (terms > 0) arena_.declare_range(it->second, 0, terms - 1);
        }
        state_.system.add_equation(equation_of(it->second, at, draft));
    }
    return arena_.read(it->second, dtype, std::move(at));
}

// With axes of its own; `left` is over the draft's.
Equation BodyLowering::equation_of(TensorIndex target, const std::vector<Expr>& left, const Draft& draft) {
    Arena::Substitution substitution;
    Draft own = renamed(draft, true, substitution);
    Equation equation{.tensor = target,
                      .axes = std::move(own.axes),
                      .left = {},
                      .reducer = own.reducer,
                      .reduced = std::move(own.reduced),
                      .right = own.right};
    for (Expr coordinate : left) equation.left.push_back(arena_.substitute(coordinate, substitution));
    join_scan(equation, draft.axes);
    return equation;
}

}  // namespace heddle::equations
