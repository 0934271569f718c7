#include "gradient/derived_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "gradient/gradient.h"
#include "graph/body_rebuild.h"
#include "graph/complex.h"
#include "symbolic/projection.h"

namespace heddle::gradient {
namespace {

// output[p] = sum of input_i[p], for so many inputs of this type.
Body sum_of(const TensorType& type, size_t count) {
    const DType dtype = info(type.dtype).arithmetic;
    Body body;
    BodyNodes nodes(body);
    auto [variables, at] = index_axes(nodes, type.shape);
    NodeId sum = no_id;
    for (size_t i = 0; i < count; ++i) {
        NodeId read = nodes.cast(nodes.read(TensorIndex(i), type.dtype, at), dtype);
        sum = sum < 0 ? read : nodes.scalar(ScalarOp::add, {sum, read});
    }
    if (sum < 0) sum = nodes.real(0, dtype, true);
    body.equations.push_back({0, variables, at, nodes.cast(sum, type.dtype)});
    return body;
}

Result<void> check(const Graph& graph, const std::vector<TensorId>& wanted) {
    Diagnostics problems;
    for (TensorId id : wanted) {
        const bool exists = id >= 0 && static_cast<size_t>(id) < graph.tensors.size();
        const bool input = std::ranges::find(graph.inputs, id) != graph.inputs.end();
        if (exists && input && is_differentiable(graph.tensor(id).type.dtype)) continue;
        const std::string name = exists ? graph.tensor(id).name : std::to_string(id);
        problems.push_back({.code = "gradient.input",
                            .summary = fmt::format("there is no gradient with respect to '{}'", name),
                            .expected = "an input of the graph, of a float or complex type",
                            .found = !exists  ? "no tensor"
                                     : !input ? "another tensor"
                                              : graph.tensor(id).type.text(),
                            .reason = input ? "results jump or stay where such an input changes" : "",
                            .remedy = "",
                            .params = {{"tensor", name}}});
    }
    if (std::ranges::none_of(graph.outputs,
                             [&](TensorId id) { return is_differentiable(graph.tensor(id).type.dtype); })) {
        problems.push_back({.code = "gradient.output",
                            .summary = "no output has a gradient",
                            .expected = "an output of a float or complex type",
                            .found = graph.outputs.empty() ? "no outputs" : graph.tensor(graph.outputs[0]).type.text(),
                            .reason = "results of integer types and bool do not change smoothly"});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

// A tensor of complex numbers as one of pairs, or the other way, in a graph.
TensorId converted(DerivedGraph& to, TensorId from, const std::string& name, const TensorType& type) {
    const DType found = to.graph().tensor(from).type.dtype;
    Body body;
    BodyNodes nodes(body);
    auto [variables, at] = index_axes(nodes, type.shape);
    NodeId value = no_id;
    if (is_complex(found)) {
        NodeList element = at;
        element.pop_back();
        const NodeId whole = nodes.read(TensorIndex(0), found, std::move(element));
        const NodeId is_real = nodes.scalar(ScalarOp::equal, {at.back(), nodes.integer(0, DType::int64, true)});
        value = nodes.select(is_real, nodes.scalar(ScalarOp::real_part, {whole}),
                             nodes.scalar(ScalarOp::imaginary_part, {whole}));
    } else {
        NodeList parts;
        for (int64_t part : {0, 1}) {
            NodeList element = at;
            element.push_back(nodes.integer(part, DType::int64, true));
            parts.push_back(nodes.read(TensorIndex(0), found, std::move(element)));
        }
        value = nodes.scalar(ScalarOp::complex, std::move(parts));
    }
    body.equations.push_back({0, variables, at, value});
    const TensorId made = to.graph().add_tensor(name, type);
    to.add(std::move(body), {from}, name, "complex parts", {made});
    return made;
}

}  // namespace

IndexAxes index_axes(BodyNodes& nodes, const std::vector<Size>& shape) {
    IndexAxes axes;
    for (size_t d = 0; d < shape.size(); ++d) {
        axes.variables.push_back(nodes.add_variable(fmt::format("p{}", d), Variable::Kind::index, shape[d]));
        axes.at.push_back(nodes.variable(axes.variables.back()));
    }
    return axes;
}

void DerivedGraph::add(Body body, const std::vector<TensorId>& tensors, const std::string& name,
                       const std::string& operator_name, const std::vector<TensorId>& outputs) {
    for (; known_ < graph_.operations.size(); ++known_) names_.insert(graph_.operations[known_].name);
    Operation operation;
    operation.name = name;
    for (int number = 2; !names_.insert(operation.name).second; ++number)
        operation.name = fmt::format("{}_{}", name, number);
    operation.operator_name = operator_name;
    auto read = tensors_read(body, static_cast<int32_t>(tensors.size()));
    std::vector<int32_t> used;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!read[i]) continue;
        used.push_back(static_cast<int32_t>(i));
        operation.inputs.push_back(tensors[i]);
    }
    auto made = std::make_shared<Body>(compacted(std::move(body), used));
    BodyAccesses accesses(*made);
    operation.index = extended_index(accesses);
    for (size_t i = 0; i < used.size(); ++i) {
        operation.input_projections.push_back(
            derived_projection(accesses, static_cast<int32_t>(i), graph_.tensor(operation.inputs[i]).type.shape));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const std::vector<Size>& extents = graph_.tensor(outputs[i]).type.shape;
        operation.output_projections.push_back(written_projection(*made, static_cast<int32_t>(i), extents));
    }
    operation.body = std::move(made);
    operation.outputs = outputs;
    graph_.add_operation(std::move(operation));
}

TensorId DerivedGraph::add_sum(const std::vector<TensorId>& parts, const std::string& prefix, const std::string& name,
                               const TensorType& type) {
    const TensorId sum = graph_.add_tensor(name, type);
    add(sum_of(type, parts.size()), parts, prefix + name, "sum", {sum});
    return sum;
}

std::vector<bool> reached(const Graph& graph, const std::vector<TensorId>& wanted) {
    std::vector<bool> active(graph.tensors.size());
    for (TensorId id : wanted) active[static_cast<size_t>(id)] = true;
    for (const Operation& operation : graph.operations) {
        if (!std::ranges::any_of(operation.inputs, [&](TensorId id) { return active[static_cast<size_t>(id)]; }))
            continue;
        for (TensorId id : operation.outputs)
            if (is_float(graph.tensor(id).type.dtype)) active[static_cast<size_t>(id)] = true;
    }
    return active;
}

Result<Graph> derive(const Graph& graph, const std::vector<TensorId>& wanted, const std::vector<TensorId>& given,
                     const std::vector<TensorId>& results,
                     const std::function<Result<Graph>(const Graph& real)>& derived) {
    if (auto checked = check(graph, wanted); !checked) return fail(std::move(checked.error()));
    if (!has_complex(graph)) return derived(graph);
    auto pairs = derived(lower_complex(graph));
    if (!pairs) return pairs;
    auto types = [&](const std::vector<TensorId>& ids) {
        std::vector<TensorType> list;
        for (TensorId id : ids) list.push_back(graph.tensor(id).type);
        return list;
    };
    std::vector<TensorType> inputs = types(graph.inputs), seeds = types(given);
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    return with_complex_ends(*pairs, inputs, types(results));
}

Graph with_complex_ends(const Graph& pairs, const std::vector<TensorType>& inputs,
                        const std::vector<TensorType>& outputs) {
    DerivedGraph whole({});
    Graph& to = whole.graph();
    to.dimension_names = pairs.dimension_names;
    std::vector<TensorId> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& pair = pairs.tensor(pairs.inputs[i]);
        to.inputs.push_back(to.add_tensor(pair.name, inputs[i]));
        given.push_back(to.inputs.back());
        if (is_complex(inputs[i].dtype)) given.back() = converted(whole, given.back(), pair.name + ".parts", pair.type);
    }
    to.outputs = splice(to, pairs, given, "");
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!is_complex(outputs[i].dtype)) continue;
        to.outputs[i] = converted(whole, to.outputs[i], pairs.tensor(pairs.outputs[i]).name + ".complex", outputs[i]);
    }
    return std::move(to);
}

std::vector<TensorId> outputs_with_derivatives(const Graph& graph) {
    std::vector<TensorId> outputs;
    for (TensorId id : graph.outputs)
        if (is_differentiable(graph.tensor(id).type.dtype) && std::ranges::find(outputs, id) == outputs.end())
            outputs.push_back(id);
    return outputs;
}

Diagnostic opaque(const Operation& operation) {
    return {.code = "gradient.opaque",
            .summary = fmt::format("operation '{}' has no gradient", operation.name),
            .expected = "an operation with a body",
            .found = fmt::format("a kernel elsewhere for '{}'", operation.operator_name),
            .reason = "gradients are derived from bodies",
            .remedy = "give the operator a body",
            .params = {{"operation", operation.name}}};
}

Diagnostics in_operation(Diagnostics problems, const Operation& operation) {
    for (Diagnostic& problem : problems) {
        problem.params.emplace_back("operation", operation.name);
        problem.contexts.push_back(
            {fmt::format("in operation '{}' ({})", operation.name, operation.operator_name), {}});
    }
    return problems;
}

}  // namespace heddle::gradient
