// Addresses of the loopback that nobody else has. Tests only.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "transport/tcp.h"

namespace heddle::transport {

// All of 127.0.0.0/8 is this machine: an address by the process and a number, ports that the system does not give out.
inline std::vector<Host> free_hosts(int size) {
    static std::atomic<int> number = 0;
    const int mine = static_cast<int>(::getpid()), one = number++;
    const std::string address = "127." + std::to_string(1 + mine / 250 % 250) + "." + std::to_string(1 + mine % 250) +
                                "." + std::to_string(1 + one % 250);
    std::vector<Host> hosts;
    for (int rank = 0; rank < size; rank++) hosts.push_back({address, 20000 + one / 250 * 100 + rank, {}});
    return hosts;
}

}  // namespace heddle::transport
