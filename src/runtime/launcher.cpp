#include "runtime/launcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include "codegen/device.h"
#include "support/far_index.h"
#include "support/inline_vector.h"
#include "support/progress.h"

namespace heddle::runtime {
namespace {

// A failing kernel writes the point into the first bytes, whatever scratch it asked for.
constexpr int64_t least_scratch = 64;

// One launch made ready: pointers at coordinate zero.
struct Ready {
    const KernelCode* kernel = nullptr;
    const plan::Launch* launch = nullptr;
    InlineVector<std::byte*, 12> buffers;  // without the scratch
    std::span<const int64_t> numbers;
    int64_t tasks = 0, rounds = 1, scratch_bytes = 0;
    bool in_rounds() const { return rounds > 1; }
    int64_t first_task = 0;  // in the batch
};

// The first failing call of a batch by its tasks, so that the message does not depend on the threads.
struct Failure {
    std::mutex mutex;
    int64_t task = -1;  // where the call began, in the batch
    const plan::Launch* launch = nullptr;
    int64_t point[3] = {};
    std::atomic<int64_t> round{std::numeric_limits<int64_t>::max()};  // of it: later ones need not run

    // The point stands in the thread's scratch only until its next call.
    void note(int64_t begin, const plan::Launch& failed, const std::byte* scratch) {
        std::lock_guard lock(mutex);
        if (launch && task < begin) return;
        task = begin;
        launch = &failed;
        std::memcpy(point, scratch, sizeof point);
    }
};

std::unexpected<Diagnostics> out_of_range(const plan::Plan& plan, const plan::Launch& launch,
                                          const int64_t (&point)[3]) {
    const auto& buffers = launch.buffers;
    const auto memory = static_cast<size_t>(point[0]);
    std::string indexed = "a value that it computes before";
    if (memory < buffers.size()) indexed = fmt::format("'{}'", plan.buffers[static_cast<size_t>(buffers[memory])].name);
    // One that was sent there was outside of a part of the tensor, or of what is no tensor now.
    const bool is_given = !is_far_index(point[1]);
    return fail(
        {.code = "runtime.index_out_of_range",
         .summary = fmt::format("computing '{}', an index read from a tensor lies outside of {}", launch.name,
                                is_given ? indexed : "what it is for"),
         .expected = is_given ? fmt::format("0 <= index < {}", point[2]) : "",
         .found = is_given ? std::to_string(point[1]) : "",
         .reason = "the index is data, so it could only be checked while running",
         .params = {{"launch", launch.name}}});
}

// Whether a run is to end. Short runs are not asked about: whoever wants to know may have to wait for others.
class Watch {
public:
    explicit Watch(Progress* progress) : progress_(progress) {}

    bool is_there() const { return progress_ != nullptr; }
    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
    // By thread 0 alone. What takes long begins with this.
    void look() {
        if (!progress_ || stopped()) return;
        if (begin_ == Clock::time_point()) begin_ = Clock::now();
        if (Clock::now() - begin_ < patience) return;
        if (progress_->is_cancelled()) stopped_.store(true, std::memory_order_relaxed);
    }

    using Clock = std::chrono::steady_clock;

private:
    static constexpr std::chrono::milliseconds patience{20};
    Progress* const progress_;
    Clock::time_point begin_ = {};
    std::atomic<bool> stopped_ = false;
};

class BatchRunner {
public:
    BatchRunner(const plan::Plan& plan, const LaunchSite& site)
        : plan_(plan), scratch_(site.scratch), pool_(site.pool), watch_(site.watched) {}

    Result<void> run(std::vector<Ready>& batch) {
        if (pool_.threads() == 1 || is_for_one(batch)) return run_alone(batch);
        const auto in_rounds = std::ranges::stable_partition(batch, [](const Ready& r) { return !r.in_rounds(); });
        if (auto done = run_together({batch.begin(), in_rounds.begin()}); !done) return done;
        for (const Ready& ready : in_rounds) {
            if (auto done = run_rounds(ready); !done) return done;
        }
        return {};
    }

private:
    // Of one task, or one in each round: another thread would only be woken.
    static bool is_for_one(std::span<const Ready> batch) {
        int64_t parts = 0;
        for (const Ready& ready : batch) parts += ready.tasks / std::max<int64_t>(ready.rounds, 1);
        return parts <= 1;
    }

