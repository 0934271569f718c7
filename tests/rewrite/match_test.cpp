// What patterns fit, and what rules make of programs.
#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

// The program after all steps, or the code of the error.
std::string rewritten(const Library& library, const std::string& text, const std::vector<ProgramInput>& inputs,
                      const std::vector<std::string>& rules, std::optional<int64_t> steps = {}) {
    CallGraph graph = program(library, text, inputs);
    std::vector<RuleUse> uses;
    for (const std::string& rule : rules) uses.push_back(use(library, rule));
    auto done = apply_rules(graph, uses, steps);
    return done ? graph.text() : done.error().front().code;
}

std::string rule(const std::string& name, const std::string& match, const std::string& replace,
                 const std::string& more = {}) {
    return "  " + name + ":\n    match: \"" + match + "\"\n    replace: \"" + replace + "\"\n" + more;
}

TEST(Metakernels13, SplitOverTheInnerDimension) {
    Library library = library_with();
    std::string split =
        rewritten(library, "y = matmul(X, W)", {input("X", {2, 9}), input("W", {9, 3})}, {"split_inner(chunk: 4)"});
    EXPECT_EQ(split,
              "v1 = split(X, axis: -1, chunk: 4)\nv2 = split(W, axis: -2, chunk: 4)\nv3 = matmul(v1[0], v2[0])\n"
              "v4 = matmul(v1[1], v2[1])\nv5 = matmul(v1[2], v2[2])\ny = add([v3, v4, v5])\n");
    // What is printed is a program again.
    EXPECT_EQ(program(library, split, {input("X", {2, 9}), input("W", {9, 3})}).text(), split);
}

TEST(Metakernels13, LinearToProductsAndSums) {
    Library library = library_with();
    std::vector<ProgramInput> inputs = {input("x", {2, 5}), input("A", {5, 3}), input("b", {3})};
    std::string text = "h = linear(x, A, b); y = neg(linear(x, A)); z = add2(h, y)";
    EXPECT_EQ(rewritten(library, text, inputs, {"linear_to_matmul", "linear_to_matmul_add"}),
              "v1 = numpy_matmul(x, A)\nv2 = add2(v1, b)\nv3 = neg(v1)\nz = add2(v2, v3)\n");
    EXPECT_EQ(rewritten(library, text, inputs, {"linear_to_matmul"}, 0),
              "v1 = linear(x, A, b)\nv2 = linear(x, A)\nv3 = neg(v2)\nz = add2(v1, v3)\n");
}

TEST(Metakernels13, TransposesAreFolded) {
    Library library = library_with();
    std::vector<ProgramInput> cube = {input("x", {2, 3, 4})}, two = {input("x", {2, 3}), input("w", {3, 4})};
    EXPECT_EQ(rewritten(library, "y = transpose(transpose(x, perm: [1, 2, 0]), perm: [1, 0, 2])", cube,
                        {"transpose_of_transpose"}),
              "y = transpose(x, perm: [2, 1, 0])\n");
    EXPECT_EQ(rewritten(library, "y = transpose(transpose(x, perm: [1, 2, 0]), perm: [2, 0, 1])", cube,
                        {"transpose_of_transpose", "transpose_of_nothing"}),
              "y = x\n");
    EXPECT_EQ(rewritten(library, "y = transpose(matmul(x, w))", two, {"transpose_of_product"}),
              "v1 = transpose(w, perm: [1, 0])\nv2 = transpose(x, perm: [1, 0])\ny = matmul(v1, v2)\n");
}

TEST(Metakernels13, AdjacentShardsAreMerged) {
    Library library = library_with();
    std::vector<ProgramInput> inputs = {input("x", {7, 4})};
    EXPECT_EQ(rewritten(library, "y = concat(split(x, chunk: 3, axis: -2), axis: 0)", inputs, {"concat_of_split"}),
              "y = x\n");
    std::string other = "y = concat(split(x, chunk: 2, axis: 1), axis: 0)";
    EXPECT_EQ(rewritten(library, other, inputs, {"concat_of_split"}),
              "v1 = split(x, axis: 1, chunk: 2)\ny = concat(v1, axis: 0)\n")
        << "along another axis";
    std::string some = "a = split(x, chunk: 3); y = concat([a[1], a[0], a[2]], axis: 0)";
    EXPECT_EQ(rewritten(library, some, inputs, {"concat_of_split"}),
              "v1 = split(x, chunk: 3)\ny = concat([v1[1], v1[0], v1[2]], axis: 0)\n")
        << "in another order";
    EXPECT_EQ(rewritten(library,
                        "y = concat(slice(x, starts: [1], ends: [3], axes: [0]), "
                        "slice(x, starts: [3], ends: [9], axes: [0]), axis: 0)",
                        inputs, {"adjacent_slices"}),
              "y = slice(x, axes: [0], ends: [9], starts: [1])\n");
}

