// Values of inputs that decide shapes and branches.
#include "evaluate/evaluate.h"
#include "model_builder.h"

namespace heddle::onnx {
namespace {

TensorData integers(std::vector<int64_t> shape, const std::vector<int64_t>& values, DType dtype = DType::int64) {
    TensorData data(dtype, std::move(shape));
    for (size_t i = 0; i < values.size(); i++) data.set_integer(static_cast<int64_t>(i), values[i]);
    return data;
}

ModelText reshaping() {
    return {.nodes = {{"Relu", {"x"}, {"r"}}, {"Add", {"shape", "more"}, {"to"}}, {"Reshape", {"r", "to"}, {"y"}}},
            .inputs = {{"x", {"2", "6"}}, {"shape", {"2"}, 7}, {"more", {"2"}, 7}, {"z", {"2"}, 7}},
            .outputs = {{"y", {}}}};
}

TEST(Deciding, a_shape_that_is_computed_from_inputs) {
    auto imported = import_with(
        reshaping().bytes(),
        {.bindings = {},
         .values = {{"shape", integers({2}, {2, 4})}, {"more", integers({2}, {1, 0})}, {"z", integers({2}, {7, 7})}}});
    ASSERT_TRUE(imported) << render(imported.error());
    const Graph& graph = imported->graph;
    EXPECT_EQ(graph.tensor(graph.outputs[0]).type.text(), "float32[3, 4]");
    EXPECT_EQ(graph.inputs.size(), 3u) << "what decides stays an input; z, which nothing reads, is none";
    EXPECT_EQ(imported->deciding_inputs, (std::vector<std::string>{"shape", "more"}));
}

TEST(Deciding, inputs_that_nothing_reads_need_no_sizes) {
    const ModelText model{.nodes = {{"Relu", {"x"}, {"y"}}},
                          .inputs = {{"left", {"open", "3"}}, {"x", {"2"}}, {"through", {"4"}}},
                          .outputs = {{"y", {"2"}}, {"through", {"4"}}}};
    auto imported = import_with(model.bytes(), {});
    ASSERT_TRUE(imported) << render(imported.error());
    std::vector<std::string> names;
    for (TensorId input : imported->graph.inputs) names.push_back(imported->graph.tensor(input).name);
    EXPECT_EQ(names, (std::vector<std::string>{"x", "through"}));
}

TEST(Deciding, a_value_that_is_not_given) {
    auto imported = import_with(reshaping().bytes(), {.bindings = {}, .values = {{"shape", integers({2}, {3, 4})}}});
    ASSERT_FALSE(imported);
    EXPECT_EQ(codes(imported), Codes{"symbolic.not_concrete"});
    EXPECT_NE(render(imported.error()).find("an input whose value is given"), std::string::npos);
}

// y is 2 x + 1 if k == 3, else -x; both branches know x, and name their own values alike.
ModelText branching() {
    std::vector<NodeText> then_nodes{{"Add", {"x", "x"}, {"t"}}, {"Add", {"t", "one"}, {"t2"}}};
    std::vector<NodeText> else_nodes{{"Neg", {"x"}, {"t"}}};
    ModelText model{.nodes = {{"Constant", {}, {"three"}, {integer_attribute("value_int", 3)}},
                              {"Constant", {}, {"unit"}, {integer_attribute("value_int", 1)}},
                              {"Cast", {"unit"}, {"one"}, {integer_attribute("to", 1)}},
                              {"Equal", {"k", "three"}, {"condition"}},
                              {"If",
                               {"condition"},
                               {"y"},
                               {graph_attribute("then_branch", then_nodes, {"t2"}),
                                graph_attribute("else_branch", else_nodes, {"t"})}},
                              {"Relu", {"y"}, {"t"}}},  // a name of the branches, free again
                    .inputs = {{"x", {"2"}}, {"k", {}, 7}},
                    .outputs = {{"t", {"2"}}}};
    return model;
}

std::vector<double> results(int64_t k) {
    auto imported = import_with(branching().bytes(), {.bindings = {}, .values = {{"k", integers({}, {k})}}});
    EXPECT_TRUE(imported) << render(imported.error());
    if (!imported) return {};
    EXPECT_EQ(imported->deciding_inputs, std::vector<std::string>{"k"});
    TensorData x(DType::float32, {2});
    x.set_real(0, 5);
    x.set_real(1, -4);
    auto values = evaluate_graph(imported->graph, {x, integers({}, {k})}, Precision::body);
    EXPECT_TRUE(values) << render(values.error());
    if (!values) return {};
    const TensorData& y = (*values)[static_cast<size_t>(imported->graph.outputs[0])];
    return {y.real_at(0), y.real_at(1)};
}

TEST(Deciding, a_branch) {
    EXPECT_EQ(results(3), (std::vector<double>{11, 0}));
    EXPECT_EQ(results(4), (std::vector<double>{0, 4}));
}

TEST(Deciding, a_branch_whose_condition_is_open) {
    auto graph = import(branching().bytes());
    EXPECT_EQ(codes(graph), Codes{"onnx.open_branch"});
    EXPECT_NE(render(graph.error()).find("give the values of the inputs that it depends on: 'k'"), std::string::npos);
}

TEST(Deciding, a_branch_whose_condition_takes_too_much_work) {
    // k, as the sum of many elements: no advice to give what is given.
    ModelText model = branching();
    model.inputs[1].shape = {"100000000"};
    model.nodes[3] = {"Equal", {"sum", "three"}, {"condition"}};
    model.nodes.insert(model.nodes.begin() + 3, {"ReduceSum", {"k"}, {"sum"}, {integer_attribute("keepdims", 0)}});
    static std::byte nothing[8];
    TensorData k(DType::int64, {100'000'000}, nullptr, nothing);
    auto imported = import_with(model.bytes(), {.bindings = {}, .values = {{"k", k}}});
    EXPECT_EQ(codes(imported), Codes{"onnx.open_branch"});
    const std::string text = imported ? "" : render(imported.error());
    EXPECT_EQ(text.find("remedy"), std::string::npos) << text;
    EXPECT_NE(text.find("more work"), std::string::npos) << text;
}

TEST(Deciding, a_branch_that_is_missing_or_too_small) {
    ModelText model = branching();
    model.nodes[4].attributes.pop_back();
    auto imported = import_with(model.bytes(), {.bindings = {}, .values = {{"k", integers({}, {4})}}});
    EXPECT_EQ(codes(imported), Codes{"onnx.branch"});
    model = branching();
    model.nodes[4].outputs.push_back("second");
    EXPECT_EQ(codes(import_with(model.bytes(), {.bindings = {}, .values = {{"k", integers({}, {4})}}})),
              Codes{"onnx.branch"});
}

TEST(Deciding, conditions_that_are_none) {
    ModelText model = branching();
    model.nodes[4].inputs = {""};
    EXPECT_EQ(codes(import_with(model.bytes(), {})), Codes{"onnx.open_branch"}) << "an absent input";
    model.nodes[4].inputs = {};
    EXPECT_EQ(codes(import_with(model.bytes(), {})), Codes{"onnx.open_branch"});
    model.nodes[4].inputs = {"three"};
    EXPECT_EQ(codes(import_with(model.bytes(), {})), Codes{"onnx.open_branch"}) << "an integer";
}

TEST(Deciding, a_value_of_another_type_or_shape_offers_nothing) {
    for (const TensorData& wrong : {integers({}, {3}, DType::int8), integers({4}, {3, 3, 3, 3}), TensorData()}) {
        auto imported = import_with(branching().bytes(), {.bindings = {}, .values = {{"k", wrong}}});
        EXPECT_EQ(codes(imported), Codes{"onnx.open_branch"});
    }
}

TEST(Deciding, operators_of_both_branches_are_checked) {
    ModelText model = branching();
    model.nodes[4].attributes[1] = graph_attribute("else_branch", {{"Wurlitzer", {"x"}, {"t"}}}, {"t"});
    auto imported = import_with(model.bytes(), {.bindings = {}, .values = {{"k", integers({}, {3})}}});
    EXPECT_EQ(codes(imported), Codes{"onnx.unsupported_operator"});
}

TEST(Deciding, outputs_that_a_branch_does_not_define) {
    ModelText model = branching();
    model.nodes[4].attributes[1] = graph_attribute("else_branch", {{"Neg", {"x"}, {"t"}}}, {"elsewhere"});
    auto imported = import_with(model.bytes(), {.bindings = {}, .values = {{"k", integers({}, {4})}}});
    EXPECT_EQ(codes(imported), Codes{"onnx.undefined_value"});
}

}  // namespace
}  // namespace heddle::onnx
