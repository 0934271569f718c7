// What a plan's `prepare` makes (packed weights), computed on this machine.
#pragma once

#include "plan/plan.h"
#include "runtime/kernel_cache.h"
#include "support/thread_pool.h"
#include "webgpu/package.h"

namespace heddle::webgpu {

// By kernels of the cache's backend, for this machine: trees are walked the same way for every target. Codes of
// KernelCache::kernels and of runtime::prepare.
Result<Prepared> prepare_here(const plan::Plan& plan, const Target& host, runtime::KernelCache& kernels,
                              ThreadPool& pool);

}  // namespace heddle::webgpu
