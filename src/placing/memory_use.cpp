#include "placing/memory_use.h"

#include <algorithm>
#include <map>

namespace heddle::placing {

std::vector<int64_t> peak_bytes(const Graph& graph, const System& system, const Placement& placement) {
    const auto operations = static_cast<int64_t>(graph.operations.size());
    struct Life {
        int64_t first = 0, last = -1;  // operations, both included
    };
    std::map<std::pair<TensorId, MemoryId>, Life> lives;
    std::vector<int64_t> made(graph.tensors.size(), -1);  // the first operation that writes to it
    for (int64_t o = operations; o-- > 0;) {
        for (TensorId t : graph.operations[static_cast<size_t>(o)].outputs) made[t] = o;
    }
    for (size_t i = 0; i < graph.tensors.size(); i++) {
        const TensorId t(i);
        const int64_t first = std::max<int64_t>(made[i], 0);
        lives[{t, placement.tensors[i]}] = {first, made[i] < 0 ? operations - 1 : first};
    }
    for (const Copy& copy : placement.copies) {
        const int64_t first = copy.at_load ? 0 : std::max<int64_t>(made[copy.tensor], 0);
        lives[{copy.tensor, copy.to}] = {first, copy.at_load ? operations - 1 : first};
        // Until it is copied it is there.
        Life& home = lives[{copy.tensor, placement.tensors[copy.tensor]}];
        home.last = std::max(home.last, first);
    }
    for (int64_t o = 0; o < operations; o++) {
        const MemoryId memory = placement.operations[static_cast<size_t>(o)].memory;
        for (TensorId t : graph.operations[static_cast<size_t>(o)].inputs) {
            Life& life = lives[{t, memory}];
            life.last = std::max(life.last, o);
        }
        for (TensorId t : graph.operations[static_cast<size_t>(o)].outputs) {
            Life& life = lives[{t, memory}];
            life.last = std::max(life.last, o);
        }
    }
    std::vector<bool> stays(graph.tensors.size(), false);
    for (TensorId t : graph.outputs) stays[t] = true;
    for (auto& [key, life] : lives) {
        if (stays[key.first]) life.last = operations - 1;
    }
    std::vector<std::vector<int64_t>> changes(system.memories.size(),
                                              std::vector<int64_t>(static_cast<size_t>(operations) + 1, 0));
    for (const auto& [key, life] : lives) {
        if (life.last < life.first) continue;
        const int64_t bytes = graph.tensor(key.first).type.byte_size();
        changes[key.second][static_cast<size_t>(life.first)] += bytes;
        changes[key.second][static_cast<size_t>(life.last) + 1] -= bytes;
    }
    std::vector<int64_t> peak(system.memories.size(), 0);
    for (size_t m = 0; m < peak.size(); m++) {
        int64_t now = 0;
        for (int64_t change : changes[m]) {
            now += change;
            peak[m] = std::max(peak[m], now);
        }
    }
    return peak;
}

}  // namespace heddle::placing
