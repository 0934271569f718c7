// Which equations share a nest, and where locals live.
#pragma once

#include <vector>

#include "schedules/accesses.h"
#include "schedules/kernel.h"
#include "schedules/schedule.h"

namespace heddle::schedules {

using EquationIndex = StrongId<struct EquationTag>;  // of Kernel::equations

// An operand that is read from a packed map: [outer ...][lane / panel][inner ...][panel].
struct PackedOperand {
    Expr read = nullptr;
    TensorIndex tensor = no_id;
    int lane_dimension = -1;
    int64_t panel = 0;              // NR, elements
    std::vector<int> outer, inner;  // dimensions of the tensor, outermost first
    int index = -1;                 // of Scheduled::packings
};

// The equations of one nest: `before` are streams that `reductions` consume as they are made, `after` the epilogue (or,
// without reductions, the stream itself).
struct PhaseGroup {
    std::vector<EquationIndex> before, reductions, after;
    std::vector<AxisId> axes;  // of the results, outermost first
    std::vector<AxisId> reduced;
    bool update = false;     // of one equation, an update, in `after`: it shares its nest with nobody
    AxisId ordered = no_id;  // of the equations' scan: its loop stands around the phases
    AxisId block = no_id;    // of blocks of steps: its loop stands around those of the steps
    std::vector<std::pair<AxisId, AxisId>> limits;  // of its equations

    AxisId vector_steps =
        no_id;             // of a scan that is all of this, in `after` (vector_steps.h): its steps are its lanes ...
    bool in_turn = false;  // ... or a loop inside of them

    bool runs_steps() const { return ordered >= 0 || in_turn; }

    // Choices (choices.h).
    AxisId lanes = no_id;  // -1: no axis at all
    bool lanes_reduced = false;
    AxisId rows = no_id;
    std::vector<AxisId> fused;  // row axes that one row index runs over, outermost first; the last is `rows`
    bool transposed = false;
    bool contraction = false;  // moving along the rows leaves an operand unmoved
    bool windowed = false;     // strides of windows are facts
    bool little = false;       // beside another phase of its scan's step
    int64_t term_size = 0;     // instructions of `before` and `reductions`, for one vector of one row; see code_size
    int vectors = 1, maximum_rows = 1, width = 1;
    std::vector<int> row_sizes;
    std::vector<AxisId> loops;  // reduced axes but for lanes, outermost first
    std::vector<PackedOperand> packed;
    bool prefetch_panel = false;
    int64_t prefetch_ahead = 0;  // elements; 0: none
    bool non_temporal = false;

    // Of a kernel in bands of rows (row_bands.h): the axis of its rows, and the first of band 0, which may be below 0.
    AxisId banded = no_id;
    int64_t first_row = 0;

    // Of a kernel in rounds (rounds.h): the axis that is cut, and its points of one part; -1: the first part does all.
    AxisId parted = no_id;
    Size part = 0;

    std::vector<EquationIndex> equations() const;  // in order
};

// Joins each equation to the phase before it where the rules of docs/schedules.md, "The tree", allow.
std::vector<PhaseGroup> group_phases(const Kernel& kernel);

struct LocalStorage {
    enum class Kind : uint8_t {
        not_local,
        unused,
        in_register,
        array,   // of the task
        alias,   // in the memory of array `target`, at the same coordinates
        output,  // in the memory of output `target`, at its equation's coordinates
    };
    Kind kind = Kind::not_local;
    TensorIndex target = no_id;
    EquationIndex target_equation = no_id;
    std::vector<int> order;       // of dimensions in memory, outermost first; empty: not decided
    std::vector<AxisId> of_task;  // per dimension: the common axis of which it holds the task's part, or -1
};

// Per tensor of the kernel; orders are left open.
std::vector<LocalStorage> store_locals(const Kernel& kernel, const std::vector<PhaseGroup>& groups);

// The read is of another step than the equation's left side, at whatever points.
bool reads_other_step(const KernelEquation& e, Expr read);
// The equation reads the result of `producer` only where it was computed for the same point.
bool reads_own_points(const KernelEquation& reader, const KernelEquation& producer);

}  // namespace heddle::schedules
