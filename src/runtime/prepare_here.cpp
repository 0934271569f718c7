#include "runtime/prepare_here.h"

#include <algorithm>
#include <map>

namespace heddle::runtime {

Result<std::vector<Block>> prepare_here(const plan::Plan& plan, const Target& host, KernelCache& kernels,
                                        ThreadPool& pool, PreparedStore& store) {
    plan::Plan here = plan;
    here.target = host;
    here.trees.clear();
    here.keys.clear();
    here.run.clear();
    here.scratch_bytes = 0;
    std::map<int32_t, int32_t> trees;
    for (plan::Batch& batch : here.prepare) {
        for (plan::Launch& launch : batch) {
            const auto [known, is_new] = trees.try_emplace(launch.tree, static_cast<int32_t>(here.trees.size()));
            if (is_new) {
                const auto& tree = plan.trees[static_cast<size_t>(launch.tree)];
                here.trees.push_back(tree);
                here.keys.push_back(schedules::key(*tree, host));
            }
            launch.tree = known->second;
            here.scratch_bytes = greater(here.scratch_bytes, launch.scratch_bytes);
        }
    }
    KernelCounts counts;
    auto compiled = kernels.kernels(here, pool.threads(), &counts);
    if (!compiled) return fail(std::move(compiled.error()));
    return prepare(here, *compiled, pool, store, nullptr, nullptr);
}

}  // namespace heddle::runtime
