// How much memory this process has in use, as the system counts it: pages of its own, and of files that it has mapped.
#pragma once

#include <cstdint>

namespace heddle {

// In bytes; 0 where the system does not say it.
int64_t resident_bytes();
int64_t peak_resident_bytes();  // the most so far

// Of this machine, in bytes.
int64_t physical_memory_bytes();

// What was freed and is still this process's leaves memory; takes about a millisecond.
void give_back_freed();

// Pages of the library in which this function stands leave memory, and so does what its work has freed. Those that were
// never written come back from the library's file when they are used; others stay.
void give_back_library(const void* function);

}  // namespace heddle
