#include "transport/wire.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace heddle::transport {
namespace {

constexpr const char* not_expected = "it sent what no program of this version expects";

std::vector<iovec> as_iovec(const std::vector<std::span<std::byte>>& list) {
    std::vector<iovec> vectors;
    for (std::span<std::byte> part : list) vectors.push_back({part.data(), part.size()});
    return vectors;
}

}  // namespace

// ---- what the program does

void Wire::send(Parts parts) { out_.emplace_back(parts); }

void Wire::expect(Parts parts) {
    if (placed_ == coming_.size()) coming_.emplace_back();
    Coming& message = coming_[placed_++];
    message.place.emplace(parts);
    if (message.is_early) early_bytes_ -= weight(message.total);
    if (message.fits()) message.place->take(message.early);
    message.early = {};
    untold_bytes_ += weight(message.place->bytes());
    // Who sends small messages needs to hear of places before what it may send without is used up.
    const bool is_announced = message.fits() && !message.is_early;
    if (is_announced || message.place->bytes() > small_bytes || untold_bytes_ > most_early_bytes / 4)
        places_to_tell_ = true;
}

bool Wire::is_there() const {
    const Coming& first = coming_.front();
    return first.total >= 0 && (!first.fits() || first.complete());
}

Wire::Lengths Wire::take() {
    const Lengths lengths{coming_.front().place->bytes(), coming_.front().total};
    if (coming_.front().complete()) arrived_--;
    coming_.pop_front();
    coming_number_++;
    placed_--;
    return lengths;
}

void Wire::withdraw() {
    if (rest_.payload > 0) {
        std::vector<std::span<std::byte>> list;
        while (rest_.payload > 0) {
            list.clear();
            const size_t bytes = out_.front().next(rest_.payload, list);
            for (std::span<std::byte> part : list)
                rest_.words.append(reinterpret_cast<char*>(part.data()), part.size());
            out_.front().advance(bytes);
            rest_.payload -= bytes;
        }
    }
    rest_.of_message = false;
    out_.clear();
    coming_.clear();
    withdrawn_ = true;
}

// ---- writing

bool Wire::may_send() const {
    const Memory& first = out_.front();
    return first.done() > 0 || out_number_ < allowed_ ||
           (first.bytes() <= small_bytes && sent_early_bytes_ + weight(first.bytes()) <= most_early_bytes);
}

Wire::Header Wire::message_header(size_t payload) const {
    const auto total = static_cast<uint64_t>(out_.front().bytes());
    return {.kind = message, .number = out_number_, .total = total, .payload = payload};
}

void Wire::begin_message() {
    const Memory& first = out_.front();
    if (first.done() == 0 && out_number_ >= allowed_) {
        sent_early_.push_back(weight(first.bytes()));
        sent_early_bytes_ += sent_early_.back();
    }
    const size_t payload = std::min(static_cast<size_t>(first.left()), chunk_bytes);
    frame(message_header(payload));
    rest_.payload = payload;
    rest_.of_message = true;
}

void Wire::frame(const Header& header, std::string_view words) {
    rest_ = {};
    rest_.words.assign(reinterpret_cast<const char*>(&header), sizeof header);
    rest_.words += words;
}

bool Wire::begin_frame() {
    if (failure_to_tell_) {
        const std::string why = failure_to_tell_->why.substr(0, most_words);
        frame({.kind = failed, .rank = static_cast<uint32_t>(failure_to_tell_->rank), .payload = why.size()}, why);
        failure_to_tell_.reset();
    } else if (std::exchange(seen_to_tell_, false)) {
        frame({.kind = seen});
    } else if (std::exchange(places_to_tell_, false)) {
        frame({.kind = places, .number = coming_number_ + placed_});
        untold_bytes_ = 0;
    } else if (doing_to_tell_) {
        const auto age = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - doing_to_tell_->since);
        frame({.kind = doing_now,
               .rank = static_cast<uint32_t>(doing_to_tell_->waits_for + 1),
               .total = static_cast<uint64_t>(std::max<int64_t>(age.count(), 0))});
        doing_to_tell_.reset();
    } else if (!out_.empty() && may_send()) {
        begin_message();
    } else if (!out_.empty() && !std::exchange(announced_, true)) {
        frame(message_header(0));
    } else if (out_.empty() && std::exchange(end_to_tell_, false)) {
        frame({.kind = end});
    } else {
        return false;
    }
    return true;
}

