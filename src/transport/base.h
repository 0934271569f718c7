// What all transports have in common: who one is, what was sent, the error that ended it; how errors are said.
#pragma once

#include <optional>
#include <string>

#include "transport/transport.h"

namespace heddle::transport {

// The errors of transport.h. `what` of `lost`: how that shows.
Diagnostic lost(int rank, const std::string& what);
Diagnostic silent(int rank, std::chrono::milliseconds timeout);
// `why` is from `said_of`, perhaps of another process: any text.
Diagnostic failed(int rank, const std::string& why);
Diagnostic wrong_length(int from, int64_t expected, int64_t found);

// Whether it is not of the way to others: else who began it stays named.
bool is_own(const Diagnostics& why);
// What others are told of diagnostics, of bounded length.
std::string said_of(const Diagnostics& why);

int64_t bytes_of(Parts parts);

class Base : public Transport {
public:
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::vector<Sent> sent() const override { return counted_; }

protected:
    Base(int rank, int size) : rank_(rank), size_(size), counted_(static_cast<size_t>(size)) {}
    bool is_peer(int rank) const { return rank >= 0 && rank < size_ && rank != rank_; }
    void count(int to, int64_t bytes) {
        counted_[static_cast<size_t>(to)].messages++;
        counted_[static_cast<size_t>(to)].bytes += bytes;
    }

    // Once it is set, all calls give it.
    std::optional<Diagnostic> error_;
    // What `fail` has answered.
    std::optional<bool> first_says_it_;

private:
    int rank_, size_;
    std::vector<Sent> counted_;
};

}  // namespace heddle::transport
