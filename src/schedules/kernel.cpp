#include "schedules/kernel.h"

#include "expr/remake.h"

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

Kernel copied(const Kernel& kernel, const std::function<void(Kernel&)>& add_axes) {
    Kernel copy = kernel;
    copy.arena = std::make_shared<Arena>(expr::Building::as_written);
    for (size_t i = 0; i < kernel.arena->axis_count(); i++) copy.add_axis(kernel.axis(AxisId(i)));
    if (add_axes) add_axes(copy);
    Arena::Memo memo;
    const auto given = [&](Expr e) { return e->kind == Kind::variable ? copy.arena->axis_value(e->axis()) : nullptr; };
    const auto make = [&](Expr e, std::vector<Expr> operands) { return copy.arena->copy(e, std::move(operands)); };
    for (KernelEquation& e : copy.equations) {
        for (Expr& left : e.left) left = expr::remade(left, memo, given, [](Expr p) { return operands_of(p); }, make);
        e.right = expr::remade(e.right, memo, given, [](Expr p) { return operands_of(p); }, make);
    }
    return copy;
}

}  // namespace heddle::schedules
