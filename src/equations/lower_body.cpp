#include "equations/lower_body.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_set>

#include "equations/pass_support.h"
#include "equations/system_rules.h"
#include "expr/arena_interval.h"
#include "expr/coordinate.h"
#include "expr/remake.h"

namespace heddle::equations {
BodyLowering::BodyLowering(LoweringState& state, const Operation& operation)
    : state_(state), arena_(*state.system.arena), operation_(operation), body_(*operation.body) {
    for (TensorId input : operation.inputs) {
        const auto& constant = state.graph.tensor(input).constant;
        // A scalar constant is a literal wherever it is read.
        inputs_.push_back(constant && constant->size() == 1 ? no_id : state.tensor(input));
    }
    classify();
}

void BodyLowering::classify() {
    has_data_.resize(body_.nodes.size());
    has_equations_.resize(body_.nodes.size());
    uses_.resize(body_.nodes.size());
    for (const Local& local : body_.locals) {
        uses_[static_cast<size_t>(local.value)]++;
        if (local.is_state()) uses_[static_cast<size_t>(local.initial)]++;
    }
    for (const BodyEquation& equation : body_.equations) uses_[static_cast<size_t>(equation.value)]++;
    for (size_t i = 0; i < body_.nodes.size(); i++) {
        const Node& node = body_.nodes[i];
        bool data = node.is_read() || node.kind == Node::Kind::local || node.kind == Node::Kind::previous ||
                    node.kind == Node::Kind::reduce;
        bool equations = node.kind == Node::Kind::reduce;
        for (NodeId operand : node.operands) {
            uses_[static_cast<size_t>(operand)]++;
            data = data || has_data_[static_cast<size_t>(operand)];
            equations = equations || has_equations_[static_cast<size_t>(operand)];
        }
        has_data_[i] = data;
        has_equations_[i] = equations;
    }
}

bool BodyLowering::has_axis(VariableId id) const {
    const heddle::Variable& variable = body_.variable(id);
    return variable.extent.value != 1 || variable.extent.named() || variable.kind == heddle::Variable::Kind::ordered;
}

AxisId BodyLowering::axis_of(VariableId id) {
    auto [it, added] = axes_.try_emplace(id, no_id);
    if (added) {
        const Variable& variable = body_.variable(id);
        Axis axis{.name = variable.name, .extent = variable.extent.value, .named = variable.extent.named()};
        if (axis.named) {
            axis.factor = variable.extent.origin->constant_factor();
            axis.hint = variable.extent.origin->evaluate(state_.system.representatives, variable.extent.value);
            const Interval extents = variable.extent.origin->within_class(state_.system.representatives);
            if (extents.known_high()) axis.most = extents.high;
        }
        if (variable.kind == heddle::Variable::Kind::ordered) {
            // Steps stay steps: never dropped at one, cut or merged.
            if (!axis.named) axis.most = axis.extent;
            axis.named = true;
            axis.factor = 1;
        }
        it->second = arena_.add_axis(std::move(axis));
    }
    return it->second;
}

BodyLowering::Key BodyLowering::key_of(NodeId id, Expr condition, bool coordinate) const {
    const Node& node = body_.node(id);
    const bool matters = has_data_[static_cast<size_t>(id)] && (node.dtype == DType::int64 || is_bool(node.dtype));
    return {id, has_equations_[static_cast<size_t>(id)] ? condition : nullptr, matters && coordinate};
}

Expr BodyLowering::need(NodeId node, Expr condition, bool coordinate) {
    const Key key = key_of(node, condition, coordinate);
    const auto known = [&](Expr where) -> Expr {
        auto found = done_.find({node, where, std::get<bool>(key)});
        return found == done_.end() ? nullptr : found->second;
    };
    // What is right under a weaker condition is right here: equations are not made again for each place that asks.
    if (Expr always = known(nullptr)) return always;
    std::vector<Expr> conditions;
    std::set<Expr> seen;
    if (Expr own = std::get<Expr>(key)) conditions.push_back(own);
    while (!conditions.empty()) {
        Expr one = conditions.back();
        conditions.pop_back();
        if (!seen.insert(one).second) continue;
        if (Expr made = known(one)) return made;
        if (auto weaker = weaker_.find(one); weaker != weaker_.end())
            conditions.insert(conditions.end(), {weaker->second.first, weaker->second.second});
    }
    missing_.push_back(key);
    return nullptr;
}

// Both conditions, of which the second may only be asked where the first one holds.
Expr BodyLowering::under(Expr condition, Expr more) {
    if (!condition) return more;
    Expr both = lazy_conjunction(state_.system, condition, more);
    if (both != condition && both != more) weaker_.try_emplace(both, condition, more);
    return both;
}

Expr BodyLowering::convert(NodeId node, Expr condition, bool coordinate) {
    const Key wanted = key_of(node, condition, coordinate);
    std::vector<Key> stack = {wanted};
    while (!stack.empty()) {
        const Key key = stack.back();
        if (done_.contains(key)) {
            stack.pop_back();
            continue;
        }
        missing_.clear();
        if (Expr made = try_convert(key)) {
            done_[key] = made;
            stack.pop_back();
        } else {
            stack.insert(stack.end(), missing_.begin(), missing_.end());
        }
    }
    return done_.at(wanted);
}

Expr BodyLowering::try_convert(const Key& key) {
    const auto [id, condition, coordinate] = key;
    const Node& node = body_.node(id);
    switch (node.kind) {
    case Node::Kind::integer: return arena_.literal(node.dtype, node.integer, node.from_template);
    case Node::Kind::real: return arena_.real(node.dtype, node.real, node.from_template);
    case Node::Kind::variable: return arena_.axis_value(axis_of(node.variable()));
    case Node::Kind::scalar: return convert_scalar(node, condition, coordinate);
    case Node::Kind::cast: {
        Expr value = need(node.operands[0], condition, false);
        return value ? arena_.cast(node.dtype, value) : nullptr;
    }
    case Node::Kind::select: return convert_select(node, condition, coordinate);
    case Node::Kind::read:
    case Node::Kind::guarded_read: return convert_read(node, condition, coordinate);
    case Node::Kind::local:
        return body_.local(node.local()).is_state() ? convert_state(node, condition) : convert_local(node, condition);
    case Node::Kind::previous: return convert_state(node, condition);
    case Node::Kind::reduce: return convert_reduce(node, condition);
    default: break;  // no body has other kinds
    }
    return nullptr;
}

Expr BodyLowering::convert_scalar(const Node& node, Expr condition, bool coordinate) {
    std::vector<Expr> operands;
    bool data = false;
    for (NodeId operand : node.operands) {
        operands.push_back(need(operand, condition, coordinate));
        data = data || has_data_[static_cast<size_t>(operand)];
    }
    if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) return nullptr;
    if (operands[0]->dtype == DType::int64 && (!data || coordinate)) {
        // Of data only the sign is asked: a difference could wrap.
        const bool comparison = info(node.op).kind == ScalarClass::comparison;
        const bool sign = (node.op == ScalarOp::less || node.op == ScalarOp::greater_equal) &&
                          operands[1]->kind == Kind::integer && operands[1]->integer == 0;
        Expr second = operands.size() > 1 ? operands[1] : nullptr;
        Expr made = comparison && data && !sign ? nullptr : coordinate_of(arena_, node.op, operands[0], second);
        if (made) return made;
    }
    if (node.op == ScalarOp::logical_and && !data) return arena_.conjunction(operands[0], operands[1]);
    return arena_.scalar(node.op, node.dtype, std::move(operands));
}

