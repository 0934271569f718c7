// What a plan's `prepare` makes of its constants, made on this machine, whichever one the plan is for: a tree means the
// same everywhere.
#pragma once

#include <memory>
#include <vector>

#include "plan/plan.h"
#include "runtime/kernel_cache.h"
#include "runtime/prepared.h"
#include "support/thread_pool.h"

namespace heddle::artefact {

class WeightMaker {
public:
    WeightMaker();

    // By buffer: the memory of prepared ones that `run` reads, else null. What was made for another plan from the same
    // constants by the same launches is not made again.
    Result<std::vector<runtime::Block>> make(const plan::Plan& plan, Progress* progress);

private:
    ThreadPool pool_;
    runtime::KernelCache kernels_;
    runtime::PreparedStore store_;
    Target host_;
};

}  // namespace heddle::artefact