TEST(Rewrite, TheSameTensorWhereverAVariableStands) {
    Library library = library_with("rewrites:\n" + rule("twice", "add2(X, X)", "mul(X, 2)"));
    std::vector<ProgramInput> inputs = {input("a", {3}), input("b", {3})};
    EXPECT_EQ(rewritten(library, "y = add2(a, b)", inputs, {"twice"}), "y = add2(a, b)\n");
    EXPECT_EQ(rewritten(library, "y = add2(exp(a), exp(a))", inputs, {"twice"}), "v1 = exp(a)\ny = mul(v1, 2.0)\n");
}

TEST(Rewrite, ParametersByValueAndByDefault) {
    Library library =
        library_with("rewrites:\n" + rule("flip_back", "transpose(X, perm: [1, 0])", "X") +
                     rule("plain_gemm", "gemm(a, b)", "matmul(a, b)") + rule("reversed", "transpose(X)", "X") +
                     rule("even", "transpose(X, perm: $p)", "X", "    require: [[\"len($p) % 2 == 0\", \"odd\"]]\n"));
    std::vector<ProgramInput> square = {input("x", {3, 3})}, cube = {input("x", {2, 2, 2})};
    EXPECT_EQ(rewritten(library, "y = transpose(x)", square, {"flip_back"}), "y = x\n") << "the default is [1, 0] here";
    EXPECT_EQ(rewritten(library, "y = transpose(x, perm: [-1, 0])", square, {"flip_back"}), "y = x\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x, perm: [0, 1])", square, {"flip_back"}),
              "y = transpose(x, perm: [0, 1])\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x)", cube, {"flip_back"}), "y = transpose(x)\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x, perm: [2, 1, 0])", cube, {"reversed"}), "y = x\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x, perm: [2, 0, 1])", cube, {"reversed"}),
              "y = transpose(x, perm: [2, 0, 1])\n");
    EXPECT_EQ(rewritten(library, "y = gemm(x, x)", square, {"plain_gemm"}), "y = matmul(x, x)\n");
    EXPECT_EQ(rewritten(library, "y = gemm(x, x, alpha: 2.0)", square, {"plain_gemm"}), "y = gemm(x, x, alpha: 2.0)\n")
        << "a parameter that is not named must have its default";
    EXPECT_EQ(rewritten(library, "y = gemm(x, x, x)", square, {"plain_gemm"}), "y = gemm(x, x, x)\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x)", square, {"even"}), "y = x\n");
    EXPECT_EQ(rewritten(library, "y = transpose(x)", cube, {"even"}), "y = transpose(x)\n");
}

TEST(Rewrite, ListsOfAnyLength) {
    Library library = library_with(
        "rewrites:\n" + rule("flatten", "add(add(Xs...), Y)", "add(Xs..., Y)") +
        rule("pairs", "add(X, Y)", "add2(X, Y)") +
        rule("one_by_one", "add(X, Xs...)", "add2(X, add(Xs...))", "    require: [[\"len($Xs) > 1\", \"too few\"]]\n") +
        rule("each", "neg(add(Xs...))", "add([neg(Xs[i]) for i < len($Xs)])"));
    std::vector<ProgramInput> inputs = {input("a", {2}), input("b", {2}), input("c", {2}), input("d", {2})};
    EXPECT_EQ(rewritten(library, "y = add(add(a, b, c), d)", inputs, {"flatten"}), "y = add([a, b, c, d])\n");
    EXPECT_EQ(rewritten(library, "y = add(a, b, c, d)", inputs, {"one_by_one", "pairs"}),
              "v1 = add2(c, d)\nv2 = add2(b, v1)\ny = add2(a, v2)\n");
    EXPECT_EQ(rewritten(library, "y = neg(add(a, b))", inputs, {"each"}),
              "v1 = neg(a)\nv2 = neg(b)\ny = add([v1, v2])\n");
}

const char* two_results = R"(
extremes:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {low: "$T[$rows]", high: "$T[$rows]"}
  body: |
    low[@rows] = min(k < $n : x[@rows, k])
    high[@rows] = max(k < $n : x[@rows, k])
rewrites:
)";

