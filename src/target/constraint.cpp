#include "target/constraint.h"

#include <algorithm>

#include <fmt/format.h>

#include "target/canonical.h"
#include "target/facts.h"
#include "target/hosts.h"
#include "target/read_target.h"
#include "target/write_target.h"

namespace heddle {
namespace {

bool is_stated(const Target& target, const SchemaField<Target>& field) {
    const auto origin = origin_of(target, field).kind;
    return origin != TargetOrigin::Kind::assumed && origin != TargetOrigin::Kind::derived;
}

// Of two targets the facts of both, or the first's before the second's.
class Union {
public:
    explicit Union(bool first_wins) : first_wins_(first_wins) {}

    Diagnostics problems;

    Target of(const Target& a, const Target& b, const std::string& path) {
        Target made;
        for (const auto& field : target_fields()) {
            if (std::string_view(field.name) == "name") continue;
            const bool in_a = is_stated(a, field), in_b = is_stated(b, field);
            if (!in_a && !in_b) continue;
            const std::string here = path + "." + field.name;
            const auto take = [&](auto member) {
                made.*member = in_a && in_b ? both(a.*member, b.*member, field, here) : (in_a ? a : b).*member;
            };
            std::visit(take, field.member);
            made.origins[field.name] = origin_of(in_a ? a : b, field);
        }
        if (is_same(a, b)) {
            made.tag = a.tag;
            made.overrides = a.overrides;
        }
        fits_together(made, path);
        derive(made);
        return made;
    }

private:
    // Names that are not known of the kind or architecture, and fields that the kind has not.
    void fits_together(const Target& made, const std::string& path) {
        const KindFacts* kind = find_kind(kind_of(made));
        for (const auto& field : target_fields()) {
            const std::string here = path + "." + field.name;
            if (!is_stated(made, field)) continue;
            const bool host = std::string_view(field.name) == "host";
            if (kind && !(host ? kind->level == TargetLevel::device : kind->has_group(field.group)))
                conflict(here, value_text(made, field), fmt::format("no field of kind '{}'", kind->name));
            if (field.vocabulary == Vocabulary::none) continue;
            const auto names = names_for(field.vocabulary, made);
            const auto& text = made.*std::get<std::string Target::*>(field.member);
            const auto check = [&](const std::string& name) {
                if (std::ranges::find(names, name) == names.end())
                    conflict(here, "'" + name + "'", fmt::format("of a '{}'", short_text(made)));
            };
            if (field.vocabulary != Vocabulary::features) {
                check(text);
                continue;
            }
            for (const auto& [name, sign] : signed_features(text)) check(name);
        }
    }

    void conflict(const std::string& path, const std::string& a, const std::string& b) {
        Diagnostic found{.code = "target.conflict", .summary = fmt::format("{} is both {} and {}", path, a, b)};
        found.params = {{"path", path}};
        problems.push_back(std::move(found));
    }

    template <typename Plain>
    Plain both(const Plain& a, const Plain& b, const SchemaField<Target>&, const std::string& path) {
        if (a != b && !first_wins_) conflict(path, nlohmann::ordered_json(a).dump(), nlohmann::ordered_json(b).dump());
        return a;
    }

    std::string both(const std::string& a, const std::string& b, const SchemaField<Target>& field,
                     const std::string& path) {
        if (field.vocabulary != Vocabulary::features) {
            if (a != b && !first_wins_) conflict(path, "'" + a + "'", "'" + b + "'");
            return a;
        }
        auto features = signed_features(a);
        for (const auto& [name, sign] : signed_features(b)) {
            const auto [found, added] = features.emplace(name, sign);
            if (!added && found->second != sign && !first_wins_) conflict(path, "+" + name, "-" + name);
        }
        std::string text;
        for (const auto& [name, sign] : features) text += (text.empty() ? "" : ",") + (sign + name);
        return text;
    }

    std::map<std::string, std::string> both(const std::map<std::string, std::string>& a,
                                            const std::map<std::string, std::string>& b, const SchemaField<Target>&,
                                            const std::string& path) {
        auto made = a;
        for (const auto& [name, text] : b) {
            const auto [found, added] = made.emplace(name, text);
            if (!added && found->second != text && !first_wins_)
                conflict(path + "." + name, "'" + found->second + "'", "'" + text + "'");
        }
        return made;
    }

    std::shared_ptr<const Target> both(const std::shared_ptr<const Target>& a, const std::shared_ptr<const Target>& b,
                                       const SchemaField<Target>&, const std::string& path) {
        if (!a || !b) return a ? a : b;
        return std::make_shared<const Target>(of(*a, *b, path));
    }

    // Entries by their names, in the order of these: neither side's order is the right one.
    template <typename Entry, typename Join>
    std::vector<Entry> by_name(const std::vector<Entry>& a, const std::vector<Entry>& b, const Join& join_entries) {
        std::map<std::string, Entry> made;
        for (const Entry& entry : a) made.emplace(entry.name, entry);
        for (const Entry& entry : b) {
            const auto [found, added] = made.emplace(entry.name, entry);
            if (!added) join_entries(found->second, entry);
        }
        std::vector<Entry> list;
        for (auto& [name, entry] : made) list.push_back(std::move(entry));
        return list;
    }

