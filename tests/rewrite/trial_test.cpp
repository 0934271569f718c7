// `heddle check` applies each template to made-up tensors: what fails whatever it is applied to is a mistake, what could
// not be applied is said to be untried, and nothing that is right is either.
#include "rewrite/trial.h"

#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

// "fine", "not shown", or the code of what every use fails with.
std::string outcome(const std::string& text) {
    Library library;
    EXPECT_TRUE(library.add_folder(in_source("operators")));
    auto added = library.add_source(std::make_shared<const SourceText>("t.yaml", text));
    if (!added) return added.error()[0].code;
    auto found = library.find("t");
    if (!found) return found.error()[0].code;
    const Trial trial = try_operator(**found, library);
    if (!trial.mistakes.empty()) return trial.mistakes[0].code;
    return trial.not_shown ? "not shown" : "fine";
}

std::string body(const std::string& text, const std::string& inputs = "x: \"$T[$n]\"", const std::string& more = "") {
    return "t:\n  inputs: {" + inputs + "}\n" + more +
           "  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = " + text + "\"\n";
}

std::string graph(const std::string& lines, const std::string& more = "") {
    return "t:\n  inputs: {x: \"$T[$n]\"}\n" + more + "  outputs: {y: \"$T[_]\"}\n  graph: \"" + lines + "\"\n";
}

TEST(Trial, WhatFailsWhateverItIsAppliedToIsAMistake) {
    EXPECT_EQ(outcome(body("x[@n + 1]")), "symbolic.footprint");
    EXPECT_EQ(outcome(body("x[@n] + w[0]", "x: \"float32[$n]\", w: \"float64[1]\"") + ""), "language.unbound_static");
    EXPECT_EQ(
        outcome("t:\n  inputs: {x: \"float32[$n]\", w: \"float64[1]\"}\n  index: \"[$n]\"\n  outputs: {y: float32}\n"
                "  body: \"y = x + w[0]\"\n"),
        "symbolic.dtype");
    EXPECT_EQ(outcome(body("x[0] + x[1]", "x: \"$T[1, $n]\"")), "symbolic.rank");
    // Of floats alone there is a quotient, and the constraint has none.
    EXPECT_EQ(outcome(body("x / 2", "x: \"$T[$n]\"", "  constraints: {T: [int32, int64]}\n")), "symbolic.dtype");
    EXPECT_EQ(outcome(graph("y = matmul(x, relu)")), "language.unknown_name");
    EXPECT_EQ(outcome(graph("y = no_such_thing(x)")), "language.unknown_operator");
    const std::string of_graph = outcome(graph("y = softmax(x, axis: 7)"));
    EXPECT_TRUE(of_graph.starts_with("symbolic.")) << of_graph;
}

TEST(Trial, WhatSomeUseMakesRightIsFine) {
    EXPECT_EQ(outcome(body("x[@n]")), "fine");
    EXPECT_EQ(outcome(body("x / 2")), "fine");  // of floats
    EXPECT_EQ(outcome(body("x + w", "x: \"$T[$n]\", w: \"$U[$n]\"")), "fine");
    EXPECT_EQ(outcome(body("x[0, @n]", "x: \"$T[1, $n]\"")), "fine");  // only dimensions of one
    EXPECT_EQ(outcome(body("x * complex(0.0, 1.0)")), "fine");         // of complex numbers alone
    EXPECT_EQ(outcome(graph("y = relu(x)")), "fine");
    EXPECT_EQ(outcome(body("x[@n]", "x: \"$T[2 * $n]\"")), "fine");
    EXPECT_EQ(outcome(body("x[@n * $k]", "x: \"$T[$n * $k]\"", "  params: {k: int}\n")), "fine");
}

