#include "support/thread_pool.h"

#include <algorithm>
#include <atomic>
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

// Waits until `value` differs from `old`: spins for a bounded time, then sleeps in the kernel.
void wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
    auto until = std::chrono::steady_clock::now() + spin_time;
    for (int i = 0; value.load(std::memory_order_acquire) == old; i++) {
        pause();
        if (i % 64 == 63 && std::chrono::steady_clock::now() >= until) {
            value.wait(old, std::memory_order_acquire);
            return;
        }
    }
}

}  // namespace

// A job is cut into chunks, handed out by one ticket: the job's number above, the next chunk below. Who holds a chunk
// keeps the job alive; a worker that comes late finds no chunk and takes nothing, so that nobody ever waits for it.
// That is what keeps a busy machine, on which a worker may not run for milliseconds, from stalling the caller.
struct ThreadPool::State {
    std::vector<std::thread> workers;
    std::atomic<uint64_t> ticket{0};
    std::atomic<uint32_t> generation{0};  // changes when a job is there
    std::atomic<uint32_t> finished{0};    // chunks of the job that are done
    std::atomic<bool> stop{false};
    // Of the job. Written only while none of its chunks is out; a late worker may read them for nothing, hence atomic.
    std::atomic<int64_t> tasks{0}, chunk{1};
    std::atomic<uint32_t> chunks{0};
    std::atomic<const Body*> body{nullptr};

    // Takes chunks of job `number` until none is left.
    void work(int thread, uint32_t number) {
        uint64_t next = ticket.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(next >> 32) == number) {
            uint32_t index = static_cast<uint32_t>(next);
            int64_t size = chunk.load(std::memory_order_relaxed), all = tasks.load(std::memory_order_relaxed);
            const Body* run = body.load(std::memory_order_relaxed);
            if (index >= chunks.load(std::memory_order_relaxed)) return;
            if (!ticket.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel, std::memory_order_acquire))
                continue;
            (*run)(thread, index* size, std::min((index + 1) * size, all));
            finished.fetch_add(1, std::memory_order_release);
            finished.notify_one();
            next = ticket.load(std::memory_order_acquire);
        }
    }

    void loop(int thread) {
        uint32_t seen = 0;
        while (true) {
            wait_for_change(generation, seen);
            seen = generation.load(std::memory_order_acquire);
            if (stop.load(std::memory_order_relaxed)) return;
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
    uint32_t chunks = static_cast<uint32_t>((tasks + chunk - 1) / chunk);
    uint32_t number = state.generation.load(std::memory_order_relaxed) + 1;
    state.tasks.store(tasks, std::memory_order_relaxed);
    state.chunk.store(chunk, std::memory_order_relaxed);
    state.chunks.store(chunks, std::memory_order_relaxed);
    state.body.store(&body, std::memory_order_relaxed);
    state.finished.store(0, std::memory_order_relaxed);
    state.ticket.store(static_cast<uint64_t>(number) << 32, std::memory_order_release);
    state.generation.store(number, std::memory_order_release);
    state.generation.notify_all();
    state.work(0, number);
    for (uint32_t done = state.finished.load(std::memory_order_acquire); done != chunks;
         done = state.finished.load(std::memory_order_acquire)) {
        wait_for_change(state.finished, done);
    }
}

}  // namespace heddle
