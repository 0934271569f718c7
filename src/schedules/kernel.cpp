#include "schedules/kernel.h"

namespace heddle::schedules {

AxisId Kernel::add_axis(Axis axis) {
    const AxisId id = arena->add_axis(std::move(axis));
    arena->axis_value(id);
    return id;
}

expr::ReadableTensor Kernel::readable(TensorIndex i) const {
    expr::ReadableTensor result{i, tensor(i).dtype, {}};
    for (const BufferDimension& dimension : tensor(i).dimensions) result.shape.push_back(dimension.extent);
    return result;
}

}  // namespace heddle::schedules
