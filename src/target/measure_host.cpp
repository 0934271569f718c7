#include "target/measure_host.h"

#include "target/schema.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

#include "support/thread_pool.h"

namespace heddle {

#if defined(__x86_64__)

namespace {

using Loop = std::function<void()>;

double seconds_of(const Loop& loop) {
    const auto begin = std::chrono::steady_clock::now();
    loop();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double least_seconds(int rounds, const Loop& loop) {
    double least = seconds_of(loop);
    for (int round = 1; round < rounds; round++) least = std::min(least, seconds_of(loop));
    return least;
}

// Loops of vectors of 64 or 32 bytes. Registers 0 to 13 take sums; what they hold is zero, so no operation is slow.
constexpr int accumulators = 14;
constexpr int chained = 16;

#define HEDDLE_VECTOR_REGISTERS                                                                                \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14", "xmm15"

#define HEDDLE_LOOP(NAME, INSTRUCTIONS)                                                                          \
    static void NAME(int64_t rounds) {                                                                           \
        asm volatile("vzeroall" ::: HEDDLE_VECTOR_REGISTERS);                                                    \
        for (int64_t round = 0; round < rounds; round++) asm volatile(INSTRUCTIONS ::: HEDDLE_VECTOR_REGISTERS); \
        asm volatile("vzeroupper" ::: HEDDLE_VECTOR_REGISTERS);                                                  \
    }

#define HEDDLE_VECTOR_LOOPS(NAME, REGISTER, BYTES)                                                \
    struct NAME {                                                                                 \
        static constexpr size_t bytes = BYTES;                                                    \
        HEDDLE_LOOP(multiply_add,                                                                 \
                    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n"                                    \
                    "vfmadd231ps %%" REGISTER "14, %%" REGISTER "15, %%" REGISTER "\\n\n.endr\n") \
        HEDDLE_LOOP(multiply_add_chain,                                                           \
                    ".rept 16\n"                                                                  \
                    "vfmadd231ps %%" REGISTER "14, %%" REGISTER "15, %%" REGISTER "0\n.endr\n")   \
        static constexpr size_t at_once = 8 * BYTES;                                              \
        static void read(const std::byte* from, size_t size) {                                    \
            for (size_t at = 0; at < size; at += at_once)                                         \
                asm volatile(                                                                     \
                    ".irp n,0,1,2,3,4,5,6,7\n"                                                    \
                    "vmovups \\n * " #BYTES "(%0), %%" REGISTER "\\n\n.endr\n" ::"r"(from + at)   \
                    : "memory", HEDDLE_VECTOR_REGISTERS);                                         \
            asm volatile("vzeroupper" ::: HEDDLE_VECTOR_REGISTERS);                               \
        }                                                                                         \
    };

HEDDLE_VECTOR_LOOPS(LongVectors, "zmm", 64)
HEDDLE_VECTOR_LOOPS(ShortVectors, "ymm", 32)

#undef HEDDLE_VECTOR_LOOPS
#undef HEDDLE_LOOP
#undef HEDDLE_VECTOR_REGISTERS

// Additions that wait for each other, one a cycle on every x86-64. (Of a register: constants cost no execution.)
void add_chain(int64_t rounds) {
    uint64_t sum = 0, term = 1;
    for (int64_t round = 0; round < rounds; round++)
        asm volatile(".rept 20\n add %1, %0\n .endr\n" : "+r"(sum) : "r"(term));
}

// So that what is read next comes from memory. (clflush: clflushopt is not on all CPUs.)
void leave_caches(const std::byte* from, size_t size) {
    for (size_t at = 0; at < size; at += 64) asm volatile("clflush (%0)" ::"r"(from + at) : "memory");
    asm volatile("mfence" ::: "memory");
}

// To multiples of `step`, at least one.
double to_steps(double value, double step) { return std::max(1.0, std::round(value / step)) * step; }

// To one of ten steps a decade, each a quarter more than the one before.
double to_tenth_of_decade(double value) {
    return std::stod(fmt::format("{:.1e}", std::pow(10, std::round(std::log10(value) * 10) / 10)));
}

class Pages {
public:
    explicit Pages(size_t size) : size_(size) {
        void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return;
        begin_ = static_cast<std::byte*>(memory);
        ::madvise(memory, size, MADV_HUGEPAGE);
        for (size_t at = 0; at < size; at += 4096) begin_[at] = std::byte{1};  // pages of its own
    }
    ~Pages() {
        if (begin_) ::munmap(begin_, size_);
    }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    const std::byte* begin() const { return begin_; }
    size_t size() const { return size_; }

private:
    std::byte* begin_ = nullptr;
    size_t size_;
};

template <typename Vectors>
class Measurement {
public:
    Measurement(Target& target, const Pages& pages)
        : target_(target),
          pages_(pages),
          pool_(target.cores),
          cycle_(least_seconds(60, [] { add_chain(500); }) / 1e4) {}

    void measure() {
        arithmetic();
        caches();
        memory();
        all_cores();
    }

private:
    void arithmetic() {
        constexpr int64_t rounds = 500;
        const double sum = least_seconds(20, [] { Vectors::multiply_add(rounds); }) / (rounds * accumulators);
        const double chain = least_seconds(20, [] { Vectors::multiply_add_chain(rounds); }) / (rounds * chained);
        target_.fma_per_cycle = to_steps(cycle_ / sum, 0.5);
        target_.fma_latency = static_cast<int>(to_steps(chain / cycle_, 1));
    }

    // A cycle, of what fits into a cache. Read several times, at least 256 kB in all.
    double bytes_per_cycle(int64_t size) const {
        const size_t whole = std::clamp<size_t>(static_cast<size_t>(size) / Vectors::at_once * Vectors::at_once,
                                                Vectors::at_once, pages_.size());
        const size_t times = std::max<size_t>(1, (256 << 10) / whole);
        Vectors::read(pages_.begin(), whole);
        const double seconds = least_seconds(12, [&] {
            for (size_t time = 0; time < times; time++) Vectors::read(pages_.begin(), whole);
        });
        return static_cast<double>(whole * times) * cycle_ / seconds;
    }

    void caches() {
        const double l1 = bytes_per_cycle(target_.l1_bytes / 2) / static_cast<double>(Vectors::bytes);
        target_.loads_per_cycle = to_steps(l1, 0.5);
        target_.l2_bytes_per_cycle = to_steps(bytes_per_cycle(target_.l2_bytes / 2), 4);
        // More than L2 takes, and a share of L3 that others leave.
        const int64_t beyond = std::min(target_.l3_bytes / 2, 3 * target_.l2_bytes);
        target_.l3_bytes_per_cycle = to_steps(bytes_per_cycle(beyond), 2);
    }

    // So many tasks a thread. Nothing where a thread came so late that others took more than half of its share.
    std::optional<double> seconds_together(int64_t tasks, const std::function<void(int64_t task)>& work) {
        std::vector<int64_t> taken(static_cast<size_t>(pool_.threads()));
        const double seconds = seconds_of([&] {
            pool_.run(tasks * pool_.threads(), 1, [&](int thread, int64_t begin, int64_t end) {
                for (int64_t task = begin; task < end; task++) work(task);
                taken[static_cast<size_t>(thread)] += end - begin;
            });
        });
        const auto took_part = [&](int64_t count) { return 2 * count >= tasks; };
        return std::ranges::all_of(taken, took_part) ? std::optional(seconds) : std::nullopt;
    }

    // When rounds are enough: so many take at most `fast` seconds, or all together `limit`.
    struct Until {
        double limit;
        size_t count;
        double fast = std::numeric_limits<double>::infinity();
        int64_t tasks = 1;  // a thread
    };

    // Seconds of rounds in which all threads took part; sorted.
    std::vector<double> rounds_together(const Until& until, const Loop& prepare,
                                        const std::function<void(int64_t task)>& work) {
        std::vector<double> rounds;
        size_t fast = 0;
        const auto begin = std::chrono::steady_clock::now();
        while (fast < until.count &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < until.limit) {
            prepare();
            const auto seconds = seconds_together(until.tasks, work);
            if (!seconds) continue;
            rounds.push_back(*seconds);
            fast += *seconds <= until.fast;
        }
        std::ranges::sort(rounds);
        return rounds;
    }

    void memory() {
        const double whole = static_cast<double>(pages_.size());
        const auto leave = [&] { leave_caches(pages_.begin(), pages_.size()); };
        double least = 1e9;
        for (int round = 0; round < 5; round++) {
            leave();
            least = std::min(least, seconds_of([&] { Vectors::read(pages_.begin(), pages_.size()); }));
        }
        target_.bandwidth_one_core = to_tenth_of_decade(whole / least);
        const size_t part = pages_.size() / static_cast<size_t>(pool_.threads()) / Vectors::at_once * Vectors::at_once;
        const auto rounds = rounds_together(
            {.limit = 6e-3, .count = 20},
            [&] {
                leave();
                seconds_together(1, [](int64_t) { Vectors::multiply_add(2'000); });  // wakes them
            },
            [&](int64_t task) { Vectors::read(pages_.begin() + static_cast<size_t>(task) * part, part); });
        const double shared = rounds.empty() ? 0 : to_tenth_of_decade(whole / rounds.front());
        target_.bandwidth = std::max(shared, target_.bandwidth_one_core);
    }

    void all_cores() {
        constexpr int64_t many = 10'000;
        const double each = least_seconds(10, [] { Vectors::multiply_add(many); });
        const auto rounds = rounds_together(
            {.limit = 20e-3, .count = 3, .fast = 1.03 * each}, [] {}, [](int64_t) { Vectors::multiply_add(many); });
        // Threads of one core halve it. What took longer was disturbed: as if each core were like this one.
        const bool disturbed = rounds.empty() || rounds.front() > 2.2 * each;
        const double seconds = disturbed ? each : std::max(each, rounds.front());
        target_.operations = to_tenth_of_decade(2.0 * many * accumulators * target_.lanes(sizeof(float)) / seconds);
        launch(seconds / each);
    }

    // What a launch takes longer than its share of the work, where there are some tasks of a microsecond a thread, as
    // programs have them: threads begin late, ask for tasks, and end unevenly. The median of rounds in which all took
    // part. `slower` is each task where all cores are busy. A launch of 20 us was disturbed.
    void launch(double slower) {
        constexpr int64_t each = 250, tasks = 8;
        const double share = slower * least_seconds(20, [] { Vectors::multiply_add(each * tasks); });
        const auto rounds = rounds_together(
            {.limit = 12e-3, .count = 300, .tasks = tasks}, [] {}, [](int64_t) { Vectors::multiply_add(each); });
        if (rounds.empty()) return;
        const double launch = std::max(1e-7, rounds[rounds.size() / 2] - share);
        if (launch < 20e-6) target_.launch_seconds = to_tenth_of_decade(launch);
    }

    Target& target_;
    const Pages& pages_;
    ThreadPool pool_;
    const double cycle_;  // seconds
};

}  // namespace

bool can_measure_speed(const Target& target) {
    return target.features.find("+fma") != std::string::npos && target.vector_bytes >= 32;
}

bool measure_speed(Target& target) {
    if (!can_measure_speed(target)) return false;
    const Pages pages(8 << 20);
    if (!pages.begin()) return false;
    if (target.vector_bytes == 64)
        Measurement<LongVectors>(target, pages).measure();
    else
        Measurement<ShortVectors>(target, pages).measure();
    copy_speed(target, target);
    return true;
}

#else

bool can_measure_speed(const Target&) { return false; }
bool measure_speed(Target&) { return false; }

#endif

void copy_speed(const Target& measured, Target& target) {
    for (const auto& field : target_fields()) {
        if (std::string_view(field.from) != "measurement") continue;
        std::visit([&](auto member) { target.*member = measured.*member; }, field.member);
        target.origins[field.name] = {TargetOrigin::Kind::measured, {}};
    }
}

}  // namespace heddle
