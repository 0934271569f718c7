// Runs one phase of a plan: its batches in order, each batch's tasks spread over the pool.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/executable.h"

namespace heddle::runtime {

// Where buffer i begins (not its coordinate zero).
using BufferAddress = std::function<std::byte*(int32_t buffer)>;

Result<void> run_batches(const plan::Plan& plan, std::span<const plan::Batch> batches,
                         const std::vector<KernelCache::Entry>& functions, const BufferAddress& address,
                         const std::vector<std::shared_ptr<std::byte>>& scratch, ThreadPool& pool,
                         std::vector<LaunchTime>* profile, Progress* progress = nullptr);

std::vector<std::shared_ptr<std::byte>> allocate_scratch(const plan::Plan& plan, int threads);

}  // namespace heddle::runtime
