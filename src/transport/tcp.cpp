#include "transport/tcp.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "transport/base.h"
#include "transport/tcp_meeting.h"
#include "transport/wire.h"

namespace heddle::transport {
namespace {

using Lock = std::unique_lock<std::mutex>;

// The caller hands over and waits; a thread moves what its calls did not move at once, answers, and watches the others.
class Tcp : public Base {
public:
    Tcp(std::vector<Descriptor> sockets, int rank, std::chrono::milliseconds timeout)
        : Base(rank, static_cast<int>(sockets.size())),
          timeout_(timeout),
          beat_(std::clamp(timeout / 5, std::chrono::milliseconds(1), std::chrono::milliseconds(1000))),
          wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
          wires_(sockets.size()),
          left_(sockets.size()) {
        for (size_t peer = 0; peer < sockets.size(); peer++) {
            if (sockets[peer].open()) wires_[peer] = std::make_unique<Wire>(std::move(sockets[peer]));
        }
        thread_ = std::thread([this] { work(); });
    }

    ~Tcp() override {
        Lock lock(mutex_);
        if (!error_ && std::ranges::all_of(wires_, [](const auto& wire) { return !wire || wire->is_sent(); })) {
            each_wire([](Wire& wire) { wire.tell_end(); });
            await_farewell(lock, timeout_);
        }
        withdraw();
        stop_ = true;
        wake();
        lock.unlock();
        thread_.join();
    }

    Result<void> send(int to, Parts parts) override {
        assert(is_peer(to));
        Lock lock(mutex_);
        if (auto fine = check(); !fine) return fine;
        wire(to).send(parts);
        count(to, bytes_of(parts));
        write(to);
        return {};
    }

    Result<void> expect(int from, Parts parts) override {
        assert(is_peer(from));
        Lock lock(mutex_);
        if (auto fine = check(); !fine) return fine;
        wire(from).expect(parts);
        write(from);
        return {};
    }

    Result<void> await(int from) override {
        assert(is_peer(from));
        Lock lock(mutex_);
        if (auto there = wait(lock, from, [&] { return wire(from).is_there(); }); !there) return there;
        const Wire::Lengths lengths = wire(from).take();
        if (lengths.expected == lengths.found) return {};
        return end(wrong_length(from, lengths.expected, lengths.found));
    }

    Result<void> finish() override {
        Lock lock(mutex_);
        if (auto fine = check(); !fine) return fine;
        for (int peer = 0; peer < size(); peer++) {
            if (!is_peer(peer)) continue;
            if (auto left = wait(lock, peer, [&] { return wire(peer).is_sent(); }); !left) return left;
        }
        return {};
    }

    bool fail(const Diagnostics& why) override {
        Lock lock(mutex_);
        if (first_says_it_) return *first_says_it_;
        const Failure told = failure_ && !is_own(why) ? *failure_ : Failure{rank(), said_of(why)};
        if (!error_) error_ = failed(told.rank, told.why);
        withdraw();
        each_wire([&](Wire& wire) { wire.tell_failure(told); });
        const auto most = std::min(timeout_, std::chrono::milliseconds(1000));
        await_farewell(lock, most);
        // Who hears of a failure says it again: the first one does so soon, too.
        if (rank() > 0) changed_.wait_for(lock, most, [&] { return wire(0).failure() || wire(0).is_closed(); });
        first_says_it_ = rank() > 0 && wire(0).failure() && wire(0).failure()->why == told.why;
        return *first_says_it_;
    }

private:
    Wire& wire(int peer) { return *wires_[static_cast<size_t>(peer)]; }
    template <typename Function>
    void each_wire(Function function) {
        for (auto& wire : wires_) {
            if (wire) function(*wire);
        }
    }

    void wake() {
        const uint64_t one = 1;
        (void)!::write(wake_.number(), &one, sizeof one);
    }

    // What the socket takes now; the thread does the rest.
    void write(int peer) {
        const bool left = wire(peer).write();
        if (left && !left_[static_cast<size_t>(peer)]) {
            left_[static_cast<size_t>(peer)] = true;
            wake();
        }
    }

    // All have read what was told last, or are gone.
    void await_farewell(Lock& lock, std::chrono::milliseconds most) {
        for (int peer = 0; peer < size(); peer++) {
            if (is_peer(peer)) write(peer);
        }
        changed_.wait_for(lock, most, [&] {
            return std::ranges::all_of(wires_, [&](const auto& wire) {
                return !wire || wire->end_is_seen() || wire->is_closed() || is_silent(*wire);
            });
        });
    }

    // ---- errors

    bool is_silent(const Wire& wire) const {
        return !wire.is_closed() && !wire.has_ended() && Clock::now() - wire.heard() > timeout_;
    }

