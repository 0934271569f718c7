#include "machine.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>

namespace toy {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t alignment = 64;

// A folder of its own for each compilation, gone with the object.
struct Folder {
    Folder() {
        std::string name = (fs::temp_directory_path() / "toy_backend_XXXXXX").string();
        if (!::mkdtemp(name.data())) throw Problem("there is no place for temporary files");
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    fs::path path;
};

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) throw Problem("the disk is full");
}

}  // namespace

std::string compiler_options() {
    return "-O1 -std=gnu11 -w -shared -fPIC -s -ffp-contract=off -fno-strict-aliasing -Wl,--build-id=none";
}

const std::string& compiler_version() {
    static const std::string version = [] {
        std::string text;
        FILE* pipe = ::popen("cc --version 2>&1", "r");
        if (!pipe) throw Problem("there is no C compiler");
        for (std::array<char, 256> part; std::fgets(part.data(), part.size(), pipe);) text += part.data();
        ::pclose(pipe);
        return text.substr(0, text.find('\n'));
    }();
    return version;
}

std::string compile(const std::string& c_source) {
    const Folder folder;
    write(folder.path / "kernel.c", c_source);
    const std::string command =
        "cd '" + folder.path.string() + "' && cc " + compiler_options() + " -o kernel.so kernel.c -lm 2> problem";
    if (std::system(command.c_str()) != 0) throw Problem(text_of(folder.path / "problem"));
    return text_of(folder.path / "kernel.so");
}

Kernels::Kernels(const std::vector<std::string_view>& libraries) {
    const Folder folder;
    for (size_t i = 0; i < libraries.size(); i++) {
        const fs::path file = folder.path / (std::to_string(i) + ".so");
        write(file, libraries[i]);
        void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        void* function = library ? ::dlsym(library, "heddle_kernel") : nullptr;
        if (library) libraries_.push_back(library);
        if (!function) {
            for (void* loaded : libraries_) ::dlclose(loaded);
            throw Problem("these are no kernels of the toy machine");
        }
        functions_.push_back(reinterpret_cast<Function>(function));
    }
}

Kernels::~Kernels() {
    for (void* library : libraries_) ::dlclose(library);
}

uint64_t Machine::allocate(uint64_t bytes) {
    Allocation allocation{std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[bytes + 2 * alignment]()), nullptr,
                          bytes};
    if (!allocation.memory) return 0;
    const std::lock_guard lock(mutex_);
    const auto place = reinterpret_cast<uintptr_t>(allocation.memory.get());
    allocation.begin = allocation.memory.get() + (alignment - place % alignment) % alignment;
    const uint64_t address = next_;
    next_ += (bytes + 2 * alignment) / alignment * alignment;
    allocations_.emplace(address, std::move(allocation));
    return address;
}

void Machine::release(uint64_t address) {
    const std::lock_guard lock(mutex_);
    allocations_.erase(address);
}

std::byte* Machine::real(uint64_t address, uint64_t bytes) const {
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) throw Problem("no address of the toy machine");
    const auto& [begin, allocation] = *std::prev(after);
    if (address - begin + bytes > allocation.bytes) throw Problem("outside of what was allocated");
    return allocation.begin + (address - begin);
}

void Machine::copy_to(uint64_t address, const void* host, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > 0) std::memcpy(real(address, bytes), host, bytes);
}

void Machine::copy_from(void* host, uint64_t address, uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    if (bytes > 0) std::memcpy(host, real(address, bytes), bytes);
}

Failure Machine::launch(const Kernels& kernels, size_t kernel, const Launch& launch) const {
    const std::lock_guard lock(mutex_);
    std::vector<void*> buffers;
    for (size_t i = 0; i < launch.buffer_count; i++) buffers.push_back(real(launch.buffers[i], 0));
    std::vector<std::byte> scratch(static_cast<size_t>(launch.scratch_bytes) + 2 * alignment);
    const auto place = reinterpret_cast<uintptr_t>(scratch.data());
    std::byte* const aligned = scratch.data() + (alignment - place % alignment) % alignment;
    buffers.push_back(aligned);
    const int64_t tasks = launch.tasks / launch.rounds;
    for (int64_t round = 0; round < launch.rounds; round++) {
        Failure failure;
        for (int64_t task = (round + 1) * tasks; task-- > round * tasks;) {
            if (kernels.function(kernel)(buffers.data(), launch.numbers, task, task + 1) == 0) continue;
            int64_t point[3];
            std::memcpy(point, aligned, sizeof point);
            failure = {true, point[0], point[1], point[2]};
        }
        if (failure.failed) return failure;
    }
    return {};
}

}  // namespace toy
