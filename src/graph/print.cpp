// Text of bodies and graphs.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "expr/expression_text.h"
#include "graph/body_names.h"
#include "graph/graph.h"

namespace heddle {
namespace {

// A node that several others use, or whose text has grown long, gets a name on a line of its own.
class BodyPrinter : private expr::ExpressionSpeller {
public:
    BodyPrinter(const Body& body, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs)
        : ExpressionSpeller(Reader::person), body_(body), inputs_(inputs), outputs_(outputs) {
        count_uses();
        name_values();
        locals_ = local_names(body);
        variables_ = variable_names(body, names_);
    }

    std::string print() {
        for (size_t i = 0; i < body_.nodes.size(); i++) {
            if (uses_[i] == 0) continue;
            const auto id = NodeId(i);
            Text text = spelled(id);
            const auto known = names_.find(id);
            const bool long_text = (uses_[i] > 1 && text.text.size() > 24) || text.text.size() > 160;
            if (known != names_.end() || long_text) {
                std::string name = known != names_.end() ? known->second : fmt::format("v{}", i);
                lines_ += fmt::format("let {}: {} = {}\n", name, heddle::name(body_.nodes[i].dtype), text.text);
                text = {name};
            }
            texts_[id] = std::move(text);
            for (size_t local : locals_by_value_[id]) print_local(body_.locals[local]);
        }
        for (const BodyEquation& equation : body_.equations) print_equation(equation);
        return std::move(lines_);
    }

private:
    // Values have a line if they have a name of their author's, or are long.
    void name_values() {
        std::vector<std::string> tensors = inputs_;
        tensors.insert(tensors.end(), outputs_.begin(), outputs_.end());
        names_ = value_names(body_, tensors);
        std::erase_if(names_, [&](const auto& each) {
            const Node& node = body_.node(each.first);
            return node.is_literal() || node.is_read() || node.kind == Node::Kind::variable ||
                   node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
        });
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

    const expr::Expression& at(NodeId id) const final { return body_.node(id); }
    std::string variable_of(const expr::Expression& e) const final { return variable(e.variable()); }
    const std::string& variable(VariableId id) const { return variables_[id]; }
    std::string tensor(TensorIndex index) const final { return named(inputs_, index, "tensor"); }

    const std::string& named(const Local& local) const {
        return locals_[static_cast<size_t>(&local - body_.locals.data())];
    }
    static std::string named(const std::vector<std::string>& names, int32_t index, const char* otherwise) {
        const auto at = static_cast<size_t>(index);
        return at < names.size() ? names[at] : fmt::format("{}{}", otherwise, index);
    }

    std::string domain(std::span<const VariableId> variables) const {
        std::string text;
        for (VariableId id : variables) {
            text += fmt::format("{}{} < {}", text.empty() ? "" : ", ", variable(id), body_.variable(id).extent.text());
        }
        return text;
    }

    Text special(NodeId id) const final {
        const Node& node = body_.node(id);
        const std::span<const NodeId> operands = node.operands;
        switch (node.kind) {
        case Node::Kind::local: {
            const Local& local = body_.local(node.local());
            if (!local.is_state()) return {fmt::format("{}[{}]", named(local), list(operands))};
            return {element(local, step_text(operands[0]), operands.subspan(1))};
        }
        case Node::Kind::previous: {
            const Local& state = body_.local(node.local());
            return {element(state, variable(state.variables[0]) + " - 1", operands)};
        }
        case Node::Kind::reduce: {
            std::string filter = operands.size() > 1 ? " if " + text_of(operands[1]) : "";
            return {
                fmt::format("{}({}{} : {})", name(node.reducer), domain(node.variables), filter, text_of(operands[0]))};
        }
        default: return {};  // in arenas only
        }
    }

    std::string element(const Local& state, const std::string& step, std::span<const NodeId> others) const {
        return fmt::format("{}[{}{}{}]", named(state), step, others.empty() ? "" : ", ", list(others));
    }

    // The step that a state's first coordinate, which is one more, stands for.
    std::string step_text(NodeId coordinate) const {
        const Node& node = body_.node(coordinate);
        if (node.kind == Node::Kind::integer) return std::to_string(node.integer.number() - 1);
        bool one_more = node.kind == Node::Kind::scalar && node.op == ScalarOp::add &&
                        body_.node(node.operands[1]).kind == Node::Kind::integer &&
                        body_.node(node.operands[1]).integer == 1;
        if (one_more) return text_of(node.operands[0]);
        return text_of(coordinate) + " - 1";
    }

    void print_local(const Local& local) {
        if (local.is_state()) {
            lines_ += fmt::format("scan {}: {}[{}]: {} = {} from {}\n", domain(std::span(local.variables).first(1)),
                                  named(local), domain(std::span(local.variables).subspan(1)), name(local.dtype),
                                  text_of(local.value), text_of(local.initial));
            return;
        }
        lines_ += fmt::format("let {}[{}]: {} = {}\n", named(local), domain(local.variables), name(local.dtype),
                              text_of(local.value));
    }

    void print_equation(const BodyEquation& equation) {
        std::string loops = domain(equation.variables);
        lines_ += fmt::format("{}{}[{}] = {}\n", loops.empty() ? "" : "for " + loops + ": ",
                              named(outputs_, equation.output, "output"), list(equation.left), text_of(equation.value));
    }

    const Body& body_;
    const std::vector<std::string>& inputs_;
    const std::vector<std::string>& outputs_;
    std::map<NodeId, std::string> names_;
    std::vector<std::string> variables_, locals_;
    std::vector<int> uses_;
    std::map<NodeId, std::vector<size_t>> locals_by_value_;
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