    // On one thread tasks run in order anyway.
    Result<void> run_alone(std::span<Ready> batch) {
        for (Ready& ready : batch) {
            if (ready.tasks == 0) continue;
            if (call_watched(ready, 0, 0, ready.tasks) == 0) {
                if (watch_.stopped()) return cancelled();
                continue;
            }
            int64_t point[3];
            std::memcpy(point, scratch_.front().get(), sizeof point);
            return out_of_range(plan_, *ready.launch, point);
        }
        return {};
    }

    // Tasks of all launches one behind the other.
    Result<void> run_together(std::span<Ready> batch) {
        int64_t tasks = 0;
        for (Ready& ready : batch) {
            ready.first_task = tasks;
            tasks += ready.tasks;
        }
        Failure failure;
        // Some chunks a thread even out what differs between tasks; more cost more than they gain.
        int64_t chunk = std::max<int64_t>(1, tasks / (pool_.threads() * 8));
        pool_.run(tasks, chunk, [&](int thread, int64_t begin, int64_t end) {
            for (const Ready& ready : batch) {
                int64_t low = std::max<int64_t>(begin - ready.first_task, 0);
                int64_t high = std::min(end - ready.first_task, ready.tasks);
                if (low >= high) continue;
                if (call_watched(ready, thread, low, high) == 0) continue;
                failure.note(ready.first_task + low, *ready.launch, scratch_[static_cast<size_t>(thread)].get());
            }
        });
        if (watch_.stopped()) return cancelled();
        if (failure.launch) return out_of_range(plan_, *failure.launch, failure.point);
        return {};
    }

    // All parts of a round, then all of the next one.
    Result<void> run_rounds(const Ready& ready) {
        std::vector<Buffers> buffers;
        for (const auto& scratch : scratch_) buffers.push_back(with_scratch(ready, scratch.get()));
        const int64_t parts = ready.tasks / ready.rounds;
        Failure failure;
        pool_.run_rounds(ready.rounds, parts, [&](int thread, int64_t round, int64_t part) {
            const auto t = static_cast<size_t>(thread);
            const int64_t task = round * parts + part;
            if (round > failure.round.load(std::memory_order_relaxed) || watch_.stopped()) return;
            if (thread == 0 && round % rounds_between_looks == 0) watch_.look();
            if (ready.kernel->function(buffers[t].data(), ready.numbers.data(), task, task + 1) == 0) return;
            failure.note(task, *ready.launch, scratch_[t].get());
            failure.round.store(round, std::memory_order_relaxed);
        });
        if (watch_.stopped()) return cancelled();
        if (failure.launch) return out_of_range(plan_, *failure.launch, failure.point);
        return {};
    }

    // At once, or, where that takes long, in parts with a look between them.
    int32_t call_watched(const Ready& ready, int thread, int64_t begin, int64_t end) {
        constexpr int64_t parts = 16;
        constexpr std::chrono::milliseconds long_part{5};
        if (!watch_.is_there() || end - begin < 2) return watch_.stopped() ? 0 : call(ready, thread, begin, end);
        const int64_t part = std::max<int64_t>(1, (end - begin) / parts);
        for (int64_t at = begin; at < end;) {
            if (thread == 0) watch_.look();
            if (watch_.stopped()) return 0;
            const auto started = Watch::Clock::now();
            if (const int32_t failed = call(ready, thread, at, std::min(at + part, end)); failed != 0) return failed;
            at += part;
            if (at < end && Watch::Clock::now() - started < long_part) return call(ready, thread, at, end);
        }
        return 0;
    }

    int32_t call(const Ready& ready, int thread, int64_t begin, int64_t end) const {
        Buffers buffers = with_scratch(ready, scratch_[static_cast<size_t>(thread)].get());
        return ready.kernel->function(buffers.data(), ready.numbers.data(), begin, end);
    }

