#include "transport/agree.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::transport {
namespace {

std::string names(const std::vector<int>& ranks) {
    constexpr size_t most = 8;
    if (ranks.size() <= most) return fmt::format("{}", fmt::join(ranks, ", "));
    return fmt::format("{} and {} more", fmt::join(std::span(ranks).first(most), ", "), ranks.size() - most);
}

std::string text_of(const Bytes& digest) {
    std::string text;
    for (std::byte byte : std::span(digest).first(std::min<size_t>(digest.size(), 8)))
        text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    return text;
}

Diagnostic other_program(const std::string& what, const std::map<Bytes, std::vector<int>>& ranks_of, size_t size) {
    const auto most = std::ranges::max_element(ranks_of, {}, [](const auto& each) { return each.second.size(); });
    const bool is_most = most->second.size() * 2 > size;
    std::vector<int> others;
    std::string found;
    for (const auto& [digest, ranks] : ranks_of) {
        if (!is_most || digest != most->first) others.insert(others.end(), ranks.begin(), ranks.end());
        if (ranks_of.size() > 8) continue;
        found += fmt::format("{}{} at {}", found.empty() ? "" : "; ", text_of(digest), names(ranks));
    }
    std::ranges::sort(others);
    return {.code = "transport.other_program",
            .summary = is_most ? fmt::format("process {} has another {} than most", names(others), what)
                               : fmt::format("the processes {} do not have the same {}", names(others), what),
            .expected = is_most ? fmt::format("{} at all", text_of(most->first)) : "the same at all",
            .found = found,
            .remedy = "give all processes the same model, options, sizes and version of Heddle",
            .params = {{"rank", fmt::format("{}", fmt::join(others, " "))}}};
}

}  // namespace

Result<std::vector<Bytes>> exchanged(Transport& transport, std::span<const std::byte> own) {
    const int size = transport.size(), rank = transport.rank();
    std::vector<Bytes> all(static_cast<size_t>(size), Bytes(own.begin(), own.end()));
    const std::span<std::byte> sent(all[static_cast<size_t>(rank)]);
    for (int peer = 0; peer < size; peer++) {
        if (peer == rank) continue;
        const std::span<std::byte> theirs(all[static_cast<size_t>(peer)]);
        if (auto begun = transport.send(peer, {&sent, 1}); !begun) return fail(std::move(begun.error()));
        if (auto placed = transport.expect(peer, {&theirs, 1}); !placed) return fail(std::move(placed.error()));
    }
    for (int peer = 0; peer < size; peer++) {
        if (peer == rank) continue;
        if (auto there = transport.await(peer); !there) return fail(std::move(there.error()));
    }
    if (auto left = transport.finish(); !left) return fail(std::move(left.error()));
    return all;
}

Result<void> agree(Transport& transport, const std::string& what, std::span<const std::byte> digest) {
    const auto digests = exchanged(transport, digest);
    if (!digests) return fail(digests.error());
    std::map<Bytes, std::vector<int>> ranks_of;
    for (size_t rank = 0; rank < digests->size(); rank++) ranks_of[(*digests)[rank]].push_back(static_cast<int>(rank));
    if (ranks_of.size() == 1) return {};
    // All have seen it before one of them fails by it: so all say the same. That this does not go well changes nothing.
    (void)exchanged(transport, {});
    return fail(other_program(what, ranks_of, digests->size()));
}

namespace {

constexpr uint64_t most_said = 1 << 24;

// Bytes of the first one to all others, where they have the same size.
Result<void> from_first(Transport& transport, std::span<std::byte> bytes) {
    if (transport.rank() > 0) {
        if (auto ready = transport.expect(0, {&bytes, 1}); !ready) return ready;
        return transport.await(0);
    }
    for (int rank = 1; rank < transport.size(); rank++)
        if (auto sent = transport.send(rank, {&bytes, 1}); !sent) return sent;
    return transport.finish();
}

}  // namespace

Result<std::string> first_says(Transport& transport, std::string own) {
    uint64_t length = own.size();
    if (auto done = from_first(transport, std::as_writable_bytes(std::span(&length, 1))); !done)
        return fail(std::move(done.error()));
    if (length > most_said) {
        return fail({.code = "transport.length",
                     .summary = "process 0 says more than is expected of it",
                     .expected = fmt::format("at most {} bytes", most_said),
                     .found = fmt::format("{} bytes", length),
                     .remedy = "give all processes the same version of Heddle",
                     .params = {{"rank", "0"}}});
    }
    own.resize(length);
    if (auto done = from_first(transport, std::as_writable_bytes(std::span(own))); !done)
        return fail(std::move(done.error()));
    return own;
}

Result<void> follow_first(Transport& transport, Result<void> done) {
    if (transport.rank() == 0 && !done) {
        transport.fail(done.error());
        return done;
    }
    std::byte word{1};
    return from_first(transport, {&word, 1});
}

}  // namespace heddle::transport
