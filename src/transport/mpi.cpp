#include "transport/mpi.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "transport/base.h"
#include "transport/memory.h"
#include "transport/mpi_library.h"
#include "transport/waiting.h"

namespace heddle::transport {
namespace {

using MpiLock = std::unique_lock<std::mutex>;

// MPI is called by one thread at a time, in the whole process.
std::mutex& mpi_mutex() {
    static std::mutex mutex;
    return mutex;
}

// What is said beside messages: this, then text.
struct Word {
    enum : uint32_t { ask = 1, doing, failed, end };
    uint32_t kind = 0;
    int32_t rank = 0;
    int64_t number = 0;  // doing: microseconds ago; end: how many messages it has sent
};

struct SentWord {
    int to;
    std::unique_ptr<std::string> bytes;
    void* request;
};

struct MpiPeer {
    std::deque<std::vector<void*>> sends;  // requests of the pieces of each message
    std::deque<Memory> places;
    size_t arrived = 0;         // so many of them, from the first on, are filled
    void* receiving = nullptr;  // a piece of the one after these
    size_t piece = 0;           // its bytes
    int64_t wrong = -1;         // the length of a message that is not the expected one
    Doing doing;
    std::optional<Clock::time_point> asked;  // since when it owes an answer
    int64_t came = 0;                        // messages
    std::optional<Clock::time_point> ended;  // when it said so: its last messages may be under way
    int64_t sent = 0;                        // messages, until then
};

// All is moved by whoever waits; while the program computes, a thread looks now and then, and answers.
class Mpi : public Base {
public:
    Mpi(heddle_mpi* mpi, const MpiOptions& options)
        : Base(mpi->rank, mpi->ranks),
          mpi_(mpi),
          timeout_(options.timeout),
          has_core_(mpi->ranks_here <= ::sysconf(_SC_NPROCESSORS_ONLN)),
          piece_bytes_(options.piece_bytes),
          peers_(static_cast<size_t>(mpi->ranks)) {
        thread_ = std::thread([this] { answer(); });
    }

    ~Mpi() override {
        MpiLock lock(mpi_mutex());
        bool clean = !error_ && std::ranges::all_of(peers_, [](const MpiPeer& peer) { return peer.sends.empty(); });
        if (clean) {
            for (int other = 0; other < size(); other++) {
                const int64_t messages = sent()[static_cast<size_t>(other)].messages;
                if (is_peer(other)) tell(other, {.kind = Word::end, .number = messages});
            }
            for (int other = 0; other < size() && clean; other++) {
                const auto has_ended = [&] { return peer(other).ended.has_value(); };
                if (is_peer(other)) clean = wait(lock, other, has_ended).has_value();
            }
        }
        clean = clean && drain(lock);
        stop_ = true;
        stopped_.notify_all();
        lock.unlock();
        thread_.join();
        lock.lock();
        mpi_->close(mpi_, clean);
    }

    Result<void> send(int to, Parts parts) override {
        assert(is_peer(to));
        MpiLock lock(mpi_mutex());
        if (auto fine = check(lock); !fine) return fine;
        Memory memory(parts);
        peer(to).sends.emplace_back();
        do {
            const auto piece = pieces_of(memory);
            void* request = nullptr;
            if (mpi_->send(mpi_, HEDDLE_MPI_MESSAGES, to, memory.left() > piece_bytes_, piece.data(), piece.size(),
                           &request) != 0)
                return end(lock, lost(to, mpi_->problem));
            peer(to).sends.back().push_back(request);
            memory.advance(piece_size(memory));
        } while (memory.left() > 0);
        count(to, memory.bytes());
        return {};
    }

    Result<void> expect(int from, Parts parts) override {
        assert(is_peer(from));
        MpiLock lock(mpi_mutex());
        if (auto fine = check(lock); !fine) return fine;
        peer(from).places.emplace_back(parts);
        return {};
    }