Expr BodyLowering::convert_select(const Node& node, Expr condition, bool coordinate) {
    Expr choice = need(node.operands[0], condition, coordinate);
    if (!choice) return nullptr;
    if (choice->kind == Kind::integer) return need(node.operands[choice->integer != 0 ? 1 : 2], condition, coordinate);
    auto convert_branch = [&](size_t branch, bool holds) {
        const NodeId operand = node.operands[branch];
        if (!has_equations_[static_cast<size_t>(operand)]) return need(operand, nullptr, coordinate);
        Expr own = holds ? choice : arena_.scalar(ScalarOp::logical_not, DType::boolean, {choice});
        return need(operand, under(condition, own), coordinate);
    };
    Expr then = convert_branch(1, true), otherwise = convert_branch(2, false);
    return then && otherwise ? arena_.select(choice, then, otherwise) : nullptr;
}

Expr BodyLowering::convert_read(const Node& node, Expr condition, bool) {
    const bool guarded = node.kind == Node::Kind::guarded_read;
    const TensorId source = operation_.inputs[static_cast<size_t>(node.index)];
    const size_t rank = node.operands.size() - (guarded ? 1 : 0);
    TensorIndex& tensor = inputs_[static_cast<size_t>(node.index)];
    if (tensor < 0 && !guarded) {
        const TensorData& value = *state_.graph.tensor(source).constant;
        return is_float(node.dtype) ? arena_.real(node.dtype, value.real_at(0), false)
                                    : arena_.literal(node.dtype, value.integer_at(0), false);
    }
    std::vector<Expr> coordinates;
    for (size_t d = 0; d < rank; d++) coordinates.push_back(need(node.operands[d], condition, true));
    Expr otherwise = guarded ? need(node.operands.back(), condition, false) : nullptr;
    if (!missing_.empty()) return nullptr;
    if (tensor < 0) tensor = state_.tensor(source);
    const std::vector<int64_t>& shape = state_.system.tensor(tensor).shape;
    // The only element of an unnamed dimension of extent one, if it is no index from data: that may lie outside.
    for (size_t d = 0; d < rank && !guarded; d++) {
        const bool one = shape[d] == 1 && !state_.system.tensor(tensor).sizes[d].named();
        if (one && !has_data_[static_cast<size_t>(node.operands[d])]) coordinates[d] = arena_.integer(0);
    }
    Expr read = guarded ? arena_.guarded_read(tensor, node.dtype, coordinates, otherwise, shape)
                        : arena_.read(tensor, node.dtype, coordinates);
    if (read->kind != Kind::read) return read;
    for (size_t d = 0; d < rank; d++) {
        if (!interval(coordinates[d]).within(0, shape[d] - 1)) return read;
    }
    if (const auto& affine = state_.progression(tensor)) {
        Expr sum = arena_.integer(affine->first);
        for (size_t d = 0; d < rank; d++) sum = arena_.add(sum, coordinates[d], affine->second[d]);
        return arena_.cast(node.dtype, sum);
    }
    return read;
}

