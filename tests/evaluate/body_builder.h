// Builds typed bodies for tests.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace heddle {

struct BodyBuilder {
    Body body;

    VariableId variable(std::string name, int64_t extent, Variable::Kind kind = Variable::Kind::index) {
        body.variables.push_back({std::move(name), kind, extent});
        return last_id<VariableId>(body.variables);
    }
    VariableId reduced(std::string name, int64_t extent) {
        return variable(std::move(name), extent, Variable::Kind::reduction);
    }

    NodeId add(Node node) {
        body.nodes.push_back(std::move(node));
        return last_id<NodeId>(body.nodes);
    }
    NodeId integer(int64_t value, DType dtype = DType::int64) {
        Node node;
        node.kind = Node::Kind::integer;
        node.dtype = dtype;
        node.integer = value;
        return add(node);
    }
    NodeId real(double value, DType dtype = DType::float32) {
        Node node;
        node.kind = Node::Kind::real;
        node.dtype = dtype;
        node.real = value;
        return add(node);
    }
    NodeId at(VariableId id) {
        Node node;
        node.kind = Node::Kind::variable;
        node.dtype = DType::int64;
        node.index = id;
        return add(node);
    }
    DType type(NodeId id) const { return body.node(id).dtype; }
    NodeId scalar(ScalarOp op, std::vector<NodeId> operands) {
        Node node;
        node.kind = Node::Kind::scalar;
        node.op = op;
        ScalarClass kind = info(op).kind;
        node.dtype =
            kind == ScalarClass::comparison || kind == ScalarClass::predicate ? DType::boolean : type(operands[0]);
        node.operands = std::move(operands);
        return add(node);
    }
    NodeId plus(NodeId a, NodeId b) { return scalar(ScalarOp::add, {a, b}); }
    NodeId minus(NodeId a, NodeId b) { return scalar(ScalarOp::subtract, {a, b}); }
    NodeId times(NodeId a, NodeId b) { return scalar(ScalarOp::multiply, {a, b}); }
    NodeId cast(DType dtype, NodeId a) {
        Node node;
        node.kind = Node::Kind::cast;
        node.dtype = dtype;
        node.operands = {a};
        return add(node);
    }
    NodeId select(NodeId condition, NodeId a, NodeId b) {
        Node node;
        node.kind = Node::Kind::select;
        node.dtype = type(a);
        node.operands = {condition, a, b};
        return add(node);
    }
    NodeId read(int32_t tensor, DType dtype, std::vector<NodeId> coordinates) {
        Node node;
        node.kind = Node::Kind::read;
        node.dtype = dtype;
        node.index = tensor;
        node.operands = std::move(coordinates);
        return add(node);
    }
    NodeId guarded(int32_t tensor, DType dtype, std::vector<NodeId> coordinates, NodeId otherwise) {
        NodeId id = read(tensor, dtype, std::move(coordinates));
        body.nodes.back().kind = Node::Kind::guarded_read;
        body.nodes.back().operands.push_back(otherwise);
        return id;
    }
    NodeId reduce(Reducer reducer, std::vector<VariableId> variables, NodeId term, NodeId filter = no_id) {
        Node node;
        node.kind = Node::Kind::reduce;
        node.reducer = reducer;
        node.dtype = is_argument(reducer) ? DType::int64 : type(term);
        node.operands = {term};
        if (filter >= 0) node.operands.push_back(filter);
        node.variables = std::move(variables);
        return add(node);
    }
    int32_t local(std::string name, std::vector<VariableId> variables, NodeId value) {
        body.locals.push_back({std::move(name), type(value), std::move(variables), value});
        return static_cast<int32_t>(body.locals.size() - 1);
    }
    // A state of a scan; `variables[0]` is the scan's. Its value is set afterwards.
    int32_t state(std::string name, std::vector<VariableId> variables, NodeId initial) {
        body.locals.push_back({std::move(name), type(initial), std::move(variables), initial, initial});
        return static_cast<int32_t>(body.locals.size() - 1);
    }
    NodeId previous(int32_t state, std::vector<NodeId> coordinates) {
        NodeId id = local_read(state, std::move(coordinates));
        body.nodes.back().kind = Node::Kind::previous;
        return id;
    }
    NodeId local_read(int32_t local, std::vector<NodeId> coordinates) {
        Node node;
        node.kind = Node::Kind::local;
        node.dtype = body.locals[static_cast<size_t>(local)].dtype;
        node.index = local;
        node.operands = std::move(coordinates);
        return add(node);
    }
    void equation(int32_t output, std::vector<VariableId> variables, std::vector<NodeId> left, NodeId value) {
        body.equations.push_back({output, std::move(variables), std::move(left), value});
    }
};

}  // namespace heddle
