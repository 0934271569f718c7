// Constant arithmetic leaves the kernels: a subexpression that reads constants only, over fewer points than its
// equation, becomes an equation of its own, which `prepare` computes once (a batch norm's rsqrt(variance + epsilon)).
#include <algorithm>

#include "equations/fusion.h"
#include "equations/pass_support.h"
#include "expr/remake.h"

namespace heddle::equations {
namespace {

class ConstantHoister {
public:
    explicit ConstantHoister(System& system) : system_(system), arena_(*system.arena) {}

    void run() {
        for (int32_t index : system_.order()) {
            if (system_.tensor(system_.equation(index).tensor).prepared) continue;
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

    // Worth a table: it computes something expensive at plain axes of constants, at fewer points than the equation, and
    // the table is no larger than the constants that it is made of.
    bool worth_hoisting(int32_t index, Expr e) {
        if (e->kind != Kind::scalar || e->axes.empty() || !facts_.of(e).expensive) return false;
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
        SystemTensor tensor{.name = system_.tensor(system_.equation(index).tensor).name + "_constant",
                            .dtype = e->dtype};
        tensor.prepared = true;
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
            tensor.sizes.push_back(arena_.extent(axis));
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

void hoist_constants(System& system) {
    mark_prepared(system);
    ConstantHoister(system).run();
    mark_prepared(system);
}

}  // namespace heddle::equations
