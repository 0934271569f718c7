#include "inference/program_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "evaluate/failing_read.h"
#include "evaluate/work.h"
#include "inference/growing_run.h"
#include "support/guarded.h"
#include "support/inline_vector.h"
#include "support/progress.h"
#include "support/resident_memory.h"

namespace heddle::inference {
namespace {

// Before anything is compiled that no inputs would ever fit.
Result<void> check(const Graph& graph, const std::vector<TensorData>& inputs) {
    std::vector<std::string> names;
    std::vector<TensorType> types;
    for (TensorId input : graph.inputs) {
        names.push_back(graph.tensor(input).name);
        types.push_back(graph.tensor(input).type);
    }
    return runtime::check_inputs(names, types, inputs);
}

}  // namespace

bool same_value(const TensorData& a, const TensorData& b) {
    if (a.byte_size() != b.byte_size()) return false;
    return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0;
}

// Where inputs lie.
using Begins = InlineVector<const std::byte*, 8>;

struct ProgramCache::Wanted {
    const std::string& key;
    const std::vector<TensorData>& inputs;
    const std::map<std::string, int64_t>* names = nullptr;  // of a stage
    std::span<const Value* const> values = {};               // what inputs without memory are
    bool grow = false;

    // Row-major.
    TensorData input(size_t i) const {
        const bool is_whole = inputs[i].data() || values.empty() || values[i]->spread;
        return is_whole ? inputs[i] : *values[i]->row_major().tensor;
    }
    // What is spread, and tensors for all else.
    std::vector<Value> placed_inputs(const std::vector<TensorData>& tensors) const {
        std::vector<Value> all = values_of(tensors);
        for (size_t i = 0; i < values.size(); i++)
            if (values[i]->spread) all[i] = *values[i];
        return all;
    }
    const std::map<std::string, int64_t>& given_names() const {
        static const std::map<std::string, int64_t> none;
        return names ? *names : none;
    }
    plan::ChooseCapacity capacity(const plan::Plan& plan) const {
        if (plan.growths.empty()) return {};
        return [this, &plan](int64_t longest) { return capacity_for(longest, plan, values); };
    }
    std::vector<TensorData> all_inputs() const { return all_but({}); }
    // Of those that `growths` continue, what was given.
    std::vector<TensorData> all_but(const std::vector<plan::Growth>& growths) const {
        std::vector<TensorData> all;
        for (size_t i = 0; i < inputs.size(); i++) {
            const bool grows = std::ranges::find(growths, static_cast<int32_t>(i), &plan::Growth::input) != growths.end();
            all.push_back(grows ? inputs[i] : input(i));
        }
        return all;
    }
};

bool ProgramCache::fits(const Entry& entry, const Wanted& wanted) {
    if (entry.key != wanted.key || !has_types_and_values(entry, wanted)) return false;
    for (size_t i = 0; i < wanted.inputs.size(); i++) {
        if (!std::ranges::equal(entry.types[i].shape, wanted.inputs[i].shape(), {}, &Size::number)) return false;
    }
    if (!wanted.names) return true;
    const auto& names = entry.session->numbers().names;
    return std::ranges::all_of(*wanted.names, [&](const auto& given) {
        const auto known = names.find(given.first);
        return known != names.end() && known->second == given.second;
    });
}

bool ProgramCache::has_types_and_values(const Entry& entry, const Wanted& wanted) {
    if (entry.grows != wanted.grow) return false;
    if (!std::ranges::equal(entry.types, wanted.inputs, {}, &TensorType::dtype, &TensorData::dtype)) return false;
    return std::ranges::all_of(entry.decided, [&](const auto& decided) {
        return same_value(decided.second, wanted.input(static_cast<size_t>(decided.first)));
    });
}

std::list<ProgramCache::Entry>::iterator ProgramCache::resized(const Wanted& wanted) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->key != wanted.key || !has_types_and_values(*entry, wanted)) continue;
        if (!entry->session->resize(wanted.inputs, wanted.given_names(), wanted.capacity(entry->session->plan())))
            continue;
        for (size_t i = 0; i < wanted.inputs.size(); i++) {
            const auto& shape = wanted.inputs[i].shape();
            entry->types[i].shape.assign(shape.begin(), shape.end());
        }
        return entry;
    }
    return entries_.end();
}

