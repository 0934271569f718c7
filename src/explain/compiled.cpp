#include "explain/compiled.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/c/c_source.h"
#include "codegen/instruction_count.h"
#include "equations/fusion.h"
#include "equations/passes.h"
#include "equations/storing_alternatives.h"
#include "explain/operation.h"
#include "explain/placement.h"
#include "plan/plan.h"
#include "support/text_width.h"

namespace heddle::explain {
namespace {

using Json = nlohmann::ordered_json;

// Values whose other choice is worked out: each takes a fusion of the whole.
constexpr size_t most_choices = 32;

Diagnostic unknown_pass(const std::string& name) {
    std::vector<std::string> names = {"all"};
    for (const equations::Pass& pass : equations::passes()) names.emplace_back(pass.name);
    const std::string near = nearest_name(name, names);
    return {.code = "explain.pass",
            .summary = fmt::format("there is no pass '{}'", name),
            .expected = fmt::format("{}", fmt::join(names, ", ")),
            .remedy = near.empty() ? "docs/equations.md says what each does" : fmt::format("did you mean {}?", near)};
}

// The system behind each run of the pass, or of all passes, that has changed something.
equations::OptimiseOptions shown_behind(const std::string& name, Json& runs) {
    if (name.empty()) return {};
    runs = Json::array();
    return {.after = [&, name](const equations::Pass& pass, const equations::System& system, bool changed) {
        if (name != "all" && name != pass.name) return;
        runs.push_back({{"pass", pass.name}, {"changed", changed}});
        if (changed) runs.back()["system"] = equations::print(system);
    }};
}

Json outcome_json(const equations::StoringOutcome& outcome) {
    return {{"place", equations::name(outcome.place)},
            {"bytes", outcome.cost.bytes},
            {"operations", outcome.cost.operations},
            {"launches", outcome.launches}};
}

Json choices_json(const equations::System& lowered, const Target& target) {
    Json json = Json::array();
    for (const auto& value : equations::storing_alternatives(lowered, target, most_choices)) {
        json.push_back({{"tensor", value.tensor}, {"reads", value.reads}, {"chosen", outcome_json(value.chosen)}});
        json.back()["others"] = Json::array();
        for (const auto& other : value.others) json.back()["others"].push_back(outcome_json(other));
    }
    return json;
}

Result<Json> equations_json(const Graph& graph, const Target& target, const ExplanationOptions& options) {
    const std::string& pass = options.pass;
    if (!pass.empty() && pass != "all" && !equations::pass_named(pass)) return fail({unknown_pass(pass)});
    auto system = equations::lower(graph);
    if (!system) return fail(std::move(system.error()));
    if (auto known = equations::choose_storing(*system, options.storing); !known) return fail(std::move(known.error()));
    Json json, runs;
    Json choices = choices_json(*system, target);
    json["lowered"] = equations::print(*system);
    equations::optimise(*system, shown_behind(pass, runs));
    if (!runs.is_null()) json["passes"] = std::move(runs);
    if (auto done = equations::check_storing(*system); !done) return fail(std::move(done.error()));
    json["optimised"] = equations::print(*system);
    auto partition = equations::fuse(*system, target, {});
    json["kernels"] = equations::print(*system, partition);
    json["decisions"] = Json::array();
    for (const auto& decision : partition.decisions) {
        json["decisions"].push_back({{"producer", decision.producer},
                                     {"reader", decision.reader},
                                     {"joined", decision.joined},
                                     {"gain_microseconds", decision.gain},
                                     {"reason", decision.reason}});
    }
    json["choices"] = std::move(choices);
    return json;
}

// Kernels call their tensors t0, t1 ... and their arrays l0, l1 ... so that programs can share them: what these are in
// each launch.
std::string tensor_names(const plan::Plan& plan) {
    std::string text;
    for (const plan::Batch& batch : plan.run) {
        for (const plan::Launch& launch : batch) {
            std::string names;
            for (size_t i = 0; i < launch.buffers.size(); i++)
                names += fmt::format("{}t{} {}", i ? ", " : "", i,
                                     plan.buffers[static_cast<size_t>(launch.buffers[i])].name);
            for (size_t i = 0; i < launch.locals.size(); i++) names += fmt::format(", l{} {}", i, launch.locals[i]);
            if (!launch.layout) text += fmt::format("tensors of '{}': {}\n", launch.name, names);
        }
    }
    return text;
}

void add_plan_json(const plan::Plan& plan, const ExplanationOptions& options, Json& json) {
    if (options.schedule) {
        Json trees = Json::array();
        for (size_t i = 0; i < plan.trees.size(); i++)
            trees.push_back({{"key", plan.keys[i]},
                             {"instructions", codegen::instruction_count(*plan.trees[i])},
                             {"tree", schedules::print(*plan.trees[i])}});
        json["schedule"] = {{"choices", plan::summary(plan)},
                            {"tensors", tensor_names(plan)},
                            {"plan", plan::print(plan)},
                            {"kernels", std::move(trees)}};
    }
    if (options.source) {
        json["source"] = Json::array();
        for (size_t i = 0; i < plan.trees.size(); i++) {
            std::string function = "kernel_" + plan.keys[i].substr(0, 8);
            json["source"].push_back({{"function", function}, {"c", backends::c_source(*plan.trees[i], function)}});
        }
    }
}

// Lines of text forms, such as those of kernels, are as long as what they say.
constexpr size_t form_width = 100;

std::string form_text(const std::string& text, int indent) { return continued(indented(text, indent), form_width); }

std::string form_part(const std::string& title, const Json& json, const char* key) {
    return fmt::format("\n{}\n{}", title, form_text(text_of(json, key), 2));
}

std::string times(int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

std::string outcome_text(const Json& outcome) {
    return fmt::format("{}: {:.0f} bytes, {:.0f} operations, {} launch{}", text_of(outcome, "place"),
                       outcome["bytes"].get<double>(), outcome["operations"].get<double>(),
                       outcome["launches"].get<int64_t>(), outcome["launches"] == 1 ? "" : "es");
}

std::string equations_text(const Json& json) {
    std::string text = form_part("equations as lowered", json, "lowered");
    for (const Json& run : json.value("passes", Json::array())) {
        const std::string title = "equations after " + text_of(run, "pass");
        text += run["changed"].get<bool>() ? form_part(title, run, "system")
                                           : fmt::format("\n{}: nothing has changed\n", title);
    }
    text += form_part("equations after substitution", json, "optimised");
    text += form_part("kernels", json, "kernels");
    if (!json["decisions"].empty()) text += "\ndecisions\n";
    for (const Json& decision : json["decisions"]) {
        const std::string line = fmt::format(
            "{} -> {}: {}, gain {:.3g} us{}", text_of(decision, "producer"), text_of(decision, "reader"),
            decision["joined"].get<bool>() ? "fused" : "not fused", decision["gain_microseconds"].get<double>(),
            text_of(decision, "reason").empty() ? "" : ": " + text_of(decision, "reason"));
        text += fmt::format("  {}\n", filled(line, form_width, 6));
    }
    if (!json["choices"].empty()) text += "\nchoices of values, with what a run moves and computes\n";
    for (const Json& value : json["choices"]) {
        std::string line = fmt::format("{}, read {}, is {}", text_of(value, "tensor"), times(value["reads"].get<int>()),
                                       outcome_text(value["chosen"]));
        for (const Json& other : value["others"]) line += "; if " + outcome_text(other);
        text += fmt::format("  {}\n", filled(line, form_width, 6));
    }
    return text;
}

}  // namespace

Result<void> add_compiled(const Graph& graph, const Target& target, const ExplanationOptions& options, Json& json,
                          Diagnostics& notes) {
    if (options.equations) {
        auto equations = equations_json(graph, target, options);
        if (!equations) return fail(std::move(equations.error()));
        json["equations"] = std::move(*equations);
    }
    if (options.system) {
        auto on_system = placed(graph, *options.system, options.place);
        if (!on_system) return fail(std::move(on_system.error()));
        json["placement"] = placement_json(graph, *on_system);
        json["placement"]["text"] = placement_text(graph, *on_system);
    }
    if (!options.schedule && !options.source) return {};
    auto plan = plan::make_plan(graph, target, {.storing = options.storing});
    if (!plan) return fail(std::move(plan.error()));
    notes = plan->notes;
    add_plan_json(*plan, options, json);
    return {};
}

std::string compiled_text(const Json& json) {
    std::string text;
    if (json.contains("equations")) text += equations_text(json["equations"]);
    if (json.contains("placement")) text += "\n" + text_of(json["placement"], "text");
    if (json.contains("schedule")) {
        text += "\nchoices\n";
        text += form_text(text_of(json["schedule"], "choices"), 2);
        text += form_text(text_of(json["schedule"], "tensors"), 2);
        for (const Json& kernel : json["schedule"]["kernels"])
            text += fmt::format("  kernel {}: {} instructions\n", text_of(kernel, "key").substr(0, 8),
                                kernel["instructions"].get<int64_t>());
        text += "\n";
        text += form_text(text_of(json["schedule"], "plan"), 0);
    }
    if (json.contains("source")) {
        for (const Json& kernel : json["source"]) text += fmt::format("\n{}", text_of(kernel, "c"));
    }
    return text;
}

}  // namespace heddle::explain
