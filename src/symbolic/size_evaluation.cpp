#include "symbolic/size_evaluation.h"

#include <algorithm>
#include <optional>

#include "zspace/size.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr int64_t most_size_steps = 200'000;

// A value that is followed; nothing for one that is not an integer or a bool (0 or 1), or not known.
using Followed = std::optional<Size>;

class Interpreter {
public:
    Interpreter(const Body& body, SizeEvaluation& evaluation)
        : body_(body), evaluation_(evaluation), values_(body.variables.size(), 0) {}

    void run(const BodyEquation& equation) {
        over(equation.variables, [&] {
            auto offset = left_offset(equation);
            if (offset)
                store(equation, *offset);
            else
                evaluation_.lost = true;
        });
        evaluation_.lost |= steps_ <= 0;
    }

private:
    template <typename Visit>
    void over(std::span<const VariableId> variables, const Visit& visit, size_t position = 0) {
        if (position == variables.size()) {
            if (spend()) visit();
            return;
        }
        auto variable = static_cast<size_t>(variables[position]);
        int64_t before = values_[variable];
        for (int64_t value = 0; value < body_.variables[variable].extent.value() && steps_ > 0; ++value) {
            values_[variable] = value;
            over(variables, visit, position + 1);
        }
        values_[variable] = before;
    }

    bool spend() { return --steps_ > 0; }

    // The row-major number of coordinates in a shape; nothing if one is outside or not known.
    std::optional<int64_t> offset_of(const std::vector<int64_t>& shape, const NodeId* coordinates) {
        int64_t offset = 0;
        for (size_t dimension = 0; dimension < shape.size(); ++dimension) {
            Followed coordinate = value(coordinates[dimension]);
            if (!coordinate || coordinate->value() < 0 || coordinate->value() >= shape[dimension]) return std::nullopt;
            offset = offset * shape[dimension] + coordinate->value();
        }
        return offset;
    }

    std::optional<int64_t> left_offset(const BodyEquation& equation) {
        const auto& output = evaluation_.outputs[static_cast<size_t>(equation.output)];
        const DType dtype = output.data->dtype();
        if (!(is_integer(dtype) || is_bool(dtype)) || output.data->size() > largest_sized_tensor) return std::nullopt;
        return offset_of(output.data->shape(), equation.left.data());
    }

    void store(const BodyEquation& equation, int64_t offset) {
        const auto& output = evaluation_.outputs[static_cast<size_t>(equation.output)];
        Followed result = value(equation.value);
        Size& element = (*output.sizes)[static_cast<size_t>(offset)];
        element = output.data->integer_at(offset);
        if (result && result->number() == element.number())
            element = *result;
        else
            evaluation_.lost = true;
    }

    Followed value(NodeId id) {
        if (!spend()) return std::nullopt;
        const Node& node = body_.node(id);
        switch (node.kind) {
        case Node::Kind::integer: return node.integer;
        case Node::Kind::variable: return Size(values_[static_cast<size_t>(node.index)]);
        case Node::Kind::cast: return is_integer(node.dtype) || is_bool(node.dtype) ? cast(node) : std::nullopt;
        case Node::Kind::select: {
            Followed condition = value(node.operands[0]);
            return condition ? value(node.operands[*condition != 0 ? 1 : 2]) : std::nullopt;
        }
        case Node::Kind::read:
        case Node::Kind::guarded_read: return read(node);
        case Node::Kind::local: return local(node);
        case Node::Kind::reduce: return reduce(node);
        case Node::Kind::scalar: return scalar(node);
        default: return std::nullopt;
        }
    }

    Followed cast(const Node& node) {
        Followed operand = value(node.operands[0]);
        if (!operand) return operand;
        if (is_bool(node.dtype)) return Size(*operand != 0);
        // A cast that changes the number is no longer the size that it was.
        int bits = info(node.dtype).bits;
        bool fits = bits == 64 ||
                    (*operand >= -(int64_t{1} << (bits - 1)) && *operand < (int64_t{1} << (bits - 1)));
        return fits ? operand : std::nullopt;
    }

    Followed read(const Node& node) {
        const auto& input = evaluation_.inputs[node.tensor()];
        if (is_float(input.data->dtype()) || is_complex(input.data->dtype())) return std::nullopt;
        auto offset = offset_of(input.data->shape(), node.operands.data());
        if (!offset) return node.kind == Node::Kind::guarded_read ? value(node.operands.back()) : std::nullopt;
        return input.sizes ? (*input.sizes)[static_cast<size_t>(*offset)] : Size(input.data->integer_at(*offset));
    }

