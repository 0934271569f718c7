// What the program asks the system for, seen from outside of the library: this program's own aligned_alloc, mmap and operator
// new, which the linker prefers to the system's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::tests {

// False in builds with sanitizers, whose functions these are.
bool can_watch();

// While it lives, in all threads:
class AllocationWatch {
public:
    explicit AllocationWatch(size_t smallest_new);
    ~AllocationWatch();
    // Calls of aligned_alloc, and of mmap for 4 MB or more that are no file's: as allocate_buffer asks for memory.
    static int64_t buffers();
    // Calls of operator new for `smallest_new` bytes or more.
    static int64_t large_objects();
};

}  // namespace heddle::tests
