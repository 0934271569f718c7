#include "sharding/histories.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/body_rebuild.h"
#include "sharding/regions.h"
#include "symbolic/body_nodes.h"

namespace heddle::sharding {
namespace {

bool is_of_scan(const Body& body, LocalId id, VariableId step) {
    return body.local(id).is_state() && body.local(id).variables[0] == step;
}

std::vector<LocalId> states_of(const Body& body, VariableId step) {
    std::vector<LocalId> states;
    for (size_t i = 0; i < body.locals.size(); ++i)
        if (is_of_scan(body, LocalId(i), step)) states.push_back(LocalId(i));
    return states;
}

NodeId add(Body& body, Node node) {
    body.nodes.push_back(std::move(node));
    return last_id<NodeId>(body.nodes);
}

// history[i, ...] = state[i, ...]
BodyEquation all_steps(Body& body, LocalId id, int32_t output) {
    const Local state = body.local(id);
    BodyEquation equation{output, {}, {}, {}};
    const auto types = type_of_history(body, id);
    for (size_t d = 0; d < state.variables.size(); ++d) {
        body.variables.push_back({body.variable(state.variables[d]).name, Variable::Kind::parallel, types.shape[d]});
        equation.variables.push_back(last_id<VariableId>(body.variables));
        equation.left.push_back(add(
            body, {.kind = Node::Kind::variable, .dtype = DType::int64, .index = equation.variables.back().number()}));
    }
    equation.value =
        add(body, {.kind = Node::Kind::local, .dtype = state.dtype, .index = id.number(), .operands = equation.left});
    return equation;
}

// Reads histories in place of states; variables keep their numbers.
class HistoriesRead : public BodyRebuild<HistoriesRead> {
public:
    HistoriesRead(const Body& from, Body& to, VariableId step, std::map<LocalId, TensorIndex> inputs, bool are_all)
        : BodyRebuild(from, to), nodes_(to), step_(step), inputs_(std::move(inputs)) {
        to.variables = from.variables;
        if (are_all) to.variables[static_cast<size_t>(step)].kind = Variable::Kind::parallel;
        for (const BodyEquation& equation : from.equations) {
            BodyEquation made{equation.output, equation.variables, {}, {}};
            for (NodeId left : equation.left) made.left.push_back(copy(left));
            made.value = copy(equation.value);
            to.equations.push_back(std::move(made));
        }
    }

private:
    friend NodeRebuild<HistoriesRead>;
    friend BodyRebuild<HistoriesRead>;

    std::optional<NodeId> replaced(NodeId id) {
        const Node& node = from_.node(id);
        const bool previous = node.kind == Node::Kind::previous;
        if (node.kind != Node::Kind::local && !previous) return std::nullopt;
        const auto input = inputs_.find(node.local());
        if (input == inputs_.end()) return std::nullopt;
        NodeList coordinates;
        if (previous) coordinates.push_back(nodes_.variable(step_));
        for (NodeId coordinate : node.operands) coordinates.push_back(value(coordinate));
        return nodes_.read(input->second, node.dtype, std::move(coordinates));
    }
    VariableId make_variable(VariableId id) { return id; }
    NodeId add(NodeId, const Node& node) { return nodes_.add(node); }

