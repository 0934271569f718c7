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

struct ThreadPool::State {
    std::vector<std::thread> workers;
    std::atomic<uint32_t> generation{0};  // changes when a job is there
    std::atomic<uint32_t> finished{0};    // workers that are done with it
    std::atomic<int64_t> next{0};
    std::atomic<bool> stop{false};
    int64_t tasks = 0, chunk = 1;
    const Body* body = nullptr;

    void work(int thread) {
        while (true) {
            int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
            if (begin >= tasks) return;
            (*body)(thread, begin, std::min(begin + chunk, tasks));
        }
    }

    void loop(int thread) {
        uint32_t seen = 0;
        while (true) {
            wait_for_change(generation, seen);
            seen = generation.load(std::memory_order_acquire);
            if (stop.load(std::memory_order_relaxed)) return;
            work(thread);
            finished.fetch_add(1, std::memory_order_release);
            finished.notify_one();
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
    chunk = std::max<int64_t>(chunk, 1);
    if (state_->workers.empty() || tasks <= chunk) {
        body(0, 0, tasks);
        return;
    }
    State& state = *state_;
    state.tasks = tasks;
    state.chunk = chunk;
    state.body = &body;
    state.next.store(0, std::memory_order_relaxed);
    state.finished.store(0, std::memory_order_relaxed);
    state.generation.fetch_add(1, std::memory_order_release);
    state.generation.notify_all();
    state.work(0);
    uint32_t workers = static_cast<uint32_t>(state.workers.size());
    for (uint32_t done = state.finished.load(std::memory_order_acquire); done != workers;
         done = state.finished.load(std::memory_order_acquire)) {
        wait_for_change(state.finished, done);
    }
}

}  // namespace heddle
