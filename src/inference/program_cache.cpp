#include "inference/program_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "evaluate/failing_read.h"
#include "inference/growing_run.h"
#include "support/guarded.h"
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

struct ProgramCache::Wanted {
    const std::string& key;
    const std::vector<TensorData>& inputs;
    const std::map<std::string, int64_t>* names = nullptr;  // of a stage
    const std::vector<Value>* values = nullptr;             // where results grow: what inputs without memory are

    // Row-major.
    TensorData input(size_t i) const { return values && (*values)[i].growing ? (*values)[i].growing->dense() : inputs[i]; }
    plan::ChooseCapacity capacity(const plan::Plan& plan) const {
        if (plan.growths.empty()) return {};
        return [this, &plan](int64_t longest) { return capacity_for(longest, plan, *values); };
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
        if (entry.types[i].extents() != wanted.inputs[i].shape()) return false;
    }
    if (!wanted.names) return true;
    const auto& names = entry.session->numbers().names;
    return std::ranges::all_of(*wanted.names, [&](const auto& given) {
        const auto known = names.find(given.first);
        return known != names.end() && known->second == given.second;
    });
}

bool ProgramCache::has_types_and_values(const Entry& entry, const Wanted& wanted) {
    if (entry.grows != (wanted.values != nullptr)) return false;
    if (!std::ranges::equal(entry.types, wanted.inputs, {}, &TensorType::dtype, &TensorData::dtype)) return false;
    return std::ranges::all_of(entry.decided, [&](const auto& decided) {
        return same_value(decided.second, wanted.input(static_cast<size_t>(decided.first)));
    });
}

std::list<ProgramCache::Entry>::iterator ProgramCache::resized(const Wanted& wanted) {
    static const std::map<std::string, int64_t> none;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->key != wanted.key || !has_types_and_values(*entry, wanted)) continue;
        if (!entry->session->resize(wanted.inputs, wanted.names ? *wanted.names : none, wanted.capacity(entry->session->plan())))
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
    return {.donations = donations_, .grow = wanted.values && !engine_->kernels->device(), .progress = progress};
}

Result<std::shared_ptr<const runtime::Executable>> ProgramCache::compiled(const std::vector<TensorData>& inputs,
                                                                          const Specialise& specialise,
                                                                          const plan::PlanOptions& options) {
    Progress* const progress = options.progress;
    auto graph = guarded("inference.broken", [&] { return specialise(inputs, progress); });
    if (!graph) return fail(std::move(graph.error()));
    if (auto fine = check(*graph, inputs); !fine) return fail(std::move(fine.error()));
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
    Result<std::shared_ptr<const runtime::Executable>> executable =
        kept ? std::move(kept->executable) : compiled(inputs, specialise, options);
    if (!executable) return fail(std::move(executable.error()));
    std::vector<runtime::Block> blocks;
    if (const plan::Plan& plan = (*executable)->plan(); !kept && plan.tag == 0) {
        blocks = keep_program(source, value_of, {*executable, plan.input_names, plan.output_names}, *engine_, options);
    }
    Entry entry{.key = wanted.key,
                .types = {},
                .decided = (*executable)->plan().decided,
                .grows = wanted.values != nullptr,
                .session = nullptr};
    for (const TensorData& input : inputs)
        entry.types.push_back({input.dtype(), {input.shape().begin(), input.shape().end()}});
    entry.session =
        std::make_unique<runtime::Session>((*executable)->to_run(std::move(blocks)), engine_->pool, engine_->arena);
    if (!kept) give_back_freed();  // what planning and compiling took; else each program leaves holes of its own
    return entry;
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
    auto results = run(Wanted{key, inputs}, specialise, progress, profile);
    if (!results) return fail(std::move(results.error()));
    return std::move(results->tensors);
}

Result<std::vector<Value>> ProgramCache::run(const std::vector<Value>& inputs, bool grow, const Specialise& specialise,
                                             Progress* progress, std::vector<runtime::LaunchTime>* profile) {
    const auto tensors = tensors_of(inputs, !grow);
    if (!tensors) return fail(tensors.error());
    const std::string key;
    auto results = run(Wanted{.key = key, .inputs = *tensors, .values = grow ? &inputs : nullptr}, specialise, progress, profile);
    if (!results) return fail(std::move(results.error()));
    std::vector<Value> values = values_of(std::move(results->tensors));
    for (auto& [place, growing] : results->growing) values[place] = Value::of_growing(std::move(growing));
    return values;
}

Result<ProgramCache::Results> ProgramCache::run(const Part& part, const std::vector<TensorData>& inputs,
                                                const Specialise& specialise, Progress* progress,
                                                std::vector<runtime::LaunchTime>* profile) {
    return run(Wanted{part.key, inputs, &part.names}, specialise, progress, profile);
}

Result<ProgramCache::Results> ProgramCache::run_in(runtime::Session& session, const Wanted& wanted, Progress* progress) {
    const plan::Plan& plan = session.plan();
    if (plan.growths.empty()) {
        auto tensors = wanted.values ? session.run(wanted.all_inputs(), progress) : session.run(wanted.inputs, progress);
        if (!tensors) return fail(std::move(tensors.error()));
        return Results{std::move(*tensors), session.numbers().output_types, {}, plan.tag};
    }
    // What was last run may have had other memory.
    if (!has_capacity(plan, session.numbers(), *wanted.values)) session.resize(wanted.inputs, {}, wanted.capacity(plan));
    std::vector<TensorData> inputs = wanted.all_but(plan.growths);
    auto growing = take_growing(plan, session.numbers(), *wanted.values, session.arena(), inputs);
    if (!growing) return fail(std::move(growing.error()));
    Results results{{}, session.numbers().output_types, {}, plan.tag};
    try {
        results.tensors = session.make_outputs();
    } catch (const std::bad_alloc&) {
        return runtime::out_of_memory(plan, session.numbers());
    }
    for (size_t g = 0; g < growing->size(); g++) {
        const auto output = static_cast<size_t>(plan.growths[g].output);
        results.tensors[output] = (*growing)[g].as_it_lies();
        results.growing.emplace(output, std::move((*growing)[g]));
    }
    if (auto done = session.run(inputs, results.tensors, progress); !done) return fail(std::move(done.error()));
    return results;
}

Result<ProgramCache::Results> ProgramCache::run(const Wanted& wanted, const Specialise& specialise, Progress* progress,
                                                std::vector<runtime::LaunchTime>* profile) {
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(engine_->running, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
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
    if (results) return results;
    const bool spoilt = !donations_.empty();  // inputs may be written over
    if (spoilt || results.error().front().code != "runtime.index_out_of_range") return fail(std::move(results.error()));
    const std::vector<TensorData> inputs = wanted.all_inputs();
    const auto graph = specialise(inputs, progress);
    return fail(graph ? located(std::move(results.error()), *graph, inputs) : std::move(results.error()));
}

}  // namespace heddle::inference
