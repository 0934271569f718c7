#include "artefact/prepared_weights.h"

#include <algorithm>
#include <thread>

#include "backends/llvm/llvm_backend.h"

namespace heddle::artefact {

WeightMaker::WeightMaker()
    : pool_(static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))),
      kernels_(std::make_shared<backends::LlvmBackend>()),
      host_(detect_host()) {}

Result<std::vector<runtime::Block>> WeightMaker::make(const plan::Plan& plan, Progress* progress) {
    plan::Plan prepare = plan;
    prepare.run.clear();
    prepare.target = host_;
    prepare.trees.clear();
    prepare.keys.clear();
    std::map<int32_t, int32_t> kept;
    for (plan::Batch& batch : prepare.prepare) {
        for (plan::Launch& launch : batch) {
            const auto [found, added] = kept.try_emplace(launch.tree, static_cast<int32_t>(prepare.trees.size()));
            if (added) {
                prepare.trees.push_back(plan.trees[static_cast<size_t>(launch.tree)]);
                prepare.keys.push_back(plan.keys[static_cast<size_t>(launch.tree)]);
            }
            launch.tree = found->second;
        }
    }
    runtime::KernelCounts counts;
    auto kernels = kernels_.kernels(prepare, pool_.threads(), &counts, nullptr);
    if (!kernels) return fail(std::move(kernels.error()));
    if (auto wanted = step_done(progress, 0); !wanted) return fail(std::move(wanted.error()));
    return runtime::prepare(prepare, *kernels, pool_, store_, nullptr, nullptr);
}

}  // namespace heddle::artefact
