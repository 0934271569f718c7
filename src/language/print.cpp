#include <functional>

#include <fmt/format.h>

#include "language/syntax.h"
#include "support/precedence.h"
#include "support/spelling.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

Precedence precedence_of(const Syntax& node) {
    switch (node.kind) {
    case Kind::conditional: return Precedence::selection;
    case Kind::binary: return *heddle::precedence_of(node.text);
    // A guard stands where an operand of a product may: its own right side reaches as far as a unary does.
    case Kind::unary:
    case Kind::guard: return Precedence::unary;
    default: return Precedence::postfix;
    }
}

std::string print_at(const Syntax& node, Precedence least);

std::string print_or_nothing(const SyntaxPointer& node) { return node ? print(*node) : std::string(); }

std::string joined(const std::vector<SyntaxPointer>& parts, size_t from = 0) {
    std::string text;
    for (size_t i = from; i < parts.size(); i++) {
        if (i > from) text += ", ";
        text += print(*parts[i]);
    }
    return text;
}

std::string print_generators(const std::vector<Generator>& generators) {
    std::string text;
    for (const Generator& generator : generators) {
        if (!text.empty()) text += ", ";
        bool in = generator.kind == Generator::Kind::in;
        text += fmt::format("{} {} {}", generator.name, in ? "in" : "<",
                            print_at(*generator.range, in ? Precedence::disjunction : Precedence::sum));
        if (generator.first) text += " from " + print_at(*generator.first, Precedence::sum);
        if (generator.end) text += " to " + print_at(*generator.end, Precedence::sum);
    }
    return text;
}

std::string print_binary(const Syntax& node) {
    const Precedence own = precedence_of(node);
    return fmt::format("{} {} {}", print_at(*node.children[0], left_of(own)), node.text,
                       print_at(*node.children[1], right_of(own)));
}

std::string print_call(const Syntax& node) {
    std::string text = joined(node.children);
    for (const NamedArgument& argument : node.named) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", argument.name, print(*argument.value));
    }
    return fmt::format("{}({})", node.text, text);
}

std::string print_with_filter(const Syntax& node) {
    std::string text = print_generators(node.generators);
    const auto least = node.kind == Kind::reduction ? Precedence::disjunction : Precedence::selection;
    if (node.filter) text += " if " + print_at(*node.filter, least);
    return text;
}

std::string print_spread(const Syntax& node) {
    if (node.text == "...") return "...";
    std::string text = print(*node.children[0]) + "...";
    if (node.children.size() > 1) text += "{" + print(*node.children[1]) + "}";
    return text;
}

std::string print_dimension(const Syntax& node) {
    std::string text = (node.broadcast ? "~$" : "$") + node.text;
    if (!node.collector.empty()) text += "[$" + node.collector + "]";
    if (node.kind == Kind::dimension_group) return text + "=(" + joined(node.children) + ")";
    if (node.kind == Kind::dimensions) {
        text += "...";
        if (!node.children.empty()) text += "{" + print(*node.children[0]) + "}";
    }
    return text;
}

std::string print_projection(const Syntax& node) {
    if (node.kind == Kind::rows) return "[" + joined(node.children) + "]";
    std::string text = "D[" + joined(node.children) + "]";
    if (node.offset) text += " + " + print(*node.offset);
    if (node.extents) text += " :> " + print(*node.extents);
    return text;
}

std::string print_structured(const Syntax& node) {
    std::string text;
    for (const NamedArgument& field : node.named) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", field.name, print(*field.value));
    }
    return "{" + text + "}";
}

