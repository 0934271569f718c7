#include "schedules/cut_phase.h"

#include <algorithm>

#include "schedules/data_ranges.h"
#include "schedules/neighbours.h"
#include "schedules/nest.h"
#include "schedules/unchanged.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// Packed operands are addressed by whole panels, fused rows by tasks that hold them all. Vectors of steps run in order.
bool may_be_cut(const PhaseGroup& group) {
    return group.vector_steps < 0 && group.lanes >= 0 && !group.lanes_reduced && !group.update &&
           group.packed.empty() && group.fused.empty();
}

// The choices for a border: short code, a vector at a time.
PhaseGroup choices_of_border(PhaseGroup group) {
    group.rows = no_id;
    group.row_sizes = {1};
    group.transposed = group.contraction = group.non_temporal = false;
    group.vectors = group.maximum_rows = 1;
    return group;
}

// Whether vectors of the lanes' border, of so many points, read neighbours, by a term that is not long; else it goes
// point by point. So do few points where a mask costs more than they do.
bool has_vectors_in_border(const Assembly& assembly, const PhaseGroup& group, const RightSides& sides, const Size& points) {
    if (!assembly.target.has_mask_registers() && points <= choice_numbers::points_for_masked_vectors) return false;
    const Movements movements(assembly.kernel, assembly.storage);
    int64_t size = 0;
    for (const auto& [unused, right] : sides.of) size += code_size(right, group.lanes);
    return size <= choice_numbers::tile_code && std::ranges::all_of(sides.of, [&](const auto& side) {
               return std::ranges::all_of(reads_of(side.second), [&](const ReadAccess& read) {
                   return movements.of(read.value, group.lanes) != Movement::indirect;
               });
           });
}

// A phase's nests: of each axis that is cut the border, inside those that are cut before; at last what is inside all.
// In each, the border of the lanes lies beside their interior.
class Nests {
public:
    Nests(Assembly& assembly, const PhaseGroup& group, VariableId step)
        : assembly_(assembly), group_(group), step_(step), guards_(clipped_guards(assembly.kernel, group)) {
        std::erase_if(guards_,
                      [&](const ClippedGuard& g) { return !needs_guard(assembly.kernel, g.value, g.dimension); });
        sides_ = right_sides(assembly.kernel, group);
        for (const ClippedGuard& guard : guards_) sides_.inside.insert({guard.value->id, guard.dimension});
        changes_ = changes(assembly.kernel, group, assembly.storage);
    }

    Block build() {
        std::vector<For> rounds;  // around the nests: made before them, as a text is read
        for (const Change& change : changes_.of_step) rounds.push_back(once_where(change));
        if (group_.update) leave_asked();
        leave_unchanged();
        for (AxisId axis : group_.axes) {
            if (may_be_cut(group_) && axis != group_.lanes && axis != group_.rows) cut(axis);
        }
        add(group_);
        for (; !rounds.empty(); rounds.pop_back()) {
            rounds.back().body = std::move(block_);
            block_ = {Statement{std::move(rounds.back())}};
        }
        return std::move(block_);
    }

private:
    // Loops go where something changes, of a stream alone: tiles are shared by points that change and others. And where
    // sums have terms.
    void leave_unchanged() {
        for (Expr condition : term_conditions(assembly_.kernel, group_)) go_where(condition->parts()[0]);
        const bool stream = group_.reductions.empty() && group_.rows < 0;
        if (!may_be_cut(group_) || !stream) return;
        for (Expr coordinate : changes_.of_axes) go_where(coordinate);
    }

    // What is asked before an update's loops is no question in them.
    void leave_asked() {
        Arena& arena = *assembly_.kernel.arena;
        Expr& right = sides_.of.at(group_.after.front());
        const auto parts = right->parts();
        Expr rest = parts[0];
        for (const Change& change : changes_.of_step)
            rest = where_answered(arena, rest, change.condition, change.holds);
        right = arena.select(rest, parts[1], parts[2]);
    }

    void go_where(Expr below_zero) {
        part_.below_zero.push_back(below_zero);
        sides_ = sides_where(assembly_.kernel, sides_, part_.below_zero);
    }

    // A loop of one round, or of none.
    For once_where(const Change& change) {
        Arena& arena = *assembly_.kernel.arena;
        Expr rounds =
            arena.select(change.condition, arena.integer(change.holds ? 1 : 0), arena.integer(change.holds ? 0 : 1));
        ExpressionBuilder expressions(assembly_, group_);
        expressions.bind(group_.ordered, step_);
        if (group_.block >= 0) expressions.bind(group_.block, assembly_.block_variables.at(group_.block));
        For once;
        once.variable = assembly_.variable("once", Variable::Kind::loop);
        Affine end;
        end.values.push_back({expressions.value(rounds), {false, 1}});
        once.range = {{Bound{}}, {Bound{std::move(end), {false, 1}}}};
        return once;
    }

