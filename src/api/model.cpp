#include "api/model.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/tensors.h"
#include "inference/engine.h"
#include "inference/program_cache.h"
#include "support/guarded.h"

namespace heddle::api {

Model::Model(std::shared_ptr<Runtime> runtime, Operators operators)
    : runtime_(std::move(runtime)), operators_(std::move(operators)), programs_(runtime_->shared_engine()) {}

Result<std::shared_ptr<Model>> Model::with_initializers(const std::set<std::string>& names) const {
    std::vector<std::string> known;
    for (size_t i = 0; i < initializers_.size(); i++) known.push_back(initializers_.name(i));
    const std::string name = names.empty() ? std::string() : *names.begin();
    const std::string near = nearest_name(name, known);
    return fail({.code = "api.argument",
                 .summary = fmt::format("the model has no input '{}' with an initializer", name),
                 .expected = fmt::format("{}", fmt::join(known, ", ")),
                 .remedy = near.empty() ? "" : fmt::format("did you mean '{}'?", near),
                 .params = {{"input", name}}});
}

// Inputs as they are given: one of the model's each, without a type where nothing reads it.
struct Model::Wanted {
    std::vector<TensorData> inputs;
    std::string types;  // for the key

    const TensorData* value(const Ports& ports, const std::string& name) const {
        for (size_t i = 0; i < inputs.size(); i++) {
            if (ports.name(i) == name && ports.is_read(i)) return inputs[i].data() ? &inputs[i] : nullptr;
        }
        return nullptr;
    }
};

Result<void> Model::check_places() const {
    if (!runtime_->engine().places) return {};
    return fail({.code = "api.places",
                 .summary = "an executable is asked for, and models of this runtime run over several places",
                 .remedy = "call heddle_model_run, or make a runtime without heddle_runtime_shard"});
}

Result<void> Model::check_count(size_t inputs) const {
    if (inputs == inputs_.size()) return {};
    return fail({.code = "api.count",
                 .summary = "the number of inputs is wrong",
                 .expected = std::to_string(inputs_.size()),
                 .found = std::to_string(inputs)});
}

Result<Model::Wanted> Model::wanted(std::span<const heddle_tensor> inputs) const {
    if (auto fine = check_count(inputs.size()); !fine) return fail(std::move(fine.error()));
    Wanted wanted;
    Diagnostics problems;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!inputs_.is_read(i)) {
            wanted.inputs.emplace_back();
            continue;
        }
        auto tensor = borrow(inputs[i], Role::input, inputs_.name(i), false);
        if (!tensor) {
            problems.insert(problems.end(), tensor.error().begin(), tensor.error().end());
            continue;
        }
        wanted.types +=
            fmt::format("{}: {}[{}]; ", inputs_.name(i), name(tensor->dtype()), fmt::join(tensor->shape(), ", "));
        wanted.inputs.push_back(std::move(*tensor));
    }
    if (!problems.empty()) return fail(std::move(problems));
    return wanted;
}

namespace {

bool fits(const Executable& executable, const std::vector<TensorData>& inputs) {
    const plan::Plan& plan = executable.program().plan();
    for (size_t i = 0; i < plan.input_types.size(); i++) {
        const TensorData& input = inputs[executable.places()[i]];
        const TensorType& type = plan.input_types[i];
        if (type.dtype != input.dtype() || type.extents() != input.shape()) return false;
        const auto decided = plan.decided.find(static_cast<int32_t>(i));
        if (decided != plan.decided.end() && (!input.data() || !inference::same_value(decided->second, input))) return false;
    }
    return true;
}

}  // namespace

std::shared_ptr<Executable> Model::known(const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(executables_, [&](const auto& one) { return fits(*one, wanted.inputs); });
    if (found == executables_.end()) return nullptr;
    executables_.splice(executables_.begin(), executables_, found);
    return executables_.front();
}

// Those asked for last stay; each is counted with what it adds to those before it.
void Model::keep(std::shared_ptr<Executable> executable) {
    const std::lock_guard lock(mutex_);
    executables_.push_front(std::move(executable));
    runtime::MemoryInUse counted = executables_.front()->program().memory();
    int64_t bytes = 0;
    for (auto one = std::next(executables_.begin()); one != executables_.end(); ++one) {
        for (const auto& [begin, size] : (*one)->program().memory()) {
            if (counted.emplace(begin, size).second) bytes += size;
        }
        if (bytes <= inference::default_program_bytes) continue;
        executables_.erase(one, executables_.end());
        return;
    }
}

