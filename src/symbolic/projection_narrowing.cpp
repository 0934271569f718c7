// What a condition says about the variables in it.
#include "symbolic/projection_range.h"

#include <algorithm>

#include "zspace/checked.h"
#include "zspace/linear_sum.h"

namespace heddle {
namespace {


// The comparison that holds where `op` does not.
ScalarOp opposite(ScalarOp op) {
    switch (op) {
    case ScalarOp::less: return ScalarOp::greater_equal;
    case ScalarOp::less_equal: return ScalarOp::greater;
    case ScalarOp::greater: return ScalarOp::less_equal;
    case ScalarOp::greater_equal: return ScalarOp::less;
    case ScalarOp::equal: return ScalarOp::not_equal;
    default: return ScalarOp::equal;
    }
}

// The comparison of b with a that says the same as `op` of a with b.
ScalarOp mirrored(ScalarOp op) {
    switch (op) {
    case ScalarOp::less: return ScalarOp::greater;
    case ScalarOp::less_equal: return ScalarOp::greater_equal;
    case ScalarOp::greater: return ScalarOp::less;
    case ScalarOp::greater_equal: return ScalarOp::less_equal;
    default: return op;
    }
}

// Cuts `range` to the v with  c * v + k  op  0,  c > 0.
void cut(ValueInterval& range, ScalarOp op, int64_t c, int64_t k) {
    int64_t below = k == lowest ? highest : floor_divide(-k, c);  // greatest v with c v + k <= 0
    int64_t above = k == lowest ? highest : ceil_divide(-k, c);   // least v with c v + k >= 0
    bool divides = below == above;
    switch (op) {
    case ScalarOp::less: range.high = std::min(range.high, above == lowest ? lowest : above - 1); break;
    case ScalarOp::less_equal: range.high = std::min(range.high, below); break;
    case ScalarOp::greater: range.low = std::max(range.low, below == highest ? highest : below + 1); break;
    case ScalarOp::greater_equal: range.low = std::max(range.low, above); break;
    case ScalarOp::equal:
        if (!divides)
            range = {0, -1};
        else
            range = {std::max(range.low, above), std::min(range.high, below)};
        break;
    default:  // not_equal takes an end away
        if (divides && range.low == above) ++range.low;
        if (divides && range.high == above) --range.high;
    }
}

}  // namespace

std::optional<VariableRanges> RangeEvaluator::narrowed(NodeId condition, bool holds) {
    VariableRanges ranges = ranges_;
    return narrow(condition, holds, ranges) ? std::optional(std::move(ranges)) : std::nullopt;
}

bool RangeEvaluator::narrow(NodeId condition, bool holds, VariableRanges& ranges) {
    const Node& node = body_.node(condition);
    if (node.kind == Node::Kind::select &&
        is_bool(node.dtype)) {  // a && b whose b is lazy; !(a && b) says nothing of one
        const Node& otherwise = body_.node(node.operands[2]);
        if (!holds || otherwise.kind != Node::Kind::integer || otherwise.integer != 0) return false;
        bool first = narrow(node.operands[0], true, ranges);
        return narrow(node.operands[1], true, ranges) || first;
    }
    if (node.kind != Node::Kind::scalar) return false;
    if (node.op == ScalarOp::logical_not) return narrow(node.operands[0], !holds, ranges);
    if ((node.op == ScalarOp::logical_and && holds) || (node.op == ScalarOp::logical_or && !holds)) {
        bool first = narrow(node.operands[0], holds, ranges);
        return narrow(node.operands[1], holds, ranges) || first;
    }
    if (info(node.op).kind != ScalarClass::comparison) return false;
    const ValueRange a = of(node.operands[0]), b = of(node.operands[1]);
    if (!a.affine || !b.affine) return false;
    auto difference = linear_sum(*a.affine, *b.affine, -1);
    if (!difference || difference->terms.size() != 1) return false;
    auto [variable, coefficient] = difference->terms[0];
    ScalarOp op = holds ? node.op : opposite(node.op);
    if (coefficient < 0) {
        if (coefficient == lowest || difference->constant == lowest) return false;
        coefficient = -coefficient;
        difference->constant = -difference->constant;
        op = mirrored(op);
    }
    cut(ranges[static_cast<size_t>(variable)], op, coefficient, difference->constant);
    return true;
}

}  // namespace heddle
