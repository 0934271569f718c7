// A line on a terminal that says how far the making of a program is, where it takes long.
#pragma once

#include <chrono>
#include <memory>

#include "support/progress.h"

namespace heddle::cli {

class ProgressLine : public Progress {
public:
    // Nothing is written before so much time has passed. The line goes when all is finished.
    ProgressLine(int descriptor, std::chrono::milliseconds patience) : descriptor_(descriptor), patience_(patience) {}
    ~ProgressLine() override { finished(); }

private:
    using Clock = std::chrono::steady_clock;
    void told(const State& state) override { draw(state); }
    void watch(const State& state) override { draw(state); }
    void finished() override;
    void draw(const State& state);

    int descriptor_;
    std::chrono::milliseconds patience_;
    Clock::time_point began_ = Clock::now(), drawn_ = {};
    bool shown_ = false;
};

// On standard error, if that is a terminal; else one that says nothing.
std::unique_ptr<Progress> progress_on_terminal();

}  // namespace heddle::cli
