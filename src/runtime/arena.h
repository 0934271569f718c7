// The memory that runs need from launch to launch, and for results. One run at a time has it, whichever session runs; so it
// is as large as the largest of them needs, not as all of them together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/numbers.h"
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

    // Makes room for a run of this plan with these numbers. Code runtime.out_of_memory: then nothing may run, and the next call
    // tries again.
    Result<void> take(const plan::Plan& plan, const plan::Numbers& numbers);

    // A tensor for each result of such a run, with anything in it; without memory where an input gives it, or it grows.
    std::vector<TensorData> results(const plan::Plan& plan, const plan::Numbers& numbers);
    // For one of them that grows (growing_memory.h), with all of its places. Anything is in it. std::bad_alloc, as TensorData.
    TensorData growing_result(const plan::Plan& plan, const plan::Numbers& numbers, const plan::Growth& growth);

    std::byte* workspace() const { return workspace_.get(); }  // on the device, if there is one
    const std::vector<std::shared_ptr<std::byte>>& scratch() const { return scratch_; }  // one a thread
    int64_t bytes() const;

private:
    std::shared_ptr<codegen::Device> device_;
    std::shared_ptr<std::byte> workspace_;
    std::vector<std::shared_ptr<std::byte>> scratch_;
    ResultMemory results_;
    int64_t workspace_bytes_ = 0, scratch_bytes_ = 0;
};

// Memory of the device, or of this process where it is null: aligned, with slack behind. Null: there is not that much.
std::shared_ptr<std::byte> allocate_on(codegen::Device* device, int64_t bytes);

std::unexpected<Diagnostics> out_of_memory(int64_t bytes);
// For a run of the plan; it names the largest tensor.
std::unexpected<Diagnostics> out_of_memory(const plan::Plan& plan, const plan::Numbers& numbers);
// What a run needs for what it computes and answers, without its inputs and constants.
int64_t run_bytes(const plan::Plan& plan, const plan::Numbers& numbers);

}  // namespace heddle::runtime
