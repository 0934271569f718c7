// Sizes of one class share their kernels: a new batch or length of a known class compiles nothing
// (docs/equations.md, "Size classes").
#include <gtest/gtest.h>

#include <set>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"

namespace heddle {
namespace {

// A graph over a named batch and a named length.
class Model {
public:
    Model(int64_t batch, int64_t length)
        : batch_(named_size("batch", batch)), length_(named_size("length", length)), session_(library()) {
        names_ = {{"batch", batch}, {"length", length}};
    }

    TensorId input(const std::string& name, std::vector<Size> shape) {
        return session_.add_input(name, {DType::float32, std::move(shape)});
    }
    TensorId indices(std::vector<int64_t> shape) {
        return session_.add_input("indices", {DType::int64, {shape.begin(), shape.end()}});
    }
    TensorId weight(std::vector<int64_t> shape, double scale) {
        weights_++;
        return session_.add_constant("w" + std::to_string(weights_),
                                     random_tensor(std::move(shape), static_cast<uint64_t>(weights_), scale));
    }
    TensorId call(const std::string& name, const std::vector<Argument>& inputs,
                  const std::map<std::string, StaticValue>& parameters = {}) {
        return heddle::call(session_, name, inputs, parameters);
    }
    TensorId linear(TensorId x, int64_t from, int64_t to) {
        return call("add2", {call("numpy_matmul", {x, weight({from, to}, 0.1)}), weight({to}, 0.1)});
    }
    TensorId reshape(TensorId x, const std::vector<Size>& shape) {
        return call("reshape", {x, session_.add_sizes("shape", shape)});
    }
    TensorId transpose(TensorId x, const std::vector<int64_t>& order) {
        return call("transpose", {x}, {{"perm", StaticValue::of_integers(order)}});
    }

    TensorId normalise(TensorId x, int64_t width) {
        return call("layer_norm", {x, weight({width}, 1), weight({width}, 0.1)});
    }

    TensorId attention(TensorId x, int64_t width, int64_t heads) {
        auto split = [&](const std::vector<int64_t>& order) {
            return transpose(reshape(linear(x, width, width), {batch_, length_, heads, width / heads}), order);
        };
        TensorId q = split({0, 2, 1, 3}), k = split({0, 2, 3, 1}), v = split({0, 2, 1, 3});
        TensorId p = call("softmax", {call("numpy_matmul", {q, k})}, {{"axis", StaticValue::of(-1)}});
        TensorId joined = reshape(transpose(call("numpy_matmul", {p, v}), {0, 2, 1, 3}), {batch_, length_, width});
        return linear(joined, width, width);
    }

    Graph finish(TensorId output) {
        Graph graph = session_.finish({output});
        graph.dimension_names = names_;
        EXPECT_TRUE(verify(graph));
        return graph;
    }

