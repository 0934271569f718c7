#include "symbolic/size_evaluation.h"

#include <algorithm>
#include <optional>

#include "expr/scalar_op.h"
#include "zspace/checked.h"

namespace heddle {
namespace {

constexpr int64_t most_size_steps = 200'000;

// A value that is followed; nothing for one that is not known. An integer or a bool (0 or 1) is whole.
using Followed = std::optional<SizeQuotient>;

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
            const auto coordinate = integer(coordinates[dimension]);
            if (!coordinate || coordinate->value() < 0 || coordinate->value() >= shape[dimension]) return std::nullopt;
            offset = offset * shape[dimension] + coordinate->value();
        }
        return offset;
    }

    std::optional<int64_t> left_offset(const BodyEquation& equation) {
        const auto& output = evaluation_.outputs[static_cast<size_t>(equation.output)];
        const DType dtype = output.data->dtype();
        const bool followed = is_integer(dtype) || is_bool(dtype) || float_sizes(dtype);
        if (!followed || output.data->size() > largest_sized_tensor) return std::nullopt;
        return offset_of(output.data->shape(), equation.left.data());
    }

    void store(const BodyEquation& equation, int64_t offset) {
        const auto& output = evaluation_.outputs[static_cast<size_t>(equation.output)];
        Followed result = value(equation.value);
        SizeQuotient& element = (*output.sizes)[static_cast<size_t>(offset)];
        const DType dtype = output.data->dtype();
        const bool same = result && (is_float(dtype) ? element_of(dtype, *result) == output.data->real_at(offset)
                                                     : result->above.number() == output.data->integer_at(offset));
        element = same               ? *result
                  : is_float(dtype) ? SizeQuotient()
                                    : SizeQuotient(output.data->integer_at(offset));
        evaluation_.lost |= !same;
    }

    std::optional<Size> integer(NodeId id) {
        const Followed followed = value(id);
        return followed ? std::optional(followed->above) : std::nullopt;
    }

    Followed value(NodeId id) {
        if (!spend()) return std::nullopt;
        const Node& node = body_.node(id);
        switch (node.kind) {
        case Node::Kind::integer: return node.integer;
        case Node::Kind::real: return float_sizes(node.dtype) ? SizeQuotient::of(node.real) : std::nullopt;
        case Node::Kind::variable: return Size(values_[static_cast<size_t>(node.index)]);
        case Node::Kind::cast: return cast(node);
        case Node::Kind::select: {
            const auto condition = integer(node.operands[0]);
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
        const DType from = body_.node(node.operands[0]).dtype;
        Followed operand = value(node.operands[0]);
        if (!operand) return operand;
        if (const auto floats = float_sizes(node.dtype))
            return from == DType::float64 && node.dtype == DType::float32 ? floats->narrowed(*operand) : floats->converted(*operand);
        if (is_bool(node.dtype)) return Size(operand->above != 0);
        if (!is_integer(node.dtype)) return std::nullopt;
        const Size whole = is_float(from) ? operand->trunc() : operand->above;
        // A cast that changes the number is no longer the size that it was.
        int bits = info(node.dtype).bits;
        bool fits = bits == 64 || (whole >= -(int64_t{1} << (bits - 1)) && whole < (int64_t{1} << (bits - 1)));
        return fits ? Followed(whole) : std::nullopt;
    }

    Followed read(const Node& node) {
        const auto& input = evaluation_.inputs[node.tensor()];
        const DType dtype = input.data->dtype();
        if ((is_float(dtype) && !float_sizes(dtype)) || is_complex(dtype)) return std::nullopt;
        auto offset = offset_of(input.data->shape(), node.operands.data());
        if (!offset) return node.kind == Node::Kind::guarded_read ? value(node.operands.back()) : std::nullopt;
        if (input.sizes) return (*input.sizes)[static_cast<size_t>(*offset)];
        return is_float(dtype) ? SizeQuotient::of(input.data->real_at(*offset)) : Size(input.data->integer_at(*offset));
    }

    Followed local(const Node& node) {
        const Local& local = body_.local(node.local());
        if (local.is_state()) return std::nullopt;
        std::vector<int64_t> coordinates, before;
        for (NodeId operand : node.operands) {
            const auto coordinate = integer(operand);
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
                const auto kept = integer(node.operands[1]);
                followed = kept.has_value();
                if (!followed || *kept == 0) return;
            }
            Followed term = value(node.operands[0]);
            if (term && result) term = combine(node, *result, *term);
            followed = term.has_value();
            result = term;
        });
        return followed ? result : std::nullopt;
    }

    static Followed combine(const Node& node, const SizeQuotient& a, const SizeQuotient& b) {
        switch (node.reducer) {
        case Reducer::any: return Size(a.above != 0 || b.above != 0);
        case Reducer::all: return Size(a.above != 0 && b.above != 0);
        default: break;
        }
        const auto joined = joining_op(node.reducer);
        if (!joined) return std::nullopt;
        return is_float(node.dtype) ? of_floats(*joined, node.dtype, a, b) : binary(*joined, a.above, b.above);
    }

    Followed scalar(const Node& node) {
        const DType dtype = body_.node(node.operands[0]).dtype;
        Followed a = value(node.operands[0]);
        if (!a || node.operands.size() > 2) return std::nullopt;
        if (node.operands.size() == 1) return is_float(dtype) ? of_float(node.op, dtype, *a) : unary(node.op, a->above);
        Followed b = value(node.operands[1]);
        if (!b) return b;
        return is_float(dtype) ? of_floats(node.op, dtype, *a, *b) : binary(node.op, a->above, b->above);
    }

    static Followed of_float(ScalarOp op, DType dtype, const SizeQuotient& a) {
        const auto floats = float_sizes(dtype);
        if (!floats) return std::nullopt;
        switch (op) {
        case ScalarOp::negate: return floats->multiply(a, Size(-1));
        case ScalarOp::absolute: return a.above >= 0 ? Followed(a) : floats->multiply(a, Size(-1));
        case ScalarOp::reciprocal: return floats->divide(Size(1), a);
        case ScalarOp::floor: return whole(a, a.floor());
        case ScalarOp::ceil: return whole(a, a.ceil());
        case ScalarOp::truncate: return whole(a, a.trunc());
        case ScalarOp::round: return a.below.same_as(1) ? Followed(a) : std::nullopt;
        default: return std::nullopt;
        }
    }

    // Of what is negative it may be a negative zero.
    static Followed whole(const SizeQuotient& a, const Size& rounded) {
        return a.above >= 0 || rounded != 0 ? Followed(rounded) : std::nullopt;
    }

    static Followed of_floats(ScalarOp op, DType dtype, const SizeQuotient& a, const SizeQuotient& b) {
        const auto floats = float_sizes(dtype);
        if (!floats) return std::nullopt;
        switch (op) {
        case ScalarOp::add: return floats->add(a, b);
        case ScalarOp::subtract: return floats->subtract(a, b);
        case ScalarOp::multiply: return floats->multiply(a, b);
        case ScalarOp::divide: return floats->divide(a, b);
        case ScalarOp::minimum: return floats->minimum(a, b);
        case ScalarOp::maximum: return floats->maximum(a, b);
        default: break;
        }
        if (info(op).kind != ScalarClass::comparison) return std::nullopt;
        const auto apart = floats->difference(a, b);
        return apart ? binary(op, *apart, 0) : std::nullopt;
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
}

