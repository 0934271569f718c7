#include "gradient/checkpoints.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "gradient/cancelled_shift.h"
#include "gradient/derived_graph.h"
#include "gradient/reverse_body.h"
#include "gradient/terms.h"
#include "graph/body_rebuild.h"
#include "symbolic/projection.h"

namespace heddle::gradient {
namespace {

constexpr int64_t fewest_steps = 4;  // of a scan; fewer states are no memory

// The states of the body's scan; none where it has no scan, or several.
std::vector<LocalId> states_of(const Body& body) {
    std::vector<LocalId> states;
    for (LocalId id(0); id < next_id<LocalId>(body.locals); ++id)
        if (body.local(id).is_state()) states.push_back(id);
    const auto same = [&](LocalId id) { return body.local(id).variables[0] == body.local(states[0]).variables[0]; };
    return std::ranges::all_of(states, same) ? states : std::vector<LocalId>();
}

TensorType kept_type(const Body& body, const Local& state, int64_t every) {
    TensorType type{state.dtype, {}};
    for (VariableId axis : state.variables) type.shape.push_back(body.variable(axis).extent);
    type.shape[0] = segments_of(type.shape[0], every) + Size(1);
    return type;
}

// output = the state before step c * every, for each c, and that behind the last step: a state beside it, of which each
// step changes one element. Step t writes to element t // every + 1; the last to do so counts.
class Keeping {
public:
    Keeping(const Body& forward, std::vector<std::vector<int64_t>> shapes, int64_t every, Body& body)
        : terms_(forward, body, std::move(shapes)), nodes_(terms_.nodes()), body_(body), every_(every) {
        for (size_t i = 0; i < forward.variables.size(); ++i) body.variables[i].kind = forward.variables[i].kind;
        for (BodyEquation equation : forward.equations) {
            for (NodeId& left : equation.left) left = terms_.copied(left);
            equation.value = terms_.copied(equation.value);
            body.equations.push_back(std::move(equation));
        }
    }

    void add(LocalId of, int32_t output) {
        const LocalId id = terms_.copied(of);
        const Local state = body_.local(id);
        const VariableId step = state.variables[0];
        const Size steps = body_.variable(step).extent, places = segments_of(steps, every_) + Size(1);
        NodeList own;
        for (size_t d = 1; d < state.variables.size(); ++d) own.push_back(nodes_.variable(state.variables[d]));
        Local kept{state.name + "_kept", state.dtype, state.variables, NodeId(0), state.initial};
        const VariableId place = nodes_.add_variable("segment", Variable::Kind::parallel, places);
        kept.variables.insert(kept.variables.begin() + 1, place);
        const LocalId made = next_id<LocalId>(body_.locals);
        body_.locals.push_back(kept);
        const NodeId at = nodes_.variable(step), one = terms_.number(1), element = nodes_.variable(place);
        const NodeId every = nodes_.integer(every_, DType::int64, false);
        const NodeId segment = terms_.scalar(ScalarOp::floor_divide, {at, every});
        const NodeId is_here = terms_.scalar(ScalarOp::equal, {element, terms_.scalar(ScalarOp::add, {segment, one})});
        const NodeId present = nodes_.local(id, state.dtype, before(terms_.scalar(ScalarOp::add, {at, one}), own));
        const NodeId otherwise = nodes_.previous(made, state.dtype, before(element, own));
        const NodeId value = nodes_.select(is_here, present, otherwise);
        body_.locals[static_cast<size_t>(made)].value = value;
        write(made, steps, output);
    }

private:
    static NodeList before(NodeId first, NodeList rest) {
        rest.insert(rest.begin(), first);
        return rest;
    }

    // What is there behind the last step.
    void write(LocalId kept, const Size& steps, int32_t output) {
        const Local local = body_.local(kept);
        BodyEquation equation{output, {}, {}, no_id};
        NodeList at = {terms_.size(steps)};
        for (size_t d = 1; d < local.variables.size(); ++d) {
            const Variable axis = body_.variable(local.variables[d]);
            equation.variables.push_back(nodes_.add_variable(axis.name, Variable::Kind::parallel, axis.extent));
            equation.left.push_back(nodes_.variable(equation.variables.back()));
            at.push_back(equation.left.back());
        }
        equation.value = nodes_.local(kept, local.dtype, std::move(at));
        body_.equations.push_back(std::move(equation));
    }

