#include "rewrite/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "symbolic/environment.h"

namespace heddle::rewrite {
namespace {

void say_where(Diagnostics& problems, const Rule& rule) {
    for (Diagnostic& problem : problems) {
        problem.contexts.push_back({fmt::format("in the rule {}", rule.name), rule.source->place});
        problem.params.emplace_back("rule", rule.name);
    }
}

Result<void> check_types(const CallGraph& graph, const Rule& rule, const std::vector<TensorId>& before,
                         const std::vector<TensorId>& after) {
    bool counts = before.size() == after.size();
    for (size_t i = 0; counts && i < before.size(); ++i) {
        if (before[i] < 0 || after[i] < 0) continue;
        const TensorType &old_type = graph.type(before[i]), &new_type = graph.type(after[i]);
        if (old_type.dtype == new_type.dtype && old_type.extents() == new_type.extents()) continue;
        Diagnostic diagnostic{.code = "rewrite.types",
                              .summary = fmt::format("the rule {} changes a type", rule.name),
                              .place = rule.source->replace->place,
                              .expected = old_type.text(),
                              .found = new_type.text()};
        diagnostic.params.emplace_back("rule", rule.name);
        return fail(std::move(diagnostic));
    }
    if (counts) return {};
    return fail({.code = "rewrite.types",
                 .summary = fmt::format("the rule {} changes the number of results", rule.name),
                 .place = rule.source->replace->place,
                 .expected = std::to_string(before.size()),
                 .found = std::to_string(after.size())});
}

std::unexpected<Diagnostics> not_terminating(const std::string& reason, const std::vector<Step>& steps, size_t first) {
    std::vector<std::string> rules;
    for (size_t i = first; i < steps.size(); ++i) {
        if (std::find(rules.begin(), rules.end(), steps[i].rule) == rules.end()) rules.push_back(steps[i].rule);
    }
    std::string names;
    for (const std::string& rule : rules) names += (names.empty() ? "" : ", ") + rule;
    Diagnostic diagnostic{.code = "rewrite.not_terminating",
                          .summary = "the rules do not come to an end",
                          .found = fmt::format("{} steps, the last ones by {}", steps.size(), names),
                          .reason = reason,
                          .remedy =
                              "give the rules a condition by which each step makes progress, or say how many "
                              "steps: heddle rewrite --steps N"};
    diagnostic.params.emplace_back("rules", names);
    return fail(std::move(diagnostic));
}

// One step, anywhere, or nothing. Counts the replacements that were built.
Result<std::optional<Step>> step(CallGraph& graph, const std::vector<RuleUse>& uses, int64_t& built) {
    auto order = graph.order();
    for (const RuleUse& use : uses) {
        for (int32_t call : order) {
            auto replacement = replacement_at(graph, use, call);
            if (!replacement) return std::unexpected(replacement.error());
            if (!*replacement) continue;
            const auto& before = (*replacement)->before;
            std::string at = before.empty() ? "" : graph.session().graph().tensor(before[0]).name;
            if (graph.replace(before, (*replacement)->after)) return Step{use.rule->name, std::move(at)};
            if (++built >= most_replacements) return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace

Result<std::optional<Replacement>> replacement_at(CallGraph& graph, const RuleUse& use, int32_t call) {
    const Rule& rule = *use.rule;
    auto found = match_at(graph, rule, call, use.parameters);
    if (!found) {
        say_where(found.error(), rule);
        return std::unexpected(found.error());
    }
    if (!*found) return std::nullopt;
    const Match& match = **found;
    if (std::all_of(match.results.begin(), match.results.end(), [](TensorId tensor) { return tensor < 0; }))
        return std::nullopt;
    auto made = graph.add(rule.replacement, match.arguments, match.values, match.requested);
    if (!made) {
        Diagnostic diagnostic{.code = "rewrite.replacement",
                              .summary = fmt::format("the replacement of the rule {} cannot be applied", rule.name),
                              .place = rule.source->replace->place};
        made.error().insert(made.error().begin(), std::move(diagnostic));
        say_where(made.error(), rule);
        return std::unexpected(made.error());
    }
    if (auto same = check_types(graph, rule, match.results, *made); !same) return std::unexpected(same.error());
    Replacement replacement;
    for (size_t i = 0; i < made->size(); ++i) {
        if (match.results[i] < 0) continue;
        replacement.before.push_back(match.results[i]);
        replacement.after.push_back((*made)[i]);
    }
    return replacement;
}

Result<bool> apply_at(CallGraph& graph, const RuleUse& use, int32_t call) {
    auto replacement = replacement_at(graph, use, call);
    if (!replacement) return std::unexpected(replacement.error());
    return *replacement && graph.replace((*replacement)->before, (*replacement)->after);
}

Result<std::vector<Step>> apply_rules(CallGraph& graph, const std::vector<RuleUse>& uses,
                                      std::optional<int64_t> limit) {
    std::vector<Step> steps;
    int64_t built = 0;
    std::map<std::string, size_t> seen;  // programs, with how many steps had been done
    for (;;) {
        auto count = static_cast<int64_t>(steps.size());
        if (limit && count >= *limit) return steps;
        if (!limit) {
            auto [before, fresh] = seen.try_emplace(graph.text(), steps.size());
            if (!fresh) return not_terminating("the program is what it was before", steps, before->second);
            if (count >= most_steps) {
                return not_terminating(fmt::format("more than {} steps", most_steps), steps,
                                       steps.size() - std::min<size_t>(steps.size(), 100));
            }
        }
        auto done = step(graph, uses, built);
        if (!done) return std::unexpected(done.error());
        if (built >= most_replacements) {
            return not_terminating(fmt::format("more than {} replacements change nothing", most_replacements), steps,
                                   steps.size() - std::min<size_t>(steps.size(), 100));
        }
        if (!*done) return steps;
        steps.push_back(std::move(**done));
    }
}

Result<RuleUse> read_rule_use(const std::string& text, const Library& library) {
    auto source = std::make_shared<const SourceText>("rule", text);
    auto parsed = parse_expression(source);
    if (!parsed) return std::unexpected(parsed.error());
    const Syntax& syntax = **parsed;
    bool call = syntax.kind == Syntax::Kind::call && syntax.children.empty();
    if (!call && syntax.kind != Syntax::Kind::name) {
        return fail({.code = "rewrite.parameters",
                     .summary = fmt::format("'{}' is no rule with parameters", text),
                     .place = syntax.place,
                     .expected = "NAME or NAME(PARAMETER: VALUE, ...)"});
    }
    auto found = find_rule(library, syntax.text);
    if (!found) return std::unexpected(found.error());
    auto rule = compile_rule(**found, library);
    if (!rule) return std::unexpected(rule.error());
    RuleUse use{std::move(*rule), {}};
    Template nothing;
    nothing.functions = std::make_shared<FunctionTable>();
    Environment environment(nothing);
    for (const NamedArgument& argument : syntax.named) {
        const auto& params = use.rule->source->params;
        bool known = std::any_of(params.begin(), params.end(), [&](const Parameter& parameter) {
            return parameter.name == argument.name && use.rule->is_free(parameter);
        });
        if (!known) {
            return fail(
                {.code = "rewrite.parameters",
                 .summary = fmt::format("the rule {} has no parameter {} to be given", use.rule->name, argument.name),
                 .place = argument.place});
        }
        auto value = environment.evaluate(*argument.value);
        if (!value) return std::unexpected(value.error());
        use.parameters.insert_or_assign(argument.name, std::move(*value));
    }
    for (const Parameter& parameter : use.rule->source->params) {
        if (parameter.default_value || !use.rule->is_free(parameter) || use.parameters.contains(parameter.name))
            continue;
        return fail(
            {.code = "rewrite.parameters",
             .summary = fmt::format("the rule {} is not given its parameter {}", use.rule->name, parameter.name),
             .remedy = fmt::format("write {}({}: ...)", use.rule->name, parameter.name)});
    }
    return use;
}

Result<std::vector<RuleUse>> read_rule_uses(const std::vector<std::string>& texts, const Library& library) {
    std::vector<RuleUse> uses;
    for (const std::string& text : texts) {
        if (text.ends_with("::*")) {
            auto all = user_rules(library, text.substr(0, text.size() - 3));
            if (!all) return all;
            if (all->empty()) {
                return fail({.code = "rewrite.unknown_rule",
                             .summary = fmt::format("'{}' stands for no rule", text),
                             .expected = "a library with rules that need no parameters"});
            }
            std::ranges::move(*all, std::back_inserter(uses));
            continue;
        }
        auto use = read_rule_use(text, library);
        if (!use) return std::unexpected(use.error());
        uses.push_back(std::move(*use));
    }
    return uses;
}

Result<std::vector<RuleUse>> user_rules(const Library& library, const std::optional<std::string>& space) {
    std::vector<RuleUse> uses;
    Diagnostics problems;
    for (const RewriteRule* source : library.rewrites()) {
        if (source->library.empty() || (space && source->library != *space)) continue;
        auto rule = compile_rule(*source, library);
        if (!rule) {
            problems.insert(problems.end(), rule.error().begin(), rule.error().end());
            continue;
        }
        bool complete = std::all_of(source->params.begin(), source->params.end(), [&](const Parameter& parameter) {
            return parameter.default_value || !(*rule)->is_free(parameter);
        });
        if (complete) uses.push_back({std::move(*rule), {}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return uses;
}

}  // namespace heddle::rewrite
