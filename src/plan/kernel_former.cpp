#include "plan/kernel_former.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "plan/axis_classes.h"
#include "plan/merge_axes.h"

namespace heddle::plan {

using namespace equations;
namespace sched = heddle::schedules;

namespace {

// A digit of a coordinate: its radix, and that at the representative sizes.
struct Cut {
    int64_t radix = 1, hint = 1;
};

// The mixed-radix cuts of a coordinate that runs through a whole dimension of `extent`, from the innermost. Empty if it does
// not.
std::vector<Cut> full_cuts(const Arena& arena, Expr coordinate, int64_t extent) {
    LinearForm form = linear_form(coordinate);
    if (form.constant != 0) return {};
    std::vector<std::tuple<int64_t, int64_t, int64_t>> parts;  // radix, extent, hint
    for (auto [atom, radix] : form.terms) {
        if (atom->kind != Kind::axis || radix <= 0) return {};
        const auto axis = static_cast<AxisId>(atom->integer);
        parts.push_back({radix, arena.extent(axis), arena.hint(axis)});
    }
    std::sort(parts.begin(), parts.end());
    std::vector<Cut> cuts;
    Cut next;
    for (auto [radix, size, hint] : parts) {
        if (radix != next.radix) return {};
        cuts.push_back(next);
        next = {next.radix * size, next.hint * hint};
    }
    return next.radix == extent ? cuts : std::vector<Cut>{};
}

// How a dimension of the system's tensor is seen: whole, or one digit of it.
struct ViewDimension {
    size_t dimension = 0;
    int64_t radix = 0;  // 0: the whole dimension
    int64_t extent = 1;
    int64_t hint_radix = 1;  // the radix at the representative sizes
    bool in_turn = false;    // the steps of a scan, kept in turn in `extent` places
};

class KernelFormer {
public:
    explicit KernelFormer(const FormRequest& request)
        : request_(request),
          system_(request.system),
          arena_(*request.system.arena),
          classes_(axis_classes(system_, request.kernel.equations)),
          inside_(request.kernel.equations.begin(), request.kernel.equations.end()) {}

    FormedKernel form() {
        find_joined_scatters();
        add_axes();
        add_tensors();
        for (int32_t e : request_.kernel.equations) {
            if (!joined_.contains(e)) add_equation(e);
        }
        for (const auto& common : request_.kernel.common) add_common(common);
        merge_axes(result_.kernel, hints_);
        name_axes(result_.kernel);
        return std::move(result_);
    }

private:
    // A common axis whose classes could not all be joined, or along which data choose what is updated, is left out: fewer
    // common axes are always right.
    void add_common(const Kernel::CommonAxis& common) {
        std::set<int32_t> found;
        for (auto [equation, axis] : common.axis_of) {
            if (axis >= 0) found.insert(classes_.at({equation, axis}));
        }
        auto& list = result_.kernel.common;
        if (found.size() == 1 && chosen_.contains(*found.begin())) return;
        if (found.size() == 1 && std::find(list.begin(), list.end(), *found.begin()) == list.end())
            list.push_back(*found.begin());
    }

    void add_axes() {
        int32_t count = 0;
        for (auto [axis, number] : classes_) count = std::max(count, number + 1);
        result_.kernel.axes.resize(static_cast<size_t>(count));
        for (auto [axis, number] : classes_) {
            const Axis& from = arena_.axis(axis.axis);
            auto& to = result_.kernel.axes[static_cast<size_t>(number)];
            to.extent = from.extent;
            to.hint = std::max(to.hint, arena_.hint(axis.axis));
            to.named |= from.named;
        }
    }

    // Scatters whose terms go straight to the elements that an equation of the kernel makes: they have no tensor.
    void find_joined_scatters() {
        for (int32_t e : request_.kernel.equations) {
            const Equation& equation = system_.equation(e);
            const bool in_place = request_.in_place.contains(equation.tensor);
            auto into = in_place ? overwriting(system_, equation) : scatter_into(system_, equation);
            if (!into) continue;
            if (into->scatter >= 0) {
                const bool here = inside_.contains(into->scatter) && !is_buffer(system_.equation(into->scatter).tensor);
                if (!here) continue;
                joined_.insert(into->scatter);
            }
            if (in_place) hidden_.insert(into->initial->tensor);
            add_own_axes(e, *into);
            into_.emplace(e, std::move(*into));
        }
    }

