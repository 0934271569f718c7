// Indices that are known when an operation is applied lie inside of what they index: those of a model's constants are
// not found out of range by whoever runs it.
#include <fmt/format.h>

#include <algorithm>

#include "evaluate/evaluate.h"
#include "graph/body_rebuild.h"
#include "graph/verify.h"
#include "symbolic/session_state.h"
#include "symbolic/size_evaluation.h"
#include "zspace/size_facts.h"

namespace heddle {
namespace {

using Known = std::vector<const TensorData*>;  // by input of an operation; null: not known

// What of a body is computed whatever the data are: no branch of a selection, no term under a filter. Reads of tensors
// and of local arrays.
std::vector<NodeId> reads_computed(const Body& body) {
    std::vector<NodeId> reads, open;
    std::vector<bool> seen(body.nodes.size(), false);
    auto is_empty = [&](VariableId id) { return body.variable(id).extent == 0; };
    for (const BodyEquation& equation : body.equations) {
        if (std::ranges::none_of(equation.variables, is_empty)) open.push_back(equation.value);
    }
    while (!open.empty()) {
        const NodeId id = open.back();
        const Node& node = body.node(id);
        open.pop_back();
        if (seen[static_cast<size_t>(id)]) continue;
        seen[static_cast<size_t>(id)] = true;
        if (node.kind == Node::Kind::reduce && std::ranges::any_of(node.variables, is_empty)) continue;
        if (node.kind == Node::Kind::local && !body.local(node.local()).is_state()) {
            reads.push_back(id);
            open.push_back(body.local(node.local()).value);
        }
        if (node.kind == Node::Kind::read) reads.push_back(id);
        size_t first = 0, end = node.operands.size();
        if (node.kind == Node::Kind::select) end = 1;
        if (node.kind == Node::Kind::guarded_read) end -= 1;
        if (node.kind == Node::Kind::reduce) first = node.operands.size() - 1;
        for (size_t i = first; i < end; ++i) open.push_back(node.operands[i]);
    }
    std::ranges::sort(reads);
    return reads;
}

// Values of one body in another with the same variables.
class Values : public NodeRebuild<Values> {
public:
    Values(const Body& from, Body& to) : NodeRebuild(from, NodeTable(from.nodes.size())), to_(to) {}
    NodeId add(NodeId, Node node) {
        to_.nodes.push_back(std::move(node));
        return last_id<NodeId>(to_.nodes);
    }

private:
    friend NodeRebuild<Values>;
    Body& to_;
};

// One coordinate as a body of its own, over the variables that it depends on. Nothing if it does not read data, or data
// that are not known.
std::optional<Body> body_of(const Body& body, NodeId coordinate, const std::vector<VariableId>& variables,
                            const Known& known) {
    const auto needed = used_by(body, {coordinate});
    bool reads = false;
    for (size_t id = 0; id < needed.size(); ++id) {
        const Node& node = body.nodes[id];
        if (!needed[id]) continue;
        const bool is_read = node.is_read();
        if (node.kind > Node::Kind::guarded_read || (is_read && !known[node.tensor()])) return std::nullopt;
        reads = reads || is_read;
    }
    if (!reads) return std::nullopt;
    Body made;
    made.variables = body.variables;
    for (size_t id = 0; id < made.variables.size(); ++id) {
        if (std::ranges::find(variables, VariableId(id)) == variables.end()) made.variables[id].extent = 1;
    }
    Values copy(body, made);
    BodyEquation& equation = made.equations.emplace_back();
    equation.value = copy.value(coordinate);
    for (VariableId id : variables) {
        made.variables[static_cast<size_t>(id)].kind = Variable::Kind::index;
        equation.variables.push_back(id);
        Node variable;
        variable.kind = Node::Kind::variable;
        variable.dtype = DType::int64;
        variable.index = id;
        equation.left.push_back(copy.add(no_id, std::move(variable)));
    }
    return made;
}

class IndexChecker {
public:
    IndexChecker(Session::State& session, const Template& metakernel, const AppliedOperation& operation,
                 const Known& known, std::vector<TensorId> ids, std::vector<TensorData> inputs)
        : session_(session),
          metakernel_(metakernel),
          operation_(operation),
          body_(*operation.body),
          known_(known),
          ids_(std::move(ids)),
          inputs_(std::move(inputs)),
          free_(body_) {}

    Result<void> run() const {
        for (NodeId id : reads_computed(body_)) {
            const Node& read = body_.node(id);
            for (size_t dimension = 0; dimension < read.operands.size(); ++dimension) {
                if (auto fine = check(read, dimension); !fine) return fine;
            }
        }
        return {};
    }

private:
    Result<void> check(const Node& read, size_t dimension) const {
        std::optional<Body> body;
        std::vector<TensorData> values;
        const auto own = static_cast<size_t>(read.index);
        const Size extent = read.kind == Node::Kind::read ? session_.graph.tensor(ids_[own]).type.shape[dimension]
                                                          : body_.extent(body_.local(read.local()), dimension);
        {
            const PausedFacts paused;  // what holds at other sizes is told below
            auto fine = check_here(read, dimension, extent.number(), body, values);
            if (!fine || values.empty()) return fine;
        }
        tell_inside(*body, values[0], extent);
        return {};
    }

