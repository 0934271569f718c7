#include "plan/scheduled_kernels.h"

#include "schedules/same_kernel.h"

namespace heddle::plan {

const ScheduledKernel* ScheduledKernels::find(const schedules::Kernel& kernel) const {
    const auto [first, last] = known_.equal_range(schedules::hash_of(kernel));
    for (auto known = first; known != last; ++known) {
        if (schedules::same(known->second.kernel, kernel)) return &known->second.scheduled;
    }
    return nullptr;
}

void ScheduledKernels::add(schedules::Kernel kernel, ScheduledKernel scheduled) {
    const size_t hash = schedules::hash_of(kernel);
    known_.emplace(hash, Known{std::move(kernel), std::move(scheduled)});
}

}  // namespace heddle::plan
