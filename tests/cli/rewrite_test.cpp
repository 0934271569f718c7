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

const char* model_rules = R"yaml(
rewrites:
  join_linear:
    doc: A product and a bias are a linear layer.
    match: "add2(numpy_matmul(X, W), b)"
    require: [["$W.rank == 2 && $b.rank == 1", "a linear layer has a matrix and a row"]]
    replace: "linear(X, W, b)"
  one_relu:
    match: "relu(relu(X))"
    replace: "relu(X)"
)yaml";

// Rules apply to the calls that the nodes of a model are; the outputs stay what they are.
TEST_F(Rewriting, Metakernels13ModelsAreRewritten) {
    std::string model = write("model.onnx", perceptron()), rules = write("rules.yaml", model_rules);
    const std::vector<std::string> given = {"--random", "1", "--bind", "batch=2", "--library", rules};
    auto run = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
        words.insert(words.end(), given.begin(), given.end());
        words.insert(words.end(), more.begin(), more.end());
        return heddle(words);
    };
    auto before = run({"run", model, "--output-dir", path("before")}, {});
    ASSERT_EQ(before.status, 0) << before.errors;
    auto after = run({"run", model}, {"--rule", "rules::*"});
    EXPECT_EQ(after.status, 0) << after.errors;
    EXPECT_CONTAINS(after.output, "rewritten by rules::join_linear 1 time: sum\ny: float32[2, 3] = ");
    EXPECT_CONTAINS(run({"run", model, "--format", "json"}, {"--rule", "join_linear"}).output,
                    "\"rule\": \"rules::join_linear\"");
    EXPECT_CONTAINS(run({"run", model}, {"--rule", "one_relu"}).output, "no rule fits anywhere");
    EXPECT_CONTAINS(
        heddle({"graph", model, "--validate", "--bind", "batch=2", "--library", rules, "--rule", "join_linear"}).output,
        "rewritten by rules::join_linear 1 time: sum\n");
    // Equal before and after; a rule that is wrong is noticed.
    auto equal = run({"compare", model, "--with", path("before")}, {"--rule", "join_linear"});
    EXPECT_EQ(equal.status, 0) << equal.output << equal.errors;
    EXPECT_CONTAINS(equal.output, "rewritten by rules::join_linear 1 time: sum");
    std::string wrong = write("wrong.yaml", "rewrites:\n  no_bias: {match: \"add2(X, b)\", replace: \"X\"}\n");
    auto differs = run({"compare", model, "--with", path("before")}, {"--library", wrong, "--rule", "no_bias"});
    EXPECT_EQ(differs.status, 1);
    EXPECT_CONTAINS(run({"run", model}, {"--rule", "none::*"}).errors, "rewrite.unknown_rule");
    EXPECT_CONTAINS(heddle({"graph", write("g.json", "{}"), "--rule", "join_linear"}).errors, "cli.graph");
}

// What an input decides stays decided.
TEST_F(Rewriting, ModelsWithDecidedInputsAreRewritten) {
    ModelWriter model;
    model.inputs = {{"x", {"2", "6"}}, {"shape", {"2"}, 7}};
    model.outputs = {{"y", {"a", "b"}}};
    model.node("Relu", {"x"}, {"once"});
    model.node("Relu", {"once"}, {"twice"});
    model.node("Reshape", {"twice", "shape"}, {"y"});
    TensorData x(DType::float32, {2, 6}), shape(DType::int64, {2});
    for (int i = 0; i < 12; i++) x.set_real(i, i - 5);
    shape.set_integer(0, 3);
    shape.set_integer(1, -1);
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    ASSERT_TRUE(write_npy(path("shape.npy"), shape));
    auto outcome =
        heddle({"run", write("model.onnx", model.bytes()), "--input", "x=" + path("x.npy"), "--input",
                "shape=" + path("shape.npy"), "--library", write("rules.yaml", model_rules), "--rule", "one_relu"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "rewritten by rules::one_relu 1 time: twice\ny: float32[3, 4] = 0 0 0 0 0 0 ...");
}

TEST_F(Rewriting, CallsAreRewrittenBeforeTheyRun) {
    TensorData x(DType::float32, {2});
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    auto outcome = heddle({"run", "--call", "y = relu(relu(relu(x)))", "--input", "x=" + path("x.npy"), "--library",
                           write("rules.yaml", model_rules), "--rule", "one_relu"});
    EXPECT_CONTAINS(outcome.output, "rewritten by rules::one_relu 2 times: ");
    EXPECT_CONTAINS(outcome.output, "y: float32[2] = 0 0");
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
