// What is made of constants only.
#include <algorithm>
#include <set>

#include "equations/passes.h"
#include "equations/pass_support.h"

namespace heddle::equations {

void mark_prepared(System& system) {
    const auto order = system.order();
    // What follows from a named size is another for another number, and is made in each run.
    const auto is_named = [&](AxisId axis) { return system.arena->extent(axis).named(); };
    const auto has_names = [&](int32_t index) {
        const Equation& equation = system.equation(index);
        return equation.right->has_named_sizes || std::ranges::any_of(equation.left, &Interned::has_named_sizes) ||
               std::ranges::any_of(equation.axes, is_named) || std::ranges::any_of(equation.reduced, is_named);
    };
    for (SystemTensor& tensor : system.tensors) {
        tensor.prepared = tensor.kind == SystemTensor::Kind::computed && !tensor.equations.empty() &&
                          std::ranges::none_of(tensor.equations, has_names);
    }
    const auto constant = [&](TensorIndex index) {
        const SystemTensor& tensor = system.tensor(index);
        return tensor.kind == SystemTensor::Kind::constant || tensor.prepared;
    };
    std::set<int32_t> running;  // scans that wait for inputs: none of their equations is prepared, whatever it reads
    // The equations of a scan read one another: again, until nothing changes.
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t index : order) {
            const Equation& equation = system.equation(index);
            bool& prepared = system.tensor(equation.tensor).prepared;
            const auto waits = [&](Expr read) {
                return read->tensor() != equation.tensor && !constant(read->tensor());
            };
            if (prepared && (running.contains(equation.scan) || std::ranges::any_of(reads(equation), waits))) {
                prepared = false;
                changed = true;
            }
            if (!prepared && equation.scan >= 0) changed |= running.insert(equation.scan).second;
        }
    }
}

}  // namespace heddle::equations
