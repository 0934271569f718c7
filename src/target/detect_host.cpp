// What the system's own tables tell of the machine that we run on.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "target/target.h"

namespace heddle {
namespace {

// What the first processor's line of this name says; a blank behind.
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

bool has(const std::string& flags, const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
}

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
    const std::string flags = of_first_processor("flags");
    // The kernel's flag names and LLVM's feature names for what generated code may use.
    constexpr std::pair<const char*, const char*> names[] = {
        {"sse4_2", "sse4.2"},
        {"avx", "avx"},
        {"avx2", "avx2"},
        {"fma", "fma"},
        {"f16c", "f16c"},
        {"bmi1", "bmi"},
        {"bmi2", "bmi2"},
        {"popcnt", "popcnt"},
        {"lzcnt", "lzcnt"},
        {"avx512f", "avx512f"},
        {"avx512bw", "avx512bw"},
        {"avx512dq", "avx512dq"},
        {"avx512vl", "avx512vl"},
        {"avx512cd", "avx512cd"},
        {"avx512_vnni", "avx512vnni"},
        {"avx_vnni", "avxvnni"},
        {"avx512_vpopcntdq", "avx512vpopcntdq"},
        {"avx512vbmi", "avx512vbmi"},
    };
    for (auto [flag, feature] : names) {
        if (has(flags, flag)) target.features += (target.features.empty() ? "+" : ",+") + std::string(feature);
    }
    bool wide = has(flags, "avx512f") && has(flags, "avx512bw") && has(flags, "avx512dq") && has(flags, "avx512vl");
    target.vector_bytes = wide ? 64 : has(flags, "avx2") ? 32 : 16;
    target.vector_registers = wide ? 32 : 16;
    target.arch = arch_of_build;
    target.os = "linux";
    for (const char* name : {"features", "vector_bytes", "vector_registers"})
        target.origins[name] = {TargetOrigin::Kind::detected, "CPU flags"};
    for (const char* name : {"name", "kind", "arch", "os"})
        target.origins[name] = {TargetOrigin::Kind::detected, "build"};
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
