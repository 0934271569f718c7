#include "plan/kernel_former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {

namespace sched = heddle::schedules;

sched::Kernel form_copy(const StorageMap& from, const StorageMap& to, DType dtype,
                        const std::vector<int64_t>& hint_shape, const std::vector<bool>& named) {
    sched::Kernel kernel;
    std::vector<sched::AxisIndex> axis_of(to.extent.size(), -1);
    for (int32_t d32 : to.order) {
        size_t d = static_cast<size_t>(d32);
        bool has_origin = d < named.size() && named[d];
        if (to.extent[d] == 1 && !has_origin) continue;
        axis_of[d] = static_cast<sched::AxisIndex>(kernel.axes.size());
        kernel.axes.push_back({.name = "", .extent = to.extent[d], .hint = hint_shape[d], .named = has_origin});
    }
    std::vector<std::vector<int64_t>> hints;
    std::vector<sched::Coordinate> coordinates[2];
    const StorageMap* maps[] = {&from, &to};
    for (int side = 0; side < 2; side++) {
        const StorageMap& map = *maps[side];
        StorageMap hint_map = map;
        hint_map.extent = hint_shape;
        auto strides = map.strides(), hint_strides = hint_map.strides();
        sched::KernelTensor tensor{
            .name = "t" + std::to_string(side),
            .role = side == 0 ? sched::KernelTensor::Role::input : sched::KernelTensor::Role::output,
            .dtype = dtype,
            .filling = map.filling,
            .aligned = map.offset() % static_cast<int64_t>(64 / bytes(dtype)) == 0};
        hints.emplace_back();
        for (int32_t d32 : map.order) {
            size_t d = static_cast<size_t>(d32);
            if (axis_of[d] < 0) continue;
            tensor.dimensions.push_back({map.extent[d], strides[d], map.margin_before[d], map.margin_after[d]});
            coordinates[side].push_back({.axes = {{axis_of[d], 1}}});
            hints.back().push_back(hint_strides[d]);
        }
        kernel.tensors.push_back(std::move(tensor));
    }
    kernel.values.push_back(
        {.kind = sched::Value::Kind::read, .dtype = dtype, .tensor = 0, .coordinates = coordinates[0]});
    sched::KernelEquation equation{.tensor = 1, .left = coordinates[1], .right = 0};
    for (sched::AxisIndex a = 0; a < static_cast<sched::AxisIndex>(kernel.axes.size()); a++) equation.axes.push_back(a);
    kernel.common = equation.axes;
    kernel.equations.push_back(std::move(equation));
    merge_axes(kernel, hints);
    name_axes(kernel);
    return kernel;
}

}  // namespace heddle::plan
