#include "artefact/processor.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace heddle::artefact {
namespace {

// LLVM's names that the C compilers' __builtin_cpu_supports has too. What else a target has, kernels do not use.
constexpr std::array known = {"sse4.2",     "avx",         "avx2",       "bmi",          "bmi2",           "fma",
                              "avx512f",    "avx512bw",    "avx512cd",   "avx512dq",     "avx512vl",       "avx512ifma",
                              "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq"};

std::vector<std::string> features_of(const Target& target) {
    if (target.features.empty()) {
        std::vector<std::string> levels = {"avx2", "bmi", "bmi2", "fma"};
        if (target.vector_bytes >= 64)
            levels.insert(levels.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
        return target.vector_bytes >= 32 ? levels : std::vector<std::string>();
    }
    std::vector<std::string> features;
    for (const std::string_view name : known) {
        if (target.features.find(fmt::format("+{},", name)) != std::string::npos ||
            target.features.ends_with(fmt::format("+{}", name)))
            features.emplace_back(name);
    }
    return features;
}

}  // namespace

std::string processor_test(const std::optional<Target>& target, const std::string& name) {
    std::string asked;
    for (const std::string& feature : target ? features_of(*target) : std::vector<std::string>())
        asked += fmt::format("{}__builtin_cpu_supports(\"{}\")", asked.empty() ? "" : " && ", feature);
    if (asked.empty()) return fmt::format("static int {}(void) {{ return 1; }}\n", name);
    return fmt::format("static int {}(void) {{\n    __builtin_cpu_init();\n    return {};\n}}\n", name, asked);
}

}  // namespace heddle::artefact
