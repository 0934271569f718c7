// The nest while it is built: nest.cpp has loops, tiles and updates, nest_ranges.cpp where loops begin and end,
// nest_reduced.cpp loops over reduced axes, nest_steps.cpp the steps of a scan by vectors, nest_prefetch.cpp what is
// asked for ahead, nest_ends.cpp which loops end early.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schedules/data_ranges.h"
#include "schedules/filling_stores.h"
#include "schedules/nest.h"

namespace heddle::schedules {

class Nest {
public:
    Nest(Assembly& assembly, const NestPlan& plan)
        : assembly_(assembly),
          tree_(assembly.result.tree),
          plan_(plan),
          group_(plan.group),
          part_(plan.part),
          expressions_(assembly, plan.group),
          guards_(plan.guards),
          border_(plan.part.border.has_value()) {
        if (group_.ordered >= 0) expressions_.bind(group_.ordered, plan.step);
        data_bounds_ = data_bounds(assembly.kernel, group_);
        fillings_ = filling_stores(assembly.kernel, group_);
        if (group_.block >= 0) expressions_.bind(group_.block, assembly.block_variables.at(group_.block));
        take(plan.sides);
        const AxisId last = group_.loops.empty() ? AxisId(no_id) : group_.loops.back();
        if (!group_.update) ask_outside(group_.lanes_reduced ? group_.lanes : last);
    }

    Block build();

private:
    using Inner = std::function<Block()>;
    const KernelEquation& equation(EquationIndex i) const { return assembly_.kernel.equations[static_cast<size_t>(i)]; }
    Expr right(EquationIndex i) const { return sides_.of.at(i); }
    void take(RightSides sides);
    Range range(AxisId axis);
    Range whole_range(AxisId axis);
    void end_where_it_changes(Range& range, AxisId axis, Expr coordinate);
    bool is_innermost(Expr coordinate, AxisId axis) const;
    Number inside(NumberId::Role role, AxisId axis, const Size& value);
    Block loops();
    Block beside_lanes(const NestPlan& plan);
    Block vector_steps();
    Block steps_in_turn();
    struct PartsOfSteps {
        std::vector<EquationIndex> steps, behind;
    };
    PartsOfSteps define_first(Block& block);
    AccumulatorId start_running(Block& block, EquationIndex index);
    ExpressionId of_accumulator(Expression::Kind kind, AccumulatorId accumulator);
    std::vector<AxisId> loops_around() const;
    std::vector<AxisId> loops_along_rows() const;
    bool fills_rows_of_buffer() const;
    Block serial(std::vector<AxisId> axes, const Inner& inner);
    Block lanes(const Inner& inner);
    Block rows(const Inner& inner);
    Rows row_tiles(Range range, std::vector<int> sizes, const Inner& inner);
    Block cut_rows(const Interior& decided, const Inner& inner);
    Block fused_rows(const Inner& inner);
    bool clip(For& loop, AxisId axis);
    bool narrow(Range& range, AxisId axis);
    bool may_unroll(const Block& body, int64_t extent) const;
    Block reduced_loops(size_t depth, const Inner& inner);
    Block reduced_loop(size_t depth, const Inner& inner);
    void ask_outside(AxisId innermost);
    Block where_asked(const Inner& inner);
    Expr where_it_holds(Expr e);
    struct ReducedLoop {
        AxisId axis;
        Range range;
        bool clipped;
        int32_t copies;  // of its body
    };
    struct Spread {
        int64_t low = 0, high = 0;
    };
    Block reduced_parts(const ReducedLoop& of, const Inner& inner);
    Spread spread_in_tile(Expr coordinate) const;
    Expr asked_of_tile(const ReducedLoop& loop) const;
    Block cut_where_it_changes(const ReducedLoop& loop, Expr below_zero, const Inner& inner);
    bool adds_nothing() const;
    std::vector<AccumulatorId> ends_of_reduction(const Block& body, bool of_lanes) const;
    std::vector<AccumulatorId> ends_of_steps(const Block& body,
                                             const std::map<TensorIndex, AccumulatorId>& states) const;
    std::optional<int64_t> window(AxisId axis) const;
    Block core();
    bool loops_over_rows() const;
    void epilogue(Block& block);
    Block update_loops();
    Block store_update(EquationIndex index);
    void compress(Store& store, const KernelEquation& equation);
    void add_accumulators(Block& block);
    Block body();
    void add_prefetches(Block& block);
    void prefetch_next_rows(Block& block, size_t first_expression);
    void prefetch_row_of_band(Block& block, size_t first_expression);
    void add_prefetch_start(Block& block);
    void define(Block& block, EquationIndex index, ExpressionId value);
    void add_store(Block& block, EquationIndex index, Store store);
    void add_stores_in_place(Block& block);
    Update update(EquationIndex index);
    Lanes::Mask mask() const;
    bool may_repeat_lanes() const;

    Assembly& assembly_;
    Tree& tree_;
    const NestPlan& plan_;
    const PhaseGroup& group_;
    const Part& part_;
    VariableId side_ = no_id;     // 0 before the interior, 1 behind it
    RightSides sides_;            // at this place of the nest
    std::vector<AxisId> around_;  // of a nest inside of another: bound there
    ExpressionBuilder expressions_;
    std::vector<AccumulatorId> accumulators_;  // of group_.reductions
    VariableId row_variable_ = no_id;          // of fused rows
    const std::vector<ClippedGuard>& guards_;  // that ranges stand for
    bool border_;                              // single rows, whose windows are clipped
    std::vector<DataBound> data_bounds_;
    std::vector<Expr> asked_;  // before the innermost loop, which stands where all of them hold
    std::vector<std::vector<EquationIndex>> fillings_;       // stores that become one
    std::map<EquationIndex, Store> waiting_;                 // for the others of their filling
    std::vector<std::pair<EquationIndex, Store>> in_place_;  // for the end of the block
};

inline void append(Block& block, Block more) {
    block.insert(block.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace heddle::schedules
