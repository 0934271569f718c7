// Memory and launches of a backend that has its own. A backend without a device runs in this process's memory: kernels
// are called as functions, by the threads of a pool (runtime/launcher.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "support/diagnostic.h"

namespace heddle::codegen {

class CompiledKernels;

// One kernel with all of its tasks. Of several rounds, which have as many tasks each and follow one another, a round's
// tasks begin when all of the one before are done; tasks of one round may run in any order, or at once.
struct DeviceLaunch {
    const CompiledKernels* code = nullptr;  // of this backend
    size_t kernel = 0;                      // its place in `code`
    std::span<std::byte* const> buffers;    // the tree's in order, each at coordinate zero
    std::span<const int64_t> numbers;       // the tree's launch numbers; a float is passed as the bits of a double
    int64_t tasks = 0, rounds = 1;
    int64_t scratch_bytes = 0;  // that each thread of the device needs, at a multiple of 64 bytes; at least 64
};

// What a kernel that stops leaves in its scratch: which of its buffers is indexed, by what, and how many places it has.
// Of several tasks that stop, the first one's.
struct IndexFailure {
    int64_t buffer = 0, index = 0, extent = 0;
};

// Addresses are the device's: nobody else follows them, but an offset of bytes inside of an allocation may be added.
// Several threads may call at once, as programs of several engines do. When a call returns, what it was asked for is
// done.
class Device {
public:
    virtual ~Device() = default;
    // At least one byte, at a multiple of buffer_alignment, with as many readable bytes behind (support/tensor_data.h).
    // What is in it is not said. Null if the device has not that much. The last owner frees it; it may outlive other users of the device.
    virtual std::shared_ptr<std::byte> allocate(size_t bytes) = 0;
    virtual Result<void> copy_to(std::byte* device, std::span<const std::byte> host) = 0;
    virtual Result<void> copy_from(std::span<std::byte> host, const std::byte* device) = 0;
    // Nothing: all tasks are done.
    virtual Result<std::optional<IndexFailure>> launch(const DeviceLaunch& launch) = 0;
};

}  // namespace heddle::codegen
