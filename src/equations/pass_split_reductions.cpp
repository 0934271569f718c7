// Scatters with many more terms than elements, and products over a long axis: a number of parts of the terms go to
// copies of the result of their own, which are added up in order. The parts are tasks, and depend on sizes only, so
// that results do not depend on the number of threads. Rules: docs/equations.md, "Scatters" and "Long products".
#include <algorithm>
#include <bit>

#include "equations/passes.h"
#include "equations/integer_ranges.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"

namespace heddle::equations {
namespace {

class ReductionSplitter {
public:
    ReductionSplitter(System& system, const ReductionParts& limits)
        : system_(system), arena_(*system.arena), limits_(limits), readers_(system.readers()) {}

    void run() {
        for (int32_t index : system_.order()) {
            const Equation& equation = system_.equation(index);
            if (equation.scan >= 0) continue;  // the steps of a scan are no tasks
            if (system_.tensor(equation.tensor).equations.size() != 1 || !keeps_its_type(equation)) continue;
            if (!equation.reducer || equation.reduced.empty() || !joining_op(*equation.reducer)) continue;
            const auto scatter = scatter_of(system_, equation);
            if (scatter && replaces(index)) continue;
            const AxisId axis =
                *std::ranges::max_element(equation.reduced, {}, [&](AxisId reduced) { return arena_.hint(reduced); });
            const int64_t parts = scatter ? parts_of(equation, *scatter, axis) : parts_of_product(equation, axis);
            if (parts >= 2) split(index, axis, parts);
        }
    }

private:
    // Results of parts are rounded once, as the whole would be.
    bool keeps_its_type(const Equation& equation) const {
        const DType dtype = system_.tensor(equation.tensor).dtype;
        return equation.right->dtype == dtype && info(dtype).accumulator == dtype;
    }

    // A reader that puts the chosen terms in place needs no result.
    bool replaces(int32_t index) const {
        return std::ranges::any_of(readers_[static_cast<size_t>(system_.equation(index).tensor)], [&](int32_t reader) {
            const auto into = scatter_into(system_, system_.equation(reader));
            return into && into->scatter == index && !into->join;
        });
    }

    // As many that the copies stay small beside the terms, and each is worth a task; none where other axes make tasks,
    // or where terms go by whole rows: memory is the limit there.
    int64_t parts_of(const Equation& equation, const Scatter& scatter, AxisId axis) const {
        if (!scatter.chooses(equation.axes.back())) return 1;
        double apart = 1;
        for (AxisId own : equation.axes) {
            if (scatter.chooses(own)) break;
            apart *= static_cast<double>(arena_.hint(own));
        }
        if (apart >= static_cast<double>(limits_.most)) return 1;
        const double terms = hint_points(system_, equation), elements = hint_points(arena_, equation.axes);
        const double most =
            std::min(terms / (limits_.terms_an_element * std::max(elements, 1.0)), terms / limits_.terms);
        const auto limit = std::clamp<int64_t>(static_cast<int64_t>(most), 1,
                                               std::min(limits_.most, std::max<int64_t>(splittable(axis).number(), 1)));
        return static_cast<int64_t>(
            std::bit_floor(static_cast<uint64_t>(limit)));  // as many for each of 2, 4, 8 threads
    }

    // A tile's part of an operand is read again for each tile of the other one: it should stay in a core's cache.
    int64_t parts_of_product(const Equation& equation, AxisId axis) const {
        const ProductAxes product = product_axes(equation);
        if (std::ranges::find(product.reduced, axis) == product.reduced.end()) return 1;
        if (std::min(hint_points(arena_, product.rows), hint_points(arena_, product.columns)) < limits_.product_shares)
            return 1;
        const double most = static_cast<double>(arena_.hint(axis)) / limits_.product_terms;
        const auto limit = std::clamp<int64_t>(static_cast<int64_t>(most), 1, std::max<int64_t>(splittable(axis).number(), 1));
        return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(limit)));
    }

    // A named axis always leaves a rest: other sizes of its class have the same equations.
    Size splittable(AxisId axis) const { return arena_.extent(axis) - (arena_.axis(axis).named ? 1 : 0); }

    void split(int32_t index, AxisId axis, int64_t parts) {
        const Size length = floor_divide(splittable(axis), parts), rest = arena_.extent(axis) - parts * length;
        const TensorIndex copies = add_copies(index, axis, parts, length);
        if (rest.same_as(0)) return add_up(index, copies);
        const TensorIndex most = add_tensor_like(index, "_most");
        const TensorIndex last = add_tensor_like(index, "_rest");
        const Equation original = system_.equation(index);
        Equation sum = original;
        sum.tensor = most;
        system_.add_equation(std::move(sum));
        add_up(system_.tensor(most).equations[0], copies);
        system_.add_equation(part_of(original, last, axis, rest, arena_.integer(parts * length)));
        join(index, most, last);
    }