// The same in more dimensions: none is fine because few made-up sizes were tried.
TEST(Trial, MistakesAreFoundInAnyNumberOfDimensions) {
    const std::vector<std::string> ranks = {"$n", "$n, $m", "$n, $m, $k", "$n, $m, $k, $l"};
    for (const std::string& rank : ranks) {
        auto of = [&](const std::string& dtype, const std::string& output, const std::string& text) {
            return outcome("t:\n  inputs: {x: \"" + dtype + "[" + rank + "]\"}\n  index: \"[" + rank +
                           "]\"\n  outputs: {y: " + output + "}\n  body: \"y = " + text + "\"\n");
        };
        EXPECT_EQ(of("int32", "float32", "sqrt(x)"), "symbolic.dtype") << rank;
        EXPECT_EQ(of("float32", "float32", "x * (x > 0)"), "symbolic.dtype") << rank;
        EXPECT_EQ(of("float32", "int32", "x"), "symbolic.stored_dtype") << rank;
        EXPECT_EQ(of("int32", "int32", "mean(k < 3 : x)"), "symbolic.dtype") << rank;
        EXPECT_EQ(of("float32", "float32", "x[0, 0, 0, 0, 0]"), "symbolic.rank") << rank;
        EXPECT_EQ(of("float32", "float32", "sqrt(x)"), "fine") << rank;
    }
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"float32[$n, $m]\"}\n  index: \"[$n]\"\n  outputs: {y: float32}\n"
                      "  body: \"y = sum(k < $m : x[k])\"\n"),
              "symbolic.rank");
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"float32[$n, $m]\"}\n  outputs: {y: \"float32[$n]\"}\n"
                      "  graph: \"y = relu(x)\"\n"),
              "symbolic.composition");
}

TEST(Trial, SizesThatWorkByChanceAreNotEnough) {
    // Only n = 2 works.
    EXPECT_EQ(outcome("t:\n  inputs: {u: \"$T[$n, ($n)]\"}\n  constraints: {T: [float32, float64]}\n  index: \"[]\"\n"
                      "  outputs: {y: \"$T[$n, $n]\"}\n  body: |\n    let v[i < $n - 2] = u[0, i]\n"
                      "    y[i, j] = i == 0 || j == 0 ? 1 : v[$n - 2 - j]\n"),
              "symbolic.footprint");
    // Only squares work, and the pattern does not say so.
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"$T[$n, $m]\"}\n  index: \"[$n, $m]\"\n  outputs: {y: \"$T\"}\n"
                      "  body: \"y = x[@m, @n]\"\n"),
              "symbolic.footprint");
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"$T[$n, ($n)]\"}\n  index: \"[$n, m = $n]\"\n  outputs: {y: \"$T\"}\n"
                      "  body: \"y = x[@m, @n]\"\n"),
              "fine");
}

TEST(Trial, SizesAreSolvedFromPatternsAndRequirements) {
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"$T[$i + 4, $j + 4]\", c: \"$T[$i, $j]\"}\n  index: \"[$i, $j]\"\n"
                      "  outputs: {y: \"$T\"}\n  body: \"y = x[@i + 2, @j + 2] + c\"\n"),
              "fine");
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\", w: \"float16[$m]\"",
                           "  constraints: {require: [[\"$n * 16 == $m\", \"a scale for each\"]]}\n")),
              "fine");
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\"", "  constraints: {require: [[\"$n % 9 == 0\", \"nines\"]]}\n")), "fine");
    EXPECT_EQ(outcome(body("turn * x", "x: \"$T[$n]\"", "")), "language.unknown_name");
    EXPECT_EQ(outcome(body("complex(float64(@n), 1.0) * x")), "fine");  // of complex128 alone
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\"", "  params: {what: string}\n")), "fine");
}

TEST(Trial, BranchesThatCannotWorkAreMistakes) {
    EXPECT_EQ(outcome(body("$mode == 'one' ? x : x[@n, 0]", "x: \"$T[$n]\"", "  params: {mode: one | two = one}\n")),
              "symbolic.rank");
    EXPECT_EQ(outcome(body("has(b) ? x + b[0, 0] : x", "x: \"$T[$n]\", b: \"$T[$n]?\"")), "symbolic.rank");
    EXPECT_EQ(outcome(body("$mode == 'one' ? x : bit_not(x)", "x: \"$T[$n]\"", "  params: {mode: one | two = one}\n")),
              "fine");  // of integers
}

TEST(Trial, WhatIsNotSeenToWorkIsSaidToBe) {
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\"", "  constraints: {require: [[\"$n == 1000\", \"too small\"]]}\n")),
              "not shown");
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"), "fine");
}

}  // namespace
}  // namespace heddle::rewrite