bool Wire::write() {
    while (!is_closed()) {
        if (rest_.empty()) {
            if (!begin_frame()) return false;
        }
        if (!write_frame()) return !is_closed();
    }
    return false;
}

// All of the frame; false: the socket takes no more.
bool Wire::write_frame() {
    while (!rest_.empty()) {
        std::vector<std::span<std::byte>> list;
        const size_t words = rest_.words.size() - rest_.done;
        if (words > 0) list.push_back(std::as_writable_bytes(std::span(rest_.words)).subspan(rest_.done));
        if (rest_.payload > 0) out_.front().next(rest_.payload, list);
        std::vector<iovec> vectors = as_iovec(list);
        msghdr what{};
        what.msg_iov = vectors.data();
        what.msg_iovlen = vectors.size();
        const ssize_t written = ::sendmsg(socket_.number(), &what, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (written < 0) {
            if (errno == EINTR) continue;
            // What it said before it closed is still to be read.
            if (errno != EAGAIN && errno != EWOULDBLOCK) broken_writing_ = std::strerror(errno);
            return false;
        }
        const size_t of_words = std::min(words, static_cast<size_t>(written));
        const size_t of_payload = static_cast<size_t>(written) - of_words;
        rest_.done += of_words;
        if (of_payload > 0) {
            out_.front().advance(of_payload);
            rest_.payload -= of_payload;
            moved_ = true;
        }
    }
    if (std::exchange(rest_.of_message, false) && out_.front().left() == 0) {
        out_.pop_front();
        out_number_++;
        announced_ = false;
    }
    return true;
}

// ---- reading

void Wire::read() {
    constexpr int most_times = 16;  // others want their turn
    for (int i = 0; i < most_times && !is_closed() && read_once(); i++) {
    }
}

// False: there was no more than this.
bool Wire::read_once() {
    std::vector<std::span<std::byte>> list;
    size_t direct = 0;
    if (input_begin_ == input_end_) {
        input_begin_ = input_end_ = 0;
        if (payload_left_ > 0 && !withdrawn_ && header_->kind == message && coming_[arrived_].fits())
            direct = coming_[arrived_].place->next(payload_left_, list);
    } else if (input_begin_ > 0) {
        std::memmove(input_.data(), input_.data() + input_begin_, input_end_ - input_begin_);
        input_end_ -= std::exchange(input_begin_, 0);
    }
    // Not what lies behind a payload of which there are more parts.
    if (direct == 0 || direct == payload_left_) list.push_back(std::span(input_).subspan(input_end_));
    size_t room = 0;
    for (std::span<std::byte> part : list) room += part.size();
    std::vector<iovec> vectors = as_iovec(list);
    msghdr what{};
    what.msg_iov = vectors.data();
    what.msg_iovlen = vectors.size();
    const ssize_t got = ::recvmsg(socket_.number(), &what, MSG_DONTWAIT);
    if (got < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) broke(std::strerror(errno));
        if (!broken_writing_.empty() && errno != EINTR) broke(broken_writing_);
        return errno == EINTR;
    }
    if (got == 0) {
        broke("it closed the connection");
        return false;
    }
    heard_ = Clock::now();
    const size_t bytes = static_cast<size_t>(got), filled = std::min(bytes, direct);
    if (filled > 0) {
        coming_[arrived_].place->advance(filled);
        have_filled(filled);
    }
    input_end_ += bytes - filled;
    while (!is_closed() && use_input()) {
    }
    return bytes == room;
}

