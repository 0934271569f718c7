// How processes find one another: each pair gets one connection, which the higher rank makes.
#pragma once

#include "support/descriptor.h"
#include "transport/tcp.h"

namespace heddle::transport {

// transport.not_loopback
Result<void> check_loopback(const Host& host);

// Sockets by rank that do not block; none of one's own. Codes as connect_tcp.
Result<std::vector<Descriptor>> meet(const std::vector<Host>& hosts, int rank, std::chrono::milliseconds timeout);

}  // namespace heddle::transport
