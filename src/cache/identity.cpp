#include "cache/identity.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <llvm-c/Core.h>

namespace heddle::cache {
namespace {

// Of a loaded module, as the dynamic linker describes it.
struct Module {
    uintptr_t address = 0;  // any that lies in it
    std::string file, build_id;
};

std::string_view name_of(const ElfW(Nhdr) & note) { return {reinterpret_cast<const char*>(&note + 1), note.n_namesz}; }

std::string build_id_of(const dl_phdr_info& module, const ElfW(Phdr) & segment) {
    constexpr std::string_view gnu("GNU\0", 4);
    const auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
    const char* at = reinterpret_cast<const char*>(module.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
        const char* content = at + sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && name_of(note) == gnu) {
            std::string text;
            for (size_t i = 0; i < note.n_descsz; i++) text += fmt::format("{:02x}", static_cast<uint8_t>(content[i]));
            return text;
        }
        at = content + padded(note.n_descsz);
    }
    return {};
}

// For dl_iterate_phdr: fills in the Module of `data` and ends where this is the one.
int find_module(dl_phdr_info* info, size_t, void* data) {
    auto& wanted = *static_cast<Module*>(data);
    bool found = false;
    std::string build_id;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && wanted.address >= begin && wanted.address - begin < segment.p_memsz)
            found = true;
        if (segment.p_type == PT_NOTE && build_id.empty()) build_id = build_id_of(*info, segment);
    }
    if (!found) return 0;
    wanted.file = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
    wanted.build_id = std::move(build_id);
    return 1;
}

}  // namespace

std::string identity_of(const void* code) {
    Module module{.address = reinterpret_cast<uintptr_t>(code), .file = {}, .build_id = {}};
    dl_iterate_phdr(find_module, &module);
    if (!module.build_id.empty()) return module.build_id;
    struct stat status = {};
    ::stat(module.file.c_str(), &status);
    return fmt::format("{} of {} bytes at {}.{:09}", module.file, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
}

const std::string& identity() {
    static const std::string text = [] {
        unsigned major = 0, minor = 0, patch = 0;
        LLVMGetVersion(&major, &minor, &patch);
        return fmt::format("heddle {}, LLVM {}.{}.{} {}", identity_of(reinterpret_cast<const void*>(&identity)), major,
                           minor, patch, identity_of(reinterpret_cast<const void*>(&LLVMGetVersion)));
    }();
    return text;
}

}  // namespace heddle::cache
