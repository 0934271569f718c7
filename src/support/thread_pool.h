// A small fork-join pool: one caller, a fixed set of workers, independent tasks taken in chunks from a shared counter,
// or rounds of tasks, one round after the other.
// A worker spins for a bounded time after its last job and then sleeps, so that an idle pool costs other processes
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace heddle {

class ThreadPool {
public:
    // `threads` >= 1 in all, the caller's included.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const;

    // Calls body(thread, begin, end) until [0, tasks) is covered, each task once, in chunks of at most `chunk` (on a
    // pool of one thread all at once); returns when all are done. One caller at a time; `body` must not throw nor call
    // the pool.
    using Body = std::function<void(int thread, int64_t begin, int64_t end)>;
    void run(int64_t tasks, int64_t chunk, const Body& body);

    // Calls body(thread, round, part) for all parts of each round; those of a round begin when all of the one before
    // are done. The same thread takes the same parts again as long as it keeps up: what a part works on stays in its
    // core's cache. At most `most_parts`. The rest as for `run`.
    static constexpr int64_t most_parts = 64;
    using RoundBody = std::function<void(int thread, int64_t round, int64_t part)>;
    void run_rounds(int64_t rounds, int64_t parts, const RoundBody& body);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle
