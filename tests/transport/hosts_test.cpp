// Files of hosts: what they say, and mistakes in them with their places.
#include <gtest/gtest.h>

#include "helpers/codes.h"
#include "transport/free_hosts.h"
#include "transport/tcp.h"

namespace heddle::transport {
namespace {

Result<std::vector<Host>> read(const std::string& text) {
    return read_hosts(std::make_shared<SourceText>("hosts", text));
}

// "code line:column found" of each problem.
std::string problems(const std::string& text) {
    const auto hosts = read(text);
    if (hosts) return "ok";
    std::string list;
    for (const Diagnostic& problem : hosts.error()) {
        const auto at = problem.place.source->locate(problem.place.offset);
        list += (list.empty() ? "" : "; ") + problem.code + " " + std::to_string(at.line) + ":" +
                std::to_string(at.column) + " " + problem.found;
        EXPECT_FALSE(problem.remedy.empty());
    }
    return list;
}

TEST(Hosts, AreOneALineByRank) {
    const auto hosts = read("# two processes\n127.0.0.1:9000   # the first\n\n\t[::1]:9001\r\nlocalhost:65535");
    ASSERT_TRUE(hosts) << render(hosts.error());
    ASSERT_EQ(hosts->size(), 3u);
    EXPECT_EQ((*hosts)[0].address, "127.0.0.1");
    EXPECT_EQ((*hosts)[0].port, 9000);
    EXPECT_EQ((*hosts)[1].address, "::1");
    EXPECT_EQ((*hosts)[1].port, 9001);
    EXPECT_EQ((*hosts)[2].address, "localhost");
    EXPECT_EQ((*hosts)[2].port, 65535);
}

TEST(Hosts, ThatAreNoneHaveTheirPlaces) {
    EXPECT_EQ(problems("127.0.0.1:9000\n  127.0.0.1\n"), "transport.hosts 2:3 127.0.0.1");
    EXPECT_EQ(problems("127.0.0.1:0"), "transport.hosts 1:1 127.0.0.1:0");
    EXPECT_EQ(problems("127.0.0.1:65536"), "transport.hosts 1:1 127.0.0.1:65536");
    EXPECT_EQ(problems("127.0.0.1:-1"), "transport.hosts 1:1 127.0.0.1:-1");
    EXPECT_EQ(problems("127.0.0.1:9000x"), "transport.hosts 1:1 127.0.0.1:9000x");
    EXPECT_EQ(problems("127.0.0.1: 9000"), "transport.hosts 1:1 127.0.0.1: 9000");
    EXPECT_EQ(problems(":9000"), "transport.hosts 1:1 :9000");
    EXPECT_EQ(problems("::1:9000"), "transport.hosts 1:1 ::1:9000");
    EXPECT_EQ(problems("127.0.0.1:9000 slots=2"), "transport.hosts 1:1 127.0.0.1:9000 slots=2");
    EXPECT_EQ(problems("a\nb\n"), "transport.hosts 1:1 a; transport.hosts 2:1 b");
}

TEST(Hosts, OfWhichThereAreNoneOrTooMany) {
    EXPECT_EQ(problems("# nobody\n"), "transport.hosts 1:1 0");
    EXPECT_EQ(problems(""), "transport.hosts 1:1 0");
    std::string many;
    for (int port = 1; port <= 1025; port++) many += "localhost:" + std::to_string(port) + "\n";
    EXPECT_EQ(problems(many), "transport.hosts 1:1 1025");
    // The messages of a file that is something else are bounded, too.
    EXPECT_EQ(read(std::string(100000, '\n') + std::string(1000, 'x')).error().front().found.size(), 100u);
    std::string binary;
    for (int i = 0; i < 10000; i++) binary += static_cast<char>(i * 37 % 256);
    EXPECT_LE(read(binary).error().size(), 20u);
}

TEST(Hosts, ThatAreTheSameAreRefused) {
    EXPECT_EQ(problems("localhost:1\nlocalhost:2\nlocalhost:1"), "transport.hosts 3:1 localhost:1");
}

TEST(Hosts, BeyondTheLoopbackAreRefused) {
    EXPECT_EQ(problems("127.0.0.1:1\n10.0.0.1:9000"), "transport.not_loopback 2:1 ");
    EXPECT_EQ(problems("0.0.0.0:9000"), "transport.not_loopback 1:1 ");
    EXPECT_EQ(problems("[::]:9000"), "transport.not_loopback 1:1 ");
    EXPECT_EQ(problems("machine1:9000"), "transport.not_loopback 1:1 ");
    // Whoever calls it without a file, too.
    EXPECT_EQ(code_of(connect_tcp({{"127.0.0.1", 9000, {}}, {"10.0.0.1", 9000, {}}}, 0)), "transport.not_loopback");
}

}  // namespace
}  // namespace heddle::transport
