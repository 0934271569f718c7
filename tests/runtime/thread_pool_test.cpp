// The pool runs every task once, on any number of threads.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "support/thread_pool.h"

namespace heddle {
namespace {

TEST(ThreadPool, every_task_once) {
    for (int threads = 1; threads <= 4; threads++) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (int64_t tasks : {1, 2, 3, 7, 64, 1'000, 4'097}) {
            for (int64_t chunk : {1, 2, 5, 64, 10'000}) {
                std::vector<std::atomic<int>> times(static_cast<size_t>(tasks));
                std::atomic<bool> fine{true};
                pool.run(tasks, chunk, [&](int thread, int64_t begin, int64_t end) {
                    if (thread < 0 || thread >= threads || begin < 0 || begin >= end || end > tasks ||
                        (threads > 1 && end - begin > chunk))
                        fine = false;
                    for (int64_t i = begin; i < end; i++) times[static_cast<size_t>(i)]++;
                });
                EXPECT_TRUE(fine) << tasks << " tasks in chunks of " << chunk;
                for (const auto& count : times)
                    ASSERT_EQ(count, 1) << tasks << " tasks in chunks of " << chunk << ", " << threads << " threads";
            }
        }
    }
}

TEST(ThreadPool, no_tasks_call_nothing) {
    for (int threads : {1, 3}) {
        ThreadPool pool(threads);
        bool called = false;
        pool.run(0, 1, [&](int, int64_t, int64_t) { called = true; });
        EXPECT_FALSE(called);
    }
}

// A thread's number belongs to one thread at a time: scratch memory is told apart by it.
TEST(ThreadPool, numbers_of_threads_are_apart) {
    ThreadPool pool(4);
    std::vector<std::atomic<int>> inside(4);
    std::atomic<bool> fine{true};
    for (int round = 0; round < 50; round++) {
        pool.run(200, 3, [&](int thread, int64_t, int64_t) {
            if (++inside[static_cast<size_t>(thread)] != 1) fine = false;
            inside[static_cast<size_t>(thread)]--;
        });
    }
    EXPECT_TRUE(fine);
}

// What tasks wrote is seen after `run`, run after run, however short they are.
TEST(ThreadPool, many_short_runs) {
    ThreadPool pool(3);
    std::vector<int64_t> values(16, 0);
    for (int64_t round = 0; round < 3'000; round++) {
        pool.run(16, 1, [&](int, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++) values[static_cast<size_t>(i)] += i;
        });
    }
    for (int64_t i = 0; i < 16; i++) EXPECT_EQ(values[static_cast<size_t>(i)], 3'000 * i);
}

// Every part once, and only after all of the round before; as many parts as threads, fewer, more.
TEST(ThreadPool, rounds_in_order) {
    for (int threads = 1; threads <= 4; threads++) {
        ThreadPool pool(threads);
        for (int64_t parts : {1, 2, 3, 8}) {
            for (int64_t rounds : {0, 1, 2, 500}) {
                std::vector<std::atomic<int64_t>> done(static_cast<size_t>(parts));
                std::atomic<bool> fine{true};
                pool.run_rounds(rounds, parts, [&](int thread, int64_t round, int64_t part) {
                    if (thread < 0 || thread >= threads) fine = false;
                    auto& own = done[static_cast<size_t>(part)];
                    const int64_t other = done[static_cast<size_t>((part + 1) % parts)];
                    if (own != round || other < round || other > round + 1) fine = false;
                    own++;
                });
                EXPECT_TRUE(fine) << rounds << " rounds of " << parts << ", " << threads << " threads";
            }
        }
    }
}

// Jobs of both kinds by turns, so short that workers come late.
TEST(ThreadPool, rounds_and_tasks_by_turns) {
    ThreadPool pool(4);
    std::vector<int64_t> values(16, 0);
    for (int64_t i = 0; i < 1'000; i++) {
        pool.run_rounds(i % 5, 1 + i % 4, [&](int, int64_t, int64_t part) { values[static_cast<size_t>(part)]++; });
        pool.run(16, 1, [&](int, int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; k++) values[static_cast<size_t>(k)]++;
        });
    }
    int64_t all = 0, wanted = 0;
    for (int64_t value : values) all += value;
    for (int64_t i = 0; i < 1'000; i++) wanted += i % 5 * (1 + i % 4) + 16;
    EXPECT_EQ(all, wanted);
}

TEST(ThreadPool, made_and_ended_without_work) {
    for (int threads = 1; threads <= 4; threads++) ThreadPool pool(threads);
}

}  // namespace
// A worker that comes late from a job takes nothing of the next one, which has more chunks, before it begins.
TEST(ThreadPool, jobs_of_many_sizes) {
    ThreadPool pool(6);
    std::vector<std::atomic<int>> taken(64);
    for (int64_t job = 0; job < 400'000; job++) {
        const int64_t tasks = 2 + job * 7 % 60;
        pool.run(tasks, 1, [&](int, int64_t begin, int64_t end) {
            for (int64_t task = begin; task < end; task++) taken[static_cast<size_t>(task)]++;
        });
        for (int64_t task = 0; task < tasks; task++)
            ASSERT_EQ(taken[static_cast<size_t>(task)].exchange(0), 1) << "task " << task << " of job " << job;
    }
}

}  // namespace heddle
