#include "explain/rewriting.h"

#include <algorithm>

#include "explain/arguments.h"
#include "rewrite/apply.h"

namespace heddle::explain {
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

}  // namespace

Result<Rewritten> rewrite_program(std::shared_ptr<const SourceText> program, const Library& library,
                                  const std::vector<std::string>& arguments, const std::vector<std::string>& rules,
                                  std::optional<int64_t> limit) {
    auto inputs = program_inputs(arguments);
    if (!inputs) return fail(std::move(inputs.error()));
    auto graph = rewrite::CallGraph::of_program(std::move(program), library, *inputs);
    if (!graph) return fail(std::move(graph.error()));
    auto uses = rules.empty() ? rewrite::user_rules(library) : rewrite::read_rule_uses(rules, library);
    if (!uses) return fail(std::move(uses.error()));
    if (uses->empty()) {
        return fail({.code = "cli.no_rules",
                     .summary = "there are no rules to apply",
                     .remedy = "name one by --rule, or give a file of rules by --library"});
    }
    Rewritten result{graph->text(), {}, {}};
    auto steps = rewrite::apply_rules(*graph, *uses, limit);
    if (!steps) return fail(std::move(steps.error()));
    for (rewrite::Step& step : *steps) result.steps.push_back(std::move(step.rule));
    result.after = graph->text();
    return result;
}

}  // namespace heddle::explain
