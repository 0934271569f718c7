#include "evaluate/inversion.h"

#include <algorithm>

#include "expr/scalar_interval.h"
#include "zspace/linear_equation.h"

namespace heddle::evaluation {
namespace {

class Inverter {
public:
    Inverter(const Body& body, NodeId reduction, const FreeVariables& free,
             const std::vector<std::optional<AffineForm>>& forms)
        : body_(body), node_(body.node(reduction)), free_(free), forms_(forms), outer_(free.list(reduction)) {}

    std::optional<Inversion> run() {
        flatten(node_.operands[1], {}, 0);
        std::vector<VariableId> chosen;
        std::vector<NodeId> all = {node_.operands[0]};
        for (const auto& part : result_.parts) {
            all.push_back(part.value);
            if (part.variable >= 0) chosen.push_back(part.variable);
        }
        if (chosen.empty() || std::ranges::any_of(all, [&](NodeId id) { return free_.meets(id, chosen); }))
            return std::nullopt;
        std::ranges::copy_if(outer_, std::back_inserter(result_.rows),
                             [&](VariableId id) { return std::ranges::find(chosen, id) == chosen.end(); });
        return std::move(result_);
    }

private:
    static constexpr int deepest = 100;

    void flatten(NodeId id, const std::vector<int32_t>& after, int depth) {
        const Node& node = body_.node(id);
        const bool both = node.kind == Node::Kind::scalar && node.op == ScalarOp::logical_and;
        if (depth < deepest && (both || is_lazy_and(node))) {
            const size_t before = result_.parts.size();
            flatten(node.operands[0], after, depth + 1);
            std::vector<int32_t> then = after;
            for (size_t part = before; part < result_.parts.size() && !both; part++)
                then.push_back(static_cast<int32_t>(part));
            return flatten(node.operands[1], then, depth + 1);
        }
        Inversion::Part part{.value = id, .after = after};
        const bool equality = node.kind == Node::Kind::scalar && node.op == ScalarOp::equal;
        if (equality && !choose(node.operands[0], node.operands[1], part))
            choose(node.operands[1], node.operands[0], part);
        result_.parts.push_back(std::move(part));
    }

    // `a && b` as the language has it: a ? b : false
    bool is_lazy_and(const Node& node) const {
        if (node.kind != Node::Kind::select || !is_bool(node.dtype)) return false;
        const Node& otherwise = body_.node(node.operands[2]);
        return otherwise.kind == Node::Kind::integer && otherwise.integer == 0;
    }

    // `side`: an outer variable plus a constant, perhaps cast to a type that holds all its values.
    bool choose(NodeId side, NodeId value, Inversion::Part& part) {
        const Node* node = &body_.node(side);
        const DType dtype = node->dtype;
        if (!is_integer(dtype) || dtype == DType::uint64) return false;
        if (node->kind == Node::Kind::cast) side = node->operands[0], node = &body_.node(side);
        const auto& form = forms_[static_cast<size_t>(side)];
        const auto variable = node->dtype == DType::int64 && form ? lone_atom(*form) : std::nullopt;
        if (!variable || std::ranges::find(outer_, *variable) == outer_.end()) return false;
        if (free_.contains(value, *variable)) return false;
        const bool again = std::ranges::any_of(result_.parts, [&](const auto& p) { return p.variable == *variable; });
        if (again || !interval_of(*form, body_).within(interval_of(dtype))) return false;
        part.value = value;
        part.variable = *variable;
        part.offset = form->constant;
        return true;
    }

    const Body& body_;
    const Node& node_;
    const FreeVariables& free_;
    const std::vector<std::optional<AffineForm>>& forms_;
    std::vector<VariableId> outer_;
    Inversion result_;
};

}  // namespace

std::optional<Inversion> invert(const Body& body, NodeId reduction, const FreeVariables& free,
                                const std::vector<std::optional<AffineForm>>& forms) {
    const Node& node = body.node(reduction);
    if (node.operands.size() < 2 || is_argument(node.reducer)) return std::nullopt;
    return Inverter(body, reduction, free, forms).run();
}

}  // namespace heddle::evaluation