    Followed local(const Node& node) {
        const Local& local = body_.local(node.local());
        if (local.is_state()) return std::nullopt;
        std::vector<int64_t> coordinates, before;
        for (NodeId operand : node.operands) {
            Followed coordinate = value(operand);
            if (!coordinate) return std::nullopt;
            coordinates.push_back(coordinate->value());
        }
        for (size_t i = 0; i < coordinates.size(); ++i) {
            int64_t& variable = values_[static_cast<size_t>(local.variables[i])];
            before.push_back(variable);
            variable = coordinates[i];
        }
        Followed result = value(local.value);
        for (size_t i = 0; i < before.size(); ++i) values_[static_cast<size_t>(local.variables[i])] = before[i];
        return result;
    }

    Followed reduce(const Node& node) {
        Followed result;
        bool followed = true;
        over(node.variables, [&] {
            if (!followed) return;
            if (node.operands.size() > 1) {
                Followed kept = value(node.operands[1]);
                followed = kept.has_value();
                if (!followed || *kept == 0) return;
            }
            Followed term = value(node.operands[0]);
            if (term && result) term = combine(node.reducer, *result, *term);
            followed = term.has_value();
            result = term;
        });
        return followed ? result : std::nullopt;
    }

    static Followed combine(Reducer reducer, const Size& a, const Size& b) {
        switch (reducer) {
        case Reducer::sum: return checked_add(a, b);
        case Reducer::product: return checked_multiply(a, b);
        case Reducer::minimum: return minimum(a, b);
        case Reducer::maximum: return maximum(a, b);
        case Reducer::any: return Size(a != 0 || b != 0);
        case Reducer::all: return Size(a != 0 && b != 0);
        default: return std::nullopt;
        }
    }

    Followed scalar(const Node& node) {
        Followed a = value(node.operands[0]);
        if (!a) return a;
        if (node.operands.size() == 1) return unary(node.op, *a);
        Followed b = value(node.operands[1]);
        return b ? binary(node.op, *a, *b) : b;
    }

    static Followed unary(ScalarOp op, const Size& a) {
        switch (op) {
        case ScalarOp::negate: return checked_subtract(0, a);
        case ScalarOp::absolute: return a >= 0 ? Followed(a) : checked_subtract(0, a);
        case ScalarOp::logical_not: return Size(a == 0);
        case ScalarOp::sign: return Size((a > 0) - (a < 0));
        default: return std::nullopt;
        }
    }

    static Followed binary(ScalarOp op, const Size& a, const Size& b) {
        switch (op) {
        case ScalarOp::add: return checked_add(a, b);
        case ScalarOp::subtract: return checked_subtract(a, b);
        case ScalarOp::multiply: return checked_multiply(a, b);
        case ScalarOp::floor_divide: return b == 0 ? Followed(Size(0)) : checked_floor_divide(a, b);
        case ScalarOp::truncate_divide:
            if (b == 0) return Size(0);
            return (a >= 0) == (b > 0) ? checked_floor_divide(a, b) : std::nullopt;
        case ScalarOp::modulo: return b == 0 ? Followed(Size(0)) : checked_floor_modulo(a, b);
        case ScalarOp::minimum: return minimum(a, b);
        case ScalarOp::maximum: return maximum(a, b);
        case ScalarOp::equal: return Size(a == b);
        case ScalarOp::not_equal: return Size(a != b);
        case ScalarOp::less: return Size(a < b);
        case ScalarOp::less_equal: return Size(a <= b);
        case ScalarOp::greater: return Size(a > b);
        case ScalarOp::greater_equal: return Size(a >= b);
        case ScalarOp::logical_and: return Size(a != 0 && b != 0);
        case ScalarOp::logical_or: return Size(a != 0 || b != 0);
        default: return std::nullopt;
        }
    }

    const Body& body_;
    SizeEvaluation& evaluation_;
    std::vector<int64_t> values_;
    int64_t steps_ = most_size_steps;
};

bool has_origin(const Body& body, const SizeEvaluation& evaluation) {
    return std::any_of(evaluation.inputs.begin(), evaluation.inputs.end(),
                       [](const auto& input) { return input.sizes; }) ||
           std::ranges::any_of(body.nodes, [](const Node& node) { return node.integer.named(); }) ||
           std::ranges::any_of(body.variables, [](const Variable& variable) { return variable.extent.named(); });
}

}  // namespace

void evaluate_sizes(const Body& body, SizeEvaluation& evaluation) {
    if (!has_origin(body, evaluation)) return;
    Interpreter interpreter(body, evaluation);
    for (const BodyEquation& equation : body.equations) interpreter.run(equation);
    if (!evaluation.lost) return;
    for (const SizeEvaluation::Input& input : evaluation.inputs) {
        if (input.sizes) std::ranges::for_each(*input.sizes, &Size::value);
    }
    for (const Node& node : body.nodes) node.integer.value();
}

}  // namespace heddle
