// heddle grad: what is differentiated, with respect to what; run, written, drawn, explained; what is refused.
#include "command_test.h"

namespace heddle {
namespace {

class GradCommand : public CommandTest {
protected:
    GradCommand() {
        model_ = write("model.onnx", perceptron());
        x_ = write_array("x", {2, 4}, {1, 2, -1, 0.5, 0.25, -0.5, 3, 1});
    }

    std::string write_array(const std::string& name, std::vector<int64_t> shape, const std::vector<double>& values) {
        TensorData data(DType::float32, std::move(shape));
        for (size_t i = 0; i < static_cast<size_t>(data.size()); i++)
            data.set_real(static_cast<int64_t>(i), i < values.size() ? values[i] : 0);
        EXPECT_TRUE(write_npy(path(name + ".npy"), data));
        return path(name + ".npy");
    }
    TensorData output(size_t number) { return *read_npy(path("out/output_" + std::to_string(number) + ".npy")); }

    // Of the model, with x given.
    CommandOutcome grad(std::vector<std::string> more) {
        more.insert(more.begin(), {"grad", model_, "--input", "x=" + x_});
        return heddle(more);
    }
    void expect_refusal(const CommandOutcome& outcome, const std::string& code) {
        EXPECT_EQ(outcome.status, 1) << outcome.output;
        EXPECT_CONTAINS(outcome.errors, "error[" + code + "]");
        EXPECT_FALSE(std::filesystem::exists(path("none")));
    }

    std::string model_, x_;
};

TEST_F(GradCommand, weights_against_differences) {
    const std::vector<std::string> of_loss = {"--wrt",        "w,b",      "--loss", "reduce_sum(mul(p, p))",
                                              "--output-dir", path("out")};
    auto outcome = grad(of_loss);
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "d_w: float32[4, 3] = ");
    const TensorData slope = output(1), bias = output(2);
    ASSERT_EQ(slope.shape(), (std::vector<int64_t>{4, 3}));
    ASSERT_EQ(bias.shape(), (std::vector<int64_t>{3}));
    ASSERT_EQ(grad({"--wrt", "w,b", "--loss", "reduce_sum(mul(p, p))", "--output-dir", path("interpreted"), "--backend",
                    "reference"})
                  .status,
              0);
    const TensorData interpreted = *read_npy(path("interpreted/output_1.npy"));
    for (int64_t i = 0; i < 12; i++) EXPECT_NEAR(slope.real_at(i), interpreted.real_at(i), 1e-6) << i;
    // A weight that is given stands in place of the model's.
    const std::vector<double> weights = {0.5, -1, 2, 1, 0.25, -0.5, 0.125, 3, -2, 1, 1, 0.5};
    for (const size_t place : {size_t{1}, size_t{4}, size_t{10}}) {
        double losses[2];
        for (const int side : {0, 1}) {
            std::vector<double> moved = weights;
            moved[place] += side == 0 ? -0.01 : 0.01;
            auto given = of_loss;
            given.insert(given.end(), {"--input", "w=" + write_array("w", {4, 3}, moved)});
            ASSERT_EQ(grad(given).status, 0);
            losses[side] = output(0).real_at(0);
        }
        EXPECT_NEAR((losses[1] - losses[0]) / 0.02, slope.real_at(static_cast<int64_t>(place)), 1e-3) << place;
    }
}

TEST_F(GradCommand, weights_that_are_given) {
    const std::string zeros = write_array("zeros", {4, 3}, {}), ones = write_array("ones", {3}, {1, 1, 1});
    auto outcome = grad({"--wrt", "b", "--loss", "reduce_sum(y)", "--input", "w=" + zeros, "--input", "b=" + ones});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "result: float32[1, 1] = 6\n");
    EXPECT_CONTAINS(outcome.output, "d_b: float32[3] = 2 2 2\n");
    EXPECT_EQ(outcome.output.find("d_w"), std::string::npos);
}

