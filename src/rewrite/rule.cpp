#include "rewrite/rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "symbolic/environment_state.h"

namespace heddle::rewrite {
namespace {

using Kind = Syntax::Kind;

Diagnostic complaint(std::string code, std::string summary, Place place, std::string remedy = {}) {
    return {
        .code = std::move(code), .summary = std::move(summary), .place = std::move(place), .remedy = std::move(remedy)};
}

class Compiler {
public:
    Compiler(const RewriteRule& source, const Library& library)
        : source_(source), library_(library), rule_(std::make_shared<Rule>()) {
        rule_->source = &source;
        rule_->name = full_name(source);
        shell_.name = rule_->name;
        shell_.place = source.place;
        shell_.library = source.library;
        shell_.functions = source.functions;
    }

    Result<std::shared_ptr<const Rule>> compile() {
        rule_->match = call_pattern(source_.match, true);
        if (!problems_.empty()) return fail(std::move(problems_));
        if (!rule_->list_variable.empty()) rule_->variables.push_back(rule_->list_variable);
        check_variables();
        make_sides();
        if (problems_.empty()) check_calls();
        if (!problems_.empty()) return fail(std::move(problems_));
        return rule_;
    }

private:
    void refuse(std::string code, std::string summary, const Place& place, std::string remedy = {}) {
        problems_.push_back(complaint(std::move(code), std::move(summary), place, std::move(remedy)));
    }

    // What the library found wrong with the operator of a call: at the call, if it is not in the operator's own text.
    void add_problems(Diagnostics problems, const Syntax& call) {
        for (Diagnostic& problem : problems) {
            bool of_rule = problem.place.source == shell_.place.source && problem.place.offset == shell_.place.offset;
            if (!problem.place.source || of_rule) problem.place = call.mark;
            problems_.push_back(std::move(problem));
        }
    }

    // ---- the match

    std::shared_ptr<const CallPattern> call_pattern(const SyntaxPointer& syntax, bool outermost) {
        auto pattern = std::make_shared<CallPattern>();
        const SyntaxPointer& call = syntax->kind == Kind::subscript ? syntax->children[0] : syntax;
        bool picks = syntax->kind == Kind::subscript;
        if (call->kind != Kind::call || (picks && (syntax->children.size() != 2 || !syntax->children[1] ||
                                                   syntax->children[1]->kind != Kind::integer))) {
            refuse("rewrite.match",
                   outermost ? "a match is a call of an operator" : "a pattern is a variable, a call or a constant",
                   syntax->place, "write operator(X, Y), or operator(X)[0] for one of its results");
            return nullptr;
        }
        auto found = library_.find_from(shell_, call->text);
        if (!found) {
            add_problems(std::move(found.error()), *call);
            return nullptr;
        }
        pattern->metakernel = *found;
        pattern->syntax = call;
        const auto& outputs = pattern->metakernel->outputs;
        if (picks) pattern->result = syntax->children[1]->integer;
        pattern->several = !picks && (outputs.size() > 1 || outputs[0].variadic);
        if (picks && outputs.size() > 1 && *pattern->result >= static_cast<int64_t>(outputs.size()))
            refuse("rewrite.match", fmt::format("{} has no result {}", call->text, *pattern->result), syntax->place);
        rule_->patterns.push_back(pattern.get());
        add_operands(*pattern);
        add_parameters(*call, *pattern->metakernel);
        return pattern;
    }

