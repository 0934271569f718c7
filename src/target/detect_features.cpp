// Which features this machine's CPU has, by LLVM's names: what is asked for each is said by targets/facts/detection.json.
#include <algorithm>
#include <array>
#include <sstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "target/detect_host.h"
#include "target/facts.h"

namespace heddle {
namespace {

int64_t number_of(const JsonValue& value, std::string_view name) {
    const JsonValue* found = member(value, name);
    return found ? found->integer : 0;
}

#if defined(__x86_64__)
// Registers that the operating system keeps for each process, as bits of XCR0; none where it does not say.
uint64_t kept_registers() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned has_xgetbv = 1u << 27;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & has_xgetbv)) return 0;
    unsigned low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

bool has_bit(const JsonValue& row, int64_t bit) {
    std::array<unsigned, 4> registers = {};
    auto& [a, b, c, d] = registers;
    if (!__get_cpuid_count(static_cast<unsigned>(number_of(row, "leaf")),
                           static_cast<unsigned>(number_of(row, "subleaf")), &a, &b, &c, &d))
        return false;
    const size_t index = std::string_view("abcd").find(member(row, "register")->text[1]);
    return registers[index] >> bit & 1;
}
#else
uint64_t kept_registers() { return 0; }
bool has_bit(const JsonValue&, int64_t) { return false; }
#endif

}  // namespace

std::set<std::string, std::less<>> detect_features(std::string_view arch) {
    std::set<std::string, std::less<>> features;
    const JsonValue* facts = detection_facts(arch);
    if (!facts) return features;
    if (const JsonValue* rows = member(*facts, "cpuid")) {
        const uint64_t kept = kept_registers();
        for (const JsonValue& row : rows->items) {
            const auto state = static_cast<uint64_t>(number_of(row, "state"));
            if ((kept & state) != state) continue;
            for (const JsonValue& feature : member(row, "bits")->items) {
                if (has_bit(row, feature.integer)) features.insert(feature.name);
            }
        }
    }
    if (const JsonValue* flags = member(*facts, "flags")) {
        std::istringstream words(of_first_processor("Features"));
        for (std::string word; words >> word;) {
            if (const JsonValue* feature = member(*flags, word)) features.insert(feature->text);
        }
    }
    return features;
}

}  // namespace heddle
