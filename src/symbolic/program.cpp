#include "symbolic/program.h"

#include <fmt/format.h>

#include <set>

#include "language/fragment.h"
#include "language/parser.h"

namespace heddle {
namespace {

std::unexpected<Diagnostics> problem(const std::shared_ptr<const SourceText>& text, std::string summary,
                                     std::string remedy) {
    Diagnostic diagnostic;
    diagnostic.code = "symbolic.program";
    diagnostic.summary = std::move(summary);
    diagnostic.place = {text, 0, text->text().size()};
    diagnostic.remedy = std::move(remedy);
    return fail(std::move(diagnostic));
}

TensorSpec any_tensor(std::string name, const Place& place) {
    TensorSpec specification;
    specification.name = std::move(name);
    specification.place = place;
    return specification;
}

// Without statements: its inputs take any type.
Template composition_of(const std::vector<ProgramInput>& inputs, const Place& place) {
    Template composition;
    composition.name = "program";
    composition.place = place;
    composition.is_program = true;
    composition.functions = std::make_shared<FunctionTable>();
    for (const ProgramInput& input : inputs) composition.inputs.push_back(any_tensor(input.name, place));
    return composition;
}

// An expression by itself is the statement `result = expression`; a call of an operator with several results is one for
// each of its outputs, named as its template names them.
std::vector<TensorSpec> outputs_of_expression(const Syntax& expression, const Template& composition,
                                              const Library& library) {
    if (expression.kind == Syntax::Kind::call) {
        const auto found = library.find_from(composition, expression.text);
        const bool several = found && ((*found)->outputs.size() > 1 || (*found)->outputs[0].variadic);
        std::vector<TensorSpec> outputs;
        for (const TensorSpec& output : several ? (*found)->outputs : std::vector<TensorSpec>()) {
            outputs.push_back(any_tensor(output.name, expression.place));
            outputs.back().variadic = output.variadic;
            outputs.back().optional = output.optional;
        }
        if (several) return outputs;
    }
    return {any_tensor("result", expression.place)};
}

SyntaxPointer assignment_of(const SyntaxPointer& expression, const std::vector<TensorSpec>& outputs) {
    auto assignment = std::make_shared<Syntax>();
    assignment->kind = Syntax::Kind::assignment;
    assignment->place = assignment->mark = expression->place;
    assignment->value = expression;
    for (const TensorSpec& output : outputs) {
        auto target = std::make_shared<Syntax>();
        target->kind = Syntax::Kind::name;
        target->text = output.name;
        target->place = target->mark = expression->place;
        assignment->children.push_back(std::move(target));
    }
    return assignment;
}

// The outputs are the last statement's names.
Result<void> add_statements(Template& composition, const std::shared_ptr<const SourceText>& text,
                            const Library& library) {
    const Fragment fragment = fragment_of(text);
    DiagnosticSink no_expression;
    const SyntaxPointer expression = parse_expression(fragment, no_expression);
    if (expression && no_expression.empty()) {
        composition.outputs = outputs_of_expression(*expression, composition, library);
        composition.graph = {assignment_of(expression, composition.outputs)};
        return {};
    }
    DiagnosticSink sink;
    std::vector<std::string> failed;
    composition.graph = parse_graph(fragment, sink, failed);
    if (!sink.empty()) return fail(sink.take());
    if (composition.graph.empty()) return problem(text, "a program without statements", "write `y = operator(x)`");
    for (const auto& target : composition.graph.back()->children)
        composition.outputs.push_back(any_tensor(target->text, target->place));
    return {};
}

// Of what was made: an optional output may be missing, and one output may be a list.
AppliedProgram named(const std::vector<TensorSpec>& outputs, const std::vector<TensorId>& results) {
    AppliedProgram program;
    const size_t elements = results.size() + 1 - outputs.size();
    size_t at = 0;
    for (const TensorSpec& output : outputs) {
        for (size_t element = 0; element < (output.variadic ? elements : 1); ++element, ++at) {
            if (results[at] < 0) continue;
            program.names.push_back(output.variadic ? fmt::format("{}{}", output.name, element) : output.name);
            program.outputs.push_back(results[at]);
        }
    }
    return program;
}

}  // namespace

Result<AppliedProgram> apply_program(Session& session, std::shared_ptr<const SourceText> text,
                                     const std::vector<ProgramInput>& inputs) {
    const Place place{text, 0, text->text().size()};
    Template composition = composition_of(inputs, place);
    if (auto added = add_statements(composition, text, session.library()); !added)
        return std::unexpected(added.error());
    std::set<std::string> names;
    std::vector<Argument> arguments;
    for (const ProgramInput& input : inputs) {
        if (!names.insert(input.name).second)
            return problem(text, fmt::format("the input {} is named twice", input.name), "");
        arguments.emplace_back(session.add_input(input.name, input.type, input.start));
    }
    ApplyOptions options;
    options.records_calls = true;
    for (const TensorSpec& output : composition.outputs) options.names.push_back(output.name);
    auto results = session.apply(composition, arguments, {}, options);
    if (!results) return std::unexpected(results.error());
    return named(composition.outputs, *results);
}

Result<Graph> build_program(std::shared_ptr<const SourceText> text, const Library& library,
                            const std::vector<ProgramInput>& inputs) {
    Session session(library);
    auto applied = apply_program(session, std::move(text), inputs);
    if (!applied) return std::unexpected(applied.error());
    return session.finish(std::move(applied->outputs));
}

}  // namespace heddle
