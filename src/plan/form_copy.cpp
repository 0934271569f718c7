#include "plan/kernel_former.h"
#include "plan/merge_axes.h"

namespace heddle::plan {

namespace sched = heddle::schedules;

sched::Kernel form_copy(const StorageMap& from, const StorageMap& to, DType dtype,
                        const std::vector<int64_t>& hint_shape, const std::vector<bool>& named,
                        const std::map<std::string, int64_t>& representatives) {
    sched::Kernel kernel;
    std::vector<sched::AxisId> axis_of(to.extent.size(), no_id);
    for (int32_t d32 : to.order) {
        size_t d = static_cast<size_t>(d32);
        bool has_origin = d < named.size() && named[d];
        if (to.extent[d].same_as(1) && !has_origin) continue;
        axis_of[d] = kernel.add_axis({.extent = to.extent[d], .named = has_origin, .hint = hint_shape[d]});
        kernel.common.push_back(axis_of[d]);
    }
    std::vector<std::vector<int64_t>> hints;
    std::vector<sched::Expr> coordinates[2];
    const StorageMap* maps[] = {&from, &to};
    for (int side = 0; side < 2; side++) {
        const StorageMap& map = *maps[side];
        const StorageMap hint_map = map.at_class(hint_shape, representatives);
        auto strides = map.strides(), hint_strides = hint_map.strides();
        sched::KernelTensor tensor{
            .name = "t" + std::to_string(side),
            .role = side == 0 ? sched::KernelTensor::Role::input : sched::KernelTensor::Role::output,
            .dtype = dtype,
            .filling = map.filling,
            .aligned = divides(static_cast<int64_t>(64 / bytes(dtype)), map.offset())};
        hints.emplace_back();
        for (int32_t d32 : map.order) {
            size_t d = static_cast<size_t>(d32);
            if (axis_of[d] < 0) continue;
            tensor.dimensions.push_back({map.extent[d], strides[d], map.margin_before[d], map.margin_after[d]});
            coordinates[side].push_back(kernel.arena->axis_value(axis_of[d]));
            hints.back().push_back(hint_strides[d].number());
        }
        kernel.tensors.push_back(std::move(tensor));
    }
    kernel.equations.push_back({.tensor = sched::TensorIndex(1),
                                .axes = kernel.common,
                                .left = coordinates[1],
                                .right = kernel.arena->read(sched::TensorIndex(0), dtype, coordinates[0])});
    merge_axes(kernel, hints);
    return kernel;
}

}  // namespace heddle::plan
