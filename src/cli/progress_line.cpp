#include "cli/progress_line.h"

#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace heddle::cli {
namespace {

constexpr std::chrono::milliseconds between_lines{100};
constexpr const char* empty_line = "\r\x1b[K";

void write_all(int descriptor, const std::string& text) {
    [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
}

}  // namespace

bool StatusLine::is_due() {
    const auto now = Clock::now();
    if (now - began_ < patience_ || (shown_ && now - drawn_ < between_lines)) return false;
    drawn_ = now;
    shown_ = true;
    return true;
}

void StatusLine::write(const std::string& text) { write_all(descriptor_, empty_line + text); }

void StatusLine::clear() {
    if (shown_) write_all(descriptor_, empty_line);
    shown_ = false;
}

void ProgressLine::draw(const State& state) {
    line_.show([&](double seconds) {
        const std::string count =
            state.total > 1 ? fmt::format(", {} of {} {}", state.done, state.total, unit(state.stage)) : "";
        return fmt::format("compiling: {}{} ({:.1f} s)", name(state.stage), count, seconds);
    });
}

std::unique_ptr<Progress> progress_on_terminal() {
    if (::isatty(STDERR_FILENO) == 0) return std::make_unique<Progress>();
    return std::make_unique<ProgressLine>(STDERR_FILENO, std::chrono::milliseconds(500));
}

}  // namespace heddle::cli
