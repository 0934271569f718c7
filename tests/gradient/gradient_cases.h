// Programs whose gradients are checked, with inputs away from kinks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "evaluate/evaluate.h"
#include "gradient/gradient.h"
#include "helpers/library.h"
#include "symbolic/program.h"

namespace heddle::gradient {

struct Given {
    std::string name;
    std::vector<int64_t> shape;
    double low = -1, high = 1;           // of a float input
    std::vector<int64_t> integers = {};  // not empty: an int64 input
};

struct Case {
    std::string text;
    std::vector<Given> inputs;
};

inline Graph program(const Case& one, DType dtype) {
    std::vector<ProgramInput> inputs;
    for (const Given& given : one.inputs) {
        std::vector<Size> shape(given.shape.begin(), given.shape.end());
        inputs.push_back({given.name, {given.integers.empty() ? dtype : DType::int64, shape}});
    }
    auto graph = build_program(std::make_shared<SourceText>("case", one.text), library(), inputs);
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

// Values in random order at equal distances: no two are near each other, and none is near zero.
inline TensorData spread(std::mt19937& random, DType dtype, const std::vector<int64_t>& shape, double low,
                         double high) {
    TensorData data(dtype, shape);
    std::vector<int64_t> order(static_cast<size_t>(data.size()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int64_t i = 0; i < data.size(); ++i) {
        double place = (static_cast<double>(order[static_cast<size_t>(i)]) + 0.37) / static_cast<double>(data.size());
        data.set_real(i, low + (high - low) * place);
    }
    return data;
}

inline std::vector<TensorData> feeds_of(const Case& one, DType dtype, std::mt19937& random) {
    std::vector<TensorData> feeds;
    for (const Given& given : one.inputs) {
        if (given.integers.empty()) {
            feeds.push_back(spread(random, dtype, given.shape, given.low, given.high));
        } else {
            feeds.emplace_back(DType::int64, given.shape);
            for (size_t i = 0; i < given.integers.size(); ++i)
                feeds.back().set_integer(static_cast<int64_t>(i), given.integers[i]);
        }
    }
    return feeds;
}

// The feeds of a gradient: those of the graph, then adjoints.
inline std::vector<TensorData> with_adjoints(const Graph& graph, const Graph& gradient, std::vector<TensorData> feeds,
                                             std::mt19937& random) {
    for (size_t i = graph.inputs.size(); i < gradient.inputs.size(); ++i) {
        const TensorType& type = gradient.tensor(gradient.inputs[i]).type;
        feeds.push_back(spread(random, type.dtype, type.extents(), -1, 1));
    }
    return feeds;
}

inline std::vector<TensorId> float_inputs(const Graph& graph) {
    std::vector<TensorId> wanted = graph.inputs;
    std::erase_if(wanted, [&](TensorId id) { return !is_float(graph.tensor(id).type.dtype); });
    return wanted;
}

inline std::vector<Case> elementwise_cases() {
    const Given positive{"x", {3, 4}, 0.5, 2};
    std::vector<Case> list;
    for (const char* name :
         {"relu",       "sigmoid", "silu",  "gelu",         "gelu_tanh",  "softsign", "softplus", "mish",
          "hard_swish", "elu",     "selu",  "hard_sigmoid", "leaky_relu", "neg",      "abs",      "square",
          "exp",        "exp2",    "expm1", "sin",          "cos",        "tan",      "sinh",     "cosh",
          "tanh",       "asinh",   "atan",  "erf",          "floor",      "sign"})
        list.push_back({std::string("y = ") + name + "(x)", {{"x", {4, 6}}}});
    for (const char* name : {"sqrt", "rsqrt", "recip", "log", "log2", "log1p"})
        list.push_back({std::string("y = ") + name + "(x)", {positive}});
    for (const char* name : {"asin", "acos", "atanh"})
        list.push_back({std::string("y = ") + name + "(x)", {{"x", {12}, -0.9, 0.9}}});
    list.push_back({"y = lgamma(x)", {{"x", {12}, 0.6, 4}}});
    list.push_back({"y = lgamma(x)", {{"x", {5}, -1.7, -1.3}}});
    list.push_back({"y = digamma(x)", {{"x", {12}, 0.2, 4}}});
    list.push_back({"y = digamma(x)", {{"x", {5}, -1.7, -1.3}}});
    list.push_back({"y = acosh(x)", {{"x", {12}, 1.2, 3}}});
    for (const char* name : {"add2", "sub", "mul", "div", "maximum", "minimum", "power", "atan2", "mod", "trunc_rem"})
        list.push_back({std::string("y = ") + name + "(a, b)", {{"a", {3, 4}, 0.6, 2}, {"b", {4}, 0.7, 1.5}}});
    return list;
}

inline std::vector<Case> structured_cases() {
    const Given x234{"x", {2, 3, 4}}, x46{"x", {4, 6}};
    return {
        {"y = exp(mul(tanh(x), add([x, x, w])))", {x46, {"w", {6}}}},  // a tensor with several readers
        {"y = softmax(x, axis: 1)", {x234}},
        {"y = log_softmax(x)", {x46}},
        {"y = layer_norm(x, s, b, axis: 1)", {x234, {"s", {3, 4}}, {"b", {3, 4}}}},
        {"y = rms_norm(x, s)", {x46, {"s", {6}}}},
        {"y = group_norm(x, s, b, groups: 2)", {{"x", {2, 4, 3}}, {"s", {4}}, {"b", {4}}}},
        {"y = batch_norm(x, s, b, m, v)", {{"x", {2, 3, 4}}, {"s", {3}}, {"b", {3}}, {"m", {3}}, {"v", {3}, 0.5, 2}}},
        {"y = local_response_norm(x, size: 3)", {{"x", {1, 5, 2, 2}}}},
        {"y = numpy_matmul(a, b)", {{"a", {3, 4}}, {"b", {4, 5}}}},
        {"y = numpy_matmul(a, b)", {{"a", {2, 1, 3, 4}}, {"b", {5, 4, 2}}}},
        {"y = conv(X, W, B, group: 2, strides: [2, 1], pads: [1, 0, 1, 2], dilations: [1, 2])",
         {{"X", {2, 4, 7, 6}}, {"W", {6, 2, 3, 2}}, {"B", {6}}}},
        {"y = conv(X, W)", {{"X", {1, 2, 6}}, {"W", {3, 2, 3}}}},
        {"y = conv_transpose(X, W, strides: [2], pads: [1, 0])", {{"X", {1, 2, 4}}, {"W", {2, 3, 3}}}},
        {"y = avg_pool(X, kernel: [3, 2], strides: [2, 2], pads: [1, 0, 1, 0])", {{"X", {1, 2, 5, 6}}}},
        {"y, at = max_pool(X, kernel: [3, 2], strides: [2, 1], pads: [1, 1, 1, 0])", {{"X", {1, 2, 7, 6}}}},
        {"y = global_max_pool(X)", {{"X", {2, 2, 3, 3}}}},
        {"y = transpose(x, perm: [2, 0, 1])", {x234}},
        {"y = reshape_to(x, shape: [4, 6])", {x234}},
        {"y = reshape_to(transpose(x), shape: [3, 8])", {x234}},
        {"y = concat(a, b, axis: 1)", {{"a", {2, 3}}, {"b", {2, 4}}}},
        {"y = slice(x, starts: [1, 5], ends: [4, 0], steps: [2, -2])", {x46}},
        {"y = flip(x)", {x46}},
        {"y = pad(x, v, pads: [1, 2, 0, 1])", {x46, {"v", {}}}},
        {"y = pad(x, pads: [1, 2, 2, 1], mode: 'reflect')", {x46}},
        {"y = pad(x, pads: [1, 2, 2, 1], mode: 'edge')", {x46}},
        {"y = tile(x, repeats: [2, 3])", {{"x", {2, 3}}}},
        {"y = expand(x, shape: [4, 2, 3])", {{"x", {2, 1}}}},
        {"y = depth_to_space(x, block: 2)", {{"x", {1, 8, 2, 3}}}},
        {"y = space_to_depth(x, block: 2)", {{"x", {1, 2, 4, 6}}}},
        {"y = trilu(x)", {x234}},
        {"y = gather(t, i)", {{"t", {5, 3}}, {"i", {2, 2}, 0, 0, {4, 1, -1, 0}}}},
        {"y = gather_elements(t, i, axis: 1)", {{"t", {2, 3}}, {"i", {2, 2}, 0, 0, {2, 2, 0, -2}}}},
        {"y = scatter_nd_add(x, i, u)", {x46, {"i", {3, 1}, 0, 0, {1, 3, 1}}, {"u", {3, 6}}}},
        {"y = reduce_sum(x, axes: [1])", {x234}},
        {"y = reduce_mean(x, axes: [0, 2], keepdims: false)", {x234}},
        {"y = reduce_max(x, axes: [1, 2])", {x234}},
        {"y = reduce_min(x, axes: [0])", {x234}},
        {"y = reduce_prod(x, axes: [1])", {x234}},
        {"y = reduce_l2(x, axes: [1])", {x234}},
        {"y = reduce_log_sum_exp(x, axes: [2])", {x234}},
        {"y = cum_sum(x, axis: 1, exclusive: true)", {x234}},
        {"y = cumsum(x, axis: 1, exclusive: true, reverse: true)", {x234}},
        {"y = exp(cumsum(x, axis: 0))", {x46}},
        {"y = linear_recurrence(a, x, axis: 1)", {{"a", {2, 5, 3}}, {"x", {2, 5, 3}}}},
        {"y = where(less(a, b), mul(a, b), sqrt(b))", {{"a", {3, 4}}, {"b", {4}, 0.5, 1}}},
        {"y = clip(x, l, h)", {x46, {"l", {}, -0.6, -0.4}, {"h", {}, 0.4, 0.6}}},
        {"y = prelu(x, s)", {x46, {"s", {6}}}},
        {"y = attention(q, k, v, causal: true)", {{"q", {1, 4, 3, 2}}, {"k", {1, 2, 3, 2}}, {"v", {1, 2, 3, 2}}}},
        {"y = attention_composed(q, k, v)", {{"q", {2, 3, 4}}, {"k", {2, 5, 4}}, {"v", {2, 5, 3}}}},
        {"y = sgd(w, g, r, decay: 0.1)", {{"w", {3, 4}}, {"g", {3, 4}}, {"r", {}, 0.1, 0.2}}},
        {"y, u = momentum(w, g, v, r, decay: 0.1, nesterov: true)",
         {{"w", {3, 4}}, {"g", {3, 4}}, {"v", {3, 4}}, {"r", {}, 0.1, 0.2}}},
        {"y, n, t = adamw(w, g, m, s, i, r)",
         {{"w", {3, 4}}, {"g", {3, 4}}, {"m", {3, 4}}, {"s", {3, 4}, 0.5, 2}, {"i", {}, 2, 4}, {"r", {}, 0.1, 0.2}}},
        {"v, i = top_k(x, k: 2)", {x46}},
        {"y = sort(x)", {x46}},
        {"h = relu(conv(X, W, pads: [1, 1])); y = numpy_matmul(flatten(max_pool(h, kernel: [2], strides: [2])), A)",
         {{"X", {1, 2, 6}}, {"W", {3, 2, 3}}, {"A", {9, 4}}}},
    };
}

inline std::vector<Case> all_cases() {
    std::vector<Case> list = elementwise_cases(), others = structured_cases();
    list.insert(list.end(), others.begin(), others.end());
    return list;
}

}  // namespace heddle::gradient
