// One process of several, for processes.py:
//   rank tcp MILLISECONDS SCENARIO HOSTS RANK, or rank mpi MILLISECONDS SCENARIO LIBRARY, or, for two threads of a process,
//   rank threads MILLISECONDS SCENARIO
// It prints "ok", or the code of an error, the rank that it names, and its text; then it exits with 1.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include <fmt/format.h>

#include "support/file.h"
#include "transport/agree.h"
#include "transport/in_process.h"
#include "transport/mpi.h"
#include "transport/ranks.h"
#include "transport/tcp.h"

namespace heddle::transport {
namespace {

using namespace std::chrono_literals;

void say(Transport& end, const std::string& line) {
    const std::string text = fmt::format("rank {}: {}\n", end.rank(), line);
    (void)!::write(1, text.data(), text.size());  // whole lines, whoever else writes
}

Result<void> one_way(Transport& end, int to, std::vector<std::byte>& bytes) {
    if (auto sent = send_one(end, to, bytes); !sent) return sent;
    return end.finish();
}

Result<void> wait_for(Transport& end, int from, std::vector<std::byte>& bytes) {
    if (auto placed = expect_one(end, from, bytes); !placed) return placed;
    return end.await(from);
}

// Many messages of random sizes between all; 100 MB both ways; parts that differ on both sides.
Result<void> messages(Transport& end) {
    const auto sizes = [](int from, int to, int round) {
        std::mt19937 random(static_cast<uint32_t>(1000 * from + 10 * to + round));
        std::vector<size_t> list(100);
        for (size_t& bytes : list) bytes = random() % 5 == 0 ? random() % 300000 : random() % 100;
        list[3] = 0;
        if (round == 2 && from + to == 1) list[50] = 100'000'000;
        return list;
    };
    for (int round = 0; round < 3; round++) {
        std::map<int, std::vector<std::vector<std::byte>>> out, in;
        for (int peer = 0; peer < end.size(); peer++) {
            if (peer == end.rank()) continue;
            for (size_t bytes : sizes(end.rank(), peer, round)) out[peer].push_back(message(bytes, end.rank(), round));
            for (size_t bytes : sizes(peer, end.rank(), round)) in[peer].emplace_back(bytes);
            for (auto& bytes : out[peer]) {
                const std::span<std::byte> all(bytes);
                const std::span<std::byte> two[] = {all.first(bytes.size() / 3), all.subspan(bytes.size() / 3)};
                if (auto sent = end.send(peer, two); !sent) return sent;
            }
        }
        for (auto& [peer, list] : in) {
            for (auto& bytes : list) {
                const std::span<std::byte> all(bytes);
                const std::span<std::byte> two[] = {all.first(bytes.size() / 2), all.subspan(bytes.size() / 2)};
                if (auto placed = end.expect(peer, two); !placed) return placed;
            }
        }
        for (auto& [peer, list] : in) {
            for (auto& bytes : list) {
                if (auto there = end.await(peer); !there) return there;
                if (bytes != message(bytes.size(), peer, round))
                    return fail({.code = "test.bytes", .summary = fmt::format("other bytes from {}", peer)});
            }
        }
        if (auto left = end.finish(); !left) return left;
    }
    return {};
}

// Rank 1 computes for ever, all others wait for it: it is killed, or stopped.
Result<void> hang(Transport& end) {
    std::vector<std::byte> memory(10);
    say(end, fmt::format("pid {}", ::getpid()));
    if (end.rank() == 1) std::this_thread::sleep_for(60s);
    return wait_for(end, 1, memory);
}

// Rank 0 computes for longer than the timeout; the others wait for one another, and for it.
Result<void> busy(Transport& end) {
    std::vector<std::byte> memory(10);
    if (end.rank() == 0) std::this_thread::sleep_for(2s);
    if (end.rank() > 0) {
        if (auto there = wait_for(end, end.rank() - 1, memory); !there) return there;
    }
    return end.rank() + 1 < end.size() ? one_way(end, end.rank() + 1, memory) : Result<void>();
}

Result<void> failure(Transport& end) {
    std::vector<std::byte> memory(10);
    if (end.rank() != 2) return wait_for(end, 1 + end.rank() % 2, memory);
    return fail({.code = "test.disk", .summary = "the disk is full", .params = {{"rank", "2"}}});
}

// Both wait for what the other does not send.
Result<void> crossed(Transport& end) {
    std::vector<std::byte> memory(10);
    return wait_for(end, end.rank() ^ 1, memory);
}

Result<void> length(Transport& end) {
    std::vector<std::byte> ten(10), eleven(3'000'000);
    return end.rank() == 0 ? one_way(end, 1, eleven) : wait_for(end, 0, ten);
}

// Rank 1 leaves before it has sent what is expected.
Result<void> leave(Transport& end) {
    std::vector<std::byte> memory(10);
    return end.rank() == 1 ? Result<void>() : wait_for(end, 1, memory);
}

Result<void> other(Transport& end) {
    const std::byte digest[] = {std::byte(1), std::byte(end.rank() == 2 ? 3 : 2)};
    return agree(end, "program", digest);
}

// Times of one way between ranks 0 and 1, of a message that goes to and fro.
Result<void> measure(Transport& end) {
    for (const auto& [bytes, times] : {std::pair<size_t, int>{8, 3000}, {1 << 20, 300}, {64 << 20, 10}}) {
        std::vector<std::byte> memory(bytes);
        if (end.rank() > 1) continue;
        std::chrono::steady_clock::time_point begin;
        for (int i = -times / 10 - 1; i < times; i++) {
            if (i == 0) begin = std::chrono::steady_clock::now();
            for (int turn = 0; turn < 2; turn++) {
                auto done = end.rank() == turn ? one_way(end, 1 - turn, memory) : wait_for(end, 1 - end.rank(), memory);
                if (!done) return done;
            }
        }
        const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / times / 2;
        if (end.rank() == 0)
            say(end, fmt::format("{} bytes: {:.1f} us, {:.2f} GB/s", bytes, time * 1e6,
                                 static_cast<double>(bytes) / time / 1e9));
    }
    return {};
}

void work_for(std::chrono::microseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
    }
}

// Times of a step in which all work, and hand to the next and get from the one before; or in which they work in turn, so that
// each waits for as long as all others work.
Result<void> measure_steps(Transport& end) {
    std::vector<std::byte> out(8), in(8);
    const int next = (end.rank() + 1) % end.size(), before = (end.rank() + end.size() - 1) % end.size();
    for (const auto& [work, in_turn] : {std::pair(50us, false), {1000us, false}, {50us, true}, {1000us, true}}) {
        constexpr int times = 300;
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < times; i++) {
            if (in_turn && end.rank() > 0) {
                if (auto there = wait_for(end, before, in); !there) return there;
            }
            work_for(work);
            if (auto sent = one_way(end, next, out); !sent) return sent;
            if (in_turn && end.rank() > 0) continue;
            if (auto there = wait_for(end, before, in); !there) return there;
        }
        const auto step = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin) / times;
        if (end.rank() == 0)
            say(end, fmt::format("{} us of work {}: a step of {:.1f} us", work.count(), in_turn ? "in turn" : "of all",
                                 step.count()));
    }
    return {};
}