// Memory of a device is not the caller's.
plan::PlanOptions ProgramCache::options(const Wanted& wanted, Progress* progress) const {
    return {.donations = donations_, .grow = wanted.grow && !engine_->kernels->device(), .progress = progress};
}

Result<std::shared_ptr<const runtime::Executable>> ProgramCache::compiled(const std::vector<TensorData>& inputs,
                                                                          const Specialise& specialise,
                                                                          const plan::PlanOptions& options, double& operations) {
    Progress* const progress = options.progress;
    auto graph = guarded("inference.broken", [&] { return specialise(inputs, progress); });
    if (!graph) return fail(std::move(graph.error()));
    if (auto fine = check(*graph, inputs); !fine) return fail(std::move(fine.error()));
    operations = scalar_operations(*graph);
    auto executable = compile(*graph, *engine_, options);
    if (progress) progress->finish();
    if (!executable) return fail(std::move(executable.error()));
    const Diagnostics& notes = (*executable)->plan().notes;
    notes_.insert(notes_.end(), notes.begin(), notes.end());
    compiled_++;
    return executable;
}

namespace {

// A program for one call of what `source` is.
ProgramSource source_of(const ProgramSource& source, const std::string& key, const std::vector<TensorData>& inputs) {
    if (source.key.empty()) return {};
    std::string types;
    for (const TensorData& input : inputs)
        types +=
            fmt::format("{}{}[{}]", types.empty() ? "" : ", ", name(input.dtype()), fmt::join(input.shape(), ", "));
    return {fmt::format("{}\n{}\n{}", source.key, key, types), fmt::format("{}{}({})", source.label, key, types)};
}

}  // namespace

Result<ProgramCache::Entry> ProgramCache::make(const Wanted& wanted, const Specialise& specialise,
                                               Progress* progress) {
    const std::vector<TensorData> inputs = wanted.all_inputs();
    const plan::PlanOptions options = this->options(wanted, progress);
    if (auto going_on = begin_stage(progress, Stage::load, 1); !going_on) return fail(going_on.error());
    const ProgramSource source = wanted.names ? ProgramSource() : source_of(source_, wanted.key, inputs);
    const auto value_of = [&](size_t place, const std::string&) {
        return place < inputs.size() ? &inputs[place] : nullptr;
    };
    auto kept = find_program(source, value_of, *engine_, options);
    if (auto going_on = step_done(progress); !going_on) return fail(going_on.error());
    double operations = 0;
    Result<std::shared_ptr<const runtime::Executable>> executable =
        kept ? std::move(kept->executable) : compiled(inputs, specialise, options, operations);
    if (!executable) return fail(std::move(executable.error()));
    std::vector<runtime::Block> blocks;
    if (const plan::Plan& plan = (*executable)->plan(); !kept && plan.tag == 0) {
        blocks = keep_program(source, value_of, {*executable, plan.input_names, plan.output_names}, *engine_, options);
    }
    Entry entry{.key = wanted.key,
                .types = {},
                .decided = (*executable)->plan().decided,
                .grows = wanted.grow,
                .session = nullptr,
                .operations = operations};
    for (const TensorData& input : inputs)
        entry.types.push_back({input.dtype(), {input.shape().begin(), input.shape().end()}});
    entry.session =
        std::make_unique<runtime::Session>((*executable)->to_run(std::move(blocks)), engine_->pool, engine_->arena);
    if (!kept) give_back_freed();  // what planning and compiling took; else each program leaves holes of its own
    return entry;
}

WorkLimit ProgramCache::limit_of_work() const {
    std::lock_guard lock(engine_->running);
    return engine_->work;
}

runtime::MemoryInUse ProgramCache::memory() const {
    std::lock_guard lock(engine_->running);
    runtime::MemoryInUse all;
    for (const Entry& entry : entries_) all.merge(entry.session->executable().memory());
    return all;
}

