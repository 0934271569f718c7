// Systems built equation by equation, for tests of passes and fusion: each operation is one equation over whole
// tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "equations/system.h"

namespace heddle::equations::testing {

using Coordinates = std::vector<Expr>;

class SystemBuilder {
public:
    System system;

    Arena& arena() { return *system.arena; }
    std::vector<int64_t> shape(TensorIndex tensor) const { return numbers_of(system.tensor(tensor).shape); }

    TensorIndex add(const std::string& name, const std::vector<int64_t>& shape, SystemTensor::Kind kind) {
        SystemTensor tensor;
        tensor.name = name;
        tensor.kind = kind;
        tensor.shape.assign(shape.begin(), shape.end());
        return system.add_tensor(std::move(tensor));
    }
    TensorIndex input(std::vector<int64_t> shape, const std::string& name = "x") {
        const TensorIndex index = add(name, std::move(shape), SystemTensor::Kind::input);
        system.inputs.push_back(index);
        return index;
    }
    TensorIndex indices(const std::vector<int64_t>& values) {
        const TensorIndex index = add("indices", {static_cast<int64_t>(values.size())}, SystemTensor::Kind::constant);
        TensorData data(DType::int64, shape(index));
        for (size_t i = 0; i < values.size(); i++) data.set_integer(static_cast<int64_t>(i), values[i]);
        system.tensor(index).dtype = DType::int64;
        system.tensor(index).constant = std::move(data);
        return index;
    }
    TensorIndex weights(std::vector<int64_t> shape, const std::string& name = "w") {
        const TensorIndex index = add(name, std::move(shape), SystemTensor::Kind::constant);
        TensorData data(DType::float32, numbers_of(system.tensor(index).shape));
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, 0.01 * static_cast<double>((i * 37) % 101) - 0.5);
        system.tensor(index).constant = std::move(data);
        return index;
    }
    TensorIndex pointwise(std::vector<int64_t> shape, const std::function<Expr(const Coordinates&)>& right,
                          const std::string& name = "t") {
        const TensorIndex index = add(name, std::move(shape), SystemTensor::Kind::computed);
        Equation equation = over(index);
        equation.right = right(equation.left);
        system.add_equation(std::move(equation));
        return index;
    }
    TensorIndex reduce(std::vector<int64_t> shape, Reducer reducer, const std::vector<int64_t>& reduced,
                       const std::function<Expr(const Coordinates&, const Coordinates&)>& term,
                       const std::string& name = "r") {
        const TensorIndex index = add(name, std::move(shape), SystemTensor::Kind::computed);
        Equation equation = over(index);
        Coordinates values;
        for (int64_t extent : reduced) {
            equation.reduced.push_back(arena().add_axis({.name = "k", .extent = extent}));
            values.push_back(arena().axis_value(equation.reduced.back()));
        }
        equation.reducer = reducer;
        equation.right = term(equation.left, values);
        system.add_equation(std::move(equation));
        return index;
    }
    // One copy equation a piece.
    TensorIndex concatenate(const std::vector<TensorIndex>& pieces, size_t dimension,
                            const std::string& name = "joined") {
        auto whole = shape(pieces[0]);
        whole[dimension] = 0;
        for (TensorIndex piece : pieces) whole[dimension] += shape(piece)[dimension];
        const TensorIndex index = add(name, whole, SystemTensor::Kind::computed);
        int64_t offset = 0;
        for (size_t p = 0; p < pieces.size(); p++) {
            Equation equation;
            equation.tensor = index;
            equation.piece = static_cast<int32_t>(p);
            Coordinates coordinates;
            for (int64_t extent : shape(pieces[p])) {
                equation.axes.push_back(arena().add_axis({.name = "i", .extent = extent}));
                coordinates.push_back(arena().axis_value(equation.axes.back()));
            }
            equation.left = coordinates;
            equation.left[dimension] = arena().add(coordinates[dimension], arena().integer(offset));
            equation.right = read(pieces[p], coordinates);
            system.add_equation(std::move(equation));
            offset += shape(pieces[p])[dimension];
        }
        return index;
    }
    void output(TensorIndex tensor) {
        if (system.tensor(tensor).is_output) return;
        system.tensor(tensor).is_output = true;
        system.outputs.push_back(tensor);
    }

    Expr read(TensorIndex tensor, const Coordinates& coordinates) {
        return arena().read(tensor, system.tensor(tensor).dtype, coordinates);
    }
    // Coordinates of a broadcast operand: aligned at the end, 0 where its extent is one.
    Expr read_broadcast(TensorIndex tensor, const Coordinates& at) {
        Coordinates coordinates;
        const auto& own = shape(tensor);
        for (size_t d = 0; d < own.size(); d++) {
            coordinates.push_back(own[d] == 1 ? arena().integer(0) : at[d + at.size() - own.size()]);
        }
        return read(tensor, coordinates);
    }
    Expr number(double value) { return arena().real(DType::float32, value); }
    Expr apply(ScalarOp op, std::vector<Expr> operands) {
        const DType dtype = operands[0]->dtype;
        return arena().scalar(op, dtype, std::move(operands));
    }
    Expr plus(Expr a, Expr b) { return apply(ScalarOp::add, {a, b}); }
    Expr minus(Expr a, Expr b) { return apply(ScalarOp::subtract, {a, b}); }
    Expr times(Expr a, Expr b) { return apply(ScalarOp::multiply, {a, b}); }

