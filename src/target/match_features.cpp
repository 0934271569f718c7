// Which features of a CPU a machine must have to run code for it.
#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "target/built_in_files.h"
#include "target/facts.h"

namespace heddle {
namespace {

using Features = std::set<std::string, std::less<>>;

std::vector<std::string> words_in(const std::string& text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

const JsonValue& detection_file() {
    static const JsonValue file = read_built_in("facts/detection.json");
    return file;
}

// What is asked of machines and kernels may use.
Features asked_of_machines(std::string_view arch) {
    Features asked;
    const JsonValue* facts = detection_facts(arch);
    if (!facts) return asked;
    if (const JsonValue* rows = member(*facts, "cpuid")) {
        for (const JsonValue& row : rows->items) {
            for (const JsonValue& feature : member(row, "bits")->items) asked.insert(feature.name);
        }
    }
    if (const JsonValue* flags = member(*facts, "flags")) {
        for (const JsonValue& flag : flags->items) asked.insert(flag.text);
    }
    for (const std::string& feature : words_in(member(*facts, "system")->text)) asked.erase(feature);
    return asked;
}

}  // namespace

const JsonValue* detection_facts(std::string_view arch) { return member(detection_file(), arch); }

std::vector<std::string> missing_features(std::string_view arch, const Features& wanted, const Features& present) {
    const bool is_known = detection_facts(arch);
    const Features asked = asked_of_machines(arch);
    std::vector<std::string> missing;
    for (const std::string& feature : wanted) {
        if ((!is_known || asked.contains(feature)) && !present.contains(feature)) missing.push_back(feature);
    }
    return missing;
}

std::vector<std::string> cpus_within(std::string_view arch, const Features& present) {
    std::map<std::string, Features, std::less<>> within;
    const InstructionSet* set = find_instruction_set(arch);
    for (const auto& [cpu, text] : set ? set->cpus : std::map<std::string, std::string, std::less<>>()) {
        const auto words = words_in(text);
        Features features(words.begin(), words.end());
        if (missing_features(arch, features, present).empty()) within.emplace(cpu, std::move(features));
    }
    std::vector<std::string> names;
    for (const auto& [cpu, features] : within) {
        const bool is_part = std::ranges::any_of(within, [&](const auto& other) {
            return other.second.size() > features.size() && std::ranges::includes(other.second, features);
        });
        if (!is_part) names.push_back(cpu);
    }
    return names;
}

}  // namespace heddle
