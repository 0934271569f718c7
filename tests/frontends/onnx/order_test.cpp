// Nodes in any order, and circles of them; inputs that have initializers; names of any bytes.
#include <algorithm>

#include "evaluate/evaluate.h"
#include "model_builder.h"

namespace heddle::onnx {
namespace {

ModelText chain(std::vector<NodeText> nodes) {
    return {.nodes = std::move(nodes), .inputs = {{"x", {"2", "3"}}}, .outputs = {{"y", {"2", "3"}}}};
}

const std::vector<NodeText> ordered = {{"Exp", {"x"}, {"a"}},
                                       {"Neg", {"a"}, {"b"}},
                                       {"Add", {"a", "b"}, {"c"}},
                                       {"Abs", {"c"}, {"d"}},
                                       {"Mul", {"d", "a"}, {"y"}}};

TEST(Order, any_order_means_the_same) {
    const auto wanted = import(chain(ordered).bytes());
    ASSERT_TRUE(wanted) << render(wanted.error());
    auto by_output = [](const NodeText& a, const NodeText& b) { return a.outputs < b.outputs; };
    auto nodes = ordered;
    std::ranges::sort(nodes, by_output);
    int orders = 0;
    do {
        const auto found = import(chain(nodes).bytes());
        ASSERT_TRUE(found) << render(found.error());
        EXPECT_EQ(found->operations.size(), wanted->operations.size());
        EXPECT_EQ(found->tensor(found->outputs[0]).name, "y");
        orders++;
    } while (std::ranges::next_permutation(nodes, by_output).found);
    EXPECT_EQ(orders, 120);
}

TEST(Order, nodes_in_order_stay_where_they_are) {
    auto nodes = ordered;
    std::swap(nodes[1], nodes[0]);
    const auto text = chain(nodes).bytes();
    auto model = parse(text);
    ASSERT_TRUE(model);
    std::vector<std::string> outputs;
    for (const OnnxNode& node : model->graph.nodes) outputs.push_back(node.outputs[0]);
    EXPECT_EQ(outputs, (std::vector<std::string>{"a", "b", "c", "d", "y"}));
}

// A branch reads values of the graph around it, which are computed before the `If` then; and its own nodes have an order.
TEST(Order, branches) {
    const auto branch = [](const char* name, const char* operator_type) {
        return graph_attribute(name, {{operator_type, {"inner"}, {"out"}}, {"Abs", {"later"}, {"inner"}}}, {"out"});
    };
    ModelText model = chain({{"If", {"on"}, {"y"}, {branch("then_branch", "Exp"), branch("else_branch", "Neg")}},
                             {"Sqrt", {"x"}, {"later"}}});
    model.initializers = {tensor_message("on", 9, {1}, std::string(1, '\1'))};
    const auto graph = import(model.bytes());
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_EQ(graph->operations.size(), 3u);
}

TEST(Order, circles_are_named) {
    auto refusal = [](std::vector<NodeText> nodes) {
        auto graph = import(chain(std::move(nodes)).bytes());
        EXPECT_EQ(codes(graph), Codes{"onnx.cycle"});
        return graph ? std::string() : render(graph.error());
    };
    const std::string text = refusal({{"Relu", {"x"}, {"a"}},
                                      {"Add", {"a", "d"}, {"b"}},
                                      {"Exp", {"b"}, {"c"}},
                                      {"Neg", {"c"}, {"d"}},
                                      {"Abs", {"d"}, {"y"}}});
    for (const char* node : {"node of b", "node of c", "node of d"})
        EXPECT_NE(text.find(node), std::string::npos) << text;
    EXPECT_EQ(text.find("node of y"), std::string::npos) << "reads the circle, and is not of it: " << text;
    refusal({{"Exp", {"y"}, {"y"}}});
    refusal({{"If",
              {"x"},
              {"y"},
              {graph_attribute("then_branch", {{"Exp", {"y"}, {"t"}}}, {"t"}),
               graph_attribute("else_branch", {{"Exp", {"x"}, {"t"}}}, {"t"})}}});
}

TEST(Order, an_initializer_that_is_an_input_may_be_given) {
    ModelText model = chain({{"Add", {"x", "w"}, {"y"}}});
    model.inputs.push_back({"w", {"3"}});
    model.initializers = {tensor_message("w", 1, {3}, raw_floats({1, 2, 3})),
                          tensor_message("unlisted", 1, {3}, raw_floats({1, 2, 3}))};
    const std::string bytes = model.bytes();
    auto parsed = parse(bytes);
    ASSERT_TRUE(parsed);
    ASSERT_EQ(caller_inputs(*parsed).size(), 1u);
    ASSERT_EQ(overridable_inputs(*parsed).size(), 1u);
    EXPECT_EQ(overridable_inputs(*parsed)[0]->name, "w");
    EXPECT_FALSE(without_initializers(*parsed, {"x", "unlisted"}));
    const auto opened = without_initializers(*parsed, {"w", "x"});
    ASSERT_TRUE(opened);
    EXPECT_EQ(caller_inputs(*opened).size(), 2u);
    EXPECT_TRUE(overridable_inputs(*opened).empty());
    const auto graph = import_model(*opened, library(), {});
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_EQ(graph->graph.inputs.size(), 2u);
}

TEST(Order, names_that_are_no_text) {
    ModelText model = chain({{"Exp", {"\xC3\x28"}, {"y"}}});
    model.inputs = {{"\xC3\x28", {"2", "3"}}};
    const std::string bytes = model.bytes();
    auto parsed = parse(bytes);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->graph.inputs[0].name, "\\xc3(");
    EXPECT_EQ(parsed->graph.nodes[0].inputs[0], "\\xc3(");
}

TEST(Order, lists_of_one_and_numbers) {
    ModelText model = chain({{"Clip", {"x", "low"}, {"y"}}});
    model.initializers = {tensor_message("low", 1, {1, 1}, raw_floats({0.5}))};
    const auto graph = import(model.bytes());
    EXPECT_TRUE(graph) << render(graph.error());
    model.initializers = {tensor_message("low", 1, {2}, raw_floats({0.5, 1}))};
    EXPECT_EQ(codes(import(model.bytes())), Codes{"symbolic.input_rank"});
}

TEST(Order, truth_values_are_0_or_1) {
    for (const int64_t value : {0, 1, 5, -1}) {
        ModelText model = chain({{"CumSum", {"x", "axis"}, {"y"}, {integer_attribute("reverse", value)}}});
        model.initializers = {tensor_message("axis", 7, {}, std::string(8, '\0'))};
        const auto graph = import(model.bytes());
        if (value == 0 || value == 1)
            EXPECT_TRUE(graph) << render(graph.error());
        else
            EXPECT_EQ(codes(graph), Codes{"onnx.attribute"}) << value;
    }
}

}  // namespace
}  // namespace heddle::onnx
