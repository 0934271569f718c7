#include "api/allocation_watch.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_NO_WATCH
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_NO_WATCH
#endif
#endif

namespace heddle::tests {
namespace {

std::atomic<bool> watching = false;
std::atomic<size_t> smallest = 0;
std::atomic<int64_t> seen_buffers = 0, seen_objects = 0;

#ifndef HEDDLE_NO_WATCH
void* new_object(size_t bytes, size_t alignment) {
    if (watching && bytes >= smallest) seen_objects++;
    void* memory = nullptr;
    if (alignment <= alignof(std::max_align_t)) {
        memory = std::malloc(bytes > 0 ? bytes : 1);
    } else if (::posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) != 0) {
        memory = nullptr;
    }
    if (!memory) throw std::bad_alloc();
    return memory;
}
#endif

}  // namespace

bool can_watch() {
#ifdef HEDDLE_NO_WATCH
    return false;
#else
    return true;
#endif
}

AllocationWatch::AllocationWatch(size_t smallest_new) {
    seen_buffers = seen_objects = 0;
    smallest = smallest_new;
    watching = true;
}
AllocationWatch::~AllocationWatch() { watching = false; }
int64_t AllocationWatch::buffers() { return seen_buffers; }
int64_t AllocationWatch::large_objects() { return seen_objects; }

}  // namespace heddle::tests

#ifndef HEDDLE_NO_WATCH
using namespace heddle::tests;

extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
    if (watching) seen_buffers++;
    void* memory = nullptr;
    return ::posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

extern "C" void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    using Map = void* (*)(void*, size_t, int, int, int, off_t);
    static const auto system = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
    if (watching && (flags & MAP_ANONYMOUS) && bytes >= size_t{4} << 20) seen_buffers++;
    return system(address, bytes, protection, flags, file, offset);
}

void* operator new(size_t bytes) { return new_object(bytes, 0); }
void* operator new(size_t bytes, std::align_val_t alignment) {
    return new_object(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
