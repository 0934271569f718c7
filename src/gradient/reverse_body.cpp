#include "gradient/reverse_body.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "gradient/cancelled_shift.h"
#include "gradient/derivatives.h"
#include "gradient/gather.h"
#include "gradient/scalar_rules.h"

namespace heddle::gradient {
namespace {

std::vector<std::vector<int64_t>> shapes_of(const ReverseRequest& request) {
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorType& type : request.inputs) shapes.push_back(type.extents());
    for (size_t i = 0; i < request.outputs.size(); ++i)
        if (request.given[i]) shapes.push_back(request.outputs[i].extents());
    for (const TensorType& type : request.outputs) shapes.push_back(type.extents());
    return shapes;
}

class Reverse {
public:
    Reverse(const ReverseRequest& request, Body& body)
        : request_(request),
          forward_(*request.body),
          terms_(forward_, body, shapes_of(request)),
          nodes_(terms_.nodes()),
          body_(body),
          cancelled_(cancelled_shifts(terms_, forward_)) {
        const TensorType& wanted = request.inputs[static_cast<size_t>(request.wanted)];
        for (size_t d = 0; d < wanted.shape.size(); ++d) {
            targets_.push_back(nodes_.add_variable(fmt::format("p{}", d), Variable::Kind::index, wanted.shape[d]));
            target_nodes_.push_back(nodes_.variable(targets_.back()));
        }
    }

    bool too_deep(int32_t most) const {
        const auto end = next_id<NodeId>(terms_.body().nodes);
        for (NodeId id(0); id < end; ++id)
            if (nodes_.depth(id) > most) return true;
        return false;
    }

    // The equation, or none if the adjoint is zero.
    std::optional<BodyEquation> run() {
        find_scans();
        std::vector<NodeId> values;
        for (const BodyEquation& equation : forward_.equations) values.push_back(after_scans(equation.value));
        active_ = reached(terms_, cancelled_, [&](const Node& node) {
            return node.is_read() ? node.index == request_.wanted : node.kind == Node::Kind::local;
        });
        for (size_t i = 0; i < values.size(); ++i) seed(forward_.equations[i], values[i]);
        // The latest scans first: what reads a state comes after all of its scan.
        while (!parts_.empty() || !scans_.empty()) {
            if (!scans_.empty() && (parts_.empty() || parts_.rbegin()->first < scans_.back().last)) {
                Scan scan = std::move(scans_.back());
                scans_.pop_back();
                through_scan(scan);
            } else {
                propagate_last();
            }
        }
        if (!result_) return std::nullopt;
        const DType dtype = request_.inputs[static_cast<size_t>(request_.wanted)].dtype;
        return BodyEquation{0, targets_, target_nodes_, nodes_.cast(value_of(*result_), dtype)};
    }

private:
    static DType type_of(DType dtype) { return info(dtype).arithmetic; }

    void propagate_last() {
        auto found = std::prev(parts_.end());
        const NodeId id = found->first;
        Part part = found->second[0];
        for (size_t i = 1; i < found->second.size(); ++i) part = joined(terms_, part, found->second[i]);
        parts_.erase(found);
        propagate(id, part);
    }

    // Zero where a condition does not hold.
    NodeId value_of(const Part& part) {
        NodeId condition = all_of(terms_, part.conditions);
        if (condition < 0) return part.value;
        return nodes_.select(condition, part.value, nodes_.real(0, terms_.node(part.value).dtype, true));
    }

    const Local& local(const Node& node) const { return terms_.body().local(node.local()); }

    // What an operand gets at every point of `domain`.
    void give(NodeId id, std::span<const VariableId> domain, NodeList conditions, NodeId value) {
        if (static_cast<size_t>(id) >= active_.size() || !active_[static_cast<size_t>(id)]) return;
        parts_[id].push_back(gathered(terms_, {}, domain, terms_.free(id), {std::move(conditions), value}));
    }

    // `value`: the equation's, after its scans.
    void seed(const BodyEquation& equation, NodeId value) {
        const auto output = static_cast<size_t>(equation.output);
        if (!request_.given[output]) return;
        auto before = std::count(request_.given.begin(), request_.given.begin() + equation.output, true);
        const TensorIndex tensor(static_cast<int64_t>(request_.inputs.size()) + before);
        NodeList coordinates;
        for (NodeId left : equation.left) coordinates.push_back(terms_.substitute(terms_.copied(left), after_));
        NodeId adjoint = nodes_.read(tensor, request_.outputs[output].dtype, std::move(coordinates));
        VariableList variables = equation.variables;
        for (VariableId& variable : variables)
            if (auto step = after_.variables.find(variable); step != after_.variables.end())
                variable = terms_.node(step->second).variable();
        give(value, variables, {}, nodes_.cast(adjoint, type_of(terms_.node(value).dtype)));
    }

