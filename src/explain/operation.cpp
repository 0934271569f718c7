#include "explain/operation.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/notation.h"
#include "explain/shards.h"
#include "explain/windows.h"

namespace heddle::explain {
namespace {

using namespace pictures;

using Json = nlohmann::ordered_json;

Json index_json(const std::vector<IndexAxis>& index) {
    Json list = Json::array();
    for (const IndexAxis& axis : index) {
        list.push_back({{"name", axis.name},
                        {"extent", axis.extent.text()},
                        {"size", axis.extent.value()},
                        {"reducer", axis.reducer ? Json(name(*axis.reducer)) : Json(nullptr)},
                        {"ordered", axis.ordered}});
    }
    return list;
}

// "int32[200:210, 50:55]" where the tensor does not begin at zero.
std::string type_text(const Tensor& tensor) {
    if (tensor.start.empty()) return tensor.type.text();
    std::vector<std::string> ranges;
    for (size_t i = 0; i < tensor.start.size(); i++)
        ranges.push_back(fmt::format("{}:{}", tensor.start[i], tensor.start[i] + tensor.type.shape[i].value()));
    return fmt::format("{}[{}]", name(tensor.type.dtype), fmt::join(ranges, ", "));
}

template <typename List>
Json list_json(const List& list) {
    Json result = Json::array();
    for (const auto& item : list) result.push_back(item);
    return result;
}

// Of dimensions that the projection says to be read whole, by dimension; empty where there is nothing to say.
std::vector<std::string> windows_of(const Operation& operation, size_t input, const Tensor& tensor) {
    const IndexProjection& projection = operation.input_projections[input];
    std::vector<std::string> texts(projection.whole.size());
    for (size_t d = 0; d < texts.size(); d++) {
        const int64_t extent = tensor.type.shape[d].value();
        const auto window =
            projection.whole[d] && extent > 1 ? clamped_window(operation, input, d, extent) : std::nullopt;
        if (window) texts[d] = window_text(*window, *operation.body, d < tensor.start.size() ? tensor.start[d] : 0);
    }
    return texts;
}

Json projection_json(const Tensor& tensor, IndexProjection projection, const std::vector<IndexAxis>& index,
                     const std::vector<std::string>& windows) {
    std::vector<int64_t> extents = tensor.type.extents();
    IndexProjection named = projection;  // where a dimension that is touched whole still begins at zero
    for (size_t row = 0; row < tensor.start.size(); row++) {
        const auto& coefficients = projection.projection[row];
        bool fixed = std::ranges::all_of(coefficients, [](int64_t coefficient) { return coefficient == 0; });
        bool whole = fixed && projection.offset[row] == 0 && projection.shape[row] == extents[row];
        projection.offset[row] += tensor.start[row];
        if (!whole) named.offset[row] = projection.offset[row];
    }
    Json rows = Json::array();
    for (size_t row = 0; row < projection.projection.size(); row++)
        rows.push_back(list_json(projection.projection[row]));
    auto diagonal = diagonal_notation(named, index, extents);
    return {{"name", tensor.name},
            {"type", type_text(tensor)},
            {"projection", std::move(rows)},
            {"offset", list_json(projection.offset)},
            {"shape", list_json(projection.shape)},
            {"whole", list_json(projection.whole)},
            {"rows", rows_notation(named, index, extents, windows)},
            {"diagonal", diagonal ? Json(*diagonal) : Json(nullptr)},
            {"structured", structured_notation(projection)},
            {"augmented", projection.augmented_matrix()}};
}

Json tensors_json(const Graph& graph, const std::vector<TensorId>& tensors,
                  const std::vector<IndexProjection>& projections, const std::vector<IndexAxis>& index,
                  const Operation* reader = nullptr) {
    Json list = Json::array();
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& tensor = graph.tensor(tensors[i]);
        if (i < projections.size())
            list.push_back(projection_json(tensor, projections[i], index,
                                           reader ? windows_of(*reader, i, tensor) : std::vector<std::string>()));
        else
            list.push_back({{"name", tensor.name}, {"type", tensor.type.text()}});
    }
    return list;
}

}  // namespace