const std::map<std::string, Result<void> (*)(Transport&)> scenarios = {
    {"messages", messages}, {"hang", hang},   {"busy", busy},   {"failure", failure}, {"crossed", crossed},
    {"length", length},     {"leave", leave}, {"other", other}, {"measure", measure}, {"steps", measure_steps}};

Result<std::unique_ptr<Transport>> connect(const std::vector<std::string>& arguments) {
    const std::chrono::milliseconds timeout(std::stoi(arguments[2]));
    if (arguments[1] == "mpi") {
        // Pieces so small that some messages are cut.
        return connect_mpi({.timeout = timeout,
                            .library = arguments[4],
                            .piece_bytes = arguments[3] == "messages" ? 1 << 20 : 1 << 30});
    }
    auto text = read_file(arguments[4], 1 << 20);
    if (!text) return fail(std::move(text.error()));
    auto hosts = read_hosts(std::make_shared<SourceText>(arguments[4], *text));
    if (!hosts) return fail(std::move(hosts.error()));
    return connect_tcp(*hosts, std::stoi(arguments[5]), {.timeout = timeout});
}

int report(const std::string& who, const Diagnostics& why) {
    const std::string text =
        fmt::format("{}: error {} of {}\n{}", who, why.front().code, rank_of(fail(why)), render(why));
    (void)!::write(1, text.data(), text.size());
    return 1;
}

int run_threads(const std::vector<std::string>& arguments) {
    in_ranks(make_in_process(2, std::chrono::milliseconds(std::stoi(arguments[2]))), [&](Transport& end) {
        auto done = scenarios.at(arguments[3])(end);
        if (!done) report(fmt::format("rank {}", end.rank()), done.error());
    });
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    if (arguments[1] == "threads") return run_threads(arguments);
    auto end = connect(arguments);
    if (!end) return report("nobody", end.error());
    const std::string who = fmt::format("rank {}", (*end)->rank());
    auto done = scenarios.at(arguments[3])(**end);
    if (!done) {
        (*end)->fail(done.error());
        end->reset();
        return report(who, done.error());
    }
    say(**end, "ok");
    end->reset();
    return 0;
}

}  // namespace
}  // namespace heddle::transport

int main(int count, char** words) { return heddle::transport::run(std::vector<std::string>(words, words + count)); }
