#include "equations/lower_body.h"

#include <algorithm>
#include <unordered_set>

#include "equations/pass_support.h"
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
    computed_ = computed_indices(body_);
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
        if (node.kind != Node::Kind::local && node.kind != Node::Kind::previous) continue;
        const VariableList& axes = body_.local(node.local()).variables;
        const size_t first = axes.size() - node.operands.size();  // of a state that is previous: behind its step
        for (size_t d = 0; d < node.operands.size(); d++)
            if (has_data_[static_cast<size_t>(node.operands[d])]) indexed_by_data_.insert(axes[first + d]);
    }
}

bool BodyLowering::has_axis(VariableId id) const {
    const heddle::Variable& variable = body_.variable(id);
    return !variable.extent.same_as(1) ||
           variable.kind == heddle::Variable::Kind::ordered || indexed_by_data_.contains(id);
}

AxisId BodyLowering::axis_of(VariableId id) {
    auto [it, added] = axes_.try_emplace(id, no_id);
    if (added) {
        const Variable& variable = body_.variable(id);
        Axis axis = axis_of_extent(state_.system, variable.name, variable.extent);
        if (variable.kind == heddle::Variable::Kind::ordered) {
            // Steps stay steps: never dropped at one, cut or merged.
            if (!axis.named) axis.most = axis.extent.number();
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
    if (tensor < 0 && !guarded && !is_at_data(node)) {
        const TensorData& value = *state_.graph.tensor(source).constant;
        return is_float(node.dtype) ? arena_.real(node.dtype, value.real_at(0), false)
                                    : arena_.literal(node.dtype, value.integer_at(0), false);
    }
    std::vector<Expr> coordinates;
    const std::vector<Size>& extents = state_.graph.tensor(source).type.shape;
    for (size_t d = 0; d < rank; d++)
        coordinates.push_back(guarded ? need(node.operands[d], condition, true)
                                      : coordinate(node.operands[d], condition, extents[d]));
    Expr otherwise = guarded ? need(node.operands.back(), condition, false) : nullptr;
    if (!missing_.empty()) return nullptr;
    if (tensor < 0) tensor = state_.tensor(source);
    const std::vector<Size>& shape = state_.system.tensor(tensor).shape;
    // The only element of an unnamed dimension of extent one, if it is no index from data: that may lie outside.
    for (size_t d = 0; d < rank && !guarded; d++) {
        const bool one = shape[d].same_as(1);
        if (one && !has_data_[static_cast<size_t>(node.operands[d])]) coordinates[d] = arena_.integer(0);
    }
    Expr read = guarded ? arena_.guarded_read(tensor, node.dtype, coordinates, otherwise, shape)
                        : noted(arena_.read(tensor, node.dtype, coordinates), node);
    if (read->kind != Kind::read) return read;
    if (const auto& affine = state_.progression(tensor)) {
        for (size_t d = 0; d < rank; d++) {
            if (!interval(coordinates[d]).within(0, shape[d] - 1)) return read;
        }
        Expr sum = arena_.integer(affine->first);
        for (size_t d = 0; d < rank; d++) sum = arena_.add(sum, coordinates[d], affine->second[d]);
        return arena_.cast(node.dtype, sum);
    }
    return read;
}

bool BodyLowering::is_at_data(const Node& read) const {
    return std::ranges::any_of(read.operands, [&](NodeId node) { return has_data_[static_cast<size_t>(node)]; });
}

Expr BodyLowering::coordinate(NodeId node, Expr condition, const Size& extent) {
    Expr made = need(node, condition, true);
    const auto at = static_cast<size_t>(node);
    const bool safe = !made || !computed_[at] || has_data_[at] || interval(made).within(0, extent - 1);
    return safe ? made : state_.tables.checked(made);
}

Expr BodyLowering::convert_local(const Node& node, Expr condition) {
    const Local& local = body_.local(node.local());
    std::vector<Expr> coordinates;
    for (NodeId operand : node.operands)
        coordinates.push_back(coordinate(operand, condition, body_.extent(local, coordinates.size())));
    // All of it is worked out as it is written: its reader's condition asks of the reader's point, not of its elements.
    Expr value = need(local.value, nullptr, false);
    if (!missing_.empty()) return nullptr;
    if (value->is_literal() && !is_at_data(node)) return value;
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
    return noted(arena_.read(found->second.first, local.dtype, std::move(at)), node);
}

Expr BodyLowering::convert_state(const Node& node, Expr condition) {
    const Local& state = body_.local(node.local());
    std::vector<Expr> coordinates;
    const bool previous = node.kind == Node::Kind::previous;
    if (previous) coordinates.push_back(arena_.axis_value(axis_of(state.variables[0])));
    for (NodeId operand : node.operands)
        coordinates.push_back(coordinate(operand, condition, body_.extent(state, coordinates.size())));
    if (!missing_.empty()) return nullptr;
    std::vector<Expr> at;
    for (size_t i = 0; i < coordinates.size(); i++) {
        if (has_axis(state.variables[i])) at.push_back(coordinates[i]);
    }
    return noted(arena_.read(state_tensor(node.index), state.dtype, std::move(at)), node);
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
        tensor.shape.push_back(i == 0 ? extent + 1 : extent);
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

Expr BodyLowering::noted(Expr made, const Node& read) {
    if (is_at_data(read)) at_data_.insert(made);
    return made;
}

// Reads that no selection may skip, and that are known to leave their tensor: at a constant index outside they are
// checked when they run, like those of other data. All others are proved inside wherever they are asked for; a local
// array or a reduction, of which the condition of its reader says nothing, makes elements that nobody asks for, too.
Expr BodyLowering::check_reads(Expr right) {
    std::unordered_set<Expr> outside;
    for (Expr e : walk(right, Skipped::left_out)) {
        for (size_t d = 0; e->kind == Kind::read && d < e->parts().size(); d++) {
            if (leaves(state_.system, e, d)) outside.insert(e);
        }
    }
    if (outside.empty()) return right;
    return remade(right, [&](Expr e, std::vector<Expr> operands) {
        if (outside.contains(e) && !at_data_.contains(e)) {
            Expr zero = is_integer(e->dtype) || is_bool(e->dtype) ? arena_.literal(e->dtype, 0, false)
                                                                 : arena_.real(e->dtype, 0, false);
            return arena_.guarded_read(e->tensor(), e->dtype, std::move(operands), zero,
                                       state_.system.tensor(e->tensor()).shape);
        }
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
    Equation equation = forwards(equation_of(target, left, body_equation.variables, body_equation.value));
    equation.piece = static_cast<int32_t>(state_.system.tensor(target).equations.size());
    state_.system.add_equation(std::move(equation));
    add_states();
}

// `y[n - 1 - i] = f(i)` is `y[i] = f(n - 1 - i)`: no left side of a system goes backwards.
Equation BodyLowering::forwards(Equation equation) {
    Arena::Substitution turn;
    for (Expr coordinate : equation.left) {
        for (const auto& [atom, factor] : linear_form(coordinate).terms) {
            if (factor >= 0 || atom->kind != Kind::variable) continue;
            const AxisId axis = atom->axis();
            turn[axis] = arena_.add(arena_.integer(arena_.extent(axis) - 1), arena_.axis_value(axis), -1);
        }
    }
    if (turn.empty()) return equation;
    for (Expr& left : equation.left) left = arena_.substitute(left, turn);
    equation.right = arena_.substitute(equation.right, turn);
    if (turn.contains(equation.ordered)) equation.scan = equation.ordered = no_id;  // it may join again: join_scans
    return equation;
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
