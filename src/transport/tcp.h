// TCP between processes of one machine, with no library: what runs where there is no MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/source_text.h"
#include "transport/transport.h"

namespace heddle::transport {

// Where a process listens.
struct Host {
    std::string address;  // of the loopback: what is sent is not encrypted, and who sends is not known
    int port = 0;
    Place place;
};

// A file of hosts: "address:port" a line, by rank; from # on a line is a comment. Codes: transport.hosts,
// transport.not_loopback.
Result<std::vector<Host>> read_hosts(const std::shared_ptr<const SourceText>& text);

struct TcpOptions {
    std::chrono::milliseconds meeting = std::chrono::seconds(60);  // for all to be started
    // As transport.h says. A process that is busy is not silent: a thread of its own answers.
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

// This process is hosts[rank]. Returns when it is connected with all others. Who connects and is none of them is refused,
// and the meeting goes on. Codes: transport.rank, transport.listen, transport.stranger (who answers there is not the
// process of that rank), transport.unreachable.
Result<std::unique_ptr<Transport>> connect_tcp(const std::vector<Host>& hosts, int rank, TcpOptions options = {});

}  // namespace heddle::transport