Expr BodyLowering::convert_local(const Node& node, Expr condition) {
    const Local& local = body_.local(node.local());
    std::vector<Expr> coordinates;
    for (NodeId operand : node.operands) coordinates.push_back(need(operand, condition, true));
    // All of it is worked out as it is written: its reader's condition asks of the reader's point, not of its elements.
    Expr value = need(local.value, nullptr, false);
    if (!missing_.empty()) return nullptr;
    if (value->is_literal()) return value;
    auto found = locals_.find({node.index, value});
    if (found == locals_.end()) {
        std::vector<AxisId> own;
        for (VariableId variable : local.variables) own.push_back(axis_of(variable));
        Draft draft;
        draft.right = finish_right(value, value->axes);
        std::vector<AxisId> outer = draft.axes = open_axes(draft.right, own);
        for (VariableId variable : local.variables) {
            if (has_axis(variable)) draft.axes.push_back(axis_of(variable));
        }
        Expr read = name_draft(std::move(draft), local.name);
        found = locals_.emplace(std::pair(node.index, value), std::pair(read->tensor(), std::move(outer))).first;
    }
    std::vector<Expr> at;
    for (AxisId axis : found->second.second) at.push_back(arena_.axis_value(axis));
    for (size_t i = 0; i < coordinates.size(); i++) {
        if (has_axis(local.variables[i])) at.push_back(coordinates[i]);
    }
    return arena_.read(found->second.first, local.dtype, std::move(at));
}

Expr BodyLowering::convert_state(const Node& node, Expr condition) {
    const Local& state = body_.local(node.local());
    std::vector<Expr> coordinates;
    const bool previous = node.kind == Node::Kind::previous;
    if (previous) coordinates.push_back(arena_.axis_value(axis_of(state.variables[0])));
    for (NodeId operand : node.operands) coordinates.push_back(need(operand, condition, true));
    if (!missing_.empty()) return nullptr;
    std::vector<Expr> at;
    for (size_t i = 0; i < coordinates.size(); i++) {
        if (has_axis(state.variables[i])) at.push_back(coordinates[i]);
    }
    return arena_.read(state_tensor(node.index), state.dtype, std::move(at));
}

