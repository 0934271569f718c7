#include "equations/equation_body.h"

#include <unordered_map>

#include "expr/check.h"
#include "expr/coordinate.h"
#include "expr/remake.h"

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
            const DType dtype = is_argument(*equation_.reducer) ? DType::int64 : equation_.right->dtype;
            result.value = add({.kind = Kind::reduce,
                                .dtype = dtype,
                                .reducer = *equation_.reducer,
                                .operands = {result.value},
                                .variables = reduced});
        }
        made_.body.equations.push_back(std::move(result));
        return std::move(made_);
    }

private:
    NodeId add(Node node) {
        made_.body.nodes.push_back(std::move(node));
        return last_id<NodeId>(made_.body.nodes);
    }
    VariableId variable(AxisId axis, Variable::Kind kind) {
        made_.body.variables.push_back({arena_.axis(axis).name, kind, arena_.extent(axis)});
        const auto id = last_id<VariableId>(made_.body.variables);
        axes_[axis] = add({.kind = Kind::variable, .dtype = DType::int64, .index = id});
        return id;
    }
    NodeId integer(int64_t value) { return add({.kind = Kind::integer, .dtype = DType::int64, .integer = value}); }
    NodeId scalar(ScalarOp op, DType dtype, std::vector<NodeId> operands) {
        return add({.kind = Kind::scalar, .dtype = dtype, .op = op, .operands = operands});
    }
    int32_t slot(TensorIndex tensor) {
        auto [it, added] = slots_.try_emplace(tensor, static_cast<int32_t>(made_.inputs.size()));
        if (added) made_.inputs.push_back(tensor);
        return it->second;
    }

    NodeId convert(Expr root) {
        for (Expr e : operands_first(root)) {
            if (!done_.contains(e)) done_[e] = node_of(e);
        }
        return done_.at(root);
    }

    NodeId node_of(Expr e) {
        std::vector<NodeId> operands;
        for (Expr operand : e->parts()) operands.push_back(done_.at(operand));
        if (e->kind == Kind::variable) return axes_.at(e->axis());
        if (e->kind == Kind::linear) {
            NodeId sum = integer(e->integer);
            for (size_t i = 0; i < operands.size(); i++) {
                const NodeId term =
                    scalar(ScalarOp::multiply, DType::int64, {operands[i], integer(e->coefficients[i])});
                sum = scalar(ScalarOp::add, DType::int64, {sum, term});
            }
            return sum;
        }
        if (!stands_in(e->kind, Stage::body)) {
            const bool divides = e->kind == Kind::floor_divide || e->kind == Kind::modulo;
            if (divides || e->kind == Kind::negative) operands.push_back(integer(divides ? e->integer : Size(0)));
            return scalar(operation_of(*e), e->dtype, std::move(operands));
        }
        Node node = *e;
        node.operands = operands;
        if (e->is_read()) node.index = slot(e->tensor());
        return add(std::move(node));
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
