#include "placing/costs.h"

#include <algorithm>

#include "evaluate/work.h"
#include "target/schema.h"

namespace heddle::placing {

std::vector<OperationWork> work_of(const Graph& graph) {
    std::vector<OperationWork> list;
    for (const Operation& operation : graph.operations) {
        OperationWork work;
        if (operation.body) work.operations = scalar_operations(*operation.body);
        std::vector<TensorId> tensors = operation.inputs;
        tensors.insert(tensors.end(), operation.outputs.begin(), operation.outputs.end());
        std::ranges::sort(tensors);
        const auto again = std::ranges::unique(tensors);
        tensors.erase(again.begin(), again.end());
        for (TensorId t : tensors) work.bytes += static_cast<double>(graph.tensor(t).type.byte_size());
        list.push_back(work);
    }
    return list;
}

double roofline(const OperationWork& work, const Target& target) {
    double rate = target.operations * target.cores;
    // What no figure is known of runs as fast as the targets' defaults say; the interpreter does not.
    static const SchemaField<Target>* const operations = find_target_field("operations");
    if (target.kind == "reference" && !is_known(target, *operations)) rate /= interpreted_times;
    return work.streamed / target.bandwidth + std::max(work.bytes / target.bandwidth, work.operations / rate);
}

double seconds(const OperationWork& work, const Target& target) {
    return target.launch_seconds + roofline(work, target);
}

}  // namespace heddle::placing