// A header, or a part of a payload; false: there is neither.
bool Wire::use_input() {
    const std::span<const std::byte> input = std::span(input_).subspan(input_begin_, input_end_ - input_begin_);
    if (payload_left_ > 0) {
        const auto part = input.first(std::min(input.size(), payload_left_));
        input_begin_ += part.size();
        if (!part.empty()) use_payload(part);
        return !part.empty();
    }
    if (input.size() < sizeof(Header)) return false;
    header_.emplace();
    std::memcpy(&*header_, input.data(), sizeof(Header));
    input_begin_ += sizeof(Header);
    use_header();
    return true;
}

void Wire::use_header() {
    const Header& header = *header_;
    if (header.kind == message) return use_message_header();
    if (header.payload > (header.kind == failed ? most_words : 0)) return broke(not_expected);
    payload_left_ = header.payload;
    switch (header.kind) {
    case places: return note_places(header.number);
    case doing_now:
        doing_.waits_for = static_cast<int>(header.rank) - 1;
        doing_.since = heard_ - std::chrono::microseconds(std::min<uint64_t>(header.total, 1ull << 50));
        return;
    case failed: failure_.emplace(static_cast<int>(header.rank), ""); [[fallthrough]];
    case end: ended_ = seen_to_tell_ = true; return;
    case seen: end_seen_ = true; return;
    default: broke(not_expected);
    }
}

void Wire::note_places(uint64_t count) {
    if (count < allowed_) return broke(not_expected);
    for (; allowed_ < count && !sent_early_.empty(); allowed_++) {
        sent_early_bytes_ -= sent_early_.front();
        sent_early_.pop_front();
    }
    allowed_ = count;
}

void Wire::use_message_header() {
    const Header& header = *header_;
    payload_left_ = header.payload;
    if (payload_left_ > chunk_bytes) return broke(not_expected);
    if (withdrawn_) return;
    if (header.number != coming_number_ + arrived_ || header.total > static_cast<uint64_t>(INT64_MAX))
        return broke(not_expected);
    if (arrived_ == coming_.size()) coming_.emplace_back();
    Coming& now = coming_[arrived_];
    if (now.total < 0) now.total = static_cast<int64_t>(header.total);
    const auto total = static_cast<int64_t>(header.total), payload = static_cast<int64_t>(payload_left_);
    if (now.total != total || payload > now.total - now.received) return broke(not_expected);
    if (now.total > 0 && payload_left_ == 0) return note_announced(now);
    note_begun(now);
}

void Wire::note_announced(Coming& now) {
    if (now.received > 0) return broke(not_expected);
    if (now.fits()) places_to_tell_ = true;  // of another length it is not wanted
}

void Wire::note_begun(Coming& now) {
    if (!now.place && !now.is_early) {
        now.is_early = true;
        early_bytes_ += weight(now.total);
    }
    if (!now.place && (now.total > small_bytes || early_bytes_ > most_early_bytes)) return broke(not_expected);
    have_filled(0);
}

void Wire::use_payload(std::span<const std::byte> bytes) {
    if (header_->kind == failed) {
        failure_->why.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        payload_left_ -= bytes.size();
        return;
    }
    if (withdrawn_) {
        payload_left_ -= bytes.size();
        return;
    }
    Coming& now = coming_[arrived_];
    if (now.fits()) {
        now.place->take(bytes);
    } else if (!now.place) {
        now.early.insert(now.early.end(), bytes.begin(), bytes.end());
    }
    have_filled(bytes.size());
}

void Wire::have_filled(size_t bytes) {
    Coming& now = coming_[arrived_];
    now.received += static_cast<int64_t>(bytes);
    payload_left_ -= bytes;
    moved_ = true;
    if (now.complete()) arrived_++;
}

void Wire::broke(const std::string& how) {
    if (broken_.empty()) broken_ = how;
}

}  // namespace heddle::transport
