#include "gradient/reverse_body.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "gradient/gather.h"
#include "gradient/scalar_rules.h"

namespace heddle::gradient {
namespace {

std::vector<std::vector<int64_t>> shapes_of(const ReverseRequest& request) {
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorType& type : request.inputs) shapes.push_back(type.extents());
    for (size_t i = 0; i < request.outputs.size(); ++i)
        if (request.given[i]) shapes.push_back(request.outputs[i].extents());
    return shapes;
}

class Reverse {
public:
    Reverse(const ReverseRequest& request, Body& body)
        : request_(request),
          forward_(*request.body),
          terms_(forward_, body, shapes_of(request)),
          nodes_(terms_.nodes()),
          count_(static_cast<NodeId>(body.nodes.size())) {
        const TensorType& wanted = request.inputs[static_cast<size_t>(request.wanted)];
        for (size_t d = 0; d < wanted.shape.size(); ++d) {
            targets_.push_back(nodes_.add_variable(fmt::format("p{}", d), Variable::Kind::index, wanted.shape[d]));
            target_nodes_.push_back(nodes_.variable(targets_.back()));
        }
    }

    bool too_deep(int32_t most) const {
        for (NodeId id = 0; id < static_cast<NodeId>(terms_.body().nodes.size()); ++id)
            if (nodes_.depth(id) > most) return true;
        return false;
    }

    // The equation, or none if the adjoint is zero.
    std::optional<BodyEquation> run() {
        find_active();
        for (const BodyEquation& equation : forward_.equations) seed(equation);
        for (NodeId id = count_; id-- > 0;) {
            auto found = parts_.find(id);
            if (found == parts_.end()) continue;
            Part part = found->second[0];
            for (size_t i = 1; i < found->second.size(); ++i) part = joined(terms_, part, found->second[i]);
            parts_.erase(found);
            propagate(id, part);
        }
        if (!result_) return std::nullopt;
        const DType dtype = request_.inputs[static_cast<size_t>(request_.wanted)].dtype;
        NodeId value = result_->value, condition = all_of(terms_, result_->conditions);
        if (condition >= 0) value = nodes_.select(condition, value, nodes_.real(0, terms_.node(value).dtype, true));
        return BodyEquation{0, targets_, target_nodes_, nodes_.cast(value, dtype)};
    }

private:
    static DType type_of(DType dtype) { return info(dtype).arithmetic; }

    // Nodes through which the wanted input reaches a result with a derivative.
    void find_active() {
        active_.resize(static_cast<size_t>(count_));
        for (NodeId id = 0; id < count_; ++id) {
            const Node& node = terms_.node(id);
            auto operand = [&](size_t i) { return bool(active_[static_cast<size_t>(node.operands[i])]); };
            if (!is_float(node.dtype)) continue;
            bool active = false;
            switch (node.kind) {
            case Node::Kind::scalar:
                for (size_t i = 0; i < node.operands.size(); ++i) active = active || operand(i);
                active = active && has_derivative(node.op);
                break;
            case Node::Kind::cast:
            case Node::Kind::reduce: active = operand(0); break;
            case Node::Kind::select: active = operand(1) || operand(2); break;
            case Node::Kind::read: active = node.index == request_.wanted; break;
            case Node::Kind::guarded_read:
                active = node.index == request_.wanted || operand(node.operands.size() - 1);
                break;
            case Node::Kind::local: active = active_[static_cast<size_t>(local(node).value)]; break;
            default: break;
            }
            active_[static_cast<size_t>(id)] = active;
        }
    }

    const Local& local(const Node& node) const { return terms_.body().locals[static_cast<size_t>(node.index)]; }

    // What an operand gets at every point of `domain`.
    void give(NodeId id, const std::vector<VariableId>& domain, std::vector<NodeId> conditions, NodeId value) {
        if (!active_[static_cast<size_t>(id)]) return;
        parts_[id].push_back(gathered(terms_, {}, domain, terms_.free(id), {std::move(conditions), value}));
    }

