// Expensive arithmetic over fewer points than its equation has becomes an equation of its own. If it reads constants
// only, `prepare` computes it once (a batch norm's rsqrt(variance + epsilon)). If the equation would do it again for each
// point of axes around (a rotary embedding's angles, for each head), it is done once for all of them.
#include <algorithm>

#include "equations/fusion.h"
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
            if (system_.tensor(equation.tensor).prepared || equation.scan >= 0) continue;
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
        const bool computes = e->kind == Kind::scalar || e->kind == Kind::cast;  // the table is of the type that is used
        if (!computes || e->axes.empty() || !facts_.of(e).expensive) return false;
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

    // Axes around those that it needs make the equation do it again, so often that it counts beside the rest; and doing it
    // once saves more than a kernel may cost.
    bool is_repeated(int32_t index, Expr e) {
        constexpr double least_repetitions = 4, least_saved = 1e5;  // operations
        const Equation& equation = system_.equation(index);
        if (scatter_of(system_, equation) || !reads_inside(system_, e)) return false;
        if (std::ranges::any_of(walk(e), [&](Expr node) { return node->is_read() && system_.in_scan(node->tensor()); }))
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

    // The greatest subexpressions worth it, from the root down.
    Expr rewrite(int32_t index, Expr root) {
        Arena::Memo memo;
        auto given = [](Expr e) { return e->is_read() ? e : nullptr; };
        auto parts = [&](Expr e) { return worth_hoisting(index, e) ? std::vector<Expr>() : operands_of(e); };
        return remade(root, memo, given, parts, [&](Expr e, std::vector<Expr> operands) {
            const bool hoisted = operands.empty() && !e->parts().empty();
            return hoisted ? table(index, e) : arena_.rebuild(e, std::move(operands));
        });
    }

    Expr table(int32_t index, Expr e) {
        const Equation user = system_.equation(index);
        SystemTensor tensor{.name = system_.tensor(user.tensor).name + "_hoisted", .dtype = e->dtype};
        tensor.operation = system_.tensor(user.tensor).operation;
        tensor.prepared = std::ranges::none_of(
            walk(e), [&](Expr node) { return node->is_read() && !is_constant(node->tensor()); });
        Equation equation;
        Arena::Substitution renaming;
        std::vector<Expr> coordinates;
        for (AxisId axis : e->axes) {
            AxisId own = arena_.add_axis(arena_.axis(axis));
            renaming[axis] = arena_.axis_value(own);
            equation.axes.push_back(own);
            equation.left.push_back(arena_.axis_value(own));
            coordinates.push_back(arena_.axis_value(axis));
            tensor.shape.push_back(arena_.extent(axis));
            tensor.sizes.push_back(size_of_axis(system_, user, axis));
        }
        equation.right = arena_.substitute(e, renaming);
        equation.tensor = system_.add_tensor(std::move(tensor));
        DType dtype = e->dtype;
        TensorIndex made = equation.tensor;
        system_.add_equation(std::move(equation));
        return arena_.read(made, dtype, std::move(coordinates));
    }

    System& system_;
    Arena& arena_;
    FactCache facts_;
};

}  // namespace

void hoist_expensive(System& system) {
    mark_prepared(system);
    Hoister(system).run();
    mark_prepared(system);
}

}  // namespace heddle::equations
