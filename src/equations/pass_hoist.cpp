// Expensive arithmetic over fewer points than its equation has becomes an equation of its own. If it reads constants
// only, `prepare` computes it once (a batch norm's rsqrt(variance + epsilon)). If the equation would do it again for
// each point of axes around (a rotary embedding's angles, for each head), it is done once for all of them. So is a long
// factor of a product's terms, which tiles would work out by single numbers.
// In a scan, what a step would do again at each point (a pivot's reciprocal) is done once a step, or before the scan if
// no state is asked; and what a step reads of the state before at a place of few (a pivot's row and column) is set
// aside, so that the new state can take the place of the old one. Inputs that steps would gather are laid side by side
// before them. What constants make, and is cast to a smaller type (a filter's weights in float64), is prepared in that
// type. What is made of one element of a small table, whose place is data, is made of the table's elements once.
#include <algorithm>
#include <cmath>
#include <map>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "equations/scatter.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

class Hoister {
public:
    explicit Hoister(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        for (int32_t index : system_.order()) {
            const Equation& equation = system_.equation(index);
            if (system_.tensor(equation.tensor).prepared) continue;
            sets_aside_ = equation.scan >= 0 && updates_by_pivots(equation);
            Expr right = system_.equation(index).right;
            Expr hoisted = rewrite(index, right);
            if (hoisted != right) system_.equation(index).right = hoisted;
        }
    }

private:
    bool is_constant(TensorIndex t) const {
        const SystemTensor& tensor = system_.tensor(t);
        return tensor.kind == SystemTensor::Kind::constant || tensor.prepared;
    }

    bool worth_hoisting(int32_t index, Expr e) {
        const Equation& equation = system_.equation(index);
        if (equation.scan >= 0) return is_repeated_in_step(equation, e);
        const bool computes =
            e->kind == Kind::scalar || e->kind == Kind::cast;  // the table is of the type that is used
        if (!computes || e->axes.empty()) return false;
        if (!facts_.of(e).expensive) return is_long_factor(index, e) && is_repeated(index, e);
        return is_small_constant(index, e) || is_repeated(index, e);
    }

    // It computes something at plain axes of constants, at fewer points than the equation, and the table is no larger
    // than the constants that it is made of.
    bool is_small_constant(int32_t index, Expr e) const {
        double points = hint_points(arena_, e->axes), read = 0;
        if (points * 2 > hint_points(system_, system_.equation(index))) return false;
        for (Expr node : walk(e)) {
            if (node->kind == Kind::guarded_read) return false;
            if (node->kind != Kind::read) continue;
            if (!is_constant(node->tensor())) return false;
            const auto& shape = system_.tensor(node->tensor()).shape;
            double elements = 1;
            for (size_t d = 0; d < shape.size(); d++) {
                if (node->parts()[d]->low < 0 || node->parts()[d]->high >= shape[d]) return false;
                elements *= static_cast<double>(shape[d]);
            }
            read = std::max(read, elements);
        }
        return std::none_of(e->axes.begin(), e->axes.end(), [&](AxisId a) { return arena_.axis(a).named; }) &&
               points <= read;
    }

    // Of a sum of products: what a row of a tile works out for each term by single numbers, beside whole vectors of
    // another factor (the adjoint of attention's scores, beside keys). Numbers that are unpacked stay as small as they are.
    bool is_long_factor(int32_t index, Expr e) {
        constexpr double least_operations = 6, least_columns = 16;
        const Equation& equation = system_.equation(index);
        if (equation.reducer != Reducer::sum || !is_float(e->dtype) || facts_.of(e).operations < least_operations)
            return false;
        const auto needs = [&](AxisId axis) { return std::ranges::binary_search(e->axes, axis); };
        double columns = 1;
        for (AxisId axis : equation.axes) columns *= needs(axis) ? 1 : static_cast<double>(arena_.hint(axis));
        return columns >= least_columns && std::ranges::any_of(equation.reduced, needs) &&
               std::ranges::none_of(walk(e),
                                    [&](Expr node) { return node->is_read() && bytes(node->dtype) < bytes(e->dtype); });
    }

