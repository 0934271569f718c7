#include "schedules/rows_aside.h"

#include <algorithm>
#include <map>

#include "expr/remake.h"
#include "schedules/accesses.h"

namespace heddle::schedules {
namespace {

constexpr int64_t fewest_rows = 16, least_uses = 2;  // of each element that is laid aside. Design

class Setter {
public:
    explicit Setter(const Kernel& kernel) : kernel_(kernel) {}

    std::optional<Kernel> set() {
        const bool plain = std::ranges::all_of(kernel_.equations, [](const KernelEquation& e) {
            return e.ordered < 0 && !e.update && e.vector_steps.steps < 0 && e.written < 0;
        });
        for (size_t i = 0; plain && i < kernel_.equations.size() && rows_ < 0; i++) find(kernel_.equations[i]);
        if (rows_ < 0) return std::nullopt;
        remake();
        return std::move(made_);
    }

private:
    void find(const KernelEquation& e);
    bool is_chosen_in_rows(const KernelEquation& e, Expr read, AxisId rows) const;
    bool lies_beside(const KernelEquation& e, Expr read, AxisId rows) const;
    bool is_used_often(const KernelEquation& e, Expr read) const;
    bool is_turned(const KernelEquation& e) const;
    void remake();
    void lay_aside(Expr read);
    void turn_back(KernelEquation from);
    KernelEquation remade_equation(const KernelEquation& from);
    TensorIndex add_array(TensorIndex like, const std::vector<AxisId>& axes);
    std::vector<Expr> at(const std::vector<AxisId>& axes) const;

