// Threads as the processes of a program. Tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "transport/transport.h"

namespace heddle::transport {

using Ends = std::vector<std::unique_ptr<Transport>>;

// Each end in a thread, all at once.
inline void in_ranks(const Ends& ends, const std::function<void(Transport&)>& work) {
    std::vector<std::thread> threads;
    for (const auto& end : ends) threads.emplace_back([&work, &end] { work(*end); });
    for (std::thread& thread : threads) thread.join();
}

// Memory of a message that says who sent it, and as the how-manieth.
inline std::vector<std::byte> message(size_t bytes, int from, int number) {
    std::vector<std::byte> made(bytes);
    uint64_t state = 2166136261u * static_cast<uint64_t>(from + 1) + 16777619u * static_cast<uint64_t>(number);
    for (size_t i = 0; i < bytes; i += sizeof state) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::memcpy(made.data() + i, &state, std::min(sizeof state, bytes - i));
    }
    return made;
}

inline Result<void> send_one(Transport& end, int to, std::vector<std::byte>& bytes) {
    const std::span<std::byte> part(bytes);
    return end.send(to, {&part, 1});
}

inline Result<void> expect_one(Transport& end, int from, std::vector<std::byte>& bytes) {
    const std::span<std::byte> part(bytes);
    return end.expect(from, {&part, 1});
}

inline std::string rank_of(const Result<void>& result) {
    if (result) return "";
    for (const auto& [name, value] : result.error().front().params) {
        if (name == "rank") return value;
    }
    return "";
}

}  // namespace heddle::transport
