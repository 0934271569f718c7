#include "api/models.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "frontends/onnx/model_builder.h"

namespace heddle::tests {
namespace {

using onnx::ModelText;
using onnx::NodeText;

std::vector<float> random_numbers(size_t count, unsigned seed, float scale) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> between(-scale, scale);
    std::vector<float> numbers(count);
    std::ranges::generate(numbers, [&] { return between(random); });
    return numbers;
}

Message floats(const std::string& name, const std::vector<int64_t>& dims, unsigned seed, float scale = 0.1f) {
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    return onnx::tensor_message(name, 1, dims,
                                onnx::raw_floats(random_numbers(static_cast<size_t>(count), seed, scale)));
}

}  // namespace

Perceptron perceptron() {
    using P = Perceptron;
    Perceptron model{random_numbers(P::inputs * P::hidden, 1, 0.1f),
                     random_numbers(P::hidden, 2, 0.1f),
                     random_numbers(P::hidden * P::outputs, 3, 0.1f),
                     {}};
    ModelText text;
    text.inputs = {{"x", {"batch", "130"}}};
    text.outputs = {{"y", {"batch", "40"}}};
    text.initializers = {onnx::tensor_message("w1", 1, {P::inputs, P::hidden}, onnx::raw_floats(model.w1)),
                         onnx::tensor_message("b1", 1, {P::hidden}, onnx::raw_floats(model.b1)),
                         onnx::tensor_message("w2", 1, {P::hidden, P::outputs}, onnx::raw_floats(model.w2))};
    text.nodes = {{"MatMul", {"x", "w1"}, {"h"}},
                  {"Add", {"h", "b1"}, {"s"}},
                  {"Relu", {"s"}, {"r"}},
                  {"MatMul", {"r", "w2"}, {"l"}},
                  {"Softmax", {"l"}, {"y"}, {onnx::integer_attribute("axis", -1)}}};
    model.bytes = text.bytes();
    return model;
}

std::vector<double> Perceptron::expected(const std::vector<float>& x) const {
    std::vector<double> results;
    for (size_t row = 0; row < x.size() / inputs; row++) {
        std::vector<double> h(hidden), y(outputs, 0);
        for (size_t j = 0; j < hidden; j++) {
            h[j] = b1[j];
            for (size_t k = 0; k < inputs; k++) h[j] += double{x[row * inputs + k]} * w1[k * hidden + j];
            h[j] = std::max(h[j], 0.0);
        }
        double sum = 0;
        for (size_t j = 0; j < outputs; j++) {
            for (size_t k = 0; k < hidden; k++) y[j] += h[k] * w2[k * outputs + j];
            sum += std::exp(y[j]);
        }
        for (double value : y) results.push_back(std::exp(value) / sum);
    }
    return results;
}

std::string image_model() {
    ModelText text;
    text.inputs = {{"image", {"n", "3", "20", "20"}}};
    text.outputs = {{"scores", {"n", "700"}}};
    text.initializers = {floats("k1", {16, 3, 3, 3}, 1), floats("k2", {24, 16, 3, 3}, 2),
                         floats("large", {2400, 700}, 3, 0.01f)};
    text.nodes = {{"Conv", {"image", "k1"}, {"c1"}, {onnx::integers_attribute("pads", {1, 1, 1, 1})}},
                  {"Relu", {"c1"}, {"r1"}},
                  {"Conv", {"r1", "k2"}, {"c2"}, {onnx::integers_attribute("pads", {1, 1, 1, 1})}},
                  {"MaxPool",
                   {"c2"},
                   {"p"},
                   {onnx::integers_attribute("kernel_shape", {2, 2}), onnx::integers_attribute("strides", {2, 2})}},
                  {"Flatten", {"p"}, {"f"}},
                  {"MatMul", {"f", "large"}, {"scores"}}};
    return text.bytes();
}

std::string reshape_model() {
    ModelText text;
    text.inputs = {{"x", {"a", "b"}}, {"shape", {"2"}, 7}, {"unread", {"3"}}};
    text.outputs = {{"y", {"c", "d"}}};
    text.nodes = {{"Reshape", {"x", "shape"}, {"z"}}, {"Relu", {"z"}, {"y"}}};
    return text.bytes();
}

std::string table_model() {
    ModelText text;
    text.inputs = {{"indices", {"n"}, 7}};
    text.outputs = {{"y", {"n", "300"}}};
    text.initializers = {floats("table", {5, 300}, 5)};
    text.nodes = {{"Gather", {"table", "indices"}, {"y"}}};
    return text.bytes();
}

std::string weighted_model() {
    ModelText text;
    text.inputs = {{"x", {"3"}}, {"w", {"3"}}};
    text.outputs = {{"y", {"3"}}};
    text.initializers = {onnx::tensor_message("w", 1, {3}, onnx::raw_floats({1, 2, 3}))};
    text.nodes = {{"Add", {"x", "w"}, {"y"}}};
    return text.bytes();
}

std::string doubling_model(bool gives_list) {
    const std::vector<onnx::NodeText> body{
        {"Concat", {"before", "before"}, {"after"}, {onnx::integer_attribute("axis", 0)}},
        {"SequenceInsert", {"list", "after"}, {"longer"}},
        {"Identity", {"condition"}, {"goes_on"}}};
    onnx::ModelText model{
        .nodes = {{"SequenceEmpty", {}, {"empty"}},
                  {"Loop",
                   {"trips", "", "x", "empty"},
                   {"y", "all"},
                   {onnx::graph_attribute("body", body, {"goes_on", "after", "longer"},
                                          {"i", "condition", "before", "list"})}}},
        .inputs = {{"x", {"n"}}, {"trips", {}, 7}},
        .outputs = {{gives_list ? "all" : "y", {"m"}}}};
    return model.bytes();
}

std::string cache_model() {
    ModelText text;
    text.inputs = {{"cache", {"2", "n", "3"}}, {"x", {"2", "t", "3"}}};
    text.outputs = {{"longer", {"2", "m", "3"}}};
    text.initializers = {onnx::tensor_message("one", 1, {1}, onnx::raw_floats({1}))};
    text.nodes = {{"Add", {"x", "one"}, {"new"}},
                  {"Concat", {"cache", "new"}, {"longer"}, {onnx::integer_attribute("axis", 1)}}};
    return text.bytes();
}

std::string one_node_of(const std::string& operator_type) {
    ModelText text;
    text.inputs = {{"x", {"4"}}};
    text.outputs = {{"y", {"4"}}};
    text.nodes = {{operator_type, {"x"}, {"y"}}};
    return text.bytes();
}

}  // namespace heddle::tests