    const Kernel& kernel_;
    AxisId rows_ = no_id;
    std::vector<Expr> reads_;  // that are laid aside
    std::map<Expr, TensorIndex> arrays_;
    std::map<Expr, AxisId> places_;  // of a read: the axis over its last dimension
    Kernel made_;
    Arena::Memo memo_;
};

bool is_data(Expr coordinate) { return !parts_of(coordinate).values.empty(); }

// A row's elements are neighbours, and data say which is read; other coordinates are common axes.
bool Setter::is_chosen_in_rows(const KernelEquation& e, Expr read, AxisId rows) const {
    const KernelTensor& tensor = kernel_.tensor(read->tensor());
    const auto coordinates = coordinates_of(read);
    if (read->kind != Kind::read || tensor.role == KernelTensor::Role::local || tensor.may_alias() ||
        coordinates.size() < 2)
        return false;
    const Expr place = coordinates.back();
    const auto moves = [&](AxisId axis) { return coefficient(place, axis) != 0; };
    if (tensor.dimensions.back().stride != 1 || !is_data(place) || depends_on(place, rows) ||
        std::ranges::any_of(e.axes, moves))
        return false;
    bool of_rows = false;
    for (size_t d = 0; d + 1 < coordinates.size(); d++) {
        const AxisId axis = plain_axis(coordinates[d]);
        if (axis < 0 || !contains(kernel_.common, axis)) return false;
        of_rows = of_rows || axis == rows;
    }
    return of_rows;
}

// Rows are neighbours in memory, or the read is the same for all.
bool Setter::lies_beside(const KernelEquation& e, Expr read, AxisId rows) const {
    if (!depends_on(read, rows)) return true;
    const auto coordinates = coordinates_of(read);
    const KernelTensor& tensor = kernel_.tensor(read->tensor());
    for (size_t d = 0; d < coordinates.size(); d++) {
        const bool own = plain_axis(coordinates[d]) == rows && tensor.dimensions[d].stride == 1;
        if (depends_on(coordinates[d], rows) && !own) return false;
    }
    return read->kind == Kind::read && contains(e.axes, rows);
}

bool Setter::is_used_often(const KernelEquation& e, Expr read) const {
    int64_t uses = 1;
    const Expr place = coordinates_of(read).back();
    for (const auto* axes : {&e.axes, &e.reduced}) {
        for (AxisId axis : *axes) {
            if (depends_on(place, axis))
                uses = std::min<int64_t>(uses, 1 << 30) * std::max<int64_t>(1, kernel_.hint(axis));
        }
    }
    return uses >= least_uses * kernel_.tensor(read->tensor()).dimensions.back().extent;
}

void Setter::find(const KernelEquation& e) {
    if (!e.reducer) return;
    for (AxisId rows : kernel_.common) {
        if (!contains(e.axes, rows) || kernel_.hint(rows) < fewest_rows) continue;
        std::vector<Expr> found;
        const bool fits = std::ranges::all_of(reads_of(e.right), [&](const ReadAccess& read) {
            const bool chosen = !read.address && is_chosen_in_rows(e, read.value, rows) && is_used_often(e, read.value);
            if (chosen) found.push_back(read.value);
            return chosen || lies_beside(e, read.value, rows);
        });
        if (!fits || found.empty()) continue;
        rows_ = rows;
        reads_ = std::move(found);
        return;
    }
}

std::vector<Expr> Setter::at(const std::vector<AxisId>& axes) const {
    std::vector<Expr> result;
    for (AxisId axis : axes) result.push_back(made_.arena->axis_value(axis));
    return result;
}

TensorIndex Setter::add_array(TensorIndex like, const std::vector<AxisId>& axes) {
    KernelTensor array;
    array.name = "s" + std::to_string(made_.tensors.size());
    array.role = KernelTensor::Role::local;
    array.dtype = kernel_.tensor(like).dtype;
    for (AxisId axis : axes) array.dimensions.push_back({.extent = made_.axis(axis).extent, .stride = 0});
    made_.tensors.push_back(std::move(array));
    return last_id<TensorIndex>(made_.tensors);
}

KernelEquation Setter::remade_equation(const KernelEquation& from) {
    Arena& arena = *made_.arena;
    const auto given = [&](Expr e) { return e->kind == Kind::variable ? arena.axis_value(e->axis()) : nullptr; };
    const auto make = [&](Expr e, std::vector<Expr> operands) {
        const auto array = arrays_.find(e);
        return array == arrays_.end() ? arena.copy(e, std::move(operands))
                                      : arena.read(array->second, e->dtype, std::move(operands));
    };
    const auto parts = [](Expr e) { return operands_of(e); };
    KernelEquation to = from;
    for (Expr& left : to.left) left = expr::remade(left, memo_, given, parts, make);
    to.right = expr::remade(from.right, memo_, given, parts, make);
    return to;
}

void Setter::lay_aside(Expr read) {
    KernelEquation copy;
    for (Expr coordinate : coordinates_of(read)) {
        if (const AxisId axis = plain_axis(coordinate); axis >= 0) copy.axes.push_back(axis);
    }
    copy.axes.push_back(places_.at(read));
    copy.tensor = add_array(read->tensor(), copy.axes);
    copy.left = at(copy.axes);
    copy.right = made_.arena->read(read->tensor(), read->dtype, at(copy.axes));
    made_.equations.push_back(std::move(copy));
    arrays_[read] = last_id<TensorIndex>(made_.tensors);
}

// An output of all the axes, whose rows are not neighbours.
bool Setter::is_turned(const KernelEquation& e) const {
    const KernelTensor& tensor = kernel_.tensor(e.tensor);
    const auto touches = [&](const KernelEquation& other) {
        return (&other != &e && other.tensor == e.tensor) || reads_tensor(other.right, e.tensor);
    };
    if (tensor.role != KernelTensor::Role::output || std::ranges::any_of(kernel_.equations, touches)) return false;
    bool along = false, apart = false;
    for (size_t d = 0; d < e.left.size(); d++) {
        const AxisId axis = plain_axis(e.left[d]);
        if (axis < 0) return false;
        (tensor.dimensions[d].stride == 1 ? along : apart) |= axis == rows_;
    }
    return apart && !along && e.left.size() == e.axes.size();
}

void Setter::turn_back(KernelEquation from) {
    KernelEquation copy;
    copy.tensor = from.tensor;
    copy.left = from.left;
    for (Expr coordinate : from.left) copy.axes.push_back(plain_axis(coordinate));
    from.tensor = add_array(copy.tensor, copy.axes);
    copy.right = made_.arena->read(from.tensor, made_.tensor(copy.tensor).dtype, copy.left);
    from.written = copy.written = 0;  // nests of their own: lanes are rows in one, places in the other
    made_.equations.push_back(std::move(from));
    made_.equations.push_back(std::move(copy));
}

void Setter::remake() {
    for (size_t i = 0; i < kernel_.arena->axis_count(); i++) made_.add_axis(kernel_.axis(AxisId(i)));
    for (Expr read : reads_) {
        const Size extent = kernel_.tensor(read->tensor()).dimensions.back().extent;
        places_[read] = made_.add_axis({.name = "place", .extent = extent, .named = true, .factor = 1});
    }
    made_.tensors = kernel_.tensors;
    // Tasks are along the rows, and along what every read has.
    std::ranges::copy_if(kernel_.common, std::back_inserter(made_.common), [&](AxisId axis) {
        return std::ranges::all_of(reads_, [&](Expr read) {
            return std::ranges::any_of(coordinates_of(read), [&](Expr c) { return plain_axis(c) == axis; });
        });
    });
    for (Expr read : reads_) lay_aside(read);
    for (const KernelEquation& e : kernel_.equations) {
        KernelEquation to = remade_equation(e);
        if (is_turned(e))
            turn_back(std::move(to));
        else
            made_.equations.push_back(std::move(to));
    }
}

}  // namespace

std::optional<Kernel> with_rows_aside(const Kernel& kernel) { return Setter(kernel).set(); }

}  // namespace heddle::schedules
