// heddle check
#include <algorithm>
#include <nlohmann/json.hpp>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/check_text.h"
#include "cli/support.h"
#include "flavours/kernel_matrix.h"
#include "frontends/onnx/import.h"
#include "gradient/check_rule.h"
#include "language/unused.h"
#include "rewrite/trial.h"
#include "rewrite/verify.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

// What of a file is fine, in words and as JSON.
struct Findings {
    Diagnostics problems;
    Diagnostics not_shown = {};  // templates of which nobody knows whether they work
    bool has_nothing = false;    // to be tried: functions only
    Diagnostics remarks = {};    // what is not wrong, but may not be meant
    std::string text;
    nlohmann::json json;
};

// What does not depend on the sizes, and then at a number for each open dimension.
Diagnostics check_model(const onnx::OnnxModel& model, const Library& library) {
    Diagnostics problems;
    std::map<std::string, int64_t> bindings;
    bool open = false;
    for (const auto& dimension : onnx::open_dimensions(model)) {
        bindings[dimension.name] = 64;
        open = true;
    }
    auto imported = onnx::import_model(model, library, {std::move(bindings), {}});
    if (imported) return {};
    size_t fixed = onnx::check_support(model, library).size();  // they come first
    for (Diagnostic& problem : imported.error()) {
        const bool follows = fixed == 0 && problem.code != "onnx.input_type";
        if (fixed > 0) fixed--;
        // Values decide when the model is run; the operators of both branches are there.
        const bool waits = std::ranges::any_of(problem.params, [](const auto& p) { return p.first == "waits_for"; });
        if (problem.code == "onnx.open_branch" || waits) continue;
        if (open && follows)
            problem.reason +=
                (problem.reason.empty() ? "" : "; ") + std::string("tried with 64 for every open dimension");
        problems.push_back(std::move(problem));
    }
    return problems;
}

Findings check_model(const std::string& path, const Library& library) {
    auto model = onnx::read_model(path);
    if (!model) return {.problems = model.error(), .text = {}, .json = {}};
    auto coverage = onnx::coverage_of(*model, library);
    bool all = coverage.covered == coverage.nodes;
    return {.problems = check_model(*model, library),
            .text = fmt::format("{} of {} nodes are covered, {} operators",
                                all ? "all" : std::to_string(coverage.covered), coverage.nodes, coverage.operators),
            .json = {{"nodes", coverage.nodes}, {"covered", coverage.covered}, {"operators", coverage.operators}}};
}

// Gradient rules that are not what the bodies give, which may be meant.
std::string rules_text(const std::vector<std::string>& own, const Library& library, nlohmann::json& json) {
    std::string text;
    for (const std::string& name : own) {
        const Template& metakernel = **library.find(name);
        if (metakernel.grad.empty()) continue;
        const auto graph = rewrite::made_up_use(metakernel, library);
        const auto found = graph ? gradient::rule_difference(*graph) : std::nullopt;
        if (!found) continue;
        text += fmt::format(
            "{}the rule of {} is not the derivative of its body: an element of d_{} is {:.4g} by the rule, {:.4g} by "
            "the body",
            text.empty() ? "" : "; ", metakernel.name, found->input, found->by_rule, found->by_body);
        json["rules"][metakernel.name] = {
            {"input", found->input}, {"by_rule", found->by_rule}, {"by_body", found->by_body}};
    }
    return text;
}

Diagnostic nothing_in(const std::string& path) {
    Diagnostic nothing;
    nothing.code = "cli.nothing_to_check";
    nothing.summary = fmt::format("there are no templates in {}", path);
    nothing.expected = "files *.yaml in the folder itself";
    nothing.found = "none";
    nothing.remedy = "give the folder that has them, or the files";
    return nothing;
}

// "fine", or in a few words what it is not.
std::string verdict(const Findings& findings) {
    std::vector<std::string> parts;
    if (const size_t count = findings.problems.size(); count > 0)
        parts.push_back(fmt::format("{} problem{}", count, count == 1 ? "" : "s"));
    if (const size_t count = findings.not_shown.size(); count > 0)
        parts.push_back(fmt::format("{} not shown to work", count));
    if (parts.empty()) parts.emplace_back(findings.has_nothing ? "no templates, functions only" : "fine");
    if (!findings.text.empty()) parts.push_back(findings.text);
    return fmt::format("{}", fmt::join(parts, "; "));
}

