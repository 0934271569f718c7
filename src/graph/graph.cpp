#include "graph/graph.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

namespace heddle {

Size TensorType::elements() const {
    Size count = 1;
    for (const Size& size : shape) count *= size;
    return count;
}

std::vector<int64_t> TensorType::extents() const {
    std::vector<int64_t> result;
    result.reserve(shape.size());
    for (const Size& size : shape) result.push_back(size.value());
    return result;
}

std::string TensorType::text() const {
    std::string dimensions;
    for (const Size& size : shape) dimensions += (dimensions.empty() ? "" : ", ") + size.text();
    return fmt::format("{}[{}]", name(dtype), dimensions);
}

std::string IndexProjection::augmented_matrix() const {
    std::vector<std::vector<std::string>> cells;  // one row a tensor dimension: coefficients, offset, shape
    size_t columns = projection.columns();
    for (size_t row = 0; row < shape.size(); row++) {
        bool all = row < whole.size() && whole[row];
        auto& line = cells.emplace_back();
        for (size_t column = 0; column < columns; column++) {
            line.push_back(all ? "*" : std::to_string(projection[row][column]));
        }
        line.push_back(all ? "*" : std::to_string(offset[row]));
        line.push_back(std::to_string(shape[row]));
    }
    std::vector<size_t> widths(columns + 2, 0);
    for (const auto& line : cells) {
        for (size_t column = 0; column < line.size(); column++)
            widths[column] = std::max(widths[column], line[column].size());
    }
    std::string text;
    for (const auto& line : cells) {
        text += "(";
        for (size_t column = 0; column < line.size(); column++) {
            if (column >= columns) text += " |";
            text += fmt::format(" {:>{}}", line[column], widths[column]);
        }
        text += " )\n";
    }
    return text;
}

namespace {

// Names are few and short; the suffix counts up from the number of tensors, which makes a clash rare.
std::string unique_name(const std::vector<Tensor>& tensors, std::string name) {
    auto taken = [&](const std::string& candidate) {
        return std::ranges::any_of(tensors, [&](const Tensor& tensor) { return tensor.name == candidate; });
    };
    if (name.empty()) name = "t";
    if (!taken(name)) return name;
    for (size_t number = tensors.size();; number++) {
        std::string candidate = fmt::format("{}_{}", name, number);
        if (!taken(candidate)) return candidate;
    }
}

}  // namespace

TensorId Graph::add_tensor(std::string name, TensorType type) {
    Tensor tensor;
    tensor.name = unique_name(tensors, std::move(name));
    tensor.type = std::move(type);
    tensors.push_back(std::move(tensor));
    return last_id<TensorId>(tensors);
}

TensorId Graph::add_constant(std::string name, TensorData data) {
    TensorType type{data.dtype(), {data.shape().begin(), data.shape().end()}};
    TensorId id = add_tensor(std::move(name), std::move(type));
    tensors.back().constant = std::move(data);
    return id;
}

OperationId Graph::add_operation(Operation operation) {
    auto id = next_id<OperationId>(operations);
    for (TensorId output : operation.outputs) tensors[static_cast<size_t>(output)].producer = id;
    operations.push_back(std::move(operation));
    return id;
}

std::vector<TensorId> splice(Graph& into, const Graph& from, const std::vector<TensorId>& inputs,
                             const std::string& prefix) {
    std::vector<TensorId> made(from.tensors.size(), no_id);
    for (size_t i = 0; i < inputs.size(); i++) made[static_cast<size_t>(from.inputs[i])] = inputs[i];
    for (size_t i = 0; i < made.size(); i++) {
        const Tensor& tensor = from.tensors[i];
        if (made[i] >= 0) continue;
        made[i] = tensor.constant ? into.add_constant(tensor.name, *tensor.constant)
                                  : into.add_tensor(tensor.name, tensor.type);
    }
    auto renumber = [&](std::vector<TensorId>& ids) {
        for (TensorId& id : ids) id = made[static_cast<size_t>(id)];
    };
    std::set<std::string> names;
    for (const Operation& operation : into.operations) names.insert(operation.name);
    for (Operation operation : from.operations) {
        renumber(operation.inputs);
        renumber(operation.outputs);
        std::string name = prefix + operation.name;
        if (operation.each) operation.each->of = prefix + operation.each->of;
        operation.name = name;
        for (int copy = 2; !names.insert(operation.name).second; copy++)
            operation.name = fmt::format("{} {}", name, copy);
        into.add_operation(std::move(operation));
    }
    std::vector<TensorId> outputs = from.outputs;
    renumber(outputs);
    return outputs;
}

Graph prune(const Graph& graph) {
    std::vector<bool> tensor_needed(graph.tensors.size(), false), operation_needed(graph.operations.size(), false);
    for (TensorId id : graph.outputs) tensor_needed[static_cast<size_t>(id)] = true;
    for (TensorId id : graph.inputs) tensor_needed[static_cast<size_t>(id)] = true;
    // Producers stand before consumers, so one sweep backwards sees every need. Several operations may write one
    // tensor.
    for (size_t i = graph.operations.size(); i-- > 0;) {
        const Operation& operation = graph.operations[i];
        operation_needed[i] =
            std::ranges::any_of(operation.outputs, [&](TensorId id) { return tensor_needed[static_cast<size_t>(id)]; });
        if (!operation_needed[i]) continue;
        for (TensorId id : operation.inputs) tensor_needed[static_cast<size_t>(id)] = true;
        for (TensorId id : operation.outputs) tensor_needed[static_cast<size_t>(id)] = true;
    }
    Graph result;
    std::vector<TensorId> renumbered(graph.tensors.size(), no_id);
    for (size_t i = 0; i < graph.tensors.size(); i++) {
        if (!tensor_needed[i]) continue;
        renumbered[i] = next_id<TensorId>(result.tensors);
        result.tensors.push_back(graph.tensors[i]);
        result.tensors.back().producer = no_id;
    }
    auto renumber = [&](const std::vector<TensorId>& ids) {
        std::vector<TensorId> list;
        for (TensorId id : ids) list.push_back(renumbered[static_cast<size_t>(id)]);
        return list;
    };
    for (size_t i = 0; i < graph.operations.size(); i++) {
        if (!operation_needed[i]) continue;
        Operation operation = graph.operations[i];
        operation.inputs = renumber(operation.inputs);
        operation.outputs = renumber(operation.outputs);
        result.add_operation(std::move(operation));
    }
    result.inputs = renumber(graph.inputs);
    result.outputs = renumber(graph.outputs);
    return result;
}

}  // namespace heddle