    Result<void> await(int from) override {
        assert(is_peer(from));
        MpiLock lock(mpi_mutex());
        MpiPeer& sender = peer(from);
        const auto there = [&] { return sender.arrived > 0 || sender.wrong >= 0; };
        if (auto came = wait(lock, from, there); !came) return came;
        const int64_t expected = sender.places.front().bytes();
        if (sender.arrived == 0) return end(lock, wrong_length(from, expected, sender.wrong));
        sender.places.pop_front();
        sender.arrived--;
        return {};
    }

    Result<void> finish() override {
        MpiLock lock(mpi_mutex());
        if (auto fine = check(lock); !fine) return fine;
        for (int to = 0; to < size(); to++) {
            if (auto left = wait(lock, to, [&] { return peer(to).sends.empty(); }); !left) return left;
        }
        return {};
    }

    bool fail(const Diagnostics& why) override {
        MpiLock lock(mpi_mutex());
        if (first_says_it_) return *first_says_it_;
        const auto [first, text] = failure_ && !is_own(why) ? *failure_ : std::pair(rank(), said_of(why));
        if (!error_) error_ = failed(first, text);
        tell_all({.kind = Word::failed, .rank = first}, text);
        withdraw(lock);
        first_says_it_ = rank() > 0 && first_says(lock) == text;
        return *first_says_it_;
    }

private:
    using Piece = std::vector<heddle_mpi_part>;

    MpiPeer& peer(int rank) { return peers_[static_cast<size_t>(rank)]; }
    size_t piece_size(const Memory& memory) const { return static_cast<size_t>(std::min(memory.left(), piece_bytes_)); }
    Piece pieces_of(const Memory& memory) const {
        std::vector<std::span<std::byte>> list;
        memory.next(piece_size(memory), list, SIZE_MAX);
        Piece parts;
        for (std::span<std::byte> part : list) parts.push_back({part.data(), part.size()});
        return parts;
    }

    // ---- what is moved

    void progress() {
        for (int other = 0; other < size(); other++) {
            if (!is_peer(other)) continue;
            send_on(other);
            while (receive_on(other)) {
            }
        }
        while (hear()) {
        }
        std::erase_if(words_, [this](const SentWord& word) { return is_done(word.to, word.request); });
    }

    // A request that breaks is gone, too: the error says of whom.
    bool is_done(int other, void* request) {
        int32_t done = 0;
        if (mpi_->test(mpi_, request, &done) == 0) return done != 0;
        if (!broken_) broken_ = lost(other, mpi_->problem);
        return true;
    }

    void have_moved(int other) {
        peer(other).asked.reset();
        if (doing_.waits_for == other) doing_.since = Clock::now();
    }

    void send_on(int to) {
        auto& sends = peer(to).sends;
        while (!sends.empty()) {
            std::erase_if(sends.front(), [&](void* request) { return is_done(to, request); });
            if (!sends.front().empty()) return;
            sends.pop_front();
            have_moved(to);
        }
    }

    // A step; false: there is none to be done now.
    bool receive_on(int from) {
        MpiPeer& sender = peer(from);
        if (sender.receiving) {
            if (!is_done(from, sender.receiving)) return false;
            sender.receiving = nullptr;
            Memory& place = sender.places[sender.arrived];
            place.advance(sender.piece);
            if (place.left() == 0) sender.arrived++, sender.came++;
            have_moved(from);
            return true;
        }
        if (sender.arrived == sender.places.size() || sender.wrong >= 0 || error_) return false;
        const Memory& place = sender.places[sender.arrived];
        heddle_mpi_found found{};
        if (mpi_->find(mpi_, HEDDLE_MPI_MESSAGES, from, &found) != 0) broken_ = lost(from, mpi_->problem);
        if (!found.message) return false;
        sender.piece = piece_size(place);
        if (found.size != sender.piece || (found.label != 0) != (place.left() > piece_bytes_)) {
            sender.wrong = place.done() + static_cast<int64_t>(found.size);
            return false;
        }
        const auto parts = pieces_of(place);
        if (mpi_->receive(mpi_, found.message, parts.data(), parts.size(), &sender.receiving) == 0) return true;
        broken_ = lost(from, mpi_->problem);
        return false;
    }

    // ---- words

