#include "cli/run_placed.h"

#include <chrono>

#include "cli/support.h"
#include "target/hosts.h"

namespace heddle::cli {

Result<PlacedRun> run_placed(const Graph& graph, const std::vector<TensorData>& feeds, const RunOptions& options) {
    using Clock = std::chrono::steady_clock;
    PlacedRun run;
    auto begin = Clock::now();
    auto target = open_target(options.system);
    if (!target) return fail(std::move(target.error()));
    target = with_this_host(std::move(*target), this_machine());
    auto placed = explain::placed(graph, *target, options.place);
    if (!placed) return fail(std::move(placed.error()));
    const auto inventory = running::inventory_of_this_machine(options.threads, usable_folder(options.cache));
    auto program = running::Program::load(placed->module, inventory, placed->placement.peak_bytes);
    if (!program) return fail(std::move(program.error()));
    std::vector<running::DeviceTensor> arguments;
    const placing::Function& entry = (*program)->entry();
    for (size_t i = 0; i < feeds.size(); i++) {
        auto there = (*program)->put(feeds[i], entry.value(entry.parameters[i]).memory);
        if (!there) return fail(std::move(there.error()));
        arguments.push_back(std::move(*there));
    }
    run.compile_ms = milliseconds_since(begin);
    for (int64_t i = 0; i < options.repeat; i++) {
        begin = Clock::now();
        run.report = {};
        auto results = (*program)->run(arguments, &run.report);
        if (!results) return fail(std::move(results.error()));
        run.run_ms.push_back(milliseconds_since(begin));
        run.outputs.clear();
        for (running::DeviceTensor& result : *results) run.outputs.push_back(std::move(result.data));
    }
    for (size_t f = 0; f < placed->module.functions.size(); f++) {
        const placing::Function& function = placed->module.functions[f];
        for (size_t s = 0; s < function.steps.size(); s++) {
            const plan::Plan* plan = (*program)->plan(placing::FunctionId(f), s);
            if (!plan) continue;
            auto& kernels = run.kernels.emplace_back(PlacedRun::Kernels{function.name, {}});
            for (const plan::Batch& batch : plan->run) {
                for (const plan::Launch& launch : batch) kernels.launches.emplace_back(launch.name, launch.tasks);
            }
        }
    }
    run.placed = std::move(*placed);
    return run;
}

}  // namespace heddle::cli
