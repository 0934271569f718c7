#include "devices/together.h"

#include <algorithm>
#include <thread>

#include "transport/in_process.h"

namespace heddle::devices {

Result<std::shared_ptr<Together>> Together::load(std::vector<modules::Module> processes, int threads,
                                                 std::shared_ptr<cache::Folder> folder,
                                                 std::chrono::milliseconds timeout) {
    auto together = std::make_shared<Together>();
    together->timeout_ = timeout;
    const int cores = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
    const int share = std::max(1, cores / std::max(1, static_cast<int>(processes.size())));
    const auto kernels = inference::make_kernel_cache(std::move(folder));
    for (modules::Module& module : processes) {
        auto program = Program::load(std::move(module), inventory_of_this_machine(share, kernels));
        if (!program) return fail(std::move(program.error()));
        together->programs_.push_back(std::move(*program));
    }
    return together;
}

Result<std::vector<std::vector<TensorData>>> Together::run(const std::vector<std::vector<TensorData>>& arguments,
                                                           std::vector<RunReport>* reports) {
    auto ends = transport::make_in_process(static_cast<int>(size()), timeout_);
    std::vector<Result<std::vector<DeviceTensor>>> made(size());
    if (reports) reports->assign(size(), {});
    const auto run_one = [&](size_t p) {
        std::vector<DeviceTensor> own;
        const modules::Function& entry = programs_[p]->entry();
        for (size_t i = 0; i < arguments[p].size(); i++)
            own.push_back({arguments[p][i], entry.value(entry.parameters[i]).memory});
        made[p] = programs_[p]->run(own, reports ? &(*reports)[p] : nullptr, ends[p].get());
    };
    {
        std::vector<std::jthread> others;
        for (size_t p = 1; p < size(); p++) others.emplace_back(run_one, p);
        run_one(0);
    }
    const auto is_first = [](const auto& result) { return !result && !result.error()[0].code.starts_with("transport."); };
    auto failed = std::ranges::find_if(made, is_first);
    if (failed == made.end()) failed = std::ranges::find_if(made, [](const auto& result) { return !result; });
    if (failed != made.end()) return fail(std::move(failed->error()));
    std::vector<std::vector<TensorData>> results;
    for (auto& tensors : made) {
        auto& own = results.emplace_back();
        for (DeviceTensor& tensor : *tensors) own.push_back(std::move(tensor.data));
    }
    return results;
}

}  // namespace heddle::devices