    // Axes around those that it needs make the equation do it again, so often that it counts beside the rest; and doing
    // it once saves more than a kernel may cost.
    bool is_repeated(int32_t index, Expr e) {
        constexpr double least_repetitions = 4, least_saved = 1e5;  // operations
        const Equation& equation = system_.equation(index);
        if (scatter_of(system_, equation) || !reads_inside(system_, e)) return false;
        if (std::ranges::any_of(reads_below(e), [&](Expr read) { return system_.in_scan(read->tensor()); }))
            return false;
        std::vector<AxisId> order = equation.axes;
        order.insert(order.end(), equation.reduced.begin(), equation.reduced.end());
        const auto needs = [&](AxisId axis) { return std::ranges::binary_search(e->axes, axis); };
        while (!order.empty() && !needs(order.back())) order.pop_back();
        const double done = hint_points(arena_, order), needed = hint_points(arena_, e->axes);
        const double operations = facts_.of(e).operations;
        return done >= least_repetitions * needed && (done - needed) * operations >= least_saved &&
               done * operations * 4 >= hint_points(system_, equation);
    }

    // The loops of a step may have any order, so what lacks an axis may be done again for each of its points. A sum's
    // terms are left as they are.
    bool is_repeated_in_step(const Equation& equation, Expr e) {
        constexpr double least_repetitions = 4, least_saved = 1e4;  // operations
        if (equation.reducer || e->axes.empty() || !reads_inside(system_, e)) return false;
        const double done = hint_points(arena_, equation.axes), needed = hint_points(arena_, e->axes);
        if (done < least_repetitions * needed || !asks_scan_by_steps(equation, e)) return false;
        if ((sets_aside_ && is_pivot(equation, e)) || is_scattered(equation, e)) return true;
        const bool computes = e->kind == Kind::scalar || e->kind == Kind::cast;
        return computes && facts_.of(e).expensive && (done - needed) * facts_.of(e).operations >= least_saved;
    }

    // What it reads of its own scan can be read by an equation that walks the same steps.
    bool asks_scan_by_steps(const Equation& equation, Expr e) const {
        return std::ranges::all_of(walk(e), [&](Expr node) {
            if (!node->is_read() || !is_of_scan(node->tensor(), equation.scan)) return true;
            return std::ranges::binary_search(e->axes, equation.ordered) && node->kind == Kind::read;
        });
    }

    bool is_of_scan(TensorIndex tensor, int32_t scan) const {
        return std::ranges::any_of(system_.tensor(tensor).equations, [&](int32_t maker) {
            return !system_.equation(maker).dead && system_.equation(maker).scan == scan;
        });
    }

    // What every step would gather again: elements that do not lie side by side along any axis.
    bool is_scattered(const Equation& equation, Expr read) const {
        if (read->kind != Kind::read || system_.in_scan(read->tensor())) return false;
        const bool of_step = std::ranges::binary_search(read->axes, equation.ordered);
        return !of_step && read->parts().back()->axes.empty() && system_.tensor(read->tensor()).shape.back() > 1;
    }

    // The step before of what the equation makes, elsewhere than at its own point.
    bool is_pivot(const Equation& equation, Expr read) const {
        if (read->kind != Kind::read || read->tensor() != equation.tensor) return false;
        return step_of_read(equation, read, equation) == -1 && !is_own_point(equation, read);
    }

    static bool is_own_point(const Equation& equation, Expr read) {
        for (size_t d = 0; d < equation.left.size(); d++) {
            const bool steps = equation.left[d]->axes == std::vector{equation.ordered};
            if (!steps && read->parts()[d] != equation.left[d]) return false;
        }
        return true;
    }

    // All that it reads of its own tensor is the step before, at its own point or where few points are: then the new
    // state may take the old one's place. An output is kept whole anyway.
    bool updates_by_pivots(const Equation& equation) const {
        if (equation.reducer || system_.tensor(equation.tensor).is_output) return false;
        const double points = hint_points(arena_, equation.axes);
        return std::ranges::all_of(reads(equation), [&](Expr read) {
            if (read->tensor() != equation.tensor) return true;
            if (read->kind != Kind::read || step_of_read(equation, read, equation) != -1) return false;
            return is_own_point(equation, read) || 4 * hint_points(arena_, read->axes) <= points;
        });
    }