    void add_operands(CallPattern& pattern) {
        const auto& specifications = pattern.metakernel->inputs;
        const Syntax& call = *pattern.syntax;
        bool variadic = !specifications.empty() && specifications.back().variadic;
        pattern.inputs.resize(specifications.size());
        for (size_t i = 0; i < call.children.size(); ++i) {
            size_t slot = variadic ? std::min(i, specifications.size() - 1) : i;
            if (slot >= specifications.size()) {
                refuse("language.operator_arguments",
                       fmt::format("`{}` takes {} tensors", call.text, specifications.size()), call.place);
                return;
            }
            const SyntaxPointer& operand = call.children[i];
            auto& into = pattern.inputs[slot];
            if (operand->kind == Kind::none) continue;
            if (specifications[slot].variadic && operand->kind == Kind::list) {
                for (const auto& element : operand->children) add_operand(element, true, into);
            } else {
                add_operand(operand, specifications[slot].variadic, into);
            }
        }
        for (size_t slot = 0; slot < specifications.size(); ++slot) {
            if (pattern.inputs[slot].empty() && !specifications[slot].optional && !specifications[slot].variadic)
                refuse("language.operator_arguments",
                       fmt::format("`{}` is not given {}", call.text, specifications[slot].name), call.place);
            auto lists = std::count_if(pattern.inputs[slot].begin(), pattern.inputs[slot].end(), is_list);
            if (lists > 1)
                refuse("rewrite.match", "two lists of any length in one input", call.place,
                       "where one ends and the other begins would be open; write one of them");
        }
    }

    static bool is_list(const OperandPattern& operand) {
        return operand.kind == OperandPattern::Kind::list || operand.kind == OperandPattern::Kind::results;
    }

    void add_operand(const SyntaxPointer& written, bool variadic, std::vector<OperandPattern>& into) {
        OperandPattern operand;
        bool spread = written->kind == Kind::spread;
        const SyntaxPointer& syntax = spread ? written->children[0] : written;
        if (spread && (!variadic || written->children.size() > 1)) {
            refuse("rewrite.match", "only a variadic input takes a list", written->place);
            return;
        }
        if (syntax->kind == Kind::name) {
            operand.variable = syntax->text;
            operand.kind = spread ? OperandPattern::Kind::list : OperandPattern::Kind::variable;
            add_variable(*syntax, spread);
        } else if (syntax->kind == Kind::call || syntax->kind == Kind::subscript) {
            operand.call = call_pattern(syntax, false);
            if (!operand.call) return;
            operand.kind =
                operand.call->several && variadic ? OperandPattern::Kind::results : OperandPattern::Kind::call;
            if (operand.call->several && !variadic)
                refuse("rewrite.match", fmt::format("{} has several results", operand.call->syntax->text),
                       syntax->place, "pick one: operator(X)[0]");
        } else if (is_constant(*syntax) && !spread) {
            operand.kind = OperandPattern::Kind::value;
            operand.value = syntax;
        } else {
            refuse("rewrite.match", "a pattern is a variable, a call or a constant", syntax->place);
            return;
        }
        into.push_back(std::move(operand));
    }

    static bool is_constant(const Syntax& syntax) {
        switch (syntax.kind) {
        case Kind::integer:
        case Kind::real:
        case Kind::boolean: return true;
        case Kind::unary: return is_constant(*syntax.children[0]);
        case Kind::list:
            return std::all_of(syntax.children.begin(), syntax.children.end(),
                               [](const auto& child) { return is_constant(*child); });
        default: return false;
        }
    }

    void add_variable(const Syntax& syntax, bool list) {
        bool known = std::find(rule_->variables.begin(), rule_->variables.end(), syntax.text) != rule_->variables.end();
        bool known_list = rule_->list_variable == syntax.text;
        if (list ? known || (!rule_->list_variable.empty() && !known_list) : known_list) {
            refuse("rewrite.match", "a rule has at most one list variable, and it is always a list", syntax.place);
            return;
        }
        if (list)
            rule_->list_variable = syntax.text;
        else if (!known)
            rule_->variables.push_back(syntax.text);
    }

    bool is_let(const std::string& name) const {
        return std::any_of(source_.lets.begin(), source_.lets.end(), [&](const auto& let) { return let.name == name; });
    }

