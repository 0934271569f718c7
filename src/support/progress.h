// How far the making of a program is, told while it goes on, and the way to end it early. Whoever wants a program makes
// one of these and hands it down; null stands for nobody who wants to know.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "support/diagnostic.h"

namespace heddle {

// What is done, in this order; a stage comes again where a plan is made a second time.
enum class Stage : uint8_t { load, symbolic, fusion, plan, code, link, prepare };
inline constexpr size_t stages = 7;
std::string_view name(Stage stage);
std::string_view unit(Stage stage);  // what it counts: "kernels"

class Progress {
public:
    struct State {
        Stage stage = Stage::load;
        int64_t done = 0, total = 0;  // of the stage's units; a stage that comes to its end has done all
        double seconds = 0;           // since the stage began
    };

    Progress() = default;
    virtual ~Progress() = default;
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // From any thread: the work ends at its next step, with the error that `cancelled` answers.
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

    // ---- by the thread that does the work alone

    void begin(Stage stage, int64_t total);  // the stage before has ended
    void step(int64_t number = 1);
    void finish();  // no stage goes on
    bool is_cancelled();
    // Of the stages so far; of one that came again their sum.
    double seconds(Stage stage) const { return seconds_[static_cast<size_t>(stage)]; }

protected:
    // Where something has changed.
    virtual void told(const State&) {}
    // From time to time, fifty times a second at most, also where nothing changes; may call `cancel`.
    virtual void watch(const State&) {}
    virtual void finished() {}

private:
    using Clock = std::chrono::steady_clock;
    State now();
    void end();

    std::atomic<bool> cancelled_ = false;
    State state_;
    bool running_ = false;
    Clock::time_point began_ = {}, watched_ = {};
    std::array<double, stages> seconds_ = {};
};

// Code support.cancelled.
std::unexpected<Diagnostics> cancelled();
bool is_cancelled_error(const Diagnostics& problems);

// The same for a progress that may be null. The error: it is cancelled.
Result<void> begin_stage(Progress* progress, Stage stage, int64_t total);
Result<void> step_done(Progress* progress, int64_t number = 1);
bool is_cancelled(Progress* progress);

}  // namespace heddle
