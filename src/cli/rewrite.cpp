// heddle rewrite
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/explain_arguments.h"
#include "cli/support.h"
#include "rewrite/apply.h"

namespace heddle::cli {
namespace {

// "x=float32[2, 3]" each: the inputs of the program in this order.
Result<std::vector<ProgramInput>> program_inputs(const std::vector<std::string>& texts) {
    Template program;
    program.name = "the program";
    for (const std::string& text : texts) {
        TensorSpec input;
        input.name = text.substr(0, text.find('='));
        while (!input.name.empty() && input.name.back() == ' ') input.name.pop_back();
        bool known = std::any_of(program.inputs.begin(), program.inputs.end(),
                                 [&](const TensorSpec& other) { return other.name == input.name; });
        if (!known) program.inputs.push_back(std::move(input));
    }
    auto arguments = parse_operator_arguments(program, texts);
    if (!arguments) return fail(std::move(arguments.error()));
    std::vector<ProgramInput> inputs;
    for (size_t i = 0; i < program.inputs.size(); ++i)
        inputs.push_back({program.inputs[i].name, arguments->inputs[i].at(0).type});
    return inputs;
}

struct Rewritten {
    std::string before, after;
    std::vector<std::string> steps;  // rules
};

Result<Rewritten> rewritten(const RewriteOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto inputs = program_inputs(options.arguments);
    if (!inputs) return fail(std::move(inputs.error()));
    auto graph =
        rewrite::CallGraph::of_program(std::make_shared<SourceText>("--call", options.call), *library, *inputs);
    if (!graph) return fail(std::move(graph.error()));
    auto uses =
        options.rules.empty() ? rewrite::user_rules(*library) : rewrite::read_rule_uses(options.rules, *library);
    if (!uses) return fail(std::move(uses.error()));
    if (uses->empty()) {
        return fail({.code = "cli.no_rules",
                     .summary = "there are no rules to apply",
                     .remedy = "name one by --rule, or give a file of rules by --library"});
    }
    Rewritten result{graph->text(), {}, {}};
    auto steps =
        rewrite::apply_rules(*graph, *uses, options.steps < 0 ? std::nullopt : std::optional<int64_t>(options.steps));
    if (!steps) return fail(std::move(steps.error()));
    for (rewrite::Step& step : *steps) result.steps.push_back(std::move(step.rule));
    result.after = graph->text();
    return result;
}

void print_program(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        fmt::print("  {}\n", text.substr(at, end - at));
        at = end + 1;
    }
}

}  // namespace

int rewrite_program(const RewriteOptions& options) {
    auto result = rewritten(options);
    if (!result) return report(result.error(), options.common);
    if (options.common.json) {
        nlohmann::ordered_json json = {{"before", result->before}, {"after", result->after}, {"steps", result->steps}};
        fmt::print("{}\n", json.dump(2));
        return 0;
    }
    fmt::print("before\n");
    print_program(result->before);
    fmt::print("after {} step{}{}{}\n", result->steps.size(), result->steps.size() == 1 ? "" : "s",
               result->steps.empty() ? "" : ": ", fmt::join(result->steps, ", "));
    print_program(result->after);
    return 0;
}

}  // namespace heddle::cli