    void tell(int to, const Word& word, const std::string& text = {}) {
        auto said = std::make_unique<std::string>(reinterpret_cast<const char*>(&word), sizeof word);
        *said += text;
        const heddle_mpi_part part{said->data(), said->size()};
        void* request = nullptr;
        if (mpi_->send(mpi_, HEDDLE_MPI_CONTROL, to, 0, &part, 1, &request) == 0)
            words_.push_back({to, std::move(said), request});
    }

    void tell_all(const Word& word, const std::string& text = {}) {
        for (int other = 0; other < size(); other++) {
            if (is_peer(other)) tell(other, word, text);
        }
    }

    // Whether a word was there.
    bool hear() {
        if (!hearing_) {
            heddle_mpi_found found{};
            if (mpi_->find(mpi_, HEDDLE_MPI_CONTROL, -1, &found) != 0 || !found.message) return false;
            heard_.assign(found.size, '\0');
            from_ = found.from;
            const heddle_mpi_part part{heard_.data(), heard_.size()};
            if (mpi_->receive(mpi_, found.message, &part, 1, &hearing_) != 0) return false;
        }
        if (!is_done(from_, hearing_)) return false;
        hearing_ = nullptr;
        if (heard_.size() >= sizeof(Word)) use_word();
        return true;
    }

    void use_word() {
        Word word;
        std::memcpy(&word, heard_.data(), sizeof word);
        MpiPeer& other = peer(from_);
        other.asked.reset();
        if (word.kind == Word::ask) {
            const auto age = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - doing_.since);
            tell(from_, {.kind = Word::doing, .rank = doing_.waits_for, .number = age.count()});
        } else if (word.kind == Word::doing) {
            other.doing.waits_for = word.rank < size() ? word.rank : -1;
            other.doing.since = Clock::now() - std::chrono::microseconds(word.number);
        } else if (word.kind == Word::failed) {
            if (from_ == 0) first_said_ = heard_.substr(sizeof word);
            if (!failure_) failure_.emplace(word.rank, heard_.substr(sizeof word));
        } else if (word.kind == Word::end) {
            other.ended = Clock::now();
            other.sent = word.number;
        }
    }

    // Nothing more comes from there, and nothing is taken.
    bool has_left(int other) {
        const MpiPeer& left = peer(other);
        const bool more_comes = left.came < left.sent && left.arrived < left.places.size();
        if (!left.ended || more_comes) return false;
        return left.sends.empty() || Clock::now() - *left.ended > grace();  // it may have taken what it does not say
    }
    std::chrono::milliseconds grace() const { return std::min(timeout_ / 4, std::chrono::milliseconds(1000)); }

    // Asks `other`, who that waits for, and so on.
    void ask(int other) {
        for (int steps = 0; steps < size() && is_peer(other); steps++) {
            MpiPeer& asked = peer(other);
            if (!asked.ended) tell(other, {.kind = Word::ask});
            if (!asked.asked) asked.asked = Clock::now();
            other = asked.doing.waits_for;
        }
    }

    // ---- errors

    Result<void> check(MpiLock& lock) {
        if (!error_ && failure_) return end(lock, failed(failure_->first, failure_->second));
        if (!error_ && broken_) return end(lock, *broken_);
        return error_ ? heddle::fail(*error_) : Result<void>();
    }

    Result<void> end(MpiLock& lock, Diagnostic why) {
        error_ = std::move(why);
        withdraw(lock);
        return heddle::fail(*error_);
    }

    // What the other side has begun to take or give is not taken back: it is waited for, but not for long.
    void withdraw(MpiLock& lock) {
        const auto until = Clock::now() + std::min(timeout_, std::chrono::milliseconds(300));
        while (Clock::now() < until && !is_still()) {
            progress();
            pause(lock, std::chrono::microseconds(200));
        }
    }
    // What it says of a failure, if it does so soon: who hears of one says it again.
    std::optional<std::string> first_says(MpiLock& lock) {
        const auto until = Clock::now() + grace();
        while (!first_said_ && !peer(0).ended && !broken_ && Clock::now() < until) {
            progress();
            pause(lock, std::chrono::microseconds(200));
        }
        return first_said_;
    }
    bool is_still() const {
        return words_.empty() &&
               std::ranges::all_of(peers_, [](const MpiPeer& each) { return each.sends.empty() && !each.receiving; });
    }

