#include "gradient/reverse_body.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "gradient/derivatives.h"
#include "gradient/reverse_derivation.h"
#include "gradient/reverse_segments.h"
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

}  // namespace

Reverse::Reverse(const ReverseRequest& request, Body& body)
    : request_(request),
      forward_(*request.body),
      terms_(forward_, body, shapes_of(request)),
      nodes_(terms_.nodes()),
      body_(body),
      cut_(terms_.copied(request.cut)) {
    for (int32_t input : request.wanted) {
        Wanted& made = wanted_.emplace_back(Wanted{input, {}, {}, std::nullopt});
        const TensorType& type = request.inputs[static_cast<size_t>(input)];
        for (size_t d = 0; d < type.shape.size(); ++d) {
            made.targets.push_back(nodes_.add_variable(fmt::format("p{}", d), Variable::Kind::index, type.shape[d]));
            made.target_nodes.push_back(nodes_.variable(made.targets.back()));
        }
    }
}

bool Reverse::too_deep(int32_t most) const {
    const auto end = next_id<NodeId>(terms_.body().nodes);
    for (NodeId id(0); id < end; ++id)
        if (nodes_.depth(id) > most) return true;
    return false;
}

std::vector<BodyEquation> Reverse::run() {
    find_scans();
    NodeList values;
    for (const BodyEquation& equation : forward_.equations) values.push_back(after_scans(equation.value));
    find_active();
    for (size_t i = 0; i < values.size(); ++i) seed(forward_.equations[i], values[i], after_);
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
    return results();
}

std::vector<BodyEquation> Reverse::results() {
    std::vector<BodyEquation> equations;
    for (size_t i = 0; i < wanted_.size(); ++i) {
        const Wanted& one = wanted_[i];
        if (!one.result) continue;
        const DType dtype = request_.inputs[static_cast<size_t>(one.input)].dtype;
        equations.push_back(
            {static_cast<int32_t>(i), one.targets, one.target_nodes, nodes_.cast(value_of(*one.result), dtype)});
    }
    return equations;
}

Reverse::Wanted* Reverse::wanted(TensorIndex input) {
    auto found = std::ranges::find(wanted_, static_cast<int32_t>(static_cast<size_t>(input)), &Wanted::input);
    return found == wanted_.end() ? nullptr : &*found;
}

void Reverse::find_active() {
    active_ = reached(terms_, cut_, [&](const Node& node) {
        return node.is_read() ? wanted(node.tensor()) != nullptr : node.kind == Node::Kind::local;
    });
}

void Reverse::propagate_last() {
    auto found = std::prev(parts_.end());
    const NodeId id = found->first;
    Part part = found->second[0];
    for (size_t i = 1; i < found->second.size(); ++i) part = joined(terms_, part, found->second[i]);
    parts_.erase(found);
    propagate(id, part);
}

// Zero where a condition does not hold.
NodeId Reverse::value_of(const Part& part) {
    NodeId condition = all_of(terms_, part.conditions);
    if (condition < 0) return part.value;
    return nodes_.select(condition, part.value, nodes_.real(0, terms_.node(part.value).dtype, true));
}

// A long value that each point of a sum reads is worked out once in a step, for all points of `domain`.
Part Reverse::stored_in_step(const Part& part, std::span<const VariableId> domain) {
    if (!segments_ || !terms_.worth_storing(part.value)) return part;
    const NodeId value = value_of(part);
    std::vector<VariableId> axes;
    NodeList at;
    for (VariableId axis : domain) {
        if (axis == segments_->step() || !terms_.depends(value, axis)) continue;
        axes.push_back(axis);
        at.push_back(nodes_.variable(axis));
    }
    if (axes.empty()) return part;
    const DType dtype = terms_.node(value).dtype;
    return {{}, nodes_.local(terms_.stored(value, axes), dtype, std::move(at))};
}

// What an operand gets at every point of `domain`.
void Reverse::give(NodeId id, std::span<const VariableId> domain, NodeList conditions, NodeId value) {
    if (static_cast<size_t>(id) >= active_.size() || !active_[static_cast<size_t>(id)]) return;
    std::vector<VariableId> summed(domain.begin(), domain.end());
    if (segments_) std::erase(summed, segments_->step());
    parts_[id].push_back(gathered(terms_, {}, summed, terms_.free(id), {std::move(conditions), value}));
}

// `value`: the equation's, with what `by` says of the steps of its scans.
void Reverse::seed(const BodyEquation& equation, NodeId value, const Substitution& by) {
    const auto output = static_cast<size_t>(equation.output);
    if (!request_.given[output]) return;
    auto before = std::count(request_.given.begin(), request_.given.begin() + equation.output, true);
    const TensorIndex tensor(static_cast<int64_t>(request_.inputs.size()) + before);
    NodeList coordinates;
    for (NodeId left : equation.left) coordinates.push_back(terms_.substitute(terms_.copied(left), by));
    NodeId adjoint = nodes_.read(tensor, request_.outputs[output].dtype, std::move(coordinates));
    VariableList variables = equation.variables;
    for (VariableId& variable : variables)
        if (auto step = by.variables.find(variable); step != by.variables.end())
            variable = terms_.node(step->second).variable();
    give(value, variables, {}, nodes_.cast(adjoint, type_of(terms_.node(value).dtype)));
}

