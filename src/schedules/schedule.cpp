#include "schedules/schedule.h"

#include "schedules/choices.h"
#include "schedules/cut_phase.h"

namespace heddle::schedules {

Result<Scheduled> schedule(const Kernel& kernel, const Target& target) {
    if (auto correct = verify(kernel); !correct) return fail(correct.error());
    std::vector<PhaseGroup> groups = group_phases(kernel);
    std::vector<LocalStorage> storage = store_locals(kernel, groups);
    choose(kernel, target, groups, storage);
    Assembly assembly(kernel, target, std::move(groups), std::move(storage));
    Block& body = assembly.result.tree.body;
    for (size_t i = 0; i < assembly.groups.size();) {
        const AxisId ordered = assembly.groups[i].ordered;
        if (ordered < 0) {
            body.push_back({build_phase(assembly, assembly.groups[i++])});
            continue;
        }
        For steps;
        steps.variable = assembly.variable(assembly.axis_name(ordered), Variable::Kind::loop);
        steps.range = {{{}}, {{{assembly.extent(ordered), {}, {}}, {false, 1}}}};
        for (; i < assembly.groups.size() && assembly.groups[i].ordered == ordered; i++)
            steps.body.push_back({build_phase(assembly, assembly.groups[i], steps.variable)});
        body.push_back({std::move(steps)});
    }
    assembly.result.tree.name = "kernel";
    return std::move(assembly.result);
}

}  // namespace heddle::schedules