    BodyNodes nodes_;
    VariableId step_;
    std::map<LocalId, TensorIndex> inputs_;
};

// Whether a condition, which may say more of a step than parts will know, stands around a read of the input.
bool is_conditional(const Body& body, const BodyAccesses& accesses, int32_t input) {
    return std::ranges::any_of(body.nodes, [&](const Node& node) {
        const bool filters = node.kind == Node::Kind::reduce && node.operands.size() > 1;
        if (node.kind != Node::Kind::select && !filters) return false;
        const auto used = used_by(body, node.operands);
        return std::ranges::any_of(accesses.accesses(), [&](const Access& access) {
            return access.tensor == input && used[static_cast<size_t>(access.node)];
        });
    });
}

// What is known of a step by its variables alone stays known when the rest is cut.
std::pair<int64_t, int64_t> steps_read(const Body& body, const BodyAccesses& accesses, int32_t input,
                                       const std::vector<int64_t>& extents) {
    if (is_conditional(body, accesses, input)) return {0, extents[0]};
    for (const Access& access : accesses.accesses())
        if (access.tensor == input && !access.dead && !accesses.range(access, 0).affine) return {0, extents[0]};
    const Box box = read_region(accesses, input, extents);
    return box.is_empty() ? std::pair<int64_t, int64_t>(0, 0) : std::pair(box.start[0].number(), box.end[0].number());
}

}  // namespace

TensorType type_of_history(const Body& body, LocalId id) {
    const Local& state = body.local(id);
    TensorType type{state.dtype, {}};
    for (VariableId variable : state.variables) type.shape.push_back(body.variable(variable).extent);
    type.shape[0] = type.shape[0] + 1;
    return type;
}

ScanApart scan_apart(const Body& body, const std::vector<LocalId>& states, size_t inputs) {
    ScanApart apart{.states = body, .rest = {}, .histories = {}};
    apart.states.equations.clear();
    std::map<LocalId, TensorIndex> read;
    for (LocalId state : states) {
        const auto number = static_cast<int32_t>(apart.histories.size());
        apart.states.equations.push_back(all_steps(apart.states, state, number));
        read[state] = TensorIndex(inputs + apart.histories.size());
        apart.histories.push_back({.state = state, .tensor = no_id, .name = body.local(state).name});
    }
    const VariableId step = body.local(states.front()).variables[0];
    HistoriesRead(body, apart.rest, step, read, states_of(body, step).size() == states.size());
    const BodyAccesses accesses(apart.rest);
    for (History& history : apart.histories)
        std::tie(history.begin, history.end) = steps_read(apart.rest, accesses, read[history.state].number(),
                                                          type_of_history(body, history.state).extents());
    return apart;
}

namespace {

// The last step's is what the next part begins with.
std::vector<Range> written_by(const ScanPart& part, const History& history) {
    const Range read{std::max(history.begin, part.steps.begin == 0 ? 0 : part.steps.begin + 1),
                     std::min(history.end, part.steps.end + 1)};
    std::vector<Range> list;
    if (read.begin < read.end) list.push_back(read);
    const bool holds_last = read.begin <= part.steps.end && part.steps.end < read.end;
    if (!part.is_last && !holds_last) list.push_back({part.steps.end, part.steps.end + 1});
    return list;
}

}  // namespace

void write_scan_part(Body& into, const Body& states, const std::vector<History>& histories, const ScanPart& part) {
    BodyNodes nodes(into);
    BodyCopy copy(states, nodes, into);
    for (const auto& [node, value] : part.stored) copy.store(node, value);
    copy.restrict(part.ranges);
    std::vector<LocalId> made;
    for (size_t h = 0; h < histories.size(); ++h) {
        const BodyEquation& all = states.equations[h];
        const Local& state = states.local(states.node(all.value).local());
        copy.bind_part(all.variables[0], Variable::Kind::parallel, {part.steps.begin, part.steps.end + 1});
        for (size_t d = 1; d < all.variables.size(); ++d)
            copy.bind_part(all.variables[d], Variable::Kind::parallel, part.ranges.at(state.variables[d]));
        made.push_back(into.node(copy.copy(all.value)).local());
        for (const Range& steps : written_by(part, histories[h])) {
            const VariableId step = nodes.add_variable("step", Variable::Kind::parallel, steps.length());
            BodyEquation equation{
                static_cast<int32_t>(h), {step}, {plus(nodes, nodes.variable(step), steps.begin)}, {}};
            NodeList coordinates{plus(nodes, nodes.variable(step), steps.begin - part.steps.begin)};
            for (size_t d = 1; d < all.variables.size(); ++d) {
                equation.variables.push_back(copy.variable(all.variables[d]));
                coordinates.push_back(nodes.variable(equation.variables.back()));
                equation.left.push_back(plus(nodes, coordinates.back(), part.ranges.at(state.variables[d]).begin));
            }
            equation.value = nodes.local(made.back(), state.dtype, std::move(coordinates));
            into.equations.push_back(std::move(equation));
        }
    }
    for (size_t h = 0; h < made.size() && part.steps.begin > 0; ++h) {
        const Local& state = states.local(states.node(states.equations[h].value).local());
        NodeList coordinates{nodes.integer(part.steps.begin, DType::int64, true)};
        for (size_t d = 1; d < state.variables.size(); ++d)
            coordinates.push_back(plus(nodes, nodes.variable(into.local(made[h]).variables[d]),
                                       part.ranges.at(state.variables[d]).begin));
        const TensorIndex input(part.first_history.number() + static_cast<int32_t>(h));
        into.locals[made[h]].initial = nodes.read(input, state.dtype, std::move(coordinates));
    }
}

std::vector<LocalId> next_states(const Rounds& rounds, const std::vector<VariableId>& steps) {
    const Body& body = *rounds.body;
    const auto needs_of = [&](LocalId state) {
        return used_by(body, {body.local(state).value, body.local(state).initial});
    };
    const auto reads_scan = [&](const InlineVector<bool, 64>& used, VariableId step) {
        for (size_t id = 0; id < used.size(); ++id) {
            const Node& node = body.nodes[id];
            const bool reads = node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
            if (used[id] && reads && is_of_scan(body, node.local(), step)) return true;
        }
        return false;
    };
    for (VariableId step : steps) {
        std::vector<LocalId> states = states_of(body, step);
        const bool waits = std::ranges::any_of(states, [&](LocalId state) {
            return std::ranges::any_of(
                steps, [&](VariableId other) { return other != step && reads_scan(needs_of(state), other); });
        });
        if (states.empty() || waits) continue;
        for (const CutReduction& reduction : rounds.reductions) {
            NodeList values{reduction.node};
            if (reduction.condition >= 0) values.push_back(reduction.condition);
            if (!reads_scan(used_by(body, std::move(values)), step)) continue;
            std::erase_if(states, [&](LocalId state) { return needs_of(state)[static_cast<size_t>(reduction.node)]; });
        }
        return states;
    }
    return {};
}

}  // namespace heddle::sharding
