// Random graphs, systems and annotations for placement. Operations are opaque: what matters is who reads what. Tests
// only.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "placing/placement.h"

namespace heddle::placing {

class RandomCase {
public:
    RandomCase(unsigned seed, int operations, int devices) : random_(seed) {
        make_system(devices);
        make_graph(operations);
    }

    Graph graph;
    System system;

    // So many of a hundred tensors and operations, in ways that do not contradict one another.
    Annotations annotate(int percent) {
        Annotations annotations;
        const auto locations = system.locations();
        std::map<int32_t, Location> of_unit;  // by the first operation that writes what is tied
        for (size_t t = 0; t < graph.tensors.size(); t++) {
            if (pick(100) >= percent) continue;
            const Location at = locations[static_cast<size_t>(pick(static_cast<int>(locations.size())))];
            const Wish wish{system.device(at.device).name, system.memory(at.memory).scope};
            const auto maker = first_maker(TensorId(t));
            if (maker >= 0) {
                const auto [known, fresh] = of_unit.emplace(tied_[static_cast<size_t>(maker)], at);
                if (!fresh) continue;
            }
            annotations.tensors.emplace(TensorId(t), wish);
        }
        return annotations;
    }

    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

private:
    double figure(double low, double high) { return low * std::pow(high / low, (random_() % 1000) / 1000.0); }

    void make_system(int devices) {
        Target machine;
        for (int d = 0; d < devices; d++) {
            auto target = std::make_shared<Target>();
            target->kind = d == 0 ? "cpu" : "cuda";
            target->bandwidth = figure(1e9, 1e12);
            target->launch_seconds = figure(1e-7, 1e-5);
            SystemDevice device{.name = "d" + std::to_string(d), .target = target, .id = d};
            device.scopes.push_back({"global", 0, target->bandwidth});
            if (pick(3) == 0) device.scopes.push_back({"texture", 0, figure(1e9, 1e11)});
            // Sometimes a second target of the device before, which has its memory.
            if (d > 1 && pick(4) == 0) device.id = d - 1;
            machine.devices.push_back(device);
            for (int other = 0; other < d; other++) {
                if (other > 0 && pick(2) == 0) continue;  // all are linked with the first
                machine.links.push_back({machine.devices[static_cast<size_t>(other)].name, device.name,
                                         figure(1e8, 1e11), figure(1e-7, 1e-4)});
            }
        }
        auto made = system_of(machine);
        ASSERT_TRUE(made) << render(made.error());
        system = std::move(*made);
    }

    TensorType type() { return {DType::float32, {int64_t{1} << pick(16)}}; }

    void make_graph(int operations) {
        for (int i = 0; i < 2; i++) {
            graph.inputs.push_back(graph.add_tensor("x" + std::to_string(i), type()));
            graph.add_constant("c" + std::to_string(i), TensorData(DType::float32, {4 << pick(8)}));
        }
        for (int o = 0; o < operations; o++) {
            Operation operation;
            operation.name = "o" + std::to_string(o);
            for (int i = pick(3) + (o == 0); i >= 0; i--)
                operation.inputs.push_back(TensorId(pick(static_cast<int>(graph.tensors.size()))));
            std::erase_if(operation.inputs, [&](TensorId t) { return t == open_; });
            // A second part of what the one before makes, or outputs of its own.
            tied_.push_back(o);
            if (open_ != no_id) {
                operation.outputs.push_back(open_);
                tied_.back() = tied_[static_cast<size_t>(o) - 1];
                open_ = no_id;
            } else {
                for (int i = pick(5) == 0 ? 2 : 1; i > 0; i--)
                    operation.outputs.push_back(graph.add_tensor("t" + std::to_string(graph.tensors.size()), type()));
                if (o + 1 < operations && pick(6) == 0) open_ = operation.outputs.front();
            }
            graph.add_operation(std::move(operation));
        }
        for (size_t t = 0; t < graph.tensors.size(); t++) {
            const bool made = first_maker(TensorId(t)) >= 0;
            const bool read = std::ranges::any_of(graph.operations, [&](const Operation& operation) {
                return std::ranges::find(operation.inputs, TensorId(t)) != operation.inputs.end();
            });
            if (made && (!read || pick(8) == 0)) graph.outputs.push_back(TensorId(t));
        }
    }

    int first_maker(TensorId t) const {
        for (size_t o = 0; o < graph.operations.size(); o++) {
            if (std::ranges::find(graph.operations[o].outputs, t) != graph.operations[o].outputs.end())
                return static_cast<int>(o);
        }
        return -1;
    }

    std::mt19937 random_;
    TensorId open_ = no_id;  // of which a part is still to be made
    std::vector<int> tied_;  // by operation: the first of those that run together
};

}  // namespace heddle::placing
