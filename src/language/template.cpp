#include "language/template.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "language/parser.h"
#include "language/signature.h"

namespace heddle {
namespace {

template <typename List>
auto find_named(const List& list, const std::string& name) -> decltype(list.data()) {
    auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.name == name; });
    return found == list.end() ? nullptr : &*found;
}

}  // namespace

const Parameter* Template::parameter(const std::string& parameter_name) const {
    return find_named(params, parameter_name);
}
const TensorSpec* Template::input(const std::string& input_name) const { return find_named(inputs, input_name); }
const TensorSpec* Template::output(const std::string& output_name) const { return find_named(outputs, output_name); }
const StaticLet* Template::let(const std::string& let_name) const { return find_named(lets, let_name); }

std::vector<TemplateAxis> index_axes(const Template& metakernel) {
    SyntaxPointer index = metakernel.index;
    if (!index && !metakernel.outputs.empty()) index = metakernel.outputs[0].shape;
    std::vector<TemplateAxis> axes;
    if (!index) return axes;
    for (const SyntaxPointer& element : index->children) {
        TemplateAxis axis;
        axis.element = element;
        const Syntax* inner = element.get();
        if (inner->kind == Syntax::Kind::named_element) {
            axis.name = inner->text;
            inner = inner->children[0].get();
        }
        if (inner->kind == Syntax::Kind::spread) {
            axis.spread = true;
            inner = inner->children[0].get();
        }
        if (axis.name.empty() && inner->kind == Syntax::Kind::static_name) axis.name = inner->text;
        axes.push_back(std::move(axis));
    }
    return axes;
}

// ---------------------------------------------------------------- names that expressions in patterns bind

namespace {

using Bound = std::set<std::string, std::less<>>;

// Static names of an expression that nothing binds; `solvable` where each stands in sums, differences and products.
void find_unbound(const Syntax& written, const Bound& bound, bool solvable, std::vector<const Syntax*>& found,
                  bool& all) {
    if (written.kind == Syntax::Kind::static_name && !bound.contains(written.text)) {
        found.push_back(&written);
        all = all && solvable;
    }
    const bool arithmetic =
        written.kind == Syntax::Kind::binary && (written.text == "+" || written.text == "-" || written.text == "*");
    for (const SyntaxPointer& child : written.children)
        if (child) find_unbound(*child, bound, solvable && arithmetic, found, all);
    for (const Generator& generator : written.generators) find_unbound(*generator.range, bound, false, found, all);
}

bool is_pattern_part(Syntax::Kind kind) {
    return kind == Syntax::Kind::dimension || kind == Syntax::Kind::dimensions ||
           kind == Syntax::Kind::dimension_group || kind == Syntax::Kind::any_dimension ||
           kind == Syntax::Kind::any_dimensions;
}

void find_expressions(const Syntax& pattern, std::vector<const Syntax*>& expressions) {
    for (const SyntaxPointer& part : pattern.children) {
        if (part->kind == Syntax::Kind::dimension_group) find_expressions(*part, expressions);
        if (part->kind == Syntax::Kind::binary) expressions.push_back(part.get());
    }
}

Bound bound_names(const Template& metakernel) {
    Bound bound{"index"};
    for (const Parameter& parameter : metakernel.params) bound.insert(parameter.name);
    for (const StaticLet& let : metakernel.lets) bound.insert(let.name);
    if (metakernel.each) bound.insert(metakernel.each->name);
    for (const TensorSpec& input : metakernel.inputs) {
        bound.insert(input.name);
        if (input.dtype && input.dtype->kind == Syntax::Kind::static_name) bound.insert(input.dtype->text);
        visit_all(input.shape, [&](const Syntax& node) {
            if (is_pattern_part(node.kind)) bound.insert(node.text);
            if (!node.collector.empty()) bound.insert(node.collector);
        });
    }
    return bound;
}

}  // namespace

std::vector<const Syntax*> solved_names(const Template& metakernel) {
    std::vector<const Syntax*> expressions, solved;
    for (const TensorSpec& input : metakernel.inputs)
        if (input.shape) find_expressions(*input.shape, expressions);
    if (expressions.empty()) return solved;
    Bound bound = bound_names(metakernel);
    for (size_t before = expressions.size() + 1; expressions.size() < before;) {
        before = expressions.size();
        std::erase_if(expressions, [&](const Syntax* expression) {
            std::vector<const Syntax*> found;
            bool all = true;
            find_unbound(*expression, bound, true, found, all);
            if (found.size() != 1 || !all) return found.empty();
            bound.insert(found[0]->text);
            solved.push_back(found[0]);
            return true;
        });
    }
    return solved;
}

