// Runs a system equation by equation. Each becomes a typed body and is interpreted by the oracle: there is one meaning
// of arithmetic.
#include <fmt/format.h>

#include <unordered_map>

#include "equations/run_equation.h"
#include "evaluate/evaluate.h"

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

Result<void> check_feeds(const System& system, const std::vector<TensorData>& feeds) {
    if (feeds.size() != system.inputs.size()) {
        return fail(Diagnostic{.code = "equations.feeds",
                               .summary = "a system is fed one tensor an input",
                               .place = {},
                               .expected = std::to_string(system.inputs.size()),
                               .found = std::to_string(feeds.size())});
    }
    for (size_t i = 0; i < feeds.size(); i++) {
        const SystemTensor& tensor = system.tensor(system.inputs[i]);
        if (feeds[i].dtype() != tensor.dtype || feeds[i].shape() != tensor.shape) {
            return fail(Diagnostic{.code = "equations.feeds",
                                   .summary = fmt::format("what is fed to '{}' has another type or shape", tensor.name),
                                   .place = {}});
        }
    }
    return {};
}

}  // namespace

EquationBody body_of(const System& system, const Equation& equation) { return BodyMaker(system, equation).make(); }

Result<void> run_equation(const System& system, const Equation& equation, std::vector<TensorData>& values) {
    const EquationBody made = body_of(system, equation);
    const auto target = static_cast<size_t>(equation.tensor);
    std::vector<TensorData> inputs;
    for (TensorIndex tensor : made.inputs) {
        const TensorData& value = values[static_cast<size_t>(tensor)];
        inputs.push_back(tensor == equation.tensor ? value.clone() : value);
    }
    std::vector<TensorData> outputs = {values[target]};
    return evaluate_body(made.body, inputs, outputs, Precision::body);
}

Result<std::vector<TensorData>> initial_values(const System& system, const std::vector<TensorData>& feeds) {
    if (auto sound = check_feeds(system, feeds); !sound) return fail(sound.error());
    std::vector<TensorData> values(system.tensors.size());
    for (size_t t = 0; t < system.tensors.size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        if (tensor.dead) continue;
        if (tensor.kind == SystemTensor::Kind::computed) values[t] = TensorData(tensor.dtype, tensor.shape);
        if (tensor.kind == SystemTensor::Kind::constant && tensor.constant) values[t] = *tensor.constant;
        const bool missing = tensor.kind == SystemTensor::Kind::opaque ||
                             (tensor.kind == SystemTensor::Kind::constant && !tensor.constant);
        if (missing) {
            return fail(Diagnostic{.code = "equations.no_value",
                                   .summary = fmt::format("'{}' has no value: nothing here computes it", tensor.name),
                                   .place = {}});
        }
    }
    for (size_t i = 0; i < feeds.size(); i++) values[static_cast<size_t>(system.inputs[i])] = feeds[i];
    return values;
}

Result<std::vector<TensorData>> run(const System& system, const std::vector<TensorData>& feeds) {
    auto values = initial_values(system, feeds);
    if (!values) return values;
    const auto order = system.order();
    for (size_t first = 0, end = 1; first < order.size(); first = end++) {
        const int32_t scan = system.equation(order[first]).scan;
        while (scan >= 0 && end < order.size() && system.equation(order[end]).scan == scan) end++;
        const int64_t steps = scan < 0 ? 1 : system.arena->extent(system.equation(order[first]).ordered);
        for (int64_t step = 0; step < steps; step++) {
            for (size_t i = first; i < end; i++) {
                const Equation& whole = system.equation(order[i]);
                const Equation equation = scan < 0 ? whole : at_step(*system.arena, whole, step);
                if (auto done = run_equation(system, equation, *values); !done) return fail(done.error());
            }
        }
    }
    return values;
}

}  // namespace heddle::equations