    // Axes that no equation has.
    void add_own_axes(int32_t e, const ScatterInto& into) {
        if (into.scatter >= 0) return;
        int32_t next = 0;
        for (auto [axis, number] : classes_) next = std::max(next, number + 1);
        for (AxisId axis : into.reduced) classes_[{e, axis}] = next++;
    }

    // ---- tensors: buffers by first use, then locals -----------------------------------------------------------------
    void add_tensors() {
        std::vector<TensorIndex> order;
        std::set<TensorIndex> seen;
        auto use = [&](TensorIndex t) {
            const auto& makers = system_.tensor(t).equations;
            if (hidden_.contains(t) || (makers.size() == 1 && joined_.contains(makers[0]))) return;
            if (seen.insert(t).second) order.push_back(t);
        };
        for (int32_t e : request_.kernel.equations) {
            for (Expr read : reads(system_.equation(e))) use(read->tensor);
            use(system_.equation(e).tensor);
        }
        for (TensorIndex t : order) {
            if (is_buffer(t)) add_buffer(t);
        }
        for (TensorIndex t : order) {
            if (!is_buffer(t)) add_local(t);
        }
    }

    bool is_buffer(TensorIndex t) const {
        const auto& kernel = request_.kernel;
        return std::find(kernel.outputs.begin(), kernel.outputs.end(), t) != kernel.outputs.end() ||
               std::find(kernel.inputs.begin(), kernel.inputs.end(), t) != kernel.inputs.end();
    }

    bool written_here(TensorIndex t) const {
        const auto& writers = system_.tensor(t).equations;
        return std::any_of(writers.begin(), writers.end(), [&](int32_t e) { return inside_.contains(e); });
    }

    void add_buffer(TensorIndex t) {
        const SystemTensor& from = system_.tensor(t);
        const StorageMap& map = *request_.maps[static_cast<size_t>(t)];
        sched::KernelTensor to;
        bool input =
            request_.in_place.contains(t) ||
            std::find(request_.kernel.inputs.begin(), request_.kernel.inputs.end(), t) != request_.kernel.inputs.end();
        using Role = sched::KernelTensor::Role;
        to.role = !written_here(t) ? Role::input : input ? Role::in_out : Role::output;
        to.name = "t" + std::to_string(result_.buffers.size());
        to.dtype = from.dtype;
        to.filling = map.filling;
        to.constant = from.kind == SystemTensor::Kind::constant || from.prepared;
        to.aligned = map.offset() % static_cast<int64_t>(64 / bytes(from.dtype)) == 0;
        StorageMap hint_map = map;
        hint_map.extent = request_.hint_shape(t);
        auto strides = map.strides(), hint_strides = hint_map.strides();
        std::vector<int64_t> hints;
        auto view = view_of(t, map);
        for (const ViewDimension& v : view) {
            const int64_t before = map.margin_before[v.dimension], after = map.margin_after[v.dimension];
            const bool moves = may_move(t, v.dimension) || before + after > 0;
            to.dimensions.push_back({.extent = v.extent,
                                     .stride = moves ? strides[v.dimension] * std::max<int64_t>(v.radix, 1) : 0,
                                     .margin_before = before,
                                     .margin_after = after});
            hints.push_back(hint_strides[v.dimension] * v.hint_radix);
        }
        views_[t] = std::move(view);
        hints_.push_back(std::move(hints));
        index_[t] = static_cast<sched::TensorIndex>(result_.kernel.tensors.size());
        result_.kernel.tensors.push_back(std::move(to));
        result_.buffers.push_back(t);
    }

    // All coordinates at which this kernel reads or writes dimension d of t.
    std::vector<Expr> coordinates_of(TensorIndex t, size_t d) const {
        std::vector<Expr> result;
        for (int32_t e : request_.kernel.equations) {
            const Equation& equation = system_.equation(e);
            if (equation.tensor == t) result.push_back(equation.left[d]);
            for (Expr read : reads(equation)) {
                if (is_read(read) && read->tensor == t) result.push_back(read->operands[d]);
            }
        }
        return result;
    }

