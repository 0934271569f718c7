#include "random_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "equations/system_rules.h"

namespace heddle::equations::testing {
namespace {

constexpr int64_t largest_tensor = 600;  // elements

class Generator {
public:
    Generator(uint64_t seed, bool exact) : random_(seed), exact_(exact) {}

    RandomSystem make(int operations) {
        for (int64_t k = 1 + below(3); k > 0; k--) add_input(random_shape());
        for (int k = 0; k < operations; k++) step();
        mark_outputs();
        RandomSystem result;
        for (TensorIndex input : builder_.system.inputs) result.feeds.push_back(random_values(builder_.shape(input)));
        result.system = std::move(builder_.system);
        return result;
    }

private:
    enum class Operation {
        unary,
        binary,
        diamond,
        transpose,
        reshape,
        slice,
        halves,
        broadcast,
        pad,
        concatenate,
        gather,
        scatter,
        sum,
        maximum,
        softmax,
        matmul,
        self_product,
        pool,
        scan,
    };

    int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
    template <typename T>
    const T& one_of(const std::vector<T>& list) {
        return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
    }

    std::vector<int64_t> random_shape() {
        static const std::vector<int64_t> extents = {1, 2, 3, 4, 5, 6, 7, 8, 12};
        std::vector<int64_t> shape;
        for (int64_t rank = 1 + below(4); rank > 0; rank--) {
            shape.push_back(one_of(extents));
            if (size_of(shape) > largest_tensor / 2) shape.back() = 1;
        }
        return shape;
    }
    static int64_t size_of(const std::vector<int64_t>& shape) {
        return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    }
    TensorData random_values(const std::vector<int64_t>& shape) {
        TensorData data(DType::float32, shape);
        std::normal_distribution<double> normal;
        for (int64_t i = 0; i < data.size(); i++) data.set_real(i, normal(random_));
        return data;
    }
    TensorIndex add_input(std::vector<int64_t> shape) {
        made_.push_back(builder_.input(std::move(shape)));
        return made_.back();
    }
    void keep(TensorIndex tensor) { made_.push_back(tensor); }

    void mark_outputs() {
        std::vector<bool> read(builder_.system.tensors.size());
        for (const Equation& equation : builder_.system.equations) {
            for (Expr node : reads(equation)) read[static_cast<size_t>(node->tensor())] = true;
        }
        std::vector<TensorIndex> inner;
        for (TensorIndex tensor : made_) {
            if (builder_.system.tensor(tensor).kind != SystemTensor::Kind::computed) continue;
            if (!read[static_cast<size_t>(tensor)])
                builder_.output(tensor);
            else
                inner.push_back(tensor);
        }
        if (!inner.empty() && below(2) == 0) builder_.output(one_of(inner));
    }

    Operation draw() {
        using enum Operation;
        static const std::vector<Operation> moving = {unary,   unary,     unary,   binary,      binary,      binary,
                                                      binary,  diamond,   diamond, transpose,   transpose,   transpose,
                                                      reshape, reshape,   reshape, reshape,     slice,       slice,
                                                      halves,  broadcast, pad,     concatenate, concatenate, gather};
        static const std::vector<Operation> reducing = {scatter, scatter,      sum,  maximum, softmax, matmul,
                                                        matmul,  self_product, pool, scan,    scan};
        const auto all = static_cast<int64_t>(moving.size() + (exact_ ? 0 : reducing.size()));
        const auto k = static_cast<size_t>(below(all));
        return k < moving.size() ? moving[k] : reducing[k - moving.size()];
    }

    void step() {
        const auto recent = static_cast<int64_t>(std::min<size_t>(made_.size(), 6));
        x_ = made_[made_.size() - 1 - static_cast<size_t>(below(recent))];
        shape_ = builder_.shape(x_);
        switch (draw()) {
        case Operation::unary: return unary();
        case Operation::binary: return binary();
        case Operation::diamond: return diamond();
        case Operation::transpose: return transpose();
        case Operation::reshape: return reshape();
        case Operation::slice: return slice();
        case Operation::halves: return halves();
        case Operation::broadcast: return broadcast();
        case Operation::pad: return pad();
        case Operation::concatenate: return concatenate();
        case Operation::gather: return gather();
        case Operation::scatter: return scatter();
        case Operation::sum: return reduce(Reducer::sum);
        case Operation::maximum: return reduce(Reducer::maximum);
        case Operation::softmax: return softmax();
        case Operation::matmul: return matmul();
        case Operation::self_product: return self_product();
        case Operation::pool: return pool();
        case Operation::scan: return scan();
        }
    }

