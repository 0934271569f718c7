#include "equations/storing_alternatives.h"

#include <algorithm>
#include <optional>

#include "equations/fusion.h"
#include "equations/pass_support.h"
#include "equations/passes.h"

namespace heddle::equations {
namespace {

std::optional<StoringOutcome> outcome(System system, TensorIndex tensor, Storing storing, const Target& target) {
    system.tensor(tensor).storing = storing;
    optimise(system);
    if (!check_storing(system)) return std::nullopt;
    limit_buffers(system, target.maximum_buffers);
    const Partition partition = fuse(system, target, {});
    StoringOutcome result;
    result.cost = run_cost(system, partition, target);
    result.launches = partition.batches.size();
    const bool is_stored = std::ranges::any_of(
        partition.kernels, [&](const Kernel& kernel) { return std::ranges::find(kernel.outputs, tensor) != kernel.outputs.end(); });
    result.place = system.tensor(tensor).dead ? StoringOutcome::Place::inlined
                   : is_stored               ? StoringOutcome::Place::stored
                                             : StoringOutcome::Place::local;
    if (storing == Storing::stored && !is_stored) return std::nullopt;
    return result;
}

}  // namespace

std::string_view name(StoringOutcome::Place place) {
    switch (place) {
    case StoringOutcome::Place::stored: return "stored";
    case StoringOutcome::Place::local: return "local";
    case StoringOutcome::Place::inlined: return "inlined";
    }
    return "";
}

std::vector<StoringAlternatives> storing_alternatives(const System& lowered, const Target& target, size_t most) {
    System marked = lowered;
    mark_prepared(marked);
    FactCache facts;
    std::vector<StoringAlternatives> result;
    for (size_t t = 0; t < marked.tensors.size() && result.size() < most; t++) {
        const SystemTensor& tensor = marked.tensors[t];
        if (!has_storing_choice(marked, tensor) || tensor.prepared) continue;
        const Equation& equation = marked.equation(tensor.equations[0]);
        if (!equation.reducer && facts.of(equation.right).operations == 0) continue;
        StoringAlternatives one{.tensor = tensor.name};
        for (const Equation& reader : marked.equations) {
            if (reader.dead) continue;
            for (Expr read : reads(reader)) one.reads += read->tensor() == static_cast<TensorIndex>(t);
        }
        const auto chosen = outcome(lowered, static_cast<TensorIndex>(t), Storing::by_cost, target);
        if (!chosen) continue;
        one.chosen = *chosen;
        for (Storing storing : {Storing::stored, Storing::inlined}) {
            auto other = outcome(lowered, static_cast<TensorIndex>(t), storing, target);
            if (other && other->place != chosen->place) one.others.push_back(std::move(*other));
        }
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace heddle::equations
