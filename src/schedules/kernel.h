// One kernel on its way from equations to a schedule: buffers with their storage applied, axes merged and named by
// first use, every coordinate affine in the axes but for indirect parts. Numbers here are concrete; the schedule turns
// extents, strides, offsets and data literals into launch numbers, so that kernels of other sizes share one code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/scalar_op.h"
#include "support/diagnostic.h"
#include "support/dtype.h"

namespace heddle::schedules {

using AxisIndex = int32_t;    // of Kernel::axes
using TensorIndex = int32_t;  // of Kernel::tensors
using ValueIndex = int32_t;   // of Kernel::values

struct KernelAxis {
    std::string name;    // by first use: a, b, c ...
    int64_t extent = 1;  // of this launch
    int64_t hint = 1;    // of the size class's representative: costs look at this one only
    bool named = false;  // has an origin: no fact may concern it
};

// How a dimension of a buffer is stored. Address in elements: base + sum over dimensions of coordinate * stride; the
// base points at coordinate 0, margins lie before and behind. The last dimension of stride one is the innermost at
// every size of the class: one that is a single element whatever the sizes are has a stride of 0.
struct BufferDimension {
    int64_t extent = 1;
    int64_t stride = 1;
    int64_t margin_before = 0, margin_after = 0;  // readable elements holding `Tensor::filling`
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
    bool may_alias = false;                   // shares memory with another tensor of the kernel: not `noalias`
};

// constant + sum coefficient * axis + sum coefficient * value (an integer value: an indirect read, a remainder, a
// clamp)
struct Coordinate {
    int64_t constant = 0;
    std::vector<std::pair<AxisIndex, int64_t>> axes;
    std::vector<std::pair<ValueIndex, int64_t>> values;
};

// A node of the right sides, operands before users; equal nodes are one.
struct Value {
    enum class Kind : uint8_t {
        integer,     // literal
        real,        // literal
        coordinate,  // the integer value of `coordinates[0]`
        scalar,      // op(operands)
        cast,
        select,        // condition, then, else: lazy
        inside,        // bool: 0 <= coordinates[0] < integer
        read,          // tensor at coordinates
        guarded_read,  // the same, outside of the tensor operands[0], a literal
    };
    Kind kind = Kind::integer;
    DType dtype = DType::float32;
    ScalarOp op = ScalarOp::add;
    TensorIndex tensor = -1;
    int64_t integer = 0;
    double real = 0;
    bool from_template = true;  // literals: stays in the kernel's text; others become launch numbers
    std::vector<ValueIndex> operands;
    std::vector<Coordinate> coordinates;
};

struct KernelEquation {
    TensorIndex tensor = -1;
    std::vector<AxisIndex> axes;   // outermost first
    std::vector<Coordinate> left;  // one a dimension of the tensor
    std::optional<Reducer> reducer;
    std::vector<AxisIndex> reduced;
    ValueIndex right = -1;
    bool light = false;  // may lack a common axis: a phase that each task runs
    // An update, of a tensor that an equation before it has filled, or of an `in_out` buffer: `right` is a selection;
    // for every point of `axes` and `reduced` (which run in order, outermost first) where its condition holds,
    // tensor[left] becomes its second operand; elsewhere nothing is stored. Coordinates on the left may hold values and
    // reduced axes; the condition implies that they are inside.
    bool update = false;
    // Of a scan: a further axis, whose points run in order. Equations of one ordered axis stand side by side and run
    // together, step after step; they read one another at this step and at those before.
    AxisIndex ordered = -1;
};

struct Kernel {
    std::vector<KernelAxis> axes;
    std::vector<KernelTensor> tensors;  // buffers in order of first use, then locals
    std::vector<Value> values;
    std::vector<KernelEquation> equations;  // in order
    std::vector<AxisIndex> common;          // T, outermost first: tasks are independent over it

    const Value& value(ValueIndex i) const { return values[static_cast<size_t>(i)]; }
    const KernelTensor& tensor(TensorIndex i) const { return tensors[static_cast<size_t>(i)]; }
    const KernelAxis& axis(AxisIndex i) const { return axes[static_cast<size_t>(i)]; }
};

// The text form of docs/schedules.md: prints and parses; numbers are printed (extents behind axes, strides behind
// buffers).
std::string print(const Kernel& kernel, const std::string& name = "kernel");
Result<Kernel> parse_kernel(std::shared_ptr<const SourceText> text);
// Indices in range, axes in scope, operand types, coordinates inside buffers and margins where not guarded.
Result<void> verify(const Kernel& kernel);

}  // namespace heddle::schedules
