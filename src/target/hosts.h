// The device that launches another one's kernels.
#pragma once

#include "target/target.h"

namespace heddle {

// `device` with this host. A host of its own must be the same target: code target.host_conflict names both. Code
// target.value: `host` launches no kernels.
Result<Target> with_host(Target device, const Target& host);

// With the host that its kind chooses (targets/facts/kinds.json), recorded with the origin `chosen`; of a cluster each
// machine that is such a device. What has a host, needs none, or is a machine stays as it is.
Target with_default_host(Target target);
// The same where it is to run here: `here`, this machine, hosts what launches no kernels itself, a library too; recorded
// as `detected`.
Target with_this_host(Target target, const Target& here);

// Which host a device has, and who says so: "cpu x86_64: kind cuda chooses it, since none is given". Of a cluster those
// that nobody gave, by their machines. Empty: there is none.
std::string host_text(const Target& device);

// For messages: its tag, else its kind and what tells it from others: "cpu znver4".
std::string short_text(const Target& target);

}  // namespace heddle
