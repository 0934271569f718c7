#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "placing/module.h"

namespace heddle::placing {
namespace {

class Splitter {
public:
    explicit Splitter(const Module& source) : source_(source), system_(*source.system) {
        module_.system = source.system;
        module_.target = source.target;
    }

    Result<Module> split() {
        for (size_t f = 0; f < source_.functions.size(); f++) {
            if (source_.functions[f].entry) split_entry(source_.functions[f]);
        }
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(module_);
    }

private:
    // Host code with its launches, or, where the system has no host, what it would launch.
    void split_entry(const Function& source) {
        Function host = source;
        host.side = Function::Side::host;
        host.device = system_.host;
        if (!host.target)
            host.target = source_.target;
        else if (source_.target && !lies_within(*host.target, *source_.target))
            wrong_target(source);
        host.steps.clear();
        for (const Step& step : source.steps) {
            Step kept = step;
            const DeviceId device = step.device != no_id ? step.device : system_.host;
            if (step.kind == Step::Kind::call) {
                kept.callee = copy_for(step.callee, device);
            } else if (step.kind == Step::Kind::compute && device != system_.host) {
                kept.kind = Step::Kind::call;
                kept.graph = nullptr;
                kept.callee = outlined(source, step, device);
            }
            kept.device = no_id;
            if (kept.kind == Step::Kind::call && device != system_.host) {
                for (ValueId result : step.outputs) kept.extents.push_back(source.value(result).type.shape);
            }
            host.steps.push_back(std::move(kept));
        }
        if (system_.host != no_id) module_.add_function(std::move(host));
    }

    FunctionId outlined(const Function& source, const Step& step, DeviceId device) {
        Function function = function_of(fmt::format("{}@{}", source.name, system_.device(device).name), step.graph,
                                        system_.device(device).target);
        function.side = Function::Side::device;
        function.device = device;
        return module_.add_function(std::move(function));
    }

    // What is called there, made once for each device that calls it.
    FunctionId copy_for(FunctionId called, DeviceId device) {
        const auto known = copies_.find({called, device});
        if (known != copies_.end()) {
            if (known->second == no_id) {
                problems_.push_back(
                    {.code = "placing.recursion",
                     .summary = fmt::format("function '{}' calls itself", source_.function(called).name),
                     .remedy = "write it without recursion",
                     .params = {{"function", source_.function(called).name}}});
            }
            return known->second;
        }
        copies_[{called, device}] = no_id;
        const Function& source = source_.function(called);
        Function copy = source;
        const bool on_host = device == system_.host;
        copy.side = on_host ? Function::Side::host : Function::Side::device;
        copy.device = device;
        const auto enclosing = device == no_id ? source_.target : system_.device(device).target;
        if (!copy.target)
            copy.target = enclosing;
        else if (enclosing && !lies_within(*copy.target, *enclosing))
            wrong_target(source);
        if (!on_host && device != no_id) copy.name = fmt::format("{}@{}", source.name, system_.device(device).name);
        for (Step& step : copy.steps) {
            if (step.kind == Step::Kind::call) step.callee = copy_for(step.callee, device);
            step.device = no_id;
        }
        const FunctionId id = module_.add_function(std::move(copy));
        copies_[{called, device}] = id;
        return id;
    }

    void wrong_target(const Function& function) {
        problems_.push_back({.code = "placing.target",
                             .summary = fmt::format("function '{}' is called where its target is not", function.name),
                             .reason = "a callee's target lies within its caller's",
                             .remedy = "call it from code of its own device, or give it no target",
                             .params = {{"function", function.name}}});
    }

    const Module& source_;
    const System& system_;
    Module module_;
    Diagnostics problems_;
    std::map<std::pair<FunctionId, DeviceId>, FunctionId> copies_;
};

}  // namespace

Result<Module> split(const Module& source) { return Splitter(source).split(); }

}  // namespace heddle::placing