    void add_parameters(const Syntax& call, const Template& metakernel) {
        for (const NamedArgument& argument : call.named) {
            if (!metakernel.parameter(argument.name)) {
                std::vector<std::string> names;
                for (const Parameter& parameter : metakernel.params) names.push_back(parameter.name);
                std::string near = nearest_name(argument.name, names);
                refuse("language.unknown_parameter",
                       fmt::format("`{}` has no parameter `{}`", call.text, argument.name), argument.place,
                       near.empty() ? "" : fmt::format("did you mean {}?", near));
            }
            auto bind = [&](const Syntax& syntax) {
                if (syntax.kind == Kind::static_name && !is_let(syntax.text)) rule_->bound.insert(syntax.text);
            };
            bind(*argument.value);
            if (argument.value->kind == Kind::list) {
                for (const auto& child : argument.value->children) bind(*child);
            }
        }
        for (const Parameter& parameter : metakernel.params) {
            bool given = std::any_of(call.named.begin(), call.named.end(),
                                     [&](const auto& argument) { return argument.name == parameter.name; });
            if (!given && !parameter.default_value)
                refuse("rewrite.match",
                       fmt::format("`{}` has a parameter `{}` without a default", call.text, parameter.name),
                       call.place, fmt::format("bind it: {0}: ${0}", parameter.name));
        }
    }

    // ---- names

    bool binds(const Template& metakernel, const std::string& name) const {
        Environment environment(metakernel);
        const NameSlot* slot = environment.state().slot(name);
        return slot && slot->kind != NameSlot::Kind::input && slot->kind != NameSlot::Kind::index &&
               slot->kind != NameSlot::Kind::each;
    }

    void use_static(const Syntax& node) {
        const std::string& name = node.text;
        bool own = std::any_of(source_.params.begin(), source_.params.end(),
                               [&](const Parameter& parameter) { return parameter.name == name; });
        bool variable = std::find(rule_->variables.begin(), rule_->variables.end(), name) != rule_->variables.end();
        if (own || variable || is_let(name) || rule_->bound.contains(name) || rule_->borrowed.contains(name)) return;
        std::vector<size_t> found;
        for (size_t i = 0; i < rule_->patterns.size(); ++i) {
            if (binds(*rule_->patterns[i]->metakernel, name)) found.push_back(i);
        }
        bool outermost = !found.empty() && found[0] == 0;
        if (found.size() == 1 || outermost) {
            rule_->borrowed.emplace(name, found[0]);
            return;
        }
        refuse("rewrite.unknown_name",
               found.empty() ? fmt::format("nothing in the match binds ${}", name)
                             : fmt::format("{} operators of the match bind ${}", found.size(), name),
               node.place, "bind a parameter by name: axis: $axis; or ask a variable: $X.shape[0]");
    }

    void check_tree(const SyntaxPointer& tree, std::set<std::string> local) {
        visit_all(tree, [&](const Syntax& node) {
            for (const Generator& generator : node.generators) local.insert(generator.name);
        });
        visit_all(tree, [&](const Syntax& node) {
            if (node.kind == Kind::static_name) use_static(node);
            bool known =
                node.kind != Kind::name || local.contains(node.text) || dtype_named(node.text) ||
                std::find(rule_->variables.begin(), rule_->variables.end(), node.text) != rule_->variables.end();
            if (known) return;
            std::string near = nearest_name(node.text, rule_->variables);
            refuse("rewrite.unknown_name", fmt::format("the match has no variable {}", node.text), node.place,
                   near.empty() ? "" : fmt::format("did you mean {}?", near));
        });
    }

    void check_variables() {
        check_tree(source_.replace, {});
        for (const StaticLet& let : source_.lets) check_tree(let.value, {});
        for (const Requirement& requirement : source_.requirements) check_tree(requirement.condition, {});
        for (const CallPattern* pattern : rule_->patterns) {
            for (const NamedArgument& argument : pattern->syntax->named) check_tree(argument.value, {});
        }
    }

    // ---- both sides as compositions

    static SyntaxPointer name_syntax(const std::string& name, const Place& place) {
        auto syntax = std::make_shared<Syntax>();
        syntax->kind = Kind::name;
        syntax->text = name;
        syntax->place = syntax->mark = place;
        return syntax;
    }

