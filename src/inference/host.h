// The machine that we run on, measured at first use (target/measure_host.h). A folder, which may be null, keeps its
// speeds for later processes; equal machines may share the folder.
#pragma once

#include <optional>

#include "cache/folder.h"
#include "target/target.h"

namespace heddle::inference {

// One target a process: as it is kept, else measured. Threads may call at once.
Target host_target(cache::Folder* folder);
// Measured anew, for later processes.
Target measure_host(cache::Folder* folder);
// What an earlier process measured, if it was on a machine like this.
std::optional<Target> kept_host(cache::Folder& folder);

}  // namespace heddle::inference