    // All words have left.
    bool drain(MpiLock& lock) {
        withdraw(lock);
        return is_still() && !broken_ && !failure_;
    }

    // ---- waiting

    static void pause(MpiLock& lock, std::chrono::microseconds time) {
        lock.unlock();
        if (time.count() == 0) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(time);
        }
        lock.lock();
    }

    template <typename Ready>
    Result<void> wait(MpiLock& lock, int other, Ready ready) {
        progress();
        if (auto fine = check(lock); !fine) return fine;
        if (ready()) return {};
        doing_ = {other, Clock::now()};
        auto result = wait_as_waiting(lock, other, ready);
        doing_.waits_for = -1;
        return result;
    }

    template <typename Ready>
    Result<void> wait_as_waiting(MpiLock& lock, int other, Ready ready) {
        const auto begin = Clock::now();
        auto next_ask = begin + timeout_ / 8;
        for (int64_t times = 0;; times++) {
            progress();
            if (auto fine = check(lock); !fine) return fine;
            if (ready()) return {};
            if (has_left(other)) return end(lock, lost(other, "it has ended"));
            const auto now = Clock::now();
            if (now >= next_ask) {
                if (auto heard = check_heard(lock, other); !heard) return heard;
                ask(other);
                next_ask = now + timeout_ / 8;
            }
            pause(lock, time_to_pause(now - begin));
        }
    }

    // Others may need this core, but MPI moves nothing while nobody calls it. Who sleeps has what comes late by a part of that.
    std::chrono::microseconds time_to_pause(Clock::duration waited) const {
        using std::chrono::microseconds;
        const bool receives = std::ranges::any_of(peers_, [](const MpiPeer& each) { return each.receiving; });
        const auto time = std::chrono::duration_cast<microseconds>(waited);
        if (receives || time < (has_core_ ? microseconds(20'000) : microseconds(200))) return microseconds(0);
        return std::min(time / 8, microseconds(300));
    }

    Result<void> check_heard(MpiLock& lock, int other) {
        const auto now = Clock::now();
        for (int each = 0; each < size(); each++) {
            if (peer(each).asked && now - *peer(each).asked > timeout_ * 3 / 4)
                return end(lock, silent(each, timeout_));
        }
        const auto doing = [this](int each) -> const Doing& { return each == rank() ? doing_ : peer(each).doing; };
        const auto last = std::max(doing_.since, last_done(other, size(), doing));
        return last + timeout_ <= now ? end(lock, silent(other, timeout_)) : Result<void>();
    }

    // The thread that looks while the program computes.
    void answer() {
        MpiLock lock(mpi_mutex());
        while (!stop_) {
            if (doing_.waits_for < 0) progress();
            const bool moves = std::ranges::any_of(
                peers_, [](const MpiPeer& each) { return !each.sends.empty() || each.arrived < each.places.size(); });
            stopped_.wait_for(lock, moves ? std::chrono::milliseconds(1) : std::chrono::milliseconds(10));
        }
    }

    heddle_mpi* const mpi_;
    const std::chrono::milliseconds timeout_;
    const bool has_core_;  // there are as many cores as processes on this machine
    const int64_t piece_bytes_;
    std::vector<MpiPeer> peers_;
    std::vector<SentWord> words_;  // that have not left
    std::string heard_;            // a word that comes
    int from_ = 0;
    void* hearing_ = nullptr;
    std::optional<std::pair<int, std::string>> failure_;
    std::optional<Diagnostic> broken_;
    Doing doing_;
    std::optional<std::string> first_said_;  // of a failure, by the first process
    bool stop_ = false;
    std::condition_variable stopped_;
    std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Transport>> connect_mpi(const MpiOptions& options) {
    MpiLock lock(mpi_mutex());
    auto mpi = open_mpi(options.library, launched_ranks(), options.start);
    lock.unlock();
    if (!mpi) return fail(std::move(mpi.error()));
    return std::make_unique<Mpi>(*mpi, options);
}

}  // namespace heddle::transport
