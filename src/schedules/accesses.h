// What a kernel's right sides read, and how an access moves when an axis does.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "schedules/kernel.h"

namespace heddle::schedules {

// One read node of a right side. `address` is false for reads that only make up a coordinate of another read.
struct ReadAccess {
    ValueIndex value = -1;
    TensorIndex tensor = -1;
    bool address = false;
};

// Every node under `root` once, operands and values in coordinates first.
void visit(const Kernel& kernel, ValueIndex root, const std::function<void(ValueIndex)>& function);
std::vector<ReadAccess> reads_of(const Kernel& kernel, ValueIndex root);
bool reads_tensor(const Kernel& kernel, ValueIndex root, TensorIndex tensor);
// Whether the value of `root` changes with the axis.
bool depends_on(const Kernel& kernel, ValueIndex root, AxisIndex axis);
bool depends_on(const Kernel& kernel, const Coordinate& coordinate, AxisIndex axis);
bool contains_read(const Kernel& kernel, ValueIndex root);

int64_t coefficient(const Coordinate& coordinate, AxisIndex axis);
// The coordinate is nothing but this axis.
// The only axis of the coordinate, if it is nothing else; -1 if not.
AxisIndex plain_axis(const Coordinate& coordinate);
// A constant that may have come from sizes: it is a launch number even where it is 0.
bool is_constant(const Coordinate& coordinate);
bool same_coordinates(const std::vector<Coordinate>& a, const std::vector<Coordinate>& b);

// The least and the largest value of an affine coordinate over its axes' extents; (0, -1) where an axis is empty.
// Nothing where it has values, or leaves the 64-bit integers.
std::optional<std::pair<int64_t, int64_t>> interval(const Kernel& kernel, const Coordinate& coordinate);

// Whether the guarded read may leave this dimension, and margins that hold its literal do not make up for it.
bool needs_guard(const Kernel& kernel, const Value& read, size_t dimension);

// A reduced axis that shares a coordinate with a free one in a read of the equation.
bool is_window(const Kernel& kernel, const KernelEquation& equation, AxisIndex reduced);

bool contains(const std::vector<AxisIndex>& axes, AxisIndex axis);
bool same_axes(const std::vector<AxisIndex>& a, const std::vector<AxisIndex>& b);

}  // namespace heddle::schedules
