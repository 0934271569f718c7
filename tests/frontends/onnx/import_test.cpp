// From a model to a graph: what is refused, with which code, and what a user's own operator needs.
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

TEST(Import, nodes_out_of_order) {
    ModelText model = unary("Relu");
    model.nodes = {{"Relu", {"h"}, {"y"}}, {"Exp", {"x"}, {"h"}}};
    EXPECT_EQ(codes(import(model.bytes())).front(), "onnx.undefined_value");
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
