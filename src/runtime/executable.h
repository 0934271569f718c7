// A plan with code. An Executable is immutable and shared between threads; a Session runs it in the memory of an arena.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "plan/plan.h"
#include "runtime/arena.h"
#include "support/tensor_data.h"
#include "support/thread_pool.h"

namespace heddle::cache {
class Folder;
}

namespace heddle::runtime {

// How often KernelCache had to compile.
struct KernelCounts {
    int64_t compiled = 0;
    int64_t loaded = 0;  // from the folder
};

class PreparedStore;

// Compiled kernels by key, for all plans of a process: a new shape of a known class compiles nothing. Code is there as
// long as a plan has it; with a folder it is kept for later plans, and other processes, too.
class KernelCache {
public:
    explicit KernelCache(std::shared_ptr<codegen::Backend> backend, std::shared_ptr<cache::Folder> folder = nullptr)
        : backend_(std::move(backend)), folder_(std::move(folder)) {}

    struct Entry {
        std::shared_ptr<codegen::CompiledKernels> code;
        codegen::KernelFunction function = nullptr;
        int64_t code_bytes = 0;  // of all kernels of `code`
    };
    // Null: none.
    std::shared_ptr<cache::Folder> folder() const { return folder_; }
    void use_folder(std::shared_ptr<cache::Folder> folder) { folder_ = std::move(folder); }

    // Functions of all trees of the plan; `counts`: of those that were not known. Nothing is kept of what is cancelled.
    Result<std::vector<Entry>> functions(const plan::Plan& plan, int threads, KernelCounts* counts,
                                         Progress* progress = nullptr);

    // Until no thread is at work on what was cancelled: before a process ends.
    void settle() { backend_->settle(); }
    // Before this plan's weights come to memory: the compiler's own goes (codegen/backend.h), if it counts beside them.
    void make_way(const plan::Plan& plan);

private:
    struct Missing;
    std::string disk_key(const std::string& key) const;
    Result<void> compile(std::vector<Missing>& missing, const plan::Plan& plan, int threads, Progress* progress);
    Result<void> add(const std::vector<Missing>& missing, std::vector<Entry>& entries, Progress* progress);

    std::shared_ptr<codegen::Backend> backend_;
    std::atomic<std::shared_ptr<cache::Folder>> folder_;
    std::timed_mutex mutex_;
    struct Known {
        std::weak_ptr<codegen::CompiledKernels> code;
        codegen::KernelFunction function = nullptr;
        int64_t code_bytes = 0;
    };
    std::map<std::string, Known> known_;
};

// Memory by where it begins: what several programs share they name by the same address.
using MemoryInUse = std::map<const void*, int64_t>;

class Executable {
public:
    // Compiles and runs `prepare` on the pool: the stages code, link and prepare. What `store` has is not prepared
    // again; null stands for one of its own. Constants that only `prepare` reads are given up afterwards. Code
    // support.cancelled, and those of the backend.
    static Result<std::shared_ptr<const Executable>> make(plan::Plan plan, KernelCache& cache, ThreadPool& pool,
                                                          Progress* progress = nullptr, PreparedStore* store = nullptr);
    // With what another executable of this plan has prepared, by buffer (aligned, with slack behind; only read).
    static Result<std::shared_ptr<const Executable>> make_prepared(plan::Plan plan, KernelCache& cache,
                                                                   ThreadPool& pool,
                                                                   std::vector<std::shared_ptr<std::byte>> prepared,
                                                                   PreparedStore& store);

    // The same, that keeps only what runs need: its plan has no trees, and no `prepare`. With these blocks of equal
    // contents, by buffer, for its own where there is one.
    std::shared_ptr<const Executable> to_run(std::vector<std::shared_ptr<std::byte>> blocks = {}) const;

    const plan::Plan& plan() const { return plan_; }
    KernelCounts kernels() const { return kernels_; }
    // Of a prepared buffer, or a constant that comes from the store, that runs read; else empty.
    std::span<const std::byte> prepared(int32_t buffer) const;
    const std::shared_ptr<std::byte>& block(int32_t buffer) const { return prepared_[static_cast<size_t>(buffer)]; }
    // Code, prepared memory, constants that are copies of its own, and about what the plan takes.
    MemoryInUse memory() const;
    // Bytes of prepared memory and constants that this executable keeps.
    int64_t resident_bytes() const;

private:
    friend class Session;
    std::byte* fixed_address(int32_t buffer) const;

    plan::Plan plan_;
    std::vector<KernelCache::Entry> functions_;
    std::vector<std::shared_ptr<std::byte>> prepared_;  // by buffer, and constants from the store
    KernelCounts kernels_;
};

// How long one launch of a run took, for profiles.
struct LaunchTime {
    std::string name;
    bool layout = false;
    int32_t tree = -1;
    double microseconds = 0;
    std::chrono::steady_clock::time_point begin = {};
};

// Whether tensors are what a program takes. Codes runtime.input_count, runtime.input_dtype, runtime.input_shape.
Result<void> check_inputs(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                          const std::vector<TensorData>& inputs);
// Code runtime.input_dtype.
Diagnostic wrong_dtype(const std::string& input, const TensorType& expected, const TensorData& found);

class Session {
public:
    // Sessions with one arena run one at a time, as those with one pool do. Null stands for an arena of its own.
    Session(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool,
            std::shared_ptr<Arena> arena = nullptr);

    const Executable& executable() const { return *executable_; }

    // One tensor a graph input, in order, of its dtype and shape (codes of check_inputs), and of the value that the
    // plan holds for (runtime.decided_input). The results are the caller's. An index out of range:
    // runtime.index_out_of_range.
    Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs);
    // The same into memory that is there already (from an earlier run): nothing is allocated.
    Result<void> run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs);
    std::vector<TensorData> make_outputs() const;

    // With a profile, launches of a batch run one after another, each timed.
    void set_profile(std::vector<LaunchTime>* profile) { profile_ = profile; }
    // The contents of a buffer of the session or of `prepare` after a run, row-major; not of packed ones. Of memory
    // that buffers share (without PlanOptions::keep_all), or sessions, what came last.
    TensorData contents(int32_t buffer) const;

    int64_t bytes() const;  // that a run needs of the arena

private:
    std::shared_ptr<const Executable> executable_;
    std::shared_ptr<ThreadPool> pool_;
    std::shared_ptr<Arena> arena_;
    Arena::User user_;
    std::vector<LaunchTime>* profile_ = nullptr;
};

}  // namespace heddle::runtime