void tell_numbers(const Body& body, const SizeEvaluation& evaluation) {
    for (const SizeEvaluation::Input& input : evaluation.inputs) {
        if (input.sizes) std::ranges::for_each(*input.sizes, &SizeQuotient::value);
    }
    for (const Node& node : body.nodes) node.integer.value();
    for (const Variable& variable : body.variables) variable.extent.value();
}

std::optional<FloatSizes> float_sizes(DType dtype) {
    if (dtype != DType::float32 && dtype != DType::float64) return std::nullopt;
    return FloatSizes(info(dtype).format.mantissa_bits + 1);
}

std::optional<SizeQuotient> held_in(DType dtype, const SizeQuotient& value) {
    if (is_integer(dtype)) return value.below.same_as(1) ? std::optional(value) : std::nullopt;
    if (dtype == DType::float64) return value;
    const auto floats = float_sizes(dtype);
    return floats ? floats->narrowed(value) : std::nullopt;
}

double element_of(DType dtype, const SizeQuotient& value) {
    return dtype == DType::float32 ? static_cast<float>(value.number()) : value.number();
}

TensorData data_of(const TensorType& type, const std::vector<SizeQuotient>& elements) {
    TensorData data(type.dtype, type.extents());
    for (size_t i = 0; i < elements.size(); ++i) {
        const auto index = static_cast<int64_t>(i);
        if (is_float(type.dtype))
            data.set_real(index, element_of(type.dtype, elements[i]));
        else
            data.set_integer(index, elements[i].above.number());
    }
    return data;
}

}  // namespace heddle
