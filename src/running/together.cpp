#include "running/together.h"

#include <algorithm>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/hash.h"
#include "running/same_constants.h"
#include "transport/agree.h"
#include "transport/in_process.h"

namespace heddle::running {
namespace {

std::vector<std::shared_ptr<transport::Transport>> ends_in_memory(size_t count, std::chrono::milliseconds timeout) {
    std::vector<std::shared_ptr<transport::Transport>> ends;
    for (auto& end : transport::make_in_process(static_cast<int>(count), timeout)) ends.push_back(std::move(end));
    return ends;
}

// Sizes: texts have names for those that the program leaves open.
std::string numbers_of(const TensorType& type) { return fmt::format("{}\n", fmt::join(type.extents(), " ")); }

// Of all that processes compute and send, but for the values of constants.
std::string digest_of(const std::vector<placing::Module>& processes) {
    std::string text;
    for (const placing::Module& module : processes) {
        text += placing::print(module);
        for (const placing::Function& function : module.functions) {
            for (const placing::Value& value : function.values) text += numbers_of(value.type);
            for (const placing::Step& step : function.steps) {
                if (!step.graph) continue;
                text += print(*step.graph);
                for (const Tensor& tensor : step.graph->tensors) text += numbers_of(tensor.type);
            }
        }
    }
    return cache::digest(text);
}

}  // namespace

std::vector<Inventory> inventories_here(size_t processes, int threads, std::shared_ptr<runtime::KernelCache> kernels) {
    if (!kernels) kernels = inference::make_kernel_cache();
    const int cores = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
    const int share = std::max(1, cores / std::max(1, static_cast<int>(processes)));
    std::vector<Inventory> inventories;
    for (size_t i = 0; i < processes; i++) inventories.push_back(inventory_of_this_machine(share, kernels));
    return inventories;
}

Result<std::shared_ptr<Together>> Together::load(std::vector<placing::Module> processes,
                                                 const std::vector<Inventory>& inventories,
                                                 std::chrono::milliseconds timeout) {
    auto together = std::make_shared<Together>();
    together->timeout_ = timeout;
    for (size_t i = 0; i < processes.size(); i++) {
        auto program = Program::load(std::move(processes[i]), inventories[i]);
        if (!program) return fail(std::move(program.error()));
        together->programs_.push_back(std::move(*program));
    }
    together->ends_ = ends_in_memory(together->programs_.size(), timeout);
    return together;
}

Result<std::shared_ptr<Together>> Together::join(std::vector<placing::Module> processes,
                                                 std::shared_ptr<transport::Transport> transport,
                                                 const Inventory& inventory) {
    const std::string digest = digest_of(processes);
    if (auto same = transport::agree(*transport, "program", std::as_bytes(std::span(digest))); !same)
        return fail(std::move(same.error()));
    if (auto same = agree_on_constants(*transport, processes); !same) return fail(std::move(same.error()));
    auto program = Program::load(std::move(processes[static_cast<size_t>(transport->rank())]), inventory);
    if (!program) return fail(std::move(program.error()));
    auto together = std::make_shared<Together>();
    together->programs_.push_back(std::move(*program));
    together->ends_.push_back(std::move(transport));
    return together;
}

Result<std::vector<std::vector<TensorData>>> Together::run(const std::vector<std::vector<TensorData>>& arguments,
                                                           std::vector<RunReport>* reports) {
    std::vector<Result<std::vector<DeviceTensor>>> made(size());
    if (reports) reports->assign(size(), {});
    const auto run_one = [&](size_t own) {
        const std::vector<TensorData>& inputs = arguments[own];
        std::vector<DeviceTensor> placed;
        const placing::Function& entry = programs_[own]->entry();
        for (size_t i = 0; i < inputs.size() && i < entry.parameters.size(); i++)
            placed.push_back({inputs[i], entry.value(entry.parameters[i]).memory});
        made[own] = programs_[own]->run(placed, reports ? &(*reports)[own] : nullptr, ends_[own].get());
    };
    {
        std::vector<std::jthread> others;
        for (size_t own = 1; own < size(); own++) others.emplace_back(run_one, own);
        run_one(0);
    }
    const auto is_first = [](const auto& result) {
        return !result && !result.error()[0].code.starts_with("transport.");
    };
    auto failed = std::ranges::find_if(made, is_first);
    if (failed == made.end()) failed = std::ranges::find_if(made, [](const auto& result) { return !result; });
    if (failed != made.end()) {
        if (timeout_.count() > 0) ends_ = ends_in_memory(size(), timeout_);  // for a next run
        return fail(std::move(failed->error()));
    }
    std::vector<std::vector<TensorData>> results;
    for (auto& tensors : made) {
        auto& own = results.emplace_back();
        for (DeviceTensor& tensor : *tensors) own.push_back(std::move(tensor.data));
    }
    return results;
}

}  // namespace heddle::running
