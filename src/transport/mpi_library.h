// The plug-in of MPI: found, loaded, opened.
#pragma once

#include "transport/mpi.h"
#include "transport/mpi_plugin.h"

namespace heddle::transport {

// It stays loaded. Codes as connect_mpi. MPI starts when all processes are there, and nobody can call that off: after
// `timeout` the process ends by itself, and says so (transport.mpi_start).
Result<heddle_mpi*> open_mpi(const std::string& library, const std::optional<LaunchedRanks>& launched,
                             std::chrono::milliseconds timeout = std::chrono::seconds(60));

}  // namespace heddle::transport
