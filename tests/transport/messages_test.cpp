// What every transport between threads of this process must do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>

#include "helpers/codes.h"
#include "transport/agree.h"
#include "transport/in_process.h"
#include "transport/free_hosts.h"
#include "transport/ranks.h"
#include "transport/tcp.h"

namespace heddle::transport {
namespace {

using namespace std::chrono_literals;

struct Kind {
    const char* name;
    Ends (*make)(int size, std::chrono::milliseconds timeout);
};

class Messages : public testing::TestWithParam<Kind> {
protected:
    Ends make(int size, std::chrono::milliseconds timeout = 20s) { return GetParam().make(size, timeout); }
};

TEST_P(Messages, SayWhoTheyAre) {
    const Ends ends = make(3);
    ASSERT_EQ(ends.size(), 3u);
    for (int rank = 0; rank < 3; rank++) {
        EXPECT_EQ(ends[static_cast<size_t>(rank)]->rank(), rank);
        EXPECT_EQ(ends[static_cast<size_t>(rank)]->size(), 3);
        EXPECT_EQ(ends[static_cast<size_t>(rank)]->sent().size(), 3u);
    }
}

TEST_P(Messages, ComeInTheirOrderAndAreCounted) {
    const Ends ends = make(2);
    in_ranks(ends, [](Transport& end) {
        constexpr int count = 200;
        std::vector<std::vector<std::byte>> memory;
        for (int i = 0; i < count; i++) {
            const size_t bytes = static_cast<size_t>(i) * 7;
            memory.push_back(end.rank() == 0 ? message(bytes, 0, i) : std::vector<std::byte>(bytes));
        }
        if (end.rank() == 0) {
            for (auto& bytes : memory) ASSERT_TRUE(send_one(end, 1, bytes));
            ASSERT_TRUE(end.finish());
            EXPECT_EQ(end.sent()[1].messages, count);
            EXPECT_EQ(end.sent()[1].bytes, 7 * count * (count - 1) / 2);
            EXPECT_EQ(end.sent()[0].messages, 0);
        } else {
            for (auto& bytes : memory) ASSERT_TRUE(expect_one(end, 0, bytes));
            for (int i = 0; i < count; i++) ASSERT_TRUE(end.await(0));
            for (int i = 0; i < count; i++) {
                ASSERT_EQ(memory[static_cast<size_t>(i)], message(static_cast<size_t>(i) * 7, 0, i)) << i;
            }
            EXPECT_EQ(end.sent()[0].messages, 0);
        }
    });
}

TEST_P(Messages, AreMadeOfPartsThatNeedNotBeTheReceivers) {
    const Ends ends = make(2);
    in_ranks(ends, [](Transport& end) {
        const auto whole = message(1000, 0, 0);
        auto memory = end.rank() == 0 ? whole : std::vector<std::byte>(1000);
        const std::span<std::byte> all(memory);
        const std::vector<std::span<std::byte>> three = {all.subspan(0, 10), all.subspan(10, 0), all.subspan(10)};
        const std::vector<std::span<std::byte>> four = {all.subspan(0, 0), all.subspan(0, 500), all.subspan(500, 499),
                                                        all.subspan(999)};
        if (end.rank() == 0) {
            ASSERT_TRUE(end.send(1, three));
            ASSERT_TRUE(end.send(1, {}));  // of no parts
            ASSERT_TRUE(end.finish());
        } else {
            ASSERT_TRUE(end.expect(0, four));
            ASSERT_TRUE(end.expect(0, {}));
            ASSERT_TRUE(end.await(0));
            ASSERT_TRUE(end.await(0));
            EXPECT_EQ(memory, whole);
        }
    });
}

// All send all that they have before they take anything: many, of any size, in all directions.
TEST_P(Messages, OfAllToAllNeverBlock) {
    constexpr int size = 4, rounds = 2;
    const Ends ends = make(size);
    in_ranks(ends, [](Transport& end) {
        // Both sides know the sizes: they are drawn from the same seeds.
        const auto sizes = [](int from, int to) {
            std::mt19937 random(static_cast<uint32_t>(100 * from + to));
            std::vector<size_t> list(150);
            for (size_t& bytes : list) bytes = random() % 5 == 0 ? random() % 300000 : random() % 100;
            list[3] = 0;
            return list;
        };
        for (int round = 0; round < rounds; round++) {
            std::vector<std::vector<std::vector<std::byte>>> out(size), in(size);
            for (int peer = 0; peer < size; peer++) {
                if (peer == end.rank()) continue;
                for (size_t bytes : sizes(end.rank(), peer)) out[peer].push_back(message(bytes, end.rank(), round));
                for (size_t bytes : sizes(peer, end.rank())) in[peer].emplace_back(bytes);
                for (auto& bytes : out[peer]) ASSERT_TRUE(send_one(end, peer, bytes));
            }
            // Places are said before and after the messages come.
            for (int peer = size - 1; peer >= 0; peer--) {
                if (peer == end.rank()) continue;
                for (size_t i = 0; i < in[peer].size(); i++) {
                    ASSERT_TRUE(expect_one(end, peer, in[peer][i]));
                    if (i % 3 == 2) {
                        for (int taken = 0; taken < 3; taken++) ASSERT_TRUE(end.await(peer));
                    }
                }
                for (size_t i = 0; i < in[peer].size(); i++) {
                    ASSERT_EQ(in[peer][i], message(in[peer][i].size(), peer, round));
                }
            }
            ASSERT_TRUE(end.finish());
        }
    });
}

TEST_P(Messages, OfAHundredMegabytesGoBothWaysAtOnce) {
    const Ends ends = make(2);
    in_ranks(ends, [](Transport& end) {
        const size_t bytes = 100'000'000;
        auto out = message(bytes, end.rank(), 0);
        std::vector<std::byte> in(bytes);
        ASSERT_TRUE(send_one(end, 1 - end.rank(), out));
        ASSERT_TRUE(expect_one(end, 1 - end.rank(), in));
        ASSERT_TRUE(end.await(1 - end.rank()));
        ASSERT_TRUE(end.finish());
        EXPECT_TRUE(in == message(bytes, 1 - end.rank(), 0));
    });
}

// Who said where a message goes need not come back for it, for its sender to finish.
TEST_P(Messages, LeaveTheirMemoryOnceTheyAreExpected) {
    const Ends ends = make(2);
    in_ranks(ends, [](Transport& end) {
        const int peer = 1 - end.rank();
        for (int i = 0; i < 50; i++) {
            const size_t bytes = i % 10 == 0 ? 3'000'000 : 1000;
            auto out = message(bytes, end.rank(), i);
            std::vector<std::byte> in(bytes);
            ASSERT_TRUE(send_one(end, peer, out));
            ASSERT_TRUE(expect_one(end, peer, in));
            ASSERT_TRUE(end.finish());
            out.assign(bytes, std::byte());
            ASSERT_TRUE(end.await(peer));
            ASSERT_TRUE(in == message(bytes, peer, i));
        }
    });
}

TEST_P(Messages, OfAnotherLengthAreRefused) {
    for (const size_t sent : {9u, 11u, 0u, 1000000u}) {
        const Ends ends = make(2);
        in_ranks(ends, [sent](Transport& end) {
            std::vector<std::byte> out(sent), in(10);
            if (end.rank() == 0) {
                (void)send_one(end, 1, out);
                (void)end.finish();
                return;
            }
            ASSERT_TRUE(expect_one(end, 0, in));
            const auto refused = end.await(0);
            EXPECT_EQ(code_of(refused), "transport.length");
            EXPECT_EQ(rank_of(refused), "0");
            EXPECT_EQ(refused.error().front().found, std::to_string(sent) + " bytes");
            EXPECT_EQ(code_of(end.finish()), "transport.length") << "all calls give it again";
            EXPECT_EQ(code_of(send_one(end, 0, in)), "transport.length");
            end.fail(refused.error());
        });
    }
}

TEST_P(Messages, OfAFailureReachAll) {
    const Ends ends = make(4);
    in_ranks(ends, [](Transport& end) {
        std::vector<std::byte> in(10);
        if (end.rank() == 2) {
            std::this_thread::sleep_for(20ms);
            end.fail({{.code = "test.disk", .summary = "the disk is full", .remedy = "make room"}});
            EXPECT_NE(code_of(end.finish()), "ok");
            return;
        }
        // One waits for it, others for each other, or compute.
        const int from = end.rank() == 1 ? 2 : 1;
        if (end.rank() == 3) std::this_thread::sleep_for(50ms);
        (void)expect_one(end, from, in);
        const auto refused = end.await(from);
        ASSERT_EQ(code_of(refused), "transport.failed") << render(refused.error());
        EXPECT_EQ(rank_of(refused), "2");
        EXPECT_NE(render(refused.error()).find("the disk is full"), std::string::npos) << render(refused.error());
        end.fail(refused.error());  // as any error is told: the rank that began stays named
    });
}

TEST_P(Messages, OfAFailureAreBounded) {
    const Ends ends = make(2);
    in_ranks(ends, [](Transport& end) {
        std::vector<std::byte> in(10);
        if (end.rank() == 0) {
            end.fail({{.code = "test.long", .summary = std::string(10'000'000, 'x')}});
            return;
        }
        (void)expect_one(end, 0, in);
        const auto refused = end.await(0);
        ASSERT_EQ(code_of(refused), "transport.failed");
        EXPECT_LT(render(refused.error()).size(), 20000u);
    });
}

// Each waits for the other, since they run different programs.
TEST_P(Messages, ThatNobodySendsAreNotWaitedForForEver) {
    const Ends ends = make(2, 300ms);
    std::atomic<int> were_silent = 0;
    in_ranks(ends, [&](Transport& end) {
        std::vector<std::byte> in(10);
        (void)expect_one(end, 1 - end.rank(), in);
        const auto begin = std::chrono::steady_clock::now();
        const auto refused = end.await(1 - end.rank());
        const auto took = std::chrono::steady_clock::now() - begin;
        if (code_of(refused) == "transport.silent") {
            EXPECT_EQ(rank_of(refused), std::to_string(1 - end.rank()));
            were_silent++;
        } else {
            EXPECT_EQ(code_of(refused), "transport.failed");
        }
        EXPECT_GE(took, 250ms);
        EXPECT_LT(took, 10s);
        if (!refused) end.fail(refused.error());
    });
    EXPECT_GE(were_silent, 1);
}

// It compiles, say.
TEST_P(Messages, OfWhoIsBusyForLongAreWaitedFor) {
    const Ends ends = make(3, 150ms);
    in_ranks(ends, [](Transport& end) {
        std::vector<std::byte> memory(10);
        if (end.rank() == 0) std::this_thread::sleep_for(700ms);
        if (end.rank() > 0) {  // 2 waits for 1, which waits for 0
            ASSERT_TRUE(expect_one(end, end.rank() - 1, memory));
            const auto there = end.await(end.rank() - 1);
            ASSERT_TRUE(there) << render(there.error());
        }
        if (end.rank() < 2) {
            ASSERT_TRUE(send_one(end, end.rank() + 1, memory));
        }
        ASSERT_TRUE(end.finish());
    });
}

TEST_P(Messages, OfWhoEndedAreNotWaitedFor) {
    Ends ends = make(3);
    std::vector<std::byte> in(10), out(10);
    ASSERT_TRUE(send_one(*ends[0], 1, out));
    std::thread waits([&] {
        (void)expect_one(*ends[1], 2, in);
        const auto refused = ends[1]->await(2);
        EXPECT_EQ(code_of(refused), "transport.lost");
        EXPECT_EQ(rank_of(refused), "2");
    });
    std::this_thread::sleep_for(20ms);
    ends[2].reset();
    waits.join();
}

// What was sent to the end arrives though its sender is gone.
TEST_P(Messages, ThatLeftTheirMemoryArriveWhenTheirSenderHasEnded) {
    Ends ends = make(2);
    in_ranks(ends, [&](Transport& end) {
        auto memory = end.rank() == 0 ? message(300'000, 0, 0) : std::vector<std::byte>(300'000);
        if (end.rank() == 0) {
            ASSERT_TRUE(send_one(end, 1, memory));
            ASSERT_TRUE(end.finish());
            ends[0].reset();
        } else {
            std::this_thread::sleep_for(50ms);
            ASSERT_TRUE(expect_one(end, 0, memory));
            const auto there = end.await(0);
            ASSERT_TRUE(there) << render(there.error());
            EXPECT_EQ(memory, message(300'000, 0, 0));
        }
    });
}

// ---- agreement

std::vector<std::string> agreed(const Ends& ends, const std::vector<int>& digests) {
    std::vector<std::string> said(ends.size());
    in_ranks(ends, [&](Transport& end) {
        const auto rank = static_cast<size_t>(end.rank());
        const std::byte digest[] = {std::byte(1), std::byte(digests[rank])};
        const auto fine = agree(end, "program", digest);
        said[rank] = code_of(fine) + " " + rank_of(fine);
        if (!fine) end.fail(fine.error());
    });
    return said;
}

TEST_P(Messages, OfAgreementNameWhoDiffers) {
    using Said = std::vector<std::string>;
    EXPECT_EQ(agreed(make(1), {5}), Said(1, "ok "));
    EXPECT_EQ(agreed(make(4), {5, 5, 5, 5}), Said(4, "ok "));
    EXPECT_EQ(agreed(make(4), {5, 5, 6, 5}), Said(4, "transport.other_program 2"));
    EXPECT_EQ(agreed(make(5), {5, 6, 7, 5, 5}), Said(5, "transport.other_program 1 2"));
    EXPECT_EQ(agreed(make(2), {5, 6}), Said(2, "transport.other_program 0 1"));
    EXPECT_EQ(agreed(make(4), {5, 6, 6, 5}), Said(4, "transport.other_program 0 1 2 3"));
}

Ends make_tcp(int size, std::chrono::milliseconds timeout) {
    const std::vector<Host> hosts = free_hosts(size);
    Ends ends(hosts.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; rank++) {
        threads.emplace_back([&, rank] {
            auto end = connect_tcp(hosts, rank, {.timeout = timeout});
            ASSERT_TRUE(end) << render(end.error());
            ends[static_cast<size_t>(rank)] = std::move(*end);
        });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
}

INSTANTIATE_TEST_SUITE_P(Transports, Messages,
                         testing::Values(Kind{"in_process", make_in_process}, Kind{"tcp", make_tcp}),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace heddle::transport
