// MPI, by a library that is loaded at run time (mpi_plugin.h): Heddle needs none to be built or to run otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "transport/transport.h"

namespace heddle::transport {

// What a launcher says of this process.
struct LaunchedRanks {
    int rank = 0, size = 0;
    std::string launcher;  // for people: "Open MPI"
    std::string library;   // which build of the plug-in is its own: "openmpi", "mpich"; empty: it helps none to start
};

// Whether a launcher (mpirun, srun) has started this process as one of several: by the environment alone.
std::optional<LaunchedRanks> launched_ranks();
// `variable`: the value of a variable of the environment, or null.
std::optional<LaunchedRanks> launched_ranks(const std::function<const char*(const char*)>& variable);

struct MpiOptions {
    // As transport.h says. A process that is busy is not silent: a thread of its own answers.
    std::chrono::milliseconds timeout = std::chrono::seconds(60);
    std::chrono::milliseconds start = std::chrono::seconds(60);  // for all to come
    std::string library;            // a plug-in's file; empty: one of those that were built with Heddle
    int64_t piece_bytes = 1 << 30;  // longer messages are cut, since MPI counts in ints
};

// All processes of the launcher call it, and wait for one another. When a process ends after an error, MPI ends all others: no
// one is left waiting. Codes: transport.mpi_library (no file, or not to be loaded), transport.mpi_version, transport.mpi
// (MPI does not start, or is another one than the launcher's).
Result<std::unique_ptr<Transport>> connect_mpi(const MpiOptions& options = {});

}  // namespace heddle::transport
