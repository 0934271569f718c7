// heddle targets
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support.h"
#include "cli/target_places.h"
#include "inference/host.h"
#include "target/canonical.h"
#include "target/constraint.h"
#include "target/decompose.h"
#include "target/explain_target.h"
#include "target/facts.h"
#include "target/hosts.h"
#include "target/measure_host.h"
#include "target/processes.h"
#include "target/tags.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// "30 G" of 3.0e+10: figures that have a thousand millions. JSON has them as they are.
std::string shortened(const std::string& value) {
    const double number = std::strtod(value.c_str(), nullptr);
    if (number >= 1e9 && value.find('"') == std::string::npos) return fmt::format("{:g} G", number / 1e9);
    return value;
}

std::vector<std::string> part_names(const Target& target) {
    std::vector<std::string> names;
    for (const SystemDevice& device : target.devices) names.push_back(device.name);
    for (const ClusterMachine& machine : target.machines) names.push_back(machine.name);
    return names;
}

std::string level_text(const Target& target) {
    switch (target.level()) {
    case TargetLevel::device: return "device";
    case TargetLevel::device_with_host: return "device with host";
    case TargetLevel::machine: return "machine";
    case TargetLevel::cluster: return "cluster";
    }
    return {};
}

// What can be done for a target today: that a tag describes it does not say that code is made for it.
enum class Reach : uint8_t { code, page, part, none };
constexpr std::array reach_words = {"machine code", "page", "its processors", "none"};
constexpr std::array reach_titles = {
    "Machine code and C (heddle compile --target):", "Pages (heddle compile --target):",
    "Machines and clusters, on whose processors programs run (heddle run --system), and whose other devices are placed "
    "on and explained:",
    "No code yet, but placement and explanations (heddle explain --system):"};

Reach reach_of(const Target& target) {
    const KindFacts* kind = find_kind(kind_of(target));
    if (!kind) return Reach::none;
    if (target.level() >= TargetLevel::machine) return Reach::part;
    if (kind->has_group("code")) return Reach::code;
    return kind->has_group("scheduled") && kind->has_group("workgroups") ? Reach::page : Reach::none;
}

struct ListedTag {
    std::string name;
    TargetTag tag;
    Target target;
};

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

// Those that have this word in their names or descriptions; an empty one: all.
Result<std::vector<ListedTag>> find_tags(const TargetTags& tags, const std::string& word) {
    std::vector<ListedTag> found;
    for (const auto& [name, tag] : tags.all()) {
        auto target = tags.target(name);
        if (!target) return fail(std::move(target.error()));
        const std::string text = lower_case(name + " " + tag.means + " " + target->kind);
        if (text.find(lower_case(word)) == std::string::npos) continue;
        found.push_back({name, tag, std::move(*target)});
    }
    return found;
}

void print_tags(const std::vector<ListedTag>& listed) {
    for (const Reach reach : {Reach::code, Reach::page, Reach::part, Reach::none}) {
        bool titled = false;
        for (const auto& [name, tag, target] : listed) {
            if (reach_of(target) != reach) continue;
            if (!titled) fmt::print("{}\n", reach_titles[static_cast<size_t>(reach)]);
            titled = true;
            const auto parts = part_names(target);
            const std::string whole = parts.empty() ? name : fmt::format("{}[:{}]", name, fmt::join(parts, "|"));
            const bool long_name = whole.size() > 30;
            fmt::print("  {:30} {:8} {}\n", long_name ? name + "[:...]" : whole, target.kind, tag.means);
        }
    }
}

int list_targets(const std::vector<ListedTag>& listed, const TargetsOptions& options) {
    if (!options.common.json) {
        print_tags(listed);
        return 0;
    }
    Json json = Json::object();
    for (const auto& [name, tag, target] : listed) {
        json[name] = {{"kind", target.kind},
                      {"level", level_text(target)},
                      {"code", reach_words[static_cast<size_t>(reach_of(target))]},
                      {"means", tag.means},
                      {"source", tag.source},
                      {"file", tag.text->name()}};
        if (const auto parts = part_names(target); !parts.empty()) json[name]["parts"] = parts;
    }
    fmt::print("{}\n", json.dump(2));
    return 0;
}

// A word that is no target, and that tags have: a search.
bool is_search(const TargetsOptions& options, const Diagnostics& problems) {
    const bool unknown = std::ranges::any_of(problems, [](const auto& p) { return p.code == "target.unknown_tag"; });
    const bool one = options.explain || !options.ask.empty() || !options.diff.empty() || options.places;
    return unknown && !one && options.processes == 0;
}

// ---- one target

Json description(const Target& target, const TargetTag* tag) {
    Json json = Json::object();
    if (tag) json["means"] = tag->means, json["source"] = tag->source;
    json["level"] = level_text(target);
    json["hash"] = hash_text(target);
    if (const std::string triple = llvm_triple(target); !triple.empty()) json["triple"] = triple;
    if (const auto parts = part_names(target); !parts.empty()) json["parts"] = parts;
    if (const std::string host = host_text(with_default_host(target)); !host.empty()) json["host"] = host;
    json["target"] = Json::parse(print(target, TargetText::written));
    json["expanded"] = Json::parse(print(target, TargetText::expanded));
    return json;
}

