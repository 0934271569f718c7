// A toy machine: memory that only it can reach, and kernels that it runs in an order of its own. It knows nothing of
// Heddle. Programs for it are C, compiled by the system's compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace toy {

struct Problem : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What it can do, as Heddle's targets say it: kernels are scheduled by that.
inline constexpr const char* target_of_machine =
    R"({"name": "toy", "vector_bytes": 16, "vector_registers": 16, "cores": 1})";

// The options and the version of the compiler, which decide what `compile` gives.
std::string compiler_options();
const std::string& compiler_version();
// The bytes of a shared library. Several threads may compile at once.
std::string compile(const std::string& c_source);

// Kernels that can be launched, by their places.
class Kernels {
public:
    using Function = int32_t (*)(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end);
    explicit Kernels(const std::vector<std::string_view>& libraries);
    ~Kernels();
    Kernels(const Kernels&) = delete;
    Kernels& operator=(const Kernels&) = delete;
    Function function(size_t kernel) const { return functions_.at(kernel); }

private:
    std::vector<void*> libraries_;
    std::vector<Function> functions_;
};

// What a kernel left that met an index out of range.
struct Failure {
    bool failed = false;
    int64_t buffer = 0, index = 0, extent = 0;
};

struct Launch {
    const uint64_t* buffers = nullptr;
    size_t buffer_count = 0;
    const int64_t* numbers = nullptr;
    int64_t tasks = 0, rounds = 1, scratch_bytes = 64;
};

// Several threads may use it, one at a time.
class Machine {
public:
    // Addresses are numbers of the machine, which lead nowhere in this process. 0: there is not that much.
    uint64_t allocate(uint64_t bytes);
    void release(uint64_t address);
    void copy_to(uint64_t address, const void* host, uint64_t bytes);
    void copy_from(void* host, uint64_t address, uint64_t bytes) const;
    // Of each round the last task first.
    Failure launch(const Kernels& kernels, size_t kernel, const Launch& launch) const;

private:
    struct Allocation {
        std::unique_ptr<std::byte[]> memory;
        std::byte* begin = nullptr;  // aligned
        uint64_t bytes = 0;
    };
    std::byte* real(uint64_t address, uint64_t bytes) const;

    mutable std::mutex mutex_;
    std::map<uint64_t, Allocation> allocations_;
    uint64_t next_ = uint64_t{1} << 60;
};

}  // namespace toy