    void propagate(NodeId id, const Part& part) {
        const Node node = terms_.node(id);  // nodes are made below
        const std::vector<VariableId> domain = terms_.free(id);
        switch (node.kind) {
        case Node::Kind::scalar: return through_scalar(id, node, domain, part);
        case Node::Kind::cast: {
            DType dtype = type_of(terms_.node(node.operands[0]).dtype);
            if (active_[static_cast<size_t>(node.operands[0])])
                give(node.operands[0], domain, part.conditions, nodes_.cast(part.value, dtype));
            return;
        }
        case Node::Kind::select: {
            give(node.operands[1], domain, with(part.conditions, node.operands[0]), part.value);
            NodeId otherwise = nodes_.scalar(ScalarOp::logical_not, {node.operands[0]});
            return give(node.operands[2], domain, with(part.conditions, otherwise), part.value);
        }
        case Node::Kind::read:
        case Node::Kind::guarded_read: return through_read(node, domain, part);
        case Node::Kind::local: return through_local(node, domain, part);
        case Node::Kind::reduce: return through_reduce(node, domain, part);
        default: return;
        }
    }

    // The element of an output that the node is, if it may be read; else itself.
    NodeId result_of(NodeId id) {
        if (!request_.reads_results) return id;
        const auto adjoints = std::count(request_.given.begin(), request_.given.end(), true);
        for (const BodyEquation& equation : forward_.equations) {
            const DType dtype = request_.outputs[static_cast<size_t>(equation.output)].dtype;
            if (terms_.copied(equation.value) != id || dtype != terms_.node(id).dtype) continue;
            NodeList coordinates;
            for (NodeId left : equation.left) coordinates.push_back(terms_.copied(left));
            const TensorIndex tensor(static_cast<int64_t>(request_.inputs.size()) + adjoints + equation.output);
            const NodeId read = nodes_.read(tensor, dtype, std::move(coordinates));
            if (terms_.free(read) == terms_.free(id)) return read;
        }
        return id;
    }

    NodeList with(NodeList conditions, NodeId condition) const {
        if (condition >= 0) add_condition(terms_, conditions, condition);
        return conditions;
    }

    void through_scalar(NodeId id, const Node& node, std::span<const VariableId> domain, const Part& part) {
        for (size_t i = 0; i < node.operands.size(); ++i) {
            if (!active_[static_cast<size_t>(node.operands[i])]) continue;
            Share share = share_of(nodes_, id, i, part.value, result_of(id));
            give(node.operands[i], domain, with(part.conditions, share.condition), share.value);
        }
    }

    void through_read(const Node& node, std::span<const VariableId> domain, const Part& part) {
        const bool guarded = node.kind == Node::Kind::guarded_read;
        const std::vector<int64_t> extents = request_.inputs[node.tensor()].extents();
        if (guarded && active_[static_cast<size_t>(node.operands.back())]) {
            NodeList within;
            for (size_t d = 0; d < extents.size(); ++d) {
                const NodeId at = node.operands[d];
                add_condition(terms_, within, nodes_.scalar(ScalarOp::greater_equal, {at, terms_.number(0)}));
                add_condition(terms_, within, nodes_.scalar(ScalarOp::less, {at, terms_.number(extents[d])}));
            }
            NodeId inside = all_of(terms_, within);
            if (inside < 0) inside = nodes_.boolean(true);
            NodeId outside = nodes_.scalar(ScalarOp::logical_not, {inside});
            give(node.operands.back(), domain, with(part.conditions, outside), part.value);
        }
        if (node.index != request_.wanted) return;
        std::vector<Equality> equalities;
        for (size_t d = 0; d < extents.size(); ++d)
            equalities.push_back({node.operands[d], target_nodes_[d], extents[d]});
        Part gathered_part = gathered(terms_, std::move(equalities), domain, {}, part);
        result_ = result_ ? joined(terms_, *result_, gathered_part) : gathered_part;
    }

    void through_local(const Node& node, std::span<const VariableId> domain, const Part& part) {
        const Local of = local(node);
        if (of.is_state()) return through_state(node, of, domain, part);
        const std::vector<VariableId> outer = terms_.outer(node.local());
        std::vector<Equality> equalities;
        for (size_t d = 0; d < of.variables.size(); ++d) {
            const VariableId variable = of.variables[d];
            equalities.push_back(
                {node.operands[d], nodes_.variable(variable), terms_.body().variable(variable).extent.value});
        }
        Part one = gathered(terms_, std::move(equalities), domain, outer, part);
        std::vector<VariableId> points = outer;
        points.insert(points.end(), of.variables.begin(), of.variables.end());
        give(of.value, points, std::move(one.conditions), one.value);
    }

