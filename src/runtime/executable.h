// A plan with code. An Executable is immutable and shared between threads; a Session runs it in the memory of an arena.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/numbers.h"
#include "plan/plan.h"
#include "runtime/arena.h"
#include "runtime/kernel_cache.h"
#include "support/tensor_data.h"
#include "support/thread_pool.h"

namespace heddle::runtime {

class PreparedStore;

// Memory by where it begins: what several programs share they name by the same address.
using MemoryInUse = std::map<const void*, int64_t>;

class Executable {
public:
    // Compiles and runs `prepare`, on the pool or the backend's device: the stages code, link and prepare. What `store`
    // has is not prepared again; null stands for one of its own. Constants that only `prepare` reads are given up
    // afterwards. `coming`: what was told of the plan while it was made. Code support.cancelled, and those of
    // KernelCache::kernels and of the device.
    static Result<std::shared_ptr<const Executable>> make(plan::Plan plan, KernelCache& cache, ThreadPool& pool,
                                                          Progress* progress = nullptr, PreparedStore* store = nullptr,
                                                          KernelCache::Coming* coming = nullptr);
    // With what another executable of this plan has prepared, by buffer (aligned, with slack behind; only read): of a
    // backend without a device.
    static Result<std::shared_ptr<const Executable>> make_prepared(plan::Plan plan, KernelCache& cache,
                                                                   ThreadPool& pool,
                                                                   std::vector<std::shared_ptr<std::byte>> prepared,
                                                                   PreparedStore& store);

    // The same, that keeps only what runs need: its plan has no trees, and no `prepare`. With these blocks of equal
    // contents, by buffer, for its own where there is one.
    std::shared_ptr<const Executable> to_run(std::vector<std::shared_ptr<std::byte>> blocks = {}) const;

    const plan::Plan& plan() const { return plan_; }
    KernelCounts kernels() const { return counts_; }
    // What its kernels were compiled under.
    const CompileConfig& config() const { return config_; }
    // Where they run, and whose memory prepared buffers are. Null: in this process.
    const std::shared_ptr<codegen::Device>& device() const { return device_; }
    // Of a prepared buffer, or a constant that comes from the store, that runs read; else empty. Not of a device.
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
    std::vector<KernelCode> kernels_;
    CompileConfig config_;
    std::shared_ptr<codegen::Device> device_;
    std::vector<std::shared_ptr<std::byte>> prepared_;  // by buffer, and constants from the store
    KernelCounts counts_;
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
// Whether donated inputs (plan.h) have memory that no other input has. Code runtime.donation.
Result<void> check_donated(const plan::Plan& plan, const std::vector<TensorData>& inputs);
// Code runtime.input_dtype.
Diagnostic wrong_dtype(const std::string& input, const TensorType& expected, const TensorData& found);

// Told between the batches of a run, by the thread that runs it.
class BetweenBatches {
public:
    virtual ~BetweenBatches() = default;
    // Before and behind the batch of this number among the plan's `run`. An error ends the run.
    virtual Result<void> before(size_t batch) = 0;
    virtual Result<void> behind(size_t batch) = 0;
};

class Session {
public:
    // Sessions with one arena run one at a time, as those with one pool do. Null stands for an arena of its own, as
    // does one of another device.
    Session(std::shared_ptr<const Executable> executable, std::shared_ptr<ThreadPool> pool,
            std::shared_ptr<Arena> arena = nullptr);

    const Executable& executable() const { return *executable_; }
    const plan::Plan& plan() const { return executable_->plan(); }
    // Of the plan, for the sizes that it was last given.
    const plan::Numbers& numbers() const { return numbers_; }
    // For inputs of these shapes, and these names, from now on; false: it is as before (plan/numbers.h).
    bool resize(std::span<const TensorData> inputs, const std::map<std::string, int64_t>& names = {},
                const plan::ChooseCapacity& capacity = {});

    // What the program was planned by holds for kernels of this config alone: under another one `run` launches nothing
    // (backends.config_mismatch).
    void expect(const CompileConfig& queried) { expected_ = check_same_config(queried, executable_->config()); }

    // One tensor a graph input, in order, of its dtype and shape (codes of check_inputs), and of the value that the
    // plan holds for (runtime.decided_input). The results are the caller's; where the plan has donations, they are these
    // inputs, whose memory is written to, and which a run that fails may leave half done (runtime.donation: another
    // input shares it). An index out of range: runtime.index_out_of_range.
    // `watched` can end a long run (support.cancelled). Memory that is not there: runtime.out_of_memory.
    Result<std::vector<TensorData>> run(const std::vector<TensorData>& inputs, Progress* watched = nullptr);
    // The same into memory that is there already (from an earlier run): nothing is allocated. Outputs that take over the
    // memory of inputs become these.
    Result<void> run(const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs,
                     Progress* watched = nullptr);
    // The same without a check of inputs, of which only the memory is given: dense ones of the plan's present types and its
    // values. Of no device, and of a plan without donations. `between` may fill in where inputs and outputs lie that no batch
    // before has touched.
    Result<void> run_fitting(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs,
                             Progress* watched, BetweenBatches* between = nullptr);
    // Without memory where an input gives it.
    std::vector<TensorData> make_outputs() const;

    // With a profile, launches of a batch run one after another, each timed.
    void set_profile(std::vector<LaunchTime>* profile) { profile_ = profile; }
    // The contents of a buffer of the session or of `prepare` after a run, row-major; not of packed ones. Of memory
    // that buffers share (without PlanOptions::keep_all), or sessions, what came last. Codes of the device.
    Result<TensorData> contents(int32_t buffer) const;

    int64_t bytes() const;  // that a run needs of the arena
    Arena& arena() { return *arena_; }

private:
    Result<void> launch(std::span<const std::byte* const> inputs, std::vector<TensorData>& outputs, Progress* watched,
                        BetweenBatches* between = nullptr);
    Result<void> stage_inputs(const std::vector<TensorData>& inputs);
    Result<void> take_outputs(std::vector<TensorData>& outputs) const;

    std::shared_ptr<const Executable> executable_;
    std::shared_ptr<ThreadPool> pool_;
    std::shared_ptr<Arena> arena_;
    plan::Numbers numbers_;
    std::unique_ptr<plan::SizedPlan> sized_;  // once there was another size
    Result<void> expected_;
    std::vector<std::shared_ptr<std::byte>> staged_;  // by buffer: inputs and outputs on the device
    std::vector<LaunchTime>* profile_ = nullptr;
};

}  // namespace heddle::runtime