    // In storage order; dimensions that are always read at 0 and have one element are dropped.
    std::vector<ViewDimension> view_of(TensorIndex t, const StorageMap& map) {
        std::vector<ViewDimension> view;
        for (int32_t d32 : map.order) {
            size_t d = static_cast<size_t>(d32);
            auto coordinates = coordinates_of(t, d);
            bool fixed = std::all_of(coordinates.begin(), coordinates.end(),
                                     [](Expr c) { return c->kind == Kind::integer && c->integer == 0; });
            if (fixed && !may_move(t, d)) continue;
            std::optional<std::vector<Cut>> cuts;
            for (Expr c : coordinates) {
                auto own = full_cuts(arena_, c, map.extent[d]);
                if (!cuts) cuts = own;
                if (!std::ranges::equal(*cuts, own, {}, &Cut::radix, &Cut::radix)) cuts->clear();
            }
            if (!cuts || cuts->size() < 2 || map.margin_before[d] > 0 || map.margin_after[d] > 0) {
                view.push_back({d, 0, map.extent[d]});
                continue;
            }
            for (size_t i = cuts->size(); i-- > 0;) {
                const Cut& cut = (*cuts)[i];
                int64_t above = i + 1 < cuts->size() ? (*cuts)[i + 1].radix : map.extent[d];
                view.push_back({d, cut.radix, above / cut.radix, cut.hint});
            }
        }
        return view;
    }

    // Of one element by chance, another size of the class has more.
    bool may_move(TensorIndex t, size_t dimension) const {
        const SystemTensor& tensor = system_.tensor(t);
        return tensor.shape[dimension] != 1 || tensor.sizes[dimension].named();
    }

    // How many steps of a scan's local are alive at a time: 1 if it is read at its own step only; 2 if its scan reads the
    // step before too, and others read the last one only; 0: all of them.
    struct KeptSteps {
        int count = 0;
        size_t dimension = 0;  // that counts the steps
    };
    KeptSteps kept_steps(TensorIndex t) const {
        const auto& makers = system_.tensor(t).equations;
        const auto step = std::find_if(makers.begin(), makers.end(),
                                       [&](int32_t maker) { return system_.equation(maker).scan >= 0; });
        if (step == makers.end()) return {};
        const Equation& made = system_.equation(*step);
        KeptSteps kept{1, 0};
        while (linear_form(made.left[kept.dimension]).terms.size() != 1 ||
               made.left[kept.dimension]->axes != std::vector{made.ordered})
            kept.dimension++;
        const int64_t last = made.left[kept.dimension]->high;
        for (int32_t maker : makers) {
            if (maker == *step) continue;
            Expr at = system_.equation(maker).left[kept.dimension];
            if (makers.size() != 2 || at->kind != Kind::integer || at->integer != 0) return {};
            kept.count = 2;
        }
        for (int32_t e : request_.kernel.equations) {
            const Equation& reader = system_.equation(e);
            for (Expr read : reads(reader)) {
                if (read->tensor != t) continue;
                Expr at = read->operands[kept.dimension];
                const auto of_step = reader.scan == made.scan ? step_of_read(reader, read, made) : std::nullopt;
                const bool at_last = at->kind == Kind::integer && at->integer == last && reader.scan != made.scan;
                const bool alive = of_step ? *of_step > -kept.count : at_last && kept.count == 2;
                if (!alive || read->kind != Kind::read) return {};
            }
        }
        return kept;
    }

    // A local of one equation has that equation's axes for dimensions; one of several equations keeps the whole's.
    void add_local(TensorIndex t) {
        const SystemTensor& from = system_.tensor(t);
        sched::KernelTensor to;
        to.role = sched::KernelTensor::Role::local;
        to.name = "l" + std::to_string(result_.kernel.tensors.size() - result_.buffers.size());
        to.dtype = from.dtype;
        std::vector<ViewDimension> view;
        const KeptSteps kept = kept_steps(t);
        if (from.equations.size() == 1) {
            const Equation& writer = system_.equation(from.equations[0]);
            for (size_t d = 0; d < writer.left.size(); d++) {
                if (kept.count == 1 && d == kept.dimension) continue;
                for (const Digit& digit : digits_of(writer.left[d]))
                    view.push_back({d, digit.radix, arena_.extent(digit.axis)});
            }
        } else {
            for (size_t d = 0; d < from.shape.size(); d++) {
                const bool in_turn = kept.count == 2 && d == kept.dimension;
                if (in_turn)
                    view.push_back({.dimension = d, .extent = 2, .in_turn = true});
                else if (may_move(t, d))
                    view.push_back({d, 0, from.shape[d]});
            }
        }
        for (const ViewDimension& v : view) to.dimensions.push_back({.extent = v.extent, .stride = 0});
        hints_.push_back(std::vector<int64_t>(view.size(), 0));
        views_[t] = std::move(view);
        index_[t] = static_cast<sched::TensorIndex>(result_.kernel.tensors.size());
        result_.kernel.tensors.push_back(std::move(to));
    }

