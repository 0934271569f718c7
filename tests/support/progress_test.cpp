#include "support/progress.h"

#include <gtest/gtest.h>

#include <thread>

namespace heddle {
namespace {

struct Recorder : Progress {
    std::vector<State> states;
    int watches = 0, ends = 0;
    void told(const State& state) override { states.push_back(state); }
    void watch(const State&) override { watches++; }
    void finished() override { ends++; }
};

TEST(Progress, TellsStagesAndSteps) {
    Recorder progress;
    ASSERT_TRUE(begin_stage(&progress, Stage::plan, 3));
    ASSERT_TRUE(step_done(&progress));
    ASSERT_TRUE(step_done(&progress, 2));
    ASSERT_TRUE(begin_stage(&progress, Stage::code, 0));
    progress.finish();
    ASSERT_EQ(progress.states.size(), 4U);
    EXPECT_EQ(progress.states[2].done, 3);
    EXPECT_EQ(progress.states[2].stage, Stage::plan);
    EXPECT_EQ(progress.states[3].total, 0);
    EXPECT_EQ(progress.ends, 1);
    EXPECT_GE(progress.watches, 1);
    EXPECT_GE(progress.seconds(Stage::plan), progress.states[2].seconds);
    EXPECT_EQ(progress.seconds(Stage::link), 0);
    for (size_t i = 0; i < stages; i++) {
        EXPECT_FALSE(name(Stage(i)).empty());
        EXPECT_FALSE(unit(Stage(i)).empty());
    }
}

// A stage that comes again has the time of both.
TEST(Progress, TimesOfAStageAdd) {
    Progress progress;
    progress.begin(Stage::fusion, 1);
    progress.finish();
    const double once = progress.seconds(Stage::fusion);
    progress.begin(Stage::fusion, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    progress.finish();
    EXPECT_GE(progress.seconds(Stage::fusion), once + 0.002);
}

TEST(Progress, IsCancelledByAnyThread) {
    Progress progress;
    EXPECT_TRUE(begin_stage(&progress, Stage::plan, 2));
    std::thread([&] { progress.cancel(); }).join();
    const auto stopped = step_done(&progress);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().front().code, "support.cancelled");
    EXPECT_TRUE(is_cancelled_error(stopped.error()));
    EXPECT_FALSE(begin_stage(&progress, Stage::code, 1));
    EXPECT_TRUE(is_cancelled(&progress));
}

TEST(Progress, MayBeNobodys) {
    EXPECT_TRUE(begin_stage(nullptr, Stage::plan, 2));
    EXPECT_TRUE(step_done(nullptr));
    EXPECT_FALSE(is_cancelled(nullptr));
}

}  // namespace
}  // namespace heddle
