// The tensors of a kernel: buffers by first use, then locals, their dimensions cut into digits where all accesses are.
#include <algorithm>
#include <tuple>

#include "equations/pass_support.h"
#include "plan/former.h"
#include "zspace/linear_equation.h"

namespace heddle::plan {

using namespace equations;
namespace sched = heddle::schedules;

namespace {

// A digit of a coordinate: its radix, and that at the representative sizes.
struct Cut {
    Size radix = 1;
    int64_t hint = 1;
};

// The mixed-radix cuts of a coordinate that runs through a whole dimension of `extent`, from the innermost. Empty if it
// does not.
std::vector<Cut> full_cuts(const Arena& arena, Expr coordinate, const Size& extent) {
    const auto form = linear_form(coordinate);
    if (!form.constant.same_as(0)) return {};
    RadixDigits<AxisId> digits;
    for (auto [atom, factor] : form.terms) {
        if (atom->kind != Kind::variable || factor < 0) return {};
        const auto axis = atom->axis();
        digits.push_back({axis, factor, arena.extent(axis)});
    }
    const auto radix = mixed_radix(std::move(digits));
    if (!radix.fits() || !Size::always_equal(radix.extent, extent)) return {};
    std::vector<Cut> cuts;
    int64_t hint = 1;
    for (const auto& digit : radix.digits) {
        cuts.push_back({digit.factor, hint});
        hint *= arena.hint(digit.atom);
    }
    return cuts;
}

}  // namespace

void KernelFormer::add_tensors() {
    std::vector<TensorIndex> order;
    std::set<TensorIndex> seen;
    auto use = [&](TensorIndex t) {
        const auto& makers = system_.tensor(t).equations;
        if (hidden_.contains(t) || (makers.size() == 1 && joined_.contains(makers[0]))) return;
        if (seen.insert(t).second) order.push_back(t);
    };
    for (int32_t e : request_.kernel.equations) {
        for (Expr read : reads(system_.equation(e))) use(read->tensor());
        use(system_.equation(e).tensor);
    }
    for (TensorIndex t : order) {
        if (is_buffer(t)) add_buffer(t);
    }
    for (TensorIndex t : order) {
        if (!is_buffer(t)) add_local(t);
    }
}

bool KernelFormer::is_buffer(TensorIndex t) const {
    const auto& kernel = request_.kernel;
    return std::find(kernel.outputs.begin(), kernel.outputs.end(), t) != kernel.outputs.end() ||
           std::find(kernel.inputs.begin(), kernel.inputs.end(), t) != kernel.inputs.end();
}

bool KernelFormer::written_here(TensorIndex t) const {
    const auto& writers = system_.tensor(t).equations;
    return std::any_of(writers.begin(), writers.end(), [&](int32_t e) { return inside_.contains(e); });
}

void KernelFormer::add_buffer(TensorIndex t) {
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
    to.aligned = divides(static_cast<int64_t>(64 / bytes(from.dtype)), map.offset());
    StorageMap hint_map = map.at_class(request_.hint_shape(t), system_.representatives);
    hint_map.room.assign(hint_map.room.size(), 0);
    auto strides = map.strides(), hint_strides = hint_map.strides();
    std::vector<int64_t> hints;
    auto view = view_of(t, map);
    for (const ViewDimension& v : view) {
        const Size &before = map.margin_before[v.dimension], &after = map.margin_after[v.dimension];
        const bool moves = may_move(t, v.dimension) || !before.same_as(0) || !after.same_as(0);
        to.dimensions.push_back({.extent = v.extent,
                                 .stride = moves ? strides[v.dimension] * (v.radix.same_as(0) ? Size(1) : v.radix) : Size(0),
                                 .margin_before = before,
                                 .margin_after = after});
        hints.push_back(hint_strides[v.dimension] * v.hint_radix);
    }
    views_[t] = std::move(view);
    hints_.push_back(std::move(hints));
    index_[t] = next_id<sched::TensorIndex>(result_.kernel.tensors);
    result_.kernel.tensors.push_back(std::move(to));
    result_.buffers.push_back(t);
}

// All coordinates at which this kernel reads or writes dimension d of t.
std::vector<Expr> KernelFormer::coordinates_of(TensorIndex t, size_t d) const {
    std::vector<Expr> result;
    for (int32_t e : request_.kernel.equations) {
        const Equation& equation = system_.equation(e);
        if (equation.tensor == t) result.push_back(equation.left[d]);
        for (Expr read : reads(equation)) {
            if (read->is_read() && read->tensor() == t) result.push_back(read->parts()[d]);
        }
    }
    return result;
}

bool KernelFormer::is_fixed(TensorIndex t, size_t d) const {
    return !may_move(t, d) && std::ranges::all_of(coordinates_of(t, d), [](Expr c) {
        return c->kind == Kind::integer && c->integer == 0;
    });
}

// In storage order; dimensions that are always read at 0 and have one element are dropped.
std::vector<ViewDimension> KernelFormer::view_of(TensorIndex t, const StorageMap& map) {
    std::vector<ViewDimension> view;
    for (int32_t d32 : map.order) {
        size_t d = static_cast<size_t>(d32);
        if (const int64_t kept = places(t, d); kept > 0) {
            if (kept > 1) view.push_back({.dimension = d, .extent = kept, .in_turn = true});
            continue;
        }
        if (is_fixed(t, d)) continue;
        auto coordinates = coordinates_of(t, d);
        std::optional<std::vector<Cut>> cuts;
        for (Expr c : coordinates) {
            auto own = full_cuts(arena_, c, map.extent[d]);
            if (!cuts) cuts = own;
            if (!std::ranges::equal(*cuts, own, {}, &Cut::radix, &Cut::radix)) cuts->clear();
        }
        if (!cuts || cuts->size() < 2 || !map.margin_before[d].same_as(0) || !map.margin_after[d].same_as(0)) {
            view.push_back({d, 0, map.extent[d]});
            continue;
        }
        for (size_t i = cuts->size(); i-- > 0;) {
            const Cut& cut = (*cuts)[i];
            const Size above = i + 1 < cuts->size() ? (*cuts)[i + 1].radix : map.extent[d];
            view.push_back({d, cut.radix, above / cut.radix, cut.hint});
        }
    }
    return view;
}

// Of one element by chance, another size of the class has more.
bool KernelFormer::may_move(TensorIndex t, size_t dimension) const {
    const SystemTensor& tensor = system_.tensor(t);
    return !tensor.shape[dimension].same_as(1);
}

int64_t KernelFormer::places(TensorIndex t, size_t dimension) const {
    const KeptSteps& kept = request_.kept[static_cast<size_t>(t)];
    return kept.places > 0 && kept.dimension == dimension ? kept.places : 0;
}

// A local of one equation has that equation's axes for dimensions; one of several equations keeps the whole's.
void KernelFormer::add_local(TensorIndex t) {
    const SystemTensor& from = system_.tensor(t);
    sched::KernelTensor to;
    to.role = sched::KernelTensor::Role::local;
    to.name = "l" + std::to_string(result_.locals.size());
    result_.locals.push_back(t);
    to.dtype = from.dtype;
    std::vector<ViewDimension> view;
    for (size_t d = 0; d < from.shape.size(); d++) {
        if (const int64_t kept = places(t, d); kept > 0) {
            if (kept > 1) view.push_back({.dimension = d, .extent = kept, .in_turn = true});
            continue;
        }
        const size_t before = view.size();
        if (from.equations.size() == 1) {
            for (const Digit& digit : digits_of(system_.equation(from.equations[0]).left[d]))
                view.push_back({d, digit.radix, arena_.extent(digit.axis)});
        }
        // Of several equations, or of one element, which data may miss.
        if (view.size() == before && !is_fixed(t, d)) view.push_back({d, 0, from.shape[d]});
    }
    for (const ViewDimension& v : view) to.dimensions.push_back({.extent = v.extent, .stride = 0});
    hints_.push_back(std::vector<int64_t>(view.size(), 0));
    views_[t] = std::move(view);
    index_[t] = next_id<sched::TensorIndex>(result_.kernel.tensors);
    result_.kernel.tensors.push_back(std::move(to));
}

}  // namespace heddle::plan