    void through_reduce(const Node& node, std::vector<VariableId> domain, const Part& part) {
        if (is_empty(terms_, node)) return;
        const NodeId term = node.operands[0], filter = node.operands.size() > 1 ? node.operands[1] : no_id;
        domain.insert(domain.end(), node.variables.begin(), node.variables.end());
        NodeList conditions = with(part.conditions, filter);
        switch (node.reducer) {
        case Reducer::sum: return give(term, domain, std::move(conditions), part.value);
        case Reducer::product: {
            NodeId value = nodes_.scalar(ScalarOp::multiply, {part.value, product_of_others(terms_, node)});
            return give(term, domain, std::move(conditions), value);
        }
        case Reducer::minimum:
        case Reducer::maximum: return give(term, domain, with(std::move(conditions), wins(terms_, node)), part.value);
        default: return;  // not of a float type
        }
    }

    // ---- scans: E[k] is the adjoint of element k of a state (element 0 is before the first step, t + 1 behind step t),
    // but for what step k - 1 itself reads of it as present:
    //
    //     E[k] = what reads element k behind the scan has + what step t = k gives to its previous element
    //
    // where the values of that step have E[k + 1] and what later states of the step give to them. This is a scan in the
    // other direction: it begins with E[n], and its step r has E[n - 1 - r] from step t = n - 1 - r.

    struct State {
        LocalId local;  // of the forward scan
        // At step `step`, a variable as any: previous elements are read from the state as an array.
        NodeId value = no_id;
        LocalId adjoint;                  // the state of the other scan
        std::vector<VariableId> targets;  // element and coordinates of what is read
        std::vector<NodeId> target_nodes;
        std::optional<Part> after, previous;  // the two parts
    };
    struct Scan {
        VariableId axis = no_id, step = no_id;
        NodeId last = no_id;  // of the states' values
        std::vector<State> states;
    };

    void find_scans() {
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
            if (!is_float(locals[i].dtype)) continue;
            make_targets(state);
            found->states.push_back(std::move(state));
        }
        std::ranges::sort(scans_, {}, &Scan::last);
        for (const Scan& scan : scans_) after_.variables[scan.axis] = nodes_.variable(free_step(scan.axis));
    }

    VariableId free_step(VariableId axis) {
        const Variable from = terms_.body().variable(axis);
        return nodes_.add_variable(from.name, Variable::Kind::parallel, from.extent);
    }

    NodeId after_scans(NodeId forward) { return terms_.substitute(terms_.copied(forward), after_); }

    // What a read of a state is within its own scan: 0, of the previous element; 1, of the present one; else neither.
    int64_t distance(const Node& node, VariableId step) const {
        const Node& at = terms_.node(node.operands[0]);
        if (at.kind == Node::Kind::variable && at.index == step) return 0;
        if (at.kind != Node::Kind::scalar || at.op != ScalarOp::add) return -1;
        const Node &first = terms_.node(at.operands[0]), &second = terms_.node(at.operands[1]);
        const bool next = first.kind == Node::Kind::variable && first.index == step &&
                          second.kind == Node::Kind::integer && second.integer == 1;
        return next ? 1 : -1;
    }

