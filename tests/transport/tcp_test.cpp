// Meetings over TCP: strangers, wrong ranks, who does not come; and connections that break, or bring what they must not.
#include "transport/tcp.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>

#include "helpers/codes.h"
#include "support/descriptor.h"
#include "transport/free_hosts.h"
#include "transport/ranks.h"

namespace heddle::transport {
namespace {

using namespace std::chrono_literals;

// What stands at the begin of both sides of a connection, and of each frame.
struct Greeting {
    char magic[8] = {'h', 'e', 'd', 'd', 'l', 'e', '\r', '\n'};
    uint32_t version = 1, size = 2, from = 0, to = 0;
    uint64_t hosts = 0;
};
struct Frame {
    uint32_t kind = 0, rank = 0;
    uint64_t number = 0, total = 0, payload = 0;
};
constexpr uint32_t frame_message = 1, frame_places = 2, frame_failed = 4;

sockaddr_in address_of(const Host& host) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(host.port));
    ::inet_pton(AF_INET, host.address.c_str(), &address.sin_addr);
    return address;
}

Descriptor listen_there(const Host& host) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = address_of(host);
    EXPECT_EQ(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.number(), 8), 0);
    return socket;
}

Descriptor connect_there(const Host& host) {
    const sockaddr_in address = address_of(host);
    for (int i = 0; i < 1000; i++) {
        Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
        if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
        std::this_thread::sleep_for(5ms);
    }
    ADD_FAILURE() << "nobody listens";
    return {};
}

template <typename Words>
void say(const Descriptor& socket, const Words& words) {
    ASSERT_EQ(::send(socket.number(), &words, sizeof words, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof words));
}