void Reverse::propagate(NodeId id, const Part& part) {
    const Node node = terms_.node(id);  // nodes are made below
    std::vector<VariableId> domain = terms_.free(id);
    if (segments_) {
        if (!terms_.depends(id, segments_->step())) return segments_->give_at_step(id, part);
        std::erase(domain, segments_->step());
    }
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
    case Node::Kind::guarded_read: return through_read(id, node, domain, part);
    case Node::Kind::local: return through_local(node, domain, part);
    case Node::Kind::reduce: return through_reduce(node, domain, part);
    default: return;
    }
}

// The element of an output that the node is, if it may be read; else itself.
NodeId Reverse::result_of(NodeId id) {
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

NodeList Reverse::with(NodeList conditions, NodeId condition) const {
    if (condition >= 0) add_condition(terms_, conditions, condition);
    return conditions;
}

void Reverse::through_scalar(NodeId id, const Node& node, std::span<const VariableId> domain, const Part& part) {
    for (size_t i = 0; i < node.operands.size(); ++i) {
        if (!active_[static_cast<size_t>(node.operands[i])]) continue;
        Share share = share_of(nodes_, id, i, part.value, result_of(id));
        give(node.operands[i], domain, with(part.conditions, share.condition), share.value);
    }
}

void Reverse::through_read(NodeId id, const Node& node, std::span<const VariableId> domain, const Part& part) {
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
    if (!wanted(node.tensor())) return;
    if (segments_) return segments_->give_at_step(id, part);
    gather_read(node, domain, part);
}

void Reverse::gather_read(const Node& node, std::span<const VariableId> domain, const Part& part) {
    Wanted& of = *wanted(node.tensor());
    add_result(of, part_of_input(of, node, domain, part));
}

void Reverse::add_result(Wanted& to, Part part) {
    to.result = to.result ? joined(terms_, *to.result, part) : std::move(part);
}

// What a read gives to each element of the input.
Part Reverse::part_of_input(const Wanted& of, const Node& read, std::span<const VariableId> domain, const Part& part) {
    const TensorType& type = request_.inputs[static_cast<size_t>(of.input)];
    std::vector<Equality> equalities;
    for (size_t d = 0; d < type.shape.size(); ++d)
        equalities.push_back({read.operands[d], of.target_nodes[d], type.shape[d].value()});
    return gathered(terms_, std::move(equalities), domain, {}, part);
}

void Reverse::through_local(const Node& node, std::span<const VariableId> domain, const Part& part) {
    const Local of = local(node);
    if (of.is_state()) return through_state(node, of, domain, part);
    const std::vector<VariableId> outer = terms_.outer(node.local());
    std::vector<Equality> equalities;
    for (size_t d = 0; d < of.variables.size(); ++d) {
        const VariableId variable = of.variables[d];
        equalities.push_back(
            {node.operands[d], nodes_.variable(variable), terms_.body().variable(variable).extent.value()});
    }
    Part one = gathered(terms_, std::move(equalities), domain, outer, part);
    std::vector<VariableId> points = outer;
    points.insert(points.end(), of.variables.begin(), of.variables.end());
    one = stored_in_step(one, points);
    give(of.value, points, std::move(one.conditions), one.value);
}

void Reverse::through_reduce(const Node& node, std::vector<VariableId> domain, const Part& whole) {
    if (is_empty(terms_, node)) return;
    const Part part = stored_in_step(whole, domain);
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

Result<Body> reverse(const ReverseRequest& request) {
    if (request.body->nodes.size() > largest_forward) return fail(too_large(*request.body));
    Body body;
    Reverse reverse(request, body);
    if (reverse.too_deep(deepest_body / 3)) return fail(too_large(*request.body));
    body.equations = reverse.run();
    if (body.nodes.size() > largest_body || reverse.too_deep(deepest_body)) return fail(too_large(*request.body));
    return body;
}

Result<std::optional<Body>> reverse_by_segments(const ReverseRequest& request) {
    if (request.body->nodes.size() > largest_forward) return fail(too_large(*request.body));
    Body body;
    Reverse reverse(request, body);
    if (reverse.too_deep(deepest_body / 3)) return fail(too_large(*request.body));
    auto equations = reverse.run_by_segments();
    if (!equations || body.nodes.size() > largest_body || reverse.too_deep(deepest_body)) return std::nullopt;
    body.equations = std::move(*equations);
    return body;
}

}  // namespace heddle::gradient
