#include "runtime/kernel_cache.h"

#include <algorithm>
#include <chrono>
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
    const schedules::Tree* tree = nullptr;
    CompileJob job;
    std::string job_bytes;
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

Result<void> KernelCache::compile(std::vector<Missing>& missing, const plan::Plan& plan, int threads,
                                  Progress* progress) {
    std::vector<const schedules::Tree*> trees;
    std::vector<Missing*> places;
    for (Missing& kernel : missing) {
        if (kernel.kept) continue;
        trees.push_back(kernel.tree);
        places.push_back(&kernel);
    }
    const auto number = static_cast<int64_t>(trees.size());
    if (auto wanted = begin_stage(progress, Stage::code, number); !wanted || trees.empty()) return wanted;
    // Whatever of a cancelled one is still being made needs its trees.
    auto owner = std::make_shared<std::vector<std::shared_ptr<const schedules::Tree>>>(plan.trees);
    auto objects = backend_->objects(trees, plan.target, threads, progress, std::move(owner));
    if (!objects) return fail(std::move(objects.error()));
    if (objects->size() != trees.size())
        return incomplete(*backend_, fmt::format("code of {} kernels", trees.size()),
                          fmt::format("of {}", objects->size()));
    for (size_t i = 0; i < places.size(); i++) places[i]->made = std::move((*objects)[i]);
    return {};
}

Result<void> KernelCache::add(const std::vector<Missing>& missing, std::vector<KernelCode>& kernels,
                              Progress* progress) {
    const auto number = static_cast<int64_t>(missing.size());
    if (auto wanted = begin_stage(progress, Stage::link, number); !wanted || missing.empty()) return wanted;
    std::vector<std::string_view> objects;
    int64_t bytes = 0;
    for (const Missing& kernel : missing) {
        objects.push_back(kernel.code());
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
        kernels[missing[i].place] = kernel;
        known_.insert_or_assign(missing[i].job, Known{*code, i, kernel.function, bytes});
    }
    return {};
}

void KernelCache::make_way(const plan::Plan& plan) {
    constexpr int64_t little = 16 << 20;  // to come back costs a compile of one kernel a tenth of its time
    if (plan.prepared_bytes() > little) backend_->rest();
}

Result<void> KernelCache::make(std::vector<Missing>& missing, const plan::Plan& plan, int threads,
                               std::vector<KernelCode>& kernels, KernelCounts* counts, Progress* progress) {
    if (auto made = compile(missing, plan, threads, progress); !made) return made;
    auto added = add(missing, kernels, progress);
    if (added || is_cancelled_error(added.error()) || counts->loaded == 0) return added;
    // Kept by a build that made no code of it.
    for (Missing& kernel : missing) kernel.kept.reset();
    *counts = {.compiled = static_cast<int64_t>(missing.size())};
    if (auto made = compile(missing, plan, threads, progress); !made) return made;
    return add(missing, kernels, progress);
}

Result<PlanKernels> KernelCache::kernels(const plan::Plan& plan, int threads, KernelCounts* counts,
                                         Progress* progress) {
    constexpr std::chrono::milliseconds patience{10};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(patience)) {
        if (is_cancelled(progress)) return cancelled();
    }
    const CompileRequest request{.target = plan.target, .program = {}, .derivation = {}};
    auto config = compile_config_for(*backend_, request);
    if (!config) return fail(std::move(config.error()));
    const auto folder = this->folder();
    PlanKernels found{std::vector<KernelCode>(plan.trees.size()), *config};
    std::vector<Missing> missing;
    CompileJob job{std::move(*config), {}, {}};
    for (size_t i = 0; i < plan.trees.size(); i++) {
        job.program = plan.keys[i];
        if (const auto place = known_.find(job); place != known_.end()) {
            const Known& known = place->second;
            found.kernels[i] = {known.code.lock(), known.index, known.function, known.code_bytes};
        }
        if (found.kernels[i].code) continue;
        missing.push_back({.place = i,
                           .tree = plan.trees[i].get(),
                           .job = job,
                           .job_bytes = canonical_bytes(job),
                           .kept = {},
                           .made = {}});
        if (folder) missing.back().find_in(*folder);
        (missing.back().kept ? counts->loaded : counts->compiled)++;
    }
    if (auto made = make(missing, plan, threads, found.kernels, counts, progress); !made)
        return fail(std::move(made.error()));
    const auto after = compile_config_for(*backend_, request);
    if (!after) return fail(after.error());
    if (auto same = check_same_config(found.config, *after); !same) return fail(std::move(same.error()));
    for (const Missing& kernel : missing) {
        if (folder && !kernel.kept) kernel.store_in(*folder, label_of(plan, kernel.tree));
    }
    return found;
}

}  // namespace heddle::runtime
