#include "target/read_target.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "target/facts.h"
#include "target/write_target.h"

namespace heddle {
namespace {

constexpr int deepest_tags = 8;

// Where the fields of a target that is read come from.
struct Layer {
    std::string tag;                       // empty: a text
    const JsonValue* overrides = nullptr;  // what was merged over the tag's; null: nothing
};

const JsonValue* inside(const JsonValue* value, std::string_view name) {
    return value ? member(*value, name) : nullptr;
}

// `over` on `base`, object by object. What names a tag, or is no object, takes the other's place.
JsonValue merged(JsonValue base, const JsonValue& over) {
    using enum JsonValue::Kind;
    if (base.kind != object || over.kind != object || member(over, "tag")) return over;
    base.offset = over.offset;
    base.length = over.length;
    for (const JsonValue& item : over.items) {
        const auto found = std::ranges::find(base.items, item.name, &JsonValue::name);
        if (found == base.items.end())
            base.items.push_back(item);
        else
            *found = merged(std::move(*found), item);
    }
    return base;
}

// A value of ours as one that was read; it has no places.
JsonValue tree_of(const nlohmann::ordered_json& json) {
    auto source = std::make_shared<const SourceText>("tag", json.dump());
    JsonValue value = *read_target_json(source);
    const auto forget = [](const auto& self, JsonValue& node) -> void {
        node.offset = node.length = 0;
        for (JsonValue& item : node.items) self(self, item);
    };
    forget(forget, value);
    return value;
}

class Reader {
public:
    Reader(const std::shared_ptr<const SourceText>& text, const TargetTags& tags, TagUse use)
        : text_(text), tags_(tags), use_(std::move(use)) {}

    Diagnostics problems;

    Target target(const JsonValue& written, const std::string& path, const Layer& layer) {
        JsonValue value = in_our_names(written, path);
        if (value.kind != JsonValue::Kind::object) {
            if (path == "$")
                problem("target.syntax", value, path, "a target is a JSON object, or the name of a tag");
            else
                wrong(value, path, "an object, or the name of a tag");
            return {};
        }
        if (--*use_.targets_left < 0) {
            if (*use_.targets_left == -1)
                problem("target.limit", value, path, fmt::format("{}: too many targets in targets", path));
            return {};
        }
        if (member(value, "tag")) return of_tag(value, path);
        Target target;
        if (!take_kind(target, value, path)) return target;
        for (const JsonValue& item : value.items) field(target, item, path, layer);
        for (const auto& named : target_fields()) check_names(target, named, value, path);
        for (const std::string& name : find_kind(target.kind)->required) {
            if (!member(value, name)) missing(value, path, fmt::format("a target of kind '{}'", target.kind), name);
        }
        check_host(target, value, path);
        derive(target);
        if (!problems.empty()) return target;
        Diagnostics unfit = check_system(target, path);
        for (Diagnostic& problem : unfit) {
            problem.place = place(value);
            problems.push_back(std::move(problem));
        }
        return target;
    }

    void take_version(JsonValue& value) {
        const auto found = std::ranges::find(value.items, "schema", &JsonValue::name);
        if (found == value.items.end()) return;
        if (found->kind != JsonValue::Kind::integer || found->integer != target_schema_version) {
            problem("target.schema", *found, "$.schema",
                    fmt::format("$.schema: this version of Heddle reads targets of schema {}", target_schema_version));
        }
        value.items.erase(found);
    }

private:
    Place place(const JsonValue& value) const { return {text_, value.offset, value.length}; }

    void problem(const char* code, const JsonValue& value, const std::string& path, std::string summary,
                 std::string nearest = {}) {
        if (!nearest.empty()) summary += fmt::format("; the nearest is '{}'", nearest);
        Diagnostic found{.code = code, .summary = std::move(summary), .place = place(value)};
        found.params = {{"path", path}};
        if (!nearest.empty()) found.params.emplace_back("nearest", std::move(nearest));
        problems.push_back(std::move(found));
    }

