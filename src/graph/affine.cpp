// Affine forms of coordinates, and the boxes that left sides write.
#include <algorithm>

#include "expr/scalar_linear.h"
#include "graph/verify.h"

namespace heddle {
namespace {

constexpr size_t maximum_terms = 16;

// Whether every partial sum fits, whatever the order of the terms.
bool stays_in_range(const AffineForm& form, const Body& body) {
    if (form.constant.number() == INT64_MIN) return false;
    Size magnitude = absolute(form.constant);
    for (auto [variable, coefficient] : form.terms) {
        if (coefficient.number() == INT64_MIN) return false;
        auto reach = checked_multiply(absolute(coefficient), greater(body.variable(variable).extent - 1, 0));
        auto sum = reach ? checked_add(magnitude, *reach) : std::nullopt;
        if (!sum) return false;
        magnitude = *sum;
    }
    return true;
}

std::optional<AffineForm> form_of(const Node& node, const std::vector<std::optional<AffineForm>>& forms) {
    auto operand = [&](size_t index) -> const std::optional<AffineForm>& {
        return forms[static_cast<size_t>(node.operands[index])];
    };
    switch (node.kind) {
    case Node::Kind::integer: return AffineForm{node.integer, {}};
    case Node::Kind::variable: return AffineForm{0, {{node.variable(), 1}}};
    case Node::Kind::cast: return operand(0);  // int64 to int64; nothing else has a form
    case Node::Kind::scalar: break;
    default: return std::nullopt;
    }
    for (size_t i = 0; i < node.operands.size(); i++) {
        if (!operand(i)) return std::nullopt;
    }
    auto form = linear_form_of(node.op, *operand(0), *operand(node.operands.size() - 1));
    return form && form->terms.size() <= maximum_terms ? std::move(form) : std::nullopt;
}

}  // namespace

std::vector<std::optional<AffineForm>> affine_forms(const Body& body) {
    std::vector<std::optional<AffineForm>> forms(body.nodes.size());
    for (size_t i = 0; i < body.nodes.size(); i++) {
        if (body.nodes[i].dtype != DType::int64) continue;
        forms[i] = form_of(body.nodes[i], forms);
        if (forms[i] && !stays_in_range(*forms[i], body)) forms[i].reset();
    }
    return forms;
}

std::vector<bool> computed_indices(const Body& body) {
    std::vector<bool> computed(body.nodes.size());
    const auto is_number = [&](NodeId id) { return body.node(id).kind == Node::Kind::integer; };
    const auto of_coordinates = [&](const Node& node) {
        if (node.kind == Node::Kind::cast) return body.node(node.operands[0]).dtype == DType::int64;
        if (node.kind != Node::Kind::scalar) return node.kind != Node::Kind::local;
        switch (node.op) {
        case ScalarOp::multiply: return is_number(node.operands[0]) || is_number(node.operands[1]);
        case ScalarOp::floor_divide:
        case ScalarOp::modulo: return is_number(node.operands[1]);
        case ScalarOp::add:
        case ScalarOp::subtract:
        case ScalarOp::negate:
        case ScalarOp::minimum:
        case ScalarOp::maximum:
        case ScalarOp::absolute: return true;
        default: return is_bool(node.dtype);
        }
    };
    for (size_t i = 0; i < body.nodes.size(); i++) {
        const Node& node = body.nodes[i];
        if (!is_integer(node.dtype) && !is_bool(node.dtype)) continue;
        computed[i] = !of_coordinates(node) || std::ranges::any_of(node.operands, [&](NodeId id) {
            return bool(computed[static_cast<size_t>(id)]);
        });
    }
    return computed;
}

Interval interval_of(const AffineForm& form, const Body& body) {
    return interval_of(
        form, [&](VariableId id) { return Interval::below(greater(body.variable(id).extent, 1)); });
}

std::vector<WrittenBox> written_boxes(const Body& body) {
    auto forms = affine_forms(body);
    std::vector<WrittenBox> boxes;
    for (const BodyEquation& equation : body.equations) {
        bool empty =
            std::ranges::any_of(equation.variables, [&](VariableId id) { return body.variable(id).extent == 0; });
        if (empty) continue;
        WrittenBox& written = boxes.emplace_back(WrittenBox{equation.output, {}});
        for (NodeId id : equation.left) {
            const Interval interval = interval_of(*forms[static_cast<size_t>(id)], body);
            written.box.start.push_back(interval.low);
            written.box.end.push_back(interval.high + 1);
        }
    }
    return boxes;
}

}  // namespace heddle
