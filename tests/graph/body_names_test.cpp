// What the text of a body calls its values and variables.
#include "graph/body_names.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

struct Made {
    Body body;
    NodeId add(Node node) {
        body.nodes.push_back(std::move(node));
        return last_id<NodeId>(body.nodes);
    }
    VariableId variable(const std::string& name, Variable::Kind kind, int64_t extent) {
        body.variables.push_back({name, kind, extent});
        return last_id<VariableId>(body.variables);
    }
    NodeId value(VariableId id) {
        Node node{.kind = Node::Kind::variable, .dtype = DType::int64};
        node.index = id;
        return add(node);
    }
    NodeId read(NodeId at) {
        Node node{.kind = Node::Kind::read, .dtype = DType::float32};
        node.operands = {at};
        return add(node);
    }
    NodeId scalar(ScalarOp op, NodeId a, NodeId b) {
        Node node{.kind = Node::Kind::scalar, .dtype = DType::float32, .op = op};
        node.operands = {a, b};
        return add(node);
    }
    NodeId sum(VariableId over, NodeId term) {
        Node node{.kind = Node::Kind::reduce, .dtype = DType::float32};
        node.operands = {term};
        node.variables = {over};
        return add(node);
    }
    void store(VariableId axis, NodeId value) {
        BodyEquation equation;
        equation.variables = {axis};
        equation.left = {this->value(axis)};
        equation.value = value;
        body.equations.push_back(std::move(equation));
    }
    std::string text() const { return print(body, {"x"}, {"y"}); }
};

TEST(BodyNames, LetsKeepTheirNames) {
    Made made;
    const VariableId n = made.variable("n", Variable::Kind::index, 4),
                     k = made.variable("k", Variable::Kind::reduction, 3);
    const NodeId total = made.sum(k, made.read(made.value(k)));
    made.store(n, made.scalar(ScalarOp::multiply, total, made.scalar(ScalarOp::add, total, total)));
    EXPECT_EQ(made.text(), "for @n < 4: y[@n] = sum(k < 3 : x[k]) * (sum(k < 3 : x[k]) + sum(k < 3 : x[k]))\n");
    made.body.names = {{total, "total"}};
    EXPECT_EQ(made.text(), "let total: float32 = sum(k < 3 : x[k])\nfor @n < 4: y[@n] = total * (total + total)\n");
    made.body.names = {{total, "x"}};  // a tensor has that name
    EXPECT_EQ(made.text(), "let x_2: float32 = sum(k < 3 : x[k])\nfor @n < 4: y[@n] = x_2 * (x_2 + x_2)\n");
}

TEST(BodyNames, VariablesHaveNumbersWhereTheyAreSeenTogether) {
    for (const bool nested : {false, true}) {
        Made made;
        const VariableId n = made.variable("n", Variable::Kind::index, 4);
        const VariableId k = made.variable("k", Variable::Kind::reduction, 3);
        const VariableId other = made.variable("k", Variable::Kind::reduction, 5);
        const NodeId inner = made.sum(other, made.read(made.value(other)));
        const NodeId term = made.read(made.value(k));
        if (nested)
            made.store(n, made.sum(k, made.scalar(ScalarOp::multiply, term, inner)));
        else
            made.store(n, made.scalar(ScalarOp::multiply, made.sum(k, term), inner));
        EXPECT_EQ(made.text(), nested ? "for @n < 4: y[@n] = sum(k < 3 : x[k] * sum(k_2 < 5 : x[k_2]))\n"
                                      : "for @n < 4: y[@n] = sum(k < 3 : x[k]) * sum(k < 5 : x[k])\n");
    }
}

TEST(BodyNames, ALineOfItsOwnSeparatesScopesButForWhatIsFreeInIt) {
    Made made;
    const VariableId n = made.variable("n", Variable::Kind::index, 4);
    const VariableId k = made.variable("k", Variable::Kind::reduction, 3);
    const VariableId other = made.variable("k", Variable::Kind::reduction, 5);
    const NodeId inner =
        made.sum(other, made.scalar(ScalarOp::multiply, made.read(made.value(other)), made.read(made.value(n))));
    made.body.names = {{inner, "inner"}};
    made.store(n, made.sum(k, made.scalar(ScalarOp::multiply, made.read(made.value(k)), inner)));
    EXPECT_EQ(made.text(),
              "let inner: float32 = sum(k < 5 : x[k] * x[@n])\nfor @n < 4: y[@n] = sum(k < 3 : x[k] * inner)\n");
    EXPECT_EQ(variable_names(made.body, {}), (std::vector<std::string>{"@n", "k", "k_2"}));
}

}  // namespace
}  // namespace heddle