std::string print_node(const Syntax& node) {
    switch (node.kind) {
    case Kind::integer: return std::to_string(node.integer);
    case Kind::real: return real_text(node.real, DType::float64);
    case Kind::text: return in_quotes(node.text);
    case Kind::boolean: return node.integer ? "true" : "false";
    case Kind::none: return "none";
    case Kind::static_name: return "$" + node.text;
    case Kind::index_name: return "@" + node.text;
    case Kind::index_all: return "@";
    case Kind::name: return node.text;
    case Kind::unknown_extent: return "?" + node.text;
    case Kind::unary: return node.text + print_at(*node.children[0], Precedence::unary);
    case Kind::binary: return print_binary(node);
    case Kind::conditional:
        return fmt::format("{} ? {} : {}", print_at(*node.children[0], Precedence::disjunction),
                           print(*node.children[1]), print(*node.children[2]));
    case Kind::subscript:
        return print_at(*node.children[0], Precedence::postfix) + "[" + joined(node.children, 1) + "]";
    case Kind::slice:
        return fmt::format("{}[{}:{}]", print_at(*node.children[0], Precedence::postfix),
                           print_or_nothing(node.children[1]), print_or_nothing(node.children[2]));
    case Kind::attribute: return print_at(*node.children[0], Precedence::postfix) + "." + node.text;
    case Kind::fill: return print_at(*node.children[0], Precedence::postfix) + "...";
    case Kind::guard:
        return fmt::format("{} ?? {}", print_at(*node.children[0], Precedence::postfix),
                           print_at(*node.children[1], Precedence::unary));
    case Kind::call: return print_call(node);
    case Kind::reduction:
        return fmt::format("{}({} : {})", node.text, print_with_filter(node), print(*node.children[0]));
    case Kind::list: return "[" + joined(node.children) + "]";
    case Kind::comprehension: return fmt::format("[{} for {}]", print(*node.children[0]), print_with_filter(node));
    case Kind::scoped: {
        std::string text;
        for (const auto& child : node.children) text += (text.empty() ? "" : "; ") + print(*child);
        return text;
    }
    case Kind::whole: return "*";
    case Kind::wildcard:
    case Kind::any_dimension: return "_";
    case Kind::any_dimensions: return "_...";
    case Kind::ranged: return print(*node.children[0]) + " :> " + print(*node.children[1]);
    case Kind::spread: return print_spread(node);
    case Kind::named_element: return node.text + " = " + print(*node.children[0]);
    case Kind::binder: return node.text + " < " + print_at(*node.children[0], Precedence::sum);
    case Kind::pattern: return "[" + joined(node.children) + "]";
    case Kind::dimension:
    case Kind::dimensions:
    case Kind::dimension_group: return print_dimension(node);
    case Kind::rows:
    case Kind::diagonal: return print_projection(node);
    case Kind::structured: return print_structured(node);
    case Kind::let:
    case Kind::equation:
    case Kind::parallel_block:
    case Kind::scan_block:
    case Kind::assignment: break;
    }
    std::string text = print_statement(node);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::string print_at(const Syntax& node, Precedence least) {
    std::string text = print_node(node);
    return precedence_of(node) < least ? "(" + text + ")" : text;
}

}  // namespace

std::string print(const Syntax& syntax) { return print_node(syntax); }

std::string print_statement(const Syntax& statement, int indent) {
    std::string pad(static_cast<size_t>(indent), ' ');
    switch (statement.kind) {
    case Kind::let: {
        std::string axes = statement.generators.empty() ? "" : "[" + print_generators(statement.generators) + "]";
        return fmt::format("{}let {}{} = {}\n", pad, statement.text, axes, print(*statement.value));
    }
    case Kind::equation: {
        std::string left = statement.text;
        if (statement.pick) left += "[" + print(*statement.pick) + "]";
        if (statement.has_left) left += "[" + joined(statement.children) + "]";
        std::string from = statement.initial ? " from " + print(*statement.initial) : "";
        return fmt::format("{}{} = {}{}\n", pad, left, print(*statement.value), from);
    }
    case Kind::assignment: return fmt::format("{}{} = {}\n", pad, joined(statement.children), print(*statement.value));
    case Kind::parallel_block:
    case Kind::scan_block: {
        bool scan = statement.kind == Kind::scan_block;
        std::string until = statement.filter ? " until " + print(*statement.filter) : "";
        std::string text =
            fmt::format("{}{} {}{}:\n", pad, scan ? "scan" : "for", print_generators(statement.generators), until);
        for (const auto& child : statement.children) text += print_statement(*child, indent + 2);
        return text;
    }
    default: return pad + print(statement) + "\n";
    }
}

}  // namespace heddle
