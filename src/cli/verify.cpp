// heddle verify
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/support.h"
#include "rewrite/verify.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// What became of one rule.
struct Outcome {
    std::string name;
    rewrite::TypeCheck types;
    rewrite::Verdict verdict;
    Diagnostics problems;  // it could not be tested

    bool fine() const { return problems.empty() && !verdict.counterexample; }
};

Result<std::vector<const RewriteRule*>> chosen_rules(const VerifyOptions& options, Library& library) {
    std::vector<std::string> spaces;
    Diagnostics problems;
    for (const std::string& file : options.files) {
        auto space = library.add_library(file);
        if (space)
            spaces.push_back(*space);
        else
            problems.insert(problems.end(), space.error().begin(), space.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    std::vector<const RewriteRule*> rules;
    for (const std::string& name : options.rules) {
        auto rule = rewrite::find_rule(library, name);
        if (rule)
            rules.push_back(*rule);
        else
            problems.insert(problems.end(), rule.error().begin(), rule.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    if (!options.rules.empty()) return rules;
    for (const RewriteRule* rule : library.rewrites()) {
        bool of_file = std::find(spaces.begin(), spaces.end(), rule->library) != spaces.end();
        if (spaces.empty() ? rule->library.empty() : of_file) rules.push_back(rule);
    }
    if (!rules.empty()) return rules;
    return fail({.code = "cli.no_rules",
                 .summary = "there are no rules to test",
                 .remedy = "write rules under the key `rewrites` of the file (docs/rewrites.md)"});
}

Outcome test(const RewriteRule& source, const Library& library, const VerifyOptions& options,
             const std::string& progress) {
    Outcome outcome{rewrite::full_name(source), {}, {}, {}};
    auto rule = rewrite::compile_rule(source, library);
    auto types = rule ? rewrite::check_types(*rule, library, static_cast<uint64_t>(options.seed))
                      : Result<rewrite::TypeCheck>(std::unexpected(rule.error()));
    if (!types) {
        outcome.problems = types.error();
        return outcome;
    }
    outcome.types = *types;
    rewrite::VerifyOptions testing{options.trials, static_cast<uint64_t>(options.seed), {}};
    bool terminal = isatty(STDERR_FILENO);
    auto begin = std::chrono::steady_clock::now();
    double shown = 0;
    if (terminal) {
        testing.progress = [&](int64_t done) {
            double now = milliseconds_since(begin);
            if (now - shown < 200 && done < options.trials) return;
            shown = now;
            fmt::print(stderr, "\r\033[K{} {}: {} of {}{}", progress, outcome.name, done, options.trials,
                       done < options.trials ? "" : "\r\033[K");
        };
    }
    auto verdict = rewrite::verify_rule(*rule, library, testing);
    if (terminal) fmt::print(stderr, "\r\033[K");
    if (verdict)
        outcome.verdict = std::move(*verdict);
    else
        outcome.problems = verdict.error();
    return outcome;
}

std::string indented(const std::string& text) {
    std::string result = "    ";
    for (size_t i = 0; i < text.size(); ++i) {
        result += text[i];
        if (text[i] == '\n' && i + 1 < text.size()) result += "    ";
    }
    return result;
}

void print_outcome(const Outcome& outcome) {
    if (!outcome.problems.empty()) {
        fmt::print("{}: refused\n", outcome.name);
        return;
    }
    const rewrite::Verdict& verdict = outcome.verdict;
    if (!verdict.counterexample) {
        fmt::print("{}: agrees on {} instances ({} elements{}); types equal {}\n", outcome.name, verdict.trials,
                   verdict.elements, verdict.undecided ? fmt::format(", {} undecided", verdict.undecided) : "",
                   outcome.types.symbolic ? "as expressions" : "as numbers");
        return;
    }
    const rewrite::Counterexample& found = *verdict.counterexample;
    fmt::print("{}: wrong, found by instance {}\n  for\n", outcome.name, verdict.trials);
    for (const auto& [type, values] : found.inputs) fmt::print("    {} = {}\n", type, values);
    for (const auto& [name, value] : found.instance.values) fmt::print("    ${} = {}\n", name, value.print());
    fmt::print("  the match\n{}  and the replacement\n{}", indented(found.before), indented(found.after));
    fmt::print("  differ: {} is {} by the match, {} by the replacement\n", found.element, found.expected, found.found);
}

Json outcome_json(const Outcome& outcome) {
    const rewrite::Verdict& verdict = outcome.verdict;
    Json json = {{"rule", outcome.name},
                 {"fine", outcome.fine()},
                 {"types", outcome.types.symbolic ? "expressions" : "numbers"},
                 {"type_instances", outcome.types.instances},
                 {"trials", verdict.trials},
                 {"elements", verdict.elements},
                 {"undecided", verdict.undecided},
                 {"counterexample", nullptr},
                 {"errors", Json::parse(render_json(outcome.problems))}};
    if (!verdict.counterexample) return json;
    const rewrite::Counterexample& found = *verdict.counterexample;
    Json inputs = Json::object(), values = Json::object();
    for (const auto& [type, data] : found.inputs) inputs[type] = data;
    for (const auto& [name, value] : found.instance.values) values[name] = value.print();
    json["counterexample"] = {{"inputs", inputs},           {"parameters", values},     {"match", found.before},
                              {"replacement", found.after}, {"element", found.element}, {"expected", found.expected},
                              {"found", found.found}};
    return json;
}

}  // namespace

int verify_rules(const VerifyOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return report(library.error(), options.common);
    auto rules = chosen_rules(options, *library);
    if (!rules) return report(rules.error(), options.common);
    bool fine = true;
    Json list = Json::array();
    Diagnostics problems;
    for (size_t i = 0; i < rules->size(); ++i) {
        Outcome outcome = test(*(*rules)[i], *library, options, fmt::format("rule {} of {}", i + 1, rules->size()));
        fine = fine && outcome.fine();
        if (options.common.json)
            list.push_back(outcome_json(outcome));
        else
            print_outcome(outcome);
        problems.insert(problems.end(), outcome.problems.begin(), outcome.problems.end());
    }
    if (options.common.json)
        fmt::print("{}\n", Json{{"rules", list}}.dump(2, ' ', false, Json::error_handler_t::replace));
    else if (!problems.empty())
        report(problems, options.common);
    return fine ? 0 : 1;
}

}  // namespace heddle::cli