TEST_F(GradCommand, one_file_of_all) {
    auto outcome = grad({"--loss", "reduce_sum(y)", "--output", path("all.npz")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "2 outputs -> ");
    for (const char* member : {"result.npy", "d_x.npy"}) EXPECT_CONTAINS(read("all.npz"), member);
    outcome = grad({"--loss", "reduce_sum(y)", "--output", path("all.npz"), "--format", "json"});
    EXPECT_CONTAINS(outcome.output, "\"file\": \"" + path("all.npz"));
    outcome = grad({"--loss", "reduce_sum(y)", "--output", path("missing/all.npz"), "--output-dir", path("half")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_FALSE(std::filesystem::exists(path("half/output_0.npy"))) << "all or none";
}

TEST_F(GradCommand, adjoints_are_inputs_without_a_loss) {
    const std::string d_y = write_array("d_y", {2, 3}, {1, 0, 0, 0, 0, 0}), d_p = write_array("d_p", {2, 3}, {});
    auto outcome = grad({"--input", "d_y=" + d_y, "--input", "d_p=" + d_p, "--output-dir", path("out")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "y: float32[2, 3]");
    EXPECT_CONTAINS(outcome.output, "d_x: float32[2, 4]");
    const TensorData slope = output(2);  // behind y and p: the first column of w, where the relu lets it through
    const double column[] = {0.5, 1, 0.125, 1};
    const bool passes = output(0).real_at(0) > 0;
    for (int64_t i = 0; i < 8; i++) EXPECT_FLOAT_EQ(slope.real_at(i), i < 4 && passes ? column[i] : 0) << i;
    outcome = heddle({"grad", model_, "--random", "1", "--bind", "batch=3"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    expect_refusal(grad({"--output-dir", path("none")}), "inference.missing_input");
}

TEST_F(GradCommand, losses_with_inputs_of_their_own) {
    const std::string loss = "mean_of = reduce_mean(mul(sub(y, target), sub(y, target)))";
    auto outcome = grad({"--loss", loss, "--input", "target=" + write_array("target", {2, 3}, {})});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "mean_of: float32[1, 1] = ");
    EXPECT_CONTAINS(outcome.output, "d_x: float32[2, 4]");
    EXPECT_EQ(grad({"--loss", loss, "--input-type", "target=float32[2, 3]", "--random", "1"}).status, 0);
    outcome = grad({"--loss", loss});
    expect_refusal(outcome, "symbolic.unknown_name");
    EXPECT_CONTAINS(outcome.errors, "--input-type NAME=TYPE");
}

TEST_F(GradCommand, losses_name_inputs_weights_and_outputs_without_words) {
    ModelWriter model;
    model.inputs = {{"x", {"2"}}};
    model.outputs = {{"scope/y:0", {"2"}}};
    model.weight("w", {2}, {3, 5});
    model.node("Mul", {"x", "w"}, {"scope/y:0"});
    const std::string x = write_array("two", {2}, {1, 2});
    const std::string named = write("named.onnx", model.bytes());
    auto outcome = heddle({"grad", named, "--input", "x=" + x, "--wrt", "w,x", "--loss",
                           "add2(reduce_sum(output_0), reduce_sum(mul(mul(w, w), x)))", "--output-dir", path("out")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(output(0).real_at(0), 13 + 9 + 50);
    EXPECT_EQ(output(1).real_at(1), 2 + 2 * 5 * 2);  // d_w = x + 2 w x
    EXPECT_EQ(output(2).real_at(1), 5 + 25);         // d_x = w + w^2
    outcome = heddle({"grad", named, "--random", "1"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

TEST_F(GradCommand, patterns_and_their_list) {
    auto outcome = grad({"--list"});
    EXPECT_EQ(outcome.output, "input x: float32[batch, 4]\nweight w: float32[4, 3]\nweight b: float32[3]\n");
    outcome = grad({"--list", "--format", "json"});
    EXPECT_CONTAINS(outcome.output, "\"type\": \"float32[3]\"");
    outcome = grad({"--wrt", "?", "--loss", "reduce_sum(y)"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_LT(outcome.output.find("d_x"), outcome.output.find("d_w"));
    EXPECT_LT(outcome.output.find("d_w"), outcome.output.find("d_b"));
    outcome = grad({"--wrt", "b", "--wrt", "*,w", "--loss", "reduce_sum(y)"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_LT(outcome.output.find("d_b"), outcome.output.find("d_x"));
    EXPECT_EQ(outcome.output.find("d_b"), outcome.output.rfind("d_b"));
    expect_refusal(grad({"--wrt", "x,weight*", "--output-dir", path("none")}), "cli.wrt");
    expect_refusal(grad({"--wrt", "y", "--output-dir", path("none")}), "cli.wrt");
}

TEST_F(GradCommand, calls) {
    const std::string call = "y = softmax(mul(x, s))";
    const std::string s = write_array("s", {1}, {2});
    auto outcome = heddle({"grad", "--call", call, "--input", "x=" + x_, "--input", "s=" + s, "--wrt", "s", "--loss",
                           "reduce_sum(mul(y, y))"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "d_s: float32[1] = ");
    outcome = heddle({"grad", "--call", call, "--input", "x=" + x_, "--input-type", "s=float32[1]", "--random", "1"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "d_x: float32[2, 4] = ");
    outcome =
        heddle({"grad", "--call", call, "--input", "x=" + x_, "--input", "s=" + s, "--input", "d_y=" + x_, "--list"});
    EXPECT_CONTAINS(outcome.output, "input s: float32[1]\n");
}

TEST_F(GradCommand, written_drawn_and_explained) {
    const std::vector<std::string> of = {"grad", model_, "--bind", "batch=2", "--wrt", "w", "--loss", "reduce_sum(y)"};
    auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), of.begin(), of.end());
        return heddle(more);
    };
    auto outcome = with({"--json", path("grad.json"), "--svg", path("grad.svg"), "--fused"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(read("grad.svg"), "gradient of model.onnx");
    outcome = heddle({"graph", path("grad.json"), "--validate"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    outcome = with({"--explain"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "input w: float32[4, 3]");
    EXPECT_CONTAINS(outcome.output, "result d_w: float32[4, 3]");
    EXPECT_CONTAINS(outcome.output, "numpy_matmul gradient");
    EXPECT_CONTAINS(outcome.output, "memory: ");
    EXPECT_CONTAINS(outcome.output, "relu gradient, numpy_matmul gradient: d_w in");  // in one launch
    outcome = with({"--equations", "--schedule", "--source", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    for (const char* key : {"\"cost\"", "\"decisions\"", "\"choices\"", "\"source\""})
        EXPECT_CONTAINS(outcome.output, key);
    EXPECT_EQ(with({"--svg", path("missing/grad.svg")}).status, 1);
    EXPECT_EQ(with({"--svg", path("lonely.svg"), "--json", path("missing/grad.json")}).status, 1);
    EXPECT_FALSE(std::filesystem::exists(path("lonely.svg"))) << "both or none";
    EXPECT_EQ(heddle({"grad", model_, "--fused"}).status, 2);
}

TEST_F(GradCommand, refusals) {
    expect_refusal(grad({"--loss", "y", "--output-dir", path("none")}), "cli.loss");
    expect_refusal(grad({"--loss", "argmax(y)", "--output-dir", path("none")}), "cli.loss");
    expect_refusal(grad({"--loss", "reduce_sum(y)", "--input", "c=" + x_, "--output-dir", path("none")}),
                   "inference.unknown_input");
    for (const char* nothing : {"", ",", "y"}) expect_refusal(grad({"--wrt", nothing}), "cli.wrt");
    for (const char* type : {"x=float32[2, 4]", "other=float32[2]"})
        expect_refusal(grad({"--input-type", type, "--random", "1"}), "cli.input");
    expect_refusal(grad({"--wrt", "w", "--loss", "reduce_sum(y)", "--input", "w=" + x_}), "runtime.input_shape");
    expect_refusal(heddle({"grad"}), "cli.what_to_run");
    expect_refusal(heddle({"grad", write("sum.json", "{}"), "--random", "1"}), "cli.what_to_run");
    expect_refusal(heddle({"grad", "--call", "y = argmax(x)", "--input", "x=" + x_}), "gradient.output");
    ModelWriter loop;  // graphs that are run several times
    loop.inputs = {{"n", {"1"}, 7}, {"x", {"2"}}};
    loop.outputs = {{"y", {"2"}}};
    loop.node("Loop", {"n", "", "x"}, {"y"});
    auto repeated = heddle({"grad", write("loop.onnx", loop.bytes()), "--random", "1"});
    expect_refusal(repeated, "onnx.step");
    EXPECT_CONTAINS(repeated.errors, "(Loop)");
    ModelWriter tokens;
    tokens.inputs = {{"ids", {"2"}, 7}};
    tokens.outputs = {{"y", {"2", "1"}}};
    tokens.weight("table", {10, 1}, std::vector<float>(10, 1));
    tokens.node("Gather", {"table", "ids"}, {"y"});
    const std::string path_of = write("tokens.onnx", tokens.bytes());
    expect_refusal(heddle({"grad", path_of, "--random", "1", "--output-dir", path("none")}), "cli.wrt");
    auto outcome = heddle({"grad", path_of, "--wrt", "table", "--loss", "reduce_sum(y)", "--random", "1"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

}  // namespace
}  // namespace heddle
