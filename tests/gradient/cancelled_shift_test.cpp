// Extremes that cancel have no adjoint, and those that do not cancel have. Every gradient here is compared with differences.
#include <random>

#include "differences.h"

namespace heddle::gradient {
namespace {

Graph own_operator(const std::string& body) {
    const Library own = library_with(
        "own:\n  inputs: {x: \"$T[$rows, $n]\"}\n  index: \"[$rows]\"\n  outputs: {y: "
        "\"$T[$rows, $n]\"}\n  body: |\n    " +
        body + "\n");
    auto graph =
        build_program(std::make_shared<SourceText>("case", "y = own(x)"), own, {{"x", {DType::float64, {3, 4}}}});
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

bool asks_who_is_first(const Graph& graph) {
    auto made = gradient(graph, {graph.inputs[0]});
    EXPECT_TRUE(made) << render(made.error());
    return made && print(*made).find("argmax") != std::string::npos;
}

void expect_right(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random) {
    EXPECT_EQ(difference(graph, feeds, random), "");
}

TEST(CancelledShift, OfShippedOperators) {
    const Given x{"x", {3, 4}};
    std::mt19937 random(3);
    for (const Case& one :
         {Case{"y = softmax(x)", {x}}, Case{"y = log_softmax(x)", {x}}, Case{"y = softmax_flat(x)", {x}},
          Case{"y = reduce_log_sum_exp(x, axes: [1])", {x}},
          Case{"y = attention(x, k, v)", {{"x", {1, 1, 3, 4}}, {"k", {1, 1, 5, 4}}, {"v", {1, 1, 5, 2}}}},
          Case{"y = attention(x, k, v, causal: true)",
               {{"x", {1, 2, 3, 4}}, {"k", {1, 1, 3, 4}}, {"v", {1, 1, 3, 2}}}}}) {
        SCOPED_TRACE(one.text);
        const Graph graph = program(one, DType::float64);
        EXPECT_FALSE(asks_who_is_first(graph));
        expect_right(graph, feeds_of(one, DType::float64, random), random);
    }
}

TEST(CancelledShift, OfOwnOperators) {
    std::mt19937 random(4);
    const std::string greatest = "let m = max(k < $n : x[@rows, k])\n    ";
    struct Own {
        std::string body;
        bool cancels;
    };
    for (const Own& own : {
             Own{greatest + "y[@rows, j] = exp2(2 * (x[@rows, j] - m)) / sum(k < $n : exp2(2 * x[@rows, k] - 2 * m))",
                 true},
             Own{greatest +
                     "let e[k < $n] = exp(x[@rows, k] - m)\n    y[@rows, j] = sqrt(e[j] * e[0]) / sum(k < $n : e[k])",
                 true},
             Own{greatest + "y[@rows, j] = m + log(sum(k < $n : k > j ? 0 : exp(x[@rows, k] - m)))", true},
             Own{greatest + "y[@rows, j] = m * x[@rows, j] - x[@rows, j] * m + m", false},
             Own{greatest + "y[@rows, j] = exp(x[@rows, j] - m)", false},
             Own{greatest + "y[@rows, j] = exp(x[@rows, j] - m) / (1 + sum(k < $n : exp(x[@rows, k] - m)))", false},
             Own{greatest + "y[@rows, j] = exp(x[@rows, j] - m) / sum(k < $n : exp(2 * (x[@rows, k] - m)))", false},
             Own{greatest + "y[@rows, j] = exp(x[@rows, j] - m) / prod(k < $n : exp(x[@rows, k] - m))", false},
             // A greatest of each column, in a sum over columns.
             Own{"let s = sum(k < $n : exp(x[@rows, k] - max(r < $rows : x[r, k])))\n    "
                 "y[@rows, j] = exp(x[@rows, j] - max(r < $rows : x[r, j])) / s",
                 false},
             Own{"let m[r < $rows] = max(k < $n : x[r, k])\n    y[@rows, j] = exp(x[@rows, j] - m[@rows]) / "
                 "sum(k < $n : exp(x[@rows, k] - m[($rows - 1) - @rows]))",
                 false},
         }) {
        SCOPED_TRACE(own.body);
        const Graph graph = own_operator(own.body);
        EXPECT_EQ(asks_who_is_first(graph), !own.cancels);
        expect_right(graph, {spread(random, DType::float64, {3, 4}, -1, 1)}, random);
    }
}

// A state of a scan that depends on it.
TEST(CancelledShift, NotInsideOfScans) {
    const Library own = library_with(R"yaml(
own:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    let m = max(k < $n : x[k])
    scan t < $n:
      s[t] = s[t - 1] + exp(x[t] - m) from 0
      y[t] = s[t] * exp(m)
)yaml");
    auto graph = build_program(std::make_shared<SourceText>("case", "y = own(x)"), own, {{"x", {DType::float64, {4}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_TRUE(asks_who_is_first(*graph));
    std::mt19937 random(5);
    expect_right(*graph, {spread(random, DType::float64, {4}, -1, 1)}, random);
}

}  // namespace
}  // namespace heddle::gradient
