#include "transport/in_process.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "transport/base.h"
#include "transport/memory.h"
#include "transport/waiting.h"

namespace heddle::transport {
namespace {

// A message in its sender's memory, or the place for one in its receiver's.
struct Side {
    explicit Side(Parts memory) : parts(memory.begin(), memory.end()), bytes(bytes_of(memory)) {}
    std::vector<std::span<std::byte>> parts;
    int64_t bytes;
    int64_t other_bytes = -1;  // of what it was matched with
    enum { open, copied, done } state = open;
};

// What one rank sends to another and is not matched yet: one of both is empty, but for a moment.
struct Way {
    std::deque<std::shared_ptr<Side>> messages, places;
};

struct Member {
    std::condition_variable woken;
    Doing doing;
    bool gone = false;
};

// What the threads share; all of it under the mutex.
struct Shared {
    Shared(int ranks, std::chrono::milliseconds time)
        : size(ranks), timeout(time), members(static_cast<size_t>(ranks)), ways(static_cast<size_t>(ranks * ranks)) {}

    Way& way(int from, int to) { return ways[static_cast<size_t>(from) * members.size() + static_cast<size_t>(to)]; }
    Member& member(int rank) { return members[static_cast<size_t>(rank)]; }
    void wake_all() {
        for (Member& each : members) each.woken.notify_all();
    }
    Clock::time_point last_done_by(int rank) {
        return last_done(rank, size, [&](int each) { return member(each).doing; });
    }

    const int size;
    const std::chrono::milliseconds timeout;
    std::mutex mutex;
    std::vector<Member> members;
    std::vector<Way> ways;
    std::optional<Diagnostic> failure;  // the first one that was told
};

void copy_parts(Parts from, Parts to) {
    Memory place(to);
    for (std::span<const std::byte> part : from) place.take(part);
}

class InProcess : public Base {
public:
    InProcess(std::shared_ptr<Shared> shared, int rank)
        : Base(rank, shared->size), shared_(std::move(shared)), expected_(static_cast<size_t>(size())) {}

    ~InProcess() override {
        std::unique_lock lock(shared_->mutex);
        withdraw(lock);
        self().gone = true;
        shared_->wake_all();
    }

    Result<void> send(int to, Parts parts) override {
        assert(is_peer(to));
        std::unique_lock lock(shared_->mutex);
        if (auto fine = check(lock); !fine) return fine;
        sent_.emplace_back(to, std::make_shared<Side>(parts));
        shared_->way(rank(), to).messages.push_back(sent_.back().second);
        count(to, sent_.back().second->bytes);
        shared_->member(to).woken.notify_all();
        return {};
    }

    Result<void> expect(int from, Parts parts) override {
        assert(is_peer(from));
        std::unique_lock lock(shared_->mutex);
        if (auto fine = check(lock); !fine) return fine;
        auto& places = expected_[static_cast<size_t>(from)];
        places.push_back(std::make_shared<Side>(parts));
        shared_->way(from, rank()).places.push_back(places.back());
        shared_->member(from).woken.notify_all();
        return {};
    }

    Result<void> await(int from) override {
        std::unique_lock lock(shared_->mutex);
        if (auto fine = check(lock); !fine) return fine;
        auto& places = expected_[static_cast<size_t>(from)];
        assert(is_peer(from) && !places.empty());
        const std::shared_ptr<Side> place = places.front();
        if (auto there = wait(lock, from, [&] { return move(lock, *place, from, rank()); }); !there) return there;
        places.pop_front();
        if (place->bytes == place->other_bytes) return {};
        return end(lock, wrong_length(from, place->bytes, place->other_bytes));
    }

    // Who waits for its own messages carries them itself where there are places for them.
    Result<void> finish() override {
        std::unique_lock lock(shared_->mutex);
        if (auto fine = check(lock); !fine) return fine;
        for (const auto& [to, message] : sent_) {
            if (auto left = wait(lock, to, [&] { return move(lock, *message, rank(), to); }); !left) return left;
        }
        sent_.clear();
        return {};
    }

