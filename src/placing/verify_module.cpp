#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "placing/module.h"

namespace heddle::placing {
namespace {

class ModuleVerifier {
public:
    explicit ModuleVerifier(const Module& module) : module_(module) {}

    Result<void> verify() {
        if (!module_.system) return fail(problem("a module has no system"));
        std::set<std::string> names;
        for (const Function& function : module_.functions) {
            if (!names.insert(function.name).second) wrong(function, "another function has this name");
            if (!has_known_ids(function)) return fail(std::move(problems_));
        }
        for (const Function& function : module_.functions) {
            check_values(function);
            const bool of_host = function.side == Function::Side::host;
            if (function.side != Function::Side::source && of_host != (function.device == module_.system->host))
                wrong(function, "it is of another side than its device");
            for (const Step& step : function.steps) check_step(function, step);
        }
        check_recursion();
        if (!problems_.empty()) return fail(std::move(problems_));
        return {};
    }

private:
    static Diagnostic problem(std::string summary) {
        return {.code = "placing.broken",
                .summary = std::move(summary),
                .remedy = "report it: it is a mistake of the compiler"};
    }
    void wrong(const Function& function, const std::string& what) {
        problems_.push_back(problem(fmt::format("in '{}': {}", function.name, what)));
    }

    template <typename Id>
    static bool known(Id id, size_t count) {
        return id >= 0 && static_cast<size_t>(id.number()) < count;
    }

    bool has_known_ids(const Function& function) {
        const size_t before = problems_.size();
        const auto& system = *module_.system;
        const auto check = [&](const std::vector<ValueId>& values) {
            for (ValueId v : values) {
                if (!known(v, function.values.size())) wrong(function, "a value that is not there");
            }
        };
        check(function.parameters);
        check(function.results);
        for (const Value& value : function.values) {
            if (value.memory != no_id && !known(value.memory, system.memories.size()))
                wrong(function, "no such memory");
        }
        if (function.device != no_id && !known(function.device, system.devices.size()))
            wrong(function, "no such device");
        for (const Step& step : function.steps) {
            check(step.inputs);
            check(step.outputs);
            for (const Exchange& exchange : step.exchanges) check(exchange.values);
            if (step.device != no_id && !known(step.device, system.devices.size())) wrong(function, "no such device");
            if (step.kind == Step::Kind::call && !known(step.callee, module_.functions.size()))
                wrong(function, "it calls what is not there");
            if (step.kind == Step::Kind::compute && !step.graph) wrong(function, "a step computes nothing");
            if (step.kind == Step::Kind::copy && (step.inputs.size() != 1 || step.outputs.size() != 1))
                wrong(function, "a copy of more or less than one value");
        }
        return problems_.size() == before;
    }

    // Each value comes once, and before it is used.
    void check_values(const Function& function) {
        std::vector<int> defined(function.values.size(), 0);
        const auto define = [&](ValueId v) {
            if (++defined[v] > 1) wrong(function, fmt::format("'{}' is made twice", function.value(v).name));
        };
        const auto use = [&](ValueId v) {
            if (!defined[v] && !function.value(v).constant)
                wrong(function, fmt::format("'{}' is used before it is made", function.value(v).name));
        };
        for (ValueId v : function.parameters) define(v);
        for (const Step& step : function.steps) {
            for (const Exchange& exchange : step.exchanges)
                if (exchange.comes) std::ranges::for_each(exchange.values, define);
            std::ranges::for_each(step.inputs, use);
            std::ranges::for_each(step.outputs, define);
            for (const Exchange& exchange : step.exchanges)
                if (!exchange.comes) std::ranges::for_each(exchange.values, use);
        }
        std::ranges::for_each(function.results, use);
    }

    void check_types(const Function& function, const std::vector<ValueId>& values,
                     const std::vector<TensorType>& types) {
        bool fine = values.size() == types.size();
        for (size_t i = 0; fine && i < values.size(); i++) {
            const TensorType& type = function.value(values[i]).type;
            fine = type.dtype == types[i].dtype && type.extents() == types[i].extents();
        }
        if (!fine) wrong(function, "a step has other values than it takes or gives");
    }

    void check_step(const Function& function, const Step& step) {
        switch (step.kind) {
        case Step::Kind::compute: check_compute(function, step); break;
        case Step::Kind::call: check_call(function, step); break;
        case Step::Kind::copy: check_copy(function, step); break;
        case Step::Kind::send:
        case Step::Kind::receive: check_message(function, step); break;
        }
    }

    void check_message(const Function& function, const Step& step) {
        const bool sends = step.kind == Step::Kind::send;
        if (!(sends ? step.outputs : step.inputs).empty()) wrong(function, "a message both ways");
        check_message(function, step.process, sends ? step.inputs : step.outputs);
    }

