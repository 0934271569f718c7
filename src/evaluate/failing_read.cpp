#include "evaluate/failing_read.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evaluate/evaluate.h"
#include "evaluate/work.h"
#include "graph/body_rebuild.h"
#include "graph/verify.h"

namespace heddle {

namespace {

constexpr int64_t most_points = 1 << 24;
constexpr double most_work = 1e9;

// A read, and when it takes place.
struct LedRead {
    NodeId node;
    VariableList variables;                           // of the statement, then of the reductions around it
    std::vector<std::pair<NodeId, bool>> conditions;  // what they must be
};

// The reads of one body whose coordinates are computed from elements, or as no coordinates are (computed_indices).
class LedReads {
public:
    explicit LedReads(const Body& body) : body_(body), has_element_(body.nodes.size()), seen_(body.nodes.size()) {
        computed_ = computed_indices(body);
        bool any = false;
        for (size_t id = 0; id < body.nodes.size(); ++id) {
            const Node& node = body.nodes[id];
            has_element_[id] = node.is_read() || is_local(node);
            for (NodeId operand : node.operands) has_element_[id] |= has_element_[static_cast<size_t>(operand)];
            any |= is_led(NodeId(id));
        }
        if (!any) return;
        for (const Local& local : body.locals) {
            statement(local.variables, {local.value});
            if (local.is_state()) statement(local.variables, {local.initial});
        }
        for (const BodyEquation& equation : body.equations) statement(equation.variables, {equation.value});
    }
    const std::vector<LedRead>& all() const { return found_; }

private:
    static bool is_local(const Node& node) {
        return node.kind == Node::Kind::local || node.kind == Node::Kind::previous;
    }
    bool is_led(NodeId id) const {
        const Node& node = body_.node(id);
        if (node.kind != Node::Kind::read && !is_local(node)) return false;
        return std::ranges::any_of(node.operands, [&](NodeId coordinate) {
            const auto at = static_cast<size_t>(coordinate);
            return has_element_[at] || computed_[at];
        });
    }
    void statement(const VariableList& variables, const NodeList& values) {
        std::ranges::fill(seen_, false);
        for (NodeId value : values) visit(value, {no_id, variables, {}});
    }
    void visit(NodeId id, LedRead within) {
        if (id < 0 || std::exchange(seen_[static_cast<size_t>(id)], true)) return;
        const Node& node = body_.node(id);
        if (node.kind == Node::Kind::reduce) {
            within.variables.insert(within.variables.end(), node.variables.begin(), node.variables.end());
            if (node.operands.size() > 1) {
                visit(node.operands[1], within);
                within.conditions.emplace_back(node.operands[1], true);
            }
            visit(node.operands[0], std::move(within));
            return;
        }
        if (node.kind == Node::Kind::select) {
            visit(node.operands[0], within);
            for (const bool holds : {true, false}) {
                LedRead branch = within;
                branch.conditions.emplace_back(node.operands[0], holds);
                visit(node.operands[holds ? 1 : 2], std::move(branch));
            }
            return;
        }
        for (NodeId operand : node.operands) visit(operand, within);
        if (!is_led(id)) return;
        within.node = id;
        found_.push_back(std::move(within));
    }

    const Body& body_;
    std::vector<char> has_element_, seen_;
    std::vector<bool> computed_;
    std::vector<LedRead> found_;
};

// A body that computes values of another one at all points of some of its variables, each as an output.
class Probe : public BodyRebuild<Probe> {
public:
    Probe(const Body& from, Body& to, const VariableList& variables)
        : BodyRebuild(from, to), parallel_(variables.begin(), variables.end()) {
        for (VariableId id : variables) {
            own_.push_back(variable(id));
            Node node;
            node.kind = Node::Kind::variable;
            node.dtype = DType::int64;
            node.index = own_.back();
            left_.push_back(BodyRebuild::add(no_id, std::move(node)));
        }
    }
    void output(NodeId of) {
        BodyEquation equation;
        equation.output = static_cast<int32_t>(to_.equations.size());
        equation.variables = own_;
        equation.left = left_;
        equation.value = copy(of);
        to_.equations.push_back(std::move(equation));
    }

private:
    friend NodeRebuild<Probe>;
    friend BodyRebuild<Probe>;

