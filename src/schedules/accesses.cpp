#include "schedules/accesses.h"

#include <algorithm>
#include <array>

#include "expr/arena_interval.h"
#include "zspace/class_order.h"

namespace heddle::schedules {
namespace {

// Operands have smaller ids than what is made of them: `seen` is as long as the root's.
void collect_reads(Expr e, bool address, std::vector<std::array<bool, 2>>& seen, std::vector<ReadAccess>& reads) {
    if (!e->has_reads) return;
    auto& mark = seen[e->id][address];
    if (mark) return;
    mark = true;
    // What a coordinate is made of makes up an address.
    const bool coordinates = e->is_read() || e->kind == Kind::linear || e->kind == Kind::inside;
    for (Expr operand : e->parts()) collect_reads(operand, address || coordinates, seen, reads);
    if (e->is_read()) reads.push_back({e, e->tensor(), address});
}

}  // namespace

std::vector<ReadAccess> reads_of(Expr root) {
    std::vector<std::array<bool, 2>> seen(root->id + size_t{1}, {false, false});
    std::vector<ReadAccess> reads;
    collect_reads(root, false, seen, reads);
    return reads;
}

bool reads_tensor(Expr root, TensorIndex tensor) {
    return std::ranges::any_of(expr::reads_below(root), [&](Expr read) { return read->tensor() == tensor; });
}

std::vector<Expr> values_of(Expr root) {
    std::vector<Expr> values, open = {root};
    std::vector<bool> seen(root->id + size_t{1});
    while (!open.empty()) {
        Expr e = open.back();
        open.pop_back();
        if (seen[e->id]) continue;
        seen[e->id] = true;
        values.push_back(e);
        const bool of_coordinates = e->is_read() || e->kind == Kind::inside;
        for (Expr operand : e->parts()) {
            if (of_coordinates) {
                for (const auto& [part, unused] : parts_of(operand).values) open.push_back(part);
            } else if (e->kind != Kind::linear || operand->kind != Kind::variable) {
                open.push_back(operand);
            }
        }
    }
    return values;
}

namespace {

// A coordinate, or what is worked out of coordinates alone, such as a step's place among those that are kept in turn.
bool is_place(Expr e) {
    return e->is_coordinate() || (e->kind == Kind::scalar && e->dtype == DType::int64 && !e->has_reads);
}

}  // namespace

int64_t code_size(Expr root, AxisId lanes) {
    int64_t size = 0;
    for (Expr e : values_of(root)) {
        // A value may vary by the conditions that it stands under; a coordinate does not.
        if (!depends_on(e, lanes) && is_place(e)) continue;
        int64_t own = 0;
        switch (e->kind) {
        case Kind::scalar: own = info(e->op).size; break;
        case Kind::cast: own = is_float(e->parts()[0]->dtype) && !is_float(e->dtype) ? 8 : 1; break;
        case Kind::floor_divide:
        case Kind::modulo: own = info(ScalarOp::modulo).size; break;
        case Kind::inside:
        case Kind::negative: own = 3; break;
        case Kind::guarded_read: own = 2; break;
        case Kind::minimum:
        case Kind::maximum:
        case Kind::conjunction:
        case Kind::select:
        case Kind::read: own = 1; break;
        default: break;
        }
        size += bytes(e->dtype) > 4 ? 2 * own : own;
    }
    return size;
}

bool depends_on(Expr root, AxisId axis) { return std::ranges::binary_search(root->axes, axis); }

CoordinateParts parts_of(Expr coordinate) {
    const auto form = linear_form(coordinate);
    CoordinateParts parts{.constant = form.constant, .axes = {}, .values = {}};
    for (const auto& [atom, factor] : form.terms) {
        if (atom->kind == Kind::variable)
            parts.axes.emplace_back(atom->axis(), factor);
        else
            parts.values.emplace_back(atom, factor);
    }
    return parts;
}

Size coefficient(Expr coordinate, AxisId axis) {
    if (plain_axis(coordinate) == axis) return 1;
    if (coordinate->kind != Kind::linear) return 0;
    for (size_t i = 0; i < coordinate->parts().size(); i++) {
        if (plain_axis(coordinate->parts()[i]) == axis) return coordinate->coefficients[i];
    }
    return 0;
}

AxisId lone_axis(Expr coordinate) {
    const CoordinateParts parts = parts_of(coordinate);
    const bool lone = parts.values.empty() && parts.axes.size() == 1 && parts.axes[0].second > 0;
    return lone ? parts.axes[0].first : no_id;
}

AxisId plain_axis(Expr coordinate) { return coordinate->kind == Kind::variable ? coordinate->axis() : no_id; }

std::optional<Interval> interval(const Kernel& kernel, Expr coordinate) {
    if (coordinate->has_reads) return std::nullopt;
    auto is_empty = [&](Expr e) { return e->kind == Kind::variable && kernel.axis(e->axis()).extent.same_as(0); };
    if (std::ranges::any_of(expr::walk(coordinate), is_empty)) return Interval{0, -1};
    const Interval range = expr::interval(coordinate);
    return range.known() ? std::optional(range) : std::nullopt;
}

bool is_inside(const Kernel& kernel, Expr read) {
    const auto& dimensions = kernel.tensor(read->tensor()).dimensions;
    for (size_t d = 0; d < dimensions.size(); d++) {
        const auto range = interval(kernel, read->parts()[d]);
        if (!range || !range->within(0, dimensions[d].extent - 1)) return false;
    }
    return true;
}

bool needs_guard(const Kernel& kernel, Expr read, size_t d) {
    const KernelTensor& t = kernel.tensor(read->tensor());
    Expr literal = read->parts().back(), coordinate = read->parts()[d];
    bool real = literal->kind == Kind::real;
    bool fills = literal->from_template && (real ? literal->real : static_cast<double>(literal->integer)) == t.filling;
    auto range = interval(kernel, coordinate);
    const BufferDimension& dimension = t.dimensions[d];
    const Size before = fills ? dimension.margin_before : Size(0), after = fills ? dimension.margin_after : Size(0);
    // Panels of a named extent: that this size divides says nothing of the next one, which shares the code.
    auto is_panel = [&](const auto& term) { return term.second > 1 && kernel.axis(term.first).named; };
    if (before.same_as(0) && after.same_as(0) && std::ranges::any_of(parts_of(coordinate).axes, is_panel)) return true;
    return !range || !is_always_within(*range, -before, dimension.extent + after - 1);
}

bool is_window(const KernelEquation& equation, AxisId reduced) {
    // A sum that both move, as it is or wrapped, clamped or mirrored.
    const auto meets = [&](Expr sum) {
        return sum->kind == Kind::linear && depends_on(sum, reduced) &&
               std::ranges::any_of(parts_of(sum).axes, [&](const auto& term) {
                   return term.first != reduced && contains(equation.axes, term.first);
               });
    };
    return std::ranges::any_of(reads_of(equation.right), [&](const ReadAccess& read) {
        return std::ranges::any_of(coordinates_of(read.value), [&](Expr coordinate) {
            return depends_on(coordinate, reduced) && std::ranges::any_of(expr::walk(coordinate), meets);
        });
    });
}

bool contains(const std::vector<AxisId>& axes, AxisId axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool same_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](AxisId axis) { return contains(b, axis); });
}

}  // namespace heddle::schedules