TensorIndex BodyLowering::state_tensor(int32_t index) {
    auto [it, added] = states_.try_emplace(index, no_id);
    if (!added) return it->second;
    const Local& state = body_.locals[static_cast<size_t>(index)];
    SystemTensor tensor;
    tensor.name = state_.graph.tensor(operation_.outputs[0]).name + "." + state.name;
    tensor.operation = state_.graph.tensor(operation_.outputs[0]).producer;
    tensor.dtype = state.dtype;
    for (size_t i = 0; i < state.variables.size(); i++) {
        if (!has_axis(state.variables[i])) continue;
        const Size& extent = body_.variable(state.variables[i]).extent;
        tensor.sizes.push_back(i == 0 ? extent + Size(1) : extent);
        tensor.shape.push_back(tensor.sizes.back().value);
    }
    it->second = state_.system.add_tensor(std::move(tensor));
    Scan& scan = scans_[state.variables[0]];
    if (scan.number < 0) scan.number = state_.scans++;
    scan.tensors.insert(it->second);
    open_states_.push_back(index);
    return it->second;
}

void BodyLowering::add_states() {
    while (!open_states_.empty()) {
        const int32_t index = open_states_.back();
        open_states_.pop_back();
        const Local& state = body_.locals[static_cast<size_t>(index)];
        const TensorIndex target = states_.at(index);
        const std::vector<VariableId> inner(state.variables.begin() + 1, state.variables.end());
        std::vector<Expr> left = {arena_.integer(0)};
        for (VariableId variable : inner) {
            if (has_axis(variable)) left.push_back(arena_.axis_value(axis_of(variable)));
        }
        state_.system.add_equation(equation_of(target, left, inner, state.initial));
        left[0] = arena_.add(arena_.axis_value(axis_of(state.variables[0])), arena_.integer(1));
        Equation step = equation_of(target, left, state.variables, state.value);
        step.piece = 1;
        state_.system.add_equation(std::move(step));
    }
}

// What a scan's block computes from its states is an equation of the scan; the rest does not wait for its steps.
void BodyLowering::join_scan(Equation& equation, const std::vector<AxisId>& from) {
    for (auto& [variable, scan] : scans_) {
        const auto axis = std::find(from.begin(), from.end(), axis_of(variable));
        if (axis == from.end()) continue;
        const auto sources = reads(equation);
        const bool joins = scan.tensors.contains(equation.tensor) ||
                           std::any_of(sources.begin(), sources.end(),
                                       [&](Expr read) { return scan.tensors.contains(read->tensor()); });
        if (!joins) continue;
        equation.scan = scan.number;
        equation.ordered = equation.axes[static_cast<size_t>(axis - from.begin())];
        scan.tensors.insert(equation.tensor);
        return;
    }
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
                              !is_argument(node.reducer) && !has_data_[static_cast<size_t>(id)] &&
                              body_.node(part.operands[0]).dtype == DType::int64;
        if (equality) {
            Expr a = need(part.operands[0], condition, true), b = need(part.operands[1], condition, true);
            if (a && b) equalities.push_back(arena_.add(a, b, -1));
        } else if (Expr holds = need(id, condition, false)) {
            rest = arena_.conjunction(rest, holds);
        }
    }
    return missing_.empty();
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
    Expr holds = solved.condition;
    // The equation is worked out at all points: also where nobody asks for it.
    if (condition && !(reads_inside_where_asked(state_.system, term) && reads_inside(state_.system, holds)))
        holds = lazy_conjunction(state_.system, condition, holds);
    Draft draft;
    draft.reducer = node.reducer;
    draft.reduced = std::move(solved.reduced);
    draft.right = arena_.select(holds, term, neutral(arena_, node.reducer, term->dtype));
    const bool filtered = !(holds->kind == Kind::integer && holds->integer != 0);
    if (draft.reduced.empty()) {
        if (is_argument(node.reducer)) draft.right = arena_.integer(0);
        draft.reducer = std::nullopt;
    } else if (is_argument(node.reducer) && filtered) {
        draft = Draft{.right = filtered_argument(std::move(draft), holds)};
    }
    return draft;
}