    // What it reads outside does not end it: it is the values before that are asked for.
    NodeId add(NodeId from, Node node) {
        if (node.kind == Node::Kind::read && !is_complex(node.dtype)) {
            Node zero;
            zero.kind = is_float(node.dtype) ? Node::Kind::real : Node::Kind::integer;
            zero.dtype = node.dtype;
            node.operands.push_back(BodyRebuild::add(no_id, std::move(zero)));
            node.kind = Node::Kind::guarded_read;
        }
        return BodyRebuild::add(from, std::move(node));
    }
    VariableId make_variable(VariableId id) {
        const VariableId made = BodyRebuild::make_variable(id);
        Variable& variable = to_.variables[made];
        const bool is_own = std::ranges::find(parallel_, id) != parallel_.end();
        if (is_own && variable.kind == Variable::Kind::reduction) variable.kind = Variable::Kind::parallel;
        return made;
    }

    std::vector<VariableId> parallel_;
    VariableList own_;
    NodeList left_;
};

class Search {
public:
    Search(const Graph& graph, const std::vector<TensorData>& feeds) : graph_(graph), values_(graph.tensors.size()) {
        for (size_t id = 0; id < graph.tensors.size(); ++id)
            if (graph.tensors[id].constant) values_[id] = *graph.tensors[id].constant;
        for (size_t i = 0; i < feeds.size(); ++i) values_[static_cast<size_t>(graph.inputs[i])] = feeds[i];
    }

    std::optional<FailingRead> run() {
        for (const Operation& operation : graph_.operations) {
            if (!operation.body) return std::nullopt;
            const LedReads reads(*operation.body);
            for (const LedRead& read : reads.all())
                if (auto found = failing(operation, read)) return found;
        }
        return std::nullopt;
    }

private:
    std::optional<FailingRead> failing(const Operation& operation, const LedRead& read) {
        const Body& body = *operation.body;
        const NodeList coordinates = body.node(read.node).operands;
        std::vector<NodeId> wanted(coordinates.begin(), coordinates.end());
        for (const auto& [condition, holds] : read.conditions) wanted.push_back(condition);
        const VariableList needed = variables_needed(body, read, wanted);
        std::vector<int64_t> shape;
        int64_t points = 1;
        for (VariableId id : needed) {
            shape.push_back(body.variable(id).extent.value());
            if (shape.back() <= 0 || points > most_points / shape.back()) return std::nullopt;
            points *= shape.back();
        }
        const auto values = probed(operation, needed, wanted, shape);
        if (!values) return std::nullopt;
        const std::vector<int64_t> extents = extents_of(operation, body.node(read.node));
        for (int64_t point = 0; point < points; ++point) {
            bool happens = true;
            for (size_t i = 0; i < read.conditions.size(); ++i)
                happens &= ((*values)[extents.size() + i].integer_at(point) != 0) == read.conditions[i].second;
            for (size_t d = 0; happens && d < extents.size(); ++d) {
                const int64_t index = (*values)[d].integer_at(point);
                if (index < 0 || index >= extents[d])
                    return described(operation, read, needed, point, index, extents[d]);
            }
        }
        return std::nullopt;
    }

    // Others do not change whether it fails: the first point has 0 there.
    static VariableList variables_needed(const Body& body, const LedRead& read, const std::vector<NodeId>& values) {
        const FreeVariables free(body);
        std::vector<VariableId> used;
        for (NodeId value : values)
            for (VariableId id : free.list(value)) used.push_back(id);
        VariableList needed;
        for (VariableId id : read.variables)
            if (std::ranges::find(used, id) != used.end()) needed.push_back(id);
        return needed;
    }

    std::optional<std::vector<TensorData>> probed(const Operation& operation, const VariableList& variables,
                                                  const std::vector<NodeId>& wanted,
                                                  const std::vector<int64_t>& shape) {
        Body all;
        Probe probe(*operation.body, all, variables);
        for (NodeId node : wanted) probe.output(node);
        InlineVector<int32_t, 8> kept;
        std::vector<TensorData> inputs, outputs;
        const auto read = tensors_read(all, static_cast<int32_t>(operation.inputs.size()));
        for (size_t i = 0; i < read.size(); ++i) {
            if (!read[i]) continue;
            const TensorData* value = value_of(operation.inputs[i]);
            if (!value) return std::nullopt;
            kept.push_back(static_cast<int32_t>(i));
            inputs.push_back(*value);
        }
        const Body body = compacted(std::move(all), kept);
        for (NodeId node : wanted) outputs.emplace_back(operation.body->node(node).dtype, shape);
        if (!evaluate_body(body, inputs, outputs, Precision::body)) return std::nullopt;
        return outputs;
    }

