// The memory that runs need from launch to launch, and for results. One run at a time has it, whichever session runs; so it
// is as large as the largest of them needs, not as all of them together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "runtime/result_memory.h"

namespace heddle::codegen {
class Device;
}

namespace heddle::runtime {

class Arena {
public:
    // For `threads` threads. It has no memory yet. With a device, its memory is the device's, which has scratch itself.
    explicit Arena(int threads, std::shared_ptr<codegen::Device> device = nullptr)
        : device_(std::move(device)), scratch_(device_ ? 0 : static_cast<size_t>(threads)) {}

    const std::shared_ptr<codegen::Device>& device() const { return device_; }

    using User = uint64_t;
    User new_user() { return ++users_; }  // no two are the same

    // Makes room for a run of this plan by this user; true if buffers with margins are as the user left them, false if
    // there are other bytes in them. Code runtime.out_of_memory: then nothing may run, and the next call tries again.
    Result<bool> take(const plan::Plan& plan, User user);

    // A tensor for each result of a run of this plan, with anything in it; without memory where an input gives it.
    std::vector<TensorData> results(const plan::Plan& plan);

    std::byte* workspace() const { return workspace_.get(); }  // on the device, if there is one
    const std::vector<std::shared_ptr<std::byte>>& scratch() const { return scratch_; }  // one a thread
    int64_t bytes() const;

private:
    std::shared_ptr<codegen::Device> device_;
    std::shared_ptr<std::byte> workspace_;
    std::vector<std::shared_ptr<std::byte>> scratch_;
    ResultMemory results_;
    int64_t workspace_bytes_ = 0, scratch_bytes_ = 0;
    User last_ = 0;
    std::atomic<User> users_ = 0;
};

// Fills the margins of a buffer of this plan that begins at `memory`; its interior is left alone.
void fill_margins(std::byte* memory, const plan::Buffer& buffer);
// The same of a buffer on a device, whose interior is then zeros. Codes of the device.
Result<void> fill_margins(codegen::Device& device, std::byte* memory, const plan::Buffer& buffer);

// Memory of the device, or of this process where it is null: aligned, with slack behind. Null: there is not that much.
std::shared_ptr<std::byte> allocate_on(codegen::Device* device, int64_t bytes);

std::unexpected<Diagnostics> out_of_memory(int64_t bytes);

}  // namespace heddle::runtime
