#include "target/facts.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "target/built_in_files.h"
#include "target/write_target.h"

namespace heddle {

JsonValue read_built_in(const std::string& path) {
    auto source = std::make_shared<const SourceText>(path, std::string(built_in_target_file(path)));
    auto tree = read_json_tree(source, {1 << 20, 64 << 20, 16, "target.syntax", "target.limit", "target.key"});
    if (!tree) throw std::logic_error("targets/" + path + " is not JSON");
    return std::move(*tree);
}

namespace {

std::string text_of(const JsonValue& value, std::string_view name) {
    const JsonValue* found = member(value, name);
    return found ? found->text : "";
}

std::vector<std::string> texts_of(const JsonValue& value, std::string_view name) {
    std::vector<std::string> texts;
    if (const JsonValue* found = member(value, name)) {
        for (const JsonValue& item : found->items) texts.push_back(item.text);
    }
    return texts;
}

bool is_true(const JsonValue& value, std::string_view name) { return text_of(value, name) == "true"; }

template <typename Insert>
void each_word(std::string_view text, char between, const Insert& insert) {
    while (!text.empty()) {
        const size_t end = std::min(text.find(between), text.size());
        if (end > 0) insert(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

KindFacts kind_facts(const JsonValue& value) {
    KindFacts kind;
    kind.name = value.name;
    kind.means = text_of(value, "means");
    const std::string level = text_of(value, "level");
    kind.level = level == "machine"   ? TargetLevel::machine
                 : level == "cluster" ? TargetLevel::cluster
                                      : TargetLevel::device;
    kind.groups = texts_of(value, "groups");
    kind.launches = is_true(value, "launches");
    kind.needs_host = is_true(value, "needs_host");
    if (const JsonValue* host = member(value, "host")) kind.default_host = json_of(*host).dump();
    kind.instruction_sets = texts_of(value, "files");
    kind.features = texts_of(value, "features");
    kind.required = texts_of(value, "requires");
    if (const JsonValue* architectures = member(value, "architectures")) {
        for (const JsonValue& item : architectures->items) kind.architectures.emplace(item.name, item);
    }
    return kind;
}

// The file of all instruction sets; their CPUs are read one by one.
const JsonValue& architectures_file() {
    static const JsonValue file = read_built_in("facts/architectures.json");
    return file;
}

InstructionSet read_instruction_set(const JsonValue& value) {
    InstructionSet set;
    set.name = value.name;
    set.means = text_of(value, "means");
    set.baseline = text_of(value, "baseline");
    set.levels = texts_of(value, "levels");
    set.abis = texts_of(value, "abi");
    set.compilers = member(value, "compilers")->items;
    set.triples = member(value, "triples")->items;
    set.vectors = member(value, "vectors")->items;
    const JsonValue known = read_built_in("facts/" + set.name + ".json");
    each_word(text_of(known, "features"), ' ', [&](std::string_view word) { set.features.emplace(word); });
    for (const JsonValue& feature : member(known, "implied")->items) set.implied.emplace(feature.name, feature.text);
    for (const JsonValue& cpu : member(known, "cpus")->items) set.cpus.emplace(cpu.name, cpu.text);
    static const JsonValue figures = read_built_in("facts/cpus.json");
    if (const JsonValue* here = member(figures, set.name)) {
        for (const JsonValue& cpu : here->items) set.figures.emplace(cpu.name, cpu);
    }
    return set;
}

bool holds(const JsonValue& rule, const std::set<std::string, std::less<>>& features) {
    const JsonValue* all = member(rule, "all");
    return !all || std::ranges::all_of(all->items, [&](const JsonValue& item) { return features.contains(item.text); });
}

// The instruction sets that a target may be of.
std::vector<const InstructionSet*> instruction_sets_of(const Target& target) {
    const KindFacts* kind = find_kind(kind_of(target));
    std::vector<const InstructionSet*> sets;
    for (const std::string& name : kind ? kind->instruction_sets : std::vector<std::string>()) {
        if (target.arch.empty() || target.arch == name) sets.push_back(find_instruction_set(name));
    }
    return sets;
}

std::set<std::string, std::less<>> features_of_cpu(const Target& target) {
    std::set<std::string, std::less<>> features;
    const InstructionSet* set = find_instruction_set(target.arch);
    if (!set) return features;
    const auto found = set->cpus.find(target.cpu.empty() ? set->baseline : target.cpu);
    if (found != set->cpus.end()) {
        each_word(found->second, ' ', [&](std::string_view word) { features.emplace(word); });
    }
    return features;
}

// Null: nothing is known to come with the feature.
const std::string* implied_by(const InstructionSet* set, const std::string& feature) {
    if (!set) return nullptr;
    const auto found = set->implied.find(feature);
    return found == set->implied.end() ? nullptr : &found->second;
}

// Figures that nobody says.
void fill(Target& target, const JsonValue& figures, const std::string& because) {
    for (const JsonValue& figure : figures.items) {
        const SchemaField<Target>* field = find_target_field(figure.name);
        if (!field || is_known(target, *field)) continue;
        const double real = figure.kind == JsonValue::Kind::integer ? static_cast<double>(figure.integer)
                                                                    : std::strtod(figure.text.c_str(), nullptr);
        if (const auto* number = std::get_if<int Target::*>(&field->member))
            target.** number = static_cast<int>(figure.integer);
        else if (const auto* whole = std::get_if<int64_t Target::*>(&field->member))
            target.** whole = figure.integer;
        else if (const auto* speed = std::get_if<double Target::*>(&field->member))
            target.** speed = real;
        else
            continue;  // the condition of a rule
        target.origins[field->name] = {TargetOrigin::Kind::derived, because};
    }
}

// For people, where nobody says a name.
void name_target(Target& target) {
    if (is_known(target, *find_target_field("name"))) return;
    const auto take = [&](const std::string& field, const std::string& name) {
        target.name = name;
        target.origins["name"] = {TargetOrigin::Kind::derived, field + " " + name};
    };
    if (target.level() >= TargetLevel::machine)
        take("kind", kind_of(target));
    else if (!target.cpu.empty())
        take("cpu", target.cpu);
    else if (!target.arch.empty())
        take("arch", target.arch);
}

}  // namespace

std::string_view built_in_target_file(std::string_view path) {
    for (const BuiltInFile& file : built_in_files()) {
        if (file.path == path) return file.text;
    }
    return {};
}

std::vector<std::string> built_in_tag_files() {
    std::vector<std::string> paths;
    for (const BuiltInFile& file : built_in_files()) {
        if (file.path.find('/') == std::string_view::npos) paths.emplace_back(file.path);
    }
    return paths;
}

bool KindFacts::has_group(std::string_view group) const {
    return group.empty() || std::ranges::find(groups, group) != groups.end();
}

std::vector<std::string> KindFacts::architecture_names() const {
    std::vector<std::string> names = instruction_sets;
    for (const auto& [name, figures] : architectures) names.push_back(name);
    return names;
}

const std::vector<KindFacts>& target_kinds() {
    static const auto kinds = [] {
        std::vector<KindFacts> all;
        for (const JsonValue& value : read_built_in("facts/kinds.json").items) all.push_back(kind_facts(value));
        return all;
    }();
    return kinds;
}

const KindFacts* find_kind(std::string_view name) {
    const auto found = std::ranges::find(target_kinds(), name, &KindFacts::name);
    return found == target_kinds().end() ? nullptr : &*found;
}

const InstructionSet* find_instruction_set(std::string_view arch) {
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<const InstructionSet>, std::less<>> read;
    const std::lock_guard lock(mutex);
    if (const auto found = read.find(arch); found != read.end()) return found->second.get();
    const JsonValue* value = member(*member(architectures_file(), "architectures"), arch);
    if (!value) return nullptr;
    auto set = std::make_unique<const InstructionSet>(read_instruction_set(*value));
    return read.emplace(arch, std::move(set)).first->second.get();
}

std::string kind_of(const Target& target) {
    if (!target.machines.empty()) return "cluster";
    return target.devices.empty() ? target.kind : "machine";
}

std::vector<std::string> names_for(Vocabulary vocabulary, const Target& target) {
    std::vector<std::string> names;
    const KindFacts* kind = find_kind(kind_of(target));
    switch (vocabulary) {
    case Vocabulary::none: break;
    case Vocabulary::kinds:
        for (const KindFacts& known : target_kinds()) names.push_back(known.name);
        break;
    case Vocabulary::architectures:
        if (kind) names = kind->architecture_names();
        break;
    case Vocabulary::systems: names = texts_of(architectures_file(), "os"); break;
    case Vocabulary::abis:
        for (const InstructionSet* set : instruction_sets_of(target))
            names.insert(names.end(), set->abis.begin(), set->abis.end());
        break;
    case Vocabulary::cpus:
        for (const InstructionSet* set : instruction_sets_of(target)) {
            for (const auto& [cpu, features] : set->cpus) names.push_back(cpu);
        }
        break;
    case Vocabulary::features:
        if (kind) names = kind->features;
        for (const InstructionSet* set : instruction_sets_of(target))
            names.insert(names.end(), set->features.begin(), set->features.end());
        break;
    }
    return names;
}

std::map<std::string, char, std::less<>> signed_features(std::string_view features) {
    std::map<std::string, char, std::less<>> known;
    each_word(features, ',', [&](std::string_view word) {
        const bool has_sign = word[0] == '+' || word[0] == '-';
        known.insert_or_assign(std::string(has_sign ? word.substr(1) : word), word[0] == '-' ? '-' : '+');
    });
    return known;
}

std::set<std::string, std::less<>> features_of(const Target& target) {
    auto features = features_of_cpu(target);
    const InstructionSet* set = find_instruction_set(target.arch);
    const auto listed = signed_features(target.features);
    for (const auto& [name, sign] : listed) {
        if (sign == '-') continue;
        features.insert(name);
        if (const std::string* implied = implied_by(set, name))
            each_word(*implied, ' ', [&](std::string_view word) { features.emplace(word); });
    }
    for (const auto& [excluded, sign] : listed) {
        if (sign == '+') continue;
        std::erase_if(features, [&](const std::string& feature) {
            const std::string* implied = implied_by(set, feature);
            bool falls = feature == excluded;
            if (implied) each_word(*implied, ' ', [&](std::string_view word) { falls = falls || word == excluded; });
            return falls;
        });
    }
    return features;
}

std::string features_beside_cpu(const Target& target) {
    std::map<std::string, char> signs;
    if (!find_instruction_set(target.arch)) {  // all that is written counts
        for (const auto& [name, sign] : signed_features(target.features)) signs.emplace(name, sign);
    } else {
        const auto all = features_of(target), of_cpu = features_of_cpu(target);
        for (const std::string& name : all) {
            if (!of_cpu.contains(name)) signs.emplace(name, '+');
        }
        for (const std::string& name : of_cpu) {
            if (!all.contains(name)) signs.emplace(name, '-');
        }
    }
    std::string text;
    for (const auto& [name, sign] : signs) text += (text.empty() ? "" : ",") + (sign + name);
    return text;
}

void derive(Target& target) {
    if (target.arch.empty() && !target.cpu.empty()) {
        for (const InstructionSet* set : instruction_sets_of(target)) {
            if (!set->cpus.contains(target.cpu)) continue;
            target.arch = set->name;
            target.origins["arch"] = {TargetOrigin::Kind::derived, "cpu " + target.cpu};
            break;
        }
    }
    const KindFacts* kind = find_kind(kind_of(target));
    if (!kind) return;
    name_target(target);
    if (!target.arch.empty() && !is_known(target, *find_target_field("kind")))
        target.origins["kind"] = {TargetOrigin::Kind::derived, "arch " + target.arch};
    if (const auto found = kind->architectures.find(target.arch); found != kind->architectures.end())
        fill(target, found->second, "arch " + target.arch);
    if (std::ranges::find(kind->instruction_sets, target.arch) == kind->instruction_sets.end()) return;
    const InstructionSet* set = find_instruction_set(target.arch);
    if (const auto found = set->figures.find(target.cpu); found != set->figures.end())
        fill(target, found->second, "cpu " + target.cpu);
    const auto features = features_of(target);
    const auto rule =
        std::ranges::find_if(set->vectors, [&](const JsonValue& value) { return holds(value, features); });
    if (rule != set->vectors.end()) {
        const std::string because = target.cpu.empty() ? "arch " + target.arch : "cpu " + target.cpu;
        fill(target, *rule, because + (target.features.empty() ? "" : " and features"));
    }
}

std::optional<CrossCompiler> cross_compiler(const Target& target) {
    const InstructionSet* set = find_instruction_set(target.arch);
    if (!set) return std::nullopt;
    const std::string os = target.os.empty() ? "linux" : target.os;
    const auto rule = std::ranges::find_if(set->compilers, [&](const JsonValue& value) {
        const JsonValue *asked_os = member(value, "os"), *asked_abi = member(value, "abi");
        return (!asked_os || asked_os->text == os) && (!asked_abi || asked_abi->text == target.abi);
    });
    if (rule == set->compilers.end()) return std::nullopt;
    return CrossCompiler{text_of(*rule, "program"), text_of(*rule, "package")};
}

std::string llvm_triple(const Target& target) {
    const InstructionSet* set = find_instruction_set(target.arch);
    if (!set) return {};
    const auto features = features_of(target);
    const auto rule =
        std::ranges::find_if(set->triples, [&](const JsonValue& value) { return holds(value, features); });
    if (rule == set->triples.end()) return {};
    std::string text = text_of(*rule, "triple");
    const bool apple = target.os == "macos" || target.os == "ios";
    text += apple ? "-apple-" : target.os == "windows" ? "-pc-" : "-unknown-";
    text += target.os.empty() ? "linux" : target.os == "browser" ? "unknown" : target.os;
    // RISC-V's ABI is no part of its triple.
    const bool riscv = target.arch.starts_with("riscv");
    if (riscv)
        text += target.os == "none" ? "-elf" : "-gnu";
    else if (!target.abi.empty())
        text += "-" + target.abi;
    return text;
}

}  // namespace heddle