// Terms that the filter leaves out are neutral, and so may be those that it takes: infinities. The best one's number is
// then 0, whether taken or not. Every better one is taken, and none stands before the first one taken: of both numbers,
// the larger one.
Expr BodyLowering::filtered_argument(Draft best, Expr holds) {
    const DType dtype = best.right->dtype;
    Draft first = best;
    first.reducer = Reducer::argument_maximum;
    first.right = is_float(dtype) ? arena_.select(holds, arena_.real(dtype, 1), arena_.real(dtype, 0))
                                  : arena_.select(holds, arena_.literal(dtype, 1), arena_.literal(dtype, 0));
    const std::string suffix(name(*best.reducer));
    Expr first_number = name_reduction(std::move(first), suffix + "_taken");
    return arena_.scalar(ScalarOp::maximum, DType::int64, {name_reduction(std::move(best), suffix), first_number});
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
    return name_reduction(std::move(*draft), std::string(name(node.reducer)));
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
            tensor.sizes.push_back(body_.variable(variable->first).extent);
            tensor.shape.push_back(tensor.sizes.back().value);
        }
        it->second = state_.system.add_tensor(std::move(tensor));
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

// Reads that no selection may skip, and that are known to leave their tensor (a constant index outside), are checked
// when they run, like those of other data.
Expr BodyLowering::check_reads(Expr right) {
    std::unordered_set<Expr> outside;
    for (Expr e : walk(right, Skipped::left_out)) {
        for (size_t d = 0; e->kind == Kind::read && d < e->parts().size(); d++) {
            if (leaves(state_.system, e, d)) outside.insert(e);
        }
    }
    if (outside.empty()) return right;
    return remade(right, [&](Expr e, std::vector<Expr> operands) {
        for (size_t d = 0; outside.contains(e) && d < operands.size(); d++) {
            if (leaves(state_.system, e, d)) operands[d] = state_.tables.checked(operands[d]);
        }
        return arena_.rebuild(e, std::move(operands));
    });
}

// Tables, reciprocals for divisions by reductions of fewer axes, and checks.
Expr BodyLowering::finish_right(Expr right, const std::vector<AxisId>& axes) {
    right = check_reads(state_.tables.tabulate(right, axes));
    return remade(right, [&](Expr e, std::vector<Expr> operands) {
        const bool division = e->kind == Kind::scalar && e->op == ScalarOp::divide;
        if (division && operands[1]->kind == Kind::read && state_.is_reduction(operands[1]->tensor())) {
            const auto &of = operands[0]->axes, &by = operands[1]->axes;
            if (by.size() < of.size() && std::includes(of.begin(), of.end(), by.begin(), by.end())) {
                Expr inverse = arena_.scalar(ScalarOp::reciprocal, e->dtype, {operands[1]});
                return arena_.scalar(ScalarOp::multiply, e->dtype, {operands[0], inverse});
            }
        }
        return arena_.rebuild(e, std::move(operands));
    });
}

void BodyLowering::add_output(const BodyEquation& body_equation) {
    const TensorIndex target = state_.tensor(operation_.outputs[static_cast<size_t>(body_equation.output)]);
    std::vector<Expr> left;
    for (NodeId coordinate : body_equation.left) left.push_back(convert(coordinate, nullptr, true));
    Equation equation = equation_of(target, left, body_equation.variables, body_equation.value);
    equation.piece = static_cast<int32_t>(state_.system.tensor(target).equations.size());
    state_.system.add_equation(std::move(equation));
    add_states();
}

Equation BodyLowering::equation_of(TensorIndex target, const std::vector<Expr>& left,
                                   std::span<const VariableId> variables, NodeId value_node) {
    const Node& value = body_.node(value_node);
    Draft draft;
    if (value.kind == Node::Kind::reduce && uses_[static_cast<size_t>(value_node)] == 1) {
        std::optional<Draft> made;
        for (missing_.clear(); !(made = draft_reduction(value, nullptr)); missing_.clear()) {
            for (const auto& [node, condition, coordinate] : std::vector<Key>(missing_))
                convert(node, condition, coordinate);
        }
        draft = std::move(*made);
    } else {
        draft.right = convert(value_node, nullptr, false);
    }
    for (VariableId variable : variables) {
        if (has_axis(variable)) draft.axes.push_back(axis_of(variable));
    }
    draft.right = finish_right(draft.right, draft.axes);
    return equation_of(target, left, draft);
}

Result<void> BodyLowering::run() {
    for (const BodyEquation& equation : body_.equations) add_output(equation);
    return {};
}

}  // namespace heddle::equations
