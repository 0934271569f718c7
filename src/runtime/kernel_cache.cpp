#include "runtime/kernel_cache.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cache/folder.h"
#include "support/file.h"
#include "support/progress.h"

namespace heddle::runtime {

// A kernel that this process has not, and its code: what the folder keeps, or bytes of our own.
struct KernelCache::Missing {
    size_t place = 0;  // among the plan's trees
    TreePointer tree;
    CompileJob job;
    std::string job_bytes;
    size_t added = 0;                // to the work, as which
    std::optional<MappedFile> kept;  // job_bytes, then the code
    std::string made;

    std::string_view code() const {
        if (!kept) return made;
        const std::string_view file(reinterpret_cast<const char*>(kept->bytes.data()), kept->bytes.size());
        return file.substr(job_bytes.size());
    }
    // The folder finds files by a digest. The job in front says whether it is this one: no bytes of a job begin those
    // of another.
    void find_in(cache::Folder& folder) {
        kept = folder.find(cache::Kind::kernel, job_bytes);
        if (kept && !std::ranges::equal(std::as_bytes(std::span(job_bytes)),
                                        kept->bytes.first(std::min(kept->bytes.size(), job_bytes.size()))))
            kept.reset();
    }
    void store_in(cache::Folder& folder, const std::string& label) const {
        const std::string file = job_bytes + made;
        folder.store(cache::Kind::kernel, job_bytes, label, std::as_bytes(std::span(file)));
    }
};

struct KernelCache::Coming::State {
    KernelCache& cache;
    const CompileRequest request;
    const int threads;
    const Result<CompileConfig> config = compile_config_for(*cache.backend_, request);
    const std::shared_ptr<cache::Folder> folder = cache.folder();
    std::map<std::string, Missing> missing = {};  // by key
    std::unique_ptr<codegen::KernelWork> work = {};
    size_t added = 0;  // to the work

    CompileJob job(const std::string& key) const { return {*config, key, {}}; }

    Missing& add(CompileJob job, const TreePointer& tree) {
        const auto [entry, is_new] = missing.try_emplace(job.program);
        Missing& kernel = entry->second;
        if (!is_new) return kernel;
        kernel.tree = tree;
        kernel.job = std::move(job);
        kernel.job_bytes = canonical_bytes(kernel.job);
        if (folder) kernel.find_in(*folder);
        if (!kernel.kept) begin(kernel);
        return kernel;
    }

    void begin(Missing& kernel) {
        if (!work) work = cache.backend_->begin(request.target, threads);
        kernel.added = added++;
        work->add(kernel.tree);
    }

    // All of these, whatever the folder has of them.
    void begin_again(const Wanted& kernels) {
        work.reset();
        added = 0;
        for (Missing* kernel : kernels) {
            kernel->kept.reset();
            begin(*kernel);
        }
    }
};

KernelCache::Coming::Coming(KernelCache& cache, const Target& target, int threads)
    : state_(new State{cache, {.target = target, .program = {}, .derivation = {}}, threads}) {}

KernelCache::Coming::~Coming() = default;

void KernelCache::Coming::tell(const std::string& key, const TreePointer& tree) {
    if (!state_->config) return;
    // While another program is being compiled, this one's kernels may be among those that come.
    const std::unique_lock lock(state_->cache.mutex_, std::try_to_lock);
    if (!lock) return;
    CompileJob job = state_->job(key);
    if (!state_->cache.known(job).code) state_->add(std::move(job), tree);
}

namespace {

// What people know a kernel by: the first tensor that it writes.
std::string label_of(const plan::Plan& plan, const schedules::Tree* tree) {
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const plan::Batch& batch : *phase) {
            for (const plan::Launch& launch : batch) {
                if (plan.trees[static_cast<size_t>(launch.tree)].get() == tree) return launch.name;
            }
        }
    }
    return tree->name;
}

std::unexpected<Diagnostics> incomplete(const codegen::Backend& backend, std::string expected, std::string found) {
    return fail(
        {.code = "backends.incomplete",
         .summary = fmt::format("the backend '{}' does not give what is needed to launch its kernels", backend.name()),
         .expected = std::move(expected),
         .found = std::move(found),
         .params = {{"backend", backend.name()}}});
}

}  // namespace

KernelCode KernelCache::known(const CompileJob& job) const {
    const auto place = known_.find(job);
    if (place == known_.end()) return {};
    const Known& known = place->second;
    return {known.code.lock(), known.index, known.function, known.code_bytes};
}

