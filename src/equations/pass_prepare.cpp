// What is made of constants only, and all passes in their order.
#include <algorithm>
#include <set>

#include "equations/fusion.h"
#include "equations/pass_support.h"

namespace heddle::equations {
void mark_prepared(System& system) {
    const auto order = system.order();
    for (SystemTensor& tensor : system.tensors) {
        tensor.prepared = tensor.kind == SystemTensor::Kind::computed && !tensor.equations.empty();
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

void optimise(System& system) {
    constexpr int maximum_rounds = 8;
    prune(system);
    join_history(system);
    narrow_integers(system);
    merge_equal(system);
    mark_prepared(system);
    separate_windows(system);
    write_out_axes(system);
    narrow_steps(system);
    name_expensive(system);
    mark_prepared(system);
    compose_views(system);
    substitute_pointwise(system);
    // Distribution opens views and pointwise readers, and these open distribution.
    for (int round = 0; round < maximum_rounds; round++) {
        const size_t before = system.equations.size();
        distribute(system);
        if (system.equations.size() == before) break;
        mark_prepared(system);
        compose_views(system);
        substitute_pointwise(system);
        name_expensive(system);
        mark_prepared(system);
    }
    pull_out_factors(system);
    substitute_pointwise(system);  // the product behind a sum goes into what reads it
    hoist_expensive(system);
    share_sweeps(system);
    pack_words(system);
    factor_axes(system);
    split_reductions(system);
    mark_prepared(system);
    join_scans(system);
    name_changes(system);
    keep_dead_elements(system);
    leave_extremes(system);
    leave_unasked_elements(system);
}

}  // namespace heddle::equations
