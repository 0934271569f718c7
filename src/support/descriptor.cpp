#include "support/descriptor.h"

#include <cerrno>

#include <sys/mman.h>

namespace heddle {

bool write_all(const Descriptor& file, const void* bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t written = ::write(file.number(), static_cast<const char*>(bytes) + done, count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        done += static_cast<size_t>(written);
    }
    return true;
}

std::shared_ptr<const void> map_read_only(const Descriptor& file, size_t size, bool now) {
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | (now ? MAP_POPULATE : 0), file.number(), 0);
    if (memory == MAP_FAILED) return nullptr;
    return {memory, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); }};
}

}  // namespace heddle