    // What is zero or empty is open.
    template <typename Value>
    void open(Value& a, const Value& b, const std::string& path) {
        if (a == Value{}) a = b;
        if (b != Value{} && a != b && !first_wins_)
            conflict(path, nlohmann::ordered_json(a).dump(), nlohmann::ordered_json(b).dump());
    }

    std::vector<SystemDevice> both(const std::vector<SystemDevice>& a, const std::vector<SystemDevice>& b,
                                   const SchemaField<Target>& field, const std::string& path) {
        return by_name(a, b, [&](SystemDevice& mine, const SystemDevice& other) {
            const std::string here = path + "." + mine.name;
            if (mine.id != other.id && !first_wins_)
                conflict(here + ".id", std::to_string(mine.id), std::to_string(other.id));
            open(mine.host, other.host, here + ".host");
            mine.target = both(mine.target, other.target, field, here + ".target");
            mine.scopes = by_name(mine.scopes, other.scopes, [&](MemoryScope& scope, const MemoryScope& more) {
                open(scope.bytes, more.bytes, here + ".scopes." + scope.name + ".bytes");
                open(scope.bandwidth, more.bandwidth, here + ".scopes." + scope.name + ".bandwidth");
            });
        });
    }

    std::vector<ClusterMachine> both(const std::vector<ClusterMachine>& a, const std::vector<ClusterMachine>& b,
                                     const SchemaField<Target>& field, const std::string& path) {
        return by_name(a, b, [&](ClusterMachine& mine, const ClusterMachine& other) {
            if (mine.count != other.count && !first_wins_)
                conflict(path + "." + mine.name + ".count", std::to_string(mine.count), std::to_string(other.count));
            mine.target = both(mine.target, other.target, field, path + "." + mine.name + ".target");
        });
    }

    // One link between two ends; several of the same ends are several ways, if they are equal they are one.
    std::vector<SystemLink> both(const std::vector<SystemLink>& a, const std::vector<SystemLink>& b,
                                 const SchemaField<Target>&, const std::string& path) {
        std::vector<SystemLink> made = a;
        for (const SystemLink& link : b) {
            const auto ends = [&](const SystemLink& other) { return other.from == link.from && other.to == link.to; };
            const auto found = std::ranges::find_if(made, ends);
            if (found == made.end())
                made.push_back(link);
            else if (*found != link && !first_wins_)
                conflict(path, fmt::format("a link from '{}' to '{}'", link.from, link.to), "another one");
        }
        return made;
    }

    const bool first_wins_;
};

// ---- what is asked for

class Satisfaction {
public:
    std::vector<std::string> lacking;

    void check(const Target& general, const Target& special, const std::string& path) {
        const auto& kind = *find_target_field("kind");
        const bool machine = general.level() >= TargetLevel::machine;
        if ((machine || is_stated(general, kind)) && kind_of(general) != kind_of(special))
            return differs(path + ".kind", kind_of(general), kind_of(special));
        for (const auto& field : target_fields()) {
            const std::string_view name = field.name;
            // What follows from the names of the CPU and the architecture is asked for by these.
            if (name == "kind" || name == "cpu" || name == "features" || !is_stated(general, field)) continue;
            if (field.demand == Demand::nothing) continue;
            std::visit([&](auto member) { value(general.*member, special.*member, field, special, path); },
                       field.member);
        }
        code(general, special, path);
    }

private:
    static bool general_level(const Target& target) {
        const InstructionSet* set = find_instruction_set(target.arch);
        return set && std::ranges::find(set->levels, target.cpu) != set->levels.end();
    }

    void differs(const std::string& path, const std::string& asked, const std::string& found) {
        lacking.push_back(fmt::format("{} is {}, not {}", path, found.empty() ? "not known" : found, asked));
    }

    // The CPU's name, and features, of which its name may say some.
    void code(const Target& general, const Target& special, const std::string& path) {
        const bool level = general_level(general);
        if (!general.cpu.empty() && !level && general.cpu != special.cpu)
            differs(path + ".cpu", "'" + general.cpu + "'", special.cpu.empty() ? "" : "'" + special.cpu + "'");
        auto wanted = signed_features(general.features);
        if (!general.cpu.empty()) {
            for (const std::string& feature : features_of(general)) wanted.emplace(feature, '+');
        }
        const auto there = features_of(special);
        std::string missing;
        for (const auto& [name, sign] : wanted) {
            if (sign == '+' && !there.contains(name)) missing += " " + name;
        }
        if (!missing.empty()) lacking.push_back(fmt::format("{}.features lack{}", path, missing));
    }

    template <typename Value>
    void value(const Value& asked, const Value& found, const SchemaField<Target>& field, const Target& special,
               const std::string& path) {
        const bool known = is_known(special, field);
        const bool less = field.demand == Demand::at_least;
        bool enough = known && asked == found;
        if constexpr (std::is_arithmetic_v<Value>) enough = enough || (known && less && found > asked);
        if (enough) return;
        const std::string text = nlohmann::ordered_json(asked).dump();
        differs(path + "." + field.name, (less ? "at least " : "") + text,
                known ? nlohmann::ordered_json(found).dump() : "");
    }

