#include "support/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace heddle {
namespace {

// Longer than the gap between two launches of one model, shorter than a scheduler's time slice.
constexpr auto spin_time = std::chrono::microseconds(50);

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// Some hundred nanoseconds to some microseconds.
constexpr int pauses_before_the_clock = 64;

template <typename T>
bool changes_soon(const std::atomic<T>& value, T old) {
    for (int i = 0; i < pauses_before_the_clock; i++) {
        if (value.load(std::memory_order_acquire) != old) return true;
        pause();
    }
    return false;
}

// Waits until `value` differs from `old`: spins for a bounded time, then sleeps in the kernel.
template <typename T>
void wait_for_change(const std::atomic<T>& value, T old) {
    if (changes_soon(value, old)) return;
    const auto until = std::chrono::steady_clock::now() + spin_time;
    while (!changes_soon(value, old)) {
        if (std::chrono::steady_clock::now() < until) continue;
        value.wait(old, std::memory_order_acquire);
        return;
    }
}

constexpr int64_t chunks_of(int64_t tasks, int64_t size) { return (tasks + size - 1) / size; }

// Rounds of one job; its number stands above in 64 bits, like that of chunks.
constexpr uint64_t most_rounds = 0xffff'fff0;
constexpr uint64_t all_done = 0xffff'ffff;  // in place of the open round

}  // namespace

// A job is cut into chunks, handed out by one ticket: the job's number above, below how many chunks nobody has taken.
// Who takes one knows by this alone that it is of that job, which cannot end before the chunk is done: what else
// describes the job, read before, is the job's. Who holds a chunk keeps the job alive; a worker that comes late finds no
// chunk and takes nothing, so that nobody ever waits for it. That is what keeps a busy machine, on which a worker may
// not run for milliseconds, from stalling the caller.
struct ThreadPool::State {
    std::vector<std::thread> workers;
    std::atomic<uint64_t> ticket{0};
    std::atomic<uint32_t> generation{0};  // changes when a job is there
    std::atomic<uint32_t> finished{0};    // chunks of the job that are done
    std::atomic<bool> stop{false};
    // Of the job. Written only while none of its chunks is out; a late worker may read them for nothing, hence atomic.
    std::atomic<int64_t> tasks{0}, chunk{1};
    std::atomic<const Body*> body{nullptr};
    // Of a job in rounds, below its number: the round that is open, and by part the next round that nobody has taken.
    // Both only grow, so that a worker that comes late takes nothing that is done, nor of another job. Who finishes the
    // last part of a round opens the next one: nobody waits for a thread that has not taken a part. Each claim has a
    // cache line, which stays with the thread that takes the part again and again.
    struct alignas(64) Claim {
        std::atomic<uint64_t> next{0};
    };
    struct alignas(64) Barrier {
        std::atomic<uint64_t> open{0};
        std::atomic<uint32_t> done{0};  // parts of the open round
    };
    Barrier barrier;
    std::array<Claim, most_parts> claims;
    std::atomic<uint64_t> rounds{0};
    std::atomic<uint32_t> parts{0};
    std::atomic<const RoundBody*> round_body{nullptr};
    std::atomic<bool> in_rounds{false};

