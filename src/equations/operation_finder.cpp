#include "equations/operation_finder.h"

#include <algorithm>

namespace heddle::equations {

OperationFinder::OperationFinder(const Graph& graph, const System& system)
    : graph_(graph),
      system_(system),
      makers_(graph.tensors.size()),
      tensors_(graph.tensors.size(), no_id),
      has_steps_(graph.operations.size(), false),
      sources_(graph.operations.size()) {
    for (size_t o = 0; o < graph.operations.size(); o++) {
        for (TensorId t : graph.operations[o].outputs) makers_[t].push_back(OperationId(o));
    }
    for (size_t t = 0; t < system.tensors.size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        const bool made = std::ranges::any_of(tensor.equations, [&](int32_t e) { return !system.equation(e).dead; });
        if (!made && tensor.kind == SystemTensor::Kind::computed) continue;
        if (tensor.graph_tensor >= 0) {
            tensors_[tensor.graph_tensor] = TensorIndex(t);
        } else if (tensor.operation >= 0) {
            has_steps_[tensor.operation] = true;
            sources_[tensor.operation].insert(TensorIndex(t));
        }
    }
    for (size_t o = 0; o < graph.operations.size(); o++) {
        for (TensorId t : graph.operations[o].inputs) {
            if (tensors_[t] >= 0) sources_[o].insert(tensors_[t]);
            if (tensors_[t] >= 0) continue;
            for (OperationId maker : makers_[t]) sources_[o].insert(sources_[maker].begin(), sources_[maker].end());
        }
    }
}

void OperationFinder::add(const Equation& equation, std::set<OperationId>& operations) const {
    std::set<TensorIndex> read;
    for (Expr access : reads(equation)) read.insert(access->tensor());
    std::vector<OperationId> open;
    auto add_all = [&](const std::vector<OperationId>& makers, bool whole) {
        for (OperationId o : makers) {
            const bool own = makers.size() == 1 ||
                             std::ranges::any_of(sources_[o], [&](auto source) { return read.contains(source); });
            if (own && (whole || !has_steps_[o]) && operations.insert(o).second) open.push_back(o);
        }
    };
    const SystemTensor& tensor = system_.tensor(equation.tensor);
    if (tensor.graph_tensor >= 0)
        add_all(makers_[tensor.graph_tensor], true);
    else if (tensor.operation >= 0)
        add_all({tensor.operation}, true);
    while (!open.empty()) {
        const OperationId o = open.back();
        open.pop_back();
        for (TensorId t : graph_.operation(o).inputs) {
            if (tensors_[t] < 0) add_all(makers_[t], false);
        }
    }
}

}  // namespace heddle::equations