Json rows_json(const std::vector<TargetRow>& rows) {
    Json json = Json::object();
    for (const TargetRow& row : rows) {
        json[row.path] = {{"value", Json::parse(row.value)}, {"origin", origin_text(row.origin)}};
        if (!row.unit.empty()) json[row.path]["unit"] = row.unit;
        json[row.path]["meaning"] = row.meaning;
    }
    return json;
}

void print_rows(const std::vector<TargetRow>& rows, bool explain) {
    size_t longest_path = 0, longest_origin = 0;
    for (const TargetRow& row : rows) {
        longest_path = std::max(longest_path, row.path.size());
        longest_origin = std::max(longest_origin, origin_text(row.origin).size());
    }
    for (const TargetRow& row : rows) {
        const std::string value = shortened(row.value) + (row.unit.empty() ? "" : " " + row.unit);
        if (!explain) {
            fmt::print("{:{}} {}\n", row.path, longest_path, value);
            continue;
        }
        const bool long_value = value.size() > 28;  // flags
        fmt::print("{:{}} {:{}} {:28} {}\n", row.path, longest_path, origin_text(row.origin), longest_origin,
                   long_value ? "" : value, row.meaning);
        if (long_value) fmt::print("    {}\n", value);
    }
}

int describe(const Target& target, const TargetTag* tag, const TargetsOptions& options) {
    const auto rows = explain_target(target, options.explain);
    if (options.common.json) {
        Json json = options.explain ? rows_json(rows) : description(target, tag);
        if (options.host && !options.explain && target.level() == TargetLevel::device)
            json["runs_code_for"] = cpus_within(target.arch, features_of(target));
        fmt::print("{}\n", json.dump(2));
        return 0;
    }
    if (!options.explain) {
        if (tag) fmt::print("{}\n{}\n", tag->means, tag->source);
        fmt::print("{} {}\n", level_text(target), hash_text(target));
        if (const std::string triple = llvm_triple(target); !triple.empty()) fmt::print("{}\n", triple);
        if (const std::string host = host_text(with_default_host(target)); !host.empty())
            fmt::print("host: {}\n", host);
        if (options.host && target.level() == TargetLevel::device)
            fmt::print("runs code for {} and what has less\n",
                       fmt::join(cpus_within(target.arch, features_of(target)), ", "));
    }
    print_rows(rows, options.explain);
    return 0;
}

int show_difference(const Target& a, const Target& b, const TargetsOptions& options) {
    const auto rows = difference(a, b);
    if (options.common.json) {
        Json json = Json::object();
        const auto value = [](const std::string& text) { return text.empty() ? Json() : Json::parse(text); };
        for (const TargetDifference& row : rows) json[row.path] = {value(row.a), value(row.b)};
        fmt::print("{}\n", json.dump(2));
        return 0;
    }
    if (rows.empty()) fmt::print("no facts differ\n");
    const auto shown = [](const std::string& text) { return text.empty() ? "-" : shortened(text); };
    for (const TargetDifference& row : rows) fmt::print("{:32} {:>20} {:>20}\n", row.path, shown(row.a), shown(row.b));
    return 0;
}

int show_fact(const Target& target, const TargetsOptions& options) {
    const auto fact = ask(target, options.ask);
    if (!fact) return report(fact.error(), options.common);
    if (options.common.json)
        fmt::print("{}\n", Json{{"value", Json::parse(fact->value)}, {"origin", origin_text(fact->origin)}}.dump(2));
    else
        fmt::print("{}\n", fact->value);
    return 0;
}

Result<Target> chosen_target(const TargetTags& tags, const TargetsOptions& options) {
    auto target = Result<Target>(Target{});
    if (options.host) {
        const auto folder = usable_folder(options.cache);
        target = options.measure ? inference::measure_host(folder.get()) : inference::host_target(folder.get());
    } else {
        target = tags.open(options.target);
    }
    return target && options.processes > 0 ? as_processes(*target, options.processes) : target;
}

}  // namespace

int show_targets(const TargetsOptions& options) {
    const auto tags = open_tags();
    if (!tags) return report(tags.error(), options.common);
    auto target = !options.host && options.target.empty() ? Result<Target>(Target{}) : chosen_target(*tags, options);
    if (!options.host && (options.target.empty() || (!target && is_search(options, target.error())))) {
        const auto listed = find_tags(*tags, options.target);
        if (!listed) return report(listed.error(), options.common);
        if (!listed->empty()) return list_targets(*listed, options);
    }
    if (!target) return report(target.error(), options.common);
    if (options.places) return show_places(with_default_host(std::move(*target)), options);
    if (options.explain || !options.ask.empty()) target = with_default_host(std::move(*target));
    if (!options.ask.empty()) return show_fact(*target, options);
    if (!options.diff.empty()) {
        const auto other = tags->open(options.diff);
        return other ? show_difference(*target, *other, options) : report(other.error(), options.common);
    }
    return describe(*target, tags->find(options.target), options);
}

}  // namespace heddle::cli
