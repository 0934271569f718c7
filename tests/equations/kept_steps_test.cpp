#include "equations/kept_steps.h"

#include <gtest/gtest.h>

namespace heddle::equations {
namespace {

// Places of the states `h` and `g`, where one step of h is `step` and what the system gives is `last`.
std::vector<int64_t> places(const std::string& step, const std::string& last) {
    auto system = parse_system(std::make_shared<const SourceText>(
        "scan.txt",
        "system s\n in x: float32[5, 3]\n local h: float32[6, 3]\n local g: float32[6]\n out y: float32[3]\n"
        " for b < 3: h[0, b] = 0.0\n g[0] = 0.0\n"
        " for t < 5 named 1 ordered 0, b < 3: h[t + 1, b] = " +
            step +
            "\n for t < 5 named 1 ordered 0: g[t + 1] = max(b < 3 : h[t, b])\n"
            " for b < 3: y[b] = " +
            last + "\n outputs y"));
    EXPECT_TRUE(system) << render(system.error());
    if (!system) return {};
    const auto sound = verify(*system);
    EXPECT_TRUE(sound) << render(sound.error());
    const auto kept = kept_steps(*system);
    std::vector<int64_t> result;
    for (size_t t = 0; t < kept.size(); t++) {
        const std::string& name = system->tensors[t].name;
        if (name == "h" || name == "g") result.push_back(kept[t].places);
        EXPECT_EQ(kept[t].dimension, 0);
    }
    return result;
}

using Places = std::vector<int64_t>;

// g reads the step before of h, and has fewer axes: it runs first.
TEST(KeptSteps, OnePlaceWhereEachStepReadsItsOwnPoint) {
    EXPECT_EQ(places("h[t, b] * 0.5 + x[t, b]", "h[5, b]"), (Places{1, 0}));
}

TEST(KeptSteps, TwoPlacesWhereAStepReadsOtherPoints) {
    EXPECT_EQ(places("h[t, 2 - b] + x[t, b]", "h[5, b] + g[5]"), (Places{2, 0}));
    EXPECT_EQ(places("h[t, b] + h[t, 0]", "h[5, b] + g[5]"), (Places{2, 0}));
    EXPECT_EQ(places("h[t, b] * g[t]", "h[5, b] + g[5]"), (Places{2, 1}));
}

TEST(KeptSteps, AsManyAsAreReadBehindTheScan) {
    EXPECT_EQ(places("h[t, b] + x[t, b]", "h[4, b] + g[5]"), (Places{2, 0}));
    EXPECT_EQ(places("h[t, b] + x[t, b]", "h[3, b] + h[5, b]"), (Places{3, 0}));
    EXPECT_EQ(places("h[t, b] + x[t, b]", "h[5 - b, b]"), (Places{3, 0}));
    EXPECT_EQ(places("h[t, b] * 0.5", "max(s < 6 : h[s, b])"), (Places{6, 0}));
}

// What stands before the first step takes places of its own.
TEST(KeptSteps, MoreThanOneFirstValue) {
    const auto places = [](const std::string& step) {
        auto system = parse_system(std::make_shared<const SourceText>(
            "scan.txt",
            "system s\n local h: float32[7, 3]\n out y: float32[3]\n for k < 2, b < 3: h[k, b] = 0.0\n"
            " for t < 5 named 1 ordered 0, b < 3: h[t + 2, b] = " +
                step + "\n for b < 3: y[b] = h[6, b]\n outputs y"));
        EXPECT_TRUE(system) << render(system.error());
        return system ? kept_steps(*system)[0].places : -1;
    };
    EXPECT_EQ(places("h[t, 2 - b] + h[t + 1, b]"), 3);
    EXPECT_EQ(places("h[t + 1, b] * 0.5"), 2);
}

// A tensor half of which is no step: at another size the first half would reach into the steps' places.
TEST(KeptSteps, NoPlacesInTurnBehindWhatGrows) {
    auto system = parse_system(std::make_shared<const SourceText>(
        "scan.txt",
        "system s\n in x: float32[4]\n local h: float32[4]\n local s: float32[3]\n out y: float32[4]\n"
        " for k < 2 named 1: h[k] = 1.0\n s[0] = 0.0\n for t < 2 named 1 ordered 0: s[t + 1] = s[t] + x[t]\n"
        " for t < 2 named 1 ordered 0: h[t + 2] = s[t + 1]\n for b < 2: y[b] = h[b] + x[b]\n"
        " for b < 2: y[b + 2] = h[b + 2] + x[b + 2]\n outputs y"));
    ASSERT_TRUE(system) << render(system.error());
    EXPECT_EQ(kept_steps(*system)[0].places, 0);
}

// Far back: a power of two, if a step is a row; else all steps lie side by side.
TEST(KeptSteps, ManyPlaces) {
    const auto places = [](int elements, int back) {
        const std::string n = std::to_string(elements), k = std::to_string(back);
        auto system = parse_system(std::make_shared<const SourceText>(
            "scan.txt", "system s\n local h: float32[" + std::to_string(back + 500) + ", " + n + "]\n out y: float32[" +
                            n + "]\n for k < " + k + ", b < " + n +
                            ": h[k, b] = 0.0\n for t < 500 named 1 ordered 0, b < " + n + ": h[t + " + k +
                            ", b] = h[t, b] + 1.0\n for b < " + n + ": y[b] = h[499, b]\n outputs y"));
        EXPECT_TRUE(system) << render(system.error());
        return system ? kept_steps(*system)[0].places : -1;
    };
    EXPECT_EQ(places(100, 9), 16);
    EXPECT_EQ(places(100, 40), 64);
    EXPECT_EQ(places(100, 200), 0);
    EXPECT_EQ(places(10, 40), 0);
    EXPECT_EQ(places(10, 5), 6);
}

}  // namespace
}  // namespace heddle::equations
