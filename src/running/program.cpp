#include "running/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "running/messages.h"
#include "runtime/executable.h"

namespace heddle::running {

using placing::DeviceId;
using placing::Function;
using placing::FunctionId;
using placing::MemoryId;
using placing::Step;
using placing::ValueId;

namespace {

// The memory of a function's only device, or of all its values.
MemoryId only_memory(const placing::Module& module, const Function& entry) {
    MemoryId only = no_id;
    for (const placing::Value& value : entry.values) {
        if (value.memory == no_id || (only != no_id && value.memory != only)) return no_id;
        only = value.memory;
    }
    const bool launches = std::ranges::any_of(entry.steps, [&](const Step& step) {
        return step.kind == Step::Kind::call && module.function(step.callee).side == Function::Side::device;
    });
    return launches ? MemoryId() : only;
}

}  // namespace

Result<std::shared_ptr<Program>> Program::load(placing::Module module, const Inventory& inventory,
                                               const std::vector<int64_t>& needed) {
    auto program = std::make_shared<Program>();
    const auto entry = std::ranges::find(module.functions, true, &Function::entry);
    if (entry == module.functions.end()) {
        return fail({.code = "running.no_entry",
                     .summary = "the program has functions of devices alone, and nothing here launches them",
                     .remedy = "give the target a host"});
    }
    program->entry_ = FunctionId(entry - module.functions.begin());
    auto binding = bind_devices(*module.system, inventory, needed);
    if (!binding) return fail(std::move(binding.error()));
    program->module_ = std::move(module);
    for (const placing::Memory& memory : program->system().memories)
        program->memories_.push_back(std::make_shared<ScopeMemory>(memory.bytes));
    program->only_ = only_memory(program->module_, program->entry());
    program->find_last_uses();
    if (auto done = program->compile(inventory, *binding); !done) return fail(std::move(done.error()));
    return program;
}

// What of a step is made of its graph.
struct Program::Compiled {
    std::shared_ptr<const CompiledFunction> function;
    std::optional<ExchangeTimes> times = {};  // of one with exchanges
};

namespace {

// A step's exchanges by the numbers of its inputs and outputs. What it only hands on is none of the graph's.
std::vector<plan::Exchange> numbered(const Step& step) {
    std::vector<plan::Exchange> list;
    for (const placing::Exchange& exchange : step.exchanges) {
        const auto& values = exchange.comes ? step.inputs : step.outputs;
        plan::Exchange& own = list.emplace_back(plan::Exchange{.comes = exchange.comes, .tensors = {}});
        for (ValueId v : exchange.values) {
            const auto found = std::ranges::find(values, v);
            if (found != values.end()) own.tensors.push_back(static_cast<int32_t>(found - values.begin()));
        }
    }
    return list;
}

}  // namespace

Result<void> Program::compile(const Inventory& inventory, const Binding& binding) {
    for (size_t f = 0; f < module_.functions.size(); f++) {
        const Function& function = module_.functions[f];
        std::shared_ptr<Driver> driver;
        if (function.target && !function.target->library.empty()) {
            const auto library = find_library(*function.target, inventory);
            if (!library) return fail(library.error());
            driver = inventory.libraries[*library].driver;
        } else if (function.device != no_id) {
            driver = inventory.devices[binding.devices[function.device]].driver;
        }
        // What an entry computes itself, it computes for its host, whatever encloses that.
        const bool of_device = function.target && function.target->level() == TargetLevel::device;
        const Target& target = of_device ? *function.target : *system().device(function.device).target;
        for (size_t s = 0; s < function.steps.size(); s++) {
            if (function.steps[s].kind != Step::Kind::compute) continue;
            const Step& step = function.steps[s];
            auto made = driver->compile(*step.graph, target, numbered(step));
            if (!made) return fail(std::move(made.error()));
            auto compiled = std::make_shared<Compiled>(std::move(*made));
            if (!step.exchanges.empty()) compiled->times.emplace(*compiled->function->plan(), step, last_read_[f][s]);
            compiled_[{FunctionId(f), s}] = std::move(compiled);
        }
    }
    return {};
}

const plan::Plan* Program::plan(FunctionId function, size_t step) const {
    const auto found = compiled_.find({function, step});
    return found == compiled_.end() ? nullptr : found->second->function->plan();
}

Result<TensorData> Program::allocate(const TensorType& type, MemoryId memory) {
    auto bytes = memories_[memory]->allocate(type.byte_size());
    if (bytes) return TensorData(type.dtype, type.extents(), std::move(bytes));
    const ScopeMemory& scope = *memories_[memory];
    return fail({.code = "running.out_of_memory",
                 .summary = fmt::format("{} has no room for {}", system().memory(memory).text(), type.text()),
                 .expected = fmt::format("{} bytes more", type.byte_size()),
                 .found = scope.bytes() > 0 ? fmt::format("{} of {} bytes in use", scope.used(), scope.bytes()) : "",
                 .remedy = "place less there, or use a device with more memory",
                 .params = {{"memory", system().memory(memory).text()}}});
}

Result<TensorData> Program::copied(const TensorData& data, MemoryId memory) {
    auto there = allocate({data.dtype(), {data.shape().begin(), data.shape().end()}}, memory);
    if (!there) return there;
    std::memcpy(there->mutable_data(), data.data(), static_cast<size_t>(data.byte_size()));
    return there;
}

Result<DeviceTensor> Program::put(const TensorData& data, MemoryId memory) {
    auto there = copied(data, memory);
    if (!there) return fail(std::move(there.error()));
    return DeviceTensor{std::move(*there), memory};
}

// `taken`: the memory that a program of one device takes from its arguments.
Result<void> Program::check_arguments(const std::vector<DeviceTensor>& arguments, MemoryId& taken) const {
    const Function& function = entry();
    std::vector<std::string> names;
    std::vector<TensorType> types;
    std::vector<TensorData> data;
    for (ValueId v : function.parameters) {
        names.push_back(function.value(v).name);
        types.push_back(function.value(v).type);
    }
    for (const DeviceTensor& argument : arguments) data.push_back(argument.data);
    if (auto fine = runtime::check_inputs(names, types, data); !fine) return fine;
    if (only_ != no_id && !arguments.empty()) taken = arguments.front().memory;
    const auto text = [&](MemoryId memory) {
        const bool known = memory >= 0 && static_cast<size_t>(memory.number()) < memories_.size();
        return known ? system().memory(memory).text() : std::string("no memory of the system");
    };
    Diagnostics problems;
    for (size_t i = 0; i < arguments.size(); i++) {
        const MemoryId own = function.value(function.parameters[i]).memory;
        const MemoryId wanted = taken != no_id && own == only_ ? taken : own;
        const bool known =
            arguments[i].memory >= 0 && static_cast<size_t>(arguments[i].memory.number()) < memories_.size();
        const bool kind = known && system().memory(arguments[i].memory).kind == system().memory(own).kind;
        if (kind && arguments[i].memory == wanted) continue;
        // Of tensors on two devices, the first one says where.
        problems.push_back({.code = "running.argument",
                            .summary = fmt::format("argument '{}' does not lie where the program takes it", names[i]),
                            .expected = taken != no_id && i > 0 ? text(wanted) + ", as '" + names[0] + "'" : text(own),
                            .found = text(arguments[i].memory),
                            .remedy = "copy it there first",
                            .params = {{"argument", names[i]}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

// By function and step: what no later step and no result needs; also what nothing reads.
void Program::find_last_uses() {
    for (const Function& function : module_.functions) {
        std::vector<int64_t> last(function.values.size(), -1);
        for (size_t s = 0; s < function.steps.size(); s++) {
            for (const auto* values : {&function.steps[s].inputs, &function.steps[s].outputs})
                for (ValueId v : *values) last[v] = static_cast<int64_t>(s);
            for (const placing::Exchange& exchange : function.steps[s].exchanges)
                for (ValueId v : exchange.values) last[v] = static_cast<int64_t>(s);
        }
        for (ValueId v : function.results) last[v] = -1;
        auto& own = last_read_.emplace_back(function.steps.size());
        for (size_t v = 0; v < last.size(); v++)
            if (last[v] >= 0) own[static_cast<size_t>(last[v])].emplace_back(v);
    }
}

Result<std::vector<DeviceTensor>> Program::run(const std::vector<DeviceTensor>& arguments, RunReport* report,
                                               transport::Transport* transport) {
    const bool counts = report && transport;
    const std::vector<transport::Sent> before = counts ? transport->sent() : std::vector<transport::Sent>();
    auto results = run_entry(arguments, report, transport);
    if (!results && transport) transport->fail(results.error());
    if (counts) {
        report->sent = transport->sent();
        for (size_t to = 0; to < before.size(); to++) {
            report->sent[to].messages -= before[to].messages;
            report->sent[to].bytes -= before[to].bytes;
        }
    }
    return results;
}

Result<std::vector<DeviceTensor>> Program::run_entry(const std::vector<DeviceTensor>& arguments, RunReport* report,
                                                     transport::Transport* transport) {
    MemoryId taken = no_id;
    if (auto fine = check_arguments(arguments, taken); !fine) return fail(std::move(fine.error()));
    Values values;
    for (const DeviceTensor& argument : arguments) values.push_back(argument.data);
    auto results = run_function(entry_, std::move(values), taken, report, transport);
    if (!results) return fail(std::move(results.error()));
    std::vector<DeviceTensor> list;
    for (size_t i = 0; i < results->size(); i++) {
        const MemoryId own = entry().value(entry().results[i]).memory;
        list.push_back({std::move((*results)[i]), taken != no_id ? taken : own});
    }
    return list;
}

// One call of a function: its values, as long as a later step needs them.
class Program::Frame {
public:
    Frame(Program& program, FunctionId id, MemoryId taken, RunReport* report, transport::Transport* transport)
        : program_(program),
          id_(id),
          function_(program.module_.function(id)),
          taken_(taken),
          report_(report),
          transport_(transport),
          values_{.data = Values(function_.values.size()),
                  .allocate = [this](ValueId v) { return program_.allocate(function_.value(v).type, memory_of(v)); }},
          messages_(values_, transport) {}

    Result<Values> run(Values arguments) {
        for (size_t v = 0; v < function_.values.size(); v++) {
            if (const auto& constant = function_.values[v].constant) values_[ValueId(v)] = *constant;
        }
        for (size_t i = 0; i < arguments.size(); i++) values_[function_.parameters[i]] = std::move(arguments[i]);
        for (size_t s = 0; s < function_.steps.size(); s++) {
            if (auto done = report_ ? reported_step(s) : step(s); !done) return fail(std::move(done.error()));
            for (ValueId v : program_.last_read_[id_][s]) values_[v] = TensorData();
        }
        if (auto done = messages_.finish(); !done) return fail(std::move(done.error()));
        Values results;
        for (ValueId v : function_.results) results.push_back(values_[v]);
        return results;
    }

private:
    Result<void> reported_step(size_t s) {
        const auto begin = std::chrono::steady_clock::now();
        const size_t line = report_->lines.size();
        count(s);
        report_->lines.push_back(line_of(function_.steps[s]));
        auto done = step(s);
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        report_->lines[line].seconds = time.count();
        return done;
    }

    // But for messages, which the transport counts.
    void count(size_t s) {
        const Step& step = function_.steps[s];
        if (step.kind == Step::Kind::call) report_->launches += is_launch(program_.module_.function(step.callee));
        if (step.kind == Step::Kind::copy) {
            report_->copies++;
            report_->copied_bytes += bytes_of(step.inputs);
        }
        if (step.kind != Step::Kind::compute) return;
        if (const plan::Plan* plan = program_.compiled_.at({id_, s})->function->plan())
            report_->kernel_launches += plan->launches() + plan->layout_launches();
    }

    int64_t bytes_of(const std::vector<ValueId>& values) const {
        int64_t bytes = 0;
        for (ValueId v : values) bytes += function_.value(v).type.byte_size();
        return bytes;
    }

    RunReport::Line line_of(const Step& step) const {
        switch (step.kind) {
        case Step::Kind::compute: return {"compute " + function_.name};
        case Step::Kind::call: {
            const Function& callee = program_.module_.function(step.callee);
            return {fmt::format("{} {}", is_launch(callee) ? "launch" : "call", callee.name)};
        }
        case Step::Kind::copy: {
            const std::string to = program_.system().memory(step.route.back()).text();
            return {fmt::format("copy {} to {}", function_.value(step.inputs[0]).name, to), 0, bytes_of(step.inputs)};
        }
        case Step::Kind::send: return {fmt::format("send to process {}", step.process), 0, bytes_of(step.inputs)};
        case Step::Kind::receive: return {fmt::format("receive from process {}", step.process)};
        }
        return {};
    }

    bool is_launch(const Function& callee) const {
        return function_.side == Function::Side::host && callee.side == Function::Side::device;
    }

    Result<void> step(size_t s) {
        const Step& step = function_.steps[s];
        switch (step.kind) {
        case Step::Kind::compute: return compute(s, step);
        case Step::Kind::call: return call(step);
        case Step::Kind::copy: return copy(step);
        case Step::Kind::send: return messages_.send(step.process, step.inputs);
        case Step::Kind::receive:
            if (auto placed = messages_.expect(step.process, step.outputs); !placed) return placed;
            return messages_.await(step.process);
        }
        return {};
    }

    Values inputs_of(const Step& step) const {
        Values inputs;
        for (ValueId v : step.inputs) inputs.push_back(values_[v]);
        return inputs;
    }

    // Of a value that says nothing, where its function's device has its tensors.
    MemoryId memory_of(ValueId v) const {
        if (taken_ != no_id) return taken_;
        const MemoryId own = function_.value(v).memory;
        return own != no_id ? own : program_.system().default_location(function_.device).memory;
    }

    Result<void> compute(size_t s, const Step& step) {
        const Compiled& compiled = *program_.compiled_.at({id_, s});
        if (compiled.times) return compute_exchanging(step, compiled);
        Values outputs;
        for (ValueId v : step.outputs) {
            if (auto made = values_.make(v); !made) return made;
            outputs.push_back(values_[v]);
        }
        auto done = compiled.function->run(inputs_of(step), outputs);
        for (size_t i = 0; i < outputs.size(); i++) values_[step.outputs[i]] = std::move(outputs[i]);
        return done;
    }

    Result<void> compute_exchanging(const Step& step, const Compiled& compiled) {
        ExchangingRun run(step, *compiled.times, values_, messages_, report_);
        if (auto begun = run.begin(); !begun) return begun;
        if (auto done = compiled.function->run(run.inputs(), run.outputs(), run); !done) return done;
        return run.end();
    }

    Result<void> call(const Step& step) {
        // Inside of it, values lie where the caller's do: they may be of another scope than the device's first.
        MemoryId memory = taken_;
        for (ValueId v : step.inputs) memory = memory == no_id ? memory_of(v) : memory;
        for (ValueId v : step.outputs) memory = memory == no_id ? memory_of(v) : memory;
        auto results = program_.run_function(step.callee, inputs_of(step), memory, report_, transport_);
        if (!results) return fail(std::move(results.error()));
        for (size_t i = 0; i < results->size(); i++) values_[step.outputs[i]] = std::move((*results)[i]);
        return {};
    }

    // From memory to memory, as far as the route goes.
    Result<void> copy(const Step& step) {
        TensorData data = values_[step.inputs[0]];
        for (size_t i = 1; i < step.route.size(); i++) {
            auto there = program_.copied(data, step.route[i]);
            if (!there) return fail(std::move(there.error()));
            data = std::move(*there);
        }
        values_[step.outputs[0]] = std::move(data);
        return {};
    }

    Program& program_;
    const FunctionId id_;
    const Function& function_;
    const MemoryId taken_;
    RunReport* const report_;                // null: nobody asks
    transport::Transport* const transport_;  // null: there is one process
    LiveValues values_;
    Messages messages_;
};

Result<Program::Values> Program::run_function(FunctionId function, Values arguments, MemoryId taken, RunReport* report,
                                              transport::Transport* transport) {
    Frame frame(*this, function, taken, report, transport);
    auto results = frame.run(std::move(arguments));
    if (!results && transport)
        transport->fail(results.error());  // while there is the memory that messages go from and to
    return results;
}

}  // namespace heddle::running
