// Rules that cannot be: each diagnostic of the room.
#include <random>

#include "helpers/files.h"
#include "helpers/source_folder.h"
#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

// The first problem of loading and verifying the rule, or "ok".
std::string code_of_rule(const std::string& sections, const std::string& templates = {}) {
    Library library = library_with(templates + "rewrites:\n  r:\n" + sections);
    auto rule = compile_rule(**find_rule(library, "test::r"), library);
    if (!rule) return code_of(rule);
    if (auto types = check_types(*rule, library); !types) return code_of(types);
    auto verdict = verify_rule(*rule, library, {.trials = 20, .seed = 1, .progress = {}});
    if (!verdict) return code_of(verdict);
    return verdict->counterexample ? "wrong" : "ok";
}

std::string sides(const std::string& match, const std::string& replace, const std::string& more = {}) {
    return "    match: \"" + match + "\"\n    replace: \"" + replace + "\"\n" + more;
}

TEST(RewriteErrors, WhatAPatternMayBe) {
    EXPECT_EQ(code_of_rule(sides("X", "X")), "rewrite.match");
    EXPECT_EQ(code_of_rule(sides("neg(X + 1)", "X")), "rewrite.match");
    EXPECT_EQ(code_of_rule(sides("neg(Xs...)", "Xs")), "rewrite.match");
    EXPECT_EQ(code_of_rule(sides("add(Xs..., Ys...)", "add(Xs...)")), "rewrite.match");
    EXPECT_EQ(code_of_rule(sides("neg(split(X, chunk: $c, axis: 0))", "X")), "rewrite.match");
    EXPECT_EQ(code_of_rule(sides("concat(X, Y)", "X")), "rewrite.match") << "axis has no default";
    EXPECT_EQ(code_of_rule(sides("neg(X, X)", "X")), "language.operator_arguments");
    EXPECT_EQ(code_of_rule(sides("sub(X)", "X")), "language.operator_arguments");
    EXPECT_EQ(code_of_rule(sides("softmaxx(X)", "X")), "language.unknown_operator");
    EXPECT_EQ(code_of_rule(sides("neg(X)", "softmaxx(X)")), "language.unknown_operator");
    EXPECT_EQ(code_of_rule(sides("transpose(X, prm: [0])", "X")), "language.unknown_parameter");
}

TEST(RewriteErrors, NamesThatNothingBinds) {
    EXPECT_EQ(code_of_rule(sides("neg(X)", "sub(Y, X)")), "rewrite.unknown_name");
    EXPECT_EQ(code_of_rule(sides("neg(X)", "transpose(X, perm: $p)")), "rewrite.unknown_name");
    EXPECT_EQ(code_of_rule(sides("sub(matmul(A, B), matmul(C, D))", "neg(expand(A, shape: [$inner]))")),
              "rewrite.unknown_name")
        << "two products have an inner dimension";
    EXPECT_EQ(code_of_rule(sides("neg(X)", "X", "    require: [[\"$k > 1\", \"k\"]]\n")), "rewrite.unknown_name");
}

TEST(RewriteErrors, TypesAndResults) {
    EXPECT_EQ(code_of_rule(sides("reduce_sum(X, axes: $a)", "X")), "rewrite.types");
    EXPECT_EQ(code_of_rule(sides("neg(X)", "cast(X, to: float32)")), "rewrite.types");
    EXPECT_EQ(code_of_rule(sides("neg(X)", "[X]")), "rewrite.results");
    EXPECT_EQ(code_of_rule(sides("neg(X)", "matmul(X, X)")), "rewrite.replacement");
    EXPECT_EQ(code_of_rule(sides("split(X, chunk: $c)", "[X]")), "rewrite.types") << "another number of parts";
}

TEST(RewriteErrors, RulesThatSayNothing) {
    EXPECT_EQ(code_of_rule(sides("neg(X)", "X", "    require: [[\"$X.rank > 50\", \"never\"]]\n")),
              "rewrite.no_instance");
    EXPECT_EQ(code_of_rule(
                  sides("slice(X, starts: [0], ends: [0], axes: [0])", "slice(X, starts: [1], ends: [1], axes: [0])")),
              "rewrite.no_instance")
        << "what has no elements is a known value";
    EXPECT_EQ(code_of_rule(sides("div(X, sub(exp(Y), exp(Y)))", "neg(div(X, sub(exp(Y), exp(Y))))")),
              "rewrite.undecided")
        << "its results depend on how values are rounded";
    EXPECT_EQ(code_of_rule(sides("neg(X)", "X")), "wrong");
    EXPECT_EQ(code_of_rule(sides("neg(neg(X))", "X")), "ok");
}

TEST(RewriteErrors, WhichRuleAndWhichParameters) {
    std::string rules = "rewrites:\n  concat_of_split:\n" + sides("neg(neg(X))", "X") + "  half:\n" +
                        sides("matmul(X, W)", "matmul(X, W)", "    params: {chunk: int, more: \"int = 1\"}\n");
    Library library = library_with(rules);
    EXPECT_EQ(code_of(read_rule_use("nothing", library)), "rewrite.unknown_rule");
    auto two = read_rule_use("concat_of_split", library);
    ASSERT_EQ(code_of(two), "rewrite.unknown_rule");
    EXPECT_EQ(two.error().front().remedy, "write concat_of_split or test::concat_of_split");
    EXPECT_EQ(code_of(read_rule_use("half", library)), "rewrite.parameters");
    EXPECT_EQ(code_of(read_rule_use("half(chunk: 1, other: 2)", library)), "rewrite.parameters");
    EXPECT_EQ(code_of(read_rule_use("half(3)", library)), "rewrite.parameters");
    EXPECT_EQ(code_of(read_rule_use("half(chunk: 1)", library)), "ok");
    auto all = user_rules(library);
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 1U) << "half needs a parameter";
}

// Rules are text that anyone may write: whatever stands there, loading ends with a value or an error.
TEST(RewriteErrors, MutatedRulesNeverCrash) {
    const std::string text = file_text("operators/rewrites.yaml");
    const std::vector<std::string> pieces = {
        "X",      "$inner",        "$axis", "...", "[0]",        "[",   ")",      "none",  "-1", "split(X, chunk: 1)",
        "add(X)", "9999999999999", "1.5",   ", ",  "reduce_sum", "[i]", "core::", "concat"};
    std::mt19937_64 random(11);
    size_t compiled = 0;
    for (int trial = 0; trial < 150; ++trial) {
        std::string mutated = text;
        for (size_t i = 1 + random() % 3; i > 0; --i)
            mutated.replace(random() % mutated.size(), random() % 6, pieces[random() % pieces.size()]);
        auto library = open_library(in_source("operators"));
        ASSERT_TRUE(library);
        if (!library->add_source(std::make_shared<const SourceText>("rules.yaml", mutated))) continue;
        for (const RewriteRule* source : library->rewrites()) {
            if (source->library.empty()) continue;
            auto rule = compile_rule(*source, *library);
            if (!rule) continue;
            ++compiled;
            if (random() % 10 == 0) (void)check_types(*rule, *library);
        }
    }
    EXPECT_GT(compiled, 50U);
}

}  // namespace
}  // namespace heddle::rewrite