    Template side(const SyntaxPointer& expression, bool with_borrowed) const {
        Template made = shell_;
        for (const std::string& variable : rule_->variables) {
            TensorSpec input;
            input.name = variable;
            input.place = source_.match->place;
            input.variadic = variable == rule_->list_variable;
            made.inputs.push_back(std::move(input));
        }
        made.params = source_.params;
        std::set<std::string> given = rule_->bound;
        if (with_borrowed) {
            for (const auto& [name, call] : rule_->borrowed) given.insert(name);
        }
        for (const Parameter& parameter : source_.params) given.erase(parameter.name);
        for (const std::string& name : given) {
            Parameter parameter;
            parameter.name = name;
            parameter.type.kind = ParameterType::Kind::any;
            parameter.place = source_.match->place;
            made.params.push_back(std::move(parameter));
        }
        made.lets = source_.lets;
        auto assignment = std::make_shared<Syntax>();
        assignment->kind = Kind::assignment;
        assignment->place = assignment->mark = expression->place;
        assignment->value = expression;
        const CallPattern& root = *rule_->match;
        size_t count = root.several ? root.metakernel->outputs.size() : 1;
        for (size_t i = 0; i < count; ++i) {
            TensorSpec output;
            output.name = count == 1 ? "result" : fmt::format("result{}", i);
            output.place = expression->place;
            output.variadic = root.several && count == 1;
            assignment->children.push_back(name_syntax(output.name, expression->place));
            made.outputs.push_back(std::move(output));
        }
        made.graph = {assignment};
        return made;
    }

    void make_sides() {
        rule_->pattern = side(source_.match, false);
        rule_->replacement = side(source_.replace, true);
        if (rule_->match->several && rule_->match->metakernel->outputs.size() > 1 &&
            std::any_of(rule_->match->metakernel->outputs.begin(), rule_->match->metakernel->outputs.end(),
                        [](const auto& output) { return output.variadic; })) {
            refuse("rewrite.match", "a variadic result beside others", source_.match->place,
                   "pick one: operator(X)[0]");
        }
    }

    void check_calls() {
        for (const Syntax* call : operator_calls(rule_->replacement)) {
            auto found = library_.find_from(shell_, call->text);
            if (found) continue;
            add_problems(std::move(found.error()), *call);
        }
        const Syntax& root = *source_.replace;
        bool list = root.kind == Kind::list || root.kind == Kind::comprehension;
        size_t wanted = rule_->replacement.outputs.size();
        if (list && wanted > 1 && root.kind == Kind::list && root.children.size() != wanted)
            refuse("rewrite.results", fmt::format("the match has {} results", wanted), root.place,
                   "write one expression for each: [a, b]");
        if (list && !rule_->match->several)
            refuse("rewrite.results", "the match has one result, the replacement is a list", root.place);
    }

    const RewriteRule& source_;
    const Library& library_;
    std::shared_ptr<Rule> rule_;
    Template shell_;  // what both sides share: where names are looked up
    Diagnostics problems_;
};

}  // namespace

std::string full_name(const RewriteRule& rule) {
    return rule.library.empty() ? rule.name : rule.library + "::" + rule.name;
}

Result<std::shared_ptr<const Rule>> compile_rule(const RewriteRule& source, const Library& library) {
    return Compiler(source, library).compile();
}

Result<const RewriteRule*> find_rule(const Library& library, const std::string& name) {
    std::vector<const RewriteRule*> found;
    std::vector<std::string> names;
    for (const RewriteRule* rule : library.rewrites()) {
        names.push_back(full_name(*rule));
        if (rule->name == name || names.back() == name) found.push_back(rule);
    }
    if (found.size() == 1) return found[0];
    std::string near = nearest_name(name, names);
    std::string full;
    for (const RewriteRule* rule : found) full += (full.empty() ? "write " : " or ") + full_name(*rule);
    return fail(complaint("rewrite.unknown_rule",
                          found.empty() ? fmt::format("no rule is named `{}`", name)
                                        : fmt::format("{} rules are named `{}`", found.size(), name),
                          {},
                          !found.empty() ? full
                          : near.empty() ? ""
                                         : fmt::format("did you mean {}?", near)));
}

}  // namespace heddle::rewrite
