#include "graph/body_names.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

namespace heddle {

namespace {

std::string written_name(const Variable& variable) {
    return (variable.kind == Variable::Kind::index ? "@" : "") + variable.name;
}

// Which variables of one name are seen together. Only those are looked at whose name is not their own.
class Scopes {
public:
    Scopes(const Body& body, const std::map<NodeId, std::string>& lines)
        : body_(body), clashes_(body.variables.size()) {
        std::map<std::string, int> times;
        for (const Variable& variable : body.variables) times[written_name(variable)]++;
        int64_t shared = 0;
        for (const Variable& variable : body.variables) {
            shares_name_.push_back(times[written_name(variable)] > 1);
            shared += shares_name_.back();
        }
        constexpr int64_t most_work = 4'000'000;
        if (shared == 0) return;
        if (shared * static_cast<int64_t>(body.nodes.size()) > most_work) {
            Variables all;
            for (size_t id = 0; id < shares_name_.size(); ++id)
                if (shares_name_[id]) all.push_back(static_cast<int32_t>(id));
            clash(all, all);
            return;
        }
        free_.resize(body.nodes.size());
        bound_.resize(body.nodes.size());
        for (size_t id = 0; id < body.nodes.size(); ++id) visit(NodeId(id), lines.contains(NodeId(id)));
        for (const Local& local : body.locals) {
            line(local.variables, {local.value});
            if (local.is_state()) line(local.variables, {local.initial});
        }
        for (const BodyEquation& equation : body.equations) {
            line(equation.variables, {equation.value});
            line(equation.variables, equation.left);
        }
    }

    const std::set<int32_t>& clashes(size_t variable) const { return clashes_[variable]; }

private:
    using Variables = std::vector<int32_t>;  // sorted

    static void join(Variables& into, const Variables& more) {
        if (more.empty()) return;
        Variables joined;
        std::ranges::set_union(into, more, std::back_inserter(joined));
        into = std::move(joined);
    }
    Variables shared(const VariableList& variables) const {
        Variables found;
        for (VariableId id : variables)
            if (shares_name_[static_cast<size_t>(id)]) found.push_back(static_cast<int32_t>(id));
        std::ranges::sort(found);
        return found;
    }
    void clash(const Variables& some, const Variables& others) {
        for (int32_t a : some)
            for (int32_t b : others) {
                if (a == b) continue;
                clashes_[static_cast<size_t>(a)].insert(b);
                clashes_[static_cast<size_t>(b)].insert(a);
            }
    }

    void visit(NodeId id, bool has_line) {
        const Node& node = body_.node(id);
        Variables& free = free_[static_cast<size_t>(id)];
        Variables& bound = bound_[static_cast<size_t>(id)];
        if (node.kind == Node::Kind::variable) free = shared({node.variable()});
        for (NodeId operand : node.operands) {
            join(free, free_[static_cast<size_t>(operand)]);
            join(bound, bound_[static_cast<size_t>(operand)]);
        }
        if (node.kind == Node::Kind::reduce) {
            const Variables own = shared(node.variables);
            clash(own, free);
            clash(own, bound);
            clash(own, own);
            Variables open;
            std::ranges::set_difference(free, own, std::back_inserter(open));
            free = std::move(open);
            join(bound, own);
        }
        if (!has_line) return;
        clash(free, bound);
        clash(free, free);
        bound.clear();
    }
    void line(const VariableList& variables, const NodeList& values) {
        const Variables own = shared(variables);
        clash(own, own);
        for (NodeId value : values) {
            const Variables& free = free_[static_cast<size_t>(value)];
            const Variables& bound = bound_[static_cast<size_t>(value)];
            clash(own, free);
            clash(own, bound);
            clash(free, bound);
            clash(free, free);
        }
    }

    const Body& body_;
    std::vector<char> shares_name_;
    std::vector<std::set<int32_t>> clashes_;  // of each variable
    std::vector<Variables> free_, bound_;     // of each node's text
};

}  // namespace

const std::string* name_of(const Body& body, NodeId node) {
    const auto found = std::ranges::find(body.names, node, &NodeName::node);
    return found == body.names.end() ? nullptr : &found->name;
}

std::vector<std::string> local_names(const Body& body) {
    std::set<std::string> used;
    std::vector<std::string> names;
    for (const Local& local : body.locals) {
        std::string name = local.name;
        for (int number = 2; !used.insert(name).second; ++number) name = fmt::format("{}_{}", local.name, number);
        names.push_back(std::move(name));
    }
    return names;
}

std::map<NodeId, std::string> value_names(const Body& body, const std::vector<std::string>& taken) {
    std::set<std::string> used(taken.begin(), taken.end());
    for (const std::string& name : local_names(body)) used.insert(name);
    for (const Variable& variable : body.variables) used.insert(variable.name);
    std::map<NodeId, std::string> names;
    for (const auto& [node, wanted] : body.names) {
        if (names.contains(node)) continue;
        std::string name = wanted;
        for (int number = 2; !used.insert(name).second; ++number) name = fmt::format("{}_{}", wanted, number);
        names.emplace(node, std::move(name));
    }
    return names;
}

std::vector<std::string> variable_names(const Body& body, const std::map<NodeId, std::string>& lines) {
    const Scopes scopes(body, lines);
    std::vector<std::string> names;
    std::vector<int> numbers;
    for (size_t id = 0; id < body.variables.size(); ++id) {
        const std::string name = written_name(body.variables[id]);
        std::set<int> used;
        for (int32_t other : scopes.clashes(id))
            if (static_cast<size_t>(other) < id && written_name(body.variables[other]) == name)
                used.insert(numbers[static_cast<size_t>(other)]);
        int number = 1;
        while (used.contains(number)) ++number;
        numbers.push_back(number);
        names.push_back(number == 1 ? name : fmt::format("{}_{}", name, number));
    }
    return names;
}

}  // namespace heddle
