#include "language/checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/functions.h"
#include "language/parser.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

bool is_dimension(const Syntax& node) {
    return node.kind == Kind::dimension || node.kind == Kind::dimensions || node.kind == Kind::dimension_group;
}

std::string chain(const std::vector<std::string>& names, const char* sigil) {
    std::string text;
    for (const std::string& name : names) text += fmt::format("{}{} -> ", sigil, name);
    return text + sigil + names.front();
}

class TemplateChecker {
public:
    TemplateChecker(const Draft& draft, const FunctionTable& functions, DiagnosticSink& sink)
        : made_(draft.made), names_(functions, sink) {
        names_.failed = draft.failed;
        names_.quiet = draft.incomplete;
    }

    void run() {
        bind_declared();
        bind_patterns();
        bind_tensors();
        check_index();
        check_patterns();
        check_static_sections();
        check_tensors();
        check_let_cycles();
        if (!made_.body.empty()) check_body(made_, names_);
        if (!made_.graph.empty()) check_graph(made_, names_);
        if (!made_.grad.empty()) check_gradient(made_, names_);
    }

private:
    void report(Complaint complaint) { names_.report(std::move(complaint)); }

    // ---- names

    void bind_static(const std::string& name, const char* what, const Place& place) {
        auto [found, fresh] = names_.statics.try_emplace(name, place);
        if (name == "index") {
            report({.code = "language.duplicate_name",
                    .summary = fmt::format("{} cannot be named `index`", what),
                    .place = place,
                    .reason = "$index is the operation index space",
                    .remedy = "choose another name"});
        }
        if (fresh) return;
        report({.code = "language.duplicate_name",
                .summary = fmt::format("${} is bound twice", name),
                .place = place,
                .reason = "all `$` names of a template form one namespace",
                .remedy = "rename one of the two",
                .contexts = {{"the other is here", found->second}}});
    }

    // Parameters, inputs, lets, the value of `each`.
    void bind_declared() {
        for (const Parameter& parameter : made_.params) {
            bind_static(parameter.name, "a parameter", parameter.place);
            names_.presence.insert(parameter.name);
        }
        for (const TensorSpec& input : made_.inputs) bind_static(input.name, "an input", input.place);
        for (const StaticLet& let : made_.lets) bind_static(let.name, "a let", let.place);
        if (made_.each) bind_static(made_.each->name, "the value of each", made_.each->place);
    }

    // Variables of input patterns and dtypes. A dimension may name a parameter or a let (it must be equal), never an
    // input.
    void bind_patterns() {
        for (const TensorSpec& input : made_.inputs) {
            if (input.dtype && input.dtype->kind == Kind::static_name)
                bind_variable(input.dtype->text, input.dtype->place);
            visit_all(input.shape, [&](const Syntax& node) {
                if (!is_dimension(node)) return;
                bind_variable(node.text, node.place);
                dimensions_.try_emplace(node.text, node.place);
                if (!node.collector.empty()) collectors_.try_emplace(node.collector, node.place);
            });
        }
        for (const Syntax* solved : solved_names(made_)) bind_variable(solved->text, solved->place);
        if (made_.each) collectors_.try_emplace(made_.each->name, made_.each->place);
        for (const auto& [name, place] : collectors_) {
            auto dimension = dimensions_.find(name);
            if (dimension == dimensions_.end()) continue;
            report({.code = "language.dimension_and_index",
                    .summary = fmt::format("${} is both a dimension and an index of tensors", name),
                    .place = place,
                    .remedy = "rename one of the two",
                    .contexts = {{"it is a dimension here", dimension->second}}});
        }
    }

    void bind_variable(const std::string& name, const Place& place) {
        const TensorSpec* input = made_.input(name);
        if (input || name == "index") {
            bind_static(name, "a dimension", place);
            return;
        }
        names_.statics.try_emplace(name, place);
    }

    void bind_tensors() {
        for (const TensorSpec& input : made_.inputs) {
            names_.scope.try_emplace(input.name, BareName{BareName::Kind::input, input.place});
            names_.presence.insert(input.name);
        }
        for (const TensorSpec& output : made_.outputs) {
            auto [found, fresh] = names_.scope.try_emplace(output.name, BareName{BareName::Kind::output, output.place});
            names_.presence.insert(output.name);
            if (fresh) continue;
            report({.code = "language.duplicate_name",
                    .summary = fmt::format("two tensors are named `{}`", output.name),
                    .place = output.place,
                    .remedy = "rename one of the two",
                    .contexts = {{"the other is here", found->second.place}}});
        }
    }