    // The equation over `length` of the axis from `begin` on, with axes of its own.
    Equation part_of(const Equation& from, TensorIndex tensor, AxisId axis, const Size& length, Expr begin) {
        Equation part = from;
        part.tensor = tensor;
        Arena::Substitution renamed;
        const auto rename = [&](AxisId& own) {
            Axis copy = arena_.axis(own);
            if (own == axis) resize(copy, length);
            const AxisId made = arena_.add_axis(std::move(copy));
            renamed[own] = own == axis ? arena_.add(begin, arena_.axis_value(made)) : arena_.axis_value(made);
            own = made;
        };
        std::ranges::for_each(part.axes, rename);
        std::ranges::for_each(part.reduced, rename);
        for (Expr& left : part.left) left = arena_.substitute(left, renamed);
        part.right = arena_.substitute(from.right, renamed);
        return part;
    }

    void resize(Axis& axis, const Size& length) const {
        if (axis.hint > 0) axis.hint = std::max<int64_t>(1, length.at(system_.representatives));
        axis.extent = length;
        axis.factor = axis.named ? 1 : length.number();
    }

    TensorIndex add_copies(int32_t index, AxisId axis, int64_t parts, const Size& length) {
        const AxisId part_axis = arena_.add_axis({.name = "part", .extent = parts});
        Expr part = arena_.axis_value(part_axis);
        SystemTensor tensor = like(index, "_parts");
        tensor.shape.insert(tensor.shape.begin(), parts);
        tensor.in_parts = true;
        const Expr right = in_32_bits(system_.equation(index));
        tensor.dtype = right->dtype;
        const TensorIndex copies = system_.add_tensor(std::move(tensor));
        Equation equation = system_.equation(index);
        equation.right = right;
        equation = part_of(equation, copies, axis, length, arena_.scale(part, length));
        equation.axes.insert(equation.axes.begin(), part_axis);
        equation.left.insert(equation.left.begin(), part);
        system_.add_equation(std::move(equation));
        return copies;
    }

    // Counts of a scatter that fit 32 bits: stores wait for lines, and these are half as many.
    Expr in_32_bits(const Equation& equation) {
        if (equation.right->dtype != DType::int64 || !scatter_of(system_, equation)) return equation.right;
        IntegerRanges ranges(system_);
        const bool fits = holds(DType::int32, ranges.of_elements(equation.tensor));
        const Expr small = fits ? ranges.narrowed(arena_, equation.right, DType::int32) : nullptr;
        return small != nullptr ? small : equation.right;
    }

    // The equation becomes the reduction of the copies.
    void add_up(int32_t index, TensorIndex copies) {
        Equation& equation = system_.equation(index);
        const AxisId part = arena_.add_axis({.name = "part", .extent = system_.tensor(copies).shape[0]});
        std::vector<Expr> coordinates = {arena_.axis_value(part)};
        coordinates.insert(coordinates.end(), equation.left.begin(), equation.left.end());
        equation.reduced = {part};
        const SystemTensor& parts = system_.tensor(copies);
        equation.right = arena_.cast(system_.tensor(equation.tensor).dtype,
                                     arena_.read(copies, parts.dtype, std::move(coordinates)));
    }

    // The equation becomes what two others make together.
    void join(int32_t index, TensorIndex a, TensorIndex b) {
        Equation& equation = system_.equation(index);
        const DType dtype = system_.tensor(a).dtype;
        const ScalarOp op = *joining_op(*equation.reducer);
        equation.right =
            arena_.scalar(op, dtype, {arena_.read(a, dtype, equation.left), arena_.read(b, dtype, equation.left)});
        equation.reducer.reset();
        equation.reduced.clear();
    }

    SystemTensor like(int32_t index, const char* suffix) const {
        const SystemTensor& whole = system_.tensor(system_.equation(index).tensor);
        SystemTensor tensor{
            .name = whole.name + suffix, .dtype = whole.dtype, .shape = whole.shape};
        tensor.operation = whole.operation;
        return tensor;
    }
    TensorIndex add_tensor_like(int32_t index, const char* suffix) { return system_.add_tensor(like(index, suffix)); }

    System& system_;
    Arena& arena_;
    const ReductionParts limits_;
    const std::vector<std::vector<int32_t>> readers_;
};

}  // namespace

void split_reductions(System& system, const ReductionParts& limits) { ReductionSplitter(system, limits).run(); }

}  // namespace heddle::equations