runtime::KernelCounts ProgramCache::kernels() const {
    std::lock_guard lock(engine_->running);
    runtime::KernelCounts all;
    for (const Entry& entry : entries_) {
        const runtime::KernelCounts own = entry.session->executable().kernels();
        all.compiled += own.compiled;
        all.loaded += own.loaded;
    }
    return all;
}

void ProgramCache::set_limit(int64_t limit) {
    std::lock_guard lock(engine_->running);
    limit_ = limit;
}

void ProgramCache::use_places(std::shared_ptr<Places> places, std::vector<plan::Donation> states) {
    std::lock_guard lock(engine_->running);
    engine_->places = std::move(places);
    states_ = std::move(states);
    states_.insert(states_.end(), donations_.begin(), donations_.end());
    entries_.clear();
    placed_.clear();
}

// From the one used last on, each is counted with what it adds to those before it.
void ProgramCache::make_room() {
    runtime::MemoryInUse known = entries_.front().session->executable().memory();
    int64_t bytes = 0;
    for (auto entry = std::next(entries_.begin()); entry != entries_.end(); ++entry) {
        for (const auto& [begin, size] : entry->session->executable().memory()) {
            if (known.emplace(begin, size).second) bytes += size;
        }
        if (bytes <= limit_) continue;
        entries_.erase(entry, entries_.end());
        return;
    }
}

Diagnostics ProgramCache::take_notes() {
    std::lock_guard lock(engine_->running);
    Diagnostics notes = std::exchange(notes_, {});
    if (const auto folder = engine_->kernels->folder())
        std::ranges::move(folder->take_notes(), std::back_inserter(notes));
    return notes;
}

Result<std::vector<TensorData>> ProgramCache::run(const std::string& key, const std::vector<TensorData>& inputs,
                                                  const Specialise& specialise, Progress* progress,
                                                  std::vector<runtime::LaunchTime>* profile) {
    std::unique_lock running(engine_->running, std::defer_lock);
    if (!lock(running, progress)) return cancelled();
    auto results = run(Wanted{.key = key, .inputs = inputs}, specialise, progress, profile);
    if (!results) return fail(std::move(results.error()));
    std::vector<TensorData> tensors;
    for (Value& value : results->values) tensors.push_back(std::move(*value.tensor));
    return tensors;
}

Result<std::vector<Value>> ProgramCache::run(const std::vector<Value>& inputs, bool grow, const Specialise& specialise,
                                             Progress* progress, std::vector<runtime::LaunchTime>* profile) {
    const auto tensors = tensors_of(inputs, !grow);
    if (!tensors) return fail(tensors.error());
    std::vector<const Value*> values;
    for (const Value& input : inputs) values.push_back(&input);
    const std::string key;
    std::unique_lock running(engine_->running, std::defer_lock);
    if (!lock(running, progress)) return cancelled();
    auto results = run(Wanted{.key = key, .inputs = *tensors, .values = values, .grow = grow}, specialise, progress, profile);
    if (!results) return fail(std::move(results.error()));
    for (Value& value : results->values) value.sizes.clear();
    return std::move(results->values);
}

Result<ProgramCache::Results> ProgramCache::run(const Part& part, std::span<const Value* const> inputs,
                                                const Specialise& specialise, Progress* progress,
                                                std::vector<runtime::LaunchTime>* profile) {
    std::unique_lock running(engine_->running, std::defer_lock);
    if (!lock(running, progress)) return cancelled();
    if (Entry* entry = profile ? nullptr : repeated(part, inputs)) {
        auto results = run_again(*entry, inputs, progress);
        if (results || results.error().front().code != "runtime.index_out_of_range") return results;
    }
    std::vector<TensorData> tensors;
    for (const Value* input : inputs)
        tensors.push_back(input->tensor ? *input->tensor : TensorData(input->dtype(), input->shape(), nullptr, nullptr));
    return run(Wanted{.key = part.key, .inputs = tensors, .names = &part.names, .values = inputs, .grow = part.grow}, specialise,
               progress, profile);
}