    // What the others say comes before how they end.
    std::optional<Diagnostic> problem() {
        for (int peer = 0; peer < size() && !failure_; peer++) {
            if (is_peer(peer) && wire(peer).failure()) failure_ = *wire(peer).failure();
        }
        if (failure_) return failed(failure_->rank, failure_->why);
        for (int peer = 0; peer < size(); peer++) {
            if (!is_peer(peer)) continue;
            if (wire(peer).is_closed() && !wire(peer).has_ended()) return lost(peer, wire(peer).broken());
            if (is_silent(wire(peer))) return silent(peer, timeout_);
        }
        return std::nullopt;
    }

    Result<void> check() {
        if (!error_) {
            if (auto found = problem()) return end(std::move(*found));
        }
        return error_ ? heddle::fail(*error_) : Result<void>();
    }

    Result<void> end(Diagnostic why) {
        error_ = std::move(why);
        withdraw();
        return heddle::fail(*error_);
    }

    void withdraw() {
        each_wire([](Wire& wire) { wire.withdraw(); });
    }

    // ---- waiting

    const Doing& doing_of(int peer) {
        static const Doing busy;
        if (peer == rank()) return doing_;
        const Doing& doing = wire(peer).doing();
        return doing.waits_for < size() ? doing : busy;
    }

    template <typename Ready>
    Result<void> wait(Lock& lock, int peer, Ready ready) {
        if (auto fine = check(); !fine) return fine;
        if (ready()) return {};
        doing_ = {peer, Clock::now()};
        auto result = wait_as_waiting(lock, peer, ready);
        doing_.waits_for = -1;
        return result;
    }

    template <typename Ready>
    Result<void> wait_as_waiting(Lock& lock, int peer, Ready ready) {
        for (;;) {
            if (auto fine = check(); !fine) return fine;
            if (ready()) return {};
            if (wire(peer).has_ended() || wire(peer).is_closed()) return end(lost(peer, "it has ended"));
            const auto doing = [this](int each) -> const Doing& { return doing_of(each); };
            const Clock::time_point last = std::max(doing_.since, last_done(peer, size(), doing));
            if (last + timeout_ <= Clock::now()) return end(silent(peer, timeout_));
            changed_.wait_until(lock, std::min(last + timeout_, Clock::now() + timeout_ / 4));
        }
    }

    // ---- the thread

    void work() {
        std::vector<pollfd> list;
        Lock lock(mutex_);
        Clock::time_point next_beat = Clock::now();
        while (!stop_) {
            if (Clock::now() >= next_beat) {
                each_wire([&](Wire& wire) { wire.tell_doing(doing_); });
                next_beat = Clock::now() + beat_;
            }
            list.assign(1, {wake_.number(), POLLIN, 0});
            for (size_t peer = 0; peer < wires_.size(); peer++) {
                Wire* wire = wires_[peer].get();
                if (!wire || wire->is_closed()) continue;
                left_[peer] = wire->write();
                list.push_back({wire->socket(), static_cast<short>(left_[peer] ? POLLIN | POLLOUT : POLLIN), 0});
            }
            lock.unlock();
            const auto rest = std::chrono::ceil<std::chrono::milliseconds>(next_beat - Clock::now());
            ::poll(list.data(), list.size(), std::max<int>(static_cast<int>(rest.count()), 0));
            lock.lock();
            move(list);
        }
    }

    void move(const std::vector<pollfd>& list) {
        if (list.front().revents != 0) {
            uint64_t times = 0;
            (void)!::read(wake_.number(), &times, sizeof times);
        }
        size_t at = 1;
        for (int peer = 0; peer < size(); peer++) {
            if (!is_peer(peer) || at == list.size() || wire(peer).socket() != list[at].fd) continue;
            Wire& wire = this->wire(peer);
            // Before it is called silent, what lies there is read: this process may have been stopped itself.
            if (list[at++].revents != 0 || is_silent(wire)) wire.read();
            if (wire.take_moved() && doing_.waits_for == peer) doing_.since = Clock::now();
        }
        changed_.notify_all();
    }

    const std::chrono::milliseconds timeout_, beat_;
    const Descriptor wake_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<Wire>> wires_;  // by rank; none of one's own
    std::vector<char> left_;                    // by rank: it has more to write than the socket takes
    std::optional<Failure> failure_;            // of another, the first that was heard
    Doing doing_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Transport>> connect_tcp(const std::vector<Host>& hosts, int rank, TcpOptions options) {
    if (rank < 0 || rank >= static_cast<int>(hosts.size())) {
        return fail({.code = "transport.rank",
                     .summary = fmt::format("there is no process {} in the file of hosts", rank),
                     .expected = hosts.empty() ? "a file of hosts" : fmt::format("0 to {}", hosts.size() - 1),
                     .found = std::to_string(rank),
                     .remedy = "start one process for each line, with ranks from 0 on"});
    }
    for (const Host& host : hosts) {
        if (auto allowed = check_loopback(host); !allowed) return fail(std::move(allowed.error()));
    }
    auto sockets = meet(hosts, rank, options.meeting);
    if (!sockets) return fail(std::move(sockets.error()));
    return std::make_unique<Tcp>(std::move(*sockets), rank, options.timeout);
}

}  // namespace heddle::transport
