// What is found out of this machine's CPU, beside LLVM's own detection.
#include <gtest/gtest.h>

#include <set>

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include "target/detect_host.h"
#include "target/facts.h"
#include "target/target.h"

namespace heddle::backends {
namespace {

TEST(HostFeatures, AreThoseThatLlvmFinds) {
    const std::string arch = detect_host().arch;
    if (arch != "x86_64") GTEST_SKIP() << "LLVM is asked on x86";
    const auto found = detect_features(arch);
    ASSERT_FALSE(found.empty());
    const std::set<std::string> of_llvm_alone = {"64bit", "evex512"};  // no bit of CPUID says them
    size_t compared = 0;
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
        const std::string name = feature.getKey().str();
        if (of_llvm_alone.contains(name)) continue;
        if (!find_instruction_set(arch)->features.contains(name)) continue;
        if (missing_features(arch, {name}, {}).empty() && !found.contains(name) && !feature.getValue()) continue;
        EXPECT_EQ(found.contains(name), feature.getValue()) << name;
        compared++;
    }
    EXPECT_GT(compared, 60u);
}

TEST(HostFeatures, AreAllThatTheHostsCpuNeedsUnlessTheSystemHidesThem) {
    const Target host = detect_host();
    if (host.arch != "x86_64") GTEST_SKIP() << "LLVM is asked on x86";
    const InstructionSet* set = find_instruction_set(host.arch);
    const auto cpu = set->cpus.find(llvm::sys::getHostCPUName().str());
    if (cpu == set->cpus.end()) GTEST_SKIP() << "the tables do not know this CPU";
    Target named;
    named.arch = host.arch;
    named.cpu = cpu->first;
    const auto by_llvm = llvm::sys::getHostCPUFeatures();
    for (const std::string& feature : missing_features(host.arch, features_of(named), features_of(host)))
        EXPECT_FALSE(by_llvm.lookup(feature)) << feature;
}

}  // namespace
}  // namespace heddle::backends
