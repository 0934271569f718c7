// Chooses for one phase: lanes, then rows, tile, packing and order, each from what is chosen before it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedules/interior.h"
#include "schedules/movements.h"
#include "target/target.h"

namespace heddle::schedules {

class Chooser {
public:
    Chooser(const Kernel& kernel, const Target& target, PhaseGroup& group, const std::vector<LocalStorage>& storage,
            bool single)
        : kernel_(kernel),
          target_(target),
          group_(group),
          storage_(storage),
          single_(single),
          movements_(kernel, storage) {}

    void choose();

private:
    int64_t hint(AxisId axis) const { return std::max<int64_t>(1, kernel_.hint(axis)); }
    const KernelEquation& equation(EquationIndex i) const { return kernel_.equations[static_cast<size_t>(i)]; }
    Expr right(EquationIndex i) const { return inside_.of.at(i); }
    bool is_made_here(Expr read) const;
    bool is_stored(TensorIndex tensor) const;
    void collect();
    int lane_width(int64_t widest) const;
    void widen_narrow_lanes();
    bool is_candidate(AxisId axis) const;
    bool decides_range(AxisId axis) const;
    double share_behind() const;
    double fold_of_a_vector(AxisId axis, int64_t width) const;
    double written_on(EquationIndex index, AxisId axis, const std::function<double(Movement)>& of) const;
    double cost(AxisId axis) const;
    std::optional<PackedOperand> packable(const ReadAccess& read, AxisId lanes) const;
    int64_t rows_sharing(Expr read, AxisId lanes) const;
    int saved(AxisId axis) const;
    bool all_move_with_lanes() const;
    void choose_update();
    bool reads_neighbours(Expr value, AxisId axis) const;
    bool ascends_by_vectors(const KernelEquation& e) const;
    void choose_vector_steps();
    bool moves_as_vector(AxisId axis) const;
    void choose_lanes();
    void narrow_few_lanes();
    AxisId rows_that_share_lanes() const;
    void choose_rows();
    int64_t bytes_between_rows(Expr read) const;
    int rows_that_l1_holds() const;
    int rows_that_registers_hold() const;
    void choose_tile_size();
    int vectors_of_streams() const;
    bool is_little(int slower) const;
    int64_t vectors_of_each_core() const;
    void bound_code();
    void choose_fused_rows();
    void choose_packing();
    void choose_order();
    void choose_prefetch();
    int64_t steps_ahead(int64_t bytes_from_memory, int64_t rows) const;
    void drop_single_panels();
    void order_packed();
    void choose_row_sizes();

    const Kernel& kernel_;
    const Target& target_;
    PhaseGroup& group_;
    const std::vector<LocalStorage>& storage_;
    bool single_;
    Movements movements_;
    RightSides inside_;                         // in the interior of every axis: what the nest mostly runs
    std::vector<ReadAccess> reads_;             // of the loop's body
    std::vector<ReadAccess> reads_behind_;      // of what is done once behind its reductions
    std::vector<EquationIndex> writes_;         // stored results
    std::vector<EquationIndex> stream_writes_;  // stored in the loop's body
};

}  // namespace heddle::schedules
