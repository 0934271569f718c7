// The device that launches another one's kernels.
#pragma once

#include "target/target.h"

namespace heddle {

// `device` with this host. A host of its own must be the same target: code target.host_conflict names both. Code
// target.value: `host` launches no kernels.
Result<Target> with_host(Target device, const Target& host);

// With the host that its kind chooses (targets/facts/kinds.json), recorded with the origin `chosen`. What has a host,
// needs none, or is a machine stays as it is.
Target with_default_host(Target device);

// For messages: its tag, else its kind and what tells it from others: "cpu znver4".
std::string short_text(const Target& target);

}  // namespace heddle
