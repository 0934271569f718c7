// Nodes at single points, and the variables that they depend on.
#include "symbolic/projection_range.h"

#include <algorithm>
#include <set>

#include "zspace/checked.h"

namespace heddle {
namespace {

class PointEvaluator {
public:
    PointEvaluator(const Body& body, const std::vector<int64_t>& point) : body_(body), point_(point) {}

    std::optional<int64_t> of(NodeId id) {
        if (const auto* known = known_.find(id)) return *known;
        return known_.insert(id, evaluate(body_.node(id)));
    }

private:
    std::optional<int64_t> evaluate(const Node& node) {
        switch (node.kind) {
        case Node::Kind::integer: return node.integer.value();
        case Node::Kind::variable: return point_[static_cast<size_t>(node.index)];
        case Node::Kind::cast: return is_whole(body_.node(node.operands[0]).dtype) ? fitting(of(node.operands[0]), node.dtype)
                                                                                   : std::nullopt;
        case Node::Kind::local: return body_.local(node.local()).is_state() ? std::nullopt : element(node);
        case Node::Kind::select: {
            auto condition = of(node.operands[0]);
            return condition ? of(node.operands[*condition != 0 ? 1 : 2]) : std::nullopt;
        }
        case Node::Kind::scalar: return scalar(node);
        default: return std::nullopt;
        }
    }

    std::optional<int64_t> scalar(const Node& node) {
        auto a = of(node.operands[0]);
        std::optional<int64_t> b = node.operands.size() > 1 ? of(node.operands[1]) : 0;
        if (!a || !b || !is_whole(body_.node(node.operands[0]).dtype)) return std::nullopt;
        bool divisible = *b != 0 && !(*a == lowest && *b == -1);
        switch (node.op) {
        case ScalarOp::add: return fitting(checked_add(*a, *b), node.dtype);
        case ScalarOp::subtract: return fitting(checked_subtract(*a, *b), node.dtype);
        case ScalarOp::multiply: return fitting(checked_multiply(*a, *b), node.dtype);
        case ScalarOp::floor_divide: return divisible ? std::optional(floor_divide(*a, *b)) : std::nullopt;
        case ScalarOp::modulo: return divisible ? std::optional(floor_modulo(*a, *b)) : std::nullopt;
        case ScalarOp::minimum: return std::min(*a, *b);
        case ScalarOp::maximum: return std::max(*a, *b);
        case ScalarOp::negate: return fitting(checked_subtract(0, *a), node.dtype);
        case ScalarOp::absolute: return fitting(*a < 0 ? checked_subtract(0, *a) : a, node.dtype);
        case ScalarOp::equal: return *a == *b;
        case ScalarOp::not_equal: return *a != *b;
        case ScalarOp::less: return *a < *b;
        case ScalarOp::less_equal: return *a <= *b;
        case ScalarOp::greater: return *a > *b;
        case ScalarOp::greater_equal: return *a >= *b;
        case ScalarOp::logical_and: return *a != 0 && *b != 0;
        case ScalarOp::logical_or: return *a != 0 || *b != 0;
        case ScalarOp::logical_not: return *a == 0;
        default: {  // bits: of a negative number of fewer than 64 they are others
            const auto bits = info(node.op).integer;
            const bool same = node.dtype == DType::int64 || (*a >= 0 && *b >= 0);
            return bits && same ? fitting(bits(*a, *b), node.dtype) : std::nullopt;
        }
        }
    }

    static bool is_whole(DType dtype) { return is_bool(dtype) || (is_integer(dtype) && dtype != DType::uint64); }

    // Nothing where it wraps.
    static std::optional<int64_t> fitting(std::optional<int64_t> value, DType dtype) {
        const bool fits = value && is_whole(dtype) && holds(dtype, Interval::point(*value));
        return fits ? value : std::nullopt;
    }

    // Of a local array.
    std::optional<int64_t> element(const Node& node) {
        const Local& local = body_.local(node.local());
        std::vector<int64_t> inner = point_;
        for (size_t d = 0; d < node.operands.size(); ++d) {
            const auto at = of(node.operands[d]);
            if (!at || *at < 0 || *at >= body_.extent(local, d)) return std::nullopt;
            inner[static_cast<size_t>(local.variables[d])] = *at;
        }
        return PointEvaluator(body_, inner).of(local.value);
    }

    const Body& body_;
    const std::vector<int64_t>& point_;
    NodeMap<std::optional<int64_t>> known_;
};

void collect_free(const Body& body, NodeId id, std::set<VariableId>& free, std::set<VariableId>& bound,
                  std::set<NodeId>& seen) {
    if (!seen.insert(id).second) return;
    const Node& node = body.node(id);
    if (node.kind == Node::Kind::variable) free.insert(node.variable());
    const bool is_local = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
    // A state uses no variables but its own, which its axes may share with others.
    if (is_local && body.local(node.local()).is_state()) {
        if (node.kind == Node::Kind::previous) free.insert(body.local(node.local()).variables[0]);
    } else if (is_local) {
        const Local& local = body.local(node.local());
        bound.insert(local.variables.begin(), local.variables.end());
        collect_free(body, local.value, free, bound, seen);
    }
    bound.insert(node.variables.begin(), node.variables.end());
    for (NodeId operand : node.operands) collect_free(body, operand, free, bound, seen);
}

}  // namespace

std::optional<int64_t> value_at(const Body& body, NodeId id, const std::vector<int64_t>& point) {
    return PointEvaluator(body, point).of(id);
}

std::vector<VariableId> variables_of(const Body& body, NodeId id) {
    // Every binder has variables of its own, so that a variable is either bound below `id` or free in it.
    std::set<VariableId> free, bound;
    std::set<NodeId> seen;
    collect_free(body, id, free, bound, seen);
    std::vector<VariableId> result;
    for (VariableId variable : free)
        if (!bound.contains(variable)) result.push_back(variable);
    return result;
}

}  // namespace heddle
