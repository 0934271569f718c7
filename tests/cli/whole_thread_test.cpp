// From templates to running code: every result is compared with the interpreter of typed bodies.
#include <gtest/gtest.h>

#include <random>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"

namespace heddle {
namespace {

class WholeThread : public testing::Test {
protected:
    WholeThread() : session_(library()) {}

    TensorId input(const std::string& name, std::vector<Size> shape, DType dtype = DType::float32) {
        return session_.add_input(name, {dtype, std::move(shape)});
    }

    TensorId weight(const std::string& name, std::vector<int64_t> shape, double scale = 1) {
        return session_.add_constant(name, random(DType::float32, std::move(shape), scale));
    }

    TensorData random(DType dtype, std::vector<int64_t> shape, double scale = 1) {
        TensorData data(dtype, std::move(shape));
        std::normal_distribution<double> normal(0, scale);
        for (int64_t i = 0; i < data.size(); i++) {
            if (is_float(dtype)) {
                data.set_real(i, normal(random_));
            } else {
                data.set_integer(i, static_cast<int64_t>(random_() % 7));
            }
        }
        return data;
    }

    TensorId call(const std::string& name, const std::vector<Argument>& inputs,
                  const std::map<std::string, StaticValue>& params = {}) {
        return heddle::call(session_, name, inputs, params);
    }

    // Runs on one and two threads, fused and unfused; gives the plan of the fused one.
    plan::Plan check(std::vector<TensorId> outputs) {
        Graph graph = session_.finish(std::move(outputs));
        EXPECT_TRUE(verify(graph));
        std::vector<TensorData> feeds;
        for (TensorId t : graph.inputs)
            feeds.push_back(random(graph.tensor(t).type.dtype, graph.tensor(t).type.extents()));
        auto expected = evaluate_graph_bounded(graph, feeds);
        if (!expected) {
            ADD_FAILURE() << render(expected.error());
            return {};
        }
        plan::Plan fused;
        for (bool fuse : {true, false}) {
            plan::Plan plan = plan_of(graph, {.fuse = fuse});
            if (fuse) fused = plan;
            run(graph, std::move(plan), feeds, *expected);
        }
        return fused;
    }

    void run(const Graph& graph, plan::Plan plan, const std::vector<TensorData>& feeds,
             const std::vector<BoundedTensor>& expected) {
        std::string text = print(plan);
        auto executable = compiled(std::move(plan));
        ASSERT_TRUE(executable);
        runtime::Session session(executable, std::make_shared<ThreadPool>(2));
        for (int repeat = 0; repeat < 2; repeat++) {
            auto found = session.run(feeds);
            ASSERT_TRUE(found) << render(found.error());
            for (size_t i = 0; i < found->size(); i++) {
                auto comparison = compare_bounded((*found)[i], expected[static_cast<size_t>(graph.outputs[i])]);
                EXPECT_TRUE(comparison.equal) << comparison.text() << "\n" << text;
                EXPECT_EQ(comparison.undecided, 0);
            }
        }
    }

