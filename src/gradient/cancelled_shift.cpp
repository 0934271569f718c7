#include "gradient/cancelled_shift.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "graph/verify.h"

namespace heddle::gradient {
namespace {

constexpr size_t most_extremes = 16;  // that are asked of one body: each of them asks all of its nodes

// What a value becomes where t is added to the extreme.
struct Law {
    enum class Kind : uint8_t {
        unknown,
        shifted,   // v + by * t; by 0, it does not depend on the extreme
        scaled,    // v * exp(by * t), by not 0
        zero,      // stays, whatever it is scaled by
        infinite,  // stays, whatever is added to it
    };
    Kind kind = Kind::unknown;
    double by = 0;

    bool stays() const { return kind > Kind::scaled || (kind == Kind::shifted && by == 0); }
    // As an exponent of exp(t).
    std::optional<double> scale() const {
        if (kind == Kind::scaled) return by;
        return kind == Kind::shifted && by == 0 ? std::optional(0.0) : std::nullopt;
    }
};

using Kind = Law::Kind;
constexpr Law unknown{}, invariant{Kind::shifted, 0};

bool same(double a, double b) { return std::fabs(a - b) < 1e-12; }

// Factors of logarithms are rounded: what is nearly nothing is nothing.
Law shifted(double by) { return {Kind::shifted, same(by, 0) ? 0 : by}; }
Law scaled(double by) { return same(by, 0) ? invariant : Law{Kind::scaled, by}; }

// Of one value or the other, and of a comparison's two sides.
Law either(const Law& a, const Law& b) {
    if (a.kind == Kind::infinite || b.kind == Kind::infinite) return a.kind == Kind::infinite ? b : a;
    if (a.kind == Kind::zero && (b.kind == Kind::zero || b.scale())) return b;
    if (b.kind == Kind::zero && a.scale()) return a;
    return a.kind == b.kind && same(a.by, b.by) ? a : unknown;
}

Law sum(const Law& a, const Law& b) {
    if (a.kind == Kind::infinite || b.kind == Kind::infinite) return {Kind::infinite};
    if (a.kind == Kind::zero || b.kind == Kind::zero) return a.kind == Kind::zero ? b : a;
    if (a.kind == Kind::shifted && b.kind == Kind::shifted) return shifted(a.by + b.by);
    return either(a, b);
}

Law negated(const Law& a) { return a.kind == Kind::shifted ? shifted(-a.by) : a; }

Law power_of(const Law& a, double exponent) {
    return a.kind == Kind::zero ? a : a.scale() ? scaled(exponent * *a.scale()) : unknown;
}

Law exponential(const Law& a, double base) {
    return a.kind == Kind::shifted ? scaled(a.by * base) : a.stays() ? invariant : unknown;
}

Law logarithm(const Law& a, double base) {
    return a.kind == Kind::zero ? Law{Kind::infinite} : a.scale() ? shifted(*a.scale() / base) : unknown;
}

class Laws {
public:
    Laws(const Body& body, const FreeVariables& free, NodeId extreme)
        : body_(body), free_(free), extreme_(extreme), laws_(body.nodes.size()) {}

    bool cancels() {
        for (NodeId id(0); id < next_id<NodeId>(laws_); ++id) laws_[static_cast<size_t>(id)] = law_of(id);
        // States of scans were taken to stay: they do if their values do.
        for (const Local& local : body_.locals)
            if (local.is_state() && !(of(local.value).stays() && of(local.initial).stays())) return false;
        return std::ranges::all_of(body_.equations, [&](const BodyEquation& equation) {
            return of(equation.value).stays() &&
                   std::ranges::all_of(equation.left, [&](NodeId at) { return of(at).stays(); });
        });
    }

private:
    Law of(NodeId id) const { return laws_[static_cast<size_t>(id)]; }

    Law law_of(NodeId id) {
        if (id == extreme_) return shifted(1);
        const Node& node = body_.node(id);
        const bool all_stay = std::ranges::all_of(node.operands, [&](NodeId operand) { return of(operand).stays(); });
        switch (node.kind) {
        case Node::Kind::real:
            if (node.real == 0) return {Kind::zero};
            return std::isinf(node.real) ? Law{Kind::infinite} : invariant;
        case Node::Kind::local: return all_stay ? of_local(body_.local(node.local())) : unknown;
        case Node::Kind::scalar: return of_scalar(node, all_stay);
        case Node::Kind::cast: return is_float(node.dtype) || all_stay ? of(node.operands[0]) : unknown;
        case Node::Kind::select:
            return of(node.operands[0]).stays() ? either(of(node.operands[1]), of(node.operands[2])) : unknown;
        case Node::Kind::reduce: return of_reduction(node, all_stay);
        default: return all_stay ? invariant : unknown;
        }
    }

