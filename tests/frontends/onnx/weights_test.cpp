// Weights that are inputs of the graph.
#include "evaluate/evaluate.h"
#include "model_builder.h"

namespace heddle::onnx {
namespace {

Message weight(const std::string& name, const std::vector<float>& values) {
    std::string raw(values.size() * sizeof(float), '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    return tensor_message(name, 1, {static_cast<int64_t>(values.size())}, raw);
}

// y = relu(x * a) + b, where a is an initializer and b is what a node holds.
ModelText scaled() {
    return {.nodes = {{"Constant", {}, {"b"}, {tensor_attribute("value", weight("", {7}))}},
                      {"Mul", {"x", "a"}, {"m"}},
                      {"Relu", {"m"}, {"r"}},
                      {"Add", {"r", "b"}, {"y"}}},
            .inputs = {{"x", {"2"}}},
            .outputs = {{"y", {"2"}}},
            .initializers = {weight("a", {3, -4})}};
}

std::vector<std::string> inputs_of(const Graph& graph) {
    std::vector<std::string> names;
    for (TensorId id : graph.inputs) names.push_back(graph.tensor(id).name);
    return names;
}

TEST(Weights, of_initializers_and_nodes) {
    const auto model = parse(scaled().bytes());
    ASSERT_TRUE(model) << render(model.error());
    std::vector<std::string> names;
    for (const OnnxWeight& each : weights(*model)) names.push_back(each.name);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
}

TEST(Weights, become_inputs_by_name) {
    auto imported = import_with(scaled().bytes(), {.free_weights = {"b", "nothing"}});
    ASSERT_TRUE(imported) << render(imported.error());
    EXPECT_EQ(inputs_of(imported->graph), (std::vector<std::string>{"x", "b"}));
    imported = import_with(scaled().bytes(), {.free_weights = {"a", "b"}});
    ASSERT_TRUE(imported) << render(imported.error());
    EXPECT_EQ(inputs_of(imported->graph), (std::vector<std::string>{"x", "a", "b"}));
    ASSERT_EQ(imported->free_weights.size(), 2u);
    EXPECT_EQ(imported->free_weights[1].name, "b");
    EXPECT_EQ(imported->free_weights[1].data.real_at(0), 7);
}

// A weight that a shape depends on needs its value, and is decided then.
TEST(Weights, that_decide_a_shape) {
    const ModelText model{.nodes = {{"Resize", {"x", "", "scales"}, {"y"}}},
                          .inputs = {{"x", {"2", "3"}}},
                          .outputs = {{"y", {}}},
                          .initializers = {weight("scales", {2, 1})}};
    auto imported = import_with(model.bytes(), {.free_weights = {"scales"}});
    ASSERT_FALSE(imported);
    EXPECT_EQ(codes(imported), Codes{"symbolic.not_concrete"});
    TensorData scales(DType::float32, {2});
    scales.set_real(0, 2);
    scales.set_real(1, 1);
    imported = import_with(model.bytes(), {.values = {{"scales", scales}}, .free_weights = {"scales"}});
    ASSERT_TRUE(imported) << render(imported.error());
    EXPECT_EQ(imported->graph.tensor(imported->graph.outputs[0]).type.text(), "float32[4, 3]");
    EXPECT_EQ(imported->deciding_inputs, std::vector<std::string>{"scales"});
}

}  // namespace
}  // namespace heddle::onnx
