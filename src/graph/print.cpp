// Text of bodies and graphs.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/graph.h"
#include "support/spelling.h"

namespace heddle {
namespace {

// Binding strengths of the template language's operators, loosest first.
enum Strength : int {
    selection = 0,
    disjunction,
    conjunction,
    comparison,
    additive,
    multiplicative,
    prefix,
    exponent,
    atom
};

Strength strength_of(ScalarOp op) {
    switch (op) {
    case ScalarOp::logical_or: return disjunction;
    case ScalarOp::logical_and: return conjunction;
    case ScalarOp::add:
    case ScalarOp::subtract: return additive;
    case ScalarOp::multiply:
    case ScalarOp::divide:
    case ScalarOp::floor_divide:
    case ScalarOp::modulo: return multiplicative;
    case ScalarOp::power: return exponent;
    default: return info(op).infix.empty() ? atom : comparison;
    }
}

// Prints the nodes in their order, so that nesting needs no recursion. A node that several others use, or whose text
// has grown long, gets a name on a line of its own.
class BodyPrinter {
public:
    BodyPrinter(const Body& body, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs)
        : body_(body), inputs_(inputs), outputs_(outputs) {
        name_variables();
        count_uses();
    }

    std::string print() {
        texts_.resize(body_.nodes.size());
        for (size_t i = 0; i < body_.nodes.size(); i++) {
            if (uses_[i] == 0) continue;
            Text text = node_text(body_.nodes[i]);
            bool named = (uses_[i] > 1 && text.text.size() > 24) || text.text.size() > 160;
            if (named) {
                std::string name = fmt::format("v{}", i);
                lines_ += fmt::format("let {}: {} = {}\n", name, heddle::name(body_.nodes[i].dtype), text.text);
                text = {name, atom};
            }
            texts_[i] = std::move(text);
            for (size_t local : locals_by_value_[static_cast<NodeId>(i)]) print_local(body_.locals[local]);
        }
        for (const BodyEquation& equation : body_.equations) print_equation(equation);
        return std::move(lines_);
    }

private:
    struct Text {
        std::string text;
        int strength = atom;
    };

    void name_variables() {
        std::map<std::string, int> seen;
        for (const Variable& variable : body_.variables) {
            int count = ++seen[variable.name];
            std::string name = (variable.kind == Variable::Kind::index ? "@" : "") + variable.name;
            variables_.push_back(count == 1 ? name : fmt::format("{}_{}", name, count));
        }
    }

    void count_uses() {
        uses_.assign(body_.nodes.size(), 0);
        auto use = [&](NodeId id) { uses_[static_cast<size_t>(id)]++; };
        for (size_t i = 0; i < body_.locals.size(); i++) {
            use(body_.locals[i].value);
            if (body_.locals[i].is_state()) use(body_.locals[i].initial);
            locals_by_value_[std::max(body_.locals[i].value, body_.locals[i].initial)].push_back(i);
        }
        for (const BodyEquation& equation : body_.equations) {
            use(equation.value);
            for (NodeId id : equation.left) use(id);
        }
        for (size_t i = body_.nodes.size(); i-- > 0;) {
            if (uses_[i] == 0) continue;
            for (NodeId id : body_.nodes[i].operands) use(id);
        }
    }

    std::string operand(const Node& node, size_t index, int strength) const {
        const Text& text = texts_[static_cast<size_t>(node.operands[index])];
        return text.strength < strength ? "(" + text.text + ")" : text.text;
    }

    std::string list(std::span<const NodeId> ids, size_t begin, size_t end) const {
        std::string text;
        for (size_t i = begin; i < end; i++)
            text += (i == begin ? "" : ", ") + texts_[static_cast<size_t>(ids[i])].text;
        return text;
    }

    std::string domain(std::span<const VariableId> variables) const {
        std::string text;
        for (VariableId id : variables) {
            text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", variables_[static_cast<size_t>(id)],
                                body_.variable(id).extent.text());
        }
        return text;
    }

    Text scalar_text(const Node& node) const {
        const ScalarOpInfo& row = info(node.op);
        size_t count = node.operands.size();
        if (row.infix.empty() || count != 2)
            return {fmt::format("{}({})", row.name, list(node.operands, 0, count)), atom};
        int strength = strength_of(node.op);
        bool right = node.op == ScalarOp::power;
        return {fmt::format("{} {} {}", operand(node, 0, strength + (right || strength == comparison)), row.infix,
                            operand(node, 1, strength + !right)),
                strength};
    }