    void through_state(const Node& node, const Local& of, std::span<const VariableId> domain, const Part& part) {
        const bool own = running_ && running_->axis == of.variables[0];
        auto scan = std::ranges::find(scans_, of.variables[0], &Scan::axis);
        if (!own && scan == scans_.end()) return;
        std::vector<State>& states = own ? running_->states : scan->states;
        auto state = std::ranges::find(states, node.local(), &State::local);
        if (state == states.end()) return;  // not of a float type
        const int64_t found = own ? distance(node, running_->step) : -1;
        if (found == 0 && !stepping_) return;  // E has it
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

    static VariableList points_of(const Local& state, VariableId step) {
        VariableList points = state.variables;
        points[0] = step;
        return points;
    }

    void make_targets(State& state) {
        const Local of = body_.local(state.local);
        for (size_t d = 0; d < of.variables.size(); ++d) {
            state.targets.push_back(nodes_.add_variable(terms_.body().variable(of.variables[d]).name,
                                                        Variable::Kind::parallel, body_.extent(of, d)));
            state.target_nodes.push_back(nodes_.variable(state.targets.back()));
        }
    }

    void through_scan(Scan& scan) {
        if (std::ranges::none_of(scan.states, [](const State& state) { return state.after.has_value(); })) return;
        const Variable from = terms_.body().variable(scan.axis);
        const bool begins = std::ranges::any_of(scan.states, [&](const State& state) { return begins_active(state); });
        // The last step makes the adjoint of what the scan began with. Without it no step reads what is not there. A
        // size with a name may be one.
        const Size steps = begins || from.extent.named() || from.extent.value < 2 ? from.extent : from.extent - Size(1);
        const VariableId axis = nodes_.add_variable(from.name + "_back", Variable::Kind::ordered, steps);
        for (State& state : scan.states) {
            const Local& of = body_.local(state.local);
            Local adjoint{"d_" + of.name, type_of(of.dtype), state.targets, no_id,
                          NodeId(0)};  // a state: it has an initial value
            adjoint.variables[0] = axis;
            state.adjoint = next_id<LocalId>(body_.locals);
            body_.locals.push_back(std::move(adjoint));
        }
        running_ = &scan;
        collect(scan);
        const NodeId last = terms_.plus_multiple(terms_.size(from.extent), terms_.number(1), -1);
        for (State& state : scan.states) finish(scan, state, terms_.plus_multiple(last, nodes_.variable(axis), -1));
        // What steps and initial values read besides states.
        const NodeId end = terms_.size(from.extent);
        for (const State& state : scan.states) {
            const Local of = body_.local(state.local);
            std::vector<NodeId> at = {terms_.plus_multiple(last, nodes_.variable(scan.step), -1)}, first = {end};
            for (size_t d = 1; d < of.variables.size(); ++d) {
                at.push_back(nodes_.variable(of.variables[d]));
                first.push_back(at.back());
            }
            const DType dtype = type_of(of.dtype);
            give(state.value, points_of(of, scan.step), {}, nodes_.local(state.adjoint, dtype, std::move(at)));
            if (begins_active(state))
                give(of.initial, {of.variables.begin() + 1, of.variables.end()}, {},
                     nodes_.local(state.adjoint, dtype, std::move(first)));
        }
        // All that is left of its steps: views are later than what is shared with other parts of the body.
        while (!parts_.empty() && parts_.rbegin()->first > scan.last) propagate_last();
        running_ = nullptr;
    }

    bool begins_active(const State& state) const {
        const NodeId initial = body_.local(state.local).initial;
        return static_cast<size_t>(initial) < active_.size() && active_[static_cast<size_t>(initial)];
    }

    // What one step gives to the elements that were before it.
    void collect(Scan& scan) {
        auto parts = std::exchange(parts_, {});
        auto active = std::exchange(active_, reached(terms_, cancelled_, [&](const Node& node) {
                                        return node.kind == Node::Kind::local &&
                                               local(node).variables[0] == scan.axis && distance(node, scan.step) >= 0;
                                    }));
        stepping_ = true;
        for (const State& state : scan.states) {
            const Local of = body_.local(state.local);
            std::vector<NodeId> at;
            for (size_t d = 1; d < of.variables.size(); ++d) at.push_back(nodes_.variable(of.variables[d]));
            give(state.value, points_of(of, scan.step), {},
                 nodes_.previous(state.adjoint, type_of(of.dtype), std::move(at)));
        }
        while (!parts_.empty()) propagate_last();
        stepping_ = false;
        active_ = std::move(active);
        parts_ = std::move(parts);
    }

    // The state of the other scan; at each of its steps the other one has step `step`.
    void finish(const Scan& scan, State& state, NodeId step) {
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

    const ReverseRequest& request_;
    const Body& forward_;
    Terms terms_;
    BodyNodes& nodes_;
    Body& body_;
    const NodeList cancelled_;
    std::vector<Scan> scans_;  // whose adjoints are not there yet; the latest last
    Substitution after_;       // what equations read of scans
    Scan* running_ = nullptr;  // whose steps are looked at
    bool stepping_ = false;    // one step of it alone
    std::vector<VariableId> targets_;
    std::vector<NodeId> target_nodes_;
    std::vector<bool> active_;
    std::map<NodeId, std::vector<Part>> parts_;  // of adjoints that are not complete yet
    std::optional<Part> result_;
};

}  // namespace

Result<Body> reverse(const ReverseRequest& request) {
    if (request.body->nodes.size() > largest_forward) return fail(too_large(*request.body));
    Body body;
    Reverse reverse(request, body);
    if (reverse.too_deep(deepest_body / 3)) return fail(too_large(*request.body));
    auto equation = reverse.run();
    if (equation) body.equations.push_back(std::move(*equation));
    if (body.nodes.size() > largest_body || reverse.too_deep(deepest_body)) return fail(too_large(*request.body));
    return body;
}

}  // namespace heddle::gradient
