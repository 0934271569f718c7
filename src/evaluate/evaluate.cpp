#include "evaluate/evaluate.h"

#include <fmt/format.h>

#include "evaluate/executor.h"
#include "evaluate/failing_read.h"
#include "graph/complex.h"
#include "graph/wide_sums.h"

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

// In exact arithmetic a tensor of `dtype` may be held as `held`.
bool is_widened(DType held, DType dtype) {
    return (held == DType::float64 && is_float(dtype)) || (held == DType::complex128 && is_complex(dtype));
}

// The types that a body was made for.
std::vector<TensorType> input_types(const Body& body, const std::vector<TensorData>& inputs, bool exact) {
    std::vector<TensorType> types;
    for (const TensorData& data : inputs) types.push_back({data.dtype(), {data.shape().begin(), data.shape().end()}});
    for (const Node& node : body.nodes) {
        bool reads = node.is_read();
        if (!exact || !reads || node.index < 0 || static_cast<size_t>(node.index) >= types.size()) continue;
        TensorType& type = types[node.tensor()];
        if (is_widened(type.dtype, node.dtype)) type.dtype = node.dtype;
    }
    return types;
}

std::vector<TensorType> output_types(const Body& body, const std::vector<TensorData>& outputs, bool exact) {
    std::vector<TensorType> types;
    for (const TensorData& data : outputs) types.push_back({data.dtype(), {data.shape().begin(), data.shape().end()}});
    for (const BodyEquation& equation : body.equations) {
        bool known = equation.output >= 0 && static_cast<size_t>(equation.output) < types.size() &&
                     equation.value >= 0 && static_cast<size_t>(equation.value) < body.nodes.size();
        if (!exact || !known) continue;
        TensorType& type = types[static_cast<size_t>(equation.output)];
        if (is_widened(type.dtype, body.node(equation.value).dtype)) type.dtype = body.node(equation.value).dtype;
    }
    return types;
}

}  // namespace

namespace {

Result<void> run_real_body(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs,
                           CompileOptions options, TensorBounds* bounds) {
    for (const TensorData& output : outputs) {
        if (!output.owned()) return fail(mismatch("an output is borrowed memory, which the evaluator cannot write"));
    }
    auto checked = verify(body, input_types(body, inputs, options.exact), output_types(body, outputs, options.exact));
    if (!checked) return checked;
    auto program = compile(body, inputs, outputs, options);
    if (!program) return fail(std::move(program.error()));
    if (program->slots > maximum_slots) {
        Diagnostic diagnostic;
        diagnostic.code = "evaluate.too_large";
        diagnostic.summary = "the body has too many values for the evaluator";
        diagnostic.expected = fmt::format("at most {}", maximum_slots);
        diagnostic.found = std::to_string(program->slots);
        return fail(std::move(diagnostic));
    }
    return Executor(body, *program, inputs, outputs, bounds).run();
}

std::vector<TensorData> reals_of(const std::vector<TensorData>& tensors) {
    std::vector<TensorData> reals;
    for (const TensorData& tensor : tensors) reals.push_back(tensor.reals());
    return reals;
}

Result<void> run_body(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs,
                      CompileOptions options, TensorBounds* bounds) {
    if (!has_complex(body)) return run_real_body(body, inputs, outputs, options, bounds);
    auto checked = verify(body, input_types(body, inputs, options.exact), output_types(body, outputs, options.exact));
    if (!checked) return checked;
    auto results = reals_of(outputs);  // the same memory
    return run_real_body(lower_complex(body), reals_of(inputs), results, options, bounds);
}

}  // namespace

Result<void> evaluate_body(const Body& body, const std::vector<TensorData>& inputs, std::vector<TensorData>& outputs,
                           Precision precision) {
    return run_body(body, inputs, outputs, {precision == Precision::exact, false}, nullptr);
}

Result<void> evaluate_body_bounded(const Body& body, const std::vector<BoundedTensor>& inputs,
                                   std::vector<BoundedTensor>& outputs) {
    std::vector<TensorData> values, results;
    TensorBounds bounds;
    for (const BoundedTensor& input : inputs) {
        values.push_back(input.value);
        bounds.inputs.push_back(input.bound);
    }
    for (const BoundedTensor& output : outputs) {
        results.push_back(output.value);
        bounds.outputs.push_back(output.bound);
    }
    auto fits = [](const TensorData& bound, const TensorData& value) {
        return bound.dtype() == DType::float64 && bound.shape() == value.shape();
    };
    for (size_t i = 0; i < values.size(); i++) {
        if (bounds.inputs[i].data() && !fits(bounds.inputs[i], values[i]))
            return fail(mismatch("a bound has another shape than its value, or is not float64"));
    }
    for (size_t i = 0; i < results.size(); i++) {
        if (!bounds.outputs[i].owned() || !fits(bounds.outputs[i], results[i]))
            return fail(mismatch("a bound has another shape than its value, or is not float64"));
    }
    return run_body(body, values, results, {true, true}, &bounds);  // `results` shares the outputs' memory
}

