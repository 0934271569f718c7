// A target as those of the level below, and back: a cluster as machines, a machine as devices with their hosts, a device
// with its host as two devices.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace heddle {

struct TargetPart {
    std::string name;  // of the machine, of the device; "device" and "host"
    Target target;
};

struct Decomposition {
    Target frame;  // what is not in the parts: names, ids, scopes, links; null in place of their targets
    std::vector<TargetPart> parts;
};

// A device alone has no parts, and is its own frame. A device or machine whose target is null is no part.
Decomposition decompose(const Target& target);

// Parts in any order, of a frame of decompose; parts may have changed, as long as they fit. Codes: target.system (a
// part is missing, or the frame has no place for it, or what check_system finds), target.host_conflict (a device's host
// is not the device that hosts it in the machine; both are named).
Result<Target> recompose(const Decomposition& parts);

// A cluster whose entries are one machine each: of each entry that stands for several, the first `most`, by the names
// that they have, and of its links those between them. What is no cluster stays as it is.
Target each_machine(Target cluster, int64_t most = most_machines);

}  // namespace heddle
