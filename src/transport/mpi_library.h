// The plug-in of MPI: found, loaded, opened.
#pragma once

#include "transport/mpi.h"
#include "transport/mpi_plugin.h"

namespace heddle::transport {

// It stays loaded. Codes as connect_mpi.
Result<heddle_mpi*> open_mpi(const std::string& library, const std::optional<LaunchedRanks>& launched);

}  // namespace heddle::transport
