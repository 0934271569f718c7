#include "running/binding.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/facts.h"

namespace heddle::running {
namespace {

using placing::Device;
using placing::DeviceId;
using placing::Memory;
using placing::MemoryId;
using placing::System;

int64_t memory_of_this_machine() {
    return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
}

class Binder {
public:
    Binder(const System& system, const Inventory& inventory, const std::vector<int64_t>& needed)
        : system_(system), inventory_(inventory), needed_(needed), left_(inventory.devices.size()) {
        for (size_t p = 0; p < left_.size(); p++) left_[p] = inventory.devices[p].memory_bytes;
        carried_.assign(left_.size(), 0);
    }

    Result<Binding> bind() {
        for (size_t d = 0; d < system_.devices.size(); d++) bind_device(DeviceId(d));
        if (!problems_.empty()) return fail(std::move(problems_));
        return std::move(binding_);
    }

private:
    struct Refusal {
        int rank = -1;  // how far it came: what is said is of the device that fits best
        Diagnostic problem;
    };

    void bind_device(DeviceId id) {
        const Device& device = system_.device(id);
        if (device.target->kind == "library") {
            auto library = find_library(*device.target, inventory_);
            binding_.devices.push_back(library ? *library : 0);
            if (!library) problems_.insert(problems_.end(), library.error().begin(), library.error().end());
            return;
        }
        const auto virtual_device =
            std::tuple(system_.memory(device.memories.front()).machine, device.target->kind, device.id);
        const auto known = bound_.find(virtual_device);
        if (known != bound_.end()) {
            binding_.devices.push_back(known->second);
            return;
        }
        Refusal refusal;
        for (size_t p = 0; p < inventory_.devices.size(); p++) {
            auto problem = misfit(device, p);
            if (problem.rank < 0) {
                take(device, p);
                bound_[virtual_device] = p;
                binding_.devices.push_back(p);
                return;
            }
            if (problem.rank > refusal.rank) refusal = std::move(problem);
        }
        if (refusal.rank < 0) refusal.problem = missing_kind(device);
        problems_.push_back(std::move(refusal.problem));
        binding_.devices.push_back(0);
    }

    Diagnostic missing_kind(const Device& device) const {
        std::set<std::string> kinds;
        for (const PhysicalDevice& physical : inventory_.devices) kinds.insert(physical.kind);
        return {.code = "running.missing_kind",
                .summary = fmt::format("device '{}' is of the kind '{}', and there is none here", device.name,
                                       device.target->kind),
                .found = fmt::format("{}", fmt::join(kinds, ", ")),
                .remedy = "run it on a machine that has such a device, or describe another system",
                .params = {{"device", device.name}, {"kind", device.target->kind}}};
    }

    // Rank below zero: it fits.
    Refusal misfit(const Device& device, size_t p) const {
        const PhysicalDevice& physical = inventory_.devices[p];
        if (physical.kind != device.target->kind) return {0, missing_kind(device)};
        const std::string& arch = device.target->arch;
        if (!arch.empty() && !physical.arch.empty() && arch != physical.arch) {
            Diagnostic problem = missing_kind(device);
            problem.summary = fmt::format("device '{}' is a {} of {}, and here is one of {}", device.name,
                                          physical.kind, arch, physical.arch);
            problem.found = physical.name;
            return {0, std::move(problem)};
        }
        const auto missing = missing_features(physical.arch, features_of(*device.target), physical.features);
        if (!missing.empty()) {
            return {1,
                    {.code = "running.missing_feature",
                     .summary = fmt::format("device '{}' needs what {} has not: {}", device.name, physical.name,
                                            fmt::join(missing, ", ")),
                     .remedy = "run it on a machine that has it, or leave it out of the target's features",
                     .params = {{"device", device.name}, {"features", fmt::format("{}", fmt::join(missing, ","))}}}};
        }
        if (physical.carries > 0 && carried_[p] >= physical.carries) {
            return {2,
                    {.code = "running.missing_device",
                     .summary = fmt::format("device '{}' is one more than there are of the kind '{}'", device.name,
                                            physical.kind),
                     .remedy = "describe a system of fewer devices, or run it where there are more",
                     .params = {{"device", device.name}}}};
        }
        for (MemoryId memory : device.memories) {
            if (physical.memory_bytes == 0 || bytes_of(memory) <= left_[p]) continue;
            return {3,
                    {.code = "running.missing_memory",
                     .summary = fmt::format("device '{}' has not the memory that it is to have", device.name),
                     .expected = fmt::format("{} bytes of '{}'", bytes_of(memory), system_.memory(memory).scope),
                     .found = fmt::format("{} bytes left on {}", left_[p], physical.name),
                     .remedy = "run it where there is more, or describe a smaller memory",
                     .params = {{"device", device.name}, {"scope", system_.memory(memory).scope}}}};
        }
        return {};
    }

    int64_t bytes_of(MemoryId memory) const {
        const int64_t needed = needed_.empty() ? 0 : needed_[memory];
        return std::max(system_.memory(memory).bytes, needed);
    }

    void take(const Device& device, size_t p) {
        carried_[p]++;
        if (inventory_.devices[p].memory_bytes == 0) return;
        for (MemoryId memory : device.memories) left_[p] -= bytes_of(memory);
    }

    const System& system_;
    const Inventory& inventory_;
    const std::vector<int64_t>& needed_;
    std::vector<int64_t> left_;  // by physical device
    std::vector<int> carried_;
    std::map<std::tuple<std::string, std::string, int>, size_t> bound_;
    Binding binding_;
    Diagnostics problems_;
};

}  // namespace

Inventory inventory_of_this_machine(int threads, std::shared_ptr<cache::Folder> folder) {
    return inventory_of_this_machine(threads, inference::make_kernel_cache(std::move(folder)));
}

Inventory inventory_of_this_machine(int threads, std::shared_ptr<runtime::KernelCache> kernels) {
    Inventory inventory;
    const auto engine = inference::make_engine(threads, std::move(kernels));
    const auto features = features_of(engine->target);
    const std::string& arch = engine->target.arch;
    const int64_t bytes = memory_of_this_machine();
    inventory.devices.push_back({"cpu", "this processor", arch, features, bytes, 0, driver_of(engine)});
    inventory.devices.push_back({"reference", "the interpreter", "", {}, bytes, 0, reference_driver()});
    if (const auto compiler = backends::CCompiler::find()) {
        const auto driver = c_driver(*compiler, threads);
        inventory.devices.push_back({"c", compiler->version, arch, features, bytes, 0, driver});
        inventory.libraries.push_back({"cc", compiler->version, driver});
    }
    return inventory;
}

Result<Binding> bind_devices(const System& system, const Inventory& inventory, const std::vector<int64_t>& needed) {
    return Binder(system, inventory, needed).bind();
}

Result<size_t> find_library(const Target& target, const Inventory& inventory) {
    std::vector<std::string> known;
    for (size_t l = 0; l < inventory.libraries.size(); l++) {
        const PhysicalLibrary& library = inventory.libraries[l];
        known.push_back(library.library);
        const bool version = target.version.empty() || library.version.find(target.version) != std::string::npos;
        if (library.library == target.library && version) return l;
    }
    return fail({.code = "running.missing_library",
                 .summary = fmt::format("a function is for the library '{}'{}, which is not here", target.library,
                                        target.version.empty() ? "" : " " + target.version),
                 .found = known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                 .remedy = "install it, or give the function another target",
                 .params = {{"library", target.library}}});
}

}  // namespace heddle::running
