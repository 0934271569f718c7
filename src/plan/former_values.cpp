// Coordinates and values of the equation that is being formed.
#include "equations/pass_support.h"
#include "expr/remake.h"
#include "plan/former.h"

namespace heddle::plan {

using namespace equations;
namespace sched = heddle::schedules;

sched::AxisId KernelFormer::axis_of(AxisId axis) const {
    auto found = axes_.find({equation_, axis});
    return found != axes_.end() ? found->second : axes_.at({maker_, axis});
}

// Coordinates as the kernel sees the tensor, still the system's.
std::vector<Expr> KernelFormer::viewed(TensorIndex t, std::span<const Expr> from) {
    std::vector<Expr> result;
    bool local = result_.kernel.tensor(index_.at(t)).role == sched::KernelTensor::Role::local;
    const auto& view = views_.at(t);
    for (size_t i = 0; i < view.size(); i++) {
        Expr c = from[view[i].dimension];
        const bool outermost = i == 0 || view[i - 1].dimension != view[i].dimension;
        if (view[i].in_turn)
            c = in_turn(c, view[i].extent);
        else if (view[i].radix > 0)
            c = digit(t, view[i], c, local, outermost);
        result.push_back(c);
    }
    return result;
}

std::vector<Expr> KernelFormer::coordinates(TensorIndex t, std::span<const Expr> from) {
    std::vector<Expr> result = viewed(t, from);
    for (Expr& c : result) c = value(c);
    return result;
}

// The place of a step among `places`. A number of steps is a launch number, whatever place that is.
Expr KernelFormer::in_turn(Expr c, int64_t places) {
    if (c->kind == Kind::integer && c->from_template && c->integer < places) return c;  // a value before the first step
    Expr step = c->kind == Kind::integer ? arena_.literal(DType::int64, c->integer, false) : c;
    return arena_.scalar(ScalarOp::modulo, DType::int64, {step, arena_.integer(places)});
}

// Where a coordinate lies outside, its outermost digit does too: nothing wraps, since no selection takes that read.
Expr KernelFormer::digit(TensorIndex t, const ViewDimension& v, Expr c, bool local, bool outermost) {
    if (local) {
        const Equation& writer = system_.equation(system_.tensor(t).equations[0]);
        const Size offset = linear_form(writer.left[v.dimension]).constant;
        c = arena_.add(c, arena_.integer(-offset));
    }
    Expr shifted = arena_.floor_divide(c, v.radix);
    // Without elements no coordinate is ever computed.
    const bool inside = v.extent == 0 || (shifted->low >= 0 && shifted->high < v.extent);
    return outermost || inside ? shifted : arena_.modulo(shifted, v.extent);
}

// The system's expression in the kernel's arena: axes are classes, reads see tensors as the kernel does.
Expr KernelFormer::value(Expr root) {
    auto axis = [&](Expr e) {
        return e->kind == Kind::variable ? result_.kernel.arena->axis_value(axis_of(e->axis())) : nullptr;
    };
    auto parts = [&](Expr e) {
        if (!e->is_read()) return operands_of(e);
        std::vector<Expr> read = viewed(e->tensor(), expr::coordinates_of(e));
        if (e->kind == Kind::guarded_read) read.push_back(e->parts().back());
        return read;
    };
    return remade(root, memo_, axis, parts, [&](Expr e, std::vector<Expr> made) { return make(e, std::move(made)); });
}

Expr KernelFormer::make(Expr e, std::vector<Expr> parts) {
    Arena& arena = *result_.kernel.arena;
    if (!e->is_read()) return arena.copy(e, std::move(parts));
    const sched::TensorIndex tensor = index_.at(e->tensor());
    if (e->kind == Kind::read) return arena.read(tensor, e->dtype, std::move(parts));
    Expr otherwise = parts.back();
    parts.pop_back();
    return arena.guarded_read(tensor, e->dtype, std::move(parts), otherwise, result_.kernel.readable(tensor).shape);
}

// `at` lies where `left` runs.
Expr KernelFormer::within(Expr left, Expr at) {
    Size extent = 1;
    for (const Digit& digit : digits_of(left)) extent = extent * arena_.extent(digit.axis);
    return result_.kernel.arena->inside(value(arena_.add(at, arena_.integer(-linear_form(left).constant))), extent);
}

}  // namespace heddle::plan
