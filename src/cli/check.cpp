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
#include "rewrite/trial.h"
#include "rewrite/verify.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

// What of a file is fine, in words and as JSON.
struct Findings {
    Diagnostics problems;
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

// "not tried: a, b (it has no body); c (no made-up tensors fit it: ...)"
std::string untried_text(const std::map<std::string, std::vector<std::string>>& by_reason) {
    std::string text;
    for (const auto& [reason, names] : by_reason)
        text += fmt::format("{}{} ({})", text.empty() ? "not tried: " : "; ", fmt::join(names, ", "), reason);
    return text;
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

Findings check_templates(const std::string& path, const CommonOptions& options) {
    auto refused = [](Diagnostics problems) { return Findings{std::move(problems), {}, {}}; };
    auto library = open_libraries(options);
    if (!library) return refused(library.error());
    auto space = library->add_library(path);
    if (!space) return refused(space.error());
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
    std::map<std::string, std::vector<std::string>> untried;
    for (const std::string& name : own) {
        const Template& metakernel = **library->find(name);
        rewrite::Trial trial = rewrite::try_operator(metakernel, *library);
        std::ranges::move(trial.mistakes, std::back_inserter(findings.problems));
        if (trial.untried.empty()) continue;
        untried[trial.untried].push_back(metakernel.name);
        findings.json["untried"][metakernel.name] = trial.untried;
    }
    findings.text = untried_text(untried);
    if (const std::string text = rules_text(own, *library, findings.json); !text.empty())
        findings.text += (findings.text.empty() ? "" : "; ") + text;
    return findings;
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
    Diagnostics all;
    nlohmann::json files = nlohmann::json::array();
    for (const std::string& file : options.files) {
        Findings findings = findings_of(file, *library, options.common);
        const Diagnostics& problems = findings.problems;
        if (!options.common.json) {
            fmt::print("{}: {}{}{}\n", file, problems.empty() ? "fine" : fmt::format("{} problems", problems.size()),
                       findings.text.empty() ? "" : "; ", findings.text);
        }
        findings.json["file"] = file;
        findings.json["problems"] = problems.size();
        files.push_back(std::move(findings.json));
        all.insert(all.end(), problems.begin(), problems.end());
    }
    if (options.common.json) {
        fmt::print("{{\"errors\": {}, \"files\": {}}}\n", render_json(all), files.dump());
        return all.empty() ? 0 : 1;
    }
    return all.empty() ? 0 : report(all, options.common);
}

}  // namespace heddle::cli