    // ---- patterns

    void check_patterns() {
        std::set<std::string> known;
        for (const Parameter& parameter : made_.params) known.insert(parameter.name);
        for (const StaticLet& let : made_.lets) known.insert(let.name);
        known.insert(names_.failed.begin(), names_.failed.end());
        for (const TensorSpec& input : made_.inputs) {
            if (input.shape) check_duplicates(*input.shape);
        }
        // A pattern with at most one ellipsis of unknown length tells its variables to the others.
        std::vector<const TensorSpec*> open;
        for (const TensorSpec& input : made_.inputs) {
            if (input.shape) open.push_back(&input);
        }
        for (size_t before = open.size() + 1; open.size() < before;) {
            before = open.size();
            std::erase_if(open, [&](const TensorSpec* input) {
                if (unknown_ellipses(*input->shape, known).size() > 1) return false;
                visit_all(input->shape, [&](const Syntax& node) {
                    if (is_dimension(node)) known.insert(node.text);
                });
                return true;
            });
        }
        for (const TensorSpec* input : open) {
            auto ellipses = unknown_ellipses(*input->shape, known);
            report({.code = "language.two_open_ellipses",
                    .summary = fmt::format("nothing says how long {} is", print(*ellipses[1])),
                    .place = ellipses[1]->place,
                    .reason = "one ellipsis of a pattern takes what the others leave",
                    .remedy = fmt::format("give all but one a length: ${}...{{$axis}}", ellipses[1]->text),
                    .contexts = {{"this one is open too", ellipses[0]->place}}});
        }
    }

    static std::vector<const Syntax*> unknown_ellipses(const Syntax& pattern, const std::set<std::string>& known) {
        std::vector<const Syntax*> result;
        for (const SyntaxPointer& part : pattern.children) {
            if (part->kind == Kind::dimension_group) {
                auto inner = unknown_ellipses(*part, known);
                result.insert(result.end(), inner.begin(), inner.end());
            } else if (part->kind == Kind::any_dimensions) {
                result.push_back(part.get());
            } else if (part->kind == Kind::dimensions && part->children.empty() && !known.contains(part->text)) {
                result.push_back(part.get());
            }
        }
        return result;
    }

    void check_duplicates(const Syntax& pattern) {
        std::map<std::string, Place> seen;
        for (const SyntaxPointer& part : pattern.children) check_duplicate(*part, seen);
    }
    void check_duplicate(const Syntax& part, std::map<std::string, Place>& seen) {
        if (!is_dimension(part)) return;
        auto [found, fresh] = seen.try_emplace(part.text, part.place);
        if (!fresh) {
            report({.code = "language.duplicate_dimension",
                    .summary = fmt::format("${} occurs twice in one pattern", part.text),
                    .place = part.place,
                    .reason = "a name tells one dimension of a tensor from another",
                    .remedy = fmt::format("to ask for an equal size, write it in parentheses: (${})", part.text),
                    .contexts = {{"the first is here", found->second}}});
        }
        if (part.kind != Kind::dimension_group) return;
        for (const SyntaxPointer& member : part.children) check_duplicate(*member, seen);
    }

    // ---- index

    void check_index() {
        std::map<std::string, Place> seen;
        for (const TemplateAxis& axis : index_axes(made_)) {
            if (axis.name.empty()) continue;
            auto [found, fresh] = seen.try_emplace(axis.name, axis.element->place);
            names_.axes.insert(axis.name);
            if (fresh || !made_.index) continue;
            report({.code = "language.duplicate_dimension",
                    .summary = fmt::format("two axes are named `{}`", axis.name),
                    .place = axis.element->place,
                    .remedy = fmt::format("name one of them: other = ${}", axis.name),
                    .contexts = {{"the first is here", found->second}}});
        }
        bool shaped = !made_.outputs.empty() && made_.outputs[0].shape;
        if (made_.index || shaped || !made_.graph.empty()) return;
        report({.code = "language.missing_key",
                .summary = fmt::format("`{}` has neither an index nor a shape", made_.name),
                .place = made_.place,
                .reason = "the index and the first output's shape default to each other",
                .remedy = "write index: \"[$n]\""});
    }

