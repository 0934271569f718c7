// heddle verify, heddle rewrite, and libraries with namespaces, as a shell calls them.
#include "command_test.h"

namespace heddle {
namespace {

const char* wrong_rules = R"yaml(
rewrites:
  fine:
    match: "neg(neg(X))"
    replace: "X"
  first_term:
    match: "matmul(X, W)"
    require: [["$inner > 1", "there is one term"]]
    replace: "matmul(slice(X, starts: [0], ends: [1], axes: [-1]), slice(W, starts: [0], ends: [1], axes: [-2]))"
)yaml";

class Rewriting : public CommandTest {};

TEST_F(Rewriting, Metakernels13ShippedRulesAreVerifiedByOneCommand) {
    auto outcome = heddle({"verify", "--trials", "10"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    for (const char* rule : {"linear_to_matmul_add", "matmul_to_prod_sum", "split_inner", "transpose_of_transpose",
                             "concat_of_split", "adjacent_slices"})
        EXPECT_CONTAINS(outcome.output, std::string(rule) + ": agrees on 10 instances");
}

TEST_F(Rewriting, Metakernels13AWrongRuleIsRejectedWithACounterexample) {
    std::string file = write("rules.yaml", wrong_rules);
    auto outcome = heddle({"verify", file, "--trials", "50", "--seed", "2"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.output, "rules::fine: agrees on 50 instances");
    EXPECT_CONTAINS(outcome.output, "rules::first_term: wrong");
    // The smallest product with two terms.
    EXPECT_CONTAINS(outcome.output, "[1, 2] = [");
    EXPECT_CONTAINS(outcome.output, "[2, 1] = [");
    EXPECT_CONTAINS(outcome.output, "result = matmul(X, W)");
    EXPECT_CONTAINS(outcome.output, "differ: result[0, 0] is ");
    EXPECT_EQ(heddle({"verify", file, "--rule", "fine"}).status, 0);
    auto json = heddle({"verify", file, "--format", "json"});
    EXPECT_EQ(json.status, 1);
    EXPECT_CONTAINS(json.output, "\"counterexample\": {");
    EXPECT_EQ(heddle({"verify", file}).output, heddle({"verify", file}).output) << "deterministic";
}

TEST_F(Rewriting, RulesAreTypedWhenChecked) {
    std::string file =
        write("rules.yaml", "rewrites:\n  r:\n    match: \"neg(X)\"\n    replace: \"cast(X, to: bool)\"\n");
    auto outcome = heddle({"check", file});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "rewrite.types");
    EXPECT_CONTAINS(outcome.errors, "rules.yaml:4:");
    EXPECT_EQ(heddle({"verify", file}).status, 1);
    EXPECT_CONTAINS(heddle({"verify", write("empty.yaml", "doc: nothing\n")}).errors, "cli.no_rules");
}

TEST_F(Rewriting, Metakernels13BeforeAndAfter) {
    auto outcome = heddle({"rewrite", "--call", "y = linear(x, A, b)", "x=float32[8, 4]", "A=float32[4, 3]",
                           "b=float32[3]", "--rule", "linear_to_matmul_add"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output,
              "before\n  y = linear(x, A, b)\nafter 1 step: linear_to_matmul_add\n  v1 = numpy_matmul(x, A)\n"
              "  y = add2(v1, b)\n");
    std::vector<std::string> turn = {
        "rewrite",
        "--library",
        write("t.yaml", "rewrites:\n  t:\n    match: \"add2(X, Y)\"\n    replace: \"add2(Y, X)\"\n"),
        "--call",
        "y = add2(a, b)",
        "a=float32[2]",
        "b=float32[2]"};
    auto endless = heddle(turn);
    EXPECT_EQ(endless.status, 1);
    EXPECT_CONTAINS(endless.errors, "rewrite.not_terminating");
    turn.insert(turn.end(), {"--steps", "1", "--format", "json"});
    EXPECT_CONTAINS(heddle(turn).output, "\"after\": \"y = add2(b, a)\\n\"");
    EXPECT_CONTAINS(heddle({"rewrite", "--call", "neg(x)", "x=int32[2]"}).errors, "cli.no_rules");
}

TEST_F(Rewriting, Metakernels14LibrariesAreFoldersWithNamespaces) {
    auto act = [](const std::string& body) {
        return "act:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = " + body +
               "\"\n";
    };
    std::filesystem::create_directories(path("red"));
    std::filesystem::create_directories(path("blue"));
    write("red/ops.yaml", act("x + 1"));
    write("blue/ops.yaml", act("x * 2"));
    TensorData x(DType::int32, {2});
    x.set_integer(0, 5);
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    auto run = [&](const std::string& call, std::vector<std::string> libraries) {
        std::vector<std::string> words = {"run", "--call", call, "--input", "x=" + path("x.npy")};
        for (const std::string& library : libraries) words.insert(words.end(), {"--library", library});
        return heddle(words);
    };
    EXPECT_CONTAINS(run("y = act(x)", {path("red")}).output, "int32[2] = 6 1");
    EXPECT_CONTAINS(run("y = red::act(blue::act(x))", {path("red"), path("blue")}).output, "int32[2] = 11 1");
    EXPECT_CONTAINS(run("y = act(x)", {path("red"), path("blue")}).errors, "language.ambiguous_operator");
    EXPECT_CONTAINS(run("y = act(x)", {path("red/ops.yaml"), path("blue/ops.yaml")}).errors, "language.library_name");
    EXPECT_CONTAINS(run("y = b::act(x)", {path("red/ops.yaml"), "b=" + path("blue/ops.yaml")}).output,
                    "int32[2] = 10 0");
}

}  // namespace
}  // namespace heddle
