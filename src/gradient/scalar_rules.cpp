#include "gradient/scalar_rules.h"

#include <algorithm>
#include <array>
#include <map>

#include "language/parser.h"

namespace heddle::gradient {
namespace {

// Shares are written for people; what a literal exponent decides is worked out here.
class ShareBuilder {
public:
    ShareBuilder(BodyNodes& nodes, NodeId operation, NodeId adjoint, NodeId result)
        : nodes_(nodes),
          values_{{"a", nodes.node(operation).operands[0]},
                  {"b", nodes.node(operation).operands[nodes.node(operation).operands.size() > 1 ? 1 : 0]},
                  {"y", result},
                  {"g", adjoint}},
          dtype_(nodes.node(adjoint).dtype) {}

    Share share(const Syntax& syntax) {
        if (syntax.kind != Syntax::Kind::conditional) return {.value = value(syntax)};
        const NodeId condition = value(*syntax.children[0]);
        if (auto decided = nodes_.literal_boolean(condition))
            return {.value = value(*syntax.children[*decided ? 1 : 2])};
        return {.value = value(*syntax.children[1]), .condition = condition};
    }

private:
    NodeId value(const Syntax& syntax) {
        switch (syntax.kind) {
        case Syntax::Kind::integer: return literal(static_cast<double>(syntax.integer));
        case Syntax::Kind::real: return literal(syntax.real);
        case Syntax::Kind::name: return values_.at(syntax.text);
        case Syntax::Kind::conditional:
            return nodes_.select(value(*syntax.children[0]), value(*syntax.children[1]), value(*syntax.children[2]));
        default: break;
        }
        NodeList operands;
        for (const SyntaxPointer& child : syntax.children) operands.push_back(value(*child));
        return scalar(operation_of(syntax), std::move(operands));
    }

    static ScalarOp operation_of(const Syntax& syntax) {
        if (syntax.kind == Syntax::Kind::call) return *scalar_op_named(syntax.text);
        if (syntax.kind == Syntax::Kind::unary) return syntax.text == "-" ? ScalarOp::negate : ScalarOp::logical_not;
        return std::ranges::find(all_scalar_ops(), syntax.text, &ScalarOpInfo::infix)->op;
    }

    // Literals are folded, and what a factor or an exponent of one leaves as it is.
    NodeId scalar(ScalarOp op, NodeList operands) {
        const auto a = number(operands[0]), b = number(operands.back());
        if (a && b) {
            const double folded = info(op).real(*a, *b);
            return info(op).kind == ScalarClass::comparison ? nodes_.boolean(folded != 0) : literal(folded);
        }
        if (operands.size() == 2) {
            if (op == ScalarOp::multiply && a == 1) return operands[1];
            if ((op == ScalarOp::multiply || op == ScalarOp::power) && b == 1) return operands[0];
            if (op == ScalarOp::power && b == 0) return literal(1);
        }
        return nodes_.scalar(op, std::move(operands));
    }

    NodeId literal(double number) { return nodes_.real(number, dtype_, true); }
    std::optional<double> number(NodeId id) const {
        const Node& node = nodes_.node(id);
        return node.kind == Node::Kind::real ? std::optional(node.real) : std::nullopt;
    }

    BodyNodes& nodes_;
    std::map<std::string_view, NodeId> values_;
    DType dtype_;
};

using Shares = std::array<SyntaxPointer, 3>;

// The expressions of the table of operations, parsed once.
const Shares& shares_of(ScalarOp op) {
    static const auto all = [] {
        std::array<Shares, scalar_op_count> parsed;
        for (const ScalarOpInfo& row : all_scalar_ops()) {
            for (size_t operand = 0; operand < parsed[0].size(); ++operand) {
                if (row.shares[operand].empty()) continue;
                auto text = std::make_shared<SourceText>(std::string(row.name), std::string(row.shares[operand]));
                DiagnosticSink sink;
                parsed[static_cast<size_t>(row.op)][operand] = parse_expression(fragment_of(text), sink);
            }
        }
        return parsed;
    }();
    return all[static_cast<size_t>(op)];
}

}  // namespace

bool has_derivative(ScalarOp op) { return shares_of(op)[0] != nullptr; }

Share share_of(BodyNodes& nodes, NodeId id, size_t operand, NodeId adjoint, NodeId result) {
    return ShareBuilder(nodes, id, adjoint, result).share(*shares_of(nodes.node(id).op)[operand]);
}

}  // namespace heddle::gradient
