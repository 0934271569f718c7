// heddle graph: well-formed pictures, the same bytes each time.
#include <regex>

#include "command_test.h"

namespace heddle {
namespace {

// Every element is closed in order, and text holds no markup of its own.
::testing::AssertionResult well_formed(const std::string& xml) {
    std::vector<std::string> open;
    for (size_t at = 0; (at = xml.find('<', at)) != std::string::npos;) {
        size_t end = xml.find('>', at);
        if (end == std::string::npos) return ::testing::AssertionFailure() << "an element without end";
        std::string element = xml.substr(at + 1, end - at - 1);
        at = end + 1;
        if (element.find('<') != std::string::npos) return ::testing::AssertionFailure() << "markup inside " << element;
        if (element.starts_with("/")) {
            if (open.empty() || open.back() != element.substr(1))
                return ::testing::AssertionFailure() << "closes " << element;
            open.pop_back();
        } else if (!element.ends_with("/")) {
            open.push_back(element.substr(0, element.find(' ')));
        }
    }
    if (!open.empty()) return ::testing::AssertionFailure() << open.back() << " is not closed";
    return ::testing::AssertionSuccess();
}

class Draw : public CommandTest {
protected:
    CommandOutcome draw(const std::string& model, const std::string& svg, std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"graph", model, "--svg", path(svg)});
        return heddle(more);
    }
};

TEST_F(Draw, operations_and_their_types) {
    auto outcome = draw(write("model.onnx", perceptron()), "model.svg", {"--bind", "batch=2"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    std::string svg = read("model.svg");
    EXPECT_TRUE(well_formed(svg));
    // Numbers in the boxes; where they came from in the tooltips.
    for (const char* part : {">float32[2, 3]<", "float32[2, 3] = float32[batch, 3]", "contraction",
                             "constant float32[4, 3]", ">x<", ">p<"})
        EXPECT_CONTAINS(svg, part);
    EXPECT_EQ(svg.find(">float32[batch"), std::string::npos);
    // The values of an input bind what they show.
    TensorData x(DType::float32, {5, 4});
    ASSERT_TRUE(write_npy(path("x.npy"), x));
    outcome = draw(path("model.onnx"), "given.svg", {"--input", "x=" + path("x.npy")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(read("given.svg"), ">float32[5, 3]<");
}

TEST_F(Draw, launches_and_memory) {
    std::string model = write("model.onnx", perceptron());
    auto outcome = draw(model, "model.svg", {"--bind", "batch=2", "--fused"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    std::string svg = read("model.svg");
    EXPECT_TRUE(well_formed(svg));
    // The operators that have gone into a launch by name; all of them, and the equations, in the tooltip.
    for (const char* part : {">numpy_matmul, add2, relu, softmax<", "(numpy_matmul)\n", "sum over 4", "launch 0",
                             "weights", "Memory of a session"})
        EXPECT_CONTAINS(svg, part);
    ASSERT_EQ(draw(model, "again.svg", {"--bind", "batch=2", "--fused"}).status, 0);
    EXPECT_EQ(svg, read("again.svg"));
}

TEST_F(Draw, launches_with_their_times) {
    std::string model = write("model.onnx", perceptron());
    auto outcome = draw(model, "model.svg", {"--bind", "batch=2", "--fused", "--profile", "--threads", "1"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    std::string svg = read("model.svg");
    EXPECT_TRUE(well_formed(svg));
    EXPECT_CONTAINS(svg, "ms in launches, each the median of 10 runs; 1 thread, made-up inputs");
    EXPECT_CONTAINS(svg, "us, 100.0 %");
    ASSERT_TRUE(write_npy(path("x.npy"), TensorData(DType::float32, {5, 4})));
    outcome = draw(model, "given.svg", {"--input", "x=" + path("x.npy"), "--fused", "--profile"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(read("given.svg"), ", given inputs");
    outcome = draw(model, "none.svg", {"--bind", "batch=2", "--profile"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_CONTAINS(outcome.errors, "--fused");
}

// Layers of two products and a residual sum.
TEST_F(Draw, repeated_layers_once) {
    constexpr int layers = 90;
    ModelWriter model;
    model.inputs = {{"x", {"8", "16"}}};
    std::string last = "x";
    for (int i = 0; i < layers; i++) {
        const std::string n = std::to_string(i);
        for (const char* name : {"a", "b"})
            model.weight(name + n, {16, 16}, std::vector<float>(256, 0.01f + 0.001f * i));
        model.node("MatMul", {last, "a" + n}, {"p" + n});
        model.node("Tanh", {"p" + n}, {"t" + n});
        model.node("MatMul", {"t" + n, "b" + n}, {"q" + n});
        model.node("Add", {"q" + n, last}, {"s" + n});
        last = "s" + n;
    }
    model.outputs = {{last, {"8", "16"}}};
    const std::string file = write("layers.onnx", model.bytes());
    auto count = [](const std::string& text, const std::string& part) {
        size_t found = 0;
        for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at++) found++;
        return found;
    };
    ASSERT_EQ(draw(file, "folded.svg").status, 0);
    std::string svg = read("folded.svg");
    EXPECT_TRUE(well_formed(svg));
    EXPECT_EQ(count(svg, ">numpy_matmul<"), 2u);
    EXPECT_CONTAINS(svg, "× 90");
    EXPECT_CONTAINS(svg, "each from the one before");
    EXPECT_CONTAINS(svg, "90: from ");
    ASSERT_EQ(draw(file, "fused.svg", {"--fused"}).status, 0);
    EXPECT_CONTAINS(read("fused.svg"), "each from the one before");
    // Unfolded it takes several pages, which the command names.
    auto outcome = draw(file, "all.svg", {"--unfold", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "\"pages\"");
    size_t drawn = 0;
    for (const char* page : {"all.svg", "all-2.svg"}) {
        EXPECT_CONTAINS(outcome.output, page);
        EXPECT_TRUE(well_formed(read(page)));
        drawn += count(read(page), ">numpy_matmul<");
    }
    EXPECT_EQ(drawn, 180u);
    EXPECT_CONTAINS(draw(file, "all.svg", {"--unfold"}).output, "all.svg, " + path("all-2.svg"));
}

TEST_F(Draw, names_from_a_file_are_escaped) {
    ModelWriter model;
    model.inputs = {{"a<b>&\"\x01\xff", {"2"}}};
    model.outputs = {{"</text>", {"2"}}};
    model.node("Relu", {"a<b>&\"\x01\xff"}, {"</text>"});
    auto outcome = draw(write("model.onnx", model.bytes()), "model.svg");
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_TRUE(well_formed(read("model.svg")));
    EXPECT_CONTAINS(read("model.svg"), "a&lt;b&gt;&amp;&quot;?\\xff");
}

TEST_F(Draw, nothing_is_written_after_an_error) {
    std::string model = write("model.onnx", perceptron());
    auto outcome = draw(model, "model.svg");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[onnx.unbound_dimension]");
    EXPECT_CONTAINS(outcome.errors, "--bind batch=NUMBER");
    EXPECT_EQ(files(), 1u);
    outcome = draw(model, "no/such/folder.svg", {"--bind", "batch=2"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "folder.svg");
}

}  // namespace
}  // namespace heddle
