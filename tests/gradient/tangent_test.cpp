// Tangents and batches through the compiler, tangents of gradients, and rules of operators in forward mode. That they
// are right is asked with every gradient (differences.h).
#include "compiled.h"
#include "differences.h"
#include "helpers/codes.h"

namespace heddle::gradient {
namespace {

TEST(Tangents, RunCompiled) {
    for (const Case& one : structured_cases()) {
        SCOPED_TRACE(one.text);
        const Graph graph = program(one, DType::float32);
        auto made = tangents(graph, float_inputs(graph));
        ASSERT_TRUE(made) << render(made.error());
        std::mt19937 random(5);
        expect_compiled(*made, with_adjoints(graph, *made, feeds_of(one, DType::float32, random), random));
    }
}

// So many tangents at once: the graph's own values have no further axis.
TEST(Tangents, AreBatched) {
    const Case one = {"y = softmax(numpy_matmul(x, w))", {{"x", {3, 4}}, {"w", {4, 5}}}};
    const Graph graph = program(one, DType::float32);
    auto single = tangents(graph, {graph.inputs[0]});
    ASSERT_TRUE(single);
    for (int64_t width : {1, 2, 4, 8, 16}) {
        auto made = batched(*single, {single->inputs.back()}, width);
        ASSERT_TRUE(made) << render(made.error());
        int plain = 0, longer = 0;
        for (const Operation& operation : made->operations) {
            const size_t rank = made->tensor(operation.outputs[0]).type.shape.size();
            (rank == 2 ? plain : longer)++;
        }
        EXPECT_EQ(plain, 1);  // of softmax the adjoint reads what it reads
        EXPECT_EQ(longer, 2);
        std::mt19937 random(5);
        std::vector<TensorData> feeds = feeds_of(one, DType::float32, random);
        feeds.push_back(spread(random, DType::float32, {width, 3, 4}, -1, 1));
        expect_compiled(*made, feeds);
    }
}

// Forward over reverse is reverse over reverse: a Hessian times a vector, both ways.
TEST(Tangents, OfGradientsAreHessians) {
    for (const char* text :
         {"y = tanh(x)", "y = softmax(x)", "y = reduce_log_sum_exp(x, axes: [1])", "y = mul(x, exp(x))",
          "y = layer_norm(x, s, s)", "y = cumprod(x, axis: 1)", "y = reduce_prod(x, axes: [0])",
          "y = numpy_matmul(x, transpose(x))", "y = gelu(x)", "y = div(x, add2(square(x), s))", "y = silu(mul(x, s))",
          "y = linear_recurrence(x, x, axis: 1)"}) {
        SCOPED_TRACE(text);
        const Case one{std::string(text) + "; z = reduce_sum(square(y), keepdims: false)",
                       {{"x", {3, 4}, 0.4, 1.6}, {"s", {4}, 0.5, 1}}};
        Graph graph = program(one, DType::float64);
        graph.outputs = {graph.outputs.back()};
        auto slope = gradient(graph, {graph.inputs[0]});
        ASSERT_TRUE(slope) << render(slope.error());
        auto forward = tangents(*slope, {slope->inputs[0]}), reverse = gradient(*slope, {slope->inputs[0]});
        ASSERT_TRUE(forward && reverse);
        std::mt19937 random(7);
        const auto feeds = with_adjoints(graph, *forward, feeds_of(one, DType::float64, random), random);
        const TensorData found = outputs_of(*forward, feeds)[0], expected = outputs_of(*reverse, feeds)[0];
        for (int64_t i = 0; i < found.size(); ++i)
            EXPECT_NEAR(found.real_at(i), expected.real_at(i), 1e-10 * (1 + std::abs(expected.real_at(i))));
    }
}

TEST(Tangents, OfWhatReachesNothingAreZero) {
    const Case one = {"y = floor(x); z = exp(x)", {{"x", {4}, 0.4, 1.6}}};
    const Graph graph = program(one, DType::float64);
    auto made = tangents(graph, graph.inputs);
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_TRUE(verify(*made));
    for (TensorId id : made->outputs) EXPECT_EQ(made->tensor(id).name.substr(0, 2), "t_");
}

TEST(TangentErrors, AreThoseOfGradients) {
    const Graph whole = program({"y = argmax(x)", {{"x", {4}}}}, DType::float64);
    EXPECT_EQ(codes(tangents(whole, whole.inputs)), Codes{"gradient.output"});
    const Graph integers = program({"y = gather(x, i)", {{"x", {4}}, {"i", {2}, 0, 0, {1, 2}}}}, DType::float64);
    EXPECT_EQ(codes(tangents(integers, {integers.inputs[1]})), Codes{"gradient.input"});
}

}  // namespace
}  // namespace heddle::gradient
