#include "inference/program_cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "evaluate/failing_read.h"
#include "plan/instantiate.h"
#include "support/guarded.h"
#include "support/progress.h"

namespace heddle::inference {
namespace {

bool same_value(const TensorData& a, const TensorData& b) {
    if (a.byte_size() != b.byte_size()) return false;
    return a.byte_size() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.byte_size())) == 0;
}

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

bool ProgramCache::fits(const Entry& entry, const std::string& key, const std::vector<TensorData>& inputs) const {
    if (entry.key != key || !has_types_and_values(entry, inputs)) return false;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (entry.types[i].extents() != inputs[i].shape()) return false;
    }
    return true;
}

bool ProgramCache::has_types_and_values(const Entry& entry, const std::vector<TensorData>& inputs) {
    if (!std::ranges::equal(entry.types, inputs, {}, &TensorType::dtype, &TensorData::dtype)) return false;
    return std::ranges::all_of(entry.decided, [&](const auto& decided) {
        return same_value(decided.second, inputs[static_cast<size_t>(decided.first)]);
    });
}

std::list<ProgramCache::Entry>::iterator ProgramCache::resized(const std::string& key,
                                                               const std::vector<TensorData>& inputs) {
    std::vector<std::vector<int64_t>> shapes;
    for (const TensorData& input : inputs) shapes.push_back(input.shape());
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->key != key || !has_types_and_values(*entry, inputs)) continue;
        const auto names = plan::names_for(entry->session->plan(), shapes);
        if (!names || !entry->session->resize(*names)) continue;
        for (size_t i = 0; i < shapes.size(); i++) entry->types[i].shape.assign(shapes[i].begin(), shapes[i].end());
        return entry;
    }
    return entries_.end();
}

Result<std::shared_ptr<const runtime::Executable>> ProgramCache::compiled(const std::vector<TensorData>& inputs,
                                                                          const Specialise& specialise,
                                                                          Progress* progress) {
    auto graph = guarded("inference.broken", [&] { return specialise(inputs, progress); });
    if (!graph) return fail(std::move(graph.error()));
    if (auto fine = check(*graph, inputs); !fine) return fail(std::move(fine.error()));
    auto executable = compile(*graph, *engine_, {.donations = donations_, .progress = progress});
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

Result<ProgramCache::Entry> ProgramCache::make(const std::string& key, const std::vector<TensorData>& inputs,
                                               const Specialise& specialise, Progress* progress) {
    if (auto wanted = begin_stage(progress, Stage::load, 1); !wanted) return fail(wanted.error());
    const ProgramSource source = source_of(source_, key, inputs);
    const auto value_of = [&](size_t place, const std::string&) {
        return place < inputs.size() ? &inputs[place] : nullptr;
    };
    auto kept = find_program(source, value_of, *engine_, {.donations = donations_});
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());
    Result<std::shared_ptr<const runtime::Executable>> executable =
        kept ? std::move(kept->executable) : compiled(inputs, specialise, progress);
    if (!executable) return fail(std::move(executable.error()));
    std::vector<runtime::Block> blocks;
    if (!kept) {
        const plan::Plan& plan = (*executable)->plan();
        blocks = keep_program(source, value_of, {*executable, plan.input_names, plan.output_names}, *engine_,
                              {.donations = donations_});
    }
    Entry entry{.key = key, .types = {}, .decided = (*executable)->plan().decided, .session = nullptr};
    for (const TensorData& input : inputs)
        entry.types.push_back({input.dtype(), {input.shape().begin(), input.shape().end()}});
    entry.session =
        std::make_unique<runtime::Session>((*executable)->to_run(std::move(blocks)), engine_->pool, engine_->arena);
    return entry;
}

runtime::MemoryInUse ProgramCache::memory() const {
    std::lock_guard lock(engine_->running);
    runtime::MemoryInUse all;
    for (const Entry& entry : entries_) all.merge(entry.session->executable().memory());
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
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(engine_->running, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return fits(entry, key, inputs); });
    if (found == entries_.end()) found = resized(key, inputs);
    if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
    } else {
        auto entry = make(key, inputs, specialise, progress);
        if (!entry) return fail(std::move(entry.error()));
        entries_.push_front(std::move(*entry));
        make_room();
    }
    runtime::Session& session = *entries_.front().session;
    session.set_profile(profile);
    auto results = session.run(inputs, progress);
    const bool spoilt = !donations_.empty();  // inputs may be written over
    if (results || spoilt || results.error().front().code != "runtime.index_out_of_range") return results;
    const auto graph = specialise(inputs, progress);
    return graph ? fail(located(std::move(results.error()), *graph, inputs)) : results;
}

}  // namespace heddle::inference