TEST(Rewrite, SeveralResults) {
    Library library = library_with(
        two_results +
        rule("apart", "extremes(X)",
             "[reduce_min(X, axes: [1], keepdims: false), reduce_max(X, axes: [1], keepdims: false)]") +
        rule("high", "extremes(X)[1]", "reduce_max(X, axes: [1], keepdims: false)") +
        rule("together", "add2(extremes(X)[0], extremes(X)[1])", "add2(extremes(X)[1], extremes(X)[0])",
             "    require: [[\"$X.shape[0] == 3\", \"rows\"]]\n") +
        rule("first_part", "split(X, chunk: $c, axis: 0)[0]", "slice(X, starts: [0], ends: [$c], axes: [0])"));
    std::vector<ProgramInput> inputs = {input("x", {3, 4})};
    std::string text = "low, high = extremes(x); y = sub(high, low)";
    EXPECT_EQ(rewritten(library, text, inputs, {"apart"}),
              "v1 = reduce_max(x, axes: [1], keepdims: false)\nv2 = reduce_min(x, axes: [1], keepdims: false)\n"
              "y = sub(v1, v2)\n");
    EXPECT_EQ(rewritten(library, text, inputs, {"high"}),
              "v1 = reduce_max(x, axes: [1], keepdims: false)\nv2, v3 = test::extremes(x)\ny = sub(v1, v2)\n");
    EXPECT_EQ(rewritten(library, "low, high = extremes(x); y = add2(low, high)", inputs, {"together"}, 1),
              "v1 = test::extremes(x)[1]\nv2 = test::extremes(x)\ny = add2(v1, v2)\n");
    EXPECT_EQ(rewritten(library, "p = split(x, chunk: 2); y = neg(p[0])", inputs, {"first_part"}),
              "v1 = slice(x, axes: [0], ends: [2], starts: [0])\ny = neg(v1)\n");
    for (const RewriteRule* source : library.rewrites()) {
        if (source->library.empty()) continue;
        auto made = compile_rule(*source, library);
        ASSERT_TRUE(made) << render(made.error());
        auto verdict = verify_rule(*made, library, {.trials = 20, .seed = 1, .progress = {}});
        ASSERT_TRUE(verdict) << source->name << render(verdict.error());
        EXPECT_FALSE(verdict->counterexample) << source->name;
    }
}

TEST(Rewrite, ConstantsAndNamesOfTheOperators) {
    Library library = library_with(
        "rewrites:\n" + rule("times_one", "mul(X, 1)", "X") + rule("times_two", "mul(X, [2, 2])", "add2(X, X)") +
        rule("minus", "neg(X)", "sub(cast(0, to: $dtype), X)") +
        rule("stacked", "reduce_sum(matmul(X, W), axes: [0])", "matmul(reduce_sum(X, axes: [0]), W)",
             "    require: [[\"$inner > 2 && $X.rank == 2\", \"small\"]]\n"));
    std::vector<ProgramInput> inputs = {input("x", {2, 3})}, whole = {input("x", {2}, DType::int32)};
    EXPECT_EQ(rewritten(library, "y = mul(x, 1)", inputs, {"times_one"}), "y = x\n");
    EXPECT_EQ(rewritten(library, "y = mul(x, 2)", inputs, {"times_one"}), "y = mul(x, 2.0)\n");
    EXPECT_EQ(rewritten(library, "y = mul(x, [2, 2])", whole, {"times_two"}), "y = add2(x, x)\n");
    EXPECT_EQ(rewritten(library, "y = neg(x)", whole, {"minus"}), "y = sub(0, x)\n");
    std::vector<ProgramInput> wide = {input("x", {2, 3}), input("w", {3, 4})},
                              thin = {input("x", {2, 2}), input("w", {2, 4})};
    std::string text = "y = reduce_sum(matmul(x, w), axes: [0])";
    EXPECT_EQ(rewritten(library, text, wide, {"stacked"}), "v1 = reduce_sum(x, axes: [0])\ny = matmul(v1, w)\n");
    EXPECT_EQ(rewritten(library, text, thin, {"stacked"}), "v1 = matmul(x, w)\ny = reduce_sum(v1, axes: [0])\n");
}

TEST(Rewrite, RulesWithoutEndAreReported) {
    Library library = library_with("rewrites:\n" + rule("turn", "add2(X, Y)", "add2(Y, X)") +
                                   rule("grow", "neg(X)", "neg(neg(neg(X)))") + rule("same", "abs(X)", "abs(X)") +
                                   rule("wrap", "exp(X)", "abs(exp(X))"));
    std::vector<ProgramInput> inputs = {input("a", {2}), input("b", {2})};
    EXPECT_EQ(rewritten(library, "y = add2(a, b)", inputs, {"turn"}), "rewrite.not_terminating");
    EXPECT_EQ(rewritten(library, "y = add2(a, b)", inputs, {"turn"}, 3), "y = add2(b, a)\n");
    EXPECT_EQ(rewritten(library, "y = neg(a)", inputs, {"grow"}), "rewrite.not_terminating");
    EXPECT_EQ(rewritten(library, "y = exp(a)", inputs, {"wrap"}), "v1 = exp(a)\ny = abs(v1)\n")
        << "calls are values: the exponential within the replacement is not replaced by what it makes";
    EXPECT_EQ(rewritten(library, "y = abs(a)", inputs, {"same"}), "y = abs(a)\n")
        << "changes nothing, so it does not fit";
}

}  // namespace
}  // namespace heddle::rewrite
