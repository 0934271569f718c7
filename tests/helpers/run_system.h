// A system run equation by equation: each becomes a typed body, which the oracle interprets. Tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "equations/equation_body.h"
#include "evaluate/evaluate.h"

namespace heddle::equations {

// The same equation at one step of its scan.
inline Equation at_step(Arena& arena, Equation equation, int64_t step) {
    const Arena::Substitution here = {{equation.ordered, arena.integer(step)}};
    std::erase(equation.axes, equation.ordered);
    for (Expr& left : equation.left) left = arena.substitute(left, here);
    equation.right = arena.substitute(equation.right, here);
    equation.scan = equation.ordered = no_id;
    return equation;
}

// Values by TensorIndex: inputs and constants in place, computed tensors zeroed.
inline Result<std::vector<TensorData>> initial_values(const System& system, const std::vector<TensorData>& feeds) {
    bool fit = feeds.size() == system.inputs.size();
    for (size_t i = 0; fit && i < feeds.size(); i++) {
        const SystemTensor& tensor = system.tensor(system.inputs[i]);
        fit = feeds[i].dtype() == tensor.dtype && feeds[i].shape() == numbers_of(tensor.shape);
    }
    if (!fit)
        return fail(Diagnostic{.code = "test.feeds", .summary = "not one tensor of its type an input", .place = {}});
    std::vector<TensorData> values(system.tensors.size());
    for (size_t t = 0; t < system.tensors.size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        if (tensor.dead) continue;
        if (tensor.kind == SystemTensor::Kind::computed) values[t] = TensorData(tensor.dtype, numbers_of(tensor.shape));
        if (tensor.kind == SystemTensor::Kind::constant && tensor.constant) values[t] = *tensor.constant;
        const bool missing = tensor.kind == SystemTensor::Kind::opaque ||
                             (tensor.kind == SystemTensor::Kind::constant && !tensor.constant);
        if (missing) return fail(Diagnostic{.code = "test.no_value", .summary = tensor.name, .place = {}});
    }
    for (size_t i = 0; i < feeds.size(); i++) values[static_cast<size_t>(system.inputs[i])] = feeds[i];
    return values;
}

// `order` in its order, the equations of a scan step after step: each is given to `function`, at its step.
template <typename Function>
Result<void> for_each_step(const System& system, const std::vector<int32_t>& order, Function function) {
    for (size_t first = 0, end = 1; first < order.size(); first = end++) {
        const int32_t scan = system.equation(order[first]).scan;
        while (scan >= 0 && end < order.size() && system.equation(order[end]).scan == scan) end++;
        const int64_t steps = scan < 0 ? 1 : system.arena->extent(system.equation(order[first]).ordered).value();
        for (int64_t step = 0; step < steps; step++) {
            for (size_t i = first; i < end; i++) {
                if (Result<void> done = function(order[i], step); !done) return done;
            }
        }
    }
    return {};
}

inline TensorData copied(const TensorData& value) { return value.clone(); }
inline BoundedTensor copied(const BoundedTensor& value) { return {value.value.clone(), value.bound.clone()}; }

// Equation by equation from initial values, by TensorIndex.
template <typename Values, typename Evaluate>
Result<Values> run_from(const System& system, Values values, Evaluate evaluate) {
    auto done = for_each_step(system, system.order(), [&](int32_t index, int64_t step) {
        const Equation& whole = system.equation(index);
        const Equation equation = whole.scan < 0 ? whole : at_step(*system.arena, whole, step);
        const EquationBody made = body_of(system, equation);
        Values inputs;
        for (TensorIndex tensor : made.inputs) {
            const auto& value = values[static_cast<size_t>(tensor)];
            inputs.push_back(tensor == equation.tensor ? copied(value) : value);
        }
        Values outputs = {values[static_cast<size_t>(equation.tensor)]};
        return evaluate(made.body, inputs, outputs);
    });
    if (!done) return fail(done.error());
    return values;
}

// Whole tensors, in the body's types; by TensorIndex.
inline Result<std::vector<TensorData>> run(const System& system, const std::vector<TensorData>& feeds) {
    auto values = initial_values(system, feeds);
    if (!values) return values;
    return run_from(system, std::move(*values), [](const Body& body, const auto& inputs, auto& outputs) {
        return evaluate_body(body, inputs, outputs, Precision::body);
    });
}

// The same in exact arithmetic, each element with its bound.
inline Result<std::vector<BoundedTensor>> run_bounded(const System& system, const std::vector<TensorData>& feeds) {
    auto values = initial_values(system, feeds);
    if (!values) return fail(values.error());
    std::vector<BoundedTensor> bounded;
    for (size_t t = 0; t < values->size(); t++) {
        const SystemTensor& tensor = system.tensors[t];
        if (tensor.kind != SystemTensor::Kind::computed || tensor.dead) {
            bounded.push_back({(*values)[t], {}});
            continue;
        }
        const DType dtype = is_float(tensor.dtype) ? DType::float64 : tensor.dtype;
        const std::vector<int64_t> shape = numbers_of(tensor.shape);
        bounded.push_back({TensorData(dtype, shape), TensorData(DType::float64, shape)});
    }
    return run_from(system, std::move(bounded), [](const Body& body, const auto& inputs, auto& outputs) {
        return evaluate_body_bounded(body, inputs, outputs);
    });
}

}  // namespace heddle::equations