Result<inference::KeptProgram> Model::compiled(const Wanted& wanted, Progress* progress) {
    auto specialised = guarded("inference.broken", [&] { return specialise(wanted.inputs, progress); });
    if (!specialised) return fail(std::move(specialised.error()));
    auto executable = inference::compile(specialised->graph, runtime_->engine(), {.progress = progress});
    if (!executable) return fail(std::move(executable.error()));
    runtime_->note((*executable)->plan().notes);
    return inference::KeptProgram{std::move(*executable), std::move(specialised->input_names),
                                  std::move(specialised->output_names)};
}

Result<std::shared_ptr<Executable>> Model::make(const Wanted& wanted, Progress* progress) {
    if (auto going_on = begin_stage(progress, Stage::load, 1); !going_on) return fail(std::move(going_on.error()));
    inference::ProgramSource source;
    if (!source_.key.empty())
        source = {fmt::format("{}\n{}", source_.key, wanted.types), fmt::format("{} {}", source_.label, wanted.types)};
    const auto value_of = [&](size_t, const std::string& name) { return wanted.value(inputs_, name); };
    inference::Engine& engine = runtime_->engine();
    auto kept = inference::find_program(source, value_of, engine);
    if (auto going_on = step_done(progress); !going_on) return fail(std::move(going_on.error()));
    std::vector<runtime::Block> blocks;
    Result<inference::KeptProgram> program = kept ? std::move(*kept) : compiled(wanted, progress);
    if (progress) progress->finish();
    if (!program) return fail(std::move(program.error()));
    if (!kept) blocks = inference::keep_program(source, value_of, *program, engine);
    return std::make_shared<Executable>(runtime_, program->executable->to_run(std::move(blocks)), program->input_names,
                                        program->output_names, inputs_);
}

Result<std::shared_ptr<Executable>> Model::compile(std::span<const heddle_tensor> inputs, Progress* progress) {
    if (auto fine = check_places(); !fine) return fail(std::move(fine.error()));
    auto wanted = this->wanted(inputs);
    if (!wanted) return fail(std::move(wanted.error()));
    if (auto found = known(*wanted)) return found;
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(runtime_->engine().running, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    if (auto found = known(*wanted)) return found;  // another thread has made it meanwhile
    auto executable = make(*wanted, progress);
    if (executable) keep(*executable);
    return executable;
}

Result<std::vector<inference::Value>> Model::run_programs(const std::vector<inference::Value>& inputs, bool grow,
                                                          Progress* progress) {
    const auto graph_for = [&](const std::vector<TensorData>& given, Progress* told) -> Result<Graph> {
        auto specialised = specialise(given, told);
        if (!specialised) return fail(std::move(specialised.error()));
        return std::move(specialised->graph);
    };
    return programs_.run(inputs, grow, graph_for, progress);
}

Result<std::vector<heddle_managed_tensor*>> Model::run(std::span<const heddle_tensor> inputs, size_t outputs,
                                                       Progress* progress) {
    if (auto fine = check_count(inputs.size()); !fine) return fail(std::move(fine.error()));
    const bool grow = grows_;
    std::vector<inference::Value> read;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (!inputs_.is_read(i)) continue;
        if (auto growing = grow ? growing_of(inputs[i]) : std::nullopt) {
            read.push_back(inference::Value::of_growing(std::move(*growing)));
            continue;
        }
        auto tensor = borrow(inputs[i], Role::input, inputs_.name(i), true);
        if (!tensor) return fail(std::move(tensor.error()));
        read.push_back(inference::Value::of(std::move(*tensor)));
    }
    auto results = run_programs(read, grow, progress);
    runtime_->note(programs_.take_notes());
    if (!results) return fail(std::move(results.error()));
    if (results->size() != outputs)
        return fail({.code = "api.count",
                     .summary = "the number of outputs is wrong",
                     .expected = std::to_string(results->size()),
                     .found = std::to_string(outputs)});
    for (size_t i = 0; i < outputs; i++) {
        if (!(*results)[i].tensor && !(*results)[i].growing)
            return fail({.code = "api.list",
                         .summary = fmt::format("output {} is a list of tensors, or an optional that is not there", i),
                         .expected = "a tensor"});
    }
    std::vector<heddle_managed_tensor*> lent;
    for (inference::Value& value : *results)
        lent.push_back(value.growing ? lend(std::move(*value.growing)) : lend(std::move(*value.tensor)));
    return lent;
}

}  // namespace heddle::api
