// Graphs with bodies built by hand, for tests of this room: what symbolic execution would leave behind.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace heddle::equations::testing {

class BodyBuilder {
public:
    Body body;

    VariableId variable(std::string name, Size extent, Variable::Kind kind = Variable::Kind::index) {
        body.variables.push_back({std::move(name), kind, std::move(extent)});
        return last_id<VariableId>(body.variables);
    }
    VariableId reduction(std::string name, Size extent) {
        return variable(std::move(name), std::move(extent), Variable::Kind::reduction);
    }
    // One index variable a dimension.
    std::vector<VariableId> variables(const std::vector<Size>& shape) {
        std::vector<VariableId> result;
        for (const Size& size : shape) result.push_back(variable("i" + std::to_string(body.variables.size()), size));
        return result;
    }

    NodeId add(Node node) {
        body.nodes.push_back(std::move(node));
        return last_id<NodeId>(body.nodes);
    }
    NodeId value_of(VariableId variable) {
        return add({.kind = Node::Kind::variable, .dtype = DType::int64, .index = variable});
    }
    std::vector<NodeId> values_of(std::span<const VariableId> variables) {
        std::vector<NodeId> result;
        for (VariableId variable : variables) result.push_back(value_of(variable));
        return result;
    }
    NodeId integer(int64_t value, DType dtype = DType::int64) {
        return add({.kind = Node::Kind::integer, .dtype = dtype, .integer = value});
    }
    NodeId real(double value, DType dtype = DType::float32) {
        return add({.kind = Node::Kind::real, .dtype = dtype, .real = value});
    }
    // Comparisons give bool, everything else its first operand's type.
    NodeId scalar(ScalarOp op, std::vector<NodeId> operands) {
        const ScalarClass kind = info(op).kind;
        const bool truth = kind == ScalarClass::comparison || kind == ScalarClass::predicate;
        const DType dtype = truth ? DType::boolean : body.node(operands[0]).dtype;
        return add({.kind = Node::Kind::scalar, .dtype = dtype, .op = op, .operands = std::move(operands)});
    }
    NodeId plus(NodeId a, NodeId b) { return scalar(ScalarOp::add, {a, b}); }
    NodeId minus(NodeId a, NodeId b) { return scalar(ScalarOp::subtract, {a, b}); }
    NodeId times(NodeId a, NodeId b) { return scalar(ScalarOp::multiply, {a, b}); }
    NodeId cast(DType dtype, NodeId value) {
        if (body.node(value).dtype == dtype) return value;
        return add({.kind = Node::Kind::cast, .dtype = dtype, .operands = {value}});
    }
    NodeId select(NodeId condition, NodeId then, NodeId otherwise) {
        return add(
            {.kind = Node::Kind::select, .dtype = body.node(then).dtype, .operands = {condition, then, otherwise}});
    }
    NodeId read(int32_t input, DType dtype, std::vector<NodeId> coordinates) {
        return add({.kind = Node::Kind::read, .dtype = dtype, .index = input, .operands = std::move(coordinates)});
    }
    NodeId guarded_read(int32_t input, DType dtype, std::vector<NodeId> coordinates, NodeId otherwise) {
        coordinates.push_back(otherwise);
        return add(
            {.kind = Node::Kind::guarded_read, .dtype = dtype, .index = input, .operands = std::move(coordinates)});
    }
    NodeId reduce(Reducer reducer, std::vector<VariableId> variables, NodeId term) {
        const DType dtype = is_argument(reducer) ? DType::int64 : body.node(term).dtype;
        return add({.kind = Node::Kind::reduce,
                    .dtype = dtype,
                    .reducer = reducer,
                    .operands = {term},
                    .variables = std::move(variables)});
    }
    NodeId reduce_if(Reducer reducer, std::vector<VariableId> variables, NodeId term, NodeId condition) {
        const NodeId node = reduce(reducer, std::move(variables), term);
        body.nodes.back().operands.push_back(condition);
        return node;
    }
    // `let name[variables] = value`; read with local_at.
    int32_t local(std::string name, std::vector<VariableId> variables, NodeId value) {
        body.locals.push_back({std::move(name), body.node(value).dtype, std::move(variables), value});
        return static_cast<int32_t>(body.locals.size()) - 1;
    }
    NodeId local_at(int32_t local, std::vector<NodeId> coordinates) {
        return add({.kind = Node::Kind::local,
                    .dtype = body.locals[static_cast<size_t>(local)].dtype,
                    .index = local,
                    .operands = std::move(coordinates)});
    }
    void equation(std::vector<VariableId> variables, std::vector<NodeId> left, NodeId value, int32_t output = 0) {
        body.equations.push_back({output, std::move(variables), std::move(left), value});
    }
};

