#include "evaluate/evaluate.h"

#include <fmt/format.h>

#include "evaluate/executor.h"

namespace heddle {
namespace {

using namespace evaluation;

constexpr Slot maximum_slots = 1 << 18;

Diagnostics mismatch(std::string summary, std::string expected = {}, std::string found = {}) {
    Diagnostic diagnostic;
    diagnostic.code = "evaluate.mismatch";
    diagnostic.summary = std::move(summary);
    diagnostic.expected = std::move(expected);
    diagnostic.found = std::move(found);
    return {std::move(diagnostic)};
}

// The types that a body was made for. In exact arithmetic a float tensor may be held in double.
std::vector<TensorType> input_types(const Body& body, const std::vector<TensorData>& inputs, bool exact) {
    std::vector<TensorType> types;
    for (const TensorData& data : inputs) types.push_back({data.dtype(), {data.shape().begin(), data.shape().end()}});
    for (const Node& node : body.nodes) {
        bool reads = node.kind == Node::Kind::read || node.kind == Node::Kind::guarded_read;
        if (!exact || !reads || node.index < 0 || static_cast<size_t>(node.index) >= types.size()) continue;
        TensorType& type = types[static_cast<size_t>(node.index)];
        if (type.dtype == DType::float64 && is_float(node.dtype)) type.dtype = node.dtype;
    }
    return types;
}

std::vector<TensorType> output_types(const Body& body, const std::vector<TensorData>& outputs, bool exact) {
    std::vector<TensorType> types;
    for (const TensorData& data : outputs) types.push_back({data.dtype(), {data.shape().begin(), data.shape().end()}});
    for (const BodyEquation& equation : body.equations) {
        bool known = equation.output >= 0 && static_cast<size_t>(equation.output) < types.size() && equation.value >= 0 &&
                     static_cast<size_t>(equation.value) < body.nodes.size();
        if (!exact || !known) continue;
        TensorType& type = types[static_cast<size_t>(equation.output)];
        if (type.dtype == DType::float64 && is_float(body.node(equation.value).dtype)) type.dtype = body.node(equation.value).dtype;
    }
    return types;
}

}  // namespace

Result<void> evaluate_body(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs, Precision precision) {
    bool exact = precision == Precision::exact;
    for (const TensorData& output : outputs) {
        if (!output.owned()) return fail(mismatch("an output is borrowed memory, which the evaluator cannot write"));
    }
    if (auto checked = verify(body, input_types(body, inputs, exact), output_types(body, outputs, exact)); !checked) return checked;
    auto program = compile(body, inputs, outputs, exact);
    if (!program) return fail(std::move(program.error()));
    if (program->slots > maximum_slots) {
        Diagnostic diagnostic;
        diagnostic.code = "evaluate.too_large";
        diagnostic.summary = "the body has too many values for the evaluator";
        diagnostic.expected = fmt::format("at most {}", maximum_slots);
        diagnostic.found = std::to_string(program->slots);
        return fail(std::move(diagnostic));
    }
    return Executor(body, *program, inputs, outputs).run();
}

namespace {

TensorData storage_for(const TensorType& type, bool exact) {
    bool widen = exact && is_float(type.dtype);
    return TensorData(widen ? DType::float64 : type.dtype, type.extents());
}

Result<void> evaluate_operation(const Operation& operation, const Graph& graph, std::vector<TensorData>& values, Precision precision) {
    if (!operation.body) {
        Diagnostic diagnostic;
        diagnostic.code = "evaluate.opaque";
        diagnostic.summary = fmt::format("operation '{}' has no body to evaluate", operation.name);
        diagnostic.params.emplace_back("operation", operation.name);
        return fail(std::move(diagnostic));
    }
    std::vector<TensorData> inputs, outputs;
    for (TensorId id : operation.inputs) inputs.push_back(values[static_cast<size_t>(id)]);
    for (TensorId id : operation.outputs) {
        TensorData& value = values[static_cast<size_t>(id)];
        if (!value.owned()) value = storage_for(graph.tensor(id).type, precision == Precision::exact);
        outputs.push_back(value);
    }
    auto done = evaluate_body(*operation.body, inputs, outputs, precision);
    if (done) return done;
    for (Diagnostic& diagnostic : done.error()) {
        diagnostic.summary = fmt::format("operation '{}': {}", operation.name, diagnostic.summary);
        diagnostic.params.emplace_back("operation", operation.name);
    }
    return done;
}

}  // namespace

Result<std::vector<TensorData>> evaluate_graph(const Graph& graph, const std::vector<TensorData>& feeds, Precision precision) {
    if (auto checked = verify(graph); !checked) return fail(std::move(checked.error()));
    if (feeds.size() != graph.inputs.size()) {
        return fail(mismatch("another number of feeds than the graph has inputs", std::to_string(graph.inputs.size()), std::to_string(feeds.size())));
    }
    std::vector<TensorData> values(graph.tensors.size());
    for (size_t i = 0; i < graph.tensors.size(); i++) {
        if (graph.tensors[i].constant) values[i] = *graph.tensors[i].constant;
    }
    for (size_t i = 0; i < feeds.size(); i++) {
        const Tensor& tensor = graph.tensor(graph.inputs[i]);
        TensorType found{feeds[i].dtype(), {feeds[i].shape().begin(), feeds[i].shape().end()}};
        bool widened = precision == Precision::exact && found.dtype == DType::float64 && is_float(tensor.type.dtype);
        if (found.shape.size() != tensor.type.shape.size() || feeds[i].shape() != tensor.type.extents() || (found.dtype != tensor.type.dtype && !widened)) {
            return fail(mismatch(fmt::format("the feed of '{}' has another type or shape", tensor.name), tensor.type.text(), found.text()));
        }
        values[static_cast<size_t>(graph.inputs[i])] = feeds[i];
    }
    for (const Operation& operation : graph.operations) {
        if (auto done = evaluate_operation(operation, graph, values, precision); !done) return fail(std::move(done.error()));
    }
    return values;
}

}  // namespace heddle
