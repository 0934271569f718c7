// Systems that name the CPU they run on: what of it this machine must have.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "running/binding.h"
#include "helpers/codes.h"
#include "target/detect_host.h"
#include "target/facts.h"
#include "target/tags.h"

namespace heddle::running {
namespace {

using Features = std::set<std::string, std::less<>>;

Result<Binding> bind(const Target& device, const Inventory& inventory) {
    Target machine;
    machine.kind = "machine";
    machine.devices.push_back({.name = "a", .target = std::make_shared<const Target>(device)});
    const auto system = placing::system_of(machine);
    if (!system) return fail(system.error());
    return bind_devices(*system, inventory);
}

// A processor of this instruction set that has these features.
Inventory machine_with(const std::string& arch, Features features) {
    Inventory inventory;
    inventory.devices.push_back({"cpu", "a processor", arch, std::move(features), 0, 0, nullptr});
    return inventory;
}

Target cpu_named(const std::string& arch, const std::string& cpu) {
    Target target;
    target.arch = arch;
    target.cpu = cpu;
    return target;
}

Features words_of(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

// Features that an operating system or a monitor may hide, and kernels never use.
Features of_systems(const std::string& arch) { return words_of(member(*detection_facts(arch), "system")->text); }

TEST(Binding, each_cpu_runs_what_is_for_a_cpu_of_no_more_features) {
    for (const char* arch : {"x86_64", "aarch64"}) {
        const InstructionSet* set = find_instruction_set(arch);
        const Features hidden = of_systems(arch);
        size_t fit = 0, refused = 0;
        for (const auto& [here, features] : set->cpus) {
            Features present = words_of(features);
            for (const std::string& feature : hidden) present.erase(feature);
            const Inventory inventory = machine_with(arch, present);
            for (const auto& [cpu, asked] : set->cpus) {
                Features missing = words_of(asked);
                std::erase_if(missing, [&](const std::string& f) {
                    return present.contains(f) || missing_features(arch, {f}, {}).empty();
                });
                const auto bound = bind(cpu_named(arch, cpu), inventory);
                EXPECT_EQ(bound.has_value(), missing.empty()) << here << " runs " << cpu;
                (bound ? fit : refused)++;
                if (bound) continue;
                EXPECT_EQ(code_of(bound), "running.missing_feature") << cpu;
                EXPECT_TRUE(bound.error()[0].summary.ends_with(fmt::format(": {}", fmt::join(missing, ", "))))
                    << bound.error()[0].summary;
            }
        }
        EXPECT_GT(fit, set->cpus.size());
        EXPECT_GT(refused, set->cpus.size());
    }
}

// What is asked of machines is not quietly nothing: what makes a level of the instruction set is asked for.
TEST(Binding, features_that_kernels_use_are_asked_for) {
    for (const char* feature :
         {"avx2", "fma", "avx512f", "avx512bw", "bmi2", "lzcnt", "movbe", "f16c", "sse4a", "gfni"})
        EXPECT_EQ(missing_features("x86_64", {feature}, {}), std::vector<std::string>{feature});
    for (const char* feature : {"neon", "sve", "sve2", "dotprod", "fullfp16", "lse", "bf16"})
        EXPECT_EQ(missing_features("aarch64", {feature}, {}), std::vector<std::string>{feature});
    for (const char* feature : {"sgx", "pku", "shstk"}) EXPECT_TRUE(missing_features("x86_64", {feature}, {}).empty());
}

TEST(Binding, each_shipped_cpu_that_this_machine_satisfies_runs_here) {
    const Inventory here = inventory_of_this_machine(1);
    const Target host = detect_host();
    size_t fit = 0;
    const auto& tags = TargetTags::built_in();
    for (const auto& [name, tag] : tags.all()) {
        const auto target = tags.target(name);
        ASSERT_TRUE(target);
        if (target->kind != "cpu" || target->level() != TargetLevel::device || target->arch != host.arch) continue;
        const auto missing = missing_features(host.arch, features_of(*target), features_of(host));
        Target device = *target;
        device.memory_bytes = 0;
        const auto bound = bind(device, here);
        EXPECT_EQ(bound.has_value(), missing.empty()) << name << (bound ? "" : render(bound.error()));
        fit += bound.has_value();
    }
    if (host.arch == "x86_64") {
        EXPECT_GT(fit, 0u);
    }
    for (const std::string& cpu : cpus_within(host.arch, features_of(host)))
        EXPECT_TRUE(bind(cpu_named(host.arch, cpu), here)) << cpu;
}

}  // namespace
}  // namespace heddle::running