namespace {

TensorData storage_for(const TensorType& type, bool exact) {
    if (exact && is_complex(type.dtype)) return TensorData(DType::complex128, type.extents());
    bool widen = exact && is_float(type.dtype);
    return TensorData(widen ? DType::float64 : type.dtype, type.extents());
}

bool same_values(const TensorData& a, const TensorData& b) {
    if (is_complex(b.dtype())) return same_values(a.reals(), b.reals());
    for (int64_t i = 0; i < b.size(); i++) {
        if (is_float(b.dtype()) ? a.real_at(i) != b.real_at(i) : a.integer_at(i) != b.integer_at(i)) return false;
    }
    return true;
}

Result<void> check_feeds(const Graph& graph, const std::vector<TensorData>& feeds, bool exact) {
    if (auto checked = verify(graph); !checked) return checked;
    if (feeds.size() != graph.inputs.size()) {
        return fail(mismatch("another number of feeds than the graph has inputs", std::to_string(graph.inputs.size()),
                             std::to_string(feeds.size())));
    }
    for (size_t i = 0; i < feeds.size(); i++) {
        const Tensor& tensor = graph.tensor(graph.inputs[i]);
        TensorType found{feeds[i].dtype(), {feeds[i].shape().begin(), feeds[i].shape().end()}};
        bool widened = exact && is_widened(found.dtype, tensor.type.dtype);
        if (feeds[i].shape() == tensor.type.extents() && (found.dtype == tensor.type.dtype || widened)) {
            if (!tensor.constant || same_values(feeds[i], *tensor.constant)) continue;
            return fail(mismatch(fmt::format("the graph holds for another value of '{}'", tensor.name), {}, {}));
        }
        return fail(mismatch(fmt::format("the feed of '{}' has another type or shape", tensor.name), tensor.type.text(),
                             found.text()));
    }
    return {};
}

Diagnostics of_operation(Diagnostics diagnostics, const Operation& operation) {
    for (Diagnostic& diagnostic : diagnostics) {
        diagnostic.summary = fmt::format("operation '{}': {}", operation.name, diagnostic.summary);
        diagnostic.params.emplace_back("operation", operation.name);
    }
    return diagnostics;
}

// Runs the operations of a graph over values of either kind. `given` makes a value of a constant or a feed, `fresh`
// storage for a result, `run` evaluates one body.
template <typename Value, typename Given, typename Fresh, typename Run>
Result<std::vector<Value>> evaluate_operations(const Graph& graph, const std::vector<TensorData>& feeds, Given given,
                                               Fresh fresh, Run run) {
    std::vector<Value> values(graph.tensors.size());
    std::vector<bool> made(graph.tensors.size(), false);
    for (size_t i = 0; i < graph.tensors.size(); i++) {
        if (graph.tensors[i].constant) values[i] = given(*graph.tensors[i].constant);
    }
    for (size_t i = 0; i < feeds.size(); i++) values[static_cast<size_t>(graph.inputs[i])] = given(feeds[i]);
    for (const Operation& operation : graph.operations) {
        if (!operation.body) {
            Diagnostic diagnostic;
            diagnostic.code = "evaluate.opaque";
            diagnostic.summary = "there is no body to evaluate";
            return fail(of_operation({diagnostic}, operation));
        }
        std::vector<Value> inputs, outputs;
        for (TensorId id : operation.inputs) inputs.push_back(values[static_cast<size_t>(id)]);
        for (TensorId id : operation.outputs) {
            auto index = static_cast<size_t>(id);
            if (!made[index]) values[index] = fresh(graph.tensor(id).type);
            made[index] = true;
            outputs.push_back(values[index]);
        }
        if (auto done = run(*operation.body, inputs, outputs); !done)
            return fail(of_operation(std::move(done.error()), operation));
    }
    return values;
}

}  // namespace

Result<std::vector<TensorData>> evaluate_graph(const Graph& graph, const std::vector<TensorData>& feeds,
                                               Precision precision) {
    bool exact = precision == Precision::exact;
    if (has_wide_sums(graph)) return evaluate_graph(keep_sums_wide(graph), feeds, precision);
    if (auto checked = check_feeds(graph, feeds, exact); !checked) return fail(std::move(checked.error()));
    auto values = evaluate_operations<TensorData>(
        graph, feeds, [](const TensorData& data) { return data; },
        [&](const TensorType& type) { return storage_for(type, exact); },
        [&](const Body& body, const auto& inputs, auto& outputs) {
            return evaluate_body(body, inputs, outputs, precision);
        });
    if (!values) return fail(located(std::move(values.error()), graph, feeds));
    return values;
}

Result<std::vector<BoundedTensor>> evaluate_graph_bounded(const Graph& graph, const std::vector<TensorData>& feeds) {
    if (has_wide_sums(graph)) return evaluate_graph_bounded(keep_sums_wide(graph), feeds);
    if (has_complex(graph)) {
        if (auto checked = check_feeds(graph, feeds, true); !checked) return fail(std::move(checked.error()));
        return evaluate_graph_bounded(lower_complex(graph), reals_of(feeds));
    }
    if (auto checked = check_feeds(graph, feeds, true); !checked) return fail(std::move(checked.error()));
    return evaluate_operations<BoundedTensor>(
        graph, feeds, [](const TensorData& data) { return BoundedTensor{data, {}}; },
        [](const TensorType& type) {
            return BoundedTensor{storage_for(type, true), TensorData(DType::float64, type.extents())};
        },
        [](const Body& body, const auto& inputs, auto& outputs) {
            return evaluate_body_bounded(body, inputs, outputs);
        });
}

}  // namespace heddle