    Size batch() const { return batch_; }
    Size length() const { return length_; }

private:
    Size batch_, length_;
    std::map<std::string, int64_t> names_;
    Session session_;
    int weights_ = 0;
};

Graph perceptron(int64_t batch, int64_t) {
    Model model(batch, 1);
    TensorId x = model.input("x", {model.batch(), 48});
    TensorId y = model.linear(model.call("relu", {model.linear(x, 48, 96)}), 96, 10);
    return model.finish(model.call("softmax", {y}, {{"axis", StaticValue::of(-1)}}));
}

Graph transformer(int64_t batch, int64_t length) {
    Model model(batch, length);
    constexpr int64_t width = 64;
    TensorId x = model.input("x", {model.batch(), model.length(), width});
    TensorId a = model.call("add2", {x, model.attention(model.normalise(x, width), width, 4)});
    TensorId m =
        model.linear(model.call("gelu", {model.linear(model.normalise(a, width), width, 4 * width)}), 4 * width, width);
    return model.finish(model.call("add2", {a, m}));
}

Graph convolutions(int64_t batch, int64_t height) {
    Model model(batch, height);
    TensorId x = model.input("x", {model.batch(), 3, model.length(), 24});
    std::map<std::string, StaticValue> padded = {{"pads", StaticValue::of_integers({1, 1, 1, 1})}};
    TensorId y = model.call(
        "relu", {model.call("conv", {x, model.weight({16, 3, 3, 3}, 0.1), model.weight({16}, 0.1)}, padded)});
    TensorId z = model.call(
        "relu", {model.call("conv", {y, model.weight({16, 16, 3, 3}, 0.1), model.weight({16}, 0.1)}, padded)});
    TensorId w = model.call("conv", {model.call("add2", {y, z}), model.weight({32, 16, 1, 1}, 0.1)});
    return model.finish(model.call("reduce_mean", {w}, {{"axes", StaticValue::of_integers({2, 3})}}));
}

// Rows put where data say; of one column both strides are one.
Graph scatter(int64_t columns, int64_t) {
    Model model(columns, 1);
    TensorId x = model.input("x", {40, model.batch()}), updates = model.input("updates", {9, model.batch()});
    return model.finish(model.call("scatter_nd_add", {x, model.indices({9, 1}), updates}));
}

// How many kernels each of the sizes brings that none before it had.
template <typename MakeGraph>
std::vector<int64_t> new_kernels(MakeGraph make, const std::vector<std::pair<int64_t, int64_t>>& sizes) {
    std::vector<int64_t> counts;
    std::set<std::string> known;
    for (auto [batch, length] : sizes) {
        plan::Plan plan = plan_of(make(batch, length));
        size_t before = known.size();
        known.insert(plan.keys.begin(), plan.keys.end());
        counts.push_back(static_cast<int64_t>(known.size() - before));
    }
    return counts;
}

// All but the first are zero.
void expect_nothing_new(const std::vector<int64_t>& counts) {
    EXPECT_GT(counts.front(), 0);
    for (size_t i = 1; i < counts.size(); i++) EXPECT_EQ(counts[i], 0) << "at size " << i;
}

TEST(SizeClass, ten_lengths_of_a_transformer_block) {
    expect_nothing_new(new_kernels(
        transformer, {{1, 128}, {1, 64}, {1, 65}, {1, 77}, {1, 96}, {1, 100}, {1, 129}, {1, 192}, {1, 250}, {1, 255}}));
}

TEST(SizeClass, ten_batches_of_a_transformer_block) {
    expect_nothing_new(new_kernels(
        transformer, {{8, 16}, {4, 16}, {5, 16}, {6, 16}, {7, 16}, {9, 16}, {10, 16}, {11, 16}, {13, 16}, {15, 16}}));
}

TEST(SizeClass, ten_batches_of_a_perceptron) {
    expect_nothing_new(
        new_kernels(perceptron, {{8, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {9, 0}, {10, 0}, {12, 0}, {14, 0}, {15, 0}}));
}

TEST(SizeClass, batches_of_one_two_and_three_are_one_class) {
    expect_nothing_new(new_kernels(perceptron, {{2, 0}, {1, 0}, {3, 0}}));
    expect_nothing_new(new_kernels(transformer, {{2, 40}, {1, 40}, {3, 40}, {1, 16}, {2, 63}}));
}

TEST(SizeClass, columns_of_a_scatter) { expect_nothing_new(new_kernels(scatter, {{2, 0}, {1, 0}, {3, 0}})); }

TEST(SizeClass, both_sizes_of_a_transformer_block_at_once) {
    expect_nothing_new(
        new_kernels(transformer, {{8, 32}, {4, 16}, {16 - 1, 63}, {5, 17}, {7, 48}, {12, 31}, {15, 16}, {4, 63}}));
}

TEST(SizeClass, batches_of_a_convolutional_net) {
    expect_nothing_new(new_kernels(convolutions, {{2, 20}, {1, 20}, {3, 20}}));
    expect_nothing_new(new_kernels(convolutions, {{8, 20}, {4, 20}, {5, 20}, {7, 20}, {11, 20}, {15, 20}}));
}

TEST(SizeClass, heights_of_a_convolutional_net) {
    expect_nothing_new(new_kernels(convolutions, {{1, 32}, {1, 16}, {1, 17}, {1, 24}, {1, 31}, {1, 40}, {1, 63}}));
}

// The cache counts what it compiled, and code made at one size is right at another.
TEST(SizeClass, code_of_one_size_serves_the_others) {
    auto pool = std::make_shared<ThreadPool>(2);
    runtime::KernelCache cache(std::make_shared<backends::LlvmBackend>());
    std::vector<std::shared_ptr<const runtime::Executable>> programs;  // code is there as long as one has it
    bool first = true;
    for (int64_t length : {24, 16, 31, 61}) {
        Graph graph = transformer(length % 3 + 1, length);
        auto executable = runtime::Executable::make(plan_of(graph), cache, *pool);
        ASSERT_TRUE(executable) << render(executable.error());
        programs.push_back(*executable);
        EXPECT_EQ((*executable)->kernels().compiled > 0, first) << "length " << length;
        first = false;
        std::vector<TensorData> feeds{random_tensor(graph.tensor(graph.inputs[0]).type.extents(), 3)};
        auto expected = evaluate_graph_bounded(graph, feeds);
        ASSERT_TRUE(expected) << render(expected.error());
        auto found = runtime::Session(*executable, pool).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        auto comparison = compare_bounded(found->front(), (*expected)[static_cast<size_t>(graph.outputs[0])]);
        EXPECT_TRUE(comparison.equal) << "length " << length << "\n" << comparison.text();
    }
}

}  // namespace
}  // namespace heddle