    // The coordinate and its values, if they are known.
    Result<void> check_here(const Node& read, size_t dimension, int64_t extent, std::optional<Body>& body,
                            std::vector<TensorData>& values) const {
        const NodeId coordinate = read.operands[dimension];
        const std::vector<VariableId> variables = free_.list(coordinate);
        body = body_of(body_, coordinate, variables, known_);
        const auto work = body ? cheap_work(*body) : std::nullopt;
        if (!work || !session_.take_work(*work)) return {};
        std::vector<int64_t> shape;
        for (VariableId id : variables) shape.push_back(body_.variable(id).extent.value());
        std::vector<TensorData> results{TensorData(DType::int64, std::move(shape))};
        // What goes wrong below, reads of the indices themselves, is a coordinate of its own.
        if (!evaluate_body(*body, inputs_, results, Precision::body)) return {};
        for (int64_t i = 0; i < results[0].size(); ++i) {
            const int64_t index = results[0].integer_at(i);
            if (index < 0 || index >= extent) return fail(outside(read, dimension, index, extent));
        }
        values = std::move(results);
        return {};
    }

    // Nobody looks at them again: at which other sizes they lie inside as well is a fact.
    void tell_inside(const Body& coordinate, const TensorData& values, const Size& extent) const {
        if (!RecordingFacts::is_on()) return;
        SizeEvaluation evaluation;
        for (size_t i = 0; i < ids_.size(); ++i) evaluation.inputs.push_back({&inputs_[i], session_.known_sizes(ids_[i])});
        std::vector<SizeQuotient> sizes;
        for (int64_t i = 0; i < values.size(); ++i) sizes.emplace_back(values.integer_at(i));
        evaluation.outputs.push_back({&values, &sizes});
        evaluate_sizes(coordinate, evaluation);
        if (evaluation.lost) {
            tell_numbers(coordinate, evaluation);
            (void)extent.value();
            return;
        }
        int64_t last = -1;
        for (const SizeQuotient& size : sizes) {
            if (!size.named()) last = std::max(last, size.above.number());
            if (size.named()) (void)(size.above >= 0 && size.above < extent);
        }
        (void)(last < extent);
    }

    Diagnostic outside(const Node& read, size_t dimension, int64_t index, int64_t extent) const {
        const auto index_of = static_cast<size_t>(read.index);
        const bool is_tensor = read.kind == Node::Kind::read;
        const std::string& name =
            is_tensor ? metakernel_.inputs[static_cast<size_t>(operation_.inputs[index_of].position)].name
                      : body_.locals[index_of].name;
        return {.code = "symbolic.index_out_of_range",
                .summary = fmt::format("an index that is known lies outside of '{}'", name),
                .expected = fmt::format("0 <= index < {}", extent),
                .found = std::to_string(index),
                .reason = fmt::format("it is computed from constants, for dimension {}", dimension),
                .remedy = "correct the constant; where a template counts negative ones from the end, that is done here",
                .params = {{"tensor", name}, {"dimension", std::to_string(dimension)}}};
    }

    Session::State& session_;
    const Template& metakernel_;
    const AppliedOperation& operation_;
    const Body& body_;
    const Known& known_;
    const std::vector<TensorId> ids_;  // of the inputs
    std::vector<TensorData> inputs_;
    FreeVariables free_;
};

}  // namespace

Result<void> check_known_indices(Session::State& session, const Template& metakernel, const Application& application,
                                 const BoundArguments& arguments) {
    auto id_of = [&](const TensorReference& reference) {
        return arguments.tensors[static_cast<size_t>(reference.position)][static_cast<size_t>(reference.element)];
    };
    auto is_index = [&](const TensorReference& reference) {
        return is_integer(session.graph.tensor(id_of(reference)).type.dtype) && session.known_value(id_of(reference));
    };
    for (const AppliedOperation& operation : application.operations) {
        if (!operation.body || std::ranges::none_of(operation.inputs, is_index)) continue;
        Known known;
        std::vector<TensorId> ids;
        std::vector<TensorData> inputs;
        for (const TensorReference& reference : operation.inputs) {
            const PausedFacts paused;
            ids.push_back(id_of(reference));
            known.push_back(session.known_value(ids.back()));
            const TensorType& type = session.graph.tensor(ids.back()).type;
            inputs.push_back(known.back() ? *known.back() : TensorData(type.dtype, type.extents(), nullptr, nullptr));
        }
        auto fine = IndexChecker(session, metakernel, operation, known, std::move(ids), std::move(inputs)).run();
        if (!fine) return fine;
    }
    return {};
}

}  // namespace heddle
