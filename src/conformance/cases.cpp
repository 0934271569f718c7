#include "conformance/cases.h"

#include <charconv>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "gradient/gradient.h"
#include "symbolic/program.h"

namespace heddle::conformance {

const std::vector<Case>& cases() {
    static const std::vector<Case> list = {
        {"relu", "y = relu(x)", {{"x", "a B"}}},
        {"gelu", "y = gelu(x)", {{"x", "A"}}, true, true},
        {"tanh of doubles", "y = tanh(x)", {{"x", "a B", DType::float64}}},
        {"add of halves", "y = add2(a, b)", {{"a", "a B", DType::float16}, {"b", "B", DType::float16}}},
        {"add", "y = add2(a, b)", {{"a", "a 1 C"}, {"b", "b C"}}},
        {"where", "y = where(c, a, b)", {{"c", "a B", DType::boolean}, {"a", "a B"}, {"b", "B"}}},
        {"cast", "y = cast(x, to: int8)", {{"x", "A"}}, false},
        {"no elements", "y = relu(x)", {{"x", "0 a"}}, false},
        {"transpose", "y = transpose(x, perm: [2, 0, 1])", {{"x", "a B c"}}},
        {"concat", "y = concat([a, b], axis: 1)", {{"a", "n B"}, {"b", "n C"}}},
        {"pad", "y = pad(x, pads: [1, 0, 2, 3])", {{"x", "a B"}}},
        {"slice", "y = slice(x, starts: [-1], ends: [-1000], axes: [1], steps: [-2])", {{"x", "a B"}}},
        {"softmax", "y = softmax(x, axis: 1)", {{"x", "a B"}}, true, true},
        {"layer_norm", "y = layer_norm(x, s, b)", {{"x", "a B"}, {"s", "B"}, {"b", "B"}}, true, true},
        {"matmul", "y = numpy_matmul(a, b)", {{"a", "b M k"}, {"b", "b k N"}}},
        {"gemm", "y = gemm(a, b, c, trans_b: true)", {{"a", "m K"}, {"b", "N K"}, {"c", "N"}}},
        {"max_plus", "y = max_plus(a, b)", {{"a", "m K"}, {"b", "K n"}}},
        {"integer matmul", "y = matmul_integer(a, b)", {{"a", "m K", DType::uint8}, {"b", "K N", DType::int8}}, false},
        {"conv", "y = conv(x, w, pads: [1, 1, 1, 1])", {{"x", "n c H w"}, {"w", "m c 3 3"}}},
        {"conv in strides", "y = conv(x, w, strides: [2, 1])", {{"x", "1 c 9 W"}, {"w", "m c 3 1"}}},
        {"conv by channels", "y = conv(x, w, group: 6)", {{"x", "n 6 7 W"}, {"w", "6 1 3 1"}}},
        {"layers of conv",
         "a = relu(conv(x, w, pads: [1, 1, 1, 1])); y = conv(a, v, pads: [1, 1, 1, 1])",
         {{"x", "1 c 9 9"}, {"w", "m c 3 3"}, {"v", "n m 3 3"}},
         true,
         true},
        {"max_pool", "y, at = max_pool(x, kernel: [2, 2], strides: [2, 2])", {{"x", "n c 8 10"}}, false},
        {"avg_pool", "y = avg_pool(x, kernel: [2, 3])", {{"x", "n c 8 W"}}},
        {"sum", "y = reduce_sum(x, axes: [0])", {{"x", "A B"}}},
        {"max", "y = reduce_max(x, axes: [1])", {{"x", "a B"}}},
        {"argmax", "y = argmax(x, axis: 1)", {{"x", "a B"}}, false},
        {"gather", "y = gather(x, i)", {{"x", "A b"}, {"i", "c d", DType::int64, "A"}}},
        {"scatter", "y = scatter_elements_add(x, i, u)", {{"x", "A b"}, {"i", "c b", DType::int64, "A"}, {"u", "c b"}}},
        {"cumsum", "y = cumsum(x, axis: 1)", {{"x", "a B"}}},
        {"linear_recurrence", "y = linear_recurrence(a, x)", {{"a", "T b"}, {"x", "T b"}}, true, true},
        // One task: its steps run in rounds.
        {"gru", "y, h = gru(x, w, r)", {{"x", "T 1 c"}, {"w", "1 15 c"}, {"r", "1 15 5"}}, false},
        {"linear_attention",
         "y = linear_attention(q, k, v)",
         {{"q", "b 2 T d"}, {"k", "b 2 T d"}, {"v", "b 2 T e"}},
         false},
        {"resize_linear", "y = resize_linear(x, scales: [1.0, 2.0])", {{"x", "a B"}}},
        {"attention", "y = attention(q, k, v)", {{"q", "b 2 s d"}, {"k", "b 2 T d"}, {"v", "b 2 T e"}}},
        {"top_k", "values, places = top_k(x, k: 3)", {{"x", "a 19"}}, false},
    };
    return list;
}

namespace {

class Sizes {
public:
    explicit Sizes(std::mt19937_64& random) : random_(random) {}

    int64_t size(const std::string& word) {
        int64_t number = 0;
        const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (problem == std::errc()) return number;
        const bool large = word[0] >= 'A' && word[0] <= 'Z';
        return sizes_.try_emplace(word, 1 + static_cast<int64_t>(random_() % (large ? 40 : 5))).first->second;
    }

    std::vector<Size> shape(const char* text) {
        std::vector<Size> shape;
        std::istringstream words(text);
        for (std::string word; words >> word;) shape.emplace_back(size(word));
        return shape;
    }

private:
    std::mt19937_64& random_;
    std::map<std::string, int64_t> sizes_;
};

TensorData random_values(const TensorType& type, int64_t below, std::mt19937_64& random) {
    TensorData data(type.dtype, type.extents());
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) {
        if (is_float(type.dtype))
            data.set_real(i, normal(random));
        else
            data.set_integer(i,
                             static_cast<int64_t>(random() % static_cast<uint64_t>(is_bool(type.dtype) ? 2 : below)));
    }
    return data;
}

}  // namespace

Result<Instance> instance_of(const Case& made, const Library& library, uint64_t seed) {
    std::mt19937_64 random(seed);
    Sizes sizes(random);
    std::vector<ProgramInput> inputs;
    Instance instance;
    for (const CaseInput& input : made.inputs) {
        inputs.push_back({input.name, {input.dtype, sizes.shape(input.shape)}});
        instance.feeds.push_back(random_values(inputs.back().type, sizes.size(input.below), random));
    }
    auto graph = build_program(std::make_shared<SourceText>(made.name, made.program), library, inputs);
    if (!graph) return fail(std::move(graph.error()));
    instance.graph = std::move(*graph);
    return instance;
}

std::vector<TensorId> float_inputs(const Graph& graph) {
    std::vector<TensorId> inputs;
    for (TensorId input : graph.inputs) {
        if (is_float(graph.tensor(input).type.dtype)) inputs.push_back(input);
    }
    return inputs;
}

Result<Instance> gradient_of(const Instance& instance, uint64_t seed) {
    auto graph = gradient::gradient(instance.graph, float_inputs(instance.graph));
    if (!graph) return fail(std::move(graph.error()));
    Instance adjoint{std::move(*graph), instance.feeds};
    std::mt19937_64 random(seed);
    for (size_t i = instance.feeds.size(); i < adjoint.graph.inputs.size(); i++)
        adjoint.feeds.push_back(random_values(adjoint.graph.tensor(adjoint.graph.inputs[i]).type, 1, random));
    return adjoint;
}

}  // namespace heddle::conformance
