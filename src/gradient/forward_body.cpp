#include "gradient/forward_body.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "gradient/derivatives.h"
#include "gradient/gather.h"
#include "gradient/scalar_rules.h"

namespace heddle::gradient {
namespace {

DType type_of(DType dtype) { return info(dtype).arithmetic; }

std::vector<std::vector<int64_t>> shapes_of(const ForwardRequest& request) {
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorType& type : request.inputs) shapes.push_back(type.extents());
    for (size_t i = 0; i < request.inputs.size(); ++i)
        if (request.given[i]) shapes.push_back(request.inputs[i].extents());
    return shapes;
}

class Forward {
public:
    Forward(const ForwardRequest& request, Body& body)
        : request_(request),
          terms_(*request.body, body, shapes_of(request)),
          nodes_(terms_.nodes()),
          body_(body),
          forward_locals_(body.locals.size()),
          cut_(terms_.copied(request.cut)) {}

    bool too_deep(int32_t most) const {
        const auto end = next_id<NodeId>(body_.nodes);
        for (NodeId id(0); id < end; ++id)
            if (nodes_.depth(id) > most) return true;
        return false;
    }

    void run() {
        find_active();
        add_states();
        for (const BodyEquation& equation : request_.body->equations) {
            const auto output = static_cast<size_t>(equation.output);
            if (!request_.needed[output]) continue;
            const DType dtype = request_.outputs[output].dtype;
            const NodeId value = or_zero(tangent(terms_.copied(equation.value)), dtype);
            add_equation(equation, nodes_.cast(value, dtype));
        }
    }

private:
    NodeId zero(DType dtype) { return nodes_.real(0, dtype, true); }
    NodeId or_zero(NodeId value, DType dtype) { return value < 0 ? zero(type_of(dtype)) : value; }

    void add_equation(BodyEquation equation, NodeId value) {
        for (VariableId variable : equation.variables)
            body_.variables[static_cast<size_t>(variable)].kind = request_.body->variable(variable).kind;
        for (NodeId& left : equation.left) left = terms_.copied(left);
        auto before = std::count(request_.needed.begin(), request_.needed.begin() + equation.output, true);
        equation.output = static_cast<int32_t>(before);
        equation.value = value;
        body_.equations.push_back(std::move(equation));
    }

    // What has a tangent. States may read one another, so that it is asked again until no state is new.
    void find_active() {
        std::vector<bool> states(forward_locals_);
        for (bool more = true; std::exchange(more, false);) {
            active_ = reached(terms_, cut_, [&](const Node& node) {
                return node.is_read() ? bool(request_.given[node.tensor()])
                                      : bool(states[static_cast<size_t>(node.local())]);
            });
            for (size_t i = 0; i < forward_locals_; ++i) {
                const Local& local = body_.locals[i];
                if (!local.is_state() || states[i] || !(is_active(local.value) || is_active(local.initial))) continue;
                states[i] = more = true;
            }
        }
        states_ = std::move(states);
    }

    bool is_active(NodeId id) const { return active_[static_cast<size_t>(id)]; }

    // All of them first: each may read the others.
    void add_states() {
        for (size_t i = 0; i < forward_locals_; ++i) {
            if (!states_[i]) continue;
            const Local& of = body_.locals[i];
            Local local{"t_" + of.name, type_of(of.dtype), of.variables, NodeId(0), NodeId(0)};
            locals_[LocalId(i)] = next_id<LocalId>(body_.locals);
            body_.locals.push_back(std::move(local));
        }
        for (auto [of, made] : std::map(locals_)) {
            const Local from = body_.local(of);
            const NodeId value = or_zero(tangent(from.value), from.dtype);
            const NodeId initial = or_zero(tangent(from.initial), from.dtype);
            body_.locals[static_cast<size_t>(made)].value = value;
            body_.locals[static_cast<size_t>(made)].initial = initial;
        }
    }

    // -1: zero.
    NodeId tangent(NodeId id) {
        if (!is_active(id)) return no_id;
        if (auto known = tangents_.find(id); known != tangents_.end()) return known->second;
        const NodeId made = made_tangent(id, Node(terms_.node(id)));
        return tangents_[id] = made;
    }

    NodeId made_tangent(NodeId id, const Node& node) {
        const DType dtype = type_of(node.dtype);
        switch (node.kind) {
        case Node::Kind::scalar: return of_scalar(id, node);
        case Node::Kind::cast: return nodes_.cast(tangent(node.operands[0]), dtype);
        case Node::Kind::select: {
            const NodeId then = or_zero(tangent(node.operands[1]), dtype);
            return nodes_.select(node.operands[0], then, or_zero(tangent(node.operands[2]), dtype));
        }
        case Node::Kind::read:
        case Node::Kind::guarded_read: return of_read(node);
        case Node::Kind::local:
        case Node::Kind::previous: return of_local(node);
        case Node::Kind::reduce: return of_reduce(node);
        default: return no_id;
        }
    }