    bool fail(const Diagnostics& why) override {
        std::unique_lock lock(shared_->mutex);
        if (!shared_->failure) shared_->failure = failed(rank(), said_of(why));
        if (!error_) error_ = *shared_->failure;
        withdraw(lock);
        shared_->wake_all();
        return false;  // the threads of one process have one caller
    }

private:
    Member& self() { return shared_->member(rank()); }

    Result<void> check(std::unique_lock<std::mutex>& lock) {
        if (!error_ && shared_->failure) return end(lock, *shared_->failure);
        return error_ ? heddle::fail(*error_) : Result<void>();
    }

    // An error, after which nobody looks at this thread's memory any more.
    Result<void> end(std::unique_lock<std::mutex>& lock, Diagnostic why) {
        error_ = std::move(why);
        withdraw(lock);
        return heddle::fail(*error_);
    }

    void withdraw(std::unique_lock<std::mutex>& lock) {
        for (int peer = 0; peer < size(); peer++) {
            shared_->way(rank(), peer).messages.clear();
            shared_->way(peer, rank()).places.clear();
        }
        const auto rests = [&](const std::shared_ptr<Side>& side) {
            self().woken.wait(lock, [&] { return side->state != Side::copied; });
        };
        for (const auto& [to, message] : sent_) rests(message);
        for (const auto& places : expected_) std::ranges::for_each(places, rests);
        sent_.clear();
        for (auto& places : expected_) places.clear();
    }

    // Copies messages of this way until `wanted` is; false: it is not its turn, or another copies it.
    bool move(std::unique_lock<std::mutex>& lock, const Side& wanted, int from, int to) {
        Way& way = shared_->way(from, to);
        while (wanted.state == Side::open && !way.messages.empty() && !way.places.empty()) {
            const std::shared_ptr<Side> message = std::move(way.messages.front());
            const std::shared_ptr<Side> place = std::move(way.places.front());
            way.messages.pop_front();
            way.places.pop_front();
            message->other_bytes = place->bytes;
            place->other_bytes = message->bytes;
            if (message->bytes == place->bytes) {
                message->state = place->state = Side::copied;
                lock.unlock();
                copy_parts(message->parts, place->parts);
                lock.lock();
            }
            message->state = place->state = Side::done;
            self().doing.since = Clock::now();
            shared_->member(from == rank() ? to : from).woken.notify_all();
        }
        return wanted.state == Side::done;
    }

    // Until `ready`, or that cannot be.
    template <typename Ready>
    Result<void> wait(std::unique_lock<std::mutex>& lock, int peer, Ready ready) {
        if (auto fine = check(lock); !fine) return fine;
        if (ready()) return {};
        self().doing.since = Clock::now();
        self().doing.waits_for = peer;
        auto result = wait_as_waiting(lock, peer, ready);
        self().doing.waits_for = -1;
        return result;
    }

    template <typename Ready>
    Result<void> wait_as_waiting(std::unique_lock<std::mutex>& lock, int peer, Ready ready) {
        for (;;) {
            if (auto fine = check(lock); !fine) return fine;
            if (ready()) return {};
            if (shared_->member(peer).gone) return end(lock, lost(peer, "its thread has ended"));
            const Clock::time_point last = std::max(self().doing.since, shared_->last_done_by(peer));
            if (last + shared_->timeout <= Clock::now()) return end(lock, silent(peer, shared_->timeout));
            // Nobody says when it begins to wait.
            self().woken.wait_until(lock, std::min(last + shared_->timeout, Clock::now() + shared_->timeout / 4));
        }
    }

    std::shared_ptr<Shared> shared_;
    std::vector<std::deque<std::shared_ptr<Side>>> expected_;  // by rank
    std::vector<std::pair<int, std::shared_ptr<Side>>> sent_;  // since the last finish, and to whom
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_in_process(int size, std::chrono::milliseconds timeout) {
    auto shared = std::make_shared<Shared>(size, timeout);
    std::vector<std::unique_ptr<Transport>> ends;
    for (int rank = 0; rank < size; rank++) ends.push_back(std::make_unique<InProcess>(shared, rank));
    return ends;
}

}  // namespace heddle::transport
