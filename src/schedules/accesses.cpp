#include "schedules/accesses.h"

#include <algorithm>

#include <array>

namespace heddle::schedules {
namespace {

void visit_once(const Kernel& kernel, ValueIndex index, std::vector<bool>& seen,
                const std::function<void(ValueIndex)>& function) {
    if (seen[static_cast<size_t>(index)]) return;
    seen[static_cast<size_t>(index)] = true;
    const Value& value = kernel.value(index);
    for (ValueIndex operand : value.operands) visit_once(kernel, operand, seen, function);
    for (const Coordinate& coordinate : value.coordinates) {
        for (const auto& [part, factor] : coordinate.values) visit_once(kernel, part, seen, function);
    }
    function(index);
}

void collect_reads(const Kernel& kernel, ValueIndex index, bool address, std::vector<std::array<bool, 2>>& seen,
                   std::vector<ReadAccess>& reads) {
    auto& mark = seen[static_cast<size_t>(index)][address];
    if (mark) return;
    mark = true;
    const Value& value = kernel.value(index);
    for (ValueIndex operand : value.operands) collect_reads(kernel, operand, address, seen, reads);
    for (const Coordinate& coordinate : value.coordinates) {
        for (const auto& [part, factor] : coordinate.values) collect_reads(kernel, part, true, seen, reads);
    }
    if (value.kind == Value::Kind::read || value.kind == Value::Kind::guarded_read) {
        reads.push_back({index, value.tensor, address});
    }
}

}  // namespace

void visit(const Kernel& kernel, ValueIndex root, const std::function<void(ValueIndex)>& function) {
    std::vector<bool> seen(kernel.values.size());
    visit_once(kernel, root, seen, function);
}

std::vector<ReadAccess> reads_of(const Kernel& kernel, ValueIndex root) {
    std::vector<std::array<bool, 2>> seen(kernel.values.size(), {false, false});
    std::vector<ReadAccess> reads;
    collect_reads(kernel, root, false, seen, reads);
    return reads;
}

bool reads_tensor(const Kernel& kernel, ValueIndex root, TensorIndex tensor) {
    for (const ReadAccess& read : reads_of(kernel, root)) {
        if (read.tensor == tensor) return true;
    }
    return false;
}

bool depends_on(const Kernel& kernel, const Coordinate& coordinate, AxisIndex axis) {
    if (coefficient(coordinate, axis) != 0) return true;
    for (const auto& [part, factor] : coordinate.values) {
        if (factor != 0 && depends_on(kernel, part, axis)) return true;
    }
    return false;
}

bool depends_on(const Kernel& kernel, ValueIndex root, AxisIndex axis) {
    bool found = false;
    visit(kernel, root, [&](ValueIndex index) {
        for (const Coordinate& coordinate : kernel.value(index).coordinates) {
            if (coefficient(coordinate, axis) != 0) found = true;
        }
    });
    return found;
}

bool contains_read(const Kernel& kernel, ValueIndex root) { return !reads_of(kernel, root).empty(); }

int64_t coefficient(const Coordinate& coordinate, AxisIndex axis) {
    int64_t sum = 0;
    for (const auto& [other, factor] : coordinate.axes) {
        if (other == axis) sum += factor;
    }
    return sum;
}

AxisIndex plain_axis(const Coordinate& coordinate) {
    if (coordinate.constant != 0 || !coordinate.values.empty()) return -1;
    if (coordinate.axes.size() != 1 || coordinate.axes[0].second != 1) return -1;
    return coordinate.axes[0].first;
}

bool is_constant(const Coordinate& coordinate) { return coordinate.axes.empty() && coordinate.values.empty(); }

bool same_coordinates(const std::vector<Coordinate>& a, const std::vector<Coordinate>& b) {
    if (a.size() != b.size()) return false;
    for (size_t d = 0; d < a.size(); d++) {
        auto left = a[d].axes, right = b[d].axes;
        std::sort(left.begin(), left.end());
        std::sort(right.begin(), right.end());
        if (a[d].constant != b[d].constant || left != right || a[d].values != b[d].values) return false;
    }
    return true;
}

std::optional<std::pair<int64_t, int64_t>> interval(const Kernel& kernel, const Coordinate& coordinate) {
    if (!coordinate.values.empty()) return std::nullopt;
    int64_t low = coordinate.constant, high = coordinate.constant;
    for (const auto& [axis, factor] : coordinate.axes) {
        int64_t last = kernel.axis(axis).extent - 1, reach = 0;
        if (last < 0) return std::pair<int64_t, int64_t>(0, -1);
        if (__builtin_mul_overflow(last, factor, &reach)) return std::nullopt;
        if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return std::nullopt;
    }
    return std::pair(low, high);
}

bool needs_guard(const Kernel& kernel, const Value& read, size_t d) {
    const KernelTensor& t = kernel.tensor(read.tensor);
    const Value& literal = kernel.value(read.operands[0]);
    bool real = literal.kind == Value::Kind::real;
    bool fills = literal.from_template && (real ? literal.real : static_cast<double>(literal.integer)) == t.filling;
    auto range = interval(kernel, read.coordinates[d]);
    const BufferDimension& dimension = t.dimensions[d];
    int64_t before = fills ? dimension.margin_before : 0, after = fills ? dimension.margin_after : 0;
    // Panels of a named extent: that this size divides says nothing of the next one, which shares the code.
    bool by_chance = before == 0 && after == 0 &&
                     std::any_of(read.coordinates[d].axes.begin(), read.coordinates[d].axes.end(),
                                 [&](const auto& term) { return term.second > 1 && kernel.axis(term.first).named; });
    if (by_chance) return true;
    return !range || range->first < -before || range->second >= dimension.extent + after;
}

bool is_window(const Kernel& kernel, const KernelEquation& equation, AxisIndex reduced) {
    for (const ReadAccess& read : reads_of(kernel, equation.right)) {
        for (const Coordinate& coordinate : kernel.value(read.value).coordinates) {
            if (coefficient(coordinate, reduced) == 0) continue;
            for (const auto& [axis, factor] : coordinate.axes) {
                if (axis != reduced && factor != 0 && contains(equation.axes, axis)) return true;
            }
        }
    }
    return false;
}

bool contains(const std::vector<AxisIndex>& axes, AxisIndex axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool same_axes(const std::vector<AxisIndex>& a, const std::vector<AxisIndex>& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](AxisIndex axis) { return contains(b, axis); });
}

}  // namespace heddle::schedules
