// One machine as several processes: what programs that are cut over processes run on where there is no cluster.
#pragma once

#include "target/target.h"

namespace heddle {

// What a message between two processes of one machine takes beside its bytes: a waiting process is woken. Assumed.
inline constexpr double process_latency = 5e-6;
// And where there are more processes than cores, so that it has to get a core first. Measured: 4 on 2 cores, 0.1 to 0.3 ms.
inline constexpr double crowded_latency = 1e-4;

// `cpu`, a device that launches kernels, as a cluster of `count` processes: each has its share of the cores, of what all
// cores read from memory, of the last cache and of the memory; where there are more processes than cores, of a core's
// operations too. Each two are linked: a message is written into memory that both see and read out of it, each at half
// of what one core reads from memory, which this machine has measured (measure_host.h) or the target says or assumes.
// A device's own host, name and tag are not part of it. Codes: target.value (another kind of device), target.limit
// (processes).
Result<Target> as_processes(const Target& cpu, int count);

// As if it had only so many cores: what a program may use of it that is told how many threads it has.
Target with_cores(const Target& cpu, int cores);

}  // namespace heddle
