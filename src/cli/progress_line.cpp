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

void ProgressLine::draw(const State& state) {
    const auto now = Clock::now();
    if (now - began_ < patience_ || (shown_ && now - drawn_ < between_lines)) return;
    drawn_ = now;
    shown_ = true;
    const std::string count =
        state.total > 1 ? fmt::format(", {} of {} {}", state.done, state.total, unit(state.stage)) : "";
    write_all(descriptor_, fmt::format("{}compiling: {}{} ({:.1f} s)", empty_line, name(state.stage), count,
                                       std::chrono::duration<double>(now - began_).count()));
}

void ProgressLine::finished() {
    if (shown_) write_all(descriptor_, empty_line);
    shown_ = false;
}

std::unique_ptr<Progress> progress_on_terminal() {
    if (::isatty(STDERR_FILENO) == 0) return std::make_unique<Progress>();
    return std::make_unique<ProgressLine>(STDERR_FILENO, std::chrono::milliseconds(500));
}

}  // namespace heddle::cli
