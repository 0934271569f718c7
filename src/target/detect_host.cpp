// What the system's own tables tell of the machine that we run on.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "target/detect_host.h"
#include "target/facts.h"
#include "target/target.h"

namespace heddle {

std::string of_first_processor(std::string_view name) {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        const size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string_view key = std::string_view(line).substr(0, colon);
        if (key.substr(0, key.find_last_not_of(" \t") + 1) == name) return line.substr(colon + 1) + " ";
    }
    return {};
}

namespace {

void detect(Target& target, const char* name, int64_t Target::* field, long value) {
    if (value <= 0) return;
    target.*field = value;
    target.origins[name] = {TargetOrigin::Kind::detected, "system"};
}

// What this program was compiled for.
constexpr std::string_view arch_of_build =
#if defined(__x86_64__)
    "x86_64";
#elif defined(__aarch64__)
    "aarch64";
#elif defined(__riscv) && __riscv_xlen == 64
    "riscv64";
#else
    "";
#endif

}  // namespace

Target detect_host() {
    Target target;
    target.name = "host";
    target.arch = arch_of_build;
    target.os = "linux";
    for (const char* name : {"name", "kind", "arch", "os"})
        target.origins[name] = {TargetOrigin::Kind::detected, "build"};
    for (const std::string& feature : detect_features(target.arch))
        target.features += (target.features.empty() ? "+" : ",+") + feature;
    derive(target);  // vectors
    for (const char* name : {"features", "vector_bytes", "vector_registers"})
        target.origins[name] = {TargetOrigin::Kind::detected, "CPU flags"};
    detect(target, "l1_bytes", &Target::l1_bytes, sysconf(_SC_LEVEL1_DCACHE_SIZE));
    detect(target, "l2_bytes", &Target::l2_bytes, sysconf(_SC_LEVEL2_CACHE_SIZE));
    detect(target, "l3_bytes", &Target::l3_bytes, sysconf(_SC_LEVEL3_CACHE_SIZE));
    target.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    target.origins["cores"] = {TargetOrigin::Kind::detected, "system"};
    return target;
}

std::string host_identity() {
    std::string identity = print(detect_host());
    for (const char* name : {"vendor_id", "cpu family", "model", "model name", "stepping", "flags"})
        identity += of_first_processor(name) + "\n";
    return identity;
}

}  // namespace heddle