    // ---- static expressions

    void check_static(const SyntaxPointer& syntax) {
        std::map<std::string, BareName> scope;
        std::swap(scope, names_.scope);  // elements have no value here
        names_.static_only = true;
        names_.check(syntax);
        names_.static_only = false;
        std::swap(scope, names_.scope);
    }

    void check_static_sections() {
        for (const Parameter& parameter : made_.params) {
            check_static(parameter.type.length);
            check_static(parameter.type.of);
            check_static(parameter.type.lowest);
            check_static(parameter.type.highest);
            check_static(parameter.default_value);
        }
        for (const StaticLet& let : made_.lets) check_static(let.value);
        for (const Requirement& requirement : made_.requirements) check_static(requirement.condition);
        check_static(made_.index);
        if (made_.each) check_static(made_.each->count);
        for (const DTypeConstraint& constraint : made_.dtypes)
            names_.check_static_name(constraint.name, constraint.place);
        for (const Reduces& reduces : made_.reduces) check_reduces(reduces);
    }

    // The axis is a dimension of inputs, by itself, that the index does not have.
    void check_reduces(const Reduces& reduces) {
        auto refuse = [&](std::string summary, std::string reason, std::string remedy) {
            report({.code = "language.reduces",
                    .summary = std::move(summary),
                    .place = reduces.place,
                    .reason = std::move(reason),
                    .remedy = std::move(remedy)});
        };
        std::vector<std::string> known;
        bool found = false;
        for (const TensorSpec& input : made_.inputs) {
            visit_all(input.shape, [&](const Syntax& node) {
                if (node.kind != Kind::dimension || !node.collector.empty() || names_.axes.contains(node.text)) return;
                known.push_back(node.text);
                found = found || node.text == reduces.axis;
            });
        }
        if (!made_.graph.empty()) {
            refuse(fmt::format("the composition `{}` reduces ${}", made_.name, reduces.axis),
                   "its parts say themselves what they reduce", "remove the key");
        } else if (names_.axes.contains(reduces.axis)) {
            refuse(fmt::format("${} is an axis of the index", reduces.axis),
                   "results for parts of such an axis are parts of the result", "remove the line");
        } else if (!found && !names_.failed.contains(reduces.axis)) {
            std::string nearest = nearest_name(reduces.axis, known);
            refuse(fmt::format("${} is no dimension of an input", reduces.axis), "",
                   !nearest.empty() ? fmt::format("did you mean {}?", nearest)
                   : known.empty()  ? "name the dimension that is reduced in the pattern of an input"
                                   : fmt::format("the dimensions outside of the index are {}", fmt::join(known, ", ")));
        }
    }

    void check_tensors() {
        for (const TensorSpec& input : made_.inputs) check_tensor(input, true);
        for (const TensorSpec& output : made_.outputs) {
            check_tensor(output, false);
            if (output.overwrites.empty() || made_.input(output.overwrites)) continue;
            std::vector<std::string> inputs;
            for (const TensorSpec& input : made_.inputs) inputs.push_back(input.name);
            std::string nearest = nearest_name(output.overwrites, inputs);
            report({.code = "language.unknown_name",
                    .summary = fmt::format("no input is named `{}`", output.overwrites),
                    .place = output.overwrites_place,
                    .remedy = nearest.empty() ? "" : fmt::format("did you mean {}?", nearest)});
        }
    }

    void check_tensor(const TensorSpec& tensor, bool is_input) {
        check_static(tensor.dtype);
        // The variables of a pattern are bound by it; its counts and values are expressions.
        if (is_input) {
            visit_pattern(tensor.shape);
        } else {
            check_static(tensor.shape);
            check_extents_given(tensor);
        }
        names_.coordinates_allowed = names_.fill_allowed = true;
        check_static(tensor.ipf);
        names_.coordinates_allowed = names_.fill_allowed = false;
        if (tensor.reads) check_static(tensor.reads);
    }

