#include "schedules/schedule.h"

#include "schedules/ascending_places.h"
#include "schedules/checks_ahead.h"
#include "schedules/choices.h"
#include "schedules/cut_phase.h"
#include "schedules/joined_dimensions.h"
#include "schedules/residues_apart.h"
#include "schedules/row_bands.h"
#include "schedules/rows_aside.h"
#include "schedules/step_blocks.h"
#include "schedules/vector_steps.h"
#include "schedules/written_digits.h"
#include "target/choice_numbers.h"

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

// The phases of a scan in bands. Each runs over its rows, then over those of the last seam that are counted round.
For phases_of_bands(Assembly& assembly, const Bands& bands) {
    assembly.open_bands = Assembly::OpenBands{.of = &bands};
    auto& open = *assembly.open_bands;
    const auto loop = [&](const char* name, VariableId& variable, Range range) {
        For made;
        made.variable = variable = assembly.variable(name, Variable::Kind::loop);
        made.range = std::move(range);
        return made;
    };
    const AxisId ordered = assembly.groups[bands.first].ordered;
    For seams = loop("seam", open.seam, assembly.seams());
    For blocks = loop("block", open.block, assembly.blocks_of_bands());
    For each = loop("band", open.band, assembly.bands_of_part());
    For steps = loop(assembly.axis_name(ordered).c_str(), open.step, assembly.steps_of_block());
    for (size_t i = bands.first; i < bands.end; i++) {
        open.turn = assembly.rounds->turns[i].turn;
        For turned = loop("turned", open.turned, assembly.seams());
        turned.body.push_back({build_phase(assembly, assembly.groups[i], open.step)});
        steps.body.push_back({std::move(turned)});
    }
    each.body.push_back({std::move(steps)});
    blocks.body.push_back({std::move(each)});
    seams.body.push_back({std::move(blocks)});
    assembly.open_bands.reset();
    return seams;
}

// Those of a kernel in rounds: each under a loop that is empty where it is not its turn.
Block phases_in_turn(Assembly& assembly) {
    Block body;
    const auto& turns = assembly.rounds->turns;
    for (size_t i = 0; i < assembly.groups.size();) {
        const size_t first = i;
        if (const Bands* bands = assembly.rounds->bands_of(i)) {
            body.push_back({phases_of_bands(assembly, *bands)});
            i = bands->end;
            continue;
        }
        const AxisId ordered = assembly.groups[i].ordered;
        const auto is_beside = [&](size_t other) {
            const bool parted = assembly.groups[other].parted >= 0;
            return assembly.groups[other].ordered == ordered && turns[other].turn == turns[first].turn &&
                   parted == (assembly.groups[first].parted >= 0);
        };
        For turn;
        const std::string name = ordered < 0 ? "once" : assembly.axis_name(ordered);
        turn.variable = assembly.variable(name, Variable::Kind::loop);
        turn.range = assembly.turn(first);
        const VariableId step = ordered < 0 ? VariableId(no_id) : turn.variable;
        for (; i < assembly.groups.size() && is_beside(i); i++)
            turn.body.push_back({build_phase(assembly, assembly.groups[i], step)});
        body.push_back({std::move(turn)});
    }
    return body;
}

// The kernel's tasks go along no axis: its phases are cut one by one, if that gains.
std::optional<Scheduled> scheduled_in_rounds(Kernel kernel, const Target& target) {
    if (!may_have_rounds(kernel, target)) return std::nullopt;
    kernel.common.clear();
    std::vector<PhaseGroup> groups = group_phases(kernel);
    std::vector<LocalStorage> storage = store_locals(kernel, groups);
    choose(kernel, target, groups, storage);
    auto rounds = in_rounds(kernel, target, groups, storage);
    if (!rounds) return std::nullopt;
    Assembly assembly(kernel, target, std::move(groups), std::move(storage), std::move(rounds));
    assembly.result.tree.body = phases_in_turn(assembly);
    return std::move(assembly.result);
}

// Phases that hand one another rows go over bands of them.
std::optional<Scheduled> scheduled_in_bands(const BandedKernel& banded, const Target& target) {
    std::vector<PhaseGroup> groups = group_phases(banded.kernel);
    std::vector<LocalStorage> storage = store_locals(banded.kernel, groups);
    choose(banded.kernel, target, groups, storage);
    if (!take_bands(banded.bands, groups)) return std::nullopt;
    Assembly assembly(banded.kernel, target, std::move(groups), std::move(storage), std::nullopt);
    assembly.bands = banded.bands;
    Block body = phases(assembly, 0, banded.bands.begin);
    For bands = assembly.band_loop();
    bands.body = phases(assembly, banded.bands.begin, assembly.groups.size());
    body.push_back({std::move(bands)});
    assembly.result.tree.body = std::move(body);
    return std::move(assembly.result);
}

Scheduled scheduled_in_tasks(const Kernel& kernel, const Target& target) {
    std::vector<PhaseGroup> groups = group_phases(kernel);
    std::vector<LocalStorage> storage = store_locals(kernel, groups);
    choose(kernel, target, groups, storage);
    if (const auto banded = in_row_bands(kernel, target, groups, storage)) {
        if (auto scheduled = scheduled_in_bands(*banded, target)) return std::move(*scheduled);
    }
    Assembly assembly(kernel, target, std::move(groups), std::move(storage), std::nullopt);
    assembly.result.tree.body = phases(assembly, 0, assembly.groups.size());
    return std::move(assembly.result);
}

}  // namespace

Result<Scheduled> schedule(const Kernel& kernel, const Target& target) {
    if (auto correct = verify(kernel); !correct) return fail(correct.error());
    // What moves elements between the lanes of a vector is nothing for lanes that are invocations.
    const bool vectors_move = !target.has_workgroups();
    const bool packs = vectors_move && target.vector_bytes >= choice_numbers::least_packing_vector;
    const std::optional<Kernel> ascending = packs ? with_ascending_places(kernel) : std::nullopt;
    const Kernel& given = ascending ? *ascending : kernel;
    // Vectors of steps are for scans, digits for what has none.
    const std::optional<Kernel> vectors = in_vector_steps(given, target);
    const std::optional<Kernel> written = vectors ? std::nullopt : with_written_digits(given);
    const Kernel& whole = vectors ? *vectors : written ? *written : given;
    const std::optional<Kernel> joined = with_joined_dimensions(whole);
    const Kernel& neighbours = joined ? *joined : whole;
    const std::optional<Kernel> aside = vectors_move ? with_rows_aside(neighbours) : std::nullopt;
    const std::optional<Kernel> cut = aside || !vectors_move ? std::nullopt : in_step_blocks(neighbours);
    const Kernel& in_blocks = aside ? *aside : cut ? *cut : neighbours;
    const std::optional<Kernel> apart = with_residues_apart(in_blocks);
    const Kernel& laid_out = apart ? *apart : in_blocks;
    const std::optional<Kernel> ahead = with_checks_ahead(laid_out);
    const Kernel& made = ahead ? *ahead : laid_out;
    auto in_rounds = scheduled_in_rounds(made, target);
    Scheduled scheduled = in_rounds ? std::move(*in_rounds) : scheduled_in_tasks(made, target);
    scheduled.tree.name = "kernel";
    return scheduled;
}

}  // namespace heddle::schedules