    // ---- equations ----------------------------------------------------------------------------------------------------
    void add_equation(int32_t e) {
        const Equation& from = system_.equation(e);
        equation_ = e;
        memo_.clear();
        if (auto into = into_.find(e); into != into_.end()) return add_scatter(from, into->second);
        if (auto scatter = scatter_of(system_, from)) {
            const ScatterInto itself{e, from.reduced, from.right->operands[2], joining_op(*from.reducer),
                                     std::move(*scatter)};
            return add_scatter(from, itself);
        }
        sched::KernelEquation to;
        to.tensor = index_.at(from.tensor);
        for (AxisId axis : from.axes) {
            if (axis != from.ordered) to.axes.push_back(classes_.at({e, axis}));
        }
        if (from.scan >= 0) to.ordered = classes_.at({e, from.ordered});
        for (AxisId axis : from.reduced) to.reduced.push_back(classes_.at({e, axis}));
        to.reducer = from.reducer;
        to.light = request_.kernel.light.contains(e);
        to.left = coordinates(from.tensor, from.left);
        to.right = value(from.right);
        result_.kernel.equations.push_back(std::move(to));
    }

    // Two equations: one fills, if the values are not there already, and one updates.
    void add_scatter(const Equation& from, const ScatterInto& into) {
        const int32_t e = equation_;
        maker_ = into.scatter;
        sched::KernelEquation fill, update;
        fill.tensor = update.tensor = index_.at(from.tensor);
        fill.light = update.light = request_.kernel.light.contains(e);
        for (AxisId axis : from.axes) {
            fill.axes.push_back(class_of(axis));
            if (into.update.chooses(axis))
                chosen_.insert(class_of(axis));
            else
                update.axes.push_back(class_of(axis));
        }
        fill.left = coordinates(from.tensor, from.left);
        const bool filled = request_.in_place.contains(from.tensor);
        if (!filled) fill.right = value(into.initial);
        update.update = true;
        for (AxisId axis : into.reduced) update.reduced.push_back(class_of(axis));
        std::vector<Expr> at = from.left;
        sched::ValueIndex condition = -1;
        for (size_t d = 0; d < at.size(); d++) {
            if (!into.update.at[d]) continue;
            at[d] = into.update.at[d];
            const sched::ValueIndex inside = within(from.left[d], at[d]);
            condition = condition < 0 ? inside : operation(ScalarOp::logical_and, DType::boolean, {condition, inside});
        }
        // What else is asked for may read where the data choose: only if that is inside.
        if (into.update.condition->kind != Kind::integer || into.update.condition->integer == 0)
            condition = selection(condition, value(into.update.condition), value(arena_.truth(false)));
        update.left = coordinates(from.tensor, at, true);
        const DType dtype = system_.tensor(from.tensor).dtype;
        sched::Value old;
        old.kind = sched::Value::Kind::read;
        old.dtype = dtype;
        old.tensor = update.tensor;
        old.coordinates = update.left;
        const sched::ValueIndex before = add_value(std::move(old));
        sched::ValueIndex after = value(into.update.term);
        if (into.join) after = operation(*into.join, dtype, {before, after});
        update.right = selection(condition, after, before);
        maker_ = -1;
        if (!filled) result_.kernel.equations.push_back(std::move(fill));
        result_.kernel.equations.push_back(std::move(update));
    }

    // `coordinate` lies where `left` runs.
    sched::ValueIndex within(Expr left, Expr at) {
        int64_t extent = 1;
        for (const Digit& digit : digits_of(left)) extent *= arena_.extent(digit.axis);
        sched::Value inside;
        inside.kind = sched::Value::Kind::inside;
        inside.dtype = DType::boolean;
        inside.integer = extent;
        inside.coordinates = {coordinate(arena_.add(at, arena_.integer(-linear_form(left).constant)))};
        return add_value(std::move(inside));
    }

