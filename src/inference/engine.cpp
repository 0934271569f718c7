#include "inference/engine.h"

#include <algorithm>
#include <thread>

#include "backends/llvm/llvm_backend.h"
#include "evaluate/work.h"
#include "inference/host.h"
#include "support/guarded.h"
#include "support/resident_memory.h"

namespace heddle::inference {

std::shared_ptr<runtime::KernelCache> make_kernel_cache(std::shared_ptr<cache::Folder> folder,
                                                        std::shared_ptr<codegen::Backend> backend) {
    if (!backend) backend = std::make_shared<backends::LlvmBackend>();
    return std::make_shared<runtime::KernelCache>(std::move(backend), std::move(folder));
}

std::shared_ptr<Engine> make_engine(int threads, std::shared_ptr<runtime::KernelCache> kernels,
                                    std::shared_ptr<runtime::PreparedStore> prepared) {
    auto engine = std::make_shared<Engine>();
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    engine->pool = std::make_shared<ThreadPool>(threads);
    engine->arena = std::make_shared<runtime::Arena>(threads, kernels->device());
    engine->kernels = std::move(kernels);
    engine->prepared = std::move(prepared);
    engine->target = engine->kernels->backend().target(host_target(engine->kernels->folder().get()));
    return engine;
}

namespace {

// Its kernels are compiled as they come.
Result<std::shared_ptr<const runtime::Executable>> planned(const Graph& graph, Engine& engine, plan::PlanOptions options,
                                                           const Diagnostic* instead_of) {
    runtime::KernelCache::Coming coming(*engine.kernels, engine.target, engine.pool->threads());
    options.kernel_made = [&](const auto& key, const auto& tree) { coming.tell(key, tree); };
    auto plan = plan::make_plan(graph, engine.target, options);
    if (!plan) return fail(std::move(plan.error()));
    if (instead_of) plan->notes.push_back(plan::not_fused(*instead_of));
    const plan::Numbers numbers(*plan);
    if (!engine.kernels->device() && runtime::run_bytes(*plan, numbers) > physical_memory_bytes())
        return runtime::out_of_memory(*plan, numbers);
    return guarded("inference.broken", [&] {
        return runtime::Executable::make(std::move(*plan), *engine.kernels, *engine.pool, options.progress,
                                         engine.prepared.get(), &coming);
    });
}

// Of what compiles kernels; a model or a machine is never at fault.
bool is_mistake(const Diagnostic& problem) {
    return problem.code == "inference.broken" || problem.code == "backends.internal" || problem.code == "backends.link";
}

}  // namespace

Result<std::shared_ptr<const runtime::Executable>> compile(const Graph& graph, Engine& engine,
                                                           const plan::PlanOptions& options) {
    if (auto fine = plan::check_placements(graph); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_work(graph, engine.work.operations, 1, engine.work.option); !fine)
        return fail(std::move(fine.error()));
    auto made = planned(graph, engine, options, nullptr);
    const bool again = !made && is_mistake(made.error().front()) && (options.fuse || options.passes);
    if (!again) return made;
    plan::PlanOptions plain = options;
    plain.fuse = false;
    plain.passes = nullptr;
    auto simpler = planned(graph, engine, plain, &made.error().front());
    return simpler ? std::move(simpler) : std::move(made);
}

}  // namespace heddle::inference
