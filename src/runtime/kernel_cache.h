// Compiled kernels by their compile jobs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/backend.h"
#include "plan/plan.h"
#include "target/compile_job.h"

namespace heddle::cache {
class Folder;
}

namespace heddle::runtime {

// How often KernelCache had to compile.
struct KernelCounts {
    int64_t compiled = 0;
    int64_t loaded = 0;  // from the folder
};

// A kernel of a plan that can be launched.
struct KernelCode {
    std::shared_ptr<codegen::CompiledKernels> code;
    size_t index = 0;                            // in `code`
    codegen::KernelFunction function = nullptr;  // null: the backend's device launches it
    int64_t code_bytes = 0;                      // of all kernels of `code`
};

// The kernels of a plan's trees, in their order, and the config that all of them were compiled under.
struct PlanKernels {
    std::vector<KernelCode> kernels;
    CompileConfig config;
};

// For all plans of a process: a new shape of a known class compiles nothing. Code is there as long as a plan has it;
// with a folder it is kept for later plans, and other processes, too.
class KernelCache {
public:
    using TreePointer = std::shared_ptr<const schedules::Tree>;
    // The hash finds a job's place only: equal hashes of different jobs cost time, never a wrong kernel.
    using JobHash = uint64_t (*)(const CompileJob& job);
    explicit KernelCache(std::shared_ptr<codegen::Backend> backend, std::shared_ptr<cache::Folder> folder = nullptr,
                         JobHash hash = hash_of)
        : backend_(std::move(backend)), folder_(std::move(folder)), known_(0, hash) {}

    const codegen::Backend& backend() const { return *backend_; }
    // Null: kernels run in this process.
    std::shared_ptr<codegen::Device> device() const { return backend_->device(); }
    // Null: none.
    std::shared_ptr<cache::Folder> folder() const { return folder_; }
    void use_folder(std::shared_ptr<cache::Folder> folder) { folder_ = std::move(folder); }

    // Kernels of a plan that is still being made: code of those that are new is made meanwhile. The cache outlives it.
    class Coming {
    public:
        Coming(KernelCache& cache, const Target& target, int threads);
        ~Coming();
        Coming(const Coming&) = delete;
        Coming& operator=(const Coming&) = delete;
        // A kernel of the plan, by one thread.
        void tell(const std::string& key, const TreePointer& tree);

    private:
        friend KernelCache;
        struct State;
        std::unique_ptr<State> state_;
    };

    // Of all trees of the plan; `counts`: those that were not known. Nothing is kept of what is cancelled. Codes of
    // compile_config_for, of the backend; backends.config_mismatch: while it compiled, the backend's config changed;
    // backends.incomplete: it has left out kernels, or functions for them, and has no device.
    Result<PlanKernels> kernels(const plan::Plan& plan, int threads, KernelCounts* counts,
                                Progress* progress = nullptr) {
        Coming coming(*this, plan.target, threads);
        return kernels(plan, coming, counts, progress);
    }
    // What has been told of them is not begun again.
    Result<PlanKernels> kernels(const plan::Plan& plan, Coming& coming, KernelCounts* counts,
                                Progress* progress = nullptr);

    // Until no thread is at work on what was cancelled: before a process ends.
    void settle() { backend_->settle(); }
    // Before this plan's weights come to memory: the compiler's own goes (codegen/backend.h), if it counts beside them.
    void make_way(const plan::Plan& plan);

private:
    struct Missing;
    using Wanted = std::vector<Missing*>;  // of a plan, by their places
    KernelCode known(const CompileJob& job) const;
    Result<void> compile(const Wanted& missing, Coming& coming, Progress* progress);
    Result<void> add(const Wanted& missing, std::vector<KernelCode>& kernels, Progress* progress);
    Result<void> make(const Wanted& missing, Coming& coming, std::vector<KernelCode>& kernels, KernelCounts* counts,
                      Progress* progress);

    std::shared_ptr<codegen::Backend> backend_;
    std::atomic<std::shared_ptr<cache::Folder>> folder_;
    std::timed_mutex mutex_;
    struct Known {
        std::weak_ptr<codegen::CompiledKernels> code;
        size_t index = 0;
        codegen::KernelFunction function = nullptr;
        int64_t code_bytes = 0;
    };
    std::unordered_map<CompileJob, Known, JobHash> known_;
};

}  // namespace heddle::runtime
