// What a plan's `prepare` makes of weights, made on this machine, whatever the plan is for: a tree means the same
// everywhere.
#pragma once

#include "runtime/kernel_cache.h"
#include "runtime/prepared.h"

namespace heddle::runtime {

// As `prepare`, by kernels of the cache's backend for `host`, and in this process's memory; only what `prepare` launches
// is compiled. Codes of KernelCache::kernels and of `prepare`.
Result<std::vector<Block>> prepare_here(const plan::Plan& plan, const Target& host, KernelCache& kernels,
                                        ThreadPool& pool, PreparedStore& store);

}  // namespace heddle::runtime
