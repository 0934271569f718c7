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
    for (const char* part : {"float32[batch, 3]", "contraction", "constant float32[4, 3]", ">x<", ">p<"})
        EXPECT_CONTAINS(svg, part);
}

TEST_F(Draw, launches_and_memory) {
    std::string model = write("model.onnx", perceptron());
    auto outcome = draw(model, "model.svg", {"--bind", "batch=2", "--fused"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    std::string svg = read("model.svg");
    EXPECT_TRUE(well_formed(svg));
    for (const char* part : {"sum over 4", "launch 0", "weights", "Memory of a session"}) EXPECT_CONTAINS(svg, part);
    ASSERT_EQ(draw(model, "again.svg", {"--bind", "batch=2", "--fused"}).status, 0);
    EXPECT_EQ(svg, read("again.svg"));
}

TEST_F(Draw, names_from_a_file_are_escaped) {
    ModelWriter model;
    model.inputs = {{"a<b>&\"\x01\xff", {"2"}}};
    model.outputs = {{"</text>", {"2"}}};
    model.node("Relu", {"a<b>&\"\x01\xff"}, {"</text>"});
    auto outcome = draw(write("model.onnx", model.bytes()), "model.svg");
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_TRUE(well_formed(read("model.svg")));
    EXPECT_CONTAINS(read("model.svg"), "a&lt;b&gt;&amp;&quot;??");
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
