// A body compiled for the evaluator: regions of steps over blocks of lanes.
//
// A region computes some nodes for the points of its lane variables, 256 at a time; variables that loops around it walk
// have one value at a time (its scalars). A reduction is a step with a region of its own, in one of two ways:
// - over loops: the lanes stay those of the region around, and the reduction's variables become scalars of loops. A
// node
//   that depends on the first j loops only is computed when one of those moves;
// - over lanes: where the points outside are few, each of them becomes a scalar in turn, and the reduction's own points
//   are the lanes.
// A reduction that depends on fewer variables than the region's, and every local, is a table: computed once, before.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "evaluate/lanes.h"
#include "graph/graph.h"
#include "graph/verify.h"

namespace heddle::evaluation {

using Slot = int32_t;  // -1: none

// constant + sum over scalars + a base of the lane space, if any
struct Address {
    int64_t constant = 0;
    std::vector<std::pair<VariableId, int64_t>> scalar_terms;
    int32_t space = -1;
    int32_t base = -1;
};

struct Access {
    bool table = false;  // reads a table instead of a tensor
    int32_t source = 0;
    Address address;  // of the affine coordinates, strides applied
    struct Checked {  // an affine coordinate that may lie outside
        Address coordinate;
        int64_t extent = 0;
    };
    std::vector<Checked> checked;
    struct Computed {  // any other coordinate
        Slot slot = -1;
        Slot poison = -1;
        int64_t extent = 0;
        int64_t stride = 0;
    };
    std::vector<Computed> computed;
    bool guarded = false;
    LoadKernels kernels;
    LaneType lanes = LaneType::integer;
};

struct Step {
    enum class Kind : uint8_t { literal, scalar_variable, kernel, select, read, reduce };
    Kind kind = Kind::kernel;
    NodeId node = no_id;
    LaneType lanes = LaneType::integer;
    Slot result = -1;
    Slot poison = -1;  // of the result
    std::vector<Slot> operands;
    std::vector<Slot> operand_poisons;  // -1: never poisoned
    Kernel kernel = nullptr;
    Kernel wrap = nullptr;
    int64_t literal = 0;     // bits of the lane value
    int32_t index = -1;      // variable, access or reduction
    int8_t taken_into = -1;  // the operand that is a scan's state, of which steps may be taken together
};

struct LaneSpace {
    // sum over variables of coefficient * value: int64 lanes made once a block
    struct Base {
        std::vector<std::pair<Slot, int64_t>> terms;
        int64_t flat = 0;  // if not zero, the base is flat * (number of the point), and there are no terms
        Slot slot = -1;
    };
    std::vector<VariableId>
        variables;  // outermost first; those of extent one are left out: they are scalars that stay zero
    std::vector<int64_t> extents;
    int64_t points = 1;
    std::map<VariableId, Slot> values;  // lanes of the variables that are used
    std::vector<Base> bases;
    std::map<std::vector<std::pair<VariableId, int64_t>>, int32_t> known_bases;
};

struct Region {
    int32_t space = -1;                     // index of a LaneSpace
    std::vector<std::vector<Step>> levels;  // levels[0]: at entry; levels[j]: when loop j - 1 moves
};

struct Reduction {
    NodeId node = no_id;
    Reducer reducer = Reducer::sum;
    DType term_type = DType::float32;
    LaneType term_lanes = LaneType::single;
    bool over_lanes = false;
    int32_t region = -1;
    VariableList loops;  // over loops
    std::vector<int64_t> extents;
    Slot term = -1, filter = -1;  // in the region's slots
    std::vector<Slot> factors;    // of what a sum adds, where floats go with bounds
    Slot term_poison = -1, filter_poison = -1;
    Accumulate kernel = nullptr;
    Slot accumulator_poison = -1;  // as the result's, while terms are added
    Slot accumulator = -1,
         partial = -1;  // partial: sums, added to the accumulator now and then; argmin, argmax: the best term
    struct Import {     // over lanes: values made outside, one lane of them at a time
        Slot outer = -1, inner = -1;
        Slot outer_poison = -1, inner_poison = -1;
        LaneType lanes = LaneType::integer;
    };
    std::vector<Import> imports;
    std::vector<std::pair<VariableId, Slot>>
        outer;  // over lanes: variables that become scalars, and their lanes outside
};

// Computed once per point of `variables`, before whatever reads it. What a scan's states need of one another is
// computed step by step: it lies in memory step after step, a state with its initial values before them.
struct Table {
    NodeId root = no_id;
    std::vector<VariableId> variables;  // outermost first
    std::vector<int64_t> extents;       // as an array
    std::vector<int64_t> strides;
    int64_t points = 1;
    VariableId step = no_id;  // computed step by step along this one of the variables
    NodeId initial = no_id;   // of a state
    DType dtype = DType::float32;
    LaneType lanes = LaneType::single;
    bool poisoned = false;  // has a poison for each point
};

// A table whose elements take terms as values choose (inversion.h). The region's lanes are rows, then the reduction's
// own points; the reduction has its term, kernels and accumulators, and no region of its own.
struct Scatter {
    struct Part {
        Slot value = -1, poison = -1;
        int64_t extent = 0;  // of what it chooses; 0: a condition
        int64_t offset = 0, stride = 0;
        std::vector<int32_t> after;
    };
    int32_t reduction = -1;
    std::vector<Part> parts;
    int64_t terms = 1;     // of a row
    int64_t elements = 1;  // of a row
    Step finish;           // gives the result from the accumulators
};

struct Root {
    int32_t region = -1;
    Slot value = -1;
    Slot poison = -1;
    LaneType lanes = LaneType::single;
    VariableId step = no_id;  // roots of one step stand side by side and run together, step after step
    int64_t first_step = 0;   // of the table: what it writes at the first step
    int32_t table = -1;       // or
    int32_t scatter = -1;     // of such a table; `value` is none
    int32_t equation = -1;
    Address address;  // equations: of the output element
};

struct Program {
    std::vector<LaneSpace> spaces;
    std::vector<Region> regions;
    std::vector<Reduction> reductions;
    std::vector<Scatter> scatters;
    std::vector<Access> accesses;
    std::vector<Table> tables;
    std::vector<Root> roots;  // in the order in which they run
    Slot slots = 0;
    Slot poison_slots = 0;
};

struct CompileOptions {
    bool exact = false;       // floats in double
    bool loops_only = false;  // no reduction over lanes
    bool inverted = true;     // filters that choose elements are turned round
};

// `inputs` gives the shapes and the element types as stored. The body is verified.
Result<Program> compile(const Body& body, const std::vector<TensorData>& inputs, const std::vector<TensorData>& outputs,
                        CompileOptions options);

}  // namespace heddle::evaluation