    // Of a constant's element, to a smaller type.
    bool is_smaller_constant(Expr e) const {
        if (e->kind != Kind::cast || e->parts()[0]->kind != Kind::read) return false;
        const Expr read = e->parts()[0];
        const auto is_number = [](const Size& size) { return !size.named(); };
        return is_constant(read->tensor()) && bytes(e->dtype) < bytes(read->dtype) &&
               std::ranges::all_of(system_.tensor(read->tensor()).shape, is_number);
    }

    // The same element of the whole constant in that type.
    Expr read_smaller(Expr cast) {
        const Expr read = cast->parts()[0];
        const auto [known, is_new] = smaller_.try_emplace({read->tensor(), cast->dtype}, no_id);
        if (is_new) {
            Equation equation = over_all(read->tensor());
            equation.right = arena_.cast(cast->dtype, arena_.read(read->tensor(), read->dtype, equation.left));
            known->second = add_like(read->tensor(), "_" + std::string(name(cast->dtype)), std::move(equation));
        }
        return arena_.read(known->second, cast->dtype, {read->parts().begin(), read->parts().end()});
    }

    // Made of one element of a small tensor alone, whose place is data: the element. It is made of all elements before.
    Expr looked_up(int32_t index, Expr e) const {
        constexpr double least_uses = 4;
        if (e->kind != Kind::scalar && e->kind != Kind::cast && e->kind != Kind::select) return nullptr;
        Expr read = nullptr;
        bool computes = false;
        std::vector<Expr> open = {e};
        for (size_t i = 0; i < open.size(); i++) {
            const Expr at = open[i];
            const bool value = at->kind == Kind::scalar || at->kind == Kind::cast || at->kind == Kind::select;
            const bool literal = at->axes.empty() && at->parts().empty();
            if (at->is_read() ? at->kind != Kind::read || (read && read != at) : !value && !literal) return nullptr;
            computes |= at->kind == Kind::scalar || at->kind == Kind::select;
            if (at->is_read()) read = at;
            if (value) open.insert(open.end(), at->parts().begin(), at->parts().end());
            if (open.size() > 200) return nullptr;
        }
        if (!read || !(computes || bytes(e->dtype) < bytes(read->dtype))) return nullptr;
        const auto is_data = [](Expr coordinate) {
            return coordinate->has_reads;
        };
        if (std::ranges::none_of(read->parts(), is_data)) return nullptr;
        const SystemTensor& tensor = system_.tensor(read->tensor());
        double elements = 1;
        for (const Size& size : tensor.shape) elements *= size.named() ? INFINITY : static_cast<double>(size.value());
        return least_uses * elements <= hint_points(system_, system_.equation(index)) ? read : nullptr;
    }

    // The same element of what is made of the whole tensor.
    Expr read_table(Expr e, Expr read) {
        Equation equation = over_all(read->tensor());
        const Expr element = arena_.read(read->tensor(), read->dtype, equation.left);
        Arena::Memo memo;
        memo[read] = element;
        equation.right = remade(
            e, memo, [](Expr at) { return at->parts().empty() ? at : nullptr; }, [](Expr at) { return at->parts(); },
            [&](Expr at, std::vector<Expr> operands) { return arena_.rebuild(at, std::move(operands)); });
        const TensorIndex made = add_like(read->tensor(), "_table", std::move(equation));
        return arena_.read(made, e->dtype, {read->parts().begin(), read->parts().end()});
    }

    Equation over_all(TensorIndex tensor) {
        Equation equation;
        for (const Size& extent : std::vector(system_.tensor(tensor).shape)) {
            equation.axes.push_back(arena_.add_axis({.name = "d", .extent = extent}));
            equation.left.push_back(arena_.axis_value(equation.axes.back()));
        }
        return equation;
    }

