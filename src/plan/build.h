// One attempt at a plan: from lowered equations to launches. make_plan (recover.cpp) makes another one where it fails.
#pragma once

#include <set>

#include "equations/fusion.h"
#include "plan/plan.h"

namespace heddle::plan {

// What an attempt starts from, and how far it has come.
struct Attempt {
    equations::System system;  // as lowered; then as the passes leave it
    std::set<int32_t> apart;   // equations, by their numbers behind the passes, that get kernels of their own
    equations::Partition partition = {};
    int32_t kernel = -1;  // of the partition: the one that is being formed and scheduled; -1: none
};

// Not verified. An error, or an exception, is a mistake of ours.
Result<Plan> build_plan(const Graph& graph, const Target& target, const PlanOptions& options, Attempt& attempt);

}  // namespace heddle::plan
