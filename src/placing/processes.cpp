#include "placing/processes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "placing/buckets.h"

namespace heddle::placing {
namespace {

// The devices of one process; by the whole system's numbers what they are here.
struct OwnSystem {
    std::shared_ptr<System> system = std::make_shared<System>();
    std::map<DeviceId, DeviceId> devices;
    std::map<MemoryId, MemoryId> memories;
};

OwnSystem system_of_process(const System& whole, int32_t process) {
    OwnSystem own;
    own.system->name = whole.name;
    for (size_t m = 0; m < whole.memories.size(); m++) {
        if (whole.memories[m].process != process) continue;
        own.memories[MemoryId(m)] = MemoryId(own.system->memories.size());
        own.system->memories.push_back(whole.memories[m]);
    }
    for (size_t d = 0; d < whole.devices.size(); d++) {
        if (whole.devices[d].process != process) continue;
        own.devices[DeviceId(d)] = DeviceId(own.system->devices.size());
        own.system->devices.push_back(whole.devices[d]);
    }
    for (Device& device : own.system->devices) {
        if (device.host != no_id) device.host = own.devices.at(device.host);
        for (MemoryId& memory : device.memories) memory = own.memories.at(memory);
    }
    for (const Link& link : whole.links) {
        if (own.memories.contains(link.from) && own.memories.contains(link.to))
            own.system->links.push_back(
                {own.memories.at(link.from), own.memories.at(link.to), link.bandwidth, link.latency});
    }
    const auto host =
        std::ranges::find_if(own.system->devices, [](const Device& device) { return runs_host_code(*device.target); });
    if (host != own.system->devices.end()) own.system->host = DeviceId(host - own.system->devices.begin());
    return own;
}

class ByProcess {
public:
    ByProcess(const Function& mixed, const System& system) : mixed_(mixed), system_(system) {
        int32_t count = 0;
        for (const Device& device : system.devices) count = std::max(count, device.process + 1);
        for (int32_t p = 0; p < count; p++) own_.push_back(system_of_process(system, p));
        functions_.resize(own_.size());
        for (Function& function : functions_) {
            function.name = mixed.name;
            function.entry = true;
        }
        find_messages();
    }

    Processes split(const std::shared_ptr<const Target>& target) {
        for (size_t s = 0; s < mixed_.steps.size(); s++) add_step(s);
        for (ValueId v : mixed_.parameters) function_of(v).parameters.push_back(value(process_of(v), v));
        for (ValueId v : mixed_.results) {
            receive_for(process_of(v), v);
            function_of(v).results.push_back(value(process_of(v), v));
        }
        Processes made;
        for (size_t p = 0; p < own_.size(); p++) {
            Module& module = made.modules.emplace_back(Module{own_[p].system, target, {}});
            module.add_function(std::move(functions_[p]));
        }
        for (const auto& [key, message] : messages_) made.messages.push_back(message.text);
        return made;
    }

private:
    // By the step that makes the values, the number among its messages to that process, and the process that reads them.
    using Key = std::tuple<size_t, size_t, int32_t>;
    struct Pending {
        Message text;
        std::vector<ValueId> sent, received;  // of the mixed function
        bool arrived = false;
    };

    int32_t process_of(ValueId v) const { return system_.memory(mixed_.value(v).memory).process; }
    Function& function_of(ValueId v) { return functions_[static_cast<size_t>(process_of(v))]; }
    bool crosses(const Step& step) const {
        return step.kind == Step::Kind::copy && process_of(step.inputs[0]) != process_of(step.outputs[0]);
    }

    void find_messages() {
        std::map<ValueId, size_t> made;
        std::map<std::pair<size_t, int32_t>, std::vector<const Step*>> crossing;  // by the step that makes the values
        for (size_t s = 0; s < mixed_.steps.size(); s++) {
            const Step& step = mixed_.steps[s];
            for (ValueId v : step.outputs) made[v] = s;
            if (crosses(step)) crossing[{made.at(step.inputs[0]), process_of(step.outputs[0])}].push_back(&step);
        }
        for (const auto& [key, copies] : crossing) add_messages(key.first, copies);
    }

