// What a model has computed while it becomes a graph is bounded: for each node, and for all of them together.
#include <fmt/format.h>

#include "model_builder.h"

namespace heddle::onnx {
namespace {

// Products of known 64x64 matrices, one of the other; half a million operations each. The last has one element for shape.
ModelText products(int64_t count) {
    ModelText model{.nodes = {},
                    .inputs = {{"x", {"64", "64"}}},
                    .outputs = {{"y", {"64", "64"}}},
                    .initializers = {tensor_message("c0", 1, {64, 64}, std::string(4 * 64 * 64, '\0'))}};
    for (int64_t i = 0; i < count; i++)
        model.nodes.push_back({"MatMul", {fmt::format("c{}", i), fmt::format("c{}", i)}, {fmt::format("c{}", i + 1)}});
    model.nodes.push_back({"Add", {"x", fmt::format("c{}", count)}, {"y"}});
    return model;
}

TEST(Work, of_known_values_has_a_limit_in_all) {
    auto few = import(products(50).bytes());
    ASSERT_TRUE(few) << render(few.error());
    EXPECT_EQ(few->operations.size(), 1u) << "they are folded";
    constexpr size_t count = 3'000;
    auto many = import(products(count).bytes());
    ASSERT_TRUE(many) << render(many.error());
    EXPECT_GT(many->operations.size(), count / 2) << "most are left to whoever runs the graph";
    EXPECT_LT(many->operations.size(), count) << "the first ones are folded";
}

TEST(Work, a_shape_that_follows_by_too_much) {
    ModelText model = products(3'000);
    model.nodes.pop_back();
    model.nodes.insert(model.nodes.end(), {{"Cast", {"c3000"}, {"whole"}, {integer_attribute("to", 7)}},
                                           {"ReduceMax", {"whole"}, {"most"}, {integer_attribute("keepdims", 0)}},
                                           {"Expand", {"x", "most"}, {"y"}}});
    auto graph = import(model.bytes());
    EXPECT_EQ(codes(graph), Codes{"symbolic.not_concrete"});
    const std::string text = graph ? "" : render(graph.error());
    EXPECT_NE(text.find("more was to be computed while the graph is built than is allowed"), std::string::npos) << text;
}

TEST(Work, of_choosing_branches) {
    // Each condition follows from the given value by as many products again.
    ModelText model{.nodes = {}, .inputs = {{"x", {"64", "64"}}}, .outputs = {{"y", {"64", "64"}}}};
    std::string last = "x";
    for (int i = 0; i < 1'500; i++) {
        const std::string next = fmt::format("c{}", i);
        model.nodes.push_back({"MatMul", {last, "x"}, {next}});
        last = next;
    }
    model.nodes.insert(model.nodes.end(), {{"ReduceMax", {last}, {"most"}, {integer_attribute("keepdims", 0)}},
                                           {"IsNaN", {"most"}, {"flag"}},
                                           {"If",
                                            {"flag"},
                                            {"y"},
                                            {graph_attribute("then_branch", {{"Relu", {"x"}, {"t"}}}, {"t"}),
                                             graph_attribute("else_branch", {{"Neg", {"x"}, {"t"}}}, {"t"})}}});
    auto imported =
        import_with(model.bytes(), {.bindings = {}, .values = {{"x", TensorData(DType::float32, {64, 64})}}});
    EXPECT_EQ(codes(imported), Codes{"onnx.open_branch"});
    const std::string text = imported ? "" : render(imported.error());
    EXPECT_NE(text.find("by more work than is done"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::onnx