    void value(const std::shared_ptr<const Target>& asked, const std::shared_ptr<const Target>& found,
               const SchemaField<Target>& field, const Target&, const std::string& path) {
        if (!asked) return;
        if (!found) return differs(path + "." + field.name, short_text(*asked), "");
        check(*asked, *found, path + "." + field.name);
    }

    template <typename Entry, typename Check>
    void by_name(const std::vector<Entry>& asked, const std::vector<Entry>& found, const std::string& path,
                 const Check& check_entries) {
        for (const Entry& entry : asked) {
            const auto same = std::ranges::find(found, entry.name, &Entry::name);
            if (same == found.end())
                lacking.push_back(fmt::format("{}.{} is not there", path, entry.name));
            else
                check_entries(entry, *same, path + "." + entry.name);
        }
    }

    void value(const std::vector<SystemDevice>& asked, const std::vector<SystemDevice>& found,
               const SchemaField<Target>& field, const Target&, const std::string& path) {
        by_name(asked, found, path + "." + field.name, [&](auto& mine, auto& other, const std::string& here) {
            if (mine.target && other.target) check(*mine.target, *other.target, here + ".target");
            by_name(mine.scopes, other.scopes, here + ".scopes", [&](auto& scope, auto& more, const std::string& at) {
                if (more.bytes < scope.bytes)
                    differs(at + ".bytes", fmt::format("at least {}", scope.bytes), std::to_string(more.bytes));
            });
        });
    }

    void value(const std::vector<ClusterMachine>& asked, const std::vector<ClusterMachine>& found,
               const SchemaField<Target>& field, const Target&, const std::string& path) {
        by_name(asked, found, path + "." + field.name, [&](auto& mine, auto& other, const std::string& here) {
            if (mine.target && other.target) check(*mine.target, *other.target, here + ".target");
            if (other.count < mine.count)
                differs(here + ".count", fmt::format("at least {}", mine.count), std::to_string(other.count));
        });
    }

    void value(const std::vector<SystemLink>& asked, const std::vector<SystemLink>& found,
               const SchemaField<Target>& field, const Target&, const std::string& path) {
        for (const SystemLink& link : asked) {
            const auto same = [&](const SystemLink& other) {
                return (other.from == link.from && other.to == link.to) ||
                       (other.both_ways && other.from == link.to && other.to == link.from);
            };
            if (std::ranges::none_of(found, same))
                lacking.push_back(fmt::format("{}.{}: none from '{}' to '{}'", path, field.name, link.from, link.to));
        }
    }
};

Result<Target> united(const Target& a, const Target& b, bool first_wins) {
    Union both(first_wins);
    Target made = both.of(a, b, "$");
    Diagnostics unfit = check_system(made, "$");
    std::ranges::move(unfit, std::back_inserter(both.problems));
    if (!both.problems.empty()) return fail(std::move(both.problems));
    return made;
}

}  // namespace

Result<Target> join(const Target& a, const Target& b) { return united(a, b, false); }

Result<Target> with_defaults(const Target& a, const Target& b) { return united(a, b, true); }

std::vector<std::string> unsatisfied(const Target& general, const Target& special) {
    Satisfaction all;
    all.check(general, special, "$");
    return std::move(all.lacking);
}

Result<TargetFact> ask(const Target& target, const std::string& name) {
    const SchemaField<Target>* field = find_target_field(name);
    if (!field) {
        std::vector<std::string> known;
        for (const auto& each : target_fields()) known.emplace_back(each.name);
        const std::string nearest = nearest_name(name, known);
        return fail({.code = "target.unknown_key",
                     .summary = fmt::format("a target has no field '{}'", name),
                     .remedy = nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest)});
    }
    if (name == "features") {
        const auto features = features_of(target);
        std::string text;
        for (const std::string& feature : features) text += (text.empty() ? "+" : ",+") + feature;
        const bool own = is_known(target, *field);
        const TargetOrigin derived{TargetOrigin::Kind::derived,
                                   target.cpu.empty() ? "arch " + target.arch : "cpu " + target.cpu};
        if (!features.empty())
            return TargetFact{nlohmann::json(text).dump(), own ? origin_of(target, *field) : derived};
    }
    if (is_known(target, *field)) return TargetFact{value_text(target, *field), origin_of(target, *field)};
    return fail({.code = "target.unknown_fact",
                 .summary = fmt::format("'{}' does not say its '{}': {}", short_text(target), name, field->meaning),
                 .reason = target.cpu.empty() ? "it names no CPU either, from which that might follow"
                                              : "nor does it follow from the CPU's name",
                 .remedy = fmt::format("add {{\"{}\": {}}}{}", name,
                                       std::holds_alternative<std::string Target::*>(field->member) ? "\"...\"" : "...",
                                       *field->unit ? fmt::format(", in {}", field->unit) : ""),
                 .params = {{"path", "$." + name}}});
}

}  // namespace heddle