Result<void> KernelCache::compile(const Wanted& missing, Coming& coming, Progress* progress) {
    std::vector<size_t> wanted;
    Wanted places;
    for (Missing* kernel : missing) {
        if (kernel->kept) continue;
        wanted.push_back(kernel->added);
        places.push_back(kernel);
    }
    const auto number = static_cast<int64_t>(wanted.size());
    if (auto stage = begin_stage(progress, Stage::code, number); !stage || wanted.empty()) return stage;
    auto objects = coming.state_->work->take(wanted, progress);
    if (!objects) return fail(std::move(objects.error()));
    if (objects->size() != wanted.size())
        return incomplete(*backend_, fmt::format("code of {} kernels", wanted.size()),
                          fmt::format("of {}", objects->size()));
    for (size_t i = 0; i < places.size(); i++) places[i]->made = std::move((*objects)[i]);
    return {};
}

Result<void> KernelCache::add(const Wanted& missing, std::vector<KernelCode>& kernels, Progress* progress) {
    const auto number = static_cast<int64_t>(missing.size());
    if (auto wanted = begin_stage(progress, Stage::link, number); !wanted || missing.empty()) return wanted;
    std::vector<std::string_view> objects;
    int64_t bytes = 0;
    for (const Missing* kernel : missing) {
        objects.push_back(kernel->code());
        bytes += static_cast<int64_t>(objects.back().size());
    }
    auto code = backend_->link(objects);
    if (!code) return fail(std::move(code.error()));
    if (auto wanted = step_done(progress, number); !wanted) return wanted;
    for (size_t i = 0; i < missing.size() && !device(); i++) {
        if (!(*code)->function(i)) return incomplete(*backend_, "a function for each kernel, or a device", "none");
    }
    std::erase_if(known_, [](const auto& kernel) { return kernel.second.code.expired(); });
    for (size_t i = 0; i < missing.size(); i++) {
        const KernelCode kernel{*code, i, (*code)->function(i), bytes};
        kernels[missing[i]->place] = kernel;
        known_.insert_or_assign(missing[i]->job, Known{*code, i, kernel.function, bytes});
    }
    return {};
}

void KernelCache::make_way(const plan::Plan& plan) {
    constexpr int64_t little = 16 << 20;  // to come back costs a compile of one kernel a tenth of its time
    if (plan.prepared_bytes() > little) backend_->rest();
}

Result<void> KernelCache::make(const Wanted& missing, Coming& coming, std::vector<KernelCode>& kernels,
                               KernelCounts* counts, Progress* progress) {
    if (auto made = compile(missing, coming, progress); !made) return made;
    auto added = add(missing, kernels, progress);
    if (added || is_cancelled_error(added.error()) || counts->loaded == 0) return added;
    // Kept by a build that made no code of it.
    coming.state_->begin_again(missing);
    *counts = {.compiled = static_cast<int64_t>(missing.size())};
    if (auto made = compile(missing, coming, progress); !made) return made;
    return add(missing, kernels, progress);
}

Result<PlanKernels> KernelCache::kernels(const plan::Plan& plan, Coming& coming, KernelCounts* counts,
                                         Progress* progress) {
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    Coming::State& state = *coming.state_;
    if (!state.config) return fail(state.config.error());
    PlanKernels found{std::vector<KernelCode>(plan.trees.size()), *state.config};
    Wanted missing;
    for (size_t i = 0; i < plan.trees.size(); i++) {
        CompileJob job = state.job(plan.keys[i]);
        found.kernels[i] = known(job);
        if (found.kernels[i].code) continue;
        Missing& kernel = state.add(std::move(job), plan.trees[i]);
        kernel.place = i;
        missing.push_back(&kernel);
        (kernel.kept ? counts->loaded : counts->compiled)++;
    }
    if (auto made = make(missing, coming, found.kernels, counts, progress); !made)
        return fail(std::move(made.error()));
    const auto after = compile_config_for(*backend_, state.request);
    if (!after) return fail(after.error());
    if (auto same = check_same_config(found.config, *after); !same) return fail(std::move(same.error()));
    for (const Missing* kernel : missing) {
        if (state.folder && !kernel->kept) kernel->store_in(*state.folder, label_of(plan, kernel->tree.get()));
    }
    return found;
}

}  // namespace heddle::runtime
