// What a condition says about the variables in it.
#include "symbolic/projection_range.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "zspace/checked.h"

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

// Of two ends, of which one that is not known says nothing: an expression, since either may be it at some sizes.
Size lower(const Size& a, const Size& b) {
    constexpr int64_t unknown = INT64_MAX;
    return a.number() == unknown ? b : b.number() == unknown ? a : minimum(a, b);
}
Size higher(const Size& a, const Size& b) {
    constexpr int64_t unknown = INT64_MIN;
    return a.number() == unknown ? b : b.number() == unknown ? a : maximum(a, b);
}

// Cuts `range` to the v with  c * v + k  op  0,  c > 0.
void cut(Interval& range, ScalarOp op, int64_t c, const Size& k) {
    const bool far = k.number() == INT64_MIN;
    const Size below = far ? Size(INT64_MAX) : floor_divide(-k, c);  // greatest v with c v + k <= 0
    const Size above = far ? Size(INT64_MAX) : ceil_divide(-k, c);   // least v with c v + k >= 0
    bool divides = below == above;
    switch (op) {
    case ScalarOp::less: range.high = lower(range.high, above.number() == INT64_MIN ? above : above - 1); break;
    case ScalarOp::less_equal: range.high = lower(range.high, below); break;
    case ScalarOp::greater: range.low = higher(range.low, below.number() == INT64_MAX ? below : below + 1); break;
    case ScalarOp::greater_equal: range.low = higher(range.low, above); break;
    case ScalarOp::equal:
        if (!divides)
            range = {0, -1};
        else
            range = {higher(range.low, above), lower(range.high, below)};
        break;
    default:  // not_equal takes an end away
        if (divides && range.low == above) ++range.low;
        if (divides && range.high == above) --range.high;
    }
}

}  // namespace

std::optional<VariableRegion> RangeEvaluator::narrowed(NodeId condition, bool holds) {
    VariableRegion region = region_;
    return narrow(condition, holds, region) ? std::optional(std::move(region)) : std::nullopt;
}

bool RangeEvaluator::narrow(NodeId condition, bool holds, VariableRegion& region) {
    const Node& node = body_.node(condition);
    if (node.kind == Node::Kind::select &&
        is_bool(node.dtype)) {  // a && b whose b is lazy; !(a && b) says nothing of one
        const Node& otherwise = body_.node(node.operands[2]);
        if (!holds || otherwise.kind != Node::Kind::integer || otherwise.integer != 0) return false;
        bool first = narrow(node.operands[0], true, region);
        return narrow(node.operands[1], true, region) || first;
    }
    if (node.kind != Node::Kind::scalar) return false;
    if (node.op == ScalarOp::logical_not) return narrow(node.operands[0], !holds, region);
    if ((node.op == ScalarOp::logical_and && holds) || (node.op == ScalarOp::logical_or && !holds)) {
        bool first = narrow(node.operands[0], holds, region);
        return narrow(node.operands[1], holds, region) || first;
    }
    if (info(node.op).kind != ScalarClass::comparison) return false;
    const ValueRange a = of(node.operands[0]), b = of(node.operands[1]);
    if (a.kind != ValueRange::Kind::integer) return false;
    const ScalarOp op = holds ? node.op : opposite(node.op);
    if (!a.affine || !b.affine) {
        const bool first = !a.affine && narrow_value(node.operands[0], op, b.interval, region);
        return (!b.affine && narrow_value(node.operands[1], mirrored(op), a.interval, region)) || first;
    }
    auto difference = linear_sum(*a.affine, *b.affine, -1);
    return difference && narrow(std::move(*difference), op, region);
}

// A value that is no form of variables, by itself: it is `op` of some number of `bound`.
bool RangeEvaluator::narrow_value(NodeId id, ScalarOp op, const Interval& bound, VariableRegion& region) {
    Interval values = of(id).interval;
    const Interval before = values;
    switch (op) {
    case ScalarOp::less:
        if (bound.known_high()) values.high = std::min(values.high, bound.high - 1);
        break;
    case ScalarOp::less_equal: values.high = std::min(values.high, bound.high); break;
    case ScalarOp::greater:
        if (bound.known_low()) values.low = std::max(values.low, bound.low + 1);
        break;
    case ScalarOp::greater_equal: values.low = std::max(values.low, bound.low); break;
    case ScalarOp::equal: values = intersection(values, bound); break;
    default: break;
    }
    if (values == before) return false;
    const auto known = std::ranges::find(region.values, id, &std::pair<NodeId, Interval>::first);
    if (known == region.values.end())
        region.values.emplace_back(id, values);
    else
        known->second = intersection(known->second, values);
    return true;
}

// difference op 0
bool RangeEvaluator::narrow(LinearForm<VariableId> difference, ScalarOp op, VariableRegion& region) {
    auto is_lowest = [](const auto& term) { return term.second.number() == INT64_MIN; };
    if (difference.terms.empty() || std::ranges::any_of(difference.terms, is_lowest)) return false;
    if (difference.terms[0].second < 0) {
        auto negated = linear_sum({}, difference, -1);
        if (!negated) return false;
        difference = std::move(*negated);
        op = mirrored(op);
    }
    int64_t factor = 0;
    for (const auto& [variable, coefficient] : difference.terms) factor = std::gcd(factor, coefficient.factor());
    const Size constant = std::exchange(difference.constant, 0);
    for (auto& [variable, coefficient] : difference.terms) coefficient = floor_divide(coefficient, factor);
    if (difference.terms.size() == 1 && difference.terms[0].second.same_as(1)) {
        cut(region.ranges[static_cast<size_t>(difference.terms[0].first)], op, factor, constant);
        return true;
    }
    auto sum = std::ranges::find(region.sums, difference, &VariableRegion::Sum::form);
    if (sum == region.sums.end()) {
        if (region.sums.size() == VariableRegion::most_sums) return false;
        sum = region.sums.insert(sum, {difference, interval(difference)});
    }
    cut(sum->values, op, factor, constant);
    return true;
}

}  // namespace heddle
