#include "gradient/outlined.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "gradient/derived_graph.h"
#include "gradient/terms.h"
#include "gradient/scalar_rules.h"
#include "graph/body_rebuild.h"
#include "graph/verify.h"

namespace heddle::gradient {
namespace {

// A value of a body as a tensor over the axes that it uses.
struct Outline {
    TensorId tensor = no_id;
    std::vector<VariableId> axes;
};
using Outlines = std::map<NodeId, Outline>;

// A copy of a body, or of one value of it, that reads what is outlined below. `tensors`: what it may read, which grows.
class Excerpt : public BodyRebuild<Excerpt> {
public:
    Excerpt(const Body& from, Body& to, const Outlines& outlines, std::vector<TensorId>& tensors)
        : BodyRebuild(from, to), outlines_(outlines), tensors_(tensors) {}

    // output 0 = the value of `root`, over its axes.
    void value_alone(NodeId root, const Outline& outline) {
        root_ = root;
        BodyEquation equation{0, {}, {}, no_id};
        for (VariableId axis : outline.axes) {
            equation.variables.push_back(this->variable(axis));
            equation.left.push_back(variable_node(axis));
            to_.variables[equation.variables.back()].kind = Variable::Kind::index;
        }
        equation.value = copy(root);
        to_.equations.push_back(std::move(equation));
    }

    void all_equations() {
        for (const BodyEquation& equation : from_.equations) {
            BodyEquation made{equation.output, {}, {}, no_id};
            for (VariableId variable : equation.variables) made.variables.push_back(this->variable(variable));
            for (NodeId left : equation.left) made.left.push_back(value(left));
            made.value = value(equation.value);
            to_.equations.push_back(std::move(made));
        }
        finish_states();
    }

private:
    friend NodeRebuild<Excerpt>;
    friend BodyRebuild<Excerpt>;

    std::optional<NodeId> replaced(NodeId id) {
        const auto found = outlines_.find(id);
        if (found == outlines_.end() || id == root_) return std::nullopt;
        Node read;
        read.kind = Node::Kind::read;
        read.dtype = from_.node(id).dtype;
        for (VariableId axis : found->second.axes) read.operands.push_back(variable_node(axis));
        auto place = std::ranges::find(tensors_, found->second.tensor);
        read.index = static_cast<int32_t>(place - tensors_.begin());
        if (place == tensors_.end()) tensors_.push_back(found->second.tensor);
        to_.nodes.push_back(std::move(read));
        return last_id<NodeId>(to_.nodes);
    }

    NodeId variable_node(VariableId axis) {
        const auto [known, fresh] = axes_.try_emplace(axis);
        if (!fresh) return known->second;
        Node node;
        node.kind = Node::Kind::variable;
        node.dtype = DType::int64;
        node.index = this->variable(axis);
        to_.nodes.push_back(std::move(node));
        return known->second = last_id<NodeId>(to_.nodes);
    }

    const Outlines& outlines_;
    std::vector<TensorId>& tensors_;
    std::map<VariableId, NodeId> axes_;
    NodeId root_ = no_id;
};

// The values of a body that adjoints may ask for, operands first. `shapes`: of what it reads, so that only what reads
// inside wherever it stands is worked out by itself.
NodeList values_of(const Body& body, std::vector<std::vector<int64_t>> shapes) {
    const FreeVariables free(body);
    Body scratch;
    Terms terms(body, scratch, std::move(shapes));
    const auto used = used_by(body, roots_of(body));
    std::set<VariableId> bound;
    std::set<NodeId> results;
    for (const BodyEquation& equation : body.equations) {
        bound.insert(equation.variables.begin(), equation.variables.end());
        results.insert(equation.value);
    }
    std::vector<int> asked(body.nodes.size());
    for (NodeId id(0); id < next_id<NodeId>(body.nodes); ++id) {
        const Node& node = body.node(id);
        if (!used[id]) continue;
        const bool linear = node.kind == Node::Kind::scalar &&
                            (node.op == ScalarOp::add || node.op == ScalarOp::subtract || node.op == ScalarOp::negate);
        for (NodeId operand : node.operands) asked[static_cast<size_t>(operand)] += linear ? 1 : 2;
    }
    NodeList values;
    for (NodeId id(0); id < next_id<NodeId>(body.nodes); ++id) {
        const Node& node = body.node(id);
        const bool computes = node.kind == Node::Kind::scalar || node.kind == Node::Kind::reduce;
        if (!used[id] || !computes || !is_float(node.dtype) || asked[static_cast<size_t>(id)] < 2 ||
            results.contains(id))
            continue;
        if (std::ranges::all_of(free.list(id), [&](VariableId v) { return bound.contains(v); }) &&
            terms.safe(terms.copied(id)))
            values.push_back(id);
    }
    return values;
}

class Outlining {
public:
    Outlining(const Graph& graph, size_t most)
        : from_(graph), most_(most), derived_(empty_of(graph)), to_(derived_.graph()) {}

    Graph run() {
        for (const Operation& operation : from_.operations) names_.insert(operation.name);
        for (const Operation& operation : from_.operations) {
            const bool whole = !operation.body || operation.gradient || !operation.body->locals.empty();
            std::vector<std::vector<int64_t>> shapes;
            for (TensorId id : operation.inputs) shapes.push_back(from_.tensor(id).type.extents());
            const NodeList values = whole ? NodeList() : values_of(*operation.body, std::move(shapes));
            if (values.empty() || values.size() > most_)
                to_.add_operation(operation);
            else
                outline(operation, values);
        }
        return std::move(to_);
    }

private:
    static Graph empty_of(const Graph& graph) {
        Graph empty = graph;
        empty.operations.clear();
        for (Tensor& tensor : empty.tensors) tensor.producer = no_id;
        return empty;
    }

    void outline(const Operation& operation, const NodeList& values) {
        const Body& body = *operation.body;
        const FreeVariables free(body);
        Outlines outlines;
        std::vector<TensorId> tensors = operation.inputs;
        for (NodeId id : values) {
            Outline outline;
            TensorType type{body.node(id).dtype, {}};
            for (VariableId axis : free.list(id)) {
                outline.axes.push_back(axis);
                type.shape.push_back(body.variable(axis).extent);
            }
            Body excerpt;
            Excerpt(body, excerpt, outlines, tensors).value_alone(id, outline);
            outline.tensor = to_.add_tensor(operation.name + ".value", type);
            derived_.add(std::move(excerpt), tensors, value_name(operation), operation.operator_name, {outline.tensor});
            outlines.emplace(id, std::move(outline));
        }
        Body rest;
        Excerpt(body, rest, outlines, tensors).all_equations();
        derived_.add(std::move(rest), tensors, operation.name, operation.operator_name, operation.outputs);
    }

    // That no operation has, also none that comes later.
    std::string value_name(const Operation& operation) {
        const std::string base = operation.name + ".value";
        std::string name = base;
        for (int number = 2; !names_.insert(name).second; ++number) name = fmt::format("{}_{}", base, number);
        return name;
    }

    const Graph& from_;
    const size_t most_;
    std::set<std::string> names_;  // of operations
    DerivedGraph derived_;
    Graph& to_;
};

}  // namespace

Graph outlined(const Graph& graph, size_t most) { return Outlining(graph, most).run(); }

}  // namespace heddle::gradient
