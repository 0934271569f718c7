#include "transport/tcp_meeting.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "transport/waiting.h"

namespace heddle::transport {
namespace {

// The first words of both sides of a connection.
struct Hello {
    char magic[8] = {'h', 'e', 'd', 'd', 'l', 'e', '\r', '\n'};
    uint32_t version = 1, size = 0, from = 0, to = 0;
    uint64_t hosts = 0;  // all have the same list
};

uint64_t digest_of(const std::vector<Host>& hosts) {
    uint64_t digest = 14695981039346656037ull;  // FNV-1a
    for (const Host& host : hosts) {
        for (char letter : fmt::format("{}:{}\n", host.address, host.port))
            digest = (digest ^ static_cast<unsigned char>(letter)) * 1099511628211ull;
    }
    return digest;
}

struct Address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    int family() const { return bytes.ss_family; }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

Address address_of(const Host& host) {
    Address address;
    const std::string text = host.address == "localhost" ? "127.0.0.1" : host.address;
    auto* four = reinterpret_cast<sockaddr_in*>(&address.bytes);
    if (::inet_pton(AF_INET, text.c_str(), &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(static_cast<uint16_t>(host.port));
        address.size = sizeof *four;
        return address;
    }
    auto* six = reinterpret_cast<sockaddr_in6*>(&address.bytes);
    ::inet_pton(AF_INET6, text.c_str(), &six->sin6_addr);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(static_cast<uint16_t>(host.port));
    address.size = sizeof *six;
    return address;
}

std::string name_of(const Host& host) { return fmt::format("{}:{}", host.address, host.port); }

Descriptor new_socket(int family) {
    return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set(const Descriptor& socket, int level, int option) {
    const int on = 1;
    ::setsockopt(socket.number(), level, option, &on, sizeof on);
}

Result<Descriptor> listen_at(const Host& host) {
    const Address address = address_of(host);
    Descriptor socket = new_socket(address.family());
    if (socket.open()) set(socket, SOL_SOCKET, SO_REUSEADDR);
    if (socket.open() && ::bind(socket.number(), address.get(), address.size) == 0 &&
        ::listen(socket.number(), SOMAXCONN) == 0)
        return socket;
    return fail({.code = "transport.listen",
                 .summary = fmt::format("this process cannot listen at {}", name_of(host)),
                 .place = host.place,
                 .found = std::strerror(errno),
                 .remedy = "write a free port into the file of hosts, for all processes"});
}

// A connection that is being made, from either side.
struct Attempt {
    Descriptor socket;
    enum { none, connecting, answering } state = none;
    Clock::time_point next{};  // not before: of `none`
    Hello said;
    size_t got = 0;

    // Whether all of the other's words are there; nullopt: it closed, or says something else.
    std::optional<bool> hear() {
        while (got < sizeof said) {
            const ssize_t bytes =
                ::recv(socket.number(), reinterpret_cast<char*>(&said) + got, sizeof said - got, MSG_DONTWAIT);
            if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes <= 0) return std::nullopt;
            got += static_cast<size_t>(bytes);
            if (std::memcmp(said.magic, Hello().magic, std::min(got, sizeof said.magic)) != 0) {
                got = sizeof said;
                return true;
            }
        }
        return true;
    }
};

class Meeting {
public:
    Meeting(const std::vector<Host>& hosts, int rank, std::chrono::milliseconds timeout)
        : hosts_(hosts),
          rank_(rank),
          deadline_(Clock::now() + timeout),
          made_(hosts.size()),
          attempts_(static_cast<size_t>(rank)) {
        ours_.size = static_cast<uint32_t>(hosts.size());
        ours_.from = static_cast<uint32_t>(rank);
        ours_.hosts = digest_of(hosts);
    }

    Result<std::vector<Descriptor>> run() {
        if (rank_ + 1 < static_cast<int>(hosts_.size())) {
            auto listening = listen_at(hosts_[static_cast<size_t>(rank_)]);
            if (!listening) return fail(std::move(listening.error()));
            listening_ = std::move(*listening);
        }
        while (missing() > 0) {
            if (Clock::now() >= deadline_) return fail(unreachable());
            for (int peer = 0; peer < rank_; peer++) {
                if (auto fine = go_on(peer); !fine) return fail(std::move(fine.error()));
            }
            if (listening_.open()) accept();
            if (missing() > 0) wait();
        }
        return std::move(made_);
    }

private:
    int64_t missing() const {
        return std::ranges::count_if(made_, [](const Descriptor& each) { return !each.open(); }) - 1;
    }

    // ---- to lower ranks

    void try_again(Attempt& attempt) {
        attempt = {};
        attempt.next = Clock::now() + std::chrono::milliseconds(20);
    }

    void connect(Attempt& attempt, int peer) {
        const Address address = address_of(hosts_[static_cast<size_t>(peer)]);
        attempt.socket = new_socket(address.family());
        attempt.state = Attempt::connecting;
        if (!attempt.socket.open()) return try_again(attempt);
        set(attempt.socket, IPPROTO_TCP, TCP_NODELAY);
        if (::connect(attempt.socket.number(), address.get(), address.size) != 0 && errno != EINPROGRESS)
            try_again(attempt);
    }

    void greet(Attempt& attempt, int peer) {
        pollfd now{attempt.socket.number(), POLLOUT, 0};
        if (::poll(&now, 1, 0) <= 0) return;
        int problem = 0;
        socklen_t size = sizeof problem;
        ::getsockopt(attempt.socket.number(), SOL_SOCKET, SO_ERROR, &problem, &size);
        if (problem != 0 || !say(attempt.socket, static_cast<uint32_t>(peer))) return try_again(attempt);
        attempt.state = Attempt::answering;
    }

    Result<void> go_on(int peer) {
        Attempt& attempt = attempts_[static_cast<size_t>(peer)];
        if (made_[static_cast<size_t>(peer)].open()) return {};
        if (attempt.state == Attempt::none && Clock::now() >= attempt.next) connect(attempt, peer);
        if (attempt.state == Attempt::connecting) greet(attempt, peer);
        if (attempt.state != Attempt::answering) return {};
        const std::optional<bool> heard = attempt.hear();
        if (!heard) try_again(attempt);
        if (!heard || !*heard) return {};
        const Hello& said = attempt.said;
        // A port of those that the system gives out may be connected to itself.
        if (std::memcmp(&said, &sent_, sizeof said) == 0 && said.from == static_cast<uint32_t>(rank_)) {
            try_again(attempt);
            return {};
        }
        if (!fits(said) || said.from != static_cast<uint32_t>(peer)) return fail(stranger(peer, said));
        made_[static_cast<size_t>(peer)] = std::move(attempt.socket);
        return {};
    }

    // ---- from higher ranks

    void accept() {
        constexpr size_t most_guests = 64;
        for (;;) {
            Attempt guest;
            guest.socket = Descriptor(::accept4(listening_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!guest.socket.open()) break;
            set(guest.socket, IPPROTO_TCP, TCP_NODELAY);
            if (guests_.size() == most_guests) guests_.erase(guests_.begin());
            guests_.push_back(std::move(guest));
        }
        std::erase_if(guests_, [this](Attempt& guest) { return receive(guest); });
    }

    // Whether there is no more to hear of the guest: it is taken, or refused.
    bool receive(Attempt& guest) {
        const std::optional<bool> heard = guest.hear();
        if (heard && !*heard) return false;
        if (!heard) return true;
        const Hello& said = guest.said;
        if (!is_ours(said)) {
            refused_ = "what connected to this process was no process of a program";
            return true;
        }
        // Who is one, but of another program or rank, is told who this is.
        if (!say(guest.socket, said.from)) return true;
        const bool wanted = fits(said) && said.from > static_cast<uint32_t>(rank_) && said.from < hosts_.size();
        if (!wanted) refused_ = described(said);
        if (wanted && !made_[said.from].open()) made_[said.from] = std::move(guest.socket);
        return true;
    }

    // ---- words

    bool say(const Descriptor& socket, uint32_t to) {
        sent_ = ours_;
        sent_.to = to;
        return ::send(socket.number(), &sent_, sizeof sent_, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof sent_;
    }
    static bool is_ours(const Hello& said) { return std::memcmp(said.magic, Hello().magic, sizeof said.magic) == 0; }
    bool fits(const Hello& said) const {
        return is_ours(said) && said.version == ours_.version && said.size == ours_.size && said.hosts == ours_.hosts &&
               said.to == ours_.from;
    }
    std::string described(const Hello& said) const {
        if (!is_ours(said)) return "a program that is not Heddle";
        if (said.version != ours_.version) return "a process of another version of Heddle";
        if (said.size != ours_.size) return fmt::format("process {} of {}", said.from, said.size);
        if (said.hosts != ours_.hosts) return fmt::format("process {}, which has another file of hosts", said.from);
        return fmt::format("process {}", said.from);
    }

    Diagnostic stranger(int peer, const Hello& said) const {
        const Host& host = hosts_[static_cast<size_t>(peer)];
        return {.code = "transport.stranger",
                .summary = fmt::format("who listens at {} is not process {} of this program", name_of(host), peer),
                .place = host.place,
                .expected = fmt::format("process {} of {}", peer, hosts_.size()),
                .found = described(said),
                .remedy = "give all processes the same file of hosts, and each its own rank",
                .params = {{"rank", std::to_string(peer)}}};
    }

    Diagnostic unreachable() const {
        std::vector<int> who;
        for (int peer = 0; peer < static_cast<int>(hosts_.size()); peer++) {
            if (peer != rank_ && !made_[static_cast<size_t>(peer)].open()) who.push_back(peer);
        }
        const std::span some = std::span(who).first(std::min<size_t>(who.size(), 10));
        const std::string names = fmt::format("{}", fmt::join(some, ", "));
        return {.code = "transport.unreachable",
                .summary = fmt::format("there is no connection with process {} in time", names),
                .place = hosts_[static_cast<size_t>(who.front())].place,
                .found = refused_,
                .reason = "it was not started, has ended, or listens elsewhere",
                .remedy = "start all processes with the same file of hosts, each with its rank",
                .params = {{"rank", std::to_string(who.front())}}};
    }

    void wait() {
        std::vector<pollfd> list;
        if (listening_.open()) list.push_back({listening_.number(), POLLIN, 0});
        for (const Attempt& attempt : attempts_) {
            if (attempt.socket.open())
                list.push_back({attempt.socket.number(),
                                static_cast<short>(attempt.state == Attempt::connecting ? POLLOUT : POLLIN), 0});
        }
        for (const Attempt& guest : guests_) list.push_back({guest.socket.number(), POLLIN, 0});
        ::poll(list.data(), list.size(), 20);
    }

    const std::vector<Host>& hosts_;
    const int rank_;
    const Clock::time_point deadline_;
    std::vector<Descriptor> made_;   // by rank
    std::vector<Attempt> attempts_;  // by rank, of the lower ones
    std::vector<Attempt> guests_;    // of the higher ones, and of strangers
    Descriptor listening_;
    Hello ours_, sent_;
    std::string refused_;  // who, the last time
};

}  // namespace

Result<std::vector<Descriptor>> meet(const std::vector<Host>& hosts, int rank, std::chrono::milliseconds timeout) {
    return Meeting(hosts, rank, timeout).run();
}

}  // namespace heddle::transport