    void seed(const BodyEquation& equation) {
        const auto output = static_cast<size_t>(equation.output);
        if (!request_.given[output]) return;
        auto before = std::count(request_.given.begin(), request_.given.begin() + equation.output, true);
        auto tensor = static_cast<int32_t>(request_.inputs.size()) + static_cast<int32_t>(before);
        std::vector<NodeId> coordinates;
        for (NodeId left : equation.left) coordinates.push_back(terms_.copied(left));
        NodeId adjoint = nodes_.read(tensor, request_.outputs[output].dtype, std::move(coordinates));
        NodeId value = terms_.copied(equation.value);
        give(value, equation.variables, {}, nodes_.cast(adjoint, type_of(terms_.node(value).dtype)));
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

    std::vector<NodeId> with(std::vector<NodeId> conditions, NodeId condition) const {
        if (condition >= 0) add_condition(terms_, conditions, condition);
        return conditions;
    }

    void through_scalar(NodeId id, const Node& node, const std::vector<VariableId>& domain, const Part& part) {
        for (size_t i = 0; i < node.operands.size(); ++i) {
            if (!active_[static_cast<size_t>(node.operands[i])]) continue;
            Share share = share_of(nodes_, id, i, part.value);
            give(node.operands[i], domain, with(part.conditions, share.condition), share.value);
        }
    }

    void through_read(const Node& node, const std::vector<VariableId>& domain, const Part& part) {
        const bool guarded = node.kind == Node::Kind::guarded_read;
        const std::vector<int64_t> extents = request_.inputs[static_cast<size_t>(node.index)].extents();
        if (guarded && active_[static_cast<size_t>(node.operands.back())]) {
            std::vector<NodeId> within;
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

    void through_local(const Node& node, const std::vector<VariableId>& domain, const Part& part) {
        const Local of = local(node);
        const std::vector<VariableId> outer = terms_.outer(node.index);
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
        const NodeId term = node.operands[0], filter = node.operands.size() > 1 ? node.operands[1] : -1;
        domain.insert(domain.end(), node.variables.begin(), node.variables.end());
        std::vector<NodeId> conditions = with(part.conditions, filter);
        switch (node.reducer) {
        case Reducer::sum: return give(term, domain, std::move(conditions), part.value);
        case Reducer::product: {
            NodeId value = nodes_.scalar(ScalarOp::multiply, {part.value, product_of_others(node)});
            return give(term, domain, std::move(conditions), value);
        }
        case Reducer::minimum:
        case Reducer::maximum: {
            const bool least = node.reducer == Reducer::minimum;
            NodeId winner = nodes_.reduce(least ? Reducer::argument_minimum : Reducer::argument_maximum, DType::int64,
                                          node.variables, term, filter);
            NodeId wins = nodes_.scalar(ScalarOp::equal, {winner, row_major(node.variables)});
            return give(term, domain, with(std::move(conditions), wins), part.value);
        }
        default: return;  // not of a float type
        }
    }

    NodeId row_major(const std::vector<VariableId>& variables) {
        NodeId number = terms_.number(0);
        for (VariableId variable : variables) {
            NodeId extent = terms_.size(terms_.body().variable(variable).extent);
            number = nodes_.scalar(ScalarOp::add,
                                   {nodes_.scalar(ScalarOp::multiply, {number, extent}), nodes_.variable(variable)});
        }
        return number;
    }

    // A second product, without the term itself: right also where terms are zero.
    NodeId product_of_others(const Node& node) {
        Substitution other;
        std::vector<VariableId> variables;
        for (VariableId variable : node.variables) {
            const Variable from = terms_.body().variable(variable);
            variables.push_back(nodes_.add_variable(from.name, Variable::Kind::reduction, from.extent));
            other.variables[variable] = nodes_.variable(variables.back());
        }
        std::vector<NodeId> filter = {
            nodes_.scalar(ScalarOp::not_equal, {row_major(variables), row_major(node.variables)})};
        if (node.operands.size() > 1) add_condition(terms_, filter, terms_.substitute(node.operands[1], other));
        NodeId term = terms_.substitute(node.operands[0], other);
        return nodes_.reduce(Reducer::product, node.dtype, std::move(variables), term, all_of(terms_, filter));
    }

    const ReverseRequest& request_;
    const Body& forward_;
    Terms terms_;
    BodyNodes& nodes_;
    const NodeId count_;  // of the forward body's nodes
    std::vector<VariableId> targets_;
    std::vector<NodeId> target_nodes_;
    std::vector<bool> active_;
    std::map<NodeId, std::vector<Part>> parts_;  // of adjoints that are not complete yet
    std::optional<Part> result_;
};

Diagnostic limit(size_t found) {
    return {.code = "gradient.limit",
            .summary = "a body is too large or too deep to be derived",
            .expected = fmt::format("at most {} nodes, and {} one below the other", largest_forward, deepest_body / 3),
            .found = fmt::format("{} nodes", found),
            .remedy = "write it as several operators"};
}

}  // namespace

Result<Body> reverse(const ReverseRequest& request) {
    const size_t size = request.body->nodes.size();
    if (size > largest_forward) return fail(limit(size));
    Body body;
    Reverse reverse(request, body);
    if (reverse.too_deep(deepest_body / 3)) return fail(limit(size));
    auto equation = reverse.run();
    if (equation) body.equations.push_back(std::move(*equation));
    if (body.nodes.size() > largest_body || reverse.too_deep(deepest_body)) return fail(limit(size));
    return body;
}

}  // namespace heddle::gradient
