// heddle graph: well-formed pictures, the same bytes each time, no box on another.
#include <random>
#include <regex>

#include "cli/draw_layout.h"
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

// Random graphs, some with long edges: boxes keep apart, edges run downwards from box to box.
TEST(Layout, boxes_keep_apart_and_edges_run_down) {
    std::mt19937 random(4);
    for (int trial = 0; trial < 40; trial++) {
        cli::Layout layout;
        size_t count = 1 + random() % 200;
        for (size_t i = 0; i < count; i++) {
            layout.nodes.push_back({.width = 40.0 + static_cast<double>(random() % 200),
                                    .height = 20.0 + static_cast<double>(random() % 60),
                                    .corner = {}});
            for (size_t e = 0; i > 0 && e < 1 + random() % 2; e++) {
                size_t back = random() % 4 == 0 ? 1 + random() % i : 1 + random() % std::min<size_t>(i, 3);
                layout.edges.push_back({.from = i - back, .to = i, .points = {}});
            }
        }
        cli::lay_out(layout, 40);
        for (size_t a = 0; a < count; a++) {
            const auto& first = layout.nodes[a];
            EXPECT_GE(first.corner.x, -0.01);
            EXPECT_LE(first.corner.x + first.width, layout.width + 0.01);
            EXPECT_LE(first.corner.y + first.height, layout.height + 0.01);
            for (size_t b = a + 1; b < count; b++) {
                const auto& second = layout.nodes[b];
                bool apart = first.corner.x + first.width <= second.corner.x ||
                             second.corner.x + second.width <= first.corner.x ||
                             first.corner.y + first.height <= second.corner.y ||
                             second.corner.y + second.height <= first.corner.y;
                ASSERT_TRUE(apart) << "trial " << trial << ": boxes " << a << " and " << b;
            }
        }
        for (const auto& edge : layout.edges) {
            const auto &from = layout.nodes[edge.from], &to = layout.nodes[edge.to];
            ASSERT_GE(edge.points.size(), 2u);
            EXPECT_DOUBLE_EQ(edge.points.front().y, from.corner.y + from.height);
            EXPECT_DOUBLE_EQ(edge.points.back().y, to.corner.y);
            EXPECT_GE(edge.points.back().x, to.corner.x);
            EXPECT_LE(edge.points.back().x, to.corner.x + to.width);
            for (size_t i = 1; i < edge.points.size(); i++) EXPECT_GE(edge.points[i].y, edge.points[i - 1].y);
        }
    }
}

TEST(Layout, a_chain_is_straight) {
    cli::Layout layout;
    for (size_t i = 0; i < 50; i++) {
        layout.nodes.push_back({.width = 50 + 10.0 * static_cast<double>(i % 7), .height = 30, .corner = {}});
        if (i > 0) layout.edges.push_back({.from = i - 1, .to = i, .points = {}});
    }
    cli::lay_out(layout, 40);
    for (const auto& edge : layout.edges) EXPECT_NEAR(edge.points.front().x, edge.points.back().x, 0.01);
}

}  // namespace
}  // namespace heddle