namespace {

ProgramCache::Results as_values(std::vector<TensorData> tensors, const runtime::Session& session) {
    ProgramCache::Results results{.values = values_of(std::move(tensors)), .tag = session.plan().tag};
    for (size_t i = 0; i < results.values.size(); i++) {
        const std::vector<Size>& shape = session.numbers().output_types[i].shape;
        if (std::ranges::any_of(shape, &Size::named)) results.values[i].sizes = shape;
    }
    return results;
}

}  // namespace

ProgramCache::Entry* ProgramCache::repeated(const Part& part, std::span<const Value* const> inputs) {
    if (engine_->kernels->device()) return nullptr;
    const auto is_it = [&](const Entry& entry) {
        const plan::Numbers& numbers = entry.session->numbers();
        if (entry.grows != part.grow || !entry.session->plan().growths.empty() || entry.key != part.key) return false;
        if (inputs.size() != numbers.input_types.size()) return false;
        for (size_t i = 0; i < inputs.size(); i++) {
            const TensorType& type = numbers.input_types[i];
            if (type.dtype != inputs[i]->dtype() || !inputs[i]->has_shape(type.shape)) return false;
        }
        for (const auto& [name, number] : part.names) {
            const auto known = numbers.names.find(name);
            if (known == numbers.names.end() || known->second != number) return false;
        }
        return std::ranges::all_of(entry.decided, [&](const auto& decided) {
            return same_value(decided.second, *inputs[static_cast<size_t>(decided.first)]->row_major().tensor);
        });
    };
    const auto found = std::ranges::find_if(entries_, is_it);
    if (found == entries_.end()) return nullptr;
    if (found != entries_.begin()) entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front();
}

Result<ProgramCache::Results> ProgramCache::run_again(Entry& entry, std::span<const Value* const> inputs, Progress* progress) {
    runtime::Session& session = *entry.session;
    std::vector<TensorData> views;  // of what grows
    Begins begins;
    views.reserve(static_cast<size_t>(std::ranges::count_if(inputs, [](const Value* input) { return input->growing.has_value(); })));
    for (const Value* input : inputs) {
        if (input->growing) views.push_back(input->growing->row_major());
        begins.push_back(input->growing ? views.back().data() : input->tensor->data());
    }
    std::vector<TensorData> results;
    try {
        results = session.make_outputs();
    } catch (const std::bad_alloc&) {
        return runtime::out_of_memory(session.plan(), session.numbers());
    }
    session.set_profile(nullptr);
    if (auto done = session.run_fitting({begins.begin(), begins.size()}, results, progress); !done) return fail(std::move(done.error()));
    auto values = as_values(std::move(results), session);
    values.operations = entry.operations;
    return values;
}

Result<ProgramCache::Results> ProgramCache::run_in(runtime::Session& session, const Wanted& wanted, Progress* progress) {
    const plan::Plan& plan = session.plan();
    if (plan.growths.empty()) {
        auto tensors = session.run(wanted.all_inputs(), progress);
        if (!tensors) return fail(std::move(tensors.error()));
        return as_values(std::move(*tensors), session);
    }
    // What was last run may have had other memory.
    if (!has_capacity(plan, session.numbers(), wanted.values)) session.resize(wanted.inputs, wanted.given_names(), wanted.capacity(plan));
    std::vector<TensorData> inputs = wanted.all_but(plan.growths);
    auto growing = take_growing(plan, session.numbers(), wanted.values, session.arena(), inputs);
    if (!growing) return fail(std::move(growing.error()));
    std::vector<TensorData> tensors;
    try {
        tensors = session.make_outputs();
    } catch (const std::bad_alloc&) {
        return runtime::out_of_memory(plan, session.numbers());
    }
    for (size_t g = 0; g < growing->size(); g++)
        tensors[static_cast<size_t>(plan.growths[g].output)] = (*growing)[g].as_it_lies();
    Begins begins;
    for (const TensorData& input : inputs) begins.push_back(input.data());
    if (auto done = session.run_fitting({begins.begin(), begins.size()}, tensors, progress); !done)
        return fail(std::move(done.error()));
    Results results = as_values(std::move(tensors), session);
    for (size_t g = 0; g < growing->size(); g++) {
        Value& value = results.values[static_cast<size_t>(plan.growths[g].output)];
        value.tensor.reset();
        value.growing = std::move((*growing)[g]);
    }
    return results;
}

