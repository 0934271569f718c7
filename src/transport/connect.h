// The way to the other processes of a program, however it is said: MPI, or a file of hosts.
#pragma once

#include <memory>
#include <string>

#include "transport/transport.h"

namespace heddle::transport {

struct ConnectOptions {
    // A file with an address a line, by rank (tcp.h); empty: MPI, or, without a launcher, this process alone.
    std::string hosts;
    int rank = 0;         // this process's line of it; -1: as a launcher says
    std::string library;  // a plug-in's file of MPI; empty: the launcher's own
    double timeout = 60;  // seconds without a word of another process
};

// Codes: those of read_hosts and connect_tcp; of connect_mpi.
Result<std::shared_ptr<Transport>> connect(const ConnectOptions& options);

}  // namespace heddle::transport
