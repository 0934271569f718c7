// Functions that a model defines itself: calls are their nodes.
#include <random>

#include <fmt/format.h>

#include "evaluate/evaluate.h"
#include "model_builder.h"

namespace heddle::onnx {
namespace {

NodeText call(const std::string& name, std::vector<std::string> inputs, std::vector<std::string> outputs,
              std::vector<Message> attributes = {}) {
    return {name, std::move(inputs), std::move(outputs), std::move(attributes), "local"};
}

// y = f(x) over four floats, with what else a test adds.
ModelText model_of(std::vector<FunctionText> functions, std::vector<NodeText> nodes) {
    return {.nodes = std::move(nodes),
            .inputs = {{"x", {"4"}}},
            .outputs = {{"y", {"4"}}},
            .opsets = {{"", 17}, {"local", 1}},
            .functions = std::move(functions)};
}

Message tensor_of(const std::string& name, const std::vector<float>& values) {
    return tensor_message(name, 1, {static_cast<int64_t>(values.size())}, raw_floats(values));
}

using Values = std::vector<double>;

// For x = -2, -1, 1, 2.
Values values(const ModelText& model, const std::map<std::string, TensorData>& more = {}) {
    auto imported = import_with(model.bytes(), {.bindings = {}, .values = more});
    EXPECT_TRUE(imported) << render(imported.error());
    if (!imported) return {};
    TensorData x(DType::float32, {4});
    for (int64_t i = 0; i < 4; i++) x.set_real(i, i < 2 ? static_cast<double>(i) - 2 : static_cast<double>(i) - 1);
    std::vector<TensorData> feeds{x};
    for (const auto& [name, value] : more) feeds.push_back(value);
    auto evaluated = evaluate_graph(imported->graph, feeds, Precision::body);
    EXPECT_TRUE(evaluated) << render(evaluated.error());
    if (!evaluated) return {};
    const TensorData& y = (*evaluated)[static_cast<size_t>(imported->graph.outputs[0])];
    Values result;
    for (int64_t i = 0; i < y.size(); i++) result.push_back(y.real_at(i));
    return result;
}

std::string refusal(const ModelText& model, const std::string& code) {
    auto graph = import(model.bytes());
    EXPECT_EQ(codes(graph), Codes{code});
    return graph ? "" : render(graph.error());
}

// The square of the positive part, by names that the caller uses for other values.
FunctionText squared_relu() {
    return {.name = "SquaredRelu",
            .inputs = {"y"},
            .outputs = {"x"},
            .nodes = {{"Relu", {"y"}, {"h"}}, {"Mul", {"h", "h"}, {"x"}}}};
}

TEST(Functions, stand_for_their_nodes) {
    ModelText model = model_of({squared_relu()}, {{"Neg", {"x"}, {"h"}},
                                                  call("SquaredRelu", {"x"}, {"p"}),
                                                  call("SquaredRelu", {"h"}, {"q"}),
                                                  {"Sub", {"p", "q"}, {"y"}}});
    EXPECT_EQ(values(model), (Values{-4, -1, 1, 4}));
    auto graph = import(model.bytes());
    ASSERT_TRUE(graph);
    std::vector<std::string> tensors;
    for (const Tensor& tensor : graph->tensors) tensors.push_back(tensor.name);
    EXPECT_EQ(tensors, (std::vector<std::string>{"x", "h", "node of p/h", "p", "node of q/h", "q", "y"}));
    auto parsed = parse(model.bytes());
    ASSERT_TRUE(parsed);
    const Coverage coverage = coverage_of(*parsed, library());
    EXPECT_EQ(coverage.nodes, 6) << "each of a function's once";
    EXPECT_EQ(coverage.covered, 6);
}

// y = x * $scale + offset, with a tensor and numbers by reference, given, by default, and absent.
FunctionText scaled() {
    return {.name = "Scaled",
            .inputs = {"x"},
            .outputs = {"y"},
            .nodes = {{"Constant", {}, {"s"}, {reference_attribute("value_float", "scale", 1)}},
                      {"Constant", {}, {"o"}, {reference_attribute("value", "offset", 4)}},
                      {"Mul", {"x", "s"}, {"m"}},
                      {"LeakyRelu", {"m"}, {"r"}, {reference_attribute("alpha", "slope", 1)}},
                      {"Add", {"r", "o"}, {"y"}}},
            .attributes = {"scale", "slope"},
            .defaults = {tensor_attribute("offset", tensor_of("", {0, 0, 0, 100}))}};
}

TEST(Functions, attributes) {
    auto with = [](std::vector<Message> attributes) {
        return model_of({scaled()}, {call("Scaled", {"x"}, {"y"}, std::move(attributes))});
    };
    const Message scale = real_attribute("scale", 4), slope = real_attribute("slope", 0.5F);
    EXPECT_EQ(values(with({scale, slope})), (Values{-4, -2, 4, 108}));
    EXPECT_EQ(values(with({slope, scale, tensor_attribute("offset", tensor_of("", {1, 1, 1, 1}))})),
              (Values{-3, -1, 5, 9}));
    // What a call does not give, and has no default, its nodes do not have: 0.01 is the operator's own.
    const Values plain = values(with({scale}));
    ASSERT_EQ(plain.size(), 4u);
    EXPECT_NEAR(plain[0], -0.08, 1e-6);
    EXPECT_EQ(plain[3], 108);
}

TEST(Functions, attributes_go_through_calls_and_branches) {
    FunctionText outer{
        .name = "Outer",
        .inputs = {"x", "flag"},
        .outputs = {"y"},
        .nodes = {{"If",
                   {"flag"},
                   {"y"},
                   {graph_attribute(
                        "then_branch",
                        {call("Scaled", {"x"}, {"t"},
                              {reference_attribute("scale", "factor", 1), reference_attribute("slope", "nothing", 1)})},
                        {"t"}),
                    graph_attribute("else_branch",
                                    {{"LeakyRelu", {"x"}, {"t"}, {reference_attribute("alpha", "factor", 1)}}},
                                    {"t"})}}},
        .attributes = {"factor", "nothing"}};
    ModelText model = model_of({scaled(), outer}, {call("Outer", {"x", "flag"}, {"y"}, {real_attribute("factor", 3)})});
    model.inputs.push_back({"flag", {}, 9});
    TensorData flag(DType::boolean, {});
    EXPECT_EQ(values(model, {{"flag", flag}}), (Values{-6, -3, 1, 2}));
    flag = flag.clone();
    flag.set_integer(0, 1);
    const Values taken = values(model, {{"flag", flag}});
    ASSERT_EQ(taken.size(), 4u);
    EXPECT_NEAR(taken[0], -0.06, 1e-6);
    EXPECT_EQ(taken[3], 106);
}

TEST(Functions, inputs_that_are_absent) {
    FunctionText clip{.name = "Bounded",
                      .inputs = {"x", "low", "high"},
                      .outputs = {"y", "same"},
                      .nodes = {{"Clip", {"x", "low", "high"}, {"y"}}, {"Identity", {"x"}, {"same"}}}};
    auto with = [&](std::vector<std::string> inputs) {
        ModelText model = model_of({clip}, {call("Bounded", std::move(inputs), {"y"})});
        model.initializers = {tensor_message("zero", 1, {}, raw_floats({0})),
                              tensor_message("one", 1, {}, raw_floats({1}))};
        return model;
    };
    EXPECT_EQ(values(with({"x", "zero", "one"})), (Values{0, 0, 1, 1}));
    EXPECT_EQ(values(with({"x", "zero"})), (Values{0, 0, 1, 2}));
    EXPECT_EQ(values(with({"x", "", "one"})), (Values{-2, -1, 1, 1}));
    EXPECT_EQ(values(with({"x"})), (Values{-2, -1, 1, 2}));
    // An input that has to be there, and an output that is one.
    EXPECT_EQ(codes(import(with({""}).bytes())), (Codes{"symbolic.missing_input", "symbolic.missing_input"}));
    clip.outputs = {"low", "y"};
    EXPECT_EQ(refusal(with({"x"}), "onnx.undefined_value").find("node"), std::string::npos);
}

TEST(Functions, opsets_of_their_own) {
    // Clip-6 has its bounds as attributes.
    FunctionText clip{.name = "Bounded",
                      .inputs = {"x"},
                      .outputs = {"y"},
                      .nodes = {{"Clip", {"x"}, {"y"}, {real_attribute("min", -1), real_attribute("max", 1)}}},
                      .opsets = {{"", 10}}};
    ModelText model = model_of({clip}, {call("Bounded", {"x"}, {"y"})});
    EXPECT_EQ(values(model), (Values{-1, -1, 1, 1}));
    model.opsets = {{"local", 1}};
    EXPECT_EQ(values(model), (Values{-1, -1, 1, 1})) << "the model itself uses none";
    model.functions[0].opsets = {};
    auto silent = import(model.bytes());
    EXPECT_EQ(codes(silent).front(), "onnx.opset");
    EXPECT_NE(render(silent.error()).find("the function 'local.Bounded' does not say"), std::string::npos);
    model.functions[0].opsets = {{"", 1000}};
    EXPECT_EQ(codes(import(model.bytes())).front(), "onnx.opset");
    model.functions[0].opsets = {};
    model.opsets = {{"", 10}};
    EXPECT_EQ(values(model), (Values{-1, -1, 1, 1})) << "what a function does not say is the model's";
}

TEST(Functions, overloads) {
    FunctionText negative = squared_relu();
    negative.overload = "negative";
    negative.nodes[1].operator_type = "Sub";
    ModelText model = model_of({squared_relu(), negative}, {call("SquaredRelu", {"x"}, {"y"})});
    EXPECT_EQ(values(model), (Values{0, 0, 1, 4}));
    model.nodes[0].overload = "negative";
    EXPECT_EQ(values(model), (Values{0, 0, 0, 0}));
    model.nodes[0].overload = "other";
    EXPECT_EQ(codes(import(model.bytes())), Codes{"onnx.unsupported_operator"});
    model.functions[1].overload = "";
    EXPECT_NE(refusal(model, "onnx.duplicate_function").find("'local.SquaredRelu' twice"), std::string::npos);
}

TEST(Functions, come_before_operators) {
    FunctionText relu{
        .name = "Relu", .inputs = {"x"}, .outputs = {"y"}, .nodes = {{"Neg", {"x"}, {"y"}}}, .domain = ""};
    ModelText model = model_of({relu}, {{"Relu", {"x"}, {"y"}}});
    EXPECT_EQ(values(model), (Values{2, 1, -1, -2}));
    model.functions[0].domain = "ai.onnx";
    EXPECT_EQ(values(model), (Values{2, 1, -1, -2}));
    // Control flow is no exception.
    model.functions[0].name = model.nodes[0].operator_type = "If";
    EXPECT_EQ(values(model), (Values{2, 1, -1, -2}));
}

TEST(Functions, in_branches_of_the_model) {
    auto branch = [](const char* name, const char* input) {
        return graph_attribute(name, {call("SquaredRelu", {input}, {"r"})}, {"r"});
    };
    ModelText model = model_of(
        {squared_relu()},
        {{"Neg", {"x"}, {"n"}}, {"If", {"flag"}, {"y"}, {branch("then_branch", "x"), branch("else_branch", "n")}}});
    model.inputs.push_back({"flag", {}, 9});
    EXPECT_EQ(values(model, {{"flag", TensorData(DType::boolean, {})}}), (Values{4, 1, 0, 0}));
}

TEST(Functions, see_nothing_around_them) {
    FunctionText function = squared_relu();
    function.nodes[1].inputs = {"h", "outer"};
    ModelText model = model_of({function}, {{"Neg", {"x"}, {"outer"}}, call("SquaredRelu", {"x"}, {"y"})});
    EXPECT_NE(refusal(model, "onnx.undefined_value").find("reads 'outer'"), std::string::npos);
    // Nor is anything of theirs seen outside.
    model = model_of({squared_relu()}, {call("SquaredRelu", {"x"}, {"z"}), {"Neg", {"h"}, {"y"}}});
    EXPECT_NE(refusal(model, "onnx.undefined_value").find("reads 'h'"), std::string::npos);
    function = squared_relu();
    function.outputs = {"elsewhere"};
    model = model_of({function}, {call("SquaredRelu", {"x"}, {"y"})});
    EXPECT_NE(refusal(model, "onnx.undefined_value").find("the output 'elsewhere' of a function"), std::string::npos);
}

TEST(Functions, calls_that_do_not_fit) {
    auto with = [](const NodeText& node) { return model_of({squared_relu()}, {node}); };
    EXPECT_NE(refusal(with(call("SquaredRelu", {"x", "x"}, {"y"})), "onnx.function_call").find("more inputs"),
              std::string::npos);
    const std::string text = refusal(with(call("SquaredRelu", {"x"}, {"y", "z"})), "onnx.function_call");
    EXPECT_NE(text.find("'node of y' does not fit the function 'local.SquaredRelu'"), std::string::npos) << text;
    // An attribute to which nothing refers changes nothing.
    EXPECT_EQ(values(with(call("SquaredRelu", {"x"}, {"y"}, {integer_attribute("axis", 1)}))), (Values{0, 0, 1, 4}));
    FunctionText twice = squared_relu();
    twice.inputs = {"y", "y"};
    refusal(model_of({twice}, {call("SquaredRelu", {"x"}, {"y"})}), "onnx.function_call");
    FunctionText graph = squared_relu();
    graph.attributes = {"body"};
    refusal(model_of({graph},
                     {call("SquaredRelu", {"x"}, {"y"}, {graph_attribute("body", {{"Relu", {"x"}, {"t"}}}, {"t"})})}),
            "onnx.function_call");
    refusal(with(call("SquaredRelu", {"nowhere"}, {"y"})), "onnx.undefined_value");
    // A reference outside of any function is to nothing.
    ModelText outside =
        model_of({squared_relu()}, {{"LeakyRelu", {"x"}, {"y"}, {reference_attribute("alpha", "slope", 1)}}});
    const Values plain = values(outside);
    ASSERT_EQ(plain.size(), 4u);
    EXPECT_NEAR(plain[0], -0.02, 1e-6);
    // An attribute of another kind than the node's.
    ModelText kind = model_of(
        {scaled()}, {call("Scaled", {"x"}, {"y"}, {integer_attribute("slope", 3), integers_attribute("scale", {3})})});
    EXPECT_EQ(codes(import(kind.bytes())), Codes{"symbolic.parameter_type"});
}

TEST(Functions, what_they_lack_is_told_once) {
    FunctionText function = squared_relu();
    function.nodes.push_back({"Wurlitzer", {"h"}, {"w"}});
    FunctionText unused = squared_relu();
    unused.name = "Unused";
    unused.nodes[0].operator_type = "Quux";
    ModelText model =
        model_of({function, unused}, {call("SquaredRelu", {"x"}, {"p"}), call("SquaredRelu", {"p"}, {"y"})});
    const std::string missing = refusal(model, "onnx.unsupported_operator");
    EXPECT_NE(missing.find("'Wurlitzer' of opset 17"), std::string::npos) << missing;
    EXPECT_NE(missing.find("1 node, the first"), std::string::npos) << missing;
    model.functions[0].nodes[2] = {"Relu", {"h"}, {"w"}, {integer_attribute("flavour", 3)}};
    const std::string wrong = refusal(model, "onnx.unknown_attribute");
    EXPECT_NE(wrong.find("in the function 'local.SquaredRelu', which node 'node of p' calls"), std::string::npos)
        << wrong;
}

TEST(Functions, their_constants_are_shared) {
    FunctionText function{
        .name = "Weighted",
        .inputs = {"x"},
        .outputs = {"y"},
        .nodes = {{"Constant",
                   {},
                   {"w"},
                   {tensor_attribute("value", tensor_message("", 1, {100, 100}, std::string(40'000, '\0')))}},
                  {"ReduceSum", {"w"}, {"s"}, {integer_attribute("keepdims", 0)}},
                  {"Add", {"x", "s"}, {"y"}}}};
    ModelText model = model_of({function}, {});
    for (int i = 0; i < 50; i++)
        model.nodes.push_back(
            call("Weighted", {i == 0 ? "x" : fmt::format("h{}", i)}, {i == 49 ? "y" : fmt::format("h{}", i + 1)}));
    auto graph = import(model.bytes());
    ASSERT_TRUE(graph) << render(graph.error());
    int64_t constants = 0;
    for (const Tensor& tensor : graph->tensors) constants += tensor.constant && tensor.constant->size() == 10'000;
    EXPECT_EQ(constants, 1);
}

// ---- hostile ones: each of these is refused before anything is inlined

FunctionText calling(const std::string& name, const std::vector<std::string>& callees) {
    FunctionText function{.name = name, .inputs = {"x"}, .outputs = {"y"}, .nodes = {}};
    std::string last = "x";
    for (size_t i = 0; i < callees.size(); i++) {
        const std::string next = i + 1 == callees.size() ? "y" : fmt::format("h{}", i);
        function.nodes.push_back(callees[i].empty() ? NodeText{"Relu", {last}, {next}}
                                                    : call(callees[i], {last}, {next}));
        last = next;
    }
    return function;
}

TEST(Functions, that_call_themselves) {
    auto with = [](std::vector<FunctionText> functions) {
        return refusal(model_of(std::move(functions), {call("A", {"x"}, {"y"})}), "onnx.recursive_function");
    };
    EXPECT_NE(with({calling("A", {"A"})}).find("local.A calls local.A"), std::string::npos);
    const std::string circle =
        with({calling("A", {"B"}), calling("B", {"", "C"}), calling("C", {"D", "B"}), calling("D", {""})});
    EXPECT_NE(circle.find("local.B calls local.C calls local.B"), std::string::npos) << circle;
    // Through a branch that no run would take.
    FunctionText branching = calling("A", {""});
    branching.nodes[0] = {"If", {"x"}, {"y"}, {graph_attribute("then_branch", {call("A", {"x"}, {"t"})}, {"t"})}};
    with({branching});
    // Nobody calls these.
    EXPECT_TRUE(import(model_of({calling("A", {""}), calling("B", {"B"})}, {call("A", {"x"}, {"y"})}).bytes()));
}

TEST(Functions, that_double_and_double) {
    std::vector<FunctionText> functions;
    for (int i = 0; i < 60; i++) {
        const std::string next = i == 59 ? "" : fmt::format("F{}", i + 1);
        functions.push_back(calling(fmt::format("F{}", i), {next, next}));
    }
    auto chain = [&](int first) { return model_of(functions, {call(fmt::format("F{}", first), {"x"}, {"y"})}); };
    const std::string text = refusal(chain(0), "onnx.function_size");
    EXPECT_NE(text.find("stands for too much"), std::string::npos) << text;
    EXPECT_TRUE(import(chain(50).bytes())) << "1,024 nodes are not too many";
    // Many calls of what is just allowed.
    ModelText many = model_of(functions, {});
    for (int i = 0; i < 10; i++)
        many.nodes.push_back(
            call("F45", {i == 0 ? "x" : fmt::format("h{}", i)}, {i == 9 ? "y" : fmt::format("h{}", i + 1)}));
    EXPECT_NE(refusal(many, "onnx.function_size").find("the model's graph"), std::string::npos);
}

TEST(Functions, that_are_nested_without_end) {
    std::vector<FunctionText> functions;
    for (int i = 0; i < 5'000; i++)
        functions.push_back(calling(fmt::format("F{}", i), {i == 4'999 ? "" : fmt::format("F{}", i + 1)}));
    refusal(model_of(functions, {call("F0", {"x"}, {"y"})}), "onnx.function_size");
    EXPECT_TRUE(import(model_of(functions, {call("F4990", {"x"}, {"y"})}).bytes()));
    // The depth counts, wherever one begins to look.
    functions.resize(100);
    functions[99] = calling("F99", {""});
    std::vector<NodeText> nodes{call("F40", {"x"}, {"h"}), call("F0", {"h"}, {"y"})};
    refusal(model_of(functions, nodes), "onnx.function_size");
}

TEST(Functions, that_repeat_long_texts) {
    FunctionText loud = calling("F0", {""});
    loud.nodes[0].outputs = {std::string(1 << 16, 'y')};
    loud.outputs = loud.nodes[0].outputs;
    std::vector<FunctionText> functions{loud};
    for (int i = 1; i < 14; i++)
        functions.push_back(calling(fmt::format("F{}", i), {fmt::format("F{}", i - 1), fmt::format("F{}", i - 1)}));
    refusal(model_of(functions, {call("F13", {"x"}, {"y"})}), "onnx.function_size");
    EXPECT_TRUE(import(model_of(functions, {call("F3", {"x"}, {"y"})}).bytes()));
}

// Names of nodes within nodes stay short.
TEST(Functions, names_of_calls_within_calls) {
    std::vector<FunctionText> functions;
    for (int i = 0; i < 60; i++)
        functions.push_back(calling(fmt::format("F{}", i), {i == 59 ? "" : fmt::format("F{}", i + 1)}));
    auto graph = import(model_of(functions, {call("F0", {"x"}, {"y"})}).bytes());
    ASSERT_TRUE(graph) << render(graph.error());
    ASSERT_EQ(graph->operations.size(), 1u);
    EXPECT_LT(graph->operations[0].name.size(), 300u);
    EXPECT_EQ(graph->tensor(graph->outputs[0]).name, "y");
}

TEST(Functions, mutated_bytes) {
    FunctionText outer = calling("Outer", {"SquaredRelu", "", "Scaled"});
    outer.attributes = {"scale"};
    outer.nodes[2].attributes = {reference_attribute("scale", "scale", 1)};
    const std::string whole =
        model_of({squared_relu(), scaled(), outer}, {call("Outer", {"x"}, {"y"}, {real_attribute("scale", 2)})})
            .bytes();
    ASSERT_TRUE(import(whole)) << render(import(whole).error());
    std::mt19937 random(7);
    int fine = 0;
    for (int round = 0; round < 4'000; round++) {
        const std::string bytes = damaged(whole, random);
        auto graph = import(bytes);
        if (graph)
            fine++;
        else
            EXPECT_FALSE(graph.error().empty() || graph.error().front().code.empty());
    }
    EXPECT_GT(fine, 100);
    EXPECT_LT(fine, 3'900);
}

}  // namespace
}  // namespace heddle::onnx
