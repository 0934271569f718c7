#include "support/descriptor.h"

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace heddle {

std::string stamp_of(const struct stat& status) {
    return fmt::format("device {} file {} size {} modified {}.{:09} changed {}.{:09}", status.st_dev, status.st_ino,
                       status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                       status.st_ctim.tv_nsec);
}

bool write_all(const Descriptor& file, const void* bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t written = ::write(file.number(), static_cast<const char*>(bytes) + done, count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        done += static_cast<size_t>(written);
    }
    return true;
}

namespace {

// What a mapped file's owner ends with; that it is one is known by this.
struct Unmap {
    size_t size;
    void operator()(const void* mapped) const { ::munmap(const_cast<void*>(mapped), size); }
};

}  // namespace

std::shared_ptr<const void> map_read_only(const Descriptor& file, size_t size, bool now) {
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | (now ? MAP_POPULATE : 0), file.number(), 0);
    if (memory == MAP_FAILED) return nullptr;
    return {memory, Unmap{size}};
}

void give_back_pages(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) {
    if (!std::get_deleter<Unmap>(owner)) return;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
    const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // a wish: it may fail
}

}  // namespace heddle
