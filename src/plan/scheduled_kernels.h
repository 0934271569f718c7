// What the kernels of one plan came to: equal ones, of layers that are alike, are scheduled once.
#pragma once

#include <map>
#include <vector>

#include "schedules/schedule.h"

namespace heddle::plan {

struct ScheduledKernel {
    int32_t tree = -1;  // of the plan
    schedules::LaunchNumbers launch;
    std::vector<schedules::BufferSource> buffers;
    std::vector<schedules::Packing> packings;
};

class ScheduledKernels {
public:
    // Null: there is none like it.
    const ScheduledKernel* find(const schedules::Kernel& kernel) const;
    void add(schedules::Kernel kernel, ScheduledKernel scheduled);

private:
    struct Known {
        schedules::Kernel kernel;
        ScheduledKernel scheduled;
    };
    std::multimap<size_t, Known> known_;  // by the kernel's hash
};

}  // namespace heddle::plan
