// Files of hosts.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <map>

#include <fmt/format.h>

#include "transport/tcp_meeting.h"

namespace heddle::transport {
namespace {

constexpr size_t most_hosts = 1024;

bool is_loopback(const std::string& address) {
    if (address == "localhost") return true;
    in_addr four{};
    if (::inet_pton(AF_INET, address.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
    in6_addr six{};
    return ::inet_pton(AF_INET6, address.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

Diagnostic not_a_host(std::string_view found, Place place) {
    return {.code = "transport.hosts",
            .summary = "this is no address and port",
            .place = std::move(place),
            .expected = "127.0.0.1:9000, [::1]:9000 or localhost:9000, with a port from 1 to 65535",
            .found = std::string(found.substr(0, 100)),
            .remedy = "write one process a line, in the order of the ranks"};
}

Result<Host> read_host(std::string_view word, const Place& place) {
    const size_t colon = word.rfind(':');
    if (colon == std::string_view::npos) return fail(not_a_host(word, place));
    std::string_view address = word.substr(0, colon), digits = word.substr(colon + 1);
    if (address.starts_with('[') && address.ends_with(']')) {
        address = address.substr(1, address.size() - 2);
    } else if (address.find(':') != std::string_view::npos) {
        return fail(not_a_host(word, place));
    }
    int port = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (address.empty() || problem != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535)
        return fail(not_a_host(word, place));
    Host host{std::string(address), port, place};
    if (auto allowed = check_loopback(host); !allowed) return fail(std::move(allowed.error()));
    return host;
}

}  // namespace

Result<void> check_loopback(const Host& host) {
    if (is_loopback(host.address)) return {};
    return fail({.code = "transport.not_loopback",
                 .summary = fmt::format("'{}' is not an address of this machine alone", host.address.substr(0, 100)),
                 .place = host.place,
                 .expected = "an address 127.x.x.x, [::1] or localhost",
                 .reason = "what is sent is not encrypted, and anybody on the network could take part",
                 .remedy = "use MPI between machines; encrypted connections come later"});
}

Result<std::vector<Host>> read_hosts(const std::shared_ptr<const SourceText>& text) {
    constexpr std::string_view blank = " \t\r";
    const std::string_view all = text->text();
    std::vector<Host> hosts;
    Diagnostics problems;
    std::map<std::pair<std::string, int>, Place> seen;
    for (size_t begin = 0; begin < all.size() && problems.size() < 20;) {
        const size_t end = std::min(all.find('\n', begin), all.size());
        std::string_view line = all.substr(begin, end - begin);
        line = line.substr(0, line.find('#'));
        const size_t first = line.find_first_not_of(blank);
        const size_t offset = begin + first;
        begin = end + 1;
        if (first == std::string_view::npos) continue;
        const std::string_view word = line.substr(first, line.find_last_not_of(blank) - first + 1);
        auto host = read_host(word, {text, offset, word.size()});
        if (!host) {
            problems.push_back(std::move(host.error().front()));
            continue;
        }
        const auto [before, fresh] = seen.emplace(std::pair(host->address, host->port), host->place);
        if (!fresh) {
            problems.push_back({.code = "transport.hosts",
                                .summary = "two processes have the same address and port",
                                .place = host->place,
                                .found = std::string(word),
                                .remedy = "give each its own port",
                                .contexts = {{"the first one", before->second}}});
        }
        hosts.push_back(std::move(*host));
    }
    if (problems.empty() && (hosts.empty() || hosts.size() > most_hosts)) {
        problems.push_back({.code = "transport.hosts",
                            .summary = "a file of hosts names the processes of a program",
                            .place = {text, 0, 0},
                            .expected = fmt::format("1 to {} lines 'address:port'", most_hosts),
                            .found = std::to_string(hosts.size()),
                            .remedy = "write one process a line, in the order of the ranks"});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return hosts;
}

}  // namespace heddle::transport