    void cut(AxisId axis) {
        Interior interior = interior_along(assembly_.kernel, sides_, axis);
        if (!interior.conditions) return;
        const Cut cut = {axis, interior.first, interior.last};
        part_.border = cut;
        add(choices_of_border(group_));
        part_.border.reset();
        part_.inside.push_back(cut);
        sides_ = std::move(interior.sides);
    }

    void add(const PhaseGroup& choices) {
        const Interior lanes =
            may_be_cut(group_) ? interior_along(assembly_.kernel, sides_, group_.lanes) : Interior{sides_};
        NestPlan plan = {choices, part_, sides_, guards_, step_, {}};
        if (lanes.decides) {
            plan.beside.push_back(border_of(lanes));
            plan.part.inside.push_back(*plan.beside.back().part.border);
            plan.sides = lanes.sides;
        }
        cut_as_steps_move(plan);
        Block nest = build_nest(assembly_, plan);
        block_.insert(block_.end(), std::make_move_iterator(nest.begin()), std::make_move_iterator(nest.end()));
    }

    // Its vectors begin where they do in all of the axis; points alone go no further than they must.
    NestPlan border_of(const Interior& lanes) {
        Cut cut = {group_.lanes, lanes.first, lanes.last};
        PhaseGroup choices = choices_of_border(group_);
        RightSides sides = with_neighbours(assembly_.kernel, sides_, group_.lanes);
        const Size extent = maximum(assembly_.kernel.axis(group_.lanes).extent, 0);
        if (has_vectors_in_border(assembly_, group_, sides, cut.first + extent - cut.last)) {
            cut.first = minimum(extent, ceil_divide(cut.first, group_.width) * group_.width);
            if (cut.last < extent) cut.last -= floor_modulo(cut.last, group_.width);
            cut.last = maximum(cut.first, cut.last);
        } else {
            sides = sides_;
            choices.lanes = no_id;
            choices.width = 1;
        }
        return {choices, {part_.inside, cut, part_.below_zero}, std::move(sides), guards_, step_, {}};
    }

    // The lanes of a scan's stream, where a condition or a guard changes at a point that moves with the steps: a nest
    // on either side. Where more is done, the side may be cut again.
    void cut_as_steps_move(NestPlan& plan) {
        const bool stream = plan.group.reductions.empty() && plan.group.rows < 0;
        if (!may_be_cut(plan.group) || !stream || plan.group.ordered < 0) return;
        constexpr int most_cuts = 4;
        Arena& arena = *assembly_.kernel.arena;
        std::vector<NestPlan> beside = std::move(plan.beside);
        plan.beside.clear();
        for (int cuts = 0; cuts < most_cuts; cuts++) {
            Expr below = moving_coordinate(assembly_.kernel, plan.sides, [&](Expr c) {
                const Size moved = coefficient(c, plan.group.lanes);
                return moved != 0 && moved.number() != INT64_MIN && coefficient(c, plan.group.ordered) != 0;
            });
            if (!below) break;
            NestPlan other = side_of(plan, arena.add(arena.integer(-1), below, -1));
            plan = side_of(plan, below);
            if (code_size(other) > code_size(plan)) std::swap(plan, other);
            if (2 * code_size(other) < code_size(plan)) other.group = choices_of_border(other.group);
            beside.push_back(std::move(other));
        }
        plan.beside = std::move(beside);
    }

    NestPlan side_of(NestPlan plan, Expr below_zero) const {
        plan.part.below_zero.push_back(below_zero);
        plan.sides = sides_where(assembly_.kernel, plan.sides, plan.part.below_zero);
        return plan;
    }

    static int64_t code_size(const NestPlan& plan) {
        int64_t size = 0;
        for (const auto& [index, right] : plan.sides.of) size += schedules::code_size(right, plan.group.lanes);
        return size;
    }

    Assembly& assembly_;
    const PhaseGroup& group_;
    const VariableId step_;
    std::vector<ClippedGuard> guards_;
    RightSides sides_;
    Changes changes_;
    Part part_;
    Block block_;
};

}  // namespace

Phase build_phase(Assembly& assembly, const PhaseGroup& group, VariableId step) {
    const Kernel& kernel = assembly.kernel;
    Phase phase;
    for (EquationIndex index : group.equations()) {
        phase.name +=
            (phase.name.empty() ? "" : "+") + kernel.tensor(kernel.equations[static_cast<size_t>(index)].tensor).name;
    }
    if (group.update) phase.name += "_update";
    phase.body = Nests(assembly, group, step).build();
    return phase;
}

}  // namespace heddle::schedules
