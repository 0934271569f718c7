#include "gradient/batched.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gradient/batched_body.h"
#include "gradient/derived_graph.h"
#include "symbolic/body_nodes.h"

namespace heddle::gradient {

TensorType longer(TensorType type, const Size& extent) {
    type.shape.insert(type.shape.begin(), extent);
    return type;
}

namespace {

// output[p] = sum of input[b, p], the input of the type of one more axis.
Body summed(const TensorType& type, const Size& extent) {
    const DType dtype = info(type.dtype).arithmetic;
    Body body;
    BodyNodes nodes(body);
    auto [variables, left] = index_axes(nodes, type.shape);
    const VariableId batch = nodes.add_variable("batch", Variable::Kind::reduction, extent);
    NodeList at = {nodes.variable(batch)};
    for (NodeId coordinate : left) at.push_back(coordinate);
    const NodeId term = nodes.cast(nodes.read(TensorIndex(0), type.dtype, at), dtype);
    const NodeId sum = nodes.reduce(Reducer::sum, dtype, {batch}, term, no_id);
    body.equations.push_back({0, variables, left, nodes.cast(sum, type.dtype)});
    return body;
}

class Batch {
public:
    Batch(const Graph& graph, const Size& extent)
        : from_(graph), extent_(extent), derived_(Graph{}), to_(derived_.graph()) {}

    Result<Graph> run(const std::vector<TensorId>& wanted) {
        to_.dimension_names = from_.dimension_names;
        is_longer_ = depending(wanted);
        for (size_t i = 0; i < from_.tensors.size(); ++i) {
            Tensor tensor = from_.tensors[i];
            tensor.producer = no_id;
            if (is_longer_[i]) {
                tensor.type = longer(tensor.type, extent_);
                tensor.start.clear();
            }
            to_.tensors.push_back(std::move(tensor));
        }
        to_.inputs = from_.inputs;
        for (const Operation& operation : from_.operations)
            if (auto added = add(operation); !added) return fail(std::move(added.error()));
        to_.outputs = from_.outputs;
        return std::move(to_);
    }

private:
    bool is_longer(TensorId id) const { return is_longer_[static_cast<size_t>(id)]; }

    // All outputs of an operation, and so all operations that write one tensor, are longer where one is.
    std::vector<bool> depending(const std::vector<TensorId>& wanted) const {
        std::vector<bool> depends(from_.tensors.size());
        for (TensorId id : wanted) depends[static_cast<size_t>(id)] = true;
        auto is_dependent = [&](TensorId id) { return bool(depends[static_cast<size_t>(id)]); };
        for (bool more = true; std::exchange(more, false);) {
            for (const Operation& operation : from_.operations) {
                if (std::ranges::none_of(operation.inputs, is_dependent) &&
                    std::ranges::none_of(operation.outputs, is_dependent))
                    continue;
                for (TensorId id : operation.outputs) {
                    more = more || !is_dependent(id);
                    depends[static_cast<size_t>(id)] = true;
                }
            }
        }
        return depends;
    }

    Result<void> add(const Operation& operation) {
        if (!std::ranges::any_of(operation.outputs, [&](TensorId id) { return is_longer(id); })) {
            to_.add_operation(operation);
            return {};
        }
        if (!operation.body) return fail(opaque(operation));
        std::vector<bool> given;
        for (TensorId id : operation.inputs) given.push_back(is_longer(id));
        derived_.add(batched(*operation.body, given, extent_), operation.inputs, operation.name,
                     operation.operator_name, operation.outputs);
        if (!operation.gradient) return {};
        auto rule = batched_rule(operation, given);
        if (!rule) return fail(std::move(rule.error()));
        to_.operations.back().gradient = std::make_shared<const GradientRule>(std::move(*rule));
        return {};
    }

    // Adjoints of inputs that are as they were are summed over the new axis.
    Result<GradientRule> batched_rule(const Operation& operation, const std::vector<bool>& given) const {
        const GradientRule& rule = *operation.gradient;
        std::vector<TensorId> wanted;
        for (size_t i = 0; i < rule.graph.inputs.size(); ++i)
            if (i >= given.size() || given[i]) wanted.push_back(rule.graph.inputs[i]);
        auto whole = batched(rule.graph, wanted, extent_);
        if (!whole) return fail(std::move(whole.error()));
        DerivedGraph made(*whole);
        Graph& graph = made.graph();
        for (size_t i = 0; i < rule.inputs.size(); ++i) {
            const bool expected = given[static_cast<size_t>(rule.inputs[i])];
            const Tensor& was = rule.graph.tensor(rule.graph.outputs[i]);
            const bool found = graph.tensor(graph.outputs[i]).type != was.type;
            if (expected == found) continue;
            if (expected) {  // it does not depend on the outputs' adjoints, which it is linear in
                graph.outputs[i] = made.add_sum({}, "zeros.", was.name, longer(was.type, extent_));
                continue;
            }
            const TensorId sum = graph.add_tensor(was.name, was.type);
            made.add(summed(was.type, extent_), {graph.outputs[i]}, "sum." + was.name, "sum", {sum});
            graph.outputs[i] = sum;
        }
        return GradientRule{std::move(graph), rule.inputs};
    }

    const Graph& from_;
    const Size extent_;
    DerivedGraph derived_;
    Graph& to_;
    std::vector<bool> is_longer_;  // by tensor
};

}  // namespace

Result<Graph> batched(const Graph& graph, const std::vector<TensorId>& wanted, const Size& extent) {
    return Batch(graph, extent).run(wanted);
}

}  // namespace heddle::gradient