    // Elsewhere the extreme is another one.
    bool is_elsewhere(const VariableList& variables) const { return free_.meets(extreme_, variables); }

    Law of_local(const Local& local) {
        if (local.is_state()) return invariant;
        const Law value = of(local.value);
        return value.stays() || !is_elsewhere(local.variables) ? value : unknown;
    }

    Law of_reduction(const Node& node, bool all_stay) {
        if (all_stay) return node.reducer == Reducer::sum ? of(node.operands[0]) : invariant;
        if (is_elsewhere(node.variables) || (node.operands.size() > 1 && !of(node.operands[1]).stays())) return unknown;
        const Law term = of(node.operands[0]);
        switch (node.reducer) {
        case Reducer::sum: return term.scale() ? term : unknown;
        case Reducer::minimum:
        case Reducer::maximum: return term;
        case Reducer::argument_minimum:
        case Reducer::argument_maximum: return term.kind == Kind::unknown ? unknown : invariant;
        default: return unknown;
        }
    }

    Law of_scalar(const Node& node, bool all_stay) const {
        const Law a = of(node.operands[0]), b = of(node.operands.back());
        switch (node.op) {
        case ScalarOp::add: return sum(a, b);
        case ScalarOp::subtract: return sum(a, negated(b));
        case ScalarOp::negate: return negated(a);
        case ScalarOp::multiply: return product(node, a, b);
        case ScalarOp::divide: return product(node, a, power_of(b, -1));
        case ScalarOp::minimum:
        case ScalarOp::maximum: return either(a, b);
        case ScalarOp::absolute: return a.kind == Kind::scaled ? a : all_stay ? invariant : unknown;
        case ScalarOp::sqrt: return power_of(a, 0.5);
        case ScalarOp::rsqrt: return a.kind == Kind::zero ? invariant : power_of(a, -0.5);
        case ScalarOp::reciprocal: return a.kind == Kind::zero ? invariant : power_of(a, -1);
        case ScalarOp::exp: return exponential(a, 1);
        case ScalarOp::exp2: return exponential(a, std::numbers::ln2);
        case ScalarOp::log: return logarithm(a, 1);
        case ScalarOp::log2: return logarithm(a, std::numbers::ln2);
        default: break;
        }
        if (info(node.op).kind == ScalarClass::comparison && either(a, b).kind != Kind::unknown) return invariant;
        return all_stay ? invariant : unknown;
    }

    Law product(const Node& node, const Law& a, const Law& b) const {
        if (a.kind == Kind::zero || b.kind == Kind::zero)
            return a.kind == Kind::unknown || b.kind == Kind::unknown ? unknown : Law{Kind::zero};
        if (a.scale() && b.scale()) return scaled(*a.scale() + *b.scale());
        // Something shifted, times a number.
        const Node& factor = body_.node(node.operands.back());
        const Node& first = body_.node(node.operands[0]);
        if (a.kind == Kind::shifted && factor.kind == Node::Kind::real)
            return shifted(a.by * (node.op == ScalarOp::divide ? 1 / factor.real : factor.real));
        if (b.kind == Kind::shifted && first.kind == Node::Kind::real && node.op == ScalarOp::multiply)
            return shifted(b.by * first.real);
        return a.stays() && b.stays() ? invariant : unknown;
    }

    const Body& body_;
    const FreeVariables& free_;
    const NodeId extreme_;
    std::vector<Law> laws_;
};

}  // namespace

NodeList cancelled_shifts(const Body& body) {
    std::vector<bool> is_extreme(body.nodes.size());
    NodeList extremes, cancelled;
    for (NodeId id(0); id < next_id<NodeId>(body.nodes); ++id) {
        const Node& node = body.node(id);
        if (!is_float(node.dtype)) continue;
        const bool reduces =
            node.kind == Node::Kind::reduce && (node.reducer == Reducer::minimum || node.reducer == Reducer::maximum);
        // `max(m, -1e30)`, `is_inf(m) ? 0 : m`.
        const bool chooses =
            node.kind == Node::Kind::select ||
            (node.kind == Node::Kind::scalar && (node.op == ScalarOp::minimum || node.op == ScalarOp::maximum));
        const bool limits = chooses && std::ranges::any_of(node.operands, [&](NodeId of) {
                                return is_extreme[static_cast<size_t>(of)];
                            });
        is_extreme[static_cast<size_t>(id)] = reduces || limits;
        if (reduces || limits) extremes.push_back(id);
    }
    if (extremes.empty() || extremes.size() > most_extremes) return {};
    const FreeVariables free(body);
    std::ranges::copy_if(extremes, std::back_inserter(cancelled),
                         [&](NodeId extreme) { return Laws(body, free, extreme).cancels(); });
    return cancelled;
}

}  // namespace heddle::gradient
