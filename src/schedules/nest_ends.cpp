// Loops that end before their last iteration, where what is left would change nothing (`until` of tree.h): a reduction
// of truth values that has its result, the first place where something holds, the steps of a scan that is over.
#include <algorithm>

#include "schedules/nest_builder.h"

namespace heddle::schedules {
namespace {

// What ends a loop is asked of each block: little beside the blocks that it may save.
constexpr int64_t least_blocks = 4;

// Whether the block makes accumulators alone: it stores nothing, and reports no index that lies outside.
class MakesAccumulators {
public:
    explicit MakesAccumulators(const Tree& tree) : tree_(tree), seen_(tree.expressions.size()) {}

    bool operator()(const Block& block) {
        return std::ranges::all_of(block, [&](const Statement& statement) {
            if (const auto* update = std::get_if<Update>(&statement.node))
                return is_silent(update->value) && is_silent(update->index) && is_silent(update->factor);
            if (const auto* define = std::get_if<Define>(&statement.node))
                return is_silent(tree_.let(define->let).value);
            if (const auto* loop = std::get_if<For>(&statement.node)) return (*this)(loop->body);
            if (const auto* lanes = std::get_if<Lanes>(&statement.node)) return (*this)(lanes->body);
            if (const auto* start = std::get_if<Start>(&statement.node)) return is_silent(start->value);
            return std::holds_alternative<Prefetch>(statement.node) || std::holds_alternative<Finish>(statement.node);
        });
    }

private:
    bool is_silent(ExpressionId id) {
        if (id < 0 || seen_[static_cast<size_t>(id)]) return true;
        seen_[static_cast<size_t>(id)] = true;
        const Expression& e = tree_.expression(id);
        if (e.kind == Expression::Kind::check) return false;
        const auto silent = [&](const auto& value) { return is_silent(value.first); };
        return std::ranges::all_of(e.operands, [&](ExpressionId operand) { return is_silent(operand); }) &&
               std::ranges::all_of(e.affine.values, silent) && std::ranges::all_of(e.address.element.values, silent);
    }

    const Tree& tree_;
    std::vector<bool> seen_;
};

// A place that grows along the axis, or nothing at all: of a minimum, the first place is the least.
bool is_first_place(Expr term, AxisId axis) {
    if (term->kind != expr::Kind::select) return false;
    const auto parts = term->parts();
    const Expr place = parts[1], none = parts[2];
    if (!is_nothing(none, Reducer::minimum) || place->has_reads) return false;
    const CoordinateParts coordinate = parts_of(place);
    return coordinate.values.empty() && coefficient(place, axis) > 0;
}

}  // namespace

// Of the lanes of a reduction, and of the loops around them.
std::vector<AccumulatorId> Nest::ends_of_reduction(const Block& body, bool of_lanes) const {
    if (!group_.lanes_reduced || assembly_.target.has_workgroups() || accumulators_.empty()) return {};
    if (assembly_.kernel.hint(group_.lanes) < least_blocks * group_.vectors * group_.width) return {};
    for (EquationIndex index : group_.reductions) {
        const Reducer reducer = *equation(index).reducer;
        const bool is_truth =
            (reducer == Reducer::any || reducer == Reducer::all) && is_bool(equation(index).right->dtype);
        const bool is_first = of_lanes && reducer == Reducer::minimum && is_first_place(right(index), group_.lanes);
        if (!is_truth && !is_first) return {};
    }
    return MakesAccumulators(tree_)(body) ? accumulators_ : std::vector<AccumulatorId>{};
}

// Of the steps of a scan: the state that says that it is over. From then on each state is what it was.
std::vector<AccumulatorId> Nest::ends_of_steps(const Block& body,
                                               const std::map<TensorIndex, AccumulatorId>& states) const {
    if (assembly_.target.has_workgroups()) return {};
    std::map<TensorIndex, TensorIndex> state_before;  // by what reads it: the state one step before
    for (EquationIndex index : group_.equations())
        if (equation(index).vector_steps.part == VectorSteps::Part::before)
            state_before[equation(index).tensor] = equation(index).vector_steps.of;
    const auto read_state = [&](Expr e) {
        const auto found = e->kind == expr::Kind::read ? state_before.find(e->tensor()) : state_before.end();
        return found == state_before.end() ? TensorIndex(no_id) : found->second;
    };
    TensorIndex over = no_id;
    for (EquationIndex index : group_.equations()) {
        const KernelEquation& e = equation(index);
        if (e.vector_steps.part != VectorSteps::Part::running) continue;
        if (right(index)->kind != expr::Kind::select) return {};
        const auto parts = right(index)->parts();
        const TensorIndex asked = read_state(parts[0]);
        if (asked < 0 || (over >= 0 && asked != over)) return {};
        over = asked;
        const bool stays =
            read_state(parts[1]) == e.tensor || (e.tensor == over && parts[1] == assembly_.kernel.arena->truth(true));
        if (!stays) return {};
    }
    if (over < 0 || !MakesAccumulators(tree_)(body)) return {};
    return {states.at(over)};
}

}  // namespace heddle::schedules
