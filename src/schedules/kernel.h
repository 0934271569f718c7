// One kernel on its way from equations to a schedule: buffers with their storage applied, axes merged and named by
// first use (a, b, c ...), every coordinate linear in the axes but for indirect parts. Numbers here are concrete; the
// schedule turns extents, strides, offsets and data literals into launch numbers, so that kernels of other sizes share
// one code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/arena.h"
#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle::schedules {

using expr::Arena;
using expr::Axis;
using expr::AxisId;
using expr::Expr;
using expr::Kind;
using expr::TensorIndex;  // of Kernel::tensors

// How a dimension of a buffer is stored. Address in elements: base + sum over dimensions of coordinate * stride; the
// base points at coordinate 0, margins lie before and behind. The last dimension of stride one is the innermost at
// every size of the class: one that is a single element whatever the sizes are has a stride of 0.
struct BufferDimension {
    Size extent = 1;
    Size stride = 1;
    Size margin_before = 0, margin_after = 0;  // readable elements holding `Tensor::filling`

    // At some size of the class.
    bool has_margins() const { return !margin_before.same_as(0) || !margin_after.same_as(0); }
};

struct KernelTensor {
    enum class Role : uint8_t { input, output, in_out, local };
    std::string name;
    Role role = Role::input;
    DType dtype = DType::float32;
    std::vector<BufferDimension> dimensions;  // in memory's order; of a local: extents only, the schedule stores it
    double filling = 0;                       // of the margins
    bool constant = false;                    // a weight: may be packed in `prepare`
    bool aligned = true;                      // base at 64 bytes
    bool slack = true;                        // 64 readable bytes behind
    // Of an output that takes over the memory of an input, that input, and of that the output: the same coordinates are the
    // same element.
    TensorIndex shares = no_id;
    bool may_alias() const { return shares >= 0; }
};

// What an equation is among steps that share a nest: made by the schedule alone (vector_steps.h).
struct VectorSteps {
    enum class Part : uint8_t {
        plain,    // over the steps, or before their first
        running,  // a state at each step. By vectors: `of` and the terms of all steps up to each, which are the right
                  // side, combined by `reducer`. In turn: `of`, then the right side
        before,   // what `of`, a running one, was one step before
        last,     // what it is behind the last step
    };
    AxisId steps = no_id;
    bool in_turn = false;  // one step after another, and states in registers; else the steps are lanes
    Part part = Part::plain;
    Reducer reducer = Reducer::sum;
    TensorIndex of = no_id;
    TensorIndex factor = no_id;  // running, by vectors: what is left of the step before, if not all (running_term.h)
};

struct KernelEquation {
    TensorIndex tensor = no_id;
    std::vector<AxisId> axes;  // outermost first
    std::vector<Expr> left;    // one a dimension of the tensor
    std::optional<Reducer> reducer;
    std::vector<AxisId> reduced;
    Expr right = nullptr;
    bool light = false;  // may lack a common axis: a phase that each task runs
    // An update, of a tensor that an equation before it has filled, or of an `in_out` buffer: `right` is a selection;
    // for every point of `axes` and `reduced` (which run in order, outermost first) where its condition holds,
    // tensor[left] becomes its second operand; elsewhere nothing is stored. Coordinates on the left may hold values and
    // reduced axes; the condition implies that they are inside.
    bool update = false;
    // Of a scan: a further axis, whose points run in order. Equations of one ordered axis stand side by side and run
    // together, step after step; they read one another at this step and at those before.
    AxisId ordered = no_id;
    // Made by the schedule alone (step_blocks.h): the axis of the blocks of steps that the equation runs in.
    AxisId block = no_id;
    VectorSteps vector_steps;
    // Of an update, made by the schedule alone (ascending_places.h): the reduced axis along which points where the
    // condition holds go to places one after another in the last dimension; of any run of points, the left side at its
    // first says where.
    // All elements behind hold `filling`.
    AxisId ascending = no_id;
    Expr filling = nullptr;
    // Of an update, made by the schedule alone (checks_ahead.h): where its condition holds, all places that data choose
    // are inside.
    bool all_inside = false;
    // Made by the schedule alone: equations that one was written out into (written_digits.h), and a result and what
    // turns it (rows_aside.h), have one number and no nest in common; the former run over the points of an axis that
    // are before the end of another, which may be shorter by one.
    int32_t written = -1;
    std::vector<std::pair<AxisId, AxisId>> limits;
};

// The steps of a scan in blocks, the last of which may be shorter: made by the schedule alone.
struct StepBlocks {
    AxisId steps = no_id, blocks = no_id;  // of one block; how many blocks
    AxisId all = no_id;                    // of the scan
};

struct Kernel {
    // Of coordinates and right sides. Its axes are the kernel's: extents of this launch, hints, which alone costs look
    // at; no fact may concern a named one. Nothing is decided by extents: other sizes have the same expressions.
    std::shared_ptr<Arena> arena = std::make_shared<Arena>(expr::Building::as_written);
    std::vector<KernelTensor> tensors;      // buffers in order of first use, then locals
    std::vector<KernelEquation> equations;  // in order
    std::vector<AxisId> common;             // T, outermost first: tasks are independent over it
    std::vector<StepBlocks> step_blocks;    // made by the schedule alone
    std::map<std::string, int64_t> representatives;  // of the size classes of names in sizes, as hints are

    AxisId add_axis(Axis axis);  // before any expression is made: sums name axes in this order
    const Axis& axis(AxisId i) const { return arena->axis(i); }
    int64_t hint(AxisId i) const { return arena->hint(i); }
    int64_t hint(const Size& size) const { return size.at(representatives); }
    const KernelTensor& tensor(TensorIndex i) const { return tensors[i]; }
    expr::ReadableTensor readable(TensorIndex i) const;  // without its margins
};

// The same kernel with an arena of its own, which may then grow; and with more axes.
Kernel copied(const Kernel& kernel, const std::function<void(Kernel&)>& add_axes = {});

// The text form of docs/schedules.md: prints and parses; numbers are printed (extents behind axes, strides behind
// buffers).
std::string print(const Kernel& kernel, const std::string& name = "kernel");
Result<Kernel> parse_kernel(std::shared_ptr<const SourceText> text);
// Indices in range, axes in scope, types, coordinates inside buffers and margins where not guarded.
Result<void> verify(const Kernel& kernel);

}  // namespace heddle::schedules
