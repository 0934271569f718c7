// What vectors are filled with: products of other semirings, with NaN and infinities; elements of 8 and 16 bits; lanes
// that are a few elements apart, or lie backwards. Compiled code gives what the interpreter does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

const char* const operators = R"yaml(
max_plus:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = max(k < $k : a[@m, k] + b[k, @n])"
min_plus:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = min(k < $k : a[@m, k] + b[k, @n])"
min_max:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = min(k < $k : max(a[@m, k], b[k, @n]))"
greatest_in_rows:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m]"
  outputs: {y: "$T", z: "$T"}
  body: |
    y = max(k < $k : a[@m, k])
    z = min(k < $k : a[@m, k] - 1)
greatest_in_columns:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = max(k < $k : min(b[k, @n], 3))"
or_and:
  inputs: {a: "bool[$m, $k]", b: "bool[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: bool}
  body: "y = any(k < $k : a[@m, k] && b[k, @n])"
sum_of_products:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = sum(k < $k : a[@m, k] * b[k, @n])"
of_neighbours:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$k, $n]"
  outputs: {y: "$T", best: "int64", found: "bool"}
  body: |
    let s = sum(i < 3, j < 3 : b[@k + i - 1, @n + j - 1] ?? 0)
    y = s > 3 ? b[@k, @n] * 2 + s : -b[@k, @n]
    best = argmax(i < $k : b[i, @n] + b[@k, @n])
    found = b[@k, @n] == 3
apart:
  params: {step: int, first: int}
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$k, j = ($n - $first + $step - 1) // $step]"
  outputs: {y: "$T"}
  body: "y = b[@k, $step * @j + $first]"
backwards:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$k, $n]"
  outputs: {y: "$T"}
  body: "y = b[@k, $n - 1 - @n] + (b[@k, 2 - @n] ?? 1)"
joined:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$k, $n]"
  outputs: {y: "$T[$k, 3 * $n]"}
  body: |
    for c < 3:
      y[@k, 3 * @n + c] = c == 0 ? b[@k, @n] : c == 1 ? -b[@k, @n] : b[0, @n]
paired:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$m]"
  outputs: {y: "$T"}
  body: "y = sum(j < $k // 2 : a[@m, 2 * j] - a[@m, 2 * j + 1] * 2)"
columns_turned:
  inputs: {a: "$T[$m, $k]", b: "$T[$k, $n]"}
  index: "[$n, $k]"
  outputs: {y: "$T"}
  body: "y = b[@k, @n] + 1"
)yaml";

TensorData data(DType dtype, std::vector<int64_t> shape, double share_of_specials, std::mt19937& random) {
    TensorData made(dtype, std::move(shape));
    const double infinity = std::numeric_limits<double>::infinity();
    const double specials[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> share;
    for (int64_t i = 0; i < made.size(); i++) {
        if (!is_float(dtype))
            made.set_integer(i, is_bool(dtype) ? random() % 4 == 0 : static_cast<int64_t>(random() % 200));
        else
            made.set_real(i, share(random) < share_of_specials ? specials[random() % 3] : normal(random));
    }
    return made;
}

void check(const std::string& name, DType dtype, int64_t m, int64_t k, int64_t n, double share_of_specials) {
    static const Library library = library_with(operators);
    SCOPED_TRACE(name + " " + std::string(heddle::name(dtype)) + " " + testing::PrintToString(std::tuple(m, k, n)));
    std::mt19937 random(7);
    const std::vector<ProgramInput> inputs = {{"a", {dtype, {m, k}}}, {"b", {dtype, {k, n}}}};
    const std::vector<TensorData> feeds = {data(dtype, {m, k}, share_of_specials, random),
                                           data(dtype, {k, n}, share_of_specials, random)};
    const std::string call = name == "greatest_in_rows" ? "y, z = greatest_in_rows(a, b)"
                             : name == "of_neighbours"  ? "y, i, f = of_neighbours(a, b)"
                             : name.ends_with(")")      ? "y = " + name
                                                        : "y = " + name + "(a, b)";
    auto graph = build_program(std::make_shared<SourceText>("call", call), library, inputs);
    ASSERT_TRUE(graph) << render(graph.error());
    auto expected = evaluate_graph_bounded(*graph, feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    auto executable = compiled(plan_of(*graph));
    ASSERT_TRUE(executable);
    auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
    ASSERT_TRUE(found) << render(found.error());
    for (size_t i = 0; i < found->size(); i++) {
        auto comparison = compare_bounded((*found)[i], (*expected)[static_cast<size_t>(graph->outputs[i])]);
        EXPECT_TRUE(comparison.equal) << comparison.text();
    }
}

const char* const of_floats[] = {"max_plus",     "min_plus", "min_max", "greatest_in_rows", "greatest_in_columns",
                                 "of_neighbours"};

TEST(Vectors, NanAndInfinities) {
    for (const char* name : of_floats) {
        // None, a few tiles with some, and nearly all.
        for (double share : {0.0, 0.01, 0.6}) check(name, DType::float32, 13, 37, 70, share);
        check(name, DType::float64, 5, 9, 40, 0.05);
        check(name, DType::float16, 1, 5, 200, 0.1);
    }
}

TEST(Vectors, NarrowElements) {
    for (DType dtype : {DType::uint8, DType::int8, DType::int16, DType::uint16}) {
        for (const char* name : {"max_plus", "min_max", "of_neighbours", "sum_of_products", "columns_turned"})
            check(name, dtype, 13, 37, 150, 0);
        check("sum_of_products", dtype, 1, 200, 64, 0);
    }
    for (int64_t n : {1, 9, 64, 150}) check("or_and", DType::boolean, 13, 37, n, 0);
}

TEST(Vectors, LanesApart) {
    for (DType dtype : {DType::float32, DType::uint8, DType::float64}) {
        for (int64_t n : {5, 16, 67}) {
            check("backwards", dtype, 3, 4, n, 0);
            check("joined", dtype, 3, 4, n, 0);
            check("paired", dtype, 3, 2 * n + 1, 4, 0);
            for (int step : {2, 3, 4, 5})
                check(fmt::format("apart(a, b, step: {}, first: {})", step, step - 1), dtype, 3, 4, n, 0);
        }
    }
    check("apart(a, b, step: 2, first: 1)", DType::boolean, 3, 4, 70, 0);
}

}  // namespace
}  // namespace heddle::plan