bool ProgramCache::lock(std::unique_lock<std::timed_mutex>& lock, Progress* progress) const {
    constexpr std::chrono::milliseconds patience{10};
    if (lock.try_lock()) return true;
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return false;
    }
    return true;
}

// Programs that are cut are kept for their sizes alone, so many of them.
constexpr size_t most_placed = 64;

Result<ProgramCache::Results> ProgramCache::run_on_places(const Wanted& wanted, const Specialise& specialise,
                                                          Progress* progress) {
    const std::vector<TensorData> inputs = wanted.all_inputs();
    const std::vector<Value> values = wanted.placed_inputs(inputs);
    const auto is_it = [&](const Placed& placed) {
        return placed.key == wanted.key && placed.names == wanted.given_names() && placed.program->takes(values) &&
               std::ranges::equal(placed.inputs, inputs, [](const TensorData& known, const TensorData& given) {
                   return known.dtype() == given.dtype() && known.shape() == given.shape() &&
                          (!known.data() || (given.data() && same_value(known, given)));
               });
    };
    auto found = std::ranges::find_if(placed_, is_it);
    if (found == placed_.end()) {
        auto graph = guarded("inference.broken", [&] { return specialise(inputs, progress); });
        if (!graph) return fail(std::move(graph.error()));
        if (auto fine = check(*graph, inputs); !fine) return fail(std::move(fine.error()));
        // States are of all of a program, not of its parts.
        const auto states = wanted.names ? std::vector<plan::Donation>() : states_;
        auto program = guarded("inference.broken", [&] { return engine_->places->compile(*graph, states, values); });
        if (progress) progress->finish();
        if (!program) return fail(std::move(program.error()));
        compiled_++;
        placed_.push_front(
            {wanted.key, {}, wanted.given_names(), std::move(*program), graph->tag, scalar_operations(*graph)});
        for (size_t i = 0; i < inputs.size(); i++) {
            const bool decided = graph->tensor(graph->inputs[i]).constant.has_value();
            placed_.front().inputs.push_back(
                decided ? inputs[i].clone() : TensorData(inputs[i].dtype(), inputs[i].shape(), nullptr, nullptr));
        }
        if (placed_.size() > most_placed) placed_.pop_back();
    } else {
        placed_.splice(placed_.begin(), placed_, found);
    }
    auto results = placed_.front().program->run(values);
    if (!results) return fail(std::move(results.error()));
    return Results{std::move(*results), placed_.front().tag, placed_.front().operations};
}

Result<ProgramCache::Results> ProgramCache::run(const Wanted& wanted, const Specialise& specialise, Progress* progress,
                                                std::vector<runtime::LaunchTime>* profile) {
    if (engine_->places) return run_on_places(wanted, specialise, progress);
    auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return fits(entry, wanted); });
    if (found == entries_.end()) found = resized(wanted);
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
    } else {
        auto entry = make(wanted, specialise, progress);
        if (!entry) return fail(std::move(entry.error()));
        entries_.push_front(std::move(*entry));
        make_room();
    }
    runtime::Session& session = *entries_.front().session;
    session.set_profile(profile);
    auto results = run_in(session, wanted, progress);
    if (results) {
        results->operations = entries_.front().operations;
        return results;
    }
    const bool spoilt = !donations_.empty();  // inputs may be written over
    if (spoilt || results.error().front().code != "runtime.index_out_of_range") return fail(std::move(results.error()));
    const std::vector<TensorData> inputs = wanted.all_inputs();
    const auto graph = specialise(inputs, progress);
    return fail(graph ? located(std::move(results.error()), *graph, inputs) : std::move(results.error()));
}

}  // namespace heddle::inference