    // Whole operations.
    TensorIndex unary(TensorIndex x, ScalarOp op) {
        return pointwise(shape(x), [&](const Coordinates& i) { return apply(op, {read(x, i)}); });
    }
    TensorIndex binary(TensorIndex x, TensorIndex y, ScalarOp op) {
        const auto &a = shape(x), &b = shape(y);
        std::vector<int64_t> whole = a.size() >= b.size() ? a : b;
        const auto& other = a.size() >= b.size() ? b : a;
        for (size_t d = 0; d < other.size(); d++) {
            int64_t& extent = whole[whole.size() - other.size() + d];
            if (extent == 1) extent = other[d];
        }
        return pointwise(whole,
                         [&](const Coordinates& i) { return apply(op, {read_broadcast(x, i), read_broadcast(y, i)}); });
    }
    TensorIndex scaled(TensorIndex x, double factor) {
        return pointwise(shape(x), [&](const Coordinates& i) { return times(read(x, i), number(factor)); });
    }
    TensorIndex shifted(TensorIndex x, double offset) {
        return pointwise(shape(x), [&](const Coordinates& i) { return plus(read(x, i), number(offset)); });
    }
    // Over the last dimension, which stays with extent one.
    TensorIndex reduce_last(TensorIndex x, Reducer reducer) {
        auto kept = shape(x);
        const int64_t extent = kept.back();
        kept.back() = 1;
        return reduce(kept, reducer, {extent}, [&](const Coordinates& i, const Coordinates& k) {
            Coordinates at = i;
            at.back() = k[0];
            return read(x, at);
        });
    }
    TensorIndex mean_last(TensorIndex x) {
        const double extent = static_cast<double>(shape(x).back());
        return scaled(reduce_last(x, Reducer::sum), 1 / extent);
    }
    // A quotient by a reduction's result is written as lowering writes it.
    TensorIndex divided_by_statistic(TensorIndex x, TensorIndex statistic) {
        return pointwise(shape(x), [&](const Coordinates& i) {
            return times(read(x, i), apply(ScalarOp::reciprocal, {read_broadcast(statistic, i)}));
        });
    }
    TensorIndex transpose(TensorIndex x, const std::vector<size_t>& order) {
        std::vector<int64_t> moved;
        for (size_t d : order) moved.push_back(shape(x)[d]);
        return pointwise(moved, [&](const Coordinates& i) {
            Coordinates at(order.size());
            for (size_t d = 0; d < order.size(); d++) at[order[d]] = i[d];
            return read(x, at);
        });
    }
    TensorIndex reshape(TensorIndex x, std::vector<int64_t> to) {
        const auto from = shape(x);
        return pointwise(to, [&](const Coordinates& i) {
            Expr position = arena().integer(0);
            for (size_t d = 0; d < to.size(); d++) position = arena().add(i[d], position, to[d]);
            Coordinates at(from.size());
            for (size_t d = from.size(); d-- > 0;) {
                at[d] = d == 0 ? position : arena().modulo(position, from[d]);
                position = arena().floor_divide(position, from[d]);
            }
            return read(x, at);
        });
    }
    // [.., M, K] [.., K, N]; a weight of rank two is shared by the batch.
    TensorIndex matmul(TensorIndex x, TensorIndex w) {
        auto whole = shape(x);
        const int64_t inner = whole.back();
        whole.back() = shape(w).back();
        return reduce(whole, Reducer::sum, {inner}, [&](const Coordinates& i, const Coordinates& k) {
            Coordinates a = i, b = i;
            a.back() = k[0];
            b[b.size() - 2] = k[0];
            if (shape(w).size() == 2) b.erase(b.begin(), b.end() - 2);
            return times(read(x, a), read(w, b));
        });
    }
    TensorIndex softmax(TensorIndex x) {
        const TensorIndex maximum = reduce_last(x, Reducer::maximum);
        const TensorIndex power = unary(binary(x, maximum, ScalarOp::subtract), ScalarOp::exp);
        return divided_by_statistic(power, reduce_last(power, Reducer::sum));
    }
    // NCHW, stride one, zero padding.
    TensorIndex convolution(TensorIndex x, TensorIndex w, int64_t padding) {
        const std::vector<Size> bounds = system.tensor(x).shape;
        const auto input = shape(x), kernel = shape(w);
        const std::vector<int64_t> whole = {input[0], kernel[0], input[2] + 2 * padding - kernel[2] + 1,
                                            input[3] + 2 * padding - kernel[3] + 1};
        return reduce(
            whole, Reducer::sum, {kernel[1], kernel[2], kernel[3]}, [&](const Coordinates& i, const Coordinates& k) {
                Expr row = arena().add(arena().add(i[2], k[1]), arena().integer(-padding));
                Expr column = arena().add(arena().add(i[3], k[2]), arena().integer(-padding));
                Expr pixel = arena().guarded_read(x, DType::float32, {i[0], k[0], row, column}, number(0), bounds);
                return times(pixel, read(w, {i[1], k[0], k[1], k[2]}));
            });
    }

private:
    Equation over(TensorIndex tensor) {
        Equation equation;
        equation.tensor = tensor;
        for (int64_t extent : shape(tensor)) {
            equation.axes.push_back(arena().add_axis({.name = "i", .extent = extent}));
            equation.left.push_back(arena().axis_value(equation.axes.back()));
        }
        return equation;
    }
};

}  // namespace heddle::equations::testing
