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

std::optional<Names> names_for(const Plan& plan, const std::vector<std::vector<int64_t>>& input_shapes, const Names& given,
                               const std::function<void(Names&)>& amend) {
    if (!plan.facts || input_shapes.size() != plan.input_types.size()) return std::nullopt;
    Names names = plan.names;
    for (const auto& [name, number] : given) names[name] = number;
    const auto each = [&](const auto& visit) {
        for (size_t i = 0; i < input_shapes.size(); i++) {
            const std::vector<Size>& sizes = plan.input_types[i].shape;
            if (sizes.size() != input_shapes[i].size()) return false;
            for (size_t d = 0; d < sizes.size(); d++) {
                if (!visit(sizes[d], input_shapes[i][d])) return false;
            }
        }
        return true;
    };
    const bool ranks_fit = each([&](const Size& size, int64_t number) {
        if (size.named() && size.origin()->kind() == Origin::Kind::name) names[size.origin()->text()] = number;
        return true;
    });
    const bool fits = ranks_fit && each([&](const Size& size, int64_t number) { return size.at(names) == number; });
    if (fits && amend) amend(names);
    return fits && !plan.facts->broken_by(names) ? std::optional(std::move(names)) : std::nullopt;
}

bool instantiate(Plan& plan, const Names& names) {
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
    place_memory(plan, false);
    return true;
}

}  // namespace heddle::plan