    void wrong(const JsonValue& value, const std::string& path, const std::string& expected) {
        constexpr size_t longest = 80;
        std::string found = json_of(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        if (found.size() > longest) found = kind_name(value.kind);
        problem("target.value", value, path, fmt::format("{} must be {}, and is {}", path, expected, found));
    }

    void missing(const JsonValue& value, const std::string& path, const std::string& what, const std::string& name) {
        problem("target.missing", value, path, fmt::format("{}: {} needs '{}'", path, what, name));
    }

    // A string is a tag, and other tools' names of fields are ours.
    JsonValue in_our_names(const JsonValue& written, const std::string& path) {
        if (written.kind == JsonValue::Kind::string) {
            JsonValue tag = written;
            tag.name = "tag";
            JsonValue value{.kind = JsonValue::Kind::object, .items = {std::move(tag)}};
            value.offset = written.offset;
            value.length = written.length;
            return value;
        }
        JsonValue value = written;
        if (value.kind != JsonValue::Kind::object) return value;
        for (JsonValue& item : value.items) {
            for (const OtherName& name : other_target_names()) {
                if (item.name != name.other) continue;
                if (member(value, name.ours))
                    problem("target.key", item, path,
                            fmt::format("{}.{} is '{}' of the same target", path, name.other, name.ours));
                item.name = name.ours;
            }
            const std::string here = path + "." + item.name;
            if (item.name == "host") item = named("host", in_our_names(item, here));
            if (item.name != "devices" && item.name != "machines") continue;
            for (JsonValue& entry : item.items) {
                for (JsonValue& inner : entry.items) {
                    if (inner.name == "target")
                        inner = named("target", in_our_names(inner, here + "." + entry.name + ".target"));
                }
            }
        }
        return value;
    }

    static JsonValue named(const char* name, JsonValue value) {
        value.name = name;
        return value;
    }

    // ---- tags

    Target of_tag(JsonValue value, const std::string& path) {
        const auto found = std::ranges::find(value.items, "tag", &JsonValue::name);
        const JsonValue tag = *found;
        value.items.erase(found);
        if (tag.kind != JsonValue::Kind::string) {
            wrong(tag, path + ".tag", "the name of a tag");
            return {};
        }
        if (use_.depth == deepest_tags) {
            problem("target.tag_depth", tag, path,
                    fmt::format("{}.tag: '{}' comes after {} tags that stand for tags", path, tag.text, deepest_tags));
            return {};
        }
        auto base = target_of_tag(tags_, tag.text, {use_.depth + 1, use_.targets_left});
        if (!base) {
            for (Diagnostic& problem : base.error()) {
                if (problem.place.source) {
                    problem.contexts.push_back({"the tag is named here", place(tag)});
                } else {
                    problem.place = place(tag);
                    problem.summary = path + ".tag: " + problem.summary;
                    problem.params.insert(problem.params.begin(), {"path", path + ".tag"});
                }
                problems.push_back(std::move(problem));
            }
            return {};
        }
        const JsonValue all = merged(tree_of(target_json(*base, TargetFacts::stated)), value);
        Target target = this->target(all, path, {tag.text, &value});
        target.tag = tag.text;
        if (!member(value, "name")) {
            target.name = tag.text;
            target.origins["name"] = {TargetOrigin::Kind::tag, tag.text};
        }
        if (!value.items.empty()) target.overrides = json_of(value).dump();
        return target;
    }

    // ---- one target

    bool take_kind(Target& target, const JsonValue& value, const std::string& path) {
        const JsonValue* kind = member(value, "kind");
        if (!kind) {
            if (member(value, "devices")) target.kind = "machine";
            if (member(value, "machines")) target.kind = "cluster";
            return true;
        }
        if (kind->kind != JsonValue::Kind::string) {
            wrong(*kind, path + ".kind", "the name of a kind");
            return false;
        }
        if (find_kind(kind->text)) {
            target.kind = kind->text;
            return true;
        }
        const auto names = names_for(Vocabulary::kinds, target);
        problem("target.unknown_kind", *kind, path + ".kind",
                fmt::format("{}.kind: there is no kind '{}'", path, kind->text), nearest_name(kind->text, names));
        return false;
    }

    void field(Target& target, const JsonValue& item, const std::string& path, const Layer& layer) {
        const std::string here = path + "." + item.name;
        const KindFacts& kind = *find_kind(target.kind);
        const SchemaField<Target>* field = find_target_field(item.name);
        const auto allowed = [&](const SchemaField<Target>& each) {
            const bool host = std::string_view(each.name) == "host";
            return host ? kind.level == TargetLevel::device : kind.has_group(each.group);
        };
        if (!field) {
            std::vector<std::string> known = {"tag"};
            for (const auto& each : target_fields()) {
                if (allowed(each)) known.emplace_back(each.name);
            }
            problem("target.unknown_key", item, here, fmt::format("{}: a target has no field '{}'", here, item.name),
                    nearest_name(item.name, known));
            return;
        }
        if (!allowed(*field)) {
            problem("target.level", item, here,
                    fmt::format("{}: a target of kind '{}' has no field '{}'", here, target.kind, item.name));
            return;
        }
        const JsonValue* over = inside(layer.overrides, item.name);
        value(target, *field, item, here, {layer.tag, over});
        const auto origin = layer.tag.empty() ? TargetOrigin::Kind::text
                            : over            ? TargetOrigin::Kind::override
                                              : TargetOrigin::Kind::tag;
        target.origins[item.name] = {origin, over ? "" : layer.tag};
    }

    template <typename Owner>
    void value(Owner& owner, const SchemaField<Owner>& field, const JsonValue& item, const std::string& path,
               const Layer& layer) {
        std::visit([&](auto member) { read(owner.*member, field, item, path, layer); }, field.member);
    }

    template <typename Owner>
    void read(std::string& text, const SchemaField<Owner>& field, const JsonValue& item, const std::string& path,
              const Layer&) {
        const bool list =
            field.vocabulary == Vocabulary::features && item.kind == JsonValue::Kind::array && item.numbers.empty();
        if (list && std::ranges::all_of(item.items, [](auto& each) { return each.kind == JsonValue::Kind::string; })) {
            std::vector<std::string> names;
            for (const JsonValue& each : item.items) names.push_back(each.text);
            text = fmt::format("{}", fmt::join(names, ","));
        } else if (item.kind == JsonValue::Kind::string) {
            text = item.text;
        } else {
            wrong(item, path, "text");
        }
    }

    template <typename Owner>
    void read(bool& flag, const SchemaField<Owner>&, const JsonValue& item, const std::string& path, const Layer&) {
        if (item.kind != JsonValue::Kind::boolean) return wrong(item, path, "true or false");
        flag = item.text == "true";
    }

    template <typename Owner>
    void whole(int64_t& number, int64_t most, const SchemaField<Owner>& field, const JsonValue& item,
               const std::string& path) {
        if (item.kind != JsonValue::Kind::integer || item.integer < field.least || item.integer > most) {
            const std::string unit = *field.unit ? fmt::format(" ({})", field.unit) : "";
            const std::string up_to = most < INT64_MAX ? fmt::format(" to {}", most) : " or more";
            return wrong(item, path, fmt::format("a whole number{}, {}{}", unit, field.least, up_to));
        }
        number = item.integer;
    }

    template <typename Owner>
    void read(int& number, const SchemaField<Owner>& field, const JsonValue& item, const std::string& path,
              const Layer&) {
        int64_t found = number;
        whole(found, std::numeric_limits<int>::max(), field, item, path);
        number = static_cast<int>(found);
    }

    template <typename Owner>
    void read(int64_t& number, const SchemaField<Owner>& field, const JsonValue& item, const std::string& path,
              const Layer&) {
        whole(number, INT64_MAX, field, item, path);
    }

    template <typename Owner>
    void read(double& number, const SchemaField<Owner>& field, const JsonValue& item, const std::string& path,
              const Layer&) {
        double found = std::numeric_limits<double>::quiet_NaN();
        if (item.kind == JsonValue::Kind::integer) found = static_cast<double>(item.integer);
        if (item.kind == JsonValue::Kind::number)
            std::from_chars(item.text.data(), item.text.data() + item.text.size(), found);
        const auto least = static_cast<double>(field.least);
        if (!std::isfinite(found) || found < least || (field.above_least && found == least)) {
            const std::string unit = *field.unit ? fmt::format(" ({})", field.unit) : "";
            return wrong(
                item, path,
                fmt::format("a number{}{} {}", unit, field.above_least ? " above" : " of at least", field.least));
        }
        number = found;
    }

    template <typename Owner>
    void read(std::map<std::string, std::string>& texts, const SchemaField<Owner>&, const JsonValue& item,
              const std::string& path, const Layer&) {
        if (item.kind != JsonValue::Kind::object) return wrong(item, path, "an object of texts");
        for (const JsonValue& each : item.items) {
            if (each.kind != JsonValue::Kind::string)
                wrong(each, path + "." + each.name, "text");
            else
                texts[each.name] = each.text;
        }
    }

    template <typename Owner>
    void read(std::shared_ptr<const Target>& inner, const SchemaField<Owner>&, const JsonValue& item,
              const std::string& path, const Layer& layer) {
        // A tag of its own takes the outer one's place.
        const bool own = item.kind == JsonValue::Kind::string || member(item, "tag");
        inner = std::make_shared<const Target>(target(item, path, own ? Layer{} : layer));
    }

    // ---- entries of machines and clusters

    template <typename Entry>
    void entry(Entry& entry, const std::vector<SchemaField<Entry>>& fields, const JsonValue& item,
               const std::string& path, const Layer& layer) {
        if (item.kind != JsonValue::Kind::object) return wrong(item, path, "an object");
        std::vector<std::string> known;
        for (const auto& field : fields) {
            known.emplace_back(field.name);
            if (const JsonValue* found = member(item, field.name))
                value(entry, field, *found, path + "." + field.name, {layer.tag, inside(layer.overrides, field.name)});
            else if (field.required)
                missing(item, path, "it", field.name);
        }
        for (const JsonValue& each : item.items) {
            if (std::ranges::find(known, each.name) != known.end()) continue;
            const std::string here = path + "." + each.name;
            problem("target.unknown_key", each, here, fmt::format("{}: there is no field '{}' here", here, each.name),
                    nearest_name(each.name, known));
        }
    }

    template <typename Entry>
    void entries(std::vector<Entry>& list, const std::vector<SchemaField<Entry>>& fields, const JsonValue& item,
                 const std::string& path, const Layer& layer) {
        if (item.kind != JsonValue::Kind::object || item.items.empty())
            return wrong(item, path, "an object with an entry for each name");
        for (const JsonValue& each : item.items) {
            const std::string here = path + "." + each.name;
            if (each.name.empty() || each.name.find_first_of(":/") != std::string::npos) {
                problem("target.value", each, here, fmt::format("{}: a name has neither ':' nor '/' in it", here));
                continue;
            }
            Entry made;
            made.name = each.name;
            entry(made, fields, each, here, {layer.tag, inside(layer.overrides, each.name)});
            list.push_back(std::move(made));
        }
    }

    template <typename Owner>
    void read(std::vector<MemoryScope>& scopes, const SchemaField<Owner>&, const JsonValue& item,
              const std::string& path, const Layer& layer) {
        entries(scopes, scope_fields(), item, path, layer);
    }

    template <typename Owner>
    void read(std::vector<ClusterMachine>& machines, const SchemaField<Owner>&, const JsonValue& item,
              const std::string& path, const Layer& layer) {
        entries(machines, machine_fields(), item, path, layer);
    }

    template <typename Owner>
    void read(std::vector<SystemDevice>& devices, const SchemaField<Owner>&, const JsonValue& item,
              const std::string& path, const Layer& layer) {
        entries(devices, device_fields(), item, path, layer);
        // One device of a kind needs no number; of several, an order of keys must not give them.
        const auto kind = [](const SystemDevice& device) { return device.target ? kind_of(*device.target) : ""; };
        for (const SystemDevice& device : devices) {
            const JsonValue* written = member(item, device.name);
            const auto same = std::ranges::count_if(devices, [&](auto& other) { return kind(other) == kind(device); });
            if (same > 1 && !member(*written, "id"))
                missing(*written, path + "." + device.name,
                        fmt::format("one of {} devices of kind '{}'", same, kind(device)), "id");
        }
    }

    template <typename Owner>
    void read(std::vector<SystemLink>& links, const SchemaField<Owner>&, const JsonValue& item, const std::string& path,
              const Layer& layer) {
        if (item.kind != JsonValue::Kind::array) return wrong(item, path, "an array");
        size_t number = 0;
        each_element(item, [&](const JsonValue& each) {
            SystemLink link;
            entry(link, link_fields(), each, fmt::format("{}[{}]", path, number++), layer);
            links.push_back(std::move(link));
        });
    }

    // ---- names and hosts

    void check_names(const Target& target, const SchemaField<Target>& field, const JsonValue& value,
                     const std::string& path) {
        const JsonValue* item = member(value, field.name);
        const bool words = field.vocabulary != Vocabulary::none && field.vocabulary != Vocabulary::kinds;
        if (!words || !item) return;
        const std::string& text = target.*std::get<std::string Target::*>(field.member);
        if (text.empty()) return;
        const auto names = names_for(field.vocabulary, target);
        const auto check = [&](const std::string& name) {
            if (std::ranges::find(names, name) != names.end()) return;
            const std::string here = path + "." + field.name;
            problem("target.unknown_value", *item, here,
                    fmt::format("{}: a target of kind '{}'{} has no {} '{}'", here, target.kind,
                                target.arch.empty() || field.vocabulary == Vocabulary::architectures
                                    ? ""
                                    : " and arch '" + target.arch + "'",
                                field.name, name),
                    nearest_name(name, names));
        };
        if (field.vocabulary != Vocabulary::features) return check(text);
        for (const auto& [name, sign] : signed_features(text)) check(name);
    }

    void check_host(const Target& target, const JsonValue& value, const std::string& path) {
        if (!target.host) return;
        const KindFacts* kind = find_kind(kind_of(*target.host));
        if (!kind || (kind->launches && !target.host->host)) return;
        problem("target.value", *member(value, "host"), path + ".host",
                fmt::format("{}.host: {} launches no kernels of others", path,
                            kind->launches ? "what has a host itself" : "a target of kind '" + kind->name + "'"));
    }

    const std::shared_ptr<const SourceText>& text_;
    const TargetTags& tags_;
    const TagUse use_;
};

}  // namespace

Result<JsonValue> read_target_json(const std::shared_ptr<const SourceText>& text) {
    return read_json_tree(text, {1 << 20, 64 << 20, 24, "target.syntax", "target.limit", "target.key"});
}

Result<Target> read_target_tree(const JsonValue& tree, const std::shared_ptr<const SourceText>& text,
                                const TargetTags& tags, const TagUse& use) {
    Reader reader(text, tags, use);
    JsonValue top = tree;
    reader.take_version(top);
    Target target = reader.target(top, "$", {});
    if (!reader.problems.empty()) return fail(std::move(reader.problems));
    return target;
}

}  // namespace heddle
