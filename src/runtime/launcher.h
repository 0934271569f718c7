// Runs one phase of a plan: its batches in order, each batch's tasks spread over the pool, or launched by a device.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/numbers.h"
#include "runtime/executable.h"

namespace heddle::runtime {

// Of buffer i, where coordinate zero is.
using BufferAddress = std::function<std::byte*(int32_t buffer)>;

// Where launches run.
struct LaunchSite {
    ThreadPool& pool;
    const std::vector<std::shared_ptr<std::byte>>& scratch;  // one a thread of the pool
    codegen::Device* device =
        nullptr;                  // it launches, at addresses of its own; null: the pool, in this process's memory
    Progress* watched = nullptr;  // is asked whether to go on, by the thread that runs; what runs long ends early
    BetweenBatches* between = nullptr;
};

// `numbers`: of the same batches.
Result<void> run_batches(const plan::Plan& plan, std::span<const plan::Batch> batches, const plan::LaunchNumbers& numbers,
                         const std::vector<KernelCode>& kernels, const BufferAddress& address, const LaunchSite& site,
                         std::vector<LaunchTime>* profile, Progress* progress = nullptr);

// Null: there is not so much.
std::vector<std::shared_ptr<std::byte>> allocate_scratch(const plan::Plan& plan, int threads);

}  // namespace heddle::runtime
