#include "support/progress.h"

namespace heddle {
namespace {

struct StageWords {
    std::string_view name, unit;
};
constexpr std::array<StageWords, stages> words = {{{"load", "files"},
                                                   {"symbolic", "nodes"},
                                                   {"fusion", "passes"},
                                                   {"plan", "kernels"},
                                                   {"code", "kernels"},
                                                   {"link", "kernels"},
                                                   {"prepare", "launches"}}};

constexpr std::chrono::milliseconds between_watches{20};

}  // namespace

std::string_view name(Stage stage) { return words[static_cast<size_t>(stage)].name; }
std::string_view unit(Stage stage) { return words[static_cast<size_t>(stage)].unit; }

Progress::State Progress::now() {
    state_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    return state_;
}

void Progress::begin(Stage stage, int64_t total) {
    end();
    running_ = true;
    began_ = Clock::now();
    state_ = {.stage = stage, .done = 0, .total = total, .seconds = 0};
    told(state_);
}

void Progress::step(int64_t number) {
    state_.done += number;
    told(now());
}

void Progress::end() {
    if (running_) seconds_[static_cast<size_t>(state_.stage)] += now().seconds;
    running_ = false;
}

void Progress::finish() {
    end();
    finished();
}

bool Progress::is_cancelled() {
    const auto time = Clock::now();
    if (time - watched_ >= between_watches) {
        watched_ = time;
        watch(now());
    }
    return cancelled_.load(std::memory_order_relaxed);
}

std::unexpected<Diagnostics> cancelled() {
    return fail({.code = "support.cancelled",
                 .summary = "making the program was cancelled",
                 .reason = "somebody asked for it; nothing of it is left",
                 .remedy = "run it again: it is made anew"});
}

bool is_cancelled_error(const Diagnostics& problems) {
    return !problems.empty() && problems.front().code == "support.cancelled";
}

Result<void> begin_stage(Progress* progress, Stage stage, int64_t total) {
    if (!progress) return {};
    progress->begin(stage, total);
    if (progress->is_cancelled()) return cancelled();
    return {};
}

Result<void> step_done(Progress* progress, int64_t number) {
    if (!progress) return {};
    progress->step(number);
    if (progress->is_cancelled()) return cancelled();
    return {};
}

bool is_cancelled(Progress* progress) { return progress && progress->is_cancelled(); }

}  // namespace heddle
