#include "schedules/filling_stores.h"

#include <algorithm>
#include <map>
#include <optional>

namespace heddle::schedules {
namespace {

const KernelEquation& stored(const Kernel& kernel, EquationIndex index) {
    return kernel.equations[static_cast<size_t>(index)];
}

// How many elements further `b` stores than `a`, for the same point; nothing if that is no number.
std::optional<int64_t> apart(Arena& arena, const KernelEquation& a, const KernelEquation& b) {
    if (a.tensor != b.tensor || a.limits != b.limits) return std::nullopt;
    for (size_t d = 0; d + 1 < a.left.size(); d++) {
        if (a.left[d] != b.left[d]) return std::nullopt;
    }
    const Expr difference = arena.add(b.left.back(), a.left.back(), -1);
    const bool is_number = difference->kind == Kind::integer && !difference->integer.named();
    return is_number ? std::optional(difference->integer.number()) : std::nullopt;
}

}  // namespace

std::vector<std::vector<EquationIndex>> filling_stores(const Kernel& kernel, const PhaseGroup& group) {
    std::vector<std::vector<EquationIndex>> found;
    std::vector<EquationIndex> stores = group.reductions;
    stores.insert(stores.end(), group.after.begin(), group.after.end());
    if (stores.size() < 2 || group.lanes < 0) return found;
    for (EquationIndex first : stores) {
        const KernelEquation& e = stored(kernel, first);
        const KernelTensor& tensor = kernel.tensor(e.tensor);
        if (e.left.empty() || tensor.role == KernelTensor::Role::local) continue;
        if (tensor.dimensions.back().stride != 1) continue;
        const Size step = coefficient(e.left.back(), group.lanes);
        if (step < 2 || !is_interleaving(step)) continue;
        const int64_t gap = step.number();
        std::map<int64_t, EquationIndex> at;
        for (EquationIndex other : stores) {
            const auto place = apart(*kernel.arena, e, stored(kernel, other));
            if (place && *place >= 0 && *place < gap) at[*place] = other;
        }
        if (static_cast<int64_t>(at.size()) != gap) continue;
        std::vector<EquationIndex> filling;
        for (const auto& [place, index] : at) filling.push_back(index);
        found.push_back(std::move(filling));
    }
    return found;
}

}  // namespace heddle::schedules
