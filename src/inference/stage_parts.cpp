#include "inference/stage_parts.h"

#include <algorithm>

namespace heddle::inference {
namespace {

onnx::OnnxDimension dimension_of(const Value& value, size_t d) {
    const bool is_named = d < value.sizes.size() && value.sizes[d].named();
    return is_named ? onnx::OnnxDimension{std::nullopt, value.sizes[d].origin()->text()}
                    : onnx::OnnxDimension{value.extent(d), {}};
}

// The same without a text, where there is none.
bool fits(const onnx::OnnxDimension& known, const Value& value, size_t d) {
    if (!known.value && known.name.empty()) return true;
    const bool is_named = d < value.sizes.size() && value.sizes[d].named();
    return is_named ? known == dimension_of(value, d) : known.value == value.extent(d);
}

// The input that it copies to the same places.
const TensorId* copied_input(const Graph& graph, const Operation& operation, const Tensor& output) {
    const Body* body = operation.body.get();
    if (!body || operation.outputs.size() != 1 || body->equations.size() != 1) return nullptr;
    const BodyEquation& equation = body->equations[0];
    const Node& value = body->node(equation.value);
    if (value.kind != expr::Kind::read || !std::ranges::equal(value.operands, equation.left)) return nullptr;
    const TensorId& input = operation.inputs[static_cast<size_t>(value.tensor())];
    const TensorType &from = graph.tensor(input).type, &to = output.type;
    const auto same = [](const Size& a, const Size& b) { return a.same_as(b); };
    return from.dtype == to.dtype && std::ranges::equal(from.shape, to.shape, same) ? &input : nullptr;
}

}  // namespace

bool StageRead::widen(const Value& value) {
    const size_t rank = value.rank();
    const bool is_same_rank = pattern && pattern->size() == rank;
    if (!is_same_rank) {
        const bool is_new = !pattern;
        pattern.emplace();
        for (size_t d = 0; d < rank; d++) pattern->push_back(dimension_of(value, d));
        return !is_new;
    }
    bool changed = false;
    for (size_t d = 0; d < rank; d++) {
        if (fits((*pattern)[d], value, d)) continue;
        (*pattern)[d] = {};
        changed = true;
    }
    return changed;
}

TensorId copied_by(const Graph& graph, TensorId tensor) {
    for (;;) {
        const Tensor& output = graph.tensor(tensor);
        if (output.producer < 0) return tensor;
        const TensorId* input = copied_input(graph, graph.operation(output.producer), output);
        if (!input) return tensor;
        tensor = *input;
    }
}

}  // namespace heddle::inference
