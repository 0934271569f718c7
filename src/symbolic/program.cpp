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

// An expression by itself is the statement `result = expression`.
SyntaxPointer single_expression(const Fragment& fragment) {
    DiagnosticSink sink;
    SyntaxPointer expression = parse_expression(fragment, sink);
    if (!expression || !sink.empty()) return nullptr;
    auto target = std::make_shared<Syntax>();
    target->kind = Syntax::Kind::name;
    target->text = "result";
    target->place = target->mark = expression->place;
    auto assignment = std::make_shared<Syntax>();
    assignment->kind = Syntax::Kind::assignment;
    assignment->place = assignment->mark = expression->place;
    assignment->children = {target};
    assignment->value = expression;
    return assignment;
}

Result<std::vector<SyntaxPointer>> statements_of(const std::shared_ptr<const SourceText>& text) {
    Fragment fragment = fragment_of(text);
    if (auto single = single_expression(fragment)) return std::vector{single};
    DiagnosticSink sink;
    std::vector<std::string> failed;
    auto statements = parse_graph(fragment, sink, failed);
    if (!sink.empty()) return fail(sink.take());
    if (statements.empty()) return problem(text, "a program without statements", "write `y = operator(x)`");
    return statements;
}

// The program as a composition: its inputs take any type, its outputs are the last statement's names.
Template composition_of(std::vector<SyntaxPointer> statements, const std::vector<ProgramInput>& inputs,
                        const Place& place) {
    Template composition;
    composition.name = "program";
    composition.place = place;
    composition.functions = std::make_shared<FunctionTable>();
    for (const ProgramInput& input : inputs) {
        TensorSpec specification;
        specification.name = input.name;
        specification.place = place;
        composition.inputs.push_back(std::move(specification));
    }
    for (const auto& target : statements.back()->children) {
        TensorSpec specification;
        specification.name = target->text;
        specification.place = target->place;
        composition.outputs.push_back(std::move(specification));
    }
    composition.graph = std::move(statements);
    return composition;
}

}  // namespace

Result<AppliedProgram> apply_program(Session& session, std::shared_ptr<const SourceText> text,
                                     const std::vector<ProgramInput>& inputs) {
    auto statements = statements_of(text);
    if (!statements) return std::unexpected(statements.error());
    std::set<std::string> names;
    std::vector<Argument> arguments;
    for (const ProgramInput& input : inputs) {
        if (!names.insert(input.name).second)
            return problem(text, fmt::format("the input {} is named twice", input.name), "");
        arguments.emplace_back(session.add_input(input.name, input.type, input.start));
    }
    Template composition = composition_of(std::move(*statements), inputs, {text, 0, text->text().size()});
    ApplyOptions options;
    options.records_calls = true;
    for (const TensorSpec& output : composition.outputs) options.names.push_back(output.name);
    auto results = session.apply(composition, arguments, {}, options);
    if (!results) return std::unexpected(results.error());
    return AppliedProgram{options.names, std::move(*results)};
}

Result<Graph> build_program(std::shared_ptr<const SourceText> text, const Library& library,
                            const std::vector<ProgramInput>& inputs) {
    Session session(library);
    auto applied = apply_program(session, std::move(text), inputs);
    if (!applied) return std::unexpected(applied.error());
    return session.finish(std::move(applied->outputs));
}

}  // namespace heddle
