#include "schedules/residues_apart.h"

#include <algorithm>
#include <utility>

#include "expr/remake.h"
#include "schedules/accesses.h"
#include "schedules/tree.h"
#include "target/choice_numbers.h"
#include "zspace/checked.h"

namespace heddle::schedules {
namespace {

// What is laid out by residues: one array for all reads that are alike.
struct Residues {
    TensorIndex tensor = no_id;
    int64_t step = 0;           // s
    std::vector<AxisId> outer;  // of all dimensions but the last: what reads have there
    AxisId steps = no_id;       // of the scan
    AxisId lanes = no_id;       // of the first read
    AxisId residue = no_id, quotient = no_id;
    TensorIndex apart = no_id;  // the array
    bool serves(const Residues& other) const {
        return tensor == other.tensor && step == other.step && outer == other.outer && steps == other.steps;
    }
};

class ResidueLayout {
public:
    explicit ResidueLayout(const Kernel& kernel) : given_(kernel) {}

    std::optional<Kernel> run() {
        for (const KernelEquation& e : given_.equations) {
            for (const ReadAccess& read : reads_of(e.right)) {
                const auto found = strided(e, read.value);
                const auto serves = [&](const Residues& known) { return known.serves(*found); };
                if (found && std::ranges::none_of(arrays_, serves)) arrays_.push_back(*found);
            }
        }
        if (arrays_.empty()) return std::nullopt;
        made_ = copied(given_, [&](Kernel& kernel) { add_axes(kernel); });
        for (Residues& array : arrays_) add_array(array);
        for (KernelEquation& e : made_.equations) e.right = with_arrays(e);
        for (const Residues& array : arrays_) add_filling(array);
        return std::move(made_);
    }

private:
    // Steps run in order around a nest of their own, so its lanes read again what those of the step before have read.
    static bool is_stream_of_steps(const KernelEquation& e) {
        return e.ordered >= 0 && e.block < 0 && !e.reducer && !e.update && !e.left.empty();
    }

    std::optional<Residues> strided(const KernelEquation& e, Expr read) const {
        if (!is_stream_of_steps(e) || read->kind != Kind::read) return std::nullopt;
        if (given_.hint(e.ordered) < choice_numbers::least_steps_behind_layout) return std::nullopt;
        Residues found{.tensor = read->tensor(), .steps = e.ordered, .lanes = plain_axis(e.left.back())};
        const KernelTensor& t = given_.tensor(found.tensor);
        const auto changes = [&](const KernelEquation& o) {
            return o.tensor == found.tensor && o.ordered == e.ordered;
        };
        if (t.role != KernelTensor::Role::local || std::ranges::any_of(given_.equations, changes)) return std::nullopt;
        const std::vector<Expr> at = coordinates_of(read);
        if (at.empty() || found.lanes < 0) return std::nullopt;
        const Size step = coefficient(at.back(), found.lanes);
        if (step.named() || step < 2 || !is_interleaving(step) || !parts_of(at.back()).values.empty()) return std::nullopt;
        found.step = step.number();
        for (size_t d = 0; d + 1 < at.size(); d++) {
            const AxisId axis = plain_axis(at[d]);
            const bool whole = axis >= 0 && axis != found.lanes && axis != e.ordered &&
                               given_.axis(axis).extent == t.dimensions[d].extent && !contains(found.outer, axis);
            if (!whole) return std::nullopt;
            found.outer.push_back(axis);
        }
        return found;
    }

    Size quotients(const Residues& array) const {
        return ceil_divide(given_.tensor(array.tensor).dimensions.back().extent, array.step);
    }

    void add_axes(Kernel& kernel) {
        for (Residues& array : arrays_) {
            array.residue = kernel.add_axis({.name = "residue", .extent = array.step});
            array.quotient = kernel.add_axis({.name = "quotient",
                                              .extent = quotients(array),
                                              .named = true,
                                              .factor = 1,
                                              .hint = given_.hint(array.lanes)});
        }
    }

    void add_array(Residues& array) {
        KernelTensor apart;
        apart.name = "residues" + std::to_string(made_.tensors.size());
        apart.role = KernelTensor::Role::local;
        apart.dtype = given_.tensor(array.tensor).dtype;
        apart.dimensions = given_.tensor(array.tensor).dimensions;
        apart.dimensions.back() = {.extent = array.step, .stride = 0};
        apart.dimensions.push_back({.extent = quotients(array), .stride = 0});
        made_.tensors.push_back(std::move(apart));
        array.apart = TensorIndex(made_.tensors.size() - 1);
    }

    Expr with_arrays(const KernelEquation& e) {
        Arena& arena = *made_.arena;
        Arena::Memo memo;
        const auto make = [&](Expr from, std::vector<Expr> operands) {
            const auto found = strided(e, from);
            const auto serves = [&](const Residues& array) { return array.serves(*found); };
            const auto array = found ? std::ranges::find_if(arrays_, serves) : arrays_.end();
            if (array == arrays_.end()) return arena.rebuild(from, std::move(operands));
            const Expr lanes = arena.axis_value(found->lanes), rest = arena.add(operands.back(), lanes, -found->step);
            operands.back() = divided(ScalarOp::modulo, rest, found->step);
            operands.push_back(arena.add(lanes, divided(ScalarOp::floor_divide, rest, found->step)));
            return arena.read(array->apart, from->dtype, std::move(operands));
        };
        const auto given = [](Expr part) { return part->kind == Kind::variable ? part : nullptr; };
        return expr::remade(e.right, memo, given, [](Expr part) { return operands_of(part); }, make);
    }

    // By a number in the text, which takes no division.
    Expr divided(ScalarOp op, Expr rest, int64_t step) {
        Arena& arena = *made_.arena;
        const bool quotient = op == ScalarOp::floor_divide;
        if (rest->kind == Kind::integer) return quotient ? arena.floor_divide(rest, step) : arena.modulo(rest, step);
        return arena.scalar(op, DType::int64, {rest, arena.integer(step)});
    }

    // Before the scan's first equation. The last quotient may have no element at some residue.
    void add_filling(const Residues& array) {
        Arena& arena = *made_.arena;
        KernelEquation filling;
        filling.tensor = array.apart;
        filling.axes = array.outer;
        filling.axes.push_back(array.residue);
        filling.axes.push_back(array.quotient);
        for (AxisId axis : filling.axes) filling.left.push_back(arena.axis_value(axis));
        std::vector<Expr> from(filling.left.begin(), filling.left.end() - 2);
        from.push_back(arena.add(arena.axis_value(array.residue), arena.axis_value(array.quotient), array.step));
        const KernelTensor& t = made_.tensor(array.tensor);
        std::vector<Size> shape;
        for (const BufferDimension& dimension : t.dimensions) shape.push_back(dimension.extent);
        const Expr nothing = is_float(t.dtype) ? arena.real(t.dtype, 0) : arena.literal(t.dtype, 0);
        filling.right = arena.guarded_read(array.tensor, t.dtype, std::move(from), nothing, shape);
        filling.light = std::ranges::any_of(made_.common, [&](AxisId axis) { return !contains(filling.axes, axis); });
        const auto first = std::ranges::find(made_.equations, array.steps, &KernelEquation::ordered);
        made_.equations.insert(first, std::move(filling));
    }

    const Kernel& given_;
    Kernel made_;
    std::vector<Residues> arrays_;
};

}  // namespace

std::optional<Kernel> with_residues_apart(const Kernel& kernel) { return ResidueLayout(kernel).run(); }

}  // namespace heddle::schedules