    using Buffers = InlineVector<void*, 12>;
    static Buffers with_scratch(const Ready& ready, std::byte* scratch) {
        Buffers buffers;
        for (std::byte* const buffer : ready.buffers) buffers.push_back(buffer);
        buffers.push_back(scratch);
        return buffers;
    }

    const plan::Plan& plan_;
    const std::vector<std::shared_ptr<std::byte>>& scratch_;
    ThreadPool& pool_;
    Watch watch_;
    static constexpr int64_t rounds_between_looks = 64;
};

// Launches in the plan's order, so that of several failing ones the first says so.
Result<void> run_on(codegen::Device& device, const plan::Plan& plan, std::span<const Ready> batch) {
    for (const Ready& ready : batch) {
        const plan::Launch& launch = *ready.launch;
        if (ready.tasks == 0) continue;
        const auto failed = device.launch({.code = ready.kernel->code.get(),
                                           .kernel = ready.kernel->index,
                                           .buffers = {ready.buffers.begin(), ready.buffers.size()},
                                           .numbers = ready.numbers,
                                           .tasks = ready.tasks,
                                           .rounds = ready.rounds,
                                           .scratch_bytes = std::max(ready.scratch_bytes, least_scratch)});
        if (!failed) return fail(failed.error());
        if (*failed) return out_of_range(plan, launch, {(*failed)->buffer, (*failed)->index, (*failed)->extent});
    }
    return {};
}

}  // namespace

Result<void> run_batches(const plan::Plan& plan, std::span<const plan::Batch> batches, const plan::LaunchNumbers& numbers,
                         const std::vector<KernelCode>& kernels, const BufferAddress& address, const LaunchSite& site,
                         std::vector<LaunchTime>* profile, Progress* progress) {
    BatchRunner runner(plan, site);
    auto run = [&](std::vector<Ready>& batch) {
        return site.device ? run_on(*site.device, plan, batch) : runner.run(batch);
    };
    size_t next = 0;  // of the launches
    auto make_ready = [&](const plan::Launch& launch) {
        Ready ready{.kernel = &kernels[static_cast<size_t>(launch.tree)],
                    .launch = &launch,
                    .numbers = numbers.of_tree(next),
                    .tasks = numbers.tasks(next),
                    .rounds = numbers.rounds(next),
                    .scratch_bytes = numbers.scratch_bytes(next)};
        next++;
        for (int32_t b : launch.buffers) ready.buffers.push_back(address(b));
        return ready;
    };
    std::vector<Ready> ready;
    if (!batches.empty()) ready.reserve(batches.front().size());
    auto run_batch = [&](const plan::Batch& batch) -> Result<void> {
        ready.clear();
        if (!profile) {
            for (const plan::Launch& launch : batch) ready.push_back(make_ready(launch));
            return run(ready);
        }
        for (const plan::Launch& launch : batch) {
            ready.assign(1, make_ready(launch));
            auto begin = std::chrono::steady_clock::now();
            if (auto done = run(ready); !done) return done;
            std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
            profile->push_back({launch.name, launch.layout, launch.tree, time.count(), begin});
        }
        return {};
    };
    for (size_t b = 0; b < batches.size(); b++) {
        if (auto fine = site.between ? site.between->before(b) : Result<void>(); !fine) return fine;
        if (auto done = run_batch(batches[b]); !done) return done;
        if (auto fine = site.between ? site.between->behind(b) : Result<void>(); !fine) return fine;
        if (auto wanted = profile ? Result<void>() : step_done(progress); !wanted) return wanted;
    }
    return {};
}

std::vector<std::shared_ptr<std::byte>> allocate_scratch(const plan::Plan& plan, int threads) {
    std::vector<std::shared_ptr<std::byte>> scratch;
    const auto bytes = static_cast<size_t>(std::max(plan.scratch_bytes, least_scratch));
    for (int t = 0; t < threads; t++) scratch.push_back(allocate_buffer(bytes));
    return scratch;
}

}  // namespace heddle::runtime