Json operation_json(const Graph& graph, const Operation& operation) {
    std::vector<std::string> inputs, outputs;
    for (TensorId t : operation.inputs) inputs.push_back(graph.tensor(t).name);
    for (TensorId t : operation.outputs) outputs.push_back(graph.tensor(t).name);
    return {{"name", operation.name},
            {"operator", operation.operator_name},
            {"parameters", operation.params},
            {"class", name(class_of(operation))},
            {"index", index_json(operation.index)},
            {"inputs", tensors_json(graph, operation.inputs, operation.input_projections, operation.index, &operation)},
            {"outputs", tensors_json(graph, operation.outputs, operation.output_projections, operation.index)},
            {"point", point_json(graph, operation)},
            {"axes", axes_json(graph, operation)},
            {"body", operation.body ? Json(print(*operation.body, inputs, outputs)) : Json(nullptr)}};
}

std::string indented(const std::string& text, int by) {
    std::string pad(static_cast<size_t>(by), ' '), result;
    for (size_t begin = 0; begin < text.size();) {
        size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) result += pad + text.substr(begin, end - begin);
        result += "\n";
        begin = end + 1;
    }
    return result;
}

std::string text_of(const Json& json, const char* key) { return json[key].get<std::string>(); }

std::string index_text(const Json& operation) {
    std::vector<std::string> index, extended;
    for (const Json& axis : operation["index"]) {
        std::string extent = text_of(axis, "extent"), size = std::to_string(axis["size"].get<int64_t>());
        std::string text = fmt::format("{} = {}{}", text_of(axis, "name"), extent, extent == size ? "" : " = " + size);
        if (axis["ordered"].get<bool>())
            extended.push_back(text + " in order");
        else if (axis["reducer"].is_null())
            index.push_back(text);
        else
            extended.push_back(fmt::format("{} by {}", text, text_of(axis, "reducer")));
    }
    std::string text = fmt::format("index [{}]\n", fmt::join(index, ", "));
    if (!extended.empty()) text += fmt::format("extended by [{}]\n", fmt::join(extended, ", "));
    return text;
}

std::string tensor_text(const Json& tensor, Notations notations) {
    if (!tensor.contains("rows")) return "";
    if (notations == Notations::rows) return fmt::format("rows {}\n", text_of(tensor, "rows"));
    return fmt::format("rows        {}\ndiagonal    {}\nstructured  {}\n{}", text_of(tensor, "rows"),
                       tensor["diagonal"].is_null() ? "none: its dimensions do not take the index dimensions in turn"
                                                    : text_of(tensor, "diagonal"),
                       text_of(tensor, "structured"), text_of(tensor, "augmented"));
}

std::string operation_text(const Json& operation, Notations notations) {
    std::string text = fmt::format("operation {} ({})\n", text_of(operation, "name"), text_of(operation, "class"));
    for (const auto& [name, value] : operation["parameters"].items())
        text += fmt::format("  {} = {}\n", name, value.get<std::string>());
    text += indented(index_text(operation), 2);
    for (const char* side : {"inputs", "outputs"}) {
        for (const Json& tensor : operation[side]) {
            text += fmt::format("  {} {}: {}\n", std::string_view(side, std::string_view(side).size() - 1),
                                text_of(tensor, "name"), text_of(tensor, "type"));
            text += indented(tensor_text(tensor, notations), 4);
        }
    }
    if (!operation["point"].is_null()) text += point_text(operation["point"]);
    if (!operation["axes"].empty()) text += "  shards along\n" + axes_text(operation["axes"]);
    if (operation["body"].is_null()) return text + "  no body: a kernel elsewhere\n";
    return text + "  body\n" + indented(text_of(operation, "body"), 4);
}

std::string counted(int64_t number, const char* what, const char* plural) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : plural);
}

}  // namespace heddle::explain
