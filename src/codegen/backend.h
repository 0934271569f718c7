// What every backend makes from a scheduled tree, and the signature of all kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "target/compile_job.h"
#include "target/target.h"

namespace heddle {
class Progress;
}

namespace heddle::schedules {
struct Tree;
}

namespace heddle::codegen {

class Device;  // device.h
using schedules::Tree;

// Tasks [begin, end) are independent of each other, or run in order where they are of several rounds (TaskAxis).
// `buffers`: the tree's in order, then this thread's scratch, whose size is in the launch. `numbers`: the tree's launch
// numbers; a float is passed as the bits of a double. 0, or a status: an indirect index was out of range, and the point
// stands in the first bytes of scratch as int64 values.
// The kernel calls nothing, allocates nothing and keeps no state.
using KernelFunction = int32_t (*)(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end);

// Compiled code; functions live as long as it.
class CompiledKernels {
public:
    virtual ~CompiledKernels() = default;
    // Null of a backend that has a device, which launches its kernels itself.
    virtual KernelFunction function(size_t index) const = 0;
};

// Trees of which code is made, told one by one while the rest of their program is still being planned.
class KernelWork {
public:
    // What is not taken is given up, and nobody waits for it.
    virtual ~KernelWork() = default;
    virtual void add(std::shared_ptr<const Tree> tree) = 0;
    // Nothing more comes: code of those that are `wanted`, by when they were added. The rest as for Backend::objects.
    virtual Result<std::vector<std::string>> take(const std::vector<size_t>& wanted, Progress* progress) = 0;
};

// Its config (ConfigSource::compile_config) says all that code follows from beside the tree: kernels are kept by it.
class Backend : public ConfigSource {
public:
    // Code for all trees, in order, on up to `threads` threads, as bytes that a cache may keep: equal trees and configs
    // give equal ones. `progress` is told each by the thread that calls, and asked whether to go on.
    // Code support.cancelled: then threads may still be at work on the trees, if `owner` keeps these alive.
    virtual Result<std::vector<std::string>> objects(const std::vector<const Tree*>& trees, const Target& target,
                                                     int threads, Progress* progress = nullptr,
                                                     std::shared_ptr<const void> owner = nullptr) = 0;
    // The same for trees that come one by one; the backend outlives it. By default it makes code of all of them at last.
    virtual std::unique_ptr<KernelWork> begin(const Target& target, int threads);
    // Such code made ready to be called, in any process. The bytes are not needed afterwards.
    virtual Result<std::shared_ptr<CompiledKernels>> link(const std::vector<std::string_view>& objects) = 0;
    Result<std::shared_ptr<CompiledKernels>> compile(const std::vector<const Tree*>& trees, const Target& target,
                                                     int threads) {
        auto made = objects(trees, target, threads);
        if (!made) return fail(std::move(made.error()));
        return link({made->begin(), made->end()});
    }
    // What kernels are scheduled for, where `machine` is the one that this process runs on.
    virtual Target target(const Target& machine) const { return machine; }
    // Where its kernels run. Null: in this process, as functions.
    virtual std::shared_ptr<Device> device() { return nullptr; }
    // Until no thread is at work on what was cancelled.
    virtual void settle() {}
    // Nobody wants code for a while: memory that the compiler has come by can be had by others.
    virtual void rest() {}
    // The source or assembly text for one tree, for `explain --source`.
    virtual Result<std::string> source(const Tree& tree, const Target& target) = 0;
};

}  // namespace heddle::codegen
