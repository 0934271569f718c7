// Which steps of scans share a sweep, and what a block of them does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "equations/passes.h"

namespace heddle::equations {
namespace {

// After the pass alone.
std::string shared(const std::string& text) {
    auto system = parse_system(std::make_shared<const SourceText>("scan.txt", text));
    EXPECT_TRUE(system) << render(system.error());
    if (!system) return {};
    share_sweeps(*system);
    const auto after = verify(*system);
    EXPECT_TRUE(after) << render(after.error());
    return print(*system);
}

// Steps that take row and column t of a matrix of n x n.
std::string pivots(int64_t n, const std::string& right, const std::string& last = "") {
    return fmt::format(
        "system s\n in x: float32[{0}, {0}]\n local h: float32[{1}, {0}, {0}]\n local row: float32[{0}, {0}]\n"
        " local column: float32[{0}, {0}]\n out y: float32[{0}, {0}]\n for i < {0}, j < {0}: h[0, i, j] = x[i, j]\n"
        " for t < {0} named 1 ordered 0, j < {0}: row[t, j] = h[t, t, j]\n"
        " for t < {0} named 1 ordered 0, i < {0}: column[t, i] = h[t, i, t]\n"
        " for t < {0} named 1 ordered 0, i < {0}, j < {0}: h[t + 1, i, j] = {2}\n"
        " for i < {0}, j < {0}: y[i, j] = {3}\n outputs y",
        n, n + 1, right, last.empty() ? fmt::format("h[{}, i, j]", n) : last);
}

bool shares(const std::string& text) { return shared(text).find("_sweep") != std::string::npos; }

TEST(Sweeps, ABlockDoesItsStepsOneAfterTheOther) {
    const std::string text = shared(pivots(66, "min(h[t, i, j], column[t, i] + row[t, j])"));
    EXPECT_NE(
        text.find(
            "row_sweep_2[t, j] = min(h_sweep[t, (3 * t + 1), j], (column_sweep[t, (3 * t + 1)] + row_sweep[t, j]))"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("y[i, j] = h_sweep[22, i, j]"), std::string::npos) << text;
}

TEST(Sweeps, AreSharedByStepsThatABlockDivides) {
    const std::string right = "min(h[t, i, j], column[t, i] + row[t, j])";
    EXPECT_TRUE(shares(pivots(64, right)));
    EXPECT_FALSE(shares(pivots(67, right)));
    EXPECT_FALSE(shares(pivots(32, right)));  // few points
}

TEST(Sweeps, AreNotSharedWhereMoreIsAskedFor) {
    EXPECT_FALSE(
        shares(pivots(64, "min(h[t, 63 - i, j], column[t, i] + row[t, j])")));  // of the state, than its own point
    EXPECT_FALSE(shares(pivots(64, "min(h[t, i, j], column[t, i] + row[t, j])", "h[33, i, j]")));  // than the last step
}

TEST(Sweeps, ABlockOfWhichNoStepChangesAnElementLeavesIt) {
    const std::string text =
        shared(pivots(64, "((t - i) < 0) ? (h[t, i, j] - (column[t, i] * row[t, j])) : h[t, i, j]"));
    EXPECT_NE(text.find("h_sweep[(t + 1), i, j] = (((4 * t - i) < 0) ? "), std::string::npos) << text;
    // The second step of each four changes most.
    const std::string turns =
        shared(pivots(64, "((max(t % 4, 2 - t % 4) - i) < 0) ? (h[t, i, j] - row[t, j]) : h[t, i, j]"));
    EXPECT_NE(turns.find("h_sweep[(t + 1), i, j] = (((-i + 1) < 0) ? "), std::string::npos) << turns;
}

}  // namespace
}  // namespace heddle::equations
