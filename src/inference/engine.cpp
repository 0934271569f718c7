#include "inference/engine.h"

#include <algorithm>
#include <thread>

#include "backends/llvm/llvm_backend.h"

namespace heddle::inference {

std::shared_ptr<runtime::KernelCache> make_kernel_cache() {
    return std::make_shared<runtime::KernelCache>(std::make_shared<backends::LlvmBackend>());
}

std::shared_ptr<Engine> make_engine(int threads, std::shared_ptr<runtime::KernelCache> kernels) {
    auto engine = std::make_shared<Engine>();
    if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    engine->pool = std::make_shared<ThreadPool>(threads);
    engine->kernels = std::move(kernels);
    engine->target = detect_host();
    return engine;
}

Result<std::shared_ptr<const runtime::Executable>> compile(const Graph& graph, Engine& engine,
                                                           const plan::PlanOptions& options) {
    auto plan = plan::make_plan(graph, engine.target, options);
    if (!plan) return fail(std::move(plan.error()));
    if (auto fine = plan::verify(*plan); !fine) return fail(std::move(fine.error()));
    return runtime::Executable::make(std::move(*plan), *engine.kernels, *engine.pool);
}

}  // namespace heddle::inference
