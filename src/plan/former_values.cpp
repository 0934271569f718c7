// Coordinates and values of the equation that is being formed.
#include "equations/pass_support.h"
#include "plan/former.h"

namespace heddle::plan {

using namespace equations;
namespace sched = heddle::schedules;

// Of the present equation, or of the scatter whose terms it takes.
int32_t KernelFormer::class_of(AxisId axis) const {
    auto found = classes_.find({equation_, axis});
    return found != classes_.end() ? found->second : classes_.at({maker_, axis});
}

// `known`: the coordinates lie inside, whatever their intervals say.
std::vector<sched::Coordinate> KernelFormer::coordinates(TensorIndex t, const std::vector<Expr>& from, bool known) {
    std::vector<sched::Coordinate> result;
    bool local = result_.kernel.tensor(index_.at(t)).role == sched::KernelTensor::Role::local;
    const auto& view = views_.at(t);
    for (size_t i = 0; i < view.size(); i++) {
        Expr c = from[view[i].dimension];
        if (view[i].in_turn) {
            result.push_back(in_turn(c, view[i].extent));
            continue;
        }
        const bool outermost = i == 0 || view[i - 1].dimension != view[i].dimension;
        if (view[i].radix > 0) c = digit(t, view[i], c, local, known && outermost);
        result.push_back(coordinate(c));
    }
    return result;
}

// The place of a step among `places`. A number of steps is a launch number, whatever place that is.
sched::Coordinate KernelFormer::in_turn(Expr c, int64_t places) {
    sched::Coordinate result;
    if (c->kind == Kind::integer && c->integer == 0) return result;
    sched::Value divisor;
    divisor.kind = sched::Value::Kind::integer;
    divisor.dtype = DType::int64;
    divisor.integer = places;
    sched::Value place;
    place.kind = sched::Value::Kind::scalar;
    place.dtype = DType::int64;
    place.op = ScalarOp::modulo;
    const sched::ValueIndex step = c->kind == Kind::integer ? integer_value(c->integer) : value(c);
    place.operands = {step, add_value(std::move(divisor))};
    result.values.push_back({add_value(std::move(place)), 1});
    return result;
}

Expr KernelFormer::digit(TensorIndex t, const ViewDimension& v, Expr c, bool local, bool outermost) {
    if (local) {
        const Equation& writer = system_.equation(system_.tensor(t).equations[0]);
        const int64_t offset = linear_form(writer.left[v.dimension]).constant;
        c = arena_.add(c, arena_.integer(-offset));
    }
    Expr shifted = arena_.floor_divide(c, v.radix);
    // Without elements no coordinate is ever computed.
    outermost |= v.extent == 0 || (shifted->low >= 0 && shifted->high < v.extent);
    return outermost ? shifted : arena_.modulo(shifted, v.extent);
}

sched::Coordinate KernelFormer::coordinate(Expr c) {
    sched::Coordinate result;
    const auto form = linear_form(c);
    result.constant = form.constant;
    for (auto [atom, factor] : form.terms) {
        if (atom->kind == Kind::axis) {
            result.axes.push_back({class_of(static_cast<AxisId>(atom->integer)), factor});
        } else {
            result.values.push_back({value(atom), factor});
        }
    }
    return result;
}

sched::ValueIndex KernelFormer::value(Expr e) {
    if (auto found = memo_.find(e); found != memo_.end()) return found->second;
    sched::ValueIndex index = add_value(make_value(e));
    memo_[e] = index;
    return index;
}

sched::Value KernelFormer::make_value(Expr e) {
    sched::Value v;
    v.dtype = e->dtype;
    v.op = e->op;
    v.from_template = e->from_template;
    using V = sched::Value::Kind;
    switch (e->kind) {
    case Kind::integer:
        v.kind = V::integer;
        v.integer = e->integer;
        break;
    case Kind::real:
        v.kind = V::real;
        v.real = e->real;
        break;
    case Kind::axis:
    case Kind::linear:
        v.kind = V::coordinate;
        v.coordinates.push_back(coordinate(e));
        break;
    case Kind::floor_divide:
    case Kind::modulo:
        v.kind = V::scalar;
        v.op = e->kind == Kind::modulo ? ScalarOp::modulo : ScalarOp::floor_divide;
        v.operands = {value(e->operands[0]), integer_value(e->integer)};
        break;
    case Kind::negative:
        v.kind = V::scalar;
        v.op = ScalarOp::less;
        v.operands = {value(e->operands[0]), integer_value(0)};
        break;
    case Kind::minimum:
    case Kind::maximum:
    case Kind::conjunction:
        v.op = e->kind == Kind::minimum   ? ScalarOp::minimum
               : e->kind == Kind::maximum ? ScalarOp::maximum
                                          : ScalarOp::logical_and;
        [[fallthrough]];
    case Kind::scalar:
        v.kind = V::scalar;
        for (Expr operand : e->operands) v.operands.push_back(value(operand));
        break;
    case Kind::cast:
        v.kind = V::cast;
        v.operands = {value(e->operands[0])};
        break;
    case Kind::select:
        v.kind = V::select;
        for (Expr operand : e->operands) v.operands.push_back(value(operand));
        break;
    case Kind::read:
    case Kind::guarded_read: {
        v.kind = e->kind == Kind::read ? V::read : V::guarded_read;
        v.tensor = index_.at(e->tensor);
        size_t rank = system_.tensor(e->tensor).shape.size();
        v.coordinates = coordinates(e->tensor, {e->operands.begin(), e->operands.begin() + static_cast<int64_t>(rank)});
        if (e->kind == Kind::guarded_read) v.operands = {value(e->operands.back())};
        break;
    }
    }
    return v;
}

// `coordinate` lies where `left` runs.
sched::ValueIndex KernelFormer::within(Expr left, Expr at) {
    int64_t extent = 1;
    for (const Digit& digit : digits_of(left)) extent *= arena_.extent(digit.axis);
    sched::Value inside;
    inside.kind = sched::Value::Kind::inside;
    inside.dtype = DType::boolean;
    inside.integer = extent;
    inside.coordinates = {coordinate(arena_.add(at, arena_.integer(-linear_form(left).constant)))};
    return add_value(std::move(inside));
}

sched::ValueIndex KernelFormer::selection(sched::ValueIndex condition, sched::ValueIndex then,
                                          sched::ValueIndex otherwise) {
    sched::Value v;
    v.kind = sched::Value::Kind::select;
    v.dtype = result_.kernel.value(then).dtype;
    v.operands = {condition, then, otherwise};
    return add_value(std::move(v));
}

sched::ValueIndex KernelFormer::operation(ScalarOp op, DType dtype, std::vector<sched::ValueIndex> operands) {
    sched::Value v;
    v.kind = sched::Value::Kind::scalar;
    v.op = op;
    v.dtype = dtype;
    v.operands = std::move(operands);
    return add_value(std::move(v));
}

sched::ValueIndex KernelFormer::integer_value(int64_t number) {
    sched::Value v;
    v.kind = sched::Value::Kind::integer;
    v.dtype = DType::int64;
    v.integer = number;
    v.from_template = false;
    return add_value(std::move(v));
}

sched::ValueIndex KernelFormer::add_value(sched::Value v) {
    result_.kernel.values.push_back(std::move(v));
    return static_cast<sched::ValueIndex>(result_.kernel.values.size() - 1);
}

}  // namespace heddle::plan
