#include "schedules/schedule.h"

#include "schedules/nest.h"

namespace heddle::schedules {

Result<Scheduled> schedule(const Kernel& kernel, const Target& target, const Record& record) {
    if (auto correct = verify(kernel); !correct) return fail(correct.error());
    std::vector<PhaseGroup> groups = group_phases(kernel, record);
    std::vector<LocalStorage> storage = store_locals(kernel, groups);
    choose(kernel, target, record, groups, storage);
    Assembly assembly(kernel, target, std::move(groups), std::move(storage));
    for (const PhaseGroup& group : assembly.groups) assembly.result.tree.body.push_back({build_phase(assembly, group)});
    assembly.result.tree.name = "kernel";
    return std::move(assembly.result);
}

}  // namespace heddle::schedules
