#include "equations/equation_body.h"

#include <unordered_map>

namespace heddle::equations {
namespace {

class BodyMaker {
public:
    BodyMaker(const System& system, const Equation& equation) : arena_(*system.arena), equation_(equation) {}

    EquationBody make() {
        BodyEquation result;
        for (AxisId axis : equation_.axes) result.variables.push_back(variable(axis, Variable::Kind::index));
        std::vector<VariableId> reduced;
        for (AxisId axis : equation_.reduced) reduced.push_back(variable(axis, Variable::Kind::reduction));
        for (Expr coordinate : equation_.left) result.left.push_back(convert(coordinate));
        result.value = convert(equation_.right);
        if (equation_.reducer) {
            Node node =
                make_node(Node::Kind::reduce, is_argument(*equation_.reducer) ? DType::int64 : equation_.right->dtype);
            node.reducer = *equation_.reducer;
            node.operands = {result.value};
            node.variables = std::move(reduced);
            result.value = add(std::move(node));
        }
        made_.body.equations.push_back(std::move(result));
        return std::move(made_);
    }

private:
    static Node make_node(Node::Kind kind, DType dtype) {
        Node node;
        node.kind = kind;
        node.dtype = dtype;
        return node;
    }
    NodeId add(Node node) {
        made_.body.nodes.push_back(std::move(node));
        return static_cast<NodeId>(made_.body.nodes.size()) - 1;
    }
    VariableId variable(AxisId axis, Variable::Kind kind) {
        made_.body.variables.push_back({arena_.axis(axis).name, kind, arena_.extent(axis)});
        const auto id = static_cast<VariableId>(made_.body.variables.size()) - 1;
        Node node = make_node(Node::Kind::variable, DType::int64);
        node.index = id;
        axes_[axis] = add(std::move(node));
        return id;
    }
    NodeId integer(int64_t value, DType dtype = DType::int64) {
        Node node = make_node(Node::Kind::integer, dtype);
        node.integer = value;
        return add(std::move(node));
    }
    NodeId scalar(ScalarOp op, DType dtype, std::vector<NodeId> operands) {
        Node node = make_node(Node::Kind::scalar, dtype);
        node.op = op;
        node.operands = std::move(operands);
        return add(std::move(node));
    }
    int32_t slot(TensorIndex tensor) {
        auto [it, added] = slots_.try_emplace(tensor, static_cast<int32_t>(made_.inputs.size()));
        if (added) made_.inputs.push_back(tensor);
        return it->second;
    }

    NodeId convert(Expr root) {
        std::vector<Expr> stack = {root};
        while (!stack.empty()) {
            Expr e = stack.back();
            if (done_.contains(e)) {
                stack.pop_back();
                continue;
            }
            const size_t before = stack.size();
            for (Expr operand : e->operands) {
                if (!done_.contains(operand)) stack.push_back(operand);
            }
            if (stack.size() != before) continue;
            stack.pop_back();
            done_[e] = node_of(e);
        }
        return done_.at(root);
    }

    NodeId node_of(Expr e) {
        std::vector<NodeId> operands;
        for (Expr operand : e->operands) operands.push_back(done_.at(operand));
        auto simple = [&](Node::Kind kind) {
            Node node = make_node(kind, e->dtype);
            node.operands = operands;
            if (kind == Node::Kind::read || kind == Node::Kind::guarded_read) node.index = slot(e->tensor);
            return add(std::move(node));
        };
        switch (e->kind) {
        case Kind::integer: return integer(e->integer, e->dtype);
        case Kind::axis: return axes_.at(static_cast<AxisId>(e->integer));
        case Kind::linear: {
            NodeId sum = integer(e->integer);
            for (size_t i = 0; i < operands.size(); i++) {
                const NodeId term =
                    scalar(ScalarOp::multiply, DType::int64, {operands[i], integer(e->coefficients[i])});
                sum = scalar(ScalarOp::add, DType::int64, {sum, term});
            }
            return sum;
        }
        case Kind::floor_divide:
            return scalar(ScalarOp::floor_divide, DType::int64, {operands[0], integer(e->integer)});
        case Kind::modulo: return scalar(ScalarOp::modulo, DType::int64, {operands[0], integer(e->integer)});
        case Kind::minimum: return scalar(ScalarOp::minimum, DType::int64, operands);
        case Kind::maximum: return scalar(ScalarOp::maximum, DType::int64, operands);
        case Kind::negative: return scalar(ScalarOp::less, DType::boolean, {operands[0], integer(0)});
        case Kind::conjunction: return scalar(ScalarOp::logical_and, DType::boolean, operands);
        case Kind::real: {
            Node node = make_node(Node::Kind::real, e->dtype);
            node.real = e->real;
            return add(std::move(node));
        }
        case Kind::scalar: return scalar(e->op, e->dtype, operands);
        case Kind::cast: return simple(Node::Kind::cast);
        case Kind::select: return simple(Node::Kind::select);
        case Kind::read: return simple(Node::Kind::read);
        case Kind::guarded_read: return simple(Node::Kind::guarded_read);
        case Kind::inside: break;  // of kernels
        }
        return -1;
    }

    const Arena& arena_;
    const Equation& equation_;
    EquationBody made_;
    std::unordered_map<AxisId, NodeId> axes_;
    std::unordered_map<Expr, NodeId> done_;
    std::unordered_map<TensorIndex, int32_t> slots_;
};

}  // namespace

EquationBody body_of(const System& system, const Equation& equation) { return BodyMaker(system, equation).make(); }

}  // namespace heddle::equations