    Terms terms_;
    BodyNodes& nodes_;
    Body& body_;
    const int64_t every_;
};

// Those of a body whose adjoints are asked for with respect to all of its inputs. Nothing where they need none.
std::optional<Checkpoints> needed_of(const Graph& graph, const Operation& operation, const StepsBetween& between) {
    if (!operation.body || operation.gradient) return std::nullopt;
    const Body& body = *operation.body;
    const std::vector<LocalId> states = states_of(body);
    if (states.empty()) return std::nullopt;
    ScanSteps scan{body.variable(body.local(states[0]).variables[0]).extent};
    for (LocalId id : states) {
        const TensorType kept = kept_type(body, body.local(id), 1);
        scan.bytes += kept.byte_size() / std::max<int64_t>(kept.shape[0].value(), 1);
    }
    Checkpoints made{operation.body, scan.steps.value() < fewest_steps ? 0 : between(scan), {}};
    if (made.every <= 0 || made.every >= scan.steps.value()) return std::nullopt;

    ReverseRequest request{.body = &body, .cut = cancelled_shifts(body)};
    for (TensorId id : operation.inputs) {
        const TensorType& type = graph.tensor(id).type;
        if (is_float(type.dtype)) request.wanted.push_back(static_cast<int32_t>(request.inputs.size()));
        request.inputs.push_back(type);
    }
    for (TensorId id : operation.outputs) {
        request.outputs.push_back(graph.tensor(id).type);
        request.given.push_back(is_float(request.outputs.back().dtype));
    }
    for (LocalId id : states) {
        made.outputs[id] = static_cast<int32_t>(request.outputs.size());
        request.outputs.push_back(kept_type(body, body.local(id), made.every));
        request.given.push_back(false);
    }
    request.checkpoints = &made;
    auto reverse = reverse_by_segments(request);
    if (!reverse || !*reverse) return std::nullopt;
    const auto given = std::ranges::count(request.given, true);
    const size_t first = request.inputs.size() + static_cast<size_t>(given);
    const auto read = tensors_read(**reverse, static_cast<int32_t>(first + request.outputs.size()));
    auto next = static_cast<int32_t>(operation.outputs.size());
    std::map<LocalId, int32_t> outputs;
    for (auto [state, output] : made.outputs)
        if (read[first + static_cast<size_t>(output)]) outputs[state] = next++;
    made.outputs = std::move(outputs);
    return made;
}

void extend(Graph& graph, OperationId id, const Checkpoints& checkpoints) {
    Operation& operation = graph.operations[static_cast<size_t>(id)];
    std::vector<std::vector<int64_t>> shapes;
    for (TensorId input : operation.inputs) shapes.push_back(graph.tensor(input).type.extents());
    auto body = std::make_shared<Body>();
    Keeping keeping(*checkpoints.body, std::move(shapes), checkpoints.every, *body);
    for (auto [state, output] : checkpoints.outputs) {
        const Local& of = checkpoints.body->local(state);
        const TensorId made = graph.add_tensor(fmt::format("{}.{}.kept", operation.name, of.name),
                                               kept_type(*checkpoints.body, of, checkpoints.every));
        graph.tensors[static_cast<size_t>(made)].producer = id;
        operation.outputs.push_back(made);
        keeping.add(state, output);
        operation.output_projections.push_back(written_projection(*body, output, graph.tensor(made).type.shape));
    }
    std::vector<int32_t> tensors(operation.inputs.size());
    std::iota(tensors.begin(), tensors.end(), 0);
    operation.output_names = {};
    operation.body =
        std::make_shared<Body>(compacted(std::move(*body), tensors));  // new states before what reads others
}

}  // namespace

std::optional<LocalId> CheckpointedGraph::state_of(TensorId id) const {
    const auto kept = of.find(graph.tensor(id).producer);
    if (kept == of.end()) return std::nullopt;
    for (auto [state, output] : kept->second.outputs)
        if (graph.operation(kept->first).outputs[static_cast<size_t>(output)] == id) return state;
    return std::nullopt;
}

std::string CheckpointedGraph::reason(TensorId id) const {
    const auto state = state_of(id);
    if (!state) return "";
    const Checkpoints& kept = of.at(graph.tensor(id).producer);
    return fmt::format("'{}' before each step that {} divides and behind the last, others are worked out again; ",
                       kept.body->local(*state).name, kept.every);
}

Size segments_of(const Size& steps, int64_t every) { return floor_divide(steps + Size(every - 1), Size(every)); }

StepsBetween every_steps(int64_t every) {
    return [every](const ScanSteps& scan) {
        const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(scan.steps.value()))));
        return every > 0 ? every : root;
    };
}

bool has_scan(const Graph& graph) {
    return std::ranges::any_of(graph.operations, [](const Operation& operation) {
        return operation.body && std::ranges::any_of(operation.body->locals, &Local::is_state);
    });
}

CheckpointedGraph checkpointed(Graph graph, const StepsBetween& between) {
    CheckpointedGraph made{std::move(graph), {}};
    for (OperationId id(0); id < next_id<OperationId>(made.graph.operations); ++id) {
        auto needed = needed_of(made.graph, made.graph.operation(id), between);
        if (!needed) continue;
        extend(made.graph, id, *needed);
        made.of.emplace(id, std::move(*needed));
    }
    return made;
}

}  // namespace heddle::gradient