// Whether that many bytes come; false: the connection ends before.
bool hear(const Descriptor& socket, void* bytes, size_t count) {
    return ::recv(socket.number(), bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

// ---- meetings

TEST(TcpMeeting, OfRanksThatThereAreNot) {
    EXPECT_EQ(code_of(connect_tcp(free_hosts(2), 2)), "transport.rank");
    EXPECT_EQ(code_of(connect_tcp(free_hosts(2), -1)), "transport.rank");
    EXPECT_EQ(code_of(connect_tcp({}, 0)), "transport.rank");
}

TEST(TcpMeeting, OfOneIsDoneAtOnce) {
    auto end = connect_tcp(free_hosts(1), 0);
    ASSERT_TRUE(end);
    EXPECT_EQ((*end)->size(), 1);
    EXPECT_TRUE((*end)->finish());
}

TEST(TcpMeeting, NamesWhoDoesNotCome) {
    const auto hosts = free_hosts(3);
    std::vector<Result<std::unique_ptr<Transport>>> ends(2);
    std::thread other([&] { ends[1] = connect_tcp(hosts, 2, {.meeting = 300ms}); });
    ends[0] = connect_tcp(hosts, 0, {.meeting = 300ms});
    other.join();
    for (const auto& end : ends) {
        ASSERT_EQ(code_of(end), "transport.unreachable");
        EXPECT_NE(end.error().front().summary.find("1"), std::string::npos) << end.error().front().summary;
    }
}

TEST(TcpMeeting, NeedsItsPort) {
    const auto hosts = free_hosts(2);
    const Descriptor taken = listen_there(hosts[0]);
    const auto end = connect_tcp(hosts, 0, {.meeting = 5s});
    ASSERT_EQ(code_of(end), "transport.listen");
    EXPECT_FALSE(end.error().front().found.empty());
}

// Who listens there is a server of something else.
TEST(TcpMeeting, RefusesAStrangerWhoAnswers) {
    const auto hosts = free_hosts(2);
    const Descriptor server = listen_there(hosts[0]);
    std::thread stranger([&] {
        const Descriptor guest(::accept(server.number(), nullptr, nullptr));
        EXPECT_EQ(::send(guest.number(), "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL), 28);
        Greeting words;
        (void)hear(guest, &words, sizeof words);
    });
    const auto end = connect_tcp(hosts, 1, {.meeting = 20s});
    stranger.join();
    ASSERT_EQ(code_of(end), "transport.stranger");
    EXPECT_EQ(end.error().front().found, "a program that is not Heddle");
}

// Strangers that connect, with other words, with none, or in plenty, change nothing for the processes that belong together.
TEST(TcpMeeting, RefusesStrangersWhoConnect) {
    const auto hosts = free_hosts(2);
    Result<std::unique_ptr<Transport>> first, second;
    std::thread process([&] { first = connect_tcp(hosts, 0, {.meeting = 20s}); });
    std::vector<Descriptor> silent;
    for (int i = 0; i < 100; i++) silent.push_back(connect_there(hosts[0]));
    const Descriptor browser = connect_there(hosts[0]), pretender = connect_there(hosts[0]),
                     half = connect_there(hosts[0]);
    EXPECT_EQ(::send(browser.number(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    EXPECT_EQ(::send(half.number(), "heddle", 6, MSG_NOSIGNAL), 6);
    say(pretender, Greeting{.size = 7, .from = 6});
    char byte = 0;
    EXPECT_FALSE(hear(browser, &byte, 1)) << "it is told nothing";
    Greeting answer;
    EXPECT_TRUE(hear(pretender, &answer, sizeof answer)) << "it is told who this is";
    EXPECT_EQ(answer.size, 2u);
    EXPECT_FALSE(hear(pretender, &byte, 1));
    second = connect_tcp(hosts, 1, {.meeting = 20s});
    process.join();
    ASSERT_TRUE(first && second);
    std::vector<std::byte> memory(10);
    ASSERT_TRUE(send_one(**first, 1, memory));
    ASSERT_TRUE(expect_one(**second, 0, memory));
    EXPECT_TRUE((*second)->await(0));
    std::thread closes([&] { first->reset(); });
    second->reset();
    closes.join();
}

// Two files of hosts, or two numbers of processes.
TEST(TcpMeeting, RefusesProcessesOfAnotherProgram) {
    const auto hosts = free_hosts(3);
    std::vector<Host> two(hosts.begin(), hosts.begin() + 2), swapped = {hosts[0], hosts[2], hosts[1]};
    for (const auto& others : {two, swapped}) {
        Result<std::unique_ptr<Transport>> first;
        std::thread process([&] { first = connect_tcp(hosts, 0, {.meeting = 700ms}); });
        const auto second = connect_tcp(others, 1, {.meeting = 10s});
        process.join();
        EXPECT_EQ(code_of(second), "transport.stranger");
        ASSERT_EQ(code_of(first), "transport.unreachable");
        EXPECT_NE(first.error().front().found, "") << "it says who came";
    }
}

TEST(TcpMeeting, TakesEachRankOnce) {
    const auto hosts = free_hosts(3);
    std::vector<Result<std::unique_ptr<Transport>>> ends(3);
    std::vector<std::thread> threads;
    for (const int rank : {0, 2, 2}) {
        const size_t at = threads.size();
        threads.emplace_back([&, rank, at] { ends[at] = connect_tcp(hosts, rank, {.meeting = 500ms}); });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& end : ends) EXPECT_EQ(code_of(end), "transport.unreachable");
}

// ---- connections

// A process 0 whose peer is the test itself.
class TcpWire : public testing::Test {
protected:
    void SetUp() override {
        const auto hosts = free_hosts(2);
        // What it answers has the digest of the hosts, which the second attempt says, too.
        Result<std::unique_ptr<Transport>> first;
        std::thread process([&] { first = connect_tcp(hosts, 0, {.meeting = 20s, .timeout = 800ms}); });
        Greeting greeting{.from = 1, .to = 0};
        {
            const Descriptor once = connect_there(hosts[0]);
            Greeting answer;
            say(once, greeting);
            ASSERT_TRUE(hear(once, &answer, sizeof answer));
            greeting.hosts = answer.hosts;
        }
        peer_ = connect_there(hosts[0]);
        say(peer_, greeting);
        Greeting answer;
        EXPECT_TRUE(hear(peer_, &answer, sizeof answer));
        process.join();
        ASSERT_TRUE(first) << render(first.error());
        end_ = std::move(*first);
    }

    // What the process makes of the peer's frames, while it waits for ten bytes.
    std::string await() {
        std::vector<std::byte> memory(10);
        auto there = expect_one(*end_, 1, memory);
        if (there) there = end_->await(1);
        EXPECT_EQ(rank_of(there), there ? "" : "1");
        return code_of(there);
    }

    std::unique_ptr<Transport> end_;
    Descriptor peer_;
};

TEST_F(TcpWire, TakesWhatIsRight) {
    say(peer_, Frame{.kind = frame_message, .total = 10, .payload = 4});
    EXPECT_EQ(::send(peer_.number(), "abcd", 4, MSG_NOSIGNAL), 4);
    say(peer_, Frame{.kind = frame_message, .total = 10, .payload = 6});
    EXPECT_EQ(::send(peer_.number(), "efghij", 6, MSG_NOSIGNAL), 6);
    EXPECT_EQ(await(), "ok");
}

TEST_F(TcpWire, IsSilentWhereNothingComes) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(await(), "transport.silent");
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 400ms);
}

TEST_F(TcpWire, IsLostWhereItCloses) {
    Descriptor().operator=(std::move(peer_));
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, IsLostWhereItClosesInAMessage) {
    say(peer_, Frame{.kind = frame_message, .total = 10, .payload = 10});
    EXPECT_EQ(::send(peer_.number(), "abcd", 4, MSG_NOSIGNAL), 4);
    Descriptor().operator=(std::move(peer_));
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, NeverTakesMoreThanItMay) {
    // A message without a place that is not small: it may be announced, not sent.
    say(peer_, Frame{.kind = frame_message, .total = 1 << 20, .payload = 1 << 18});
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, NeverTakesTooManyWithoutPlaces) {
    for (int i = 0; i < 10000; i++) {
        const Frame empty{.kind = frame_message, .number = static_cast<uint64_t>(i)};
        if (::send(peer_.number(), &empty, sizeof empty, MSG_NOSIGNAL) < 0) break;
    }
    std::this_thread::sleep_for(100ms);
    std::vector<std::byte> memory;
    EXPECT_EQ(code_of(end_->finish()), "transport.lost");
}

TEST_F(TcpWire, IsLostWhereItSaysWhatNobodyExpects) {
    say(peer_, Frame{.kind = 77});
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, IsLostWhereTheOrderIsBroken) {
    say(peer_, Frame{.kind = frame_message, .number = 1, .total = 1, .payload = 1});
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, IsLostWhereAFrameIsLongerThanItsMessage) {
    say(peer_, Frame{.kind = frame_message, .total = 10, .payload = 11});
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, IsLostWhereAFailureIsTooLong) {
    say(peer_, Frame{.kind = frame_failed, .rank = 1, .payload = 1ull << 40});
    EXPECT_EQ(await(), "transport.lost");
}

TEST_F(TcpWire, RefusesMessagesOfAnotherLengthByTheirAnnouncement) {
    say(peer_, Frame{.kind = frame_message, .total = 1ull << 50});
    EXPECT_EQ(await(), "transport.length");
}

// Only what its places are for is sent: the rest waits in the program's memory.
TEST_F(TcpWire, HoldsBackWhatHasNoPlaceThere) {
    std::vector<std::byte> large(1 << 20, std::byte(7)), small(1 << 16, std::byte(8));
    for (int i = 0; i < 10; i++) ASSERT_TRUE(send_one(*end_, 1, small));
    ASSERT_TRUE(send_one(*end_, 1, large));
    std::this_thread::sleep_for(100ms);
    size_t came = 0;
    std::vector<char> bytes(1 << 22);
    for (pollfd there{peer_.number(), POLLIN, 0}; ::poll(&there, 1, 50) > 0;) {
        const ssize_t got = ::recv(peer_.number(), bytes.data(), bytes.size(), 0);
        if (got <= 0) break;
        came += static_cast<size_t>(got);
    }
    EXPECT_GT(came, 100'000u);
    EXPECT_LT(came, 300'000u);
    say(peer_, Frame{.kind = frame_places, .number = 11});
    std::thread drains([&] {
        for (ssize_t got = 1; got > 0 && came < 1'700'000;) {
            got = ::recv(peer_.number(), bytes.data(), bytes.size(), 0);
            if (got > 0) came += static_cast<size_t>(got);
        }
    });
    EXPECT_TRUE(end_->finish());
    drains.join();
    EXPECT_GT(came, 1'700'000u);
}

// Any bytes: nothing but an error comes of them.
TEST_F(TcpWire, SurvivesAnything) {
    std::vector<unsigned char> noise(100000);
    uint32_t state = 5;
    for (unsigned char& byte : noise) byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
    (void)::send(peer_.number(), noise.data(), noise.size(), MSG_NOSIGNAL);
    EXPECT_EQ(await(), "transport.lost");
}

}  // namespace
}  // namespace heddle::transport
