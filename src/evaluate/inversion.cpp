#include "evaluate/inversion.h"

#include <algorithm>

namespace heddle::evaluation {
namespace {

class Inverter {
public:
    Inverter(const Body& body, NodeId reduction, const FreeVariables& free,
             const std::vector<std::optional<AffineForm>>& forms)
        : body_(body), node_(body.node(reduction)), free_(free), forms_(forms), outer_(free.list(reduction)) {}

    std::optional<Inversion> run() {
        std::vector<NodeId> stack = {node_.operands[1]};
        while (!stack.empty()) {
            const NodeId id = stack.back();
            stack.pop_back();
            const Node& part = body_.node(id);
            if (part.kind == Node::Kind::scalar && part.op == ScalarOp::logical_and) {
                stack.insert(stack.end(), part.operands.rbegin(), part.operands.rend());
            } else if (!choose(part)) {
                result_.conditions.push_back(id);
            }
        }
        std::vector<VariableId> chosen;
        for (const auto& choice : result_.choices) chosen.push_back(choice.variable);
        std::vector<NodeId> all = result_.conditions;
        all.push_back(node_.operands[0]);
        for (const auto& choice : result_.choices) all.push_back(choice.value);
        if (chosen.empty() || std::ranges::any_of(all, [&](NodeId id) { return free_.meets(id, chosen); }))
            return std::nullopt;
        std::ranges::copy_if(outer_, std::back_inserter(result_.rows),
                             [&](VariableId id) { return std::ranges::find(chosen, id) == chosen.end(); });
        return std::move(result_);
    }

private:
    bool choose(const Node& part) {
        if (part.kind != Node::Kind::scalar || part.op != ScalarOp::equal) return false;
        return choose(part.operands[0], part.operands[1]) || choose(part.operands[1], part.operands[0]);
    }

    // `side`: an outer variable plus a constant, perhaps cast to a type that holds all its values.
    bool choose(NodeId side, NodeId value) {
        const Node* node = &body_.node(side);
        const DType dtype = node->dtype;
        if (!is_integer(dtype) || dtype == DType::uint64) return false;
        if (node->kind == Node::Kind::cast) side = node->operands[0], node = &body_.node(side);
        const auto& form = forms_[static_cast<size_t>(side)];
        if (node->dtype != DType::int64 || !form || form->terms.size() != 1 || form->terms[0].second != 1) return false;
        const VariableId variable = form->terms[0].first;
        if (std::ranges::find(outer_, variable) == outer_.end() || free_.contains(value, variable)) return false;
        const bool again = std::ranges::any_of(result_.choices, [&](const auto& c) { return c.variable == variable; });
        if (again || !holds(dtype, form->constant, body_.variable(variable).extent.value)) return false;
        result_.choices.push_back({variable, value, form->constant});
        return true;
    }

    // All of constant .. constant + extent - 1.
    static bool holds(DType dtype, int64_t constant, int64_t extent) {
        const int bits = info(dtype).bits;
        if (bits == 64) return true;
        const bool is_signed = info(dtype).kind == DTypeClass::signed_integer;
        const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
        const int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
        return constant >= low && constant <= high && extent - 1 <= high - constant;
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
