#include "support/resident_memory.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>
#include <string>

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle {
namespace {

int64_t status_bytes(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with(name + ":")) continue;
        std::istringstream text(line.substr(name.size() + 1));
        int64_t kilobytes = 0;
        text >> kilobytes;
        return kilobytes * 1024;
    }
    return 0;
}

}  // namespace

int64_t physical_memory_bytes() {
    return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
}

int64_t resident_bytes() { return status_bytes("VmRSS"); }

int64_t peak_resident_bytes() { return status_bytes("VmHWM"); }

namespace {

struct Segment {
    uintptr_t begin, end;
    Segment(const dl_phdr_info& library, const ElfW(Phdr) & header)
        : begin(library.dlpi_addr + header.p_vaddr), end(begin + header.p_memsz) {}
};

// Of a library that has this function; 1 ends the search.
int give_back_segments(dl_phdr_info* library, size_t, void* function) {
    const auto place = reinterpret_cast<uintptr_t>(function);
    const std::span headers(library->dlpi_phdr, library->dlpi_phnum);
    const bool found = std::ranges::any_of(headers, [&](const auto& header) {
        const Segment segment(*library, header);
        return header.p_type == PT_LOAD && segment.begin <= place && place < segment.end;
    });
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (const auto& header : headers) {
        if (!found || header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
        const Segment segment(*library, header);
        const uintptr_t begin = (segment.begin + page - 1) / page * page, end = segment.end / page * page;
        if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // a wish: it may fail
    }
    return found ? 1 : 0;
}

}  // namespace

void give_back_freed() { ::malloc_trim(0); }

void give_back_library(const void* function) {
    ::dl_iterate_phdr(give_back_segments, const_cast<void*>(function));
    give_back_freed();
}

}  // namespace heddle