    // A composition's parts say what it leaves open.
    void check_extents_given(const TensorSpec& output) {
        if (!output.shape || !made_.graph.empty()) return;
        for (const SyntaxPointer& extent : output.shape->children) {
            if (extent->kind != Kind::wildcard) continue;
            report({.code = "language.output_extent",
                    .summary = fmt::format("an extent of the output `{}` is not given", output.name),
                    .place = extent->place,
                    .reason = "a body needs all of them, and only a graph has parts that tell",
                    .remedy = "write the extent, as in [$n]"});
        }
    }

    void visit_pattern(const SyntaxPointer& pattern) {
        if (!pattern) return;
        for (const SyntaxPointer& part : pattern->children) {
            if (part->kind == Kind::dimension_group) {
                visit_pattern(part);
            } else if (is_dimension(*part)) {
                for (const SyntaxPointer& count : part->children) check_static(count);
            } else {
                check_static(part);
            }
        }
    }

    // ---- lets, parameters and the index may use each other in any order, but not in a circle

    void check_let_cycles() {
        std::map<std::string, std::vector<std::string>> uses;
        std::map<std::string, Place> places;
        std::vector<std::string> order;
        auto add = [&](const std::string& name, std::initializer_list<SyntaxPointer> parts, const Place& place) {
            auto& list = uses[name];
            for (const SyntaxPointer& part : parts) {
                visit_all(part, [&](const Syntax& node) {
                    if (node.kind == Kind::static_name) list.push_back(node.text);
                });
            }
            places.try_emplace(name, place);
            order.push_back(name);
        };
        for (const StaticLet& let : made_.lets) add(let.name, {let.value}, let.place);
        for (const Parameter& p : made_.params) add(p.name, {p.type.length, p.type.of, p.type.lowest, p.type.highest, p.default_value}, p.place);
        if (made_.index) add("index", {made_.index}, made_.index->place);
        find_cycles(order, uses, [&](const std::vector<std::string>& cycle) {
            report({.code = "language.let_cycle",
                    .summary = fmt::format("${} depends on itself", cycle.front()),
                    .place = places.at(cycle.front()),
                    .reason = chain(cycle, "$"),
                    .remedy = "compute one of them from something else"});
        });
    }

    const Template& made_;
    NameChecker names_;
    std::map<std::string, Place> dimensions_, collectors_;
};

}  // namespace

void check_template(const Draft& draft, const FunctionTable& functions, DiagnosticSink& sink) {
    TemplateChecker(draft, functions, sink).run();
}

namespace {

// What changes nothing is static, and there are two terms to join.
void check_neutral(const FunctionLet& function, const FunctionTable& functions, const std::set<std::string>& failed,
                   DiagnosticSink& sink) {
    NameChecker names(functions, sink);
    names.failed = failed;
    names.check(function.neutral);
    if (function.parameters.size() == 2) return;
    names.report({.code = "language.reducer",
                  .summary = fmt::format("`{}` has {} parameters, and what changes nothing", function.name,
                                         function.parameters.size()),
                  .place = function.place,
                  .reason = "what joins the terms of a reduction takes two of them",
                  .remedy = "give it two parameters, or remove what stands behind `from`"});
}

}  // namespace

void check_functions(const std::vector<FunctionLet>& own, const FunctionTable& functions,
                     const std::set<std::string>& failed, DiagnosticSink& sink) {
    std::map<std::string, std::vector<std::string>> calls;
    std::vector<std::string> order;
    for (const FunctionLet& function : own) {
        NameChecker names(functions, sink);
        names.failed = failed;
        for (const std::string& parameter : function.parameters) {
            names.scope[parameter] = {BareName::Kind::variable, function.place};
        }
        names.check(function.value);
        if (function.neutral) check_neutral(function, functions, failed, sink);
        order.push_back(function.name);
        auto& list = calls[function.name];
        visit_all(function.value, [&](const Syntax& node) {
            const bool uses = node.kind == Kind::call || node.kind == Kind::reduction;
            if (uses && functions.contains(node.text)) list.push_back(node.text);
        });
    }
    find_cycles(order, calls, [&](const std::vector<std::string>& cycle) {
        sink.add({.code = "language.let_cycle",
                  .summary = fmt::format("the function `{}` calls itself", cycle.front()),
                  .place = functions.at(cycle.front()).place,
                  .reason = chain(cycle, ""),
                  .remedy = "evaluation is bounded: use a comprehension over range(n)"});
    });
}

}  // namespace heddle