    // The shares that operands have of an adjoint are linear in it: their sum, with tangents for the adjoint.
    NodeId of_scalar(NodeId id, const Node& node) {
        NodeId sum = no_id;
        for (size_t i = 0; i < node.operands.size(); ++i) {
            const NodeId of = tangent(node.operands[i]);
            if (of < 0) continue;
            const Share share = share_of(nodes_, id, i, of, id);
            const NodeId part =
                share.condition < 0 ? share.value : nodes_.select(share.condition, share.value, zero(node.dtype));
            sum = sum < 0 ? part : nodes_.scalar(ScalarOp::add, {sum, part});
        }
        return sum;
    }

    NodeId of_read(const Node& node) {
        const bool guarded = node.kind == Node::Kind::guarded_read;
        const DType stored = node.dtype;
        const NodeId otherwise = guarded ? or_zero(tangent(node.operands.back()), stored) : NodeId(no_id);
        NodeList coordinates = node.operands;
        if (guarded) coordinates.pop_back();
        if (!request_.given[node.tensor()]) {  // only what stands for elements outside has a tangent
            return inside(node, coordinates, zero(type_of(stored)), otherwise);
        }
        auto before = std::count(request_.given.begin(), request_.given.begin() + node.index, true);
        const TensorIndex tensor(static_cast<int64_t>(request_.inputs.size()) + before);
        const NodeId read =
            guarded ? nodes_.guarded_read(tensor, stored, std::move(coordinates), nodes_.cast(otherwise, stored))
                    : nodes_.read(tensor, stored, std::move(coordinates));
        return nodes_.cast(read, type_of(stored));
    }

    // `within` where all coordinates are of elements of the tensor, else `outside`.
    NodeId inside(const Node& read, const NodeList& coordinates, NodeId within, NodeId outside) {
        NodeList conditions;
        const std::vector<Size>& shape = request_.inputs[read.tensor()].shape;
        for (size_t d = 0; d < coordinates.size(); ++d)
            for (NodeId condition : terms_.inside(coordinates[d], shape[d]))
                add_condition(terms_, conditions, condition);
        const NodeId condition = all_of(terms_, conditions);
        return condition < 0 ? within : nodes_.select(condition, within, outside);
    }

    NodeId of_local(const Node& node) {
        const LocalId local = local_beside(node.local());
        const DType dtype = body_.local(local).dtype;
        return node.kind == Node::Kind::previous ? nodes_.previous(local, dtype, node.operands)
                                                 : nodes_.local(local, dtype, node.operands);
    }

    LocalId local_beside(LocalId of) {
        if (auto known = locals_.find(of); known != locals_.end()) return known->second;
        const Local from = body_.local(of);  // no state: these are there
        Local local{"t_" + from.name, type_of(from.dtype), from.variables, tangent(from.value)};
        const LocalId made = next_id<LocalId>(body_.locals);
        body_.locals.push_back(std::move(local));
        return locals_[of] = made;
    }

    NodeId of_reduce(const Node& node) {
        const DType dtype = type_of(node.dtype);
        if (is_empty(terms_, node)) return zero(dtype);
        // The terms' tangents are summed over variables of their own: what is asked of a term may run over all terms.
        Substitution own;
        VariableList variables;
        for (VariableId variable : node.variables) {
            const Variable from = terms_.body().variable(variable);
            variables.push_back(nodes_.add_variable(from.name, Variable::Kind::reduction, from.extent));
            own.variables[variable] = nodes_.variable(variables.back());
        }
        NodeId term = tangent(node.operands[0]);
        NodeList filter;
        if (node.operands.size() > 1) filter.push_back(node.operands[1]);
        if (node.reducer == Reducer::product) {
            term = nodes_.scalar(ScalarOp::multiply, {term, product_of_others(terms_, node)});
        } else if (node.reducer != Reducer::sum) {
            add_condition(terms_, filter, wins(terms_, node));
        }
        const NodeId condition = all_of(terms_, filter);
        return nodes_.reduce(Reducer::sum, dtype, std::move(variables), terms_.substitute(term, own),
                             condition < 0 ? NodeId(no_id) : terms_.substitute(condition, own));
    }

    const ForwardRequest& request_;
    Terms terms_;
    BodyNodes& nodes_;
    Body& body_;
    const size_t forward_locals_;
    const NodeList cut_;
    std::vector<bool> active_;  // by node of the forward body
    std::vector<bool> states_;  // by local of it: a state with a tangent
    std::map<NodeId, NodeId> tangents_;
    std::map<LocalId, LocalId> locals_;  // beside those of the forward body
};

}  // namespace

Result<Body> forward(const ForwardRequest& request) {
    if (request.body->nodes.size() > largest_forward) return fail(too_large(*request.body));
    Body body;
    Forward forward(request, body);
    if (forward.too_deep(deepest_body / 3)) return fail(too_large(*request.body));
    forward.run();
    if (body.nodes.size() > largest_body || forward.too_deep(deepest_body)) return fail(too_large(*request.body));
    return body;
}

}  // namespace heddle::gradient
