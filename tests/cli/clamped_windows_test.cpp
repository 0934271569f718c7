// Explain says of clamped coordinates which window each point reads, exactly.
#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "command_test.h"
#include "explain/windows.h"
#include "helpers/library.h"
#include "symbolic/program.h"

namespace heddle::explain {
namespace {

Graph applied(const std::string& coordinates, int64_t n) {
    const Library library = library_of(
        "t:\n  inputs: {x: \"float32[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"float32\"}\n  body: \"y = " +
        coordinates + "\"\n");
    auto graph = build_program(std::make_shared<SourceText>("program", "y = t(x)"), library,
                               std::vector<ProgramInput>{{"x", {DType::float32, {Size(n)}}}});
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

std::string window_of(const std::string& value, int64_t n = 100) {
    const Graph graph = applied(value, n);
    if (graph.operations.empty()) return "";
    const Operation& operation = graph.operations[0];
    const auto window = clamped_window(operation, 0, 0, n);
    return window ? window_text(*window, *operation.body, 0) : "*";
}

TEST(ClampedWindows, AreSaidWithoutWhatIsNeedless) {
    EXPECT_EQ(window_of("sum(d < 5 : x[clamp(@n + d - 2, 0, $n - 1)])"), "max(@n - 2, 0) .. min(@n + 2, 99)");
    EXPECT_EQ(window_of("sum(d < 3 : x[clamp(@n + d - 2, 0, $n - 1)])"), "max(@n - 2, 0) .. @n");
    EXPECT_EQ(window_of("x[max(@n - 1, 0)] + x[@n] + x[min(@n + 1, $n - 1)]"), "max(@n - 1, 0) .. min(@n + 1, 99)");
    EXPECT_EQ(window_of("x[$n - 1 - max(@n - 3, 0)]"), "min(-@n + 102, 99) .. min(-@n + 102, 99)");
    EXPECT_EQ(window_of("sum(d < 5 : x[min(@n, 90) + d])"), "min(@n, 90) .. min(@n + 4, 94)");
    EXPECT_EQ(window_of("sum(d < 150 : x[min(max(@n + d - 50, 0), $n - 1)])"), "max(@n - 50, 0) .. 99");
    EXPECT_EQ(window_of("x[max(@n - 1, 0)] + (x[@n + 2] ?? 0)"), "max(@n - 1, 0) .. min(@n + 2, 99)");
}

TEST(ClampedWindows, WhatIsNoneStaysWhole) {
    EXPECT_EQ(window_of("sum(d < $n : x[d])"), "*");
    EXPECT_EQ(window_of("x[@n * @n % $n]"), "*");
    EXPECT_EQ(window_of("x[(@n + 1) % $n] + x[max(@n - 1, 0)]"), "*");
}

// Every element of the ends is read, and none beyond: of random clamps by enumeration.
TEST(ClampedWindows, AreExact) {
    std::mt19937 random(3);
    const auto pick = [&](int64_t low, int64_t high) {
        return low + static_cast<int64_t>(random() % (high - low + 1));
    };
    for (int round = 0; round < 200; ++round) {
        const int64_t n = pick(2, 12), taps = pick(1, 5), shift = pick(-4, 4), step = pick(0, 1) ? 1 : -1;
        const int64_t low = pick(0, n - 1), high = pick(low, n - 1), mirrored = pick(0, 1);
        std::string text = fmt::format("clamp(@n + {} * d + {}, {}, {})", step, shift, low, high);
        if (mirrored) text = fmt::format("{} - {}", n - 1, text);
        const Graph graph = applied(fmt::format("sum(d < {} : x[{}])", taps, text), n);
        ASSERT_FALSE(graph.operations.empty());
        const Operation& operation = graph.operations[0];
        const auto window = clamped_window(operation, 0, 0, n);
        for (int64_t point = 0; point < n; ++point) {
            int64_t first = n, last = -1;
            for (int64_t d = 0; d < taps; ++d) {
                const int64_t clamped = std::clamp(point + step * d + shift, low, high);
                const int64_t at = mirrored ? n - 1 - clamped : clamped;
                first = std::min(first, at);
                last = std::max(last, at);
            }
            if (!window) continue;  // the whole dimension
            const auto [begin, end] = window_at(*window, *operation.body, std::vector<int64_t>{point});
            EXPECT_EQ(begin, first) << text << " at " << point;
            EXPECT_EQ(end, last + 1) << text << " at " << point;
        }
    }
}

class ClampedWindowsText : public CommandTest {};

TEST_F(ClampedWindowsText, AreExplainedAndDrawn) {
    const std::string file =
        write("blur.yaml",
              "blur:\n  inputs: {x: \"float32[$n, $m]\"}\n  index: \"[$n, $m]\"\n  outputs: {y: \"float32\"}\n"
              "  body: \"y = sum(d < 5 : x[clamp(@n + d - 2, 0, $n - 1), @m])\"\n");
    const CommandOutcome said = heddle({"explain", "--library", file, "blur", "x=float32[100, 8]"});
    EXPECT_NE(said.output.find("rows [max(@n - 2, 0) .. min(@n + 2, 99), @m]"), std::string::npos) << said.output;
    EXPECT_EQ(heddle({"explain", "--library", file, "blur", "x=float32[100, 8]", "--svg", path("blur.svg")}).status, 0);
    EXPECT_NE(read("blur.svg").find("[48:53, 4:5]"), std::string::npos);
}

}  // namespace
}  // namespace heddle::explain