    std::vector<int64_t> extents_of(const Operation& operation, const Node& read) const {
        if (read.kind == Node::Kind::read) return graph_.tensor(operation.inputs[read.tensor()]).type.extents();
        const Body& body = *operation.body;
        const Local& local = body.local(read.local());
        std::vector<int64_t> extents;
        for (size_t d = read.kind == Node::Kind::previous ? 1 : 0; d < local.variables.size(); ++d)
            extents.push_back(body.extent(local, d));
        return extents;
    }

    const TensorData* value_of(TensorId id) {
        const auto at = static_cast<size_t>(id);
        if (values_[at].data() || graph_.tensor(id).producer < 0) return &values_[at];
        for (const Operation& operation : graph_.operations) {
            if (std::ranges::find(operation.outputs, id) == operation.outputs.end()) continue;
            if (!operation.body || (work_ += scalar_operations(*operation.body)) > most_work) return nullptr;
            std::vector<TensorData> inputs, outputs;
            for (TensorId input : operation.inputs) {
                const TensorData* value = value_of(input);
                if (!value) return nullptr;
                inputs.push_back(*value);
            }
            for (TensorId output : operation.outputs) {
                TensorData& value = values_[static_cast<size_t>(output)];
                if (!value.data())
                    value = TensorData(graph_.tensor(output).type.dtype, graph_.tensor(output).type.extents());
                outputs.push_back(value);
            }
            if (!evaluate_body(*operation.body, inputs, outputs, Precision::body)) return nullptr;
        }
        return &values_[at];
    }
    FailingRead described(const Operation& operation, const LedRead& read, const VariableList& needed, int64_t point,
                          int64_t index, int64_t extent) const {
        const Body& body = *operation.body;
        const Node& node = body.node(read.node);
        FailingRead found{.operator_name = operation.operator_name,
                          .computed = graph_.tensor(operation.outputs[0]).name,
                          .indexed = node.kind == Node::Kind::read ? graph_.tensor(operation.inputs[node.tensor()]).name
                                                                   : body.local(node.local()).name,
                          .point = {},
                          .index = index,
                          .extent = extent,
                          .place = {}};
        for (size_t i = read.variables.size(); i-- > 0;) {
            const Variable& variable = body.variable(read.variables[i]);
            const bool is_needed = std::ranges::find(needed, read.variables[i]) != needed.end();
            found.point.emplace_back(variable.name, is_needed ? point % variable.extent.value() : 0);
            if (is_needed) point /= variable.extent.value();
        }
        std::ranges::reverse(found.point);
        const auto place = std::ranges::find(body.places, read.node, &ReadPlace::node);
        if (place != body.places.end()) found.place = place->place;
        return found;
    }

    const Graph& graph_;
    std::vector<TensorData> values_;
    double work_ = 0;
};

}  // namespace

std::optional<FailingRead> first_failing_read(const Graph& graph, const std::vector<TensorData>& feeds) {
    if (feeds.size() != graph.inputs.size()) return std::nullopt;
    return Search(graph, feeds).run();
}

namespace {

Diagnostic located(Diagnostic error, const FailingRead& read) {
    std::vector<std::string> point;
    for (const auto& [axis, value] : read.point) point.push_back(fmt::format("{} = {}", axis, value));
    error.place = read.place;
    error.summary =
        fmt::format("computing '{}' by {}, an index read from a tensor lies outside of '{}'", read.computed,
                    read.operator_name, read.indexed);
    error.expected = fmt::format("0 <= index < {}", read.extent);
    error.found =
        point.empty() ? fmt::format("{}", read.index) : fmt::format("{} at {}", read.index, fmt::join(point, ", "));
    if (error.remedy.empty()) error.remedy = "check the indices, or give a value for what lies outside: X[...] ?? value";
    std::erase_if(error.params, [](const auto& param) { return param.first == "point" || param.first == "node"; });
    error.params.emplace_back("point", fmt::format("{}", fmt::join(point, ", ")));
    return error;
}

}  // namespace

Diagnostics located(Diagnostics errors, const Graph& graph, const std::vector<TensorData>& feeds) {
    for (Diagnostic& error : errors) {
        if (error.code != "runtime.index_out_of_range" && error.code != "evaluate.out_of_range") continue;
        if (const auto read = first_failing_read(graph, feeds)) error = located(std::move(error), *read);
    }
    return errors;
}

}  // namespace heddle