    // Takes chunks of job `number` until none is left.
    void work(int thread, uint32_t number) {
        uint64_t left = ticket.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(left >> 32) == number && static_cast<uint32_t>(left) > 0) {
            const int64_t size = chunk.load(std::memory_order_relaxed), all = tasks.load(std::memory_order_relaxed);
            const Body* run = body.load(std::memory_order_relaxed);
            if (!ticket.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel, std::memory_order_acquire))
                continue;
            const int64_t first = (chunks_of(all, size) - static_cast<uint32_t>(left)) * size;
            (*run)(thread, first, std::min(first + size, all));
            finished.fetch_add(1, std::memory_order_release);
            finished.notify_one();
            left = ticket.load(std::memory_order_acquire);
        }
    }

    // Takes parts of the rounds of job `number` until all are done: those that it took before, and others only where
    // nobody does for a while.
    void work_in_rounds(int thread, uint32_t number) {
        const std::atomic<uint64_t>& open = barrier.open;
        uint64_t now = open.load(std::memory_order_acquire);
        const auto all = static_cast<int64_t>(parts.load(std::memory_order_relaxed));
        const auto taking = std::min(all, static_cast<int64_t>(workers.size()) + 1);
        if (thread >= taking) return;  // it would only take what others have in their caches
        uint64_t own = 0, others = 0;  // its share, and what it has taken over from threads that were late
        for (int64_t part = thread * all / taking; part < (thread + 1) * all / taking; part++)
            own |= uint64_t{1} << part;
        while (static_cast<uint32_t>(now >> 32) == number && static_cast<uint32_t>(now) != all_done) {
            for (uint64_t left = own; left; left &= left - 1) take(thread, now, std::countr_zero(left), all);
            for (uint64_t left = others; left; left &= left - 1) {
                if (!take(thread, now, std::countr_zero(left), all)) others &= ~(left & -left);
            }
            if (!changes_soon(open, now)) {
                for (int64_t part = 0; part < all; part++) {
                    if (take(thread, now, static_cast<int>(part), all)) others |= uint64_t{1} << part;
                }
                wait_for_change(open, now);
            }
            now = open.load(std::memory_order_acquire);
        }
    }

    // False if another thread has taken it.
    bool take(int thread, uint64_t now, int part, int64_t all) {
        std::atomic<uint64_t>& next = claims[static_cast<size_t>(part)].next;
        uint64_t expected = now;
        if (next.load(std::memory_order_relaxed) != now ||
            !next.compare_exchange_strong(expected, now + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
            return false;
        const auto round = static_cast<uint32_t>(now);
        (*round_body.load(std::memory_order_relaxed))(thread, round, part);
        if (barrier.done.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return true;
        barrier.done.store(0, std::memory_order_relaxed);
        const bool last = round + uint64_t{1} == rounds.load(std::memory_order_relaxed);
        barrier.open.store(last ? now | all_done : now + 1, std::memory_order_release);
        barrier.open.notify_all();
        return true;
    }

    // Wakes the workers. In the order of all: whether one sleeps is looked up behind the store.
    void announce(uint32_t number) {
        generation.store(number, std::memory_order_seq_cst);
        generation.notify_all();
    }

    void run_rounds(int64_t all_rounds, int64_t all_parts, const RoundBody& all) {
        const uint32_t number = generation.load(std::memory_order_relaxed) + 1;
        const uint64_t begin = static_cast<uint64_t>(number) << 32;
        rounds.store(static_cast<uint64_t>(all_rounds), std::memory_order_relaxed);
        parts.store(static_cast<uint32_t>(all_parts), std::memory_order_relaxed);
        round_body.store(&all, std::memory_order_relaxed);
        for (int64_t part = 0; part < all_parts; part++)
            claims[static_cast<size_t>(part)].next.store(begin, std::memory_order_relaxed);
        in_rounds.store(true, std::memory_order_relaxed);
        barrier.open.store(begin, std::memory_order_release);
        announce(number);
        work_in_rounds(0, number);
    }

    void loop(int thread) {
        uint32_t seen = 0;
        while (true) {
            wait_for_change(generation, seen);
            seen = generation.load(std::memory_order_acquire);
            if (stop.load(std::memory_order_relaxed)) return;
            if (in_rounds.load(std::memory_order_relaxed))
                work_in_rounds(thread, seen);
            else
                work(thread, seen);
        }
    }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
    for (int t = 1; t < threads; t++) state_->workers.emplace_back([this, t] { state_->loop(t); });
}

ThreadPool::~ThreadPool() {
    state_->stop = true;
    state_->generation.fetch_add(1, std::memory_order_release);
    state_->generation.notify_all();
    for (auto& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(int64_t tasks, int64_t chunk, const Body& body) {
    if (tasks <= 0) return;
    constexpr int64_t most_chunks = 1 << 30;
    chunk = std::max({chunk, int64_t{1}, tasks / most_chunks});
    if (state_->workers.empty() || tasks <= chunk) {
        body(0, 0, tasks);
        return;
    }
    State& state = *state_;
    const auto chunks = static_cast<uint32_t>(chunks_of(tasks, chunk));
    const uint32_t number = state.generation.load(std::memory_order_relaxed) + 1;
    state.tasks.store(tasks, std::memory_order_relaxed);
    state.chunk.store(chunk, std::memory_order_relaxed);
    state.body.store(&body, std::memory_order_relaxed);
    state.finished.store(0, std::memory_order_relaxed);
    state.in_rounds.store(false, std::memory_order_relaxed);
    state.ticket.store(static_cast<uint64_t>(number) << 32 | chunks, std::memory_order_release);
    state.announce(number);
    state.work(0, number);
    for (uint32_t done = state.finished.load(std::memory_order_acquire); done != chunks;
         done = state.finished.load(std::memory_order_acquire)) {
        wait_for_change(state.finished, done);
    }
}

void ThreadPool::run_rounds(int64_t rounds, int64_t parts, const RoundBody& body) {
    if (rounds <= 0 || parts <= 0) return;
    if (state_->workers.empty() || parts == 1 || parts > most_parts) {
        for (int64_t round = 0; round < rounds; round++) {
            run(parts, 1, [&](int thread, int64_t begin, int64_t end) {
                for (int64_t part = begin; part < end; part++) body(thread, round, part);
            });
        }
        return;
    }
    for (int64_t first = 0; first < rounds; first += most_rounds) {
        const RoundBody of_job = [&](int thread, int64_t round, int64_t part) { body(thread, first + round, part); };
        state_->run_rounds(std::min<int64_t>(rounds - first, most_rounds), parts, of_job);
    }
}

}  // namespace heddle
