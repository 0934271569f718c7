// One connection between two processes: messages cut into frames, so that nothing waits behind a long message for long.
// A message that is not small, or comes after many that are, is announced, and sent when its receiver has said that it has a
// place for it. So all that comes can be taken at once, and what has no place yet is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "support/descriptor.h"
#include "transport/memory.h"
#include "transport/transport.h"
#include "transport/waiting.h"

namespace heddle::transport {

// What another process said before it failed.
struct Failure {
    int rank = 0;
    std::string why;
};

class Wire {
public:
    // The socket does not block.
    explicit Wire(Descriptor socket) : socket_(std::move(socket)), input_(input_bytes), heard_(Clock::now()) {}

    // ---- what the program does
    void send(Parts parts);
    void expect(Parts parts);
    // Of the oldest expected message: whether it is there, or is known to be of another length.
    bool is_there() const;
    struct Lengths {
        int64_t expected, found;
    };
    Lengths take();
    // Whether all that was sent has left its memory.
    bool is_sent() const { return out_.empty(); }
    // Nobody's memory is looked at any more; what was begun to be sent is sent from a copy, the rest never.
    void withdraw();

    // ---- what is told beside messages
    void tell_doing(const Doing& doing) { doing_to_tell_ = doing; }
    void tell_failure(Failure failure) { failure_to_tell_ = std::move(failure); }
    void tell_end() { end_to_tell_ = true; }
    const Doing& doing() const { return doing_; }
    Clock::time_point heard() const { return heard_; }
    // Null: it said none, or not all of it is there.
    const Failure* failure() const {
        return failure_ && !(payload_left_ > 0 && header_->kind == failed) ? &*failure_ : nullptr;
    }
    bool has_ended() const { return ended_; }            // as it said: nothing more comes
    bool is_closed() const { return !broken_.empty(); }  // `broken` says how
    const std::string& broken() const { return broken_; }
    // Whether it has read all that it was told, up to the end or the failure.
    bool end_is_seen() const { return end_seen_; }

    // ---- bytes
    int socket() const { return socket_.number(); }
    // As far as the socket takes and gives them. `write`: whether something is left. Bytes of messages were moved.
    bool write();
    void read();
    bool take_moved() { return std::exchange(moved_, false); }

private:
    static constexpr size_t input_bytes = 1 << 16, chunk_bytes = 1 << 18;
    static constexpr int64_t small_bytes = 1 << 16, most_early_bytes = 1 << 18;
    static constexpr size_t most_words = 1 << 13;
    enum Kind : uint32_t { message = 1, places, doing_now, failed, end, seen };
    struct Header {
        uint32_t kind = 0, rank = 0;
        uint64_t number = 0, total = 0, payload = 0;
    };

    // A frame that is being written: words of its own, then bytes of the first message of out_.
    struct Rest {
        std::string words;
        size_t done = 0, payload = 0;
        bool of_message = false;
        bool empty() const { return done == words.size() && payload == 0; }
    };
    // A message that comes: its place, its length, or both are known.
    struct Coming {
        std::optional<Memory> place;
        int64_t total = -1, received = 0;
        bool is_early = false;         // it began before there was a place
        std::vector<std::byte> early;  // what came before
        bool complete() const { return total >= 0 && received == total; }
        bool fits() const { return place && place->bytes() == total; }
    };

    static int64_t weight(int64_t bytes) { return bytes + 64; }
    bool may_send() const;
    Header message_header(size_t payload) const;
    void begin_message();
    bool begin_frame();
    void frame(const Header& header, std::string_view words = {});
    bool write_frame();
    void note_places(uint64_t count);
    bool read_once();
    bool use_input();
    void use_header();
    void use_message_header();
    void note_announced(Coming& now);
    void note_begun(Coming& now);
    void use_payload(std::span<const std::byte> bytes);
    void have_filled(size_t bytes);
    void broke(const std::string& how);

    Descriptor socket_;
    // out
    std::deque<Memory> out_;          // not all of it is written
    uint64_t out_number_ = 0;         // of the first of them
    uint64_t allowed_ = 0;            // messages that have places there
    std::deque<int64_t> sent_early_;  // weights of messages without, from number allowed_ on
    int64_t sent_early_bytes_ = 0;
    Rest rest_;
    std::optional<Doing> doing_to_tell_;
    std::optional<Failure> failure_to_tell_;
    bool end_to_tell_ = false, seen_to_tell_ = false, withdrawn_ = false;
    int64_t untold_bytes_ = 0;  // weights of places that were not told
    bool places_to_tell_ = false, announced_ = false;
    // in
    std::vector<std::byte> input_;
    size_t input_begin_ = 0, input_end_ = 0;
    std::optional<Header> header_;  // of the frame whose payload comes
    size_t payload_left_ = 0;
    std::deque<Coming> coming_;
    uint64_t coming_number_ = 0;       // of the first of them
    size_t placed_ = 0, arrived_ = 0;  // so many of them, from the first on, have a place; are complete
    int64_t early_bytes_ = 0;          // weights of those that began without a place
    Doing doing_;
    Clock::time_point heard_;
    std::optional<Failure> failure_;
    bool ended_ = false, end_seen_ = false, moved_ = false;
    std::string broken_, broken_writing_;  // how; what was said before may still be read
};

}  // namespace heddle::transport