    Session session_;
    std::mt19937_64 random_{5};
};

TEST_F(WholeThread, softmax_from_primitives) {
    TensorId x = input("x", {37, 100});
    auto axes = StaticValue::of_integers({1});
    TensorId m = call("reduce_max", {x}, {{"axes", axes}});
    TensorId e = call("exp", {call("sub", {x, m})});
    TensorId s = call("reduce_sum", {e}, {{"axes", axes}});
    EXPECT_EQ(check({call("div", {e, s})}).launches(), 1);
}

TEST_F(WholeThread, padded_convolution_with_bias_and_relu) {
    TensorId x = input("x", {2, 24, 17, 19});
    TensorId w = weight("w", {48, 24, 3, 3}, 0.1), b = weight("b", {48});
    TensorId y = call("conv", {x, w, b}, {{"pads", StaticValue::of_integers({1, 1, 1, 1})}});
    EXPECT_EQ(check({call("relu", {y})}).launches(), 1);
}

TEST_F(WholeThread, two_convolutions_stay_in_one_layout) {
    TensorId x = input("x", {1, 16, 12, 12});
    TensorId y = call("relu", {call("conv", {x, weight("w", {32, 16, 3, 3}, 0.1), weight("b", {32})},
                                    {{"pads", StaticValue::of_integers({1, 1, 1, 1})}})});
    TensorId z = call("conv", {y, weight("v", {16, 32, 1, 1}, 0.2)});
    EXPECT_LE(check({call("relu", {call("add2", {z, x})})}).launches(), 2);
}

TEST_F(WholeThread, attention_from_primitives) {
    int64_t t = 33, d = 16, h = 4;
    TensorId x = input("x", {1, t, h * d});
    auto heads = [&](TensorId value, std::vector<int64_t> order) {
        TensorData shape(DType::int64, {4});
        int64_t i = 0;
        for (int64_t n : {int64_t{1}, t, h, d}) shape.set_integer(i++, n);
        return call("transpose", {call("reshape", {value, session_.add_constant("shape", shape)})},
                    {{"perm", StaticValue::of_integers(order)}});
    };
    auto project = [&](const std::string& name) {
        return call("numpy_matmul", {x, weight(name, {h * d, h * d}, 0.125)});
    };
    TensorId q = heads(project("q"), {0, 2, 1, 3}), k = heads(project("k"), {0, 2, 3, 1}),
             v = heads(project("v"), {0, 2, 1, 3});
    TensorId p = call("softmax", {call("numpy_matmul", {q, k})}, {{"axis", StaticValue::of(-1)}});
    TensorId y = call("transpose", {call("numpy_matmul", {p, v})}, {{"perm", StaticValue::of_integers({0, 2, 1, 3})}});
    EXPECT_LE(check({y}).launches(), 3);
}

TEST_F(WholeThread, matmul_with_bias_and_gelu) {
    TensorId x = input("x", {50, 70});
    TensorId y = call("add2", {call("numpy_matmul", {x, weight("w", {70, 90}, 0.1)}), weight("b", {90})});
    EXPECT_EQ(check({call("gelu", {y})}).launches(), 1);
}

TEST_F(WholeThread, concat_of_two_producers_is_written_in_place) {
    TensorId x = input("x", {5, 8}), y = input("y", {5, 12});
    TensorId z = call("concat", {Argument(std::vector<TensorId>{call("exp", {x}), call("tanh", {y})})},
                      {{"axis", StaticValue::of(1)}});
    EXPECT_EQ(check({call("relu", {z})}).launches(), 1);
}

TEST_F(WholeThread, a_gather_reads_by_index) {
    TensorId table = weight("table", {7, 20}), ids = input("ids", {3, 4}, DType::int64);
    EXPECT_EQ(check({call("exp", {call("gather", {table, ids})})}).launches(), 1);
}

TEST_F(WholeThread, max_pool_with_padding) {
    TensorId x = input("x", {1, 20, 15, 15});
    TensorId y = call("max_pool", {x},
                      {{"kernel", StaticValue::of_integers({3, 3})},
                       {"strides", StaticValue::of_integers({2, 2})},
                       {"pads", StaticValue::of_integers({1, 1, 1, 1})}});
    EXPECT_EQ(check({y}).launches(), 1);
}

TEST_F(WholeThread, an_input_may_be_an_output) {
    TensorId x = input("x", {3, 5});
    check({x, call("relu", {x}), x});
}

// A recurrence is one launch; what its inputs go through before is another, over all steps at once.
TEST_F(WholeThread, lstm_scan) {
    TensorId x = input("x", {7, 3, 20});
    std::vector<Argument> given = {x,
                                   weight("W", {2, 4 * 24, 20}, 0.2),
                                   weight("R", {2, 4 * 24, 24}, 0.2),
                                   weight("B", {2, 8 * 24}),
                                   Argument(),
                                   input("h", {2, 3, 24}),
                                   input("c", {2, 3, 24})};
    auto found = library().find("lstm");
    auto made =
        session_.apply(**found, given, {{"direction", StaticValue::of(1)}, {"backward", StaticValue::of(true)}});
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_LE(check({(*made)[0], (*made)[1], (*made)[2]}).launches(), 2);
}

TEST_F(WholeThread, gru_scan_of_given_lengths) {
    TensorId x = input("x", {5, 4, 9}), lengths = input("lengths", {4}, DType::int32);
    std::vector<Argument> given = {x, input("W", {1, 3 * 17, 9}), input("R", {1, 3 * 17, 17}), input("B", {1, 6 * 17}),
                                   lengths};
    TensorId y = call("gru", given);
    EXPECT_LE(check({call("relu", {y})}).launches(), 3);
}

TEST_F(WholeThread, sums_scan_forwards) {
    TensorId x = input("x", {4, 33, 18});
    TensorId y = call("cumsum", {call("exp", {x})}, {{"axis", StaticValue::of(1)}});
    plan::Plan plan = check({call("mul", {y, x})});
    EXPECT_EQ(plan.launches(), 1);
    EXPECT_LT(plan.scratch_bytes, 33 * 18 * 4);  // two steps are kept, not all
}

TEST_F(WholeThread, sums_scan_backwards) {
    TensorId x = input("x", {4, 33, 18});
    TensorId y = call("cumsum", {call("exp", {x})}, {{"axis", StaticValue::of(1)}, {"reverse", StaticValue::of(true)}});
    EXPECT_EQ(check({call("mul", {y, x})}).launches(), 1);
}

TEST_F(WholeThread, a_scan_without_steps) {
    TensorId y = call("linear_recurrence", {input("a", {0, 5}), input("x", {0, 5})});
    EXPECT_LE(check({y}).launches(), 1);
}

TEST_F(WholeThread, a_scan_of_one_step) {
    TensorId y = call("linear_recurrence", {input("a", {1, 5}), input("x", {1, 5})});
    EXPECT_EQ(check({y}).launches(), 1);
}

}  // namespace
}  // namespace heddle