    sched::ValueIndex selection(sched::ValueIndex condition, sched::ValueIndex then, sched::ValueIndex otherwise) {
        sched::Value v;
        v.kind = sched::Value::Kind::select;
        v.dtype = result_.kernel.value(then).dtype;
        v.operands = {condition, then, otherwise};
        return add_value(std::move(v));
    }

    sched::ValueIndex operation(ScalarOp op, DType dtype, std::vector<sched::ValueIndex> operands) {
        sched::Value v;
        v.kind = sched::Value::Kind::scalar;
        v.op = op;
        v.dtype = dtype;
        v.operands = std::move(operands);
        return add_value(std::move(v));
    }

    // Of the present equation, or of the scatter whose terms it takes.
    int32_t class_of(AxisId axis) const {
        auto found = classes_.find({equation_, axis});
        return found != classes_.end() ? found->second : classes_.at({maker_, axis});
    }

    // `known`: the coordinates lie inside, whatever their intervals say.
    std::vector<sched::Coordinate> coordinates(TensorIndex t, const std::vector<Expr>& from, bool known = false) {
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
    sched::Coordinate in_turn(Expr c, int64_t places) {
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

    Expr digit(TensorIndex t, const ViewDimension& v, Expr c, bool local, bool outermost) {
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

    sched::Coordinate coordinate(Expr c) {
        sched::Coordinate result;
        LinearForm form = linear_form(c);
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

    sched::ValueIndex value(Expr e) {
        if (auto found = memo_.find(e); found != memo_.end()) return found->second;
        sched::ValueIndex index = add_value(make_value(e));
        memo_[e] = index;
        return index;
    }

    sched::Value make_value(Expr e) {
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
            v.coordinates =
                coordinates(e->tensor, {e->operands.begin(), e->operands.begin() + static_cast<int64_t>(rank)});
            if (e->kind == Kind::guarded_read) v.operands = {value(e->operands.back())};
            break;
        }
        }
        return v;
    }

    sched::ValueIndex integer_value(int64_t number) {
        sched::Value v;
        v.kind = sched::Value::Kind::integer;
        v.dtype = DType::int64;
        v.integer = number;
        v.from_template = false;
        return add_value(std::move(v));
    }

    sched::ValueIndex add_value(sched::Value v) {
        result_.kernel.values.push_back(std::move(v));
        return static_cast<sched::ValueIndex>(result_.kernel.values.size() - 1);
    }

    const FormRequest& request_;
    const System& system_;
    Arena& arena_;
    std::map<EquationAxis, int32_t> classes_;
    std::set<int32_t> inside_;
    std::map<TensorIndex, std::vector<ViewDimension>> views_;
    std::map<TensorIndex, sched::TensorIndex> index_;
    std::vector<std::vector<int64_t>> hints_;
    std::map<Expr, sched::ValueIndex> memo_;
    int32_t equation_ = -1, maker_ = -1;
    std::map<int32_t, ScatterInto> into_;  // by equation
    std::set<int32_t> joined_;
    std::set<TensorIndex> hidden_;  // old values of what is updated in place
    std::set<int32_t> chosen_;      // classes of axes that data choose
    FormedKernel result_;
};

}  // namespace

std::optional<ScatterInto> overwriting(const System& system, const Equation& equation) {
    auto into = scatter_into(system, equation);
    if (!into) into = block_into(system, equation);
    if (!into || into->initial->kind != Kind::read || into->initial->operands != equation.left) return std::nullopt;
    const TensorIndex old = into->initial->tensor;
    std::vector<Expr> parts = into->update.at;
    parts.insert(parts.end(), {into->update.condition, into->update.term});
    for (Expr part : parts) {
        if (!part) continue;
        for (Expr node : walk(part)) {
            if (is_read(node) && node->tensor == old) return std::nullopt;
        }
    }
    const SystemTensor &from = system.tensor(old), &to = system.tensor(equation.tensor);
    if (from.dtype != to.dtype || from.shape != to.shape || to.equations.size() != 1) return std::nullopt;
    return into;
}

FormedKernel form_kernel(const FormRequest& request) { return KernelFormer(request).form(); }

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
