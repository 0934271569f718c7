// How much work a body is said to be.
#include <gtest/gtest.h>

#include "body_builder.h"
#include "evaluate/work.h"

namespace heddle {
namespace {

TEST(Work, OfAMatrixProduct) {
    BodyBuilder b;
    VariableId i = b.variable("i", 10), j = b.variable("j", 20), k = b.reduced("k", 30);
    NodeId product =
        b.times(b.read(0, DType::float32, {b.at(i), b.at(k)}), b.read(1, DType::float32, {b.at(k), b.at(j)}));
    b.equation(0, {i, j}, {b.at(i), b.at(j)}, b.reduce(Reducer::sum, {k}, product));
    // The operands are read once for each point that they depend on.
    EXPECT_EQ(scalar_operations(b.body), 10 * 30 + 30 * 20 + 2 * 10 * 20 * 30 + 10 * 20);
}

TEST(Work, OfScatterVisitsEachTermOnce) {
    BodyBuilder b;
    VariableId i = b.variable("i", 1'000'000), k = b.reduced("k", 50);
    NodeId chosen = b.scalar(ScalarOp::equal, {b.read(0, DType::int64, {b.at(k)}), b.at(i)});
    b.equation(0, {i}, {b.at(i)}, b.reduce(Reducer::sum, {k}, b.read(1, DType::float32, {b.at(k)}), chosen));
    EXPECT_EQ(scalar_operations(b.body), 50 + 50 + 50 + 1'000'000);
}

TEST(Work, BeyondItsLimitNamesTheOperation) {
    Graph graph;
    graph.tensors.resize(2);
    for (int64_t extent : {100, 100'000}) {
        BodyBuilder b;
        VariableId i = b.variable("i", extent);
        NodeId x = b.read(0, DType::float32, {b.at(i)});
        b.equation(0, {i}, {b.at(i)}, b.plus(x, x));
        Operation operation;
        operation.name = "of " + std::to_string(extent);
        operation.body = std::make_shared<const Body>(b.body);
        graph.operations.push_back(std::move(operation));
    }
    EXPECT_TRUE(check_work(graph, 1e6, 1, "--work"));
    auto refused = check_work(graph, 1e6, 0.01, "--work");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error()[0].code, "evaluate.too_much_work");
    const std::string text = render(refused.error());
    for (const char* part : {"'of 100000'", "at most 1e+04", "--work 6e+07"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle
