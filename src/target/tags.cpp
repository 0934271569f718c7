#include "target/tags.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "support/file.h"
#include "target/decompose.h"
#include "target/facts.h"
#include "target/read_target.h"

namespace heddle {
namespace {

constexpr int64_t largest_file = 1 << 20;

Result<std::shared_ptr<const SourceText>> read_source(const std::string& path) {
    auto text = read_file(path, largest_file);
    if (!text) {
        Diagnostic problem{.code = "target.unreadable", .summary = fmt::format("cannot read the file '{}'", path)};
        problem.reason = text.error().front().summary;
        return fail(std::move(problem));
    }
    return std::make_shared<const SourceText>(path, std::move(*text));
}

Diagnostic wrong_file(const std::shared_ptr<const SourceText>& text, const JsonValue& value, std::string summary) {
    return {.code = "target.tags", .summary = std::move(summary), .place = {text, value.offset, value.length}};
}

void add(Diagnostics& problems, Diagnostics more) { std::ranges::move(more, std::back_inserter(problems)); }

Result<TargetTag> read_tag(const JsonValue& value, const std::shared_ptr<const SourceText>& text) {
    TargetTag tag{.name = value.name, .text = text};
    const bool named = !value.name.empty() && value.name.find_first_of(": {}\"") == std::string::npos;
    const JsonValue* target = member(value, "target");
    if (!named || !target || target->kind != JsonValue::Kind::object) {
        return fail(wrong_file(
            text, value,
            fmt::format("$.tags.{}: a tag has a name without colons and blanks, and a 'target'", value.name)));
    }
    tag.target = *target;
    for (const JsonValue& item : value.items) {
        if (item.name == "means" && item.kind == JsonValue::Kind::string)
            tag.means = item.text;
        else if (item.name == "source" && item.kind == JsonValue::Kind::string)
            tag.source = item.text;
        else if (item.name != "target")
            return fail(wrong_file(
                text, item,
                fmt::format("$.tags.{}: '{}' is not 'means', 'source' (texts) or 'target'", value.name, item.name)));
    }
    return tag;
}

Result<JsonValue> read_tag_file(const std::shared_ptr<const SourceText>& text) {
    auto tree = read_target_json(text);
    if (!tree) return tree;
    const JsonValue* tags = member(*tree, "tags");
    const JsonValue* schema = member(*tree, "schema");
    const bool fits = schema && schema->kind == JsonValue::Kind::integer && schema->integer == target_schema_version;
    if (tags && tags->kind == JsonValue::Kind::object && fits && tree->items.size() == 2) return tree;
    return fail(wrong_file(
        text, *tree, fmt::format("a file of tags is {{\"schema\": {}, \"tags\": {{...}}}}", target_schema_version)));
}

// Of the files in targets/; tests read each.
const std::map<std::string, TargetTag, std::less<>>& library_tags() {
    static const auto tags = [] {
        std::map<std::string, TargetTag, std::less<>> all;
        for (const std::string& path : built_in_tag_files()) {
            auto text = std::make_shared<const SourceText>(path, std::string(built_in_target_file(path)));
            const auto tree = read_tag_file(text);
            if (!tree) throw std::logic_error(render(tree.error()));
            for (const JsonValue& value : member(*tree, "tags")->items) {
                auto tag = read_tag(value, text);
                if (!tag || !all.emplace(value.name, *tag).second) throw std::logic_error("targets/" + path);
            }
        }
        return all;
    }();
    return tags;
}

// One of the machines that an entry of a cluster stands for, by its own name: "node3".
const ClusterMachine* counted_machine(const Target& cluster, const std::string& name) {
    for (const ClusterMachine& entry : cluster.machines) {
        if (entry.count == 1 || !name.starts_with(entry.name)) continue;
        int number = -1;
        const char *begin = name.data() + entry.name.size(), *end = name.data() + name.size();
        const bool read = std::from_chars(begin, end, number).ec == std::errc();
        if (read && number >= 0 && number < entry.count && entry.machine_name(number) == name) return &entry;
    }
    return nullptr;
}

// A device of a machine with its host, or a machine of a cluster.
Result<Target> part_of(const Target& target, const std::string& part, const std::string& tag) {
    const Decomposition parts = decompose(target);
    std::vector<std::string> names;
    for (const TargetPart& each : parts.parts) names.push_back(each.name);
    const bool whole = target.level() >= TargetLevel::machine;
    const auto found = std::ranges::find(names, part);
    if (whole && found != names.end()) return parts.parts[static_cast<size_t>(found - names.begin())].target;
    if (const ClusterMachine* machine = counted_machine(target, part); machine && machine->target)
        return *machine->target;
    const std::string nearest = whole ? nearest_name(part, names) : "";
    std::string summary = whole ? fmt::format("'{}' has no part '{}'", tag, part)
                                : fmt::format("'{}' is one device, which has no part '{}'", tag, part);
    if (!nearest.empty()) summary += fmt::format("; the nearest is '{}'", nearest);
    Diagnostic problem{.code = "target.unknown_part", .summary = std::move(summary)};
    problem.params = {{"tag", tag}, {"part", part}};
    return fail(std::move(problem));
}

}  // namespace

const TargetTags& TargetTags::built_in() {
    static const TargetTags tags;
    return tags;
}

const TargetTag* TargetTags::find(std::string_view name) const {
    if (const auto found = tags_.find(name); found != tags_.end()) return &found->second;
    const auto found = library_tags().find(name);
    return found == library_tags().end() ? nullptr : &found->second;
}

std::map<std::string, TargetTag, std::less<>> TargetTags::all() const {
    auto all = library_tags();
    all.insert(tags_.begin(), tags_.end());
    return all;
}

Result<void> TargetTags::add_file(std::shared_ptr<const SourceText> text) {
    auto tree = read_tag_file(text);
    if (!tree) return fail(std::move(tree.error()));
    const JsonValue* tags = member(*tree, "tags");
    Diagnostics problems;
    std::map<std::string, TargetTag, std::less<>> read;
    for (const JsonValue& value : tags->items) {
        auto tag = read_tag(value, text);
        if (!tag) {
            add(problems, std::move(tag.error()));
        } else if (const TargetTag* known = find(tag->name)) {
            problems.push_back(
                {.code = "target.tag_twice",
                 .summary = fmt::format("there is a tag '{}' already, in {}", tag->name, known->text->name()),
                 .place = {text, value.offset, value.length},
                 .remedy = "give it another name"});
        } else {
            read.emplace(tag->name, std::move(*tag));
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    tags_.merge(read);
    return {};
}

Result<void> TargetTags::add_folder(const std::string& folder) {
    std::error_code problem;
    std::vector<std::string> paths;
    for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
        if (at->path().extension() == ".json") paths.push_back(at->path().string());
    }
    if (problem) {
        return fail({.code = "target.unreadable",
                     .summary = fmt::format("cannot read the folder '{}'", folder),
                     .reason = problem.message()});
    }
    std::ranges::sort(paths);
    Diagnostics problems;
    for (const std::string& path : paths) {
        auto text = read_source(path);
        auto added = text ? add_file(*text) : Result<void>(fail(text.error()));
        if (!added) add(problems, std::move(added.error()));
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

Result<Target> target_of_tag(const TargetTags& tags, const std::string& name, const TagUse& use) {
    const size_t colon = std::min(name.find(':'), name.size());
    const std::string whole = name.substr(0, colon);
    const TargetTag* found = tags.find(whole);
    if (!found) {
        std::vector<std::string> names;
        for (const auto& [known, tag] : tags.all()) names.push_back(known);
        const std::string nearest = nearest_name(whole, names);
        std::string summary = fmt::format("there is no tag '{}'", whole);
        if (!nearest.empty()) summary += fmt::format("; the nearest is '{}'", nearest);
        Diagnostic problem{.code = "target.unknown_tag", .summary = std::move(summary)};
        problem.params = {{"tag", whole}, {"nearest", nearest}};
        return fail(std::move(problem));
    }
    auto target = read_target_tree(found->target, found->text, tags, use);
    if (!target) return target;
    // "cluster:machine:device"
    std::string done = whole;
    for (size_t at = colon; at < name.size();) {
        const size_t end = std::min(name.find(':', at + 1), name.size());
        auto part = part_of(*target, name.substr(at + 1, end - at - 1), done);
        if (!part) return part;
        target = std::move(*part);
        done = name.substr(0, end);
        at = end;
    }
    return target;
}

Result<Target> TargetTags::target(const std::string& tag) const {
    if (auto known = target_of_tag(*this, tag, {}); !known) return known;
    // As the text of a target that only names it, so that each value is the tag's.
    return read_target_tree({.kind = JsonValue::Kind::string, .text = tag}, nullptr, *this);
}

Result<Target> TargetTags::read(std::shared_ptr<const SourceText> text) const {
    auto tree = read_target_json(text);
    if (!tree) return fail(std::move(tree.error()));
    return read_target_tree(*tree, text, *this);
}

Result<Target> TargetTags::open(const std::string& text) const {
    const size_t begin = text.find_first_not_of(" \t\n");
    if (begin != std::string::npos && text[begin] == '{')
        return read(std::make_shared<const SourceText>("--target", text));
    if (find(text.substr(0, text.find(':')))) return target(text);
    std::error_code problem;
    if (!text.ends_with(".json") && !std::filesystem::is_regular_file(text, problem)) return target(text);
    auto source = read_source(text);
    if (!source) return fail(std::move(source.error()));
    return read(*source);
}

Result<Target> parse_target(std::shared_ptr<const SourceText> text) {
    return TargetTags::built_in().read(std::move(text));
}

Result<Target> load_target(const std::string& path) {
    auto text = read_source(path);
    if (!text) return fail(std::move(text.error()));
    return parse_target(*text);
}

}  // namespace heddle
