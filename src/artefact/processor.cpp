#include "artefact/processor.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "target/facts.h"

namespace heddle::artefact {
namespace {

// LLVM's names that the C compilers' __builtin_cpu_supports has too. What else a target has, kernels do not use.
constexpr std::array known = {"sse4.2",     "avx",         "avx2",       "bmi",          "bmi2",           "fma",
                              "avx512f",    "avx512bw",    "avx512cd",   "avx512dq",     "avx512vl",       "avx512ifma",
                              "avx512vbmi", "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq"};

std::vector<std::string> asked_features(const Target& target) {
    if (!target.arch.empty() && target.arch != "x86_64") return {};
    const auto features = heddle::features_of(target);
    std::vector<std::string> asked;
    for (const char* name : known) {
        if (features.contains(std::string_view(name))) asked.emplace_back(name);
    }
    return asked;
}

}  // namespace

std::string processor_test(const std::optional<Target>& target, const std::string& name) {
    std::string asked;
    for (const std::string& feature : target ? asked_features(*target) : std::vector<std::string>())
        asked += fmt::format("{}__builtin_cpu_supports(\"{}\")", asked.empty() ? "" : " && ", feature);
    if (asked.empty()) return fmt::format("static int {}(void) {{ return 1; }}\n", name);
    return fmt::format("static int {}(void) {{\n    __builtin_cpu_init();\n    return {};\n}}\n", name, asked);
}

}  // namespace heddle::artefact
