#include "gradient/derivatives.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gradient/gather.h"
#include "gradient/scalar_rules.h"

namespace heddle::gradient {
namespace {

NodeId row_major(Terms& terms, std::span<const VariableId> variables) {
    NodeId number = terms.number(0);
    for (VariableId variable : variables) {
        const NodeId rows =
            terms.scalar(ScalarOp::multiply, {number, terms.size(terms.body().variable(variable).extent)});
        number = terms.scalar(ScalarOp::add, {rows, terms.nodes().variable(variable)});
    }
    return number;
}

// The term of a reduction, `worst` where the filter leaves it out: an order of no terms would be an error, also where
// nothing asks for it. Who wins where all terms that count are `worst` is no matter of derivatives.
NodeId among_all(Terms& terms, const Node& reduction, double worst) {
    const NodeId term = reduction.operands[0];
    if (reduction.operands.size() == 1) return term;
    const NodeId other = terms.nodes().real(worst, terms.node(term).dtype, true);
    return terms.nodes().select(reduction.operands[1], term, other);
}

}  // namespace

std::vector<bool> reached(const Terms& terms, const NodeList& cut, const std::function<bool(const Node&)>& source) {
    std::vector<bool> active(terms.body().nodes.size());
    for (NodeId id(0); id < next_id<NodeId>(active); ++id) {
        const Node& node = terms.node(id);
        auto is_active = [&](NodeId of) { return bool(active[static_cast<size_t>(of)]); };
        if (!is_float(node.dtype) || std::ranges::find(cut, id) != cut.end()) continue;
        bool here = false;
        switch (node.kind) {
        case Node::Kind::scalar: here = has_derivative(node.op) && std::ranges::any_of(node.operands, is_active); break;
        case Node::Kind::cast:
        case Node::Kind::reduce: here = is_active(node.operands[0]); break;
        case Node::Kind::select: here = is_active(node.operands[1]) || is_active(node.operands[2]); break;
        case Node::Kind::read:
        case Node::Kind::previous: here = source(node); break;
        case Node::Kind::guarded_read: here = source(node) || is_active(node.operands.back()); break;
        case Node::Kind::local: {
            const Local& local = terms.body().local(node.local());
            here = local.is_state() ? source(node) : is_active(local.value);
            break;
        }
        default: break;
        }
        active[static_cast<size_t>(id)] = here;
    }
    return active;
}

NodeId wins(Terms& terms, const Node& reduction) {
    const bool least = reduction.reducer == Reducer::minimum;
    const NodeId winner =
        terms.nodes().reduce(least ? Reducer::argument_minimum : Reducer::argument_maximum, DType::int64,
                             reduction.variables, among_all(terms, reduction, least ? INFINITY : -INFINITY), no_id);
    return terms.scalar(ScalarOp::equal, {winner, row_major(terms, reduction.variables)});
}

NodeId product_of_others(Terms& terms, const Node& reduction) {
    Substitution other;
    VariableList variables;
    for (VariableId variable : reduction.variables) {
        const Variable from = terms.body().variable(variable);
        variables.push_back(terms.nodes().add_variable(from.name, Variable::Kind::reduction, from.extent));
        other.variables[variable] = terms.nodes().variable(variables.back());
    }
    const NodeId self = row_major(terms, reduction.variables);
    NodeList filter = {terms.scalar(ScalarOp::not_equal, {row_major(terms, variables), self})};
    if (reduction.operands.size() > 1) add_condition(terms, filter, terms.substitute(reduction.operands[1], other));
    const NodeId term = terms.substitute(reduction.operands[0], other);
    return terms.nodes().reduce(Reducer::product, reduction.dtype, std::move(variables), term, all_of(terms, filter));
}

bool is_empty(const Terms& terms, const Node& reduction) {
    return std::ranges::any_of(reduction.variables,
                               [&](VariableId variable) { return terms.body().variable(variable).extent.value() == 0; });
}

Diagnostic too_large(const Body& forward) {
    return {.code = "gradient.limit",
            .summary = "a body is too large or too deep to be derived",
            .expected = fmt::format("at most {} nodes, and {} one below the other", largest_forward, deepest_body / 3),
            .found = fmt::format("{} nodes", forward.nodes.size()),
            .remedy = "write it as several operators"};
}

}  // namespace heddle::gradient
