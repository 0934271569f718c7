// A line on a terminal that says how far the making of a program is, where it takes long.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "support/progress.h"

namespace heddle::cli {

// A line that is written over: not before so much time has passed, and not too often.
class StatusLine {
public:
    StatusLine(int descriptor, std::chrono::milliseconds patience) : descriptor_(descriptor), patience_(patience) {}
    ~StatusLine() { clear(); }
    StatusLine(const StatusLine&) = delete;
    StatusLine& operator=(const StatusLine&) = delete;

    template <typename Text>
    void show(const Text& text) {
        if (is_due()) write(text(std::chrono::duration<double>(Clock::now() - began_).count()));
    }
    void clear();

private:
    using Clock = std::chrono::steady_clock;
    bool is_due();
    void write(const std::string& text);

    int descriptor_;
    std::chrono::milliseconds patience_;
    Clock::time_point began_ = Clock::now(), drawn_ = {};
    bool shown_ = false;
};

class ProgressLine : public Progress {
public:
    // Nothing is written before so much time has passed. The line goes when all is finished.
    ProgressLine(int descriptor, std::chrono::milliseconds patience) : line_(descriptor, patience) {}

private:
    void told(const State& state) override { draw(state); }
    void watch(const State& state) override { draw(state); }
    void finished() override { line_.clear(); }
    void draw(const State& state);

    StatusLine line_;
};

// On standard error, if that is a terminal; else one that says nothing.
std::unique_ptr<Progress> progress_on_terminal();

}  // namespace heddle::cli
