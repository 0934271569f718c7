#include <algorithm>

#include "gradient/derivatives.h"
#include "gradient/reverse_derivation.h"
#include "gradient/reverse_segments.h"

namespace heddle::gradient {

// ---- scans: E[k] is the adjoint of element k of a state (element 0 is before the first step, t + 1 behind step t),
// but for what step k - 1 itself reads of it as present:
//
//     E[k] = what reads element k behind the scan has + what step t = k gives to its previous element
//
// where the values of that step have E[k + 1] and what later states of the step give to them. This is a scan in the
// other direction: it begins with E[n], and its step r has E[n - 1 - r] from step t = n - 1 - r.

void Reverse::find_scans() {
    const std::vector<Local> locals = terms_.body().locals;
    for (size_t i = 0; i < locals.size(); ++i) {
        if (!locals[i].is_state()) continue;
        auto same = [&](const Scan& scan) { return scan.axis == locals[i].variables[0]; };
        auto found = std::ranges::find_if(scans_, same);
        if (found == scans_.end()) {
            found = scans_.insert(scans_.end(), {.axis = locals[i].variables[0]});
            found->step = free_step(found->axis);
        }
        State state{.local = LocalId(i)};
        Substitution by;
        by.variables[found->axis] = nodes_.variable(found->step);
        state.value = terms_.substitute(locals[i].value, by);
        found->last = std::max({found->last, locals[i].value, locals[i].initial});
        found->values.push_back({state.local, state.value});
        if (!is_float(locals[i].dtype)) continue;
        make_targets(state);
        found->states.push_back(std::move(state));
    }
    std::ranges::sort(scans_, {}, &Scan::last);
    for (const Scan& scan : scans_) after_.variables[scan.axis] = nodes_.variable(free_step(scan.axis));
}

VariableId Reverse::free_step(VariableId axis) {
    const Variable from = terms_.body().variable(axis);
    return nodes_.add_variable(from.name, Variable::Kind::parallel, from.extent);
}

NodeId Reverse::after_scans(NodeId forward) { return terms_.substitute(terms_.copied(forward), after_); }

// What a read of a state is within its own scan: 0, of the previous element; 1, of the present one; else neither.
int64_t Reverse::distance(const Node& node, VariableId step) const {
    const auto place = terms_.place_of(node.operands[0]);
    return place && place->first == step && (place->second == 0 || place->second == 1) ? place->second : -1;
}

void Reverse::through_state(const Node& node, const Local& of, std::span<const VariableId> domain, const Part& part) {
    const bool own = running_ && running_->axis == of.variables[0];
    auto scan = std::ranges::find(scans_, of.variables[0], &Scan::axis);
    if (!own && scan == scans_.end()) return;
    std::vector<State>& states = own ? running_->states : scan->states;
    auto state = std::ranges::find(states, node.local(), &State::local);
    if (state == states.end()) return;  // not of a float type
    const int64_t found = own ? distance(node, running_->step) : -1;
    if (found == 0 && !stepping_) return;  // E has it
    if (segments_ && found < 0) return segments_->refuse();
    std::vector<Equality> equalities;
    for (size_t d = own ? 1 : 0; d < of.variables.size(); ++d) {
        const NodeId target = found == 1 ? nodes_.variable(of.variables[d]) : state->target_nodes[d];
        equalities.push_back({node.operands[d], target, body_.extent(of, d)});
    }
    const std::vector<VariableId> fixed = own ? std::vector{running_->step} : std::vector<VariableId>{};
    Part one = gathered(terms_, std::move(equalities), domain, fixed, part);
    if (found == 1) return give(state->value, points_of(of, running_->step), std::move(one.conditions), one.value);
    auto& sum = own ? state->previous : state->after;
    sum = sum ? joined(terms_, *sum, one) : std::move(one);
}

VariableList Reverse::points_of(const Local& state, VariableId step) {
    VariableList points = state.variables;
    points[0] = step;
    return points;
}

void Reverse::make_targets(State& state) {
    const Local of = body_.local(state.local);
    for (size_t d = 0; d < of.variables.size(); ++d) {
        state.targets.push_back(nodes_.add_variable(terms_.body().variable(of.variables[d]).name,
                                                    Variable::Kind::parallel, body_.extent(of, d)));
        state.target_nodes.push_back(nodes_.variable(state.targets.back()));
    }
}

void Reverse::through_scan(Scan& scan) {
    if (std::ranges::none_of(scan.states, [](const State& state) { return state.after.has_value(); })) return;
    const Variable from = terms_.body().variable(scan.axis);
    const bool begins = std::ranges::any_of(scan.states, [&](const State& state) { return begins_active(state); });
    // The last step makes the adjoint of what the scan began with. Without it no step reads what is not there. A
    // size with a name may be one.
    const Size steps = begins || from.extent.named() || from.extent.value() < 2 ? from.extent : from.extent - Size(1);
    const VariableId axis = nodes_.add_variable(from.name + "_back", Variable::Kind::ordered, steps);
    add_adjoints(scan, axis);
    running_ = &scan;
    collect(scan);
    const NodeId last = terms_.plus_multiple(terms_.size(from.extent), terms_.number(1), -1);
    for (State& state : scan.states) finish(scan, state, terms_.plus_multiple(last, nodes_.variable(axis), -1));
    // What steps and initial values read besides states.
    for (const State& state : scan.states) {
        const Local of = body_.local(state.local);
        NodeList at = {terms_.plus_multiple(last, nodes_.variable(scan.step), -1)};
        for (VariableId axis_of_state : own_of(of)) at.push_back(nodes_.variable(axis_of_state));
        give(state.value, points_of(of, scan.step), {}, nodes_.local(state.adjoint, type_of(of.dtype), std::move(at)));
        give_initial(state, terms_.size(from.extent));
    }
    // All that is left of its steps: views are later than what is shared with other parts of the body.
    while (!parts_.empty() && parts_.rbegin()->first > scan.last) propagate_last();
    running_ = nullptr;
}

void Reverse::add_adjoints(Scan& scan, VariableId axis) {
    for (State& state : scan.states) {
        const Local& of = body_.local(state.local);
        Local adjoint{"d_" + of.name, type_of(of.dtype), state.targets, no_id,
                      NodeId(0)};  // a state: it has an initial value
        adjoint.variables[0] = axis;
        state.adjoint = next_id<LocalId>(body_.locals);
        body_.locals.push_back(std::move(adjoint));
    }
}

// What the scan began with gets the state of the other scan at `element`.
void Reverse::give_initial(const State& state, NodeId element) {
    if (!begins_active(state)) return;
    const Local of = body_.local(state.local);
    NodeList at = {element};
    for (VariableId axis : own_of(of)) at.push_back(nodes_.variable(axis));
    give(of.initial, own_of(of), {}, nodes_.local(state.adjoint, type_of(of.dtype), std::move(at)));
}

bool Reverse::begins_active(const State& state) const {
    const NodeId initial = body_.local(state.local).initial;
    return static_cast<size_t>(initial) < active_.size() && active_[static_cast<size_t>(initial)];
}

// What one step gives to the elements that were before it.
void Reverse::collect(Scan& scan) {
    auto parts = std::exchange(parts_, {});
    auto active = std::exchange(active_, reached(terms_, cut_, [&](const Node& node) {
                                    return node.kind == Node::Kind::local && local(node).variables[0] == scan.axis &&
                                           distance(node, scan.step) >= 0;
                                }));
    stepping_ = true;
    give_step(scan);
    while (!parts_.empty()) propagate_last();
    stepping_ = false;
    active_ = std::move(active);
    parts_ = std::move(parts);
}

// The values of a step have the adjoints of the elements behind it.
void Reverse::give_step(const Scan& scan) {
    for (const State& state : scan.states) {
        const Local of = body_.local(state.local);
        NodeList at;
        for (VariableId axis : own_of(of)) at.push_back(nodes_.variable(axis));
        give(state.value, points_of(of, scan.step), {},
             nodes_.previous(state.adjoint, type_of(of.dtype), std::move(at)));
    }
}

// The state of the other scan; at each of its steps the other one has step `step`.
void Reverse::finish(const Scan& scan, State& state, NodeId step) {
    const Local& of = body_.locals[static_cast<size_t>(state.adjoint)];
    const NodeId zero = nodes_.real(0, of.dtype, true);
    const NodeId end = terms_.size(terms_.body().variable(scan.axis).extent);
    auto at = [&](const std::optional<Part>& part, VariableId variable, NodeId value) {
        Substitution by;
        by.variables[variable] = value;
        return part ? terms_.substitute(value_of(*part), by) : zero;
    };
    const NodeId after = at(state.after, state.targets[0], step), previous = at(state.previous, scan.step, step);
    const NodeId value = !state.previous ? after
                         : !state.after  ? previous
                                         : nodes_.scalar(ScalarOp::add, {after, previous});
    const NodeId initial = at(state.after, state.targets[0], end);
    Local& adjoint = body_.locals[static_cast<size_t>(state.adjoint)];
    adjoint.value = value;
    adjoint.initial = initial;
}

}  // namespace heddle::gradient
