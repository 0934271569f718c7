#include "transport/base.h"

#include <fmt/format.h>

namespace heddle::transport {

Diagnostic lost(int rank, const std::string& what) {
    return {.code = "transport.lost",
            .summary = fmt::format("process {} is gone", rank),
            .found = what,
            .reason = "it ended, was ended, or the way to it broke",
            .remedy = "look at what that process said last, and at the memory of its machine",
            .params = {{"rank", std::to_string(rank)}}};
}

Diagnostic silent(int rank, std::chrono::milliseconds timeout) {
    return {.code = "transport.silent",
            .summary = fmt::format("nothing was heard of process {} for {} seconds", rank,
                                   std::chrono::duration<double>(timeout).count()),
            .reason = "it is stopped, its machine cannot be reached, or it waits for what nobody sends",
            .remedy = "look at that process and its machine; where it is only slow, allow more time",
            .params = {{"rank", std::to_string(rank)}}};
}

Diagnostic failed(int rank, const std::string& why) {
    return {.code = "transport.failed",
            .summary = fmt::format("process {} cannot go on", rank),
            .reason = why,
            .remedy = "mend what it says, and start all processes again",
            .params = {{"rank", std::to_string(rank)}}};
}

Diagnostic wrong_length(int from, int64_t expected, int64_t found) {
    return {.code = "transport.length",
            .summary = fmt::format("process {} sent a message of another length", from),
            .expected = fmt::format("{} bytes", expected),
            .found = fmt::format("{} bytes", found),
            .reason = "it runs another program, or the same program of other sizes",
            .remedy = "give all processes the same model, sizes and options",
            .params = {{"rank", std::to_string(from)}}};
}

bool is_own(const Diagnostics& why) { return !why.empty() && !why.front().code.starts_with("transport."); }

std::string said_of(const Diagnostics& why) {
    constexpr size_t most = 4096;
    std::string text = render(why);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.size() <= most) return text;
    size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) end--;  // not inside of a character
    return text.substr(0, end) + " ...";
}

int64_t bytes_of(Parts parts) {
    int64_t bytes = 0;
    for (std::span<const std::byte> part : parts) bytes += static_cast<int64_t>(part.size());
    return bytes;
}

}  // namespace heddle::transport
