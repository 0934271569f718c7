#include "plan/instantiate.h"

#include <algorithm>
#include <unordered_map>

#include "plan/memory.h"

namespace heddle::plan {
namespace {

// Every size of the plan that may be another one for other names.
template <typename Visit>
void visit_sizes(Plan& plan, const Visit& visit) {
    const auto each = [&](std::vector<Size>& sizes) { std::ranges::for_each(sizes, visit); };
    for (auto* types : {&plan.input_types, &plan.output_types}) {
        for (TensorType& type : *types) each(type.shape);
    }
    for (Buffer& buffer : plan.buffers) {
        visit(buffer.bytes);
        visit(buffer.base);
        each(buffer.sizes);
        each(buffer.storage.extent);
        each(buffer.storage.margin_before);
        each(buffer.storage.margin_after);
        each(buffer.storage.room);
    }
    for (Batch& batch : plan.run) {
        for (Launch& launch : batch) {
            each(launch.numbers);
            visit(launch.tasks);
            visit(launch.rounds);
            visit(launch.scratch_bytes);
        }
    }
}

}  // namespace

bool instantiate(Plan& plan, const std::map<std::string, int64_t>& names) {
    std::unordered_map<OriginPointer, int64_t> values;  // each is worked out once
    bool all = true;
    visit_sizes(plan, [&](const Size& size) {
        if (!size.named() || values.contains(size.origin())) return;
        const auto value = size.origin()->evaluated(names);
        all = all && value;
        values.emplace(size.origin(), value.value_or(0));
    });
    if (!all) return false;
    visit_sizes(plan, [&](Size& size) {
        if (size.named()) size = Size(values.at(size.origin()), size.origin());
    });
    plan.names = names;
    place_again(plan);
    return true;
}

}  // namespace heddle::plan
