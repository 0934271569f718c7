// How much memory this process has in use, as the system counts it: pages of its own, and of files that it has mapped.
#pragma once

#include <cstdint>

namespace heddle {

// In bytes; 0 where the system does not say it.
int64_t resident_bytes();
int64_t peak_resident_bytes();  // the most so far

}  // namespace heddle