// ---------------------------------------------------------------- operators of a composition

namespace {

using Kind = Syntax::Kind;

void collect_calls(const SyntaxPointer& syntax, std::vector<const Syntax*>& calls) {
    if (!syntax) return;
    switch (syntax->kind) {
    case Kind::call:
        if (syntax->text != "has") calls.push_back(syntax.get());
        for (const auto& argument : syntax->children) collect_calls(argument, calls);
        return;
    case Kind::conditional:
        collect_calls(syntax->children[1], calls);
        collect_calls(syntax->children[2], calls);
        return;
    case Kind::spread:
    case Kind::subscript:
    case Kind::slice:
    case Kind::comprehension: collect_calls(syntax->children[0], calls); return;
    default:
        for (const auto& child : syntax->children) collect_calls(child, calls);
        return;
    }
}

}  // namespace

std::vector<const Syntax*> operator_calls(const Template& composition) {
    std::vector<const Syntax*> calls;
    for (const auto* lines : {&composition.graph, &composition.grad})
        for (const SyntaxPointer& assignment : *lines) collect_calls(assignment->value, calls);
    return calls;
}

bool is_combiner(std::string_view name) {
    constexpr std::array names{"sum", "prod", "min", "max", "any", "all"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

Template gradient_rule(const Template& metakernel) {
    Template rule = metakernel;
    rule.graph = metakernel.grad;
    rule.body.clear();
    rule.grad.clear();
    rule.reduces.clear();
    rule.kernels.clear();
    rule.requirements.clear();
    rule.index = nullptr;
    rule.outputs.clear();
    for (TensorSpec& input : rule.inputs) input.placement.clear();
    auto plain = [](const TensorSpec& of, const std::string& name) {
        TensorSpec spec;
        spec.name = name;
        spec.optional = true;
        spec.place = of.place;
        return spec;
    };
    for (const TensorSpec& output : metakernel.outputs) rule.inputs.push_back(plain(output, output.name));
    for (const TensorSpec& output : metakernel.outputs) rule.inputs.push_back(plain(output, "d_" + output.name));
    for (const TensorSpec& input : metakernel.inputs) rule.outputs.push_back(plain(input, "d_" + input.name));
    return rule;
}

// ---------------------------------------------------------------- text

namespace {

std::string print_type(const ParameterType& type) {
    using enum ParameterType::Kind;
    std::string text;
    switch (type.kind) {
    case integer: text = "int"; break;
    case real: text = "float"; break;
    case boolean: text = "bool"; break;
    case string: text = "string"; break;
    case dtype: text = "dtype"; break;
    case number: text = "number"; break;
    case axis: text = "axis(" + print(*type.of) + ")"; break;
    case axes: text = "axes(" + print(*type.of) + ")"; break;
    case choice: text = fmt::format("{}", fmt::join(type.choices, " | ")); break;
    case any: text = "any"; break;
    }
    if (type.is_list) text += "[" + (type.length ? print(*type.length) : std::string()) + "]";
    if (type.lowest) text += " >= " + print(*type.lowest);
    if (type.highest) text += " <= " + print(*type.highest);
    return text;
}

std::string print_tensor(const TensorSpec& tensor) {
    std::string text = "  " + tensor.name + ": " + (tensor.dtype ? print(*tensor.dtype) : "_");
    if (tensor.shape) text += print(*tensor.shape);
    if (tensor.optional) text += "?";
    if (tensor.variadic) text += "*";
    if (tensor.ipf) text += "  ipf " + print(*tensor.ipf);
    if (tensor.reads) text += "  reads " + print(*tensor.reads);
    if (!tensor.placement.empty()) text += "  on " + tensor.placement;
    if (tensor.flavour != Flavour::any) text += tensor.flavour == Flavour::concrete ? "  concrete" : "  transparent";
    if (!tensor.overwrites.empty()) text += "  overwrites " + tensor.overwrites;
    return text + "\n";
}

template <typename List, typename Line>
void print_section(std::string& text, const char* title, const List& list, const Line& line) {
    if (list.empty()) return;
    text += title;
    for (const auto& item : list) text += line(item);
}

}  // namespace

std::string print(const Template& t) {
    std::string text = t.name + ":\n";
    print_section(text, " params:\n", t.params, [](const Parameter& parameter) {
        std::string line = "  " + parameter.name + ": " + print_type(parameter.type);
        return line + (parameter.default_value ? " = " + print(*parameter.default_value) : "") + "\n";
    });
    print_section(text, " inputs:\n", t.inputs, print_tensor);
    print_section(text, " outputs:\n", t.outputs, print_tensor);
    print_section(text, " dtypes:\n", t.dtypes, [](const DTypeConstraint& constraint) {
        return fmt::format("  ${}: {}\n", constraint.name, fmt::join(constraint.dtype_names, ", "));
    });
    print_section(text, " require:\n", t.requirements, [](const Requirement& requirement) {
        return fmt::format("  {}  -- {}\n", print(*requirement.condition), requirement.message);
    });
    print_section(text, " let:\n", t.lets,
                  [](const StaticLet& let) { return fmt::format("  ${} = {}\n", let.name, print(*let.value)); });
    if (t.each) text += fmt::format(" each: ${} < {}\n", t.each->name, print(*t.each->count));
    if (t.index) text += " index: " + print(*t.index) + "\n";
    auto statement = [](const SyntaxPointer& line) { return print_statement(*line, 2); };
    print_section(text, " body:\n", t.body, statement);
    print_section(text, " graph:\n", t.graph, statement);
    print_section(text, " grad:\n", t.grad, statement);
    print_section(text, " kernels:\n", t.kernels, [](const KernelRow& row) { return "  " + row.text + "\n"; });
    print_section(text, " reduces:\n", t.reduces,
                  [](const Reduces& row) { return fmt::format("  {}: {}\n", row.axis, row.combiner); });
    return text;
}

std::string signature(const Template& metakernel) {
    const auto typed = [](const TensorSpec& tensor) {
        std::string text = tensor.name + ": " + (tensor.dtype ? print(*tensor.dtype) : "_");
        if (tensor.shape) text += print(*tensor.shape);
        return text + (tensor.optional ? "?" : "") + (tensor.variadic ? "*" : "");
    };
    std::vector<std::string> taken, given;
    for (const TensorSpec& input : metakernel.inputs) taken.push_back(typed(input));
    for (const Parameter& parameter : metakernel.params)
        taken.push_back(parameter.name + ": " + print_type(parameter.type) +
                        (parameter.default_value ? " = " + print(*parameter.default_value) : ""));
    for (const TensorSpec& output : metakernel.outputs) given.push_back(typed(output));
    return fmt::format("{}({}) -> {}", metakernel.name, fmt::join(taken, ", "), fmt::join(given, ", "));
}

std::string summary(const Template& metakernel) {
    const std::string& text = metakernel.doc;
    if (text.empty() && metakernel.body.size() + metakernel.graph.size() == 1) {
        std::string line = print_statement(*(metakernel.body.empty() ? metakernel.graph : metakernel.body)[0]);
        while (line.ends_with('\n')) line.pop_back();
        return line;
    }
    std::string sentence;
    for (size_t i = 0; i < text.size(); i++) {
        const bool ends = text[i] == '.' && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n');
        sentence += text[i] == '\n' ? ' ' : text[i];
        if (ends) break;
    }
    while (sentence.ends_with(' ')) sentence.pop_back();
    return sentence;
}

// ---------------------------------------------------------------- single pieces

namespace {

template <typename Answer, typename Parse>
Result<Answer> parse_source(std::shared_ptr<const SourceText> source, const Parse& parse) {
    DiagnosticSink sink;
    Fragment fragment = fragment_of(std::move(source));
    Answer answer = parse(fragment, sink);
    if (!sink.empty()) return fail(sink.take());
    return answer;
}

}  // namespace

Result<SyntaxPointer> parse_expression(std::shared_ptr<const SourceText> source) {
    return parse_source<SyntaxPointer>(std::move(source),
                                       [](auto& fragment, auto& sink) { return parse_expression(fragment, sink); });
}
Result<SyntaxPointer> parse_pattern(std::shared_ptr<const SourceText> source) {
    return parse_source<SyntaxPointer>(std::move(source),
                                       [](auto& fragment, auto& sink) { return parse_pattern(fragment, sink); });
}
Result<SyntaxPointer> parse_ipf(std::shared_ptr<const SourceText> source) {
    return parse_source<SyntaxPointer>(std::move(source),
                                       [](auto& fragment, auto& sink) { return parse_ipf(fragment, sink); });
}
Result<std::vector<SyntaxPointer>> parse_body(std::shared_ptr<const SourceText> source) {
    return parse_source<std::vector<SyntaxPointer>>(std::move(source), [](auto& fragment, auto& sink) {
        std::vector<std::string> failed;
        return parse_body(fragment, sink, failed);
    });
}

}  // namespace heddle