    void check_message(const Function& function, int32_t process, const std::vector<ValueId>& values) {
        if (process < 0 || values.empty()) wrong(function, "a message without a process or values");
        for (ValueId v : values)
            if (function.value(v).memory == no_id) wrong(function, "a message of a value without a memory");
    }

    void check_compute(const Function& function, const Step& step) {
        std::vector<TensorType> in, out;
        for (TensorId t : step.graph->inputs) in.push_back(step.graph->tensor(t).type);
        for (TensorId t : step.graph->outputs) out.push_back(step.graph->tensor(t).type);
        check_types(function, step.inputs, in);
        check_types(function, step.outputs, out);
        for (const Exchange& exchange : step.exchanges) check_message(function, exchange.process, exchange.values);
        if (function.side == Function::Side::source) {
            if (step.device != no_id) check_memories(function, step, step.device);
            return;
        }
        if (step.device != no_id) wrong(function, "a step of another device is left");
        if (function.device != no_id)
            check_memories(function, step, function.device);
        else if (function.side == Function::Side::host)
            wrong(function, "a host function computes, but has no device");
    }

    // All values of a step lie in one memory of its device.
    void check_memories(const Function& function, const Step& step, DeviceId device) {
        const auto& memories = module_.system->device(device).memories;
        MemoryId first = no_id;
        const auto check = [&](ValueId v) {
            const MemoryId memory = function.value(v).memory;
            if (memory == no_id) return;
            if (first == no_id) first = memory;
            if (memory != first || std::ranges::find(memories, memory) == memories.end())
                wrong(function, fmt::format("'{}' does not lie where it is used", function.value(v).name));
        };
        std::ranges::for_each(step.inputs, check);
        std::ranges::for_each(step.outputs, check);
    }

    void check_call(const Function& function, const Step& step) {
        const Function& callee = module_.function(step.callee);
        std::vector<TensorType> in, out;
        for (ValueId v : callee.parameters) in.push_back(callee.value(v).type);
        for (ValueId v : callee.results) out.push_back(callee.value(v).type);
        check_types(function, step.inputs, in);
        check_types(function, step.outputs, out);
        if (function.side == Function::Side::source) return;
        if (callee.side == Function::Side::source) wrong(function, "it calls a function that is of no side");
        const bool from_device = function.side == Function::Side::device;
        if (from_device && callee.side == Function::Side::host) wrong(function, "a device calls the host");
        if (from_device && callee.device != function.device) wrong(function, "a device calls another one");
        const bool launches = !from_device && callee.side == Function::Side::device;
        if (launches) {
            check_memories(function, step, callee.device);
            if (step.extents.size() != step.outputs.size()) wrong(function, "a launch has no extents");
        }
        if (!callee.target || !function.target) {
            wrong(function, fmt::format("it calls '{}', and one of them has no target", callee.name));
        } else if (!lies_within(*callee.target, *function.target)) {
            wrong(function, fmt::format("the target of '{}' does not lie within that of its caller", callee.name));
        }
    }

    void check_copy(const Function& function, const Step& step) {
        const Value &from = function.value(step.inputs[0]), &to = function.value(step.outputs[0]);
        if (from.type.dtype != to.type.dtype || from.type.extents() != to.type.extents())
            wrong(function, fmt::format("'{}' is copied to another type", from.name));
        if (from.memory == no_id || from.memory == to.memory)
            wrong(function, fmt::format("'{}' is copied to where it is", from.name));
        if (step.route.size() < 2 || step.route.front() != from.memory || step.route.back() != to.memory)
            wrong(function, fmt::format("'{}' is copied another way than it says", from.name));
        if (function.side == Function::Side::device) wrong(function, "a device function copies between memories");
    }

    void check_recursion() {
        std::vector<int> depth(module_.functions.size(), 0);
        for (size_t round = 0; round <= module_.functions.size(); round++) {
            bool deeper = false;
            for (size_t f = 0; f < module_.functions.size(); f++) {
                for (const Step& step : module_.functions[f].steps) {
                    if (step.kind != Step::Kind::call) continue;
                    int& below = depth[step.callee];
                    if (below >= depth[f] + 1) continue;
                    below = depth[f] + 1;
                    deeper = true;
                }
            }
            if (!deeper) return;
        }
        problems_.push_back(problem("functions call one another in a circle"));
    }

    const Module& module_;
    Diagnostics problems_;
};

}  // namespace

Result<void> verify(const Module& module) { return ModuleVerifier(module).verify(); }

}  // namespace heddle::placing
