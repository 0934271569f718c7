// Shares no code with what places: it goes over the edges of the graph, one by one.
#include <map>
#include <set>

#include <fmt/format.h>

#include "placing/placement.h"

namespace heddle::placing {
namespace {

using Key = std::pair<int32_t, int32_t>;  // a tensor and a memory

class PlacementVerifier {
public:
    PlacementVerifier(const Graph& graph, const System& system, const Annotations& annotations,
                      const Placement& placement)
        : graph_(graph), system_(system), annotations_(annotations), placement_(placement) {}

    Result<void> verify() {
        if (!has_all_parts()) return fail(std::move(problems_));
        check_locations();
        check_annotations();
        check_makers();
        check_copies();
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    void wrong(std::string summary) {
        problems_.push_back({.code = "placing.broken",
                             .summary = std::move(summary),
                             .remedy = "report it: it is a mistake of the compiler"});
    }

    bool has_all_parts() {
        if (placement_.operations.size() != graph_.operations.size()) wrong("not each operation has a location");
        if (placement_.tensors.size() != graph_.tensors.size()) wrong("not each tensor has a memory");
        const auto memories = static_cast<int32_t>(system_.memories.size());
        const auto is_memory = [&](MemoryId m) { return m >= 0 && m < memories; };
        if (!is_memory(placement_.caller)) wrong("the caller has no memory");
        for (MemoryId m : placement_.tensors) {
            if (!is_memory(m)) wrong("a tensor lies nowhere");
        }
        for (const Copy& copy : placement_.copies) {
            if (!is_memory(copy.to) || copy.tensor < 0 || copy.tensor >= static_cast<int32_t>(graph_.tensors.size()))
                wrong("a copy is of nothing, or goes nowhere");
        }
        return problems_.empty();
    }

    void check_locations() {
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            const Location& at = placement_.operations[o];
            bool known = false;
            if (at.device >= 0 && at.device < static_cast<int32_t>(system_.devices.size())) {
                for (MemoryId m : system_.device(at.device).memories) known = known || m == at.memory;
            }
            if (!known) wrong(fmt::format("'{}' runs at no location of the system", graph_.operations[o].name));
        }
    }

    bool obeys(const Wish& wish, DeviceId device, MemoryId memory) const {
        if (!wish.device.empty() && (device < 0 || system_.device(device).name != wish.device)) return false;
        if (!wish.scope.empty()) return system_.memory(memory).scope == wish.scope;
        return device < 0 || system_.device(device).memories.front() == memory;
    }

    void check_annotations() {
        for (const auto& [o, wish] : annotations_.operations) {
            const Location& at = placement_.operations[o];
            if (!obeys(wish, at.device, at.memory))
                wrong(fmt::format("operation '{}' is not on {}", graph_.operation(o).name, wish.text()));
        }
        for (const auto& [t, wish] : annotations_.tensors) {
            const MemoryId memory = placement_.tensors[t];
            bool fine = wish.device.empty() && system_.memory(memory).scope == wish.scope;
            for (const Device& device : system_.devices) {
                if (device.name != wish.device) continue;
                for (MemoryId m : device.memories) {
                    const bool named =
                        wish.scope.empty() ? m == device.memories.front() : system_.memory(m).scope == wish.scope;
                    fine = fine || (named && m == memory);
                }
            }
            if (!fine) wrong(fmt::format("tensor '{}' is not on {}", graph_.tensor(t).name, wish.text()));
        }
    }

    void check_makers() {
        std::map<int32_t, Location> made_at;
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            for (TensorId t : graph_.operations[o].outputs) {
                const auto [known, first] = made_at.emplace(t.number(), placement_.operations[o]);
                if (!first && known->second != placement_.operations[o])
                    wrong(fmt::format("parts of '{}' are made at two locations", graph_.tensor(t).name));
                if (placement_.tensors[t] != placement_.operations[o].memory)
                    wrong(fmt::format("'{}' does not lie where it is made", graph_.tensor(t).name));
            }
        }
        for (TensorId t : graph_.inputs) {
            const bool at_caller = placement_.tensors[t] == placement_.caller;
            if (!at_caller && !annotations_.tensors.contains(t))
                wrong(fmt::format("input '{}' does not come from the caller", graph_.tensor(t).name));
        }
    }

    void check_copies() {
        std::set<Key> crossed;
        const auto read = [&](TensorId t, MemoryId memory) {
            if (placement_.tensors[t] != memory) crossed.insert({t.number(), memory.number()});
        };
        for (size_t o = 0; o < graph_.operations.size(); o++) {
            for (TensorId t : graph_.operations[o].inputs) read(t, placement_.operations[o].memory);
        }
        for (TensorId t : graph_.outputs) {
            if (!annotations_.tensors.contains(t)) read(t, placement_.caller);
        }
        std::map<Key, int> copied;
        for (const Copy& copy : placement_.copies) {
            copied[{copy.tensor.number(), copy.to.number()}]++;
            check_route(copy);
        }
        const auto text = [&](const Key& key) {
            return fmt::format("'{}' to {}", graph_.tensors[static_cast<size_t>(key.first)].name,
                               system_.memories[static_cast<size_t>(key.second)].text());
        };
        for (const Key& key : crossed) {
            if (!copied.contains(key)) wrong("no copy of " + text(key) + ", where it is read");
        }
        for (const auto& [key, times] : copied) {
            if (times > 1) wrong("more than one copy of " + text(key));
            if (!crossed.contains(key)) wrong("a copy of " + text(key) + ", where nothing reads it");
        }
    }

    void check_route(const Copy& copy) {
        const auto& way = copy.route.memories;
        bool fine = way.size() >= 2 && way.front() == placement_.tensors[copy.tensor] && way.back() == copy.to;
        for (size_t i = 0; fine && i + 1 < way.size(); i++) {
            bool linked = false;
            for (const Link& link : system_.links) linked = linked || (link.from == way[i] && link.to == way[i + 1]);
            fine = linked;
        }
        if (!fine) wrong(fmt::format("a copy of '{}' goes where no link is", graph_.tensor(copy.tensor).name));
        const Tensor& tensor = graph_.tensor(copy.tensor);
        bool is_input = false;
        for (TensorId t : graph_.inputs) is_input = is_input || t == copy.tensor;
        const bool constant = tensor.constant && tensor.producer < 0 && !is_input;
        if (copy.at_load != constant) wrong(fmt::format("'{}' is copied at the wrong time", tensor.name));
    }

    const Graph& graph_;
    const System& system_;
    const Annotations& annotations_;
    const Placement& placement_;
    Diagnostics problems_;
};

}  // namespace

Result<void> verify(const Graph& graph, const System& system, const Annotations& annotations,
                    const Placement& placement) {
    return PlacementVerifier(graph, system, annotations, placement).verify();
}

}  // namespace heddle::placing