    Text node_text(const Node& node) const {
        size_t count = node.operands.size();
        auto named = [&](const std::vector<std::string>& names) {
            auto index = static_cast<size_t>(node.index);
            return index < names.size() ? names[index] : fmt::format("tensor{}", index);
        };
        switch (node.kind) {
        case Node::Kind::integer:
        case Node::Kind::real: {
            std::string text = literal_text({.dtype = node.dtype, .integer = node.integer, .real = node.real});
            return {text, text[0] == '-' ? prefix : atom};
        }
        case Node::Kind::variable: return {variables_[static_cast<size_t>(node.index)], atom};
        case Node::Kind::scalar: return scalar_text(node);
        case Node::Kind::cast: return {fmt::format("{}({})", name(node.dtype), list(node.operands, 0, 1)), atom};
        case Node::Kind::select:
            return {fmt::format("{} ? {} : {}", operand(node, 0, disjunction), operand(node, 1, disjunction),
                                operand(node, 2, selection)),
                    selection};
        case Node::Kind::read: return {fmt::format("{}[{}]", named(inputs_), list(node.operands, 0, count)), atom};
        case Node::Kind::guarded_read:
            return {fmt::format("{}[{}] ?? {}", named(inputs_), list(node.operands, 0, count - 1),
                                operand(node, count - 1, prefix)),
                    selection};
        case Node::Kind::local: {
            const Local& local = body_.locals[static_cast<size_t>(node.index)];
            if (!local.is_state()) return {fmt::format("{}[{}]", local.name, list(node.operands, 0, count)), atom};
            return {fmt::format("{}[{}{}{}]", local.name, step_text(node.operands[0]), count > 1 ? ", " : "",
                                list(node.operands, 1, count)),
                    atom};
        }
        case Node::Kind::previous: {
            const Local& state = body_.locals[static_cast<size_t>(node.index)];
            return {fmt::format("{}[{} - 1{}{}]", state.name, variables_[static_cast<size_t>(state.variables[0])],
                                count > 0 ? ", " : "", list(node.operands, 0, count)),
                    atom};
        }
        case Node::Kind::reduce: {
            std::string filter = count > 1 ? " if " + list(node.operands, 1, 2) : "";
            return {fmt::format("{}({}{} : {})", name(node.reducer), domain(node.variables), filter,
                                list(node.operands, 0, 1)),
                    atom};
        }
        default: return {};  // in arenas only
        }
    }

    // The step that a state's first coordinate, which is one more, stands for.
    std::string step_text(NodeId coordinate) const {
        const Node& node = body_.node(coordinate);
        if (node.kind == Node::Kind::integer) return std::to_string(node.integer - 1);
        bool one_more = node.kind == Node::Kind::scalar && node.op == ScalarOp::add &&
                        body_.node(node.operands[1]).kind == Node::Kind::integer &&
                        body_.node(node.operands[1]).integer == 1;
        if (one_more) return texts_[static_cast<size_t>(node.operands[0])].text;
        return texts_[static_cast<size_t>(coordinate)].text + " - 1";
    }

    void print_local(const Local& local) {
        if (local.is_state()) {
            lines_ += fmt::format("scan {}: {}[{}]: {} = {} from {}\n", domain(std::span(local.variables).first(1)),
                                  local.name, domain(std::span(local.variables).subspan(1)), name(local.dtype),
                                  texts_[static_cast<size_t>(local.value)].text,
                                  texts_[static_cast<size_t>(local.initial)].text);
            return;
        }
        lines_ += fmt::format("let {}[{}]: {} = {}\n", local.name, domain(local.variables), name(local.dtype),
                              texts_[static_cast<size_t>(local.value)].text);
    }

    void print_equation(const BodyEquation& equation) {
        auto index = static_cast<size_t>(equation.output);
        std::string output = index < outputs_.size() ? outputs_[index] : fmt::format("output{}", index);
        std::string loops = domain(equation.variables);
        lines_ +=
            fmt::format("{}{}[{}] = {}\n", loops.empty() ? "" : "for " + loops + ": ", output,
                        list(equation.left, 0, equation.left.size()), texts_[static_cast<size_t>(equation.value)].text);
    }

    const Body& body_;
    const std::vector<std::string>& inputs_;
    const std::vector<std::string>& outputs_;
    std::vector<std::string> variables_;
    std::vector<int> uses_;
    std::map<NodeId, std::vector<size_t>> locals_by_value_;
    std::vector<Text> texts_;
    std::string lines_;
};

std::vector<std::string> names_of(const Graph& graph, const std::vector<TensorId>& ids) {
    std::vector<std::string> names;
    for (TensorId id : ids) names.push_back(graph.tensor(id).name);
    return names;
}

std::string indented(const std::string& text) {
    std::string result;
    size_t begin = 0;
    while (begin < text.size()) {
        size_t end = text.find('\n', begin) + 1;
        result += "    " + text.substr(begin, end - begin);
        begin = end;
    }
    return result;
}

std::string operation_text(const Graph& graph, const Operation& operation) {
    auto inputs = names_of(graph, operation.inputs), outputs = names_of(graph, operation.outputs);
    std::string params;
    for (const auto& [name, value] : operation.params) params += fmt::format(", {}: {}", name, value);
    std::string text = fmt::format("  {} = {}({}{})  # {}\n", fmt::join(outputs, ", "), operation.operator_name,
                                   fmt::join(inputs, ", "), params, operation.name);
    return text + (operation.body ? indented(print(*operation.body, inputs, outputs)) : "    opaque\n");
}

}  // namespace

std::string print(const Body& body, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    return BodyPrinter(body, inputs, outputs).print();
}

std::string print(const Graph& graph) {
    std::string text = "graph\n";
    std::vector<bool> is_input(graph.tensors.size(), false);
    for (TensorId id : graph.inputs) {
        is_input[static_cast<size_t>(id)] = true;
        text += fmt::format("  in  {}: {}{}\n", graph.tensor(id).name, graph.tensor(id).type.text(),
                            graph.tensor(id).constant ? " decided" : "");
    }
    for (size_t i = 0; i < graph.tensors.size(); i++) {
        const Tensor& tensor = graph.tensors[i];
        if (is_input[i]) continue;
        const char* kind = tensor.constant ? "constant" : "tensor";
        text += fmt::format("  {} {}: {}\n", kind, tensor.name, tensor.type.text());
    }
    for (const Operation& operation : graph.operations) text += operation_text(graph, operation);
    for (TensorId id : graph.outputs) text += fmt::format("  out {}\n", graph.tensor(id).name);
    return text;
}

}  // namespace heddle