    // A tensor of the same shape that the equation makes.
    TensorIndex add_like(TensorIndex like, const std::string& suffix, Equation equation) {
        const SystemTensor& from = system_.tensor(like);
        SystemTensor tensor{.name = from.name + suffix, .dtype = equation.right->dtype};
        tensor.shape = from.shape;
        tensor.operation = from.operation;
        tensor.prepared = is_constant(like);
        equation.tensor = system_.add_tensor(std::move(tensor));
        const TensorIndex made = equation.tensor;
        system_.add_equation(std::move(equation));
        return made;
    }

    // The greatest subexpressions worth it, from the root down.
    Expr rewrite(int32_t index, Expr root) {
        Arena::Memo memo;
        const bool steps = system_.equation(index).scan >= 0;
        auto given = [&](Expr e) {
            if (is_smaller_constant(e)) return read_smaller(e);
            if (Expr read = steps ? nullptr : looked_up(index, e)) return read_table(e, read);
            return e->is_read() && !worth_hoisting(index, e) ? e : nullptr;
        };
        auto parts = [&](Expr e) { return worth_hoisting(index, e) ? std::vector<Expr>() : operands_of(e); };
        return remade(root, memo, given, parts, [&](Expr e, std::vector<Expr> operands) {
            const bool hoisted = operands.empty() && !e->parts().empty();
            if (hoisted) return table(index, e);
            if (Expr inverse = inverse_of_divisor(index, e))
                return arena_.scalar(ScalarOp::multiply, e->dtype, {operands[0], table(index, inverse)});
            return arena_.rebuild(e, std::move(operands));
        });
    }

    // Of a division in a step, by what lacks some of its axes: as lowering does for the result of a reduction.
    Expr inverse_of_divisor(int32_t index, Expr e) {
        const bool divides = e->kind == Kind::scalar && e->op == ScalarOp::divide && is_float(e->dtype);
        if (!divides || system_.equation(index).scan < 0) return nullptr;
        Expr inverse = arena_.scalar(ScalarOp::reciprocal, e->dtype, {e->parts()[1]});
        return worth_hoisting(index, inverse) ? inverse : nullptr;
    }

    Expr table(int32_t index, Expr e) {
        const Equation user = system_.equation(index);
        SystemTensor tensor{.name = system_.tensor(user.tensor).name + "_hoisted", .dtype = e->dtype};
        tensor.operation = system_.tensor(user.tensor).operation;
        tensor.prepared =
            std::ranges::all_of(reads_below(e), [&](Expr read) { return is_constant(read->tensor()); });
        Equation equation;
        Arena::Substitution renaming;
        std::vector<Expr> coordinates;
        const bool of_step = user.scan >= 0 && std::ranges::any_of(walk(e), [&](Expr node) {
                                 return node->is_read() && is_of_scan(node->tensor(), user.scan);
                             });
        for (AxisId axis : e->axes) {
            AxisId own = arena_.add_axis(arena_.axis(axis));
            if (of_step && axis == user.ordered) equation.ordered = own;
            renaming[axis] = arena_.axis_value(own);
            equation.axes.push_back(own);
            equation.left.push_back(arena_.axis_value(own));
            coordinates.push_back(arena_.axis_value(axis));
            tensor.shape.push_back(arena_.extent(axis));
        }
        equation.right = arena_.substitute(e, renaming);
        if (of_step) equation.scan = user.scan;
        equation.tensor = system_.add_tensor(std::move(tensor));
        DType dtype = e->dtype;
        TensorIndex made = equation.tensor;
        system_.add_equation(std::move(equation));
        return arena_.read(made, dtype, std::move(coordinates));
    }

    System& system_;
    Arena& arena_;
    FactCache facts_;
    std::map<std::pair<TensorIndex, DType>, TensorIndex> smaller_;
    bool sets_aside_ = false;  // pivots of the present equation
};

}  // namespace

void hoist_expensive(System& system) {
    Hoister(system).run();
    prune(system);
}

}  // namespace heddle::equations