class GraphBuilder {
public:
    Graph graph;

    TensorId tensor(const std::string& name, DType dtype, std::vector<Size> shape) {
        return graph.add_tensor(name, {dtype, std::move(shape)});
    }
    TensorId input(const std::string& name, DType dtype, std::vector<Size> shape) {
        const TensorId id = tensor(name, dtype, std::move(shape));
        graph.inputs.push_back(id);
        return id;
    }
    TensorId constant(const std::string& name, TensorData data) { return graph.add_constant(name, std::move(data)); }
    TensorId floats(const std::string& name, std::vector<int64_t> shape, const std::vector<double>& values) {
        TensorData data(DType::float32, std::move(shape));
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, values[static_cast<size_t>(i)]);
        return constant(name, std::move(data));
    }
    TensorId integers(const std::string& name, std::vector<int64_t> shape, const std::vector<int64_t>& values) {
        TensorData data(DType::int64, std::move(shape));
        for (int64_t i = 0; i < data.size(); i++) data.set_integer(i, values[static_cast<size_t>(i)]);
        return constant(name, std::move(data));
    }
    void output(TensorId id) { graph.outputs.push_back(id); }

    // By value: the graph's tensors move as it grows.
    std::vector<Size> shape(TensorId id) const { return graph.tensor(id).type.shape; }
    DType dtype(TensorId id) const { return graph.tensor(id).type.dtype; }

    void operation(const std::string& name, std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                   const BodyBuilder& builder) {
        Operation operation;
        operation.name = name + "_" + std::to_string(graph.operations.size());
        operation.operator_name = name;
        operation.inputs = std::move(inputs);
        operation.outputs = std::move(outputs);
        for (const Variable& variable : builder.body.variables) {
            if (variable.kind == Variable::Kind::index) operation.index.push_back({variable.name, variable.extent, {}});
        }
        operation.body = std::make_shared<const Body>(builder.body);
        graph.add_operation(std::move(operation));
    }
    // One equation, one index axis a dimension: value(builder, coordinates).
    using Value = std::function<NodeId(BodyBuilder&, const std::vector<NodeId>&)>;
    TensorId map(const std::string& name, std::vector<TensorId> inputs, DType dtype, std::vector<Size> shape,
                 const Value& value) {
        const TensorId result = tensor(name, dtype, shape);
        BodyBuilder b;
        const std::vector<VariableId> variables = b.variables(shape);
        const std::vector<NodeId> coordinates = b.values_of(variables);
        const NodeId right = value(b, coordinates);
        b.equation(variables, coordinates, right);
        operation(name, std::move(inputs), {result}, b);
        return result;
    }

    // A read of input `slot` (tensor `id`) with the coordinates broadcast to it by NumPy's rule.
    NodeId broadcast_read(BodyBuilder& b, int32_t slot, TensorId id, std::span<const NodeId> coordinates) const {
        std::vector<NodeId> own;
        const size_t missing = coordinates.size() - shape(id).size();
        for (size_t d = 0; d < shape(id).size(); d++) {
            own.push_back(shape(id)[d].value() == 1 ? b.integer(0) : coordinates[d + missing]);
        }
        return b.read(slot, dtype(id), std::move(own));
    }

    TensorId unary(ScalarOp op, TensorId x) {
        return map(std::string(info(op).name), {x}, dtype(x), shape(x),
                   [&](BodyBuilder& b, const auto& at) { return b.scalar(op, {b.read(0, dtype(x), at)}); });
    }
    TensorId binary(ScalarOp op, TensorId x, TensorId y) {
        std::vector<Size> joint = shape(x).size() >= shape(y).size() ? shape(x) : shape(y);
        for (TensorId t : {x, y}) {
            const size_t missing = joint.size() - shape(t).size();
            for (size_t d = 0; d < shape(t).size(); d++) {
                if (shape(t)[d].value() != 1) joint[d + missing] = shape(t)[d];
            }
        }
        const bool truth = info(op).kind == ScalarClass::comparison;
        return map(std::string(info(op).name), {x, y}, truth ? DType::boolean : dtype(x), joint,
                   [&](BodyBuilder& b, const auto& at) {
                       return b.scalar(op, {broadcast_read(b, 0, x, at), broadcast_read(b, 1, y, at)});
                   });
    }
    TensorId cast(TensorId x, DType to) {
        return map("cast", {x}, to, shape(x),
                   [&](BodyBuilder& b, const auto& at) { return b.cast(to, b.read(0, dtype(x), at)); });
    }
    TensorId transpose(TensorId x, const std::vector<size_t>& order) {
        std::vector<Size> moved;
        for (size_t d : order) moved.push_back(shape(x)[d]);
        return map("transpose", {x}, dtype(x), moved, [&](BodyBuilder& b, const auto& at) {
            std::vector<NodeId> own(order.size());
            for (size_t d = 0; d < order.size(); d++) own[order[d]] = at[d];
            return b.read(0, dtype(x), own);
        });
    }
    // As a template says it: the row-major number of the output's point, taken apart by the input's shape.
    TensorId reshape(TensorId x, const std::vector<Size>& to) {
        return map("reshape", {x}, dtype(x), to, [&](BodyBuilder& b, const auto& at) {
            NodeId flat = b.integer(0);
            for (size_t d = 0; d < to.size(); d++) flat = b.plus(b.times(flat, b.integer(to[d].value())), at[d]);
            std::vector<NodeId> own(shape(x).size());
            for (size_t d = own.size(); d-- > 0;) {
                const NodeId extent = b.integer(std::max<int64_t>(shape(x)[d].value(), 1));
                own[d] = b.scalar(ScalarOp::modulo, {flat, extent});
                flat = b.scalar(ScalarOp::floor_divide, {flat, extent});
            }
            return b.read(0, dtype(x), own);
        });
    }
    TensorId slice(TensorId x, size_t axis, int64_t start, int64_t count, int64_t step = 1) {
        std::vector<Size> cut = shape(x);
        cut[axis] = count;
        return map("slice", {x}, dtype(x), cut, [&](BodyBuilder& b, auto at) {
            at[axis] = b.plus(b.times(at[axis], b.integer(step)), b.integer(start));
            return b.read(0, dtype(x), at);
        });
    }
    TensorId pad(TensorId x, size_t axis, int64_t before, int64_t after, double value = 0) {
        std::vector<Size> wide = shape(x);
        wide[axis] = wide[axis].value() + before + after;
        return map("pad", {x}, dtype(x), wide, [&](BodyBuilder& b, auto at) {
            at[axis] = b.minus(at[axis], b.integer(before));
            return b.guarded_read(0, dtype(x), at, b.real(value, dtype(x)));
        });
    }
    // One operation a part, each writing its box.
    TensorId concat(const std::vector<TensorId>& parts, size_t axis) {
        std::vector<Size> whole = shape(parts[0]);
        int64_t total = 0;
        for (TensorId part : parts) total += shape(part)[axis].value();
        whole[axis] = total;
        const TensorId result = tensor("concat", dtype(parts[0]), whole);
        int64_t offset = 0;
        for (TensorId part : parts) {
            BodyBuilder b;
            const std::vector<VariableId> variables = b.variables(shape(part));
            const std::vector<NodeId> at = b.values_of(variables);
            std::vector<NodeId> left = at;
            left[axis] = b.plus(at[axis], b.integer(offset));
            b.equation(variables, left, b.read(0, dtype(part), at));
            operation("concat", {part}, {result}, b);
            offset += shape(part)[axis].value();
        }
        return result;
    }
    // x[.., ids[..], ..] along `axis`; negative indices count from the end.
    TensorId gather(TensorId x, TensorId ids, size_t axis) {
        const std::vector<Size> own_shape = shape(x), id_shape = shape(ids);
        const auto at_axis = own_shape.begin() + static_cast<std::ptrdiff_t>(axis);
        std::vector<Size> out(own_shape.begin(), at_axis);
        out.insert(out.end(), id_shape.begin(), id_shape.end());
        out.insert(out.end(), at_axis + 1, own_shape.end());
        return map("gather", {x, ids}, dtype(x), out, [&](BodyBuilder& b, const auto& at) {
            const size_t rank = shape(ids).size();
            const auto first = at.begin() + static_cast<std::ptrdiff_t>(axis),
                       last = first + static_cast<std::ptrdiff_t>(rank);
            const NodeId id = b.cast(DType::int64, b.read(1, dtype(ids), std::vector<NodeId>(first, last)));
            const NodeId wrapped =
                b.select(b.scalar(ScalarOp::less, {id, b.integer(0)}), b.plus(id, b.integer(shape(x)[axis].value())), id);
            std::vector<NodeId> own(at.begin(), first);
            own.push_back(wrapped);
            own.insert(own.end(), last, at.end());
            return b.read(0, dtype(x), own);
        });
    }
    // Over one axis, which goes.
    TensorId reduce(Reducer reducer, TensorId x, size_t axis) {
        std::vector<Size> kept = shape(x);
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
        const DType result = is_argument(reducer) ? DType::int64 : dtype(x);
        return map(std::string(name(reducer)), {x}, result, kept, [&](BodyBuilder& b, auto at) {
            const VariableId k = b.reduction("k", shape(x)[axis]);
            at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), b.value_of(k));
            return b.reduce(reducer, {k}, b.read(0, dtype(x), at));
        });
    }
    // [..., m, k] times [..., k, n] of equal batch dimensions, or a matrix on the right.
    TensorId matmul(TensorId x, TensorId y) {
        std::vector<Size> out = shape(x);
        out.back() = shape(y).back();
        return map("matmul", {x, y}, dtype(x), out, [&](BodyBuilder& b, const auto& at) {
            const VariableId k = b.reduction("k", shape(x).back());
            std::vector<NodeId> left = at, right = at;
            left.back() = right[right.size() - 2] = b.value_of(k);
            right.erase(right.begin(), right.end() - static_cast<std::ptrdiff_t>(shape(y).size()));
            return b.reduce(Reducer::sum, {k}, b.times(b.read(0, dtype(x), left), b.read(1, dtype(y), right)));
        });
    }
    // Over the last axis, in one body: max, sum of exponentials, division.
    TensorId softmax(TensorId x) {
        return map("softmax", {x}, dtype(x), shape(x), [&](BodyBuilder& b, const auto& at) {
            auto along = [&](Size extent) { return b.reduction("k", std::move(extent)); };
            auto read_at = [&](NodeId last) {
                std::vector<NodeId> own = at;
                own.back() = last;
                return b.read(0, dtype(x), own);
            };
            const VariableId k = along(shape(x).back()), j = along(shape(x).back());
            const NodeId largest = b.reduce(Reducer::maximum, {k}, read_at(b.value_of(k)));
            auto exponential = [&](NodeId last) { return b.scalar(ScalarOp::exp, {b.minus(read_at(last), largest)}); };
            const NodeId total = b.reduce(Reducer::sum, {j}, exponential(b.value_of(j)));
            return b.scalar(ScalarOp::divide, {exponential(at.back()), total});
        });
    }
    // x [n, c, h, w], w [o, c / groups, kh, kw]; equal strides and pads on all sides.
    TensorId conv(TensorId x, TensorId w, int64_t stride, int64_t padding, int64_t groups = 1) {
        const std::vector<Size> in = shape(x), window = shape(w);
        auto out_extent = [&](size_t d) { return (in[d].value() + 2 * padding - window[d].value()) / stride + 1; };
        const std::vector<Size> out = {in[0], window[0], out_extent(2), out_extent(3)};
        return map("conv", {x, w}, dtype(x), out, [&](BodyBuilder& b, const auto& at) {
            const VariableId c = b.reduction("c", window[1]), kh = b.reduction("kh", window[2]),
                             kw = b.reduction("kw", window[3]);
            NodeId channel = b.value_of(c);
            if (groups > 1) {
                const NodeId group = b.scalar(ScalarOp::floor_divide, {at[1], b.integer(window[0].value() / groups)});
                channel = b.plus(b.times(group, b.integer(window[1].value())), channel);
            }
            auto position = [&](NodeId o, VariableId k) {
                return b.minus(b.plus(b.times(o, b.integer(stride)), b.value_of(k)), b.integer(padding));
            };
            const std::vector<NodeId> own = {at[0], channel, position(at[2], kh), position(at[3], kw)};
            const NodeId value =
                padding > 0 ? b.guarded_read(0, dtype(x), own, b.real(0, dtype(x))) : b.read(0, dtype(x), own);
            const NodeId weight = b.read(1, dtype(w), {at[1], b.value_of(c), b.value_of(kh), b.value_of(kw)});
            return b.reduce(Reducer::sum, {c, kh, kw}, b.times(value, weight));
        });
    }
};

// Values that a test can tell apart: small floats of both signs, integers from 0 up to `integer_limit`.
inline TensorData random_data(std::mt19937& random, DType dtype, std::vector<int64_t> shape,
                              int64_t integer_limit = 5) {
    TensorData data(dtype, std::move(shape));
    for (int64_t i = 0; i < data.size(); i++) {
        if (is_float(dtype))
            data.set_real(i, static_cast<double>(static_cast<int64_t>(random() % 4001) - 2000) / 1000.0);
        else
            data.set_integer(
                i, static_cast<int64_t>(random() % static_cast<uint32_t>(is_bool(dtype) ? 2 : integer_limit)));
    }
    return data;
}

inline std::vector<TensorData> random_feeds(std::mt19937& random, const Graph& graph, int64_t integer_limit = 5) {
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        feeds.push_back(
            random_data(random, graph.tensor(id).type.dtype, graph.tensor(id).type.extents(), integer_limit));
    }
    return feeds;
}

}  // namespace heddle::equations::testing