Findings check_templates(const std::string& path, const CommonOptions& options) {
    auto refused = [](Diagnostics problems) { return Findings{.problems = std::move(problems), .text = {}, .json = {}}; };
    auto library = open_libraries(options);
    if (!library) return refused(library.error());
    const size_t sources = library->sources().size();
    auto space = library->add_library(path);
    if (!space) return refused(space.error());
    if (library->sources().size() == sources) return refused({nothing_in(path)});
    auto fine = library->check_all();
    if (!fine) return refused(fine.error());
    std::vector<std::string> own;
    for (const std::string& name : library->names()) own.push_back(*space + "::" + name);
    std::erase_if(own, [&](const std::string& name) { return !library->find(name); });
    flavours::Registry registry;
    Diagnostics rows = flavours::KernelMatrix(*library, registry).check(own);
    if (!rows.empty()) return refused(std::move(rows));
    auto rules = rewrite::load_rules(*library, *space);
    if (!rules) return refused(rules.error());
    Findings findings;
    std::vector<std::string> declared;
    for (const std::string& name : own) {
        const Template& metakernel = **library->find(name);
        rewrite::Trial trial = rewrite::try_operator(metakernel, *library);
        const bool is_right = trial.mistakes.empty() && !trial.not_shown;
        if (is_right) std::ranges::move(unused_names(metakernel), std::back_inserter(findings.remarks));
        std::ranges::move(trial.mistakes, std::back_inserter(findings.problems));
        if (trial.not_shown) findings.not_shown.push_back(std::move(*trial.not_shown));
        if (!metakernel.has_body() && !metakernel.is_composition()) declared.push_back(metakernel.name);
    }
    findings.has_nothing = own.empty() && rules->empty();
    if (!declared.empty()) {
        findings.text = fmt::format("without a body: {}", fmt::join(declared, ", "));
        findings.json["declared"] = declared;
    }
    if (const std::string text = rules_text(own, *library, findings.json); !text.empty())
        findings.text += (findings.text.empty() ? "" : "; ") + text;
    return findings;
}

void print_remarks(const Diagnostics& remarks, const CommonOptions& options) {
    for (const Diagnostic& remark : options.json ? Diagnostics{} : remarks) {
        std::string text = render(remark);
        const std::string_view error = ": error[";
        if (const size_t at = text.find(error); at != std::string::npos) text.replace(at, error.size(), ": warning[");
        fmt::print(stderr, "{}", text);
    }
}

Findings findings_of(const std::string& file, const Library& library, const CommonOptions& options) {
    if (file.ends_with(".onnx")) return check_model(file, library);
    if (!file.ends_with(".txt")) return check_templates(file, options);
    auto text = check_text(file, this_machine());
    if (!text) return {.problems = text.error(), .text = {}, .json = {}};
    return {.problems = {}, .text = *text, .json = {{"text", *text}}};
}

}  // namespace

int check_files(const CheckOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return report(library.error(), options.common);
    Diagnostics all, not_shown;
    nlohmann::json files = nlohmann::json::array();
    for (const std::string& file : options.files) {
        Findings findings = findings_of(file, *library, options.common);
        if (!options.common.json) fmt::print("{}: {}\n", file, verdict(findings));
        findings.json["file"] = file;
        findings.json["problems"] = findings.problems.size();
        findings.json["not_shown"] = findings.not_shown.size();
        findings.json["remarks"] = nlohmann::json::parse(render_json(findings.remarks));
        files.push_back(std::move(findings.json));
        print_remarks(findings.remarks, options.common);
        std::ranges::move(findings.problems, std::back_inserter(all));
        std::ranges::move(findings.not_shown, std::back_inserter(not_shown));
    }
    constexpr int unknown = 3;  // nothing is wrong, but something was not seen to work
    const int status = !all.empty() ? 1 : !not_shown.empty() ? unknown : 0;
    std::ranges::move(not_shown, std::back_inserter(all));
    if (options.common.json)
        fmt::print("{{\"errors\": {}, \"files\": {}}}\n", render_json(all), files.dump());
    else if (!all.empty())
        report(all, options.common);
    return status;
}

}  // namespace heddle::cli