    // Of what one step makes for one process.
    void add_messages(size_t made, const std::vector<const Step*>& copies) {
        const int32_t from = process_of(copies[0]->inputs[0]), to = process_of(copies[0]->outputs[0]);
        const std::vector<size_t> buckets = copies.size() > 1 ? buckets_of_step(made, copies) : std::vector<size_t>(1);
        for (size_t c = 0; c < copies.size(); c++) {
            const ValueId sent = copies[c]->inputs[0], received = copies[c]->outputs[0];
            const Key key{made, buckets[c], to};
            Pending& message = messages_[key];
            message.text.from = from;
            message.text.to = to;
            message.text.values.push_back(mixed_.value(sent).name);
            message.text.bytes += mixed_.value(sent).type.byte_size();
            message.sent.push_back(sent);
            message.received.push_back(received);
            brings_[received] = key;
        }
    }

    std::vector<size_t> buckets_of_step(size_t made, const std::vector<const Step*>& copies) {
        const Step& step = mixed_.steps[made];
        if (step.kind != Step::Kind::compute) return std::vector<size_t>(copies.size());
        auto [known, fresh] = ready_.try_emplace(made);
        if (fresh) {
            const auto seconds = seconds_to_outputs(*step.graph, *system_.device(step.device).target);
            for (size_t i = 0; i < seconds.size(); i++) known->second[step.outputs[i]] = seconds[i];
        }
        std::vector<Leaving> leaving;
        for (const Step* copy : copies)
            leaving.push_back({known->second.at(copy->inputs[0]), mixed_.value(copy->inputs[0]).type.byte_size()});
        const double latency = seconds_between(*copies[0], 0);
        constexpr int64_t many = int64_t{1} << 30;
        return buckets_of(leaving, latency, many / (seconds_between(*copies[0], many) - latency));
    }

    double seconds_between(const Step& copy, int64_t bytes) const {
        return system_.route(mixed_.value(copy.inputs[0]).memory, mixed_.value(copy.outputs[0]).memory, bytes).seconds;
    }

    ValueId value(int32_t process, ValueId v) {
        auto [known, fresh] = values_.try_emplace({process, v});
        if (fresh) {
            Function& function = functions_[static_cast<size_t>(process)];
            const Value& from = mixed_.value(v);
            known->second =
                function.add_value(from.name, from.type, own_[static_cast<size_t>(process)].memories.at(from.memory));
            function.values[known->second].constant = from.constant;
        }
        return known->second;
    }

    std::vector<ValueId> values(int32_t process, const std::vector<ValueId>& list) {
        std::vector<ValueId> own;
        for (ValueId v : list) own.push_back(value(process, v));
        return own;
    }

    // The message that brings the value, if none did, and before it those that were sent before it.
    void receive_for(int32_t process, ValueId v) {
        const auto brings = brings_.find(v);
        if (brings == brings_.end()) return;
        const int32_t from = messages_.at(brings->second).text.from;
        for (auto& [key, message] : messages_) {
            if (key > brings->second) break;
            if (message.text.from != from || message.text.to != process || message.arrived) continue;
            message.arrived = true;
            functions_[static_cast<size_t>(process)].steps.push_back({.kind = Step::Kind::receive,
                                                                      .inputs = {},
                                                                      .outputs = values(process, message.received),
                                                                      .process = from});
        }
    }

    void add_step(size_t s) {
        const Step& step = mixed_.steps[s];
        if (crosses(step)) return;
        const int32_t process =
            step.device != no_id ? system_.device(step.device).process : process_of(step.outputs.front());
        for (ValueId v : step.inputs) receive_for(process, v);
        Step own = step;
        if (step.device != no_id) own.device = own_[static_cast<size_t>(process)].devices.at(step.device);
        own.inputs = values(process, step.inputs);
        own.outputs = values(process, step.outputs);
        for (MemoryId& memory : own.route) memory = own_[static_cast<size_t>(process)].memories.at(memory);
        functions_[static_cast<size_t>(process)].steps.push_back(std::move(own));
        for (auto message = messages_.lower_bound({s, 0, 0});
             message != messages_.end() && std::get<0>(message->first) == s; ++message)
            functions_[static_cast<size_t>(process)].steps.push_back({.kind = Step::Kind::send,
                                                                      .inputs = values(process, message->second.sent),
                                                                      .outputs = {},
                                                                      .process = message->second.text.to});
    }

    const Function& mixed_;
    const System& system_;
    std::vector<OwnSystem> own_;
    std::vector<Function> functions_;
    std::map<Key, Pending> messages_;
    std::map<ValueId, Key> brings_;
    std::map<size_t, std::map<ValueId, double>> ready_;  // by step: seconds until its values are complete
    std::map<std::pair<int32_t, ValueId>, ValueId> values_;
};

}  // namespace

Processes by_process(const Function& mixed, const System& system, std::shared_ptr<const Target> target) {
    return ByProcess(mixed, system).split(target);
}

}  // namespace heddle::placing
