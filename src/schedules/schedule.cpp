#include "schedules/schedule.h"

#include "schedules/choices.h"
#include "schedules/cut_phase.h"
#include "schedules/step_blocks.h"
#include "schedules/vector_steps.h"
#include "schedules/written_digits.h"

namespace heddle::schedules {

namespace {

For loop_over(Assembly& assembly, AxisId axis) {
    For loop;
    loop.variable = assembly.variable(assembly.axis_name(axis), Variable::Kind::loop);
    loop.range = assembly.steps(axis);
    return loop;
}

// The phases of groups first .. end - 1, those of one scan under the loop over its steps.
Block phases_of_block(Assembly& assembly, size_t first, size_t end) {
    Block body;
    for (size_t i = first; i < end;) {
        const AxisId ordered = assembly.groups[i].ordered;
        if (ordered < 0) {
            body.push_back({build_phase(assembly, assembly.groups[i++])});
            continue;
        }
        For steps = loop_over(assembly, ordered);
        for (; i < end && assembly.groups[i].ordered == ordered; i++)
            steps.body.push_back({build_phase(assembly, assembly.groups[i], steps.variable)});
        body.push_back({std::move(steps)});
    }
    return body;
}

// And those of one scan in blocks under the loop over its blocks.
Block phases(Assembly& assembly, size_t first, size_t end) {
    Block body;
    for (size_t i = first; i < end;) {
        const AxisId block = assembly.groups[i].block;
        const size_t begin = i;
        while (i < end && assembly.groups[i].block == block) i++;
        if (block < 0) {
            Block plain = phases_of_block(assembly, begin, i);
            body.insert(body.end(), std::make_move_iterator(plain.begin()), std::make_move_iterator(plain.end()));
            continue;
        }
        For blocks = loop_over(assembly, block);
        assembly.block_variables[block] = blocks.variable;
        blocks.body = phases_of_block(assembly, begin, i);
        body.push_back({std::move(blocks)});
    }
    return body;
}

}  // namespace

Result<Scheduled> schedule(const Kernel& kernel, const Target& target) {
    if (auto correct = verify(kernel); !correct) return fail(correct.error());
    // Vectors of steps are for scans, digits for what has none.
    const std::optional<Kernel> vectors = in_vector_steps(kernel, target);
    const std::optional<Kernel> written = vectors ? std::nullopt : with_written_digits(kernel);
    const Kernel& whole = vectors ? *vectors : written ? *written : kernel;
    const std::optional<Kernel> cut = in_step_blocks(whole);
    const Kernel& made = cut ? *cut : whole;
    std::vector<PhaseGroup> groups = group_phases(made);
    std::vector<LocalStorage> storage = store_locals(made, groups);
    choose(made, target, groups, storage);
    Assembly assembly(made, target, std::move(groups), std::move(storage));
    assembly.result.tree.body = phases(assembly, 0, assembly.groups.size());
    assembly.result.tree.name = "kernel";
    return std::move(assembly.result);
}

}  // namespace heddle::schedules
