// `heddle check` applies each template to made-up tensors: what fails whatever it is applied to is a mistake, what could
// not be applied is said to be untried, and nothing that is right is either.
#include "rewrite/trial.h"

#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

// "fine", "untried", or the code of what every use fails with.
std::string outcome(const std::string& text) {
    Library library;
    EXPECT_TRUE(library.add_folder(in_source("operators")));
    auto added = library.add_source(std::make_shared<const SourceText>("t.yaml", text));
    if (!added) return added.error()[0].code;
    auto found = library.find("t");
    if (!found) return found.error()[0].code;
    const Trial trial = try_operator(**found, library);
    if (!trial.mistakes.empty()) return trial.mistakes[0].code;
    return trial.untried.empty() ? "fine" : "untried";
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

TEST(Trial, WhatCannotBeTriedIsSaidToBe) {
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\"", "  constraints: {require: [[\"$n == 1000\", \"too small\"]]}\n")),
              "untried");
    EXPECT_EQ(outcome(body("x", "x: \"$T[$n]\"", "  params: {what: string}\n")), "untried");
    EXPECT_EQ(outcome("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"), "untried");
}

}  // namespace
}  // namespace heddle::rewrite
