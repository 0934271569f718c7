// What a kernel's right sides read, and how an access moves when an axis does.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schedules/kernel.h"
#include "support/inline_vector.h"
#include "zspace/interval.h"

namespace heddle::schedules {

using Coordinates = std::span<const Expr>;  // of a read or a left side: one a dimension

// One read of a right side. `address` is false for reads that only make up a coordinate of another read.
struct ReadAccess {
    Expr value = nullptr;
    TensorIndex tensor = no_id;
    bool address = false;
};

// Operands first.
std::vector<ReadAccess> reads_of(Expr root);
bool reads_tensor(Expr root, TensorIndex tensor);
// Each value under `root` once: itself, operands, and what coordinates are made of besides axes.
std::vector<Expr> values_of(Expr root);
// About how many instructions `root` is for a vector along the axis; coordinates that all lanes share do not count.
int64_t code_size(Expr root, AxisId lanes);
// Whether the value of `root` changes with the axis.
bool depends_on(Expr root, AxisId axis);
// The place of a step, of which only the last few are kept: each in its turn.
inline bool is_kept_in_turn(Expr coordinate) {
    return coordinate->kind == Kind::scalar && coordinate->op == ScalarOp::modulo;
}

// constant + sum coefficient * axis + sum coefficient * value (an indirect read, a remainder, a clamp)
struct CoordinateParts {
    Size constant = 0;
    InlineVector<std::pair<AxisId, Size>, 4> axes;
    InlineVector<std::pair<Expr, Size>, 2> values;

    // A constant that may have come from sizes: it is a launch number even where it is 0.
    bool is_constant() const { return axes.empty() && values.empty(); }
};
CoordinateParts parts_of(Expr coordinate);

Size coefficient(Expr coordinate, AxisId axis);
// The only axis of the coordinate, if it is nothing else; -1 if not.
AxisId plain_axis(Expr coordinate);
AxisId lone_axis(Expr coordinate);  // of n * axis + m with n > 0; else -1

// The values of a coordinate over its axes' extents, none where an axis is empty. Nothing is known where it reads a
// tensor, or leaves the 64-bit integers.
std::optional<Interval> interval(const Kernel& kernel, Expr coordinate);
// Whether the read lies inside of its tensor, margins left out, at all points, as far as its coordinates are no data.
bool is_inside(const Kernel& kernel, Expr read);

// Whether the guarded read may leave this dimension, and margins that hold its literal do not make up for it.
bool needs_guard(const Kernel& kernel, Expr read, size_t dimension);

// A reduced axis that shares a coordinate with a free one in a read of the equation.
bool is_window(const KernelEquation& equation, AxisId reduced);

bool contains(const std::vector<AxisId>& axes, AxisId axis);
bool same_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);

}  // namespace heddle::schedules
