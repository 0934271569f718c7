// From a model to a graph: what is refused, with which code, and what a user's own operator needs.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "evaluate/evaluate.h"
#include "helpers/source_folder.h"
#include "model_builder.h"

namespace heddle::onnx {
namespace {

ModelText unary(const std::string& operator_type, std::vector<Message> attributes = {}) {
    return {.nodes = {{operator_type, {"x"}, {"y"}, std::move(attributes)}},
            .inputs = {{"x", {"2", "3"}}},
            .outputs = {{"y", {"2", "3"}}}};
}

const Diagnostic& only(const Result<Graph>& graph) {
    static const Diagnostic none;
    EXPECT_FALSE(graph);
    if (graph) return none;
    EXPECT_EQ(graph.error().size(), 1u) << render(graph.error());
    return graph.error().front();
}

TEST(Import, an_operator_that_nobody_has) {
    ModelText model = unary("Reluu");
    model.nodes.push_back({"Reluu", {"y"}, {"z"}});
    model.nodes.push_back({"Relu", {"z"}, {"v"}});
    auto graph = import(model.bytes());
    const Diagnostic& problem = only(graph);
    EXPECT_EQ(problem.code, "onnx.unsupported_operator");
    std::string text = render(problem);
    EXPECT_NE(text.find("'Reluu' of opset 17"), std::string::npos) << text;
    EXPECT_NE(text.find("2 nodes, the first is 'node of y'"), std::string::npos) << text;
    EXPECT_NE(text.find("did you mean Relu?"), std::string::npos) << "names the nearest: " << text;
}

TEST(Import, all_missing_operators_at_once) {
    ModelText model = unary("Wurlitzer");
    model.nodes.push_back({"Quux", {"y"}, {"z"}, {}, "my.domain"});
    auto graph = import(model.bytes());
    EXPECT_EQ(codes(graph), (Codes{"onnx.unsupported_operator", "onnx.unsupported_operator"}));
    EXPECT_NE(render(graph.error()).find("my.domain.Quux"), std::string::npos);
}

// Weights elsewhere hide no missing operator, and neither of them what is wrong with other nodes.
TEST(Import, problems_of_every_kind_at_once) {
    ModelText model = unary("Wurlitzer");
    for (const char* name : {"w", "v"})
        model.initializers.push_back(
            Message().number(1, 2).number(2, 1).text(8, name).part(13, Message().text(1, "location").text(2, "data")));
    model.nodes.push_back({"Add", {"x", "w"}, {"sum"}});
    model.nodes.push_back({"Relu", {"sum"}, {"z"}, {integer_attribute("flavour", 3)}});  // of what is not known: silent
    model.nodes.push_back({"Relu", {"x"}, {"u"}, {integer_attribute("flavour", 3)}});
    model.nodes.push_back({"Relu", {"open"}, {"o"}});
    model.inputs.push_back({"open", {"batch"}});
    auto graph = import(model.bytes());
    EXPECT_EQ(codes(graph), (Codes{"onnx.external_data", "onnx.unsupported_operator", "onnx.unbound_dimension",
                                   "onnx.unknown_attribute"}));
    const std::string text = render(graph.error());
    EXPECT_NE(text.find("the data of tensor 'w' lie in another file, 'data'"), std::string::npos) << text;
    EXPECT_NE(text.find("1 more tensor"), std::string::npos) << text;
}

TEST(Import, control_flow_has_no_namesake) {
    ModelText model = unary("Loop", {graph_attribute("body", {{"Relu", {"x"}, {"t"}}}, {"t"})});
    auto graph = import(model.bytes());
    EXPECT_EQ(only(graph).code, "onnx.step");
    const std::string text = render(only(graph));
    EXPECT_EQ(text.find("Log"), std::string::npos) << text;
    EXPECT_EQ(text.find("write a template"), std::string::npos) << text;
    EXPECT_NE(text.find("run between graphs"), std::string::npos) << text;
}

TEST(Import, constant_indices_outside_name_their_node) {
    auto with_index = [](const std::string& operator_type, char index) {
        std::string raw(8, index < 0 ? '\xff' : '\0');
        raw[0] = index;
        return ModelText{.nodes = {{operator_type, {"x", "at"}, {"y"}}},
                         .inputs = {{"x", {"3"}}},
                         .outputs = {{"y", {"1"}}},
                         .initializers = {tensor_message("at", 7, {1}, raw)}};
    };
    for (const char* operator_type : {"Gather", "GatherElements"}) {
        for (char index : {3, 5, -4}) {
            auto graph = import(with_index(operator_type, index).bytes());
            EXPECT_EQ(only(graph).code, "symbolic.index_out_of_range");
            const std::string text = render(only(graph));
            EXPECT_NE(text.find("in node 'node of y'"), std::string::npos) << text;
            EXPECT_NE(text.find("0 <= index < 3"), std::string::npos) << text;
        }
        for (char index : {0, 2, -3}) EXPECT_TRUE(import(with_index(operator_type, index).bytes()));
    }
    for (char index : {3, -4, 2}) {
        ModelText model = with_index("ScatterElements", index);
        model.nodes[0].inputs.push_back("u");
        model.inputs.push_back({"u", {"1"}});
        model.outputs[0].shape = {"3"};
        auto graph = import(model.bytes());
        EXPECT_EQ(code_of(graph), index == 2 ? "ok" : "symbolic.index_out_of_range");
    }
    // All of it known: the same error, and not the interpreter's.
    ModelText model = with_index("Gather", 5);
    model.inputs.clear();
    model.initializers.push_back(tensor_message("x", 7, {3}, std::string(24, '\0')));
    EXPECT_EQ(only(import(model.bytes())).code, "symbolic.index_out_of_range");
}

TEST(Import, the_mean_of_a_normalisation_has_the_type_that_is_stashed) {
    for (int64_t type : {1, 11}) {
        ModelText model{.nodes = {{"LayerNormalization", {"x", "s"}, {"y", "mean", "deviation"}}},
                        .inputs = {{"x", {"2", "3"}, static_cast<int>(type)}, {"s", {"3"}, static_cast<int>(type)}},
                        .outputs = {{"y", {"2", "3"}}, {"mean", {"2", "1"}}, {"deviation", {"2", "1"}}}};
        auto graph = import(model.bytes());
        ASSERT_TRUE(graph) << render(graph.error());
        EXPECT_EQ(graph->tensor(graph->outputs[0]).type.dtype, *dtype_of(type));
        EXPECT_EQ(graph->tensor(graph->outputs[1]).type.dtype, DType::float32);
        EXPECT_EQ(graph->tensor(graph->outputs[2]).type.dtype, DType::float32);
    }
}

// 4 ^ 0.5 is 2, and no root that is whole is missed by rounding.
TEST(Import, whole_numbers_to_a_power_with_a_fraction) {
    ModelText model{
        .nodes = {{"Pow", {"x", "e"}, {"y"}}}, .inputs = {{"x", {"8"}, 7}, {"e", {"8"}}}, .outputs = {{"y", {"8"}, 7}}};
    auto graph = import(model.bytes());
    ASSERT_TRUE(graph) << render(graph.error());
    TensorData x(DType::int64, {8}), e(DType::float32, {8});
    const int64_t bases[] = {4, 2, 3, 27, 5, 1'000'000, 10, -3};
    const double exponents[] = {0.5, -1, 0.25, 1.0 / 3, -2.5, 1.5, 18, 3}, expected[] = {2, 0, 1, 3, 0, 1e9, 1e18, -27};
    for (int64_t i = 0; i < 8; i++) {
        x.set_integer(i, bases[i]);
        e.set_real(i, exponents[i]);
    }
    auto values = evaluate_graph(*graph, {x, e}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& y = (*values)[static_cast<size_t>(graph->outputs[0])];
    for (int64_t i = 0; i < 8; i++) EXPECT_EQ(y.integer_at(i), static_cast<int64_t>(expected[i])) << i;
}

// ONNX leaves it open; ONNX Runtime's order of the smallest depends on how many are asked for.
TEST(Import, numbers_that_are_none_come_first_in_TopK) {
    for (int64_t largest : {0, 1}) {
        ModelText model{.nodes = {{"TopK", {"x", "k"}, {"v", "i"}, {integer_attribute("largest", largest)}}},
                        .inputs = {{"x", {"5"}}},
                        .outputs = {{"v", {"4"}}, {"i", {"4"}, 7}},
                        .initializers = {tensor_message("k", 7, {1}, std::string("\4\0\0\0\0\0\0\0", 8))}};
        auto graph = import(model.bytes());
        ASSERT_TRUE(graph) << render(graph.error());
        TensorData x(DType::float32, {5});
        for (int64_t i = 0; i < 5; i++) x.set_real(i, i % 2 ? NAN : static_cast<double>(i));
        auto values = evaluate_graph(*graph, {x}, Precision::body);
        ASSERT_TRUE(values) << render(values.error());
        std::vector<int64_t> places;
        for (int64_t i = 0; i < 4; i++)
            places.push_back((*values)[static_cast<size_t>(graph->outputs[1])].integer_at(i));
        EXPECT_EQ(places, largest ? (std::vector<int64_t>{1, 3, 4, 2}) : (std::vector<int64_t>{1, 3, 0, 2}));
    }
}

TEST(Import, a_type_that_we_have_not) {
    ModelText model = unary("Relu");
    model.inputs[0].type = 8;
    const auto graph = import(model.bytes());
    EXPECT_EQ(only(graph).code, "onnx.unsupported_dtype");
    EXPECT_NE(only(graph).summary.find("string"), std::string::npos);
    ModelText text = unary("Relu");
    text.initializers = {tensor_message("names", 8, {1}, "")};
    EXPECT_EQ(codes(import(text.bytes())), Codes{"onnx.unsupported_dtype"});
}

TEST(Import, opsets) {
    ModelText model = unary("Relu");
    for (int64_t version : {int64_t{0}, int64_t{1000}, int64_t{-3}}) {
        model.opsets = {{"", version}};
        auto found = codes(import(model.bytes()));
        ASSERT_FALSE(found.empty()) << version;
        EXPECT_EQ(found.front(), "onnx.opset") << version;
    }
    model.opsets = {};
    auto found = codes(import(model.bytes()));
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front(), "onnx.opset");
    model.opsets = {{"ai.onnx", 17}};
    EXPECT_TRUE(import(model.bytes()));
}

TEST(Import, values_that_nothing_defines) {
    ModelText model = unary("Relu");
    model.nodes[0].inputs = {"nowhere"};
    EXPECT_EQ(only(import(model.bytes())).code, "onnx.undefined_value");
    ModelText output = unary("Relu");
    output.outputs[0].name = "z";
    EXPECT_EQ(only(import(output.bytes())).code, "onnx.undefined_value");
    ModelText many = unary("Relu");
    many.nodes[0].outputs = {"y", "z"};
    EXPECT_EQ(codes(import(many.bytes())).size(), 1u);
}

TEST(Import, a_value_defined_twice) {
    ModelText model = unary("Relu");
    model.nodes.push_back({"Exp", {"x"}, {"y"}});
    EXPECT_EQ(only(import(model.bytes())).code, "onnx.duplicate_value");
    ModelText input = unary("Relu");
    input.nodes[0].outputs = {"x"};
    auto found = codes(import(input.bytes()));
    EXPECT_EQ(found.front(), "onnx.duplicate_value");
}

TEST(Import, attributes) {
    auto unknown = import(unary("Relu", {integer_attribute("flavour", 3)}).bytes());
    EXPECT_EQ(only(unknown).code, "onnx.unknown_attribute");
    EXPECT_NE(render(unknown.error()).find("flavour"), std::string::npos);
    auto tensor = import(unary("Relu", {tensor_attribute("flavour", tensor_message("", 2, {1}, "x"))}).bytes());
    EXPECT_EQ(only(tensor).code, "onnx.unknown_attribute");
    // Of a kind that says nothing: no type.
    auto none = import(unary("Softmax", {Message().text(1, "axis")}).bytes());
    EXPECT_EQ(only(none).code, "onnx.attribute");
    auto kind = import(unary("Softmax", {Message().text(1, "axis").text(4, "last").number(20, 3)}).bytes());
    EXPECT_FALSE(kind);
    EXPECT_FALSE(import(unary("Softmax", {integer_attribute("axis", 7)}).bytes()));
}

TEST(Import, dimensions) {
    ModelText model = unary("Relu");
    model.inputs[0].shape = {"batch", "3"};
    auto unbound = import(model.bytes());
    EXPECT_EQ(only(unbound).code, "onnx.unbound_dimension");
    EXPECT_NE(only(unbound).remedy.find("--bind batch="), std::string::npos);
    EXPECT_TRUE(import(model.bytes(), {{"batch", 4}}));

    auto parsed = parse(model.bytes());
    ASSERT_TRUE(parsed);
    std::vector<int64_t> right{5, 3}, rank{5, 3, 1}, fixed{5, 4};
    EXPECT_EQ(bind_shapes(*parsed, {&right}, {}), (std::map<std::string, int64_t>{{"batch", 5}}));
    EXPECT_EQ(codes(bind_shapes(*parsed, {&rank}, {})), Codes{"onnx.input_rank"});
    EXPECT_EQ(codes(bind_shapes(*parsed, {&fixed}, {})), Codes{"onnx.input_shape"});
    EXPECT_EQ(codes(bind_shapes(*parsed, {&right}, {{"batch", 6}})), Codes{"onnx.input_shape"});

    std::vector<OpenDimension> open = open_dimensions(*parsed);
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(open[0].name, "batch");
}

TEST(Import, unknown_dimensions_are_apart) {
    ModelText model = unary("Relu");
    model.inputs[0].shape = {"?", "?"};
    auto parsed = parse(model.bytes());
    ASSERT_TRUE(parsed);
    std::vector<int64_t> shape{5, 4};
    EXPECT_EQ(bind_shapes(*parsed, {&shape}, {}), (std::map<std::string, int64_t>{{"x.0", 5}, {"x.1", 4}}));
}

TEST(Import, an_input_without_rank) {
    ModelText model = unary("Relu");
    model.inputs.clear();
    std::string bytes =
        Message()
            .number(1, 8)
            .part(7, Message()
                         .part(1, model.nodes[0].message())
                         .part(11, Message().text(1, "x").part(2, Message().part(1, Message().number(1, 1))))
                         .part(12, model.outputs[0].message()))
            .part(8, Message().number(2, 17))
            .bytes();
    EXPECT_EQ(codes(import(bytes)), Codes{"onnx.input_type"});
}

TEST(Import, huge_and_negative_dimensions) {
    ModelText model = unary("Relu");
    model.inputs[0].shape = {"batch", "3"};
    for (int64_t size : {int64_t{-1}, int64_t{1} << 62, INT64_MAX, INT64_MIN}) {
        auto graph = import(model.bytes(), {{"batch", size}});
        EXPECT_FALSE(graph) << size;
    }
    model.inputs[0].shape = {"4611686018427387904", "4611686018427387904"};
    EXPECT_FALSE(import(model.bytes()));
}

TEST(Import, wrong_numbers_of_inputs) {
    ModelText few = unary("MatMul");
    EXPECT_FALSE(import(few.bytes()));
    ModelText many = unary("Relu");
    many.nodes[0].inputs = {"x", "x", "x"};
    EXPECT_FALSE(import(many.bytes()));
}

// One wrong node is told; those that use its result are silent; another wrong one is told too.
TEST(Import, errors_of_independent_nodes_at_once) {
    ModelText model = unary("Relu", {integer_attribute("flavour", 3)});
    model.nodes.push_back({"Exp", {"y"}, {"z"}});
    model.nodes.push_back({"Exp", {"nowhere"}, {"v"}});
    EXPECT_EQ(codes(import(model.bytes())), (Codes{"onnx.unknown_attribute", "onnx.undefined_value"}));
}

TEST(Import, an_operator_of_ones_own_domain) {
    auto file = std::filesystem::path(testing::TempDir()) / "heddle_own_domain.yaml";
    std::ofstream(file) << "Swish:\n"
                           "  onnx: {domain: my.domain, name: Swish}\n"
                           "  params: {beta: \"float = 1\"}\n"
                           "  inputs: {x: \"$T[$shape...]\"}\n"
                           "  index: \"[$shape...]\"\n"
                           "  outputs: {y: \"$T\"}\n"
                           "  body: \"y = x / (1 + exp(-$beta * x))\"\n";
    auto own = open_library(in_source("operators"));
    ASSERT_TRUE(own);
    auto added = own->add_library(file);
    ASSERT_TRUE(added) << render(added.error());
    ModelText model = unary("Swish");
    model.nodes[0].domain = "my.domain";
    model.opsets.push_back({"my.domain", 1});
    EXPECT_EQ(codes(import(model.bytes())), Codes{"onnx.unsupported_operator"});
    auto graph = import(model.bytes(), {}, *own);
    ASSERT_TRUE(graph) << render(graph.error());
    TensorData x(DType::float32, {2, 3});
    x.set_real(0, 1);
    auto values = evaluate_graph(*graph, {x}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    EXPECT_NEAR((*values)[static_cast<size_t>(graph->outputs[0])].real_at(0), 0.7310585786, 1e-6);
    std::filesystem::remove(file);
}

TEST(Import, initializers_are_no_inputs) {
    ModelText model = unary("Relu");
    model.initializers = {tensor_message("x", 1, {2, 3}, std::string(24, '\0'))};
    auto graph = import(model.bytes());
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_TRUE(graph->inputs.empty());
}

}  // namespace
}  // namespace heddle::onnx