    void unary() {
        static const std::vector<ScalarOp> ops = {ScalarOp::exp, ScalarOp::tanh, ScalarOp::negate, ScalarOp::absolute,
                                                  ScalarOp::sigmoid};
        const ScalarOp op = one_of(ops);
        keep(builder_.pointwise(shape_, [&](const Coordinates& i) {
            Expr value = builder_.read(x_, i);
            if (op == ScalarOp::exp) value = builder_.apply(ScalarOp::minimum, {value, builder_.number(3)});
            return builder_.apply(op, {value});
        }));
    }
    static bool broadcasts(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
        for (size_t d = 0; d < std::min(a.size(), b.size()); d++) {
            const int64_t x = a[a.size() - 1 - d], y = b[b.size() - 1 - d];
            if (x != y && x != 1 && y != 1) return false;
        }
        return true;
    }
    void binary() {
        static const std::vector<ScalarOp> ops = {ScalarOp::add, ScalarOp::multiply, ScalarOp::maximum,
                                                  ScalarOp::subtract};
        TensorIndex y = one_of(made_);
        if (!broadcasts(shape_, builder_.shape(y))) {
            std::vector<int64_t> fitting(shape_.begin() + below(static_cast<int64_t>(shape_.size()) + 1), shape_.end());
            for (int64_t& extent : fitting) extent = below(2) == 0 ? 1 : extent;
            y = add_input(fitting);
        }
        const auto& other = builder_.shape(y);
        int64_t size = 1;
        for (size_t d = 0; d < std::max(shape_.size(), other.size()); d++) {
            size *= std::max(d < shape_.size() ? shape_[shape_.size() - 1 - d] : 1,
                             d < other.size() ? other[other.size() - 1 - d] : 1);
        }
        if (size <= largest_tensor) keep(builder_.binary(x_, y, one_of(ops)));
    }
    void diamond() { keep(builder_.binary(x_, builder_.unary(x_, ScalarOp::tanh), ScalarOp::add)); }
    void transpose() {
        std::vector<size_t> order(shape_.size());
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t d = order.size(); d > 1; d--)
            std::swap(order[d - 1], order[static_cast<size_t>(below(static_cast<int64_t>(d)))]);
        keep(builder_.transpose(x_, order));
    }
    void reshape() {
        int64_t left = size_of(shape_);
        std::vector<int64_t> to;
        while (left > 1 && to.size() < 4) {
            std::vector<int64_t> divisors;
            for (int64_t d = 2; d <= left; d++) {
                if (left % d == 0) divisors.push_back(d);
            }
            to.push_back(one_of(divisors));
            left /= to.back();
        }
        if (left > 1 || to.empty()) to.push_back(left);
        if (below(3) == 0) to.push_back(1);
        for (size_t d = to.size(); d > 1; d--)
            std::swap(to[d - 1], to[static_cast<size_t>(below(static_cast<int64_t>(d)))]);
        keep(builder_.reshape(x_, to));
    }
    // Reads x at other coordinates along one dimension.
    TensorIndex moved(size_t dimension, int64_t extent, const std::function<Expr(Expr)>& coordinate) {
        auto whole = shape_;
        whole[dimension] = extent;
        return builder_.pointwise(whole, [&](const Coordinates& i) {
            Coordinates at = i;
            at[dimension] = coordinate(i[dimension]);
            return builder_.read(x_, at);
        });
    }
    size_t any_dimension() { return static_cast<size_t>(below(static_cast<int64_t>(shape_.size()))); }
    void slice() {
        if (shape_.empty()) return;
        static const std::vector<int64_t> steps = {1, 1, 2, -1, 3};
        const size_t d = any_dimension();
        const int64_t step = one_of(steps), start = step > 0 ? below(shape_[d]) : shape_[d] - 1;
        const int64_t extent = step > 0 ? (shape_[d] - start + step - 1) / step : shape_[d];
        keep(moved(d, extent, [&](Expr i) { return builder_.arena().add(builder_.arena().integer(start), i, step); }));
    }
    // x plus its halves, swapped and one negated: by a selection.
    void halves() {
        if (shape_.empty()) return;
        const size_t d = any_dimension();
        if (shape_[d] % 2 != 0) return;
        const int64_t half = shape_[d] / 2;
        Arena& arena = builder_.arena();
        keep(builder_.pointwise(shape_, [&](const Coordinates& i) {
            Coordinates behind = i, before = i;
            behind[d] = arena.add(i[d], arena.integer(half));
            before[d] = arena.add(i[d], arena.integer(-half));
            Expr turned =
                arena.select(arena.less(i[d], arena.integer(half)),
                             builder_.apply(ScalarOp::negate, {builder_.read(x_, behind)}), builder_.read(x_, before));
            return builder_.plus(builder_.read(x_, i), turned);
        }));
    }
    void broadcast() {
        std::vector<int64_t> whole = {2 + below(3)};
        for (int64_t extent : shape_) whole.push_back(extent == 1 ? 3 + below(2) : extent);
        if (size_of(whole) > largest_tensor) return;
        keep(builder_.pointwise(whole, [&](const Coordinates& i) { return builder_.read_broadcast(x_, i); }));
    }
    void pad() {
        if (shape_.empty()) return;
        const size_t d = any_dimension();
        const int64_t before = below(4), after = below(3);
        auto whole = shape_;
        whole[d] += before + after;
        if (size_of(whole) > largest_tensor) return;
        Arena& arena = builder_.arena();
        const std::vector<Size> own(shape_.begin(), shape_.end());
        keep(builder_.pointwise(whole, [&](const Coordinates& i) {
            Coordinates at = i;
            at[d] = arena.add(i[d], arena.integer(-before));
            return arena.guarded_read(x_, DType::float32, at, builder_.number(0.5), own);
        }));
    }
    void concatenate() {
        if (shape_.empty()) return;
        const size_t d = any_dimension();
        std::vector<TensorIndex> fitting;
        for (TensorIndex y : made_) {
            auto other = builder_.shape(y);
            if (other.size() != shape_.size()) continue;
            other[d] = shape_[d];
            if (other == shape_) fitting.push_back(y);
        }
        std::vector<TensorIndex> pieces = {x_};
        for (int64_t k = 1 + below(2); k > 0; k--) pieces.push_back(one_of(fitting));
        int64_t size = 0;
        for (TensorIndex piece : pieces) size += size_of(builder_.shape(piece));
        if (size <= largest_tensor) keep(builder_.concatenate(pieces, d));
    }
    void gather() {
        if (shape_.empty()) return;
        const size_t d = any_dimension();
        std::vector<int64_t> indices(static_cast<size_t>(1 + below(5)));
        for (int64_t& index : indices) index = below(shape_[d]);
        const TensorIndex table = builder_.indices(indices);
        keep(moved(d, static_cast<int64_t>(indices.size()), [&](Expr i) { return builder_.read(table, {i}); }));
    }
    // Terms of one tensor joined to the elements of another that a table chooses; indices outside choose nothing.
    void scatter() {
        if (shape_.empty()) return;
        const size_t d = any_dimension();
        const int64_t extent = 1 + below(9);
        auto whole = shape_;
        whole[d] = extent;
        if (size_of(whole) > largest_tensor) return;
        std::vector<int64_t> indices(static_cast<size_t>(shape_[d]));
        for (int64_t& index : indices) index = below(extent + 2) - 1;
        const TensorIndex table = builder_.indices(indices);
        static const std::vector<Reducer> reducers = {Reducer::sum, Reducer::maximum, Reducer::minimum};
        const Reducer reducer = one_of(reducers);
        const TensorIndex made =
            builder_.reduce(whole, reducer, {shape_[d]}, [&](const Coordinates& i, const Coordinates& k) {
                Coordinates at = i;
                at[d] = k[0];
                Expr chosen =
                    builder_.arena().scalar(ScalarOp::equal, DType::boolean, {builder_.read(table, {k[0]}), i[d]});
                Expr none = neutral(builder_.arena(), reducer, DType::float32);
                return builder_.arena().select(chosen, builder_.read(x_, at), none);
            });
        const ScalarOp join = reducer == Reducer::sum       ? ScalarOp::add
                              : reducer == Reducer::maximum ? ScalarOp::maximum
                                                            : ScalarOp::minimum;
        keep(below(4) == 0 && reducer == Reducer::sum ? made : builder_.binary(add_input(whole), made, join));
    }
    void reduce(Reducer reducer) {
        if (shape_.empty()) return;
        std::vector<bool> gone(shape_.size());
        gone[any_dimension()] = true;
        if (below(2) == 0) gone[any_dimension()] = true;
        const bool keep_dimensions = below(2) == 0;
        std::vector<int64_t> whole, reduced;
        for (size_t d = 0; d < shape_.size(); d++) {
            if (gone[d]) reduced.push_back(shape_[d]);
            if (!gone[d] || keep_dimensions) whole.push_back(gone[d] ? 1 : shape_[d]);
        }
        keep(builder_.reduce(whole, reducer, reduced, [&](const Coordinates& i, const Coordinates& k) {
            Coordinates at;
            size_t own = 0, r = 0;
            for (size_t d = 0; d < gone.size(); d++) {
                at.push_back(gone[d] ? k[r++] : i[own]);
                if (!gone[d] || keep_dimensions) own++;
            }
            return builder_.read(x_, at);
        }));
    }
    void softmax() {
        if (!shape_.empty()) keep(builder_.softmax(x_));
    }
    void matmul() {
        if (shape_.size() < 2) return;
        static const std::vector<int64_t> columns = {2, 3, 5, 8};
        const int64_t n = one_of(columns);
        if (size_of(shape_) / shape_.back() * n > largest_tensor) return;
        keep(builder_.matmul(x_, add_input({shape_.back(), n})));
    }
    // x x^T: both sides one tensor.
    void self_product() {
        if (shape_.size() < 2 || size_of(shape_) * shape_[shape_.size() - 2] > 4 * largest_tensor) return;
        auto whole = shape_;
        whole.back() = shape_[shape_.size() - 2];
        keep(builder_.reduce(whole, Reducer::sum, {shape_.back()}, [&](const Coordinates& i, const Coordinates& k) {
            Coordinates a = i, b = i;
            a.back() = b.back() = k[0];
            b[b.size() - 2] = i.back();
            return builder_.times(builder_.read(x_, a), builder_.read(x_, b));
        }));
    }
    // A recurrence along a dimension of x: its state alone, or also summed over another dimension at each step.
    void scan() {
        if (shape_.empty()) return;
        Arena& arena = builder_.arena();
        const auto time = static_cast<size_t>(below(static_cast<int64_t>(shape_.size())));
        const bool mixes = shape_.size() > 1 && below(2) == 0;
        const size_t mixed = (time + 1) % shape_.size();
        auto states = shape_;
        states[time]++;
        const auto number = static_cast<int32_t>(builder_.system.equations.size());
        auto of_step = [&](TensorIndex tensor, int64_t offset) {
            Equation equation;
            equation.tensor = tensor;
            for (size_t d = 0; d < shape_.size(); d++) {
                Axis axis{.name = "i", .extent = shape_[d], .named = d == time, .factor = d == time ? 1 : 0};
                equation.axes.push_back(arena.add_axis(std::move(axis)));
                equation.left.push_back(arena.axis_value(equation.axes.back()));
            }
            equation.scan = number;
            equation.ordered = equation.axes[time];
            equation.left[time] = arena.add(equation.left[time], arena.integer(offset));
            return equation;
        };
        const TensorIndex h = builder_.add("h", states, SystemTensor::Kind::computed);
        Equation first;
        first.tensor = h;
        Coordinates start;
        for (size_t d = 0; d < shape_.size(); d++) {
            start.push_back(arena.integer(0));
            if (d != time) {
                first.axes.push_back(arena.add_axis({.name = "i", .extent = shape_[d]}));
                start.back() = arena.axis_value(first.axes.back());
            }
        }
        first.left = start;
        first.right = below(2) == 0 ? builder_.number(0) : builder_.read(x_, start);
        builder_.system.add_equation(std::move(first));
        TensorIndex sum = no_id;
        if (mixes) {
            sum = builder_.add("g", shape_, SystemTensor::Kind::computed);
            Equation equation = of_step(sum, 0);
            equation.reduced = {arena.add_axis({.name = "k", .extent = shape_[mixed]})};
            equation.reducer = Reducer::sum;
            Coordinates at = equation.left;
            at[mixed] = arena.axis_value(equation.reduced[0]);
            equation.right = builder_.times(builder_.read(h, at), builder_.number(0.25));
            builder_.system.add_equation(std::move(equation));
        }
        Equation step = of_step(h, 1);
        step.piece = 1;
        Coordinates at = step.left;
        at[time] = arena.add(at[time], arena.integer(-1));
        Expr before = builder_.times(builder_.read(mixes ? sum : h, at), builder_.number(0.5));
        Coordinates seen = at;
        if (below(3) == 0) seen[time] = arena.add(arena.integer(shape_[time] - 1), at[time], -1);  // x from its end
        step.right = builder_.apply(ScalarOp::tanh, {builder_.plus(builder_.read(x_, seen), before)});
        builder_.system.add_equation(std::move(step));
        keep(h);
    }
    void pool() {
        if (shape_.empty()) return;
        Arena& arena = builder_.arena();
        const std::vector<Size> own(shape_.begin(), shape_.end());
        keep(builder_.reduce(shape_, Reducer::maximum, {3}, [&](const Coordinates& i, const Coordinates& k) {
            Coordinates at = i;
            at.back() = arena.add(arena.add(i.back(), k[0]), arena.integer(-1));
            return arena.guarded_read(x_, DType::float32, at, builder_.number(-1e30), own);
        }));
    }

    SystemBuilder builder_;
    std::mt19937_64 random_;
    bool exact_;
    std::vector<TensorIndex> made_;
    TensorIndex x_ = no_id;
    std::vector<int64_t> shape_;
};

}  // namespace

RandomSystem random_system(uint64_t seed, int operations, bool exact) {
    return Generator(seed, exact).make(operations);
}

}  // namespace heddle::equations::testing
