#include "graph/json.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "graph/json_names.h"
#include "graph/json_text.h"

namespace heddle {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string print(const DocumentRange& range) {
    return json_object({{"start", json_number_vector(range.start)}, {"end", json_number_vector(range.end)}});
}

std::string print(const DocumentSelection& selection) {
    return json_object({{"tensorId", json_string(selection.tensor_id)}, {"range", print(selection.range)}});
}

std::string print(const DocumentProjection& projection) {
    std::vector<std::string> rows;
    for (const auto& row : projection.projection) rows.push_back(json_number_vector(row));
    Members map = {{"projection", json_array(rows)}, {"offset", json_number_vector(projection.offset)}};
    return json_object({{"affineMap", json_object(map)}, {"shape", json_number_vector(projection.shape)}});
}

template <typename Item>
std::string print(const std::vector<std::pair<std::string, std::vector<Item>>>& named_lists) {
    Members members;
    for (const auto& [name, list] : named_lists) {
        std::vector<std::string> items;
        for (const Item& item : list) items.push_back(print(item));
        members.emplace_back(name, json_array(items));
    }
    return json_object(members);
}

template <typename Body>
void add_selections(Members& members, const Body& body) {
    if (body.inputs) members.emplace_back("inputs", print(*body.inputs));
    if (body.outputs) members.emplace_back("outputs", print(*body.outputs));
}

std::string print(const NoteBody& note) { return json_object({{"message", json_string(note.message)}}); }

std::string print(const TensorBody& tensor) {
    return json_object({{"dtype", json_string(tensor.dtype)}, {"range", print(tensor.range)}});
}

std::string print(const OperationBody& operation) {
    Members members = {{"kernel", json_string(operation.kernel)}};
    if (operation.params) members.emplace_back("params", json_object(*operation.params));
    add_selections(members, operation);
    return json_object(members);
}

std::string print(const ApplicationBody& application) {
    Members members = {{"operationId", json_string(application.operation_id)}};
    add_selections(members, application);
    return json_object(members);
}

std::string print(const DocumentTags& tags) {
    Members members;
    if (tags.signature) {
        Members lists = {{"inputs", print(tags.signature->inputs)}, {"outputs", print(tags.signature->outputs)}};
        members.emplace_back(json_names::tag_types + json_names::signature, json_object(lists));
    }
    if (tags.index) members.emplace_back(json_names::tag_types + json_names::index, print(*tags.index));
    if (tags.sequence_point)
        members.emplace_back(json_names::tag_types + json_names::sequence_point, *tags.sequence_point);
    return json_object(members);
}

std::string print(const DocumentNode& node) {
    Members members = {{"id", json_string(node.id)},
                       {"type", json_string(json_names::node_types + json_names::nodes[node.body.index()])}};
    if (node.label) members.emplace_back("label", json_string(*node.label));
    members.emplace_back("body", std::visit([](const auto& body) { return print(body); }, node.body));
    if (node.tags) members.emplace_back("tags", print(*node.tags));
    return json_object(members);
}

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
uint64_t hash(const std::string& text) {
    uint64_t value = 14695981039346656037u;
    for (unsigned char c : text) value = (value ^ c) * 1099511628211u;
    return value;
}

// UUIDs of version 8 (RFC 9562: of our own making) from names. Names may be chosen to collide, so ids given are kept.
class Ids {
public:
    std::string of(const std::string& name) {
        for (int attempt = 0;; attempt++) {
            uint64_t high = hash(fmt::format("{}:{}", attempt, name)), low = hash(fmt::format("{}:{}", name, attempt));
            std::string id = fmt::format("{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                                         high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffffffffffff);
            if (given_.insert(id).second) return id;
        }
    }

private:
    std::set<std::string> given_;
};

DocumentRange whole_range(const std::vector<int64_t>& extents) {
    return {std::vector<int64_t>(extents.size(), 0), extents};
}

DocumentProjection to_document(const IndexProjection& projection, const TensorType& type, size_t columns) {
    DocumentProjection result{projection.projection, projection.offset, projection.shape};
    std::vector<int64_t> extents = type.extents();
    for (size_t row = 0; row < projection.whole.size(); row++) {
        if (!projection.whole[row]) continue;
        result.projection[row].assign(columns, 0);
        result.offset[row] = 0;
        result.shape[row] = extents[row];
    }
    return result;
}

std::optional<DocumentTags> tags_of(const Graph& graph, const Operation& operation) {
    if (operation.input_projections.size() != operation.inputs.size() ||
        operation.output_projections.size() != operation.outputs.size() || operation.output_projections.empty()) {
        return std::nullopt;
    }
    std::vector<int64_t> extents;
    for (const IndexAxis& axis : operation.index) {
        if (!axis.reducer) extents.push_back(axis.extent.value);
    }
    auto projections = [&](const std::vector<IndexProjection>& list, const std::vector<TensorId>& tensors) {
        std::vector<DocumentProjection> result;
        for (size_t i = 0; i < list.size(); i++) {
            result.push_back(to_document(list[i], graph.tensor(tensors[i]).type, extents.size()));
        }
        return result;
    };
    DocumentTags tags;
    tags.signature.emplace();
    tags.signature->inputs.emplace_back("inputs", projections(operation.input_projections, operation.inputs));
    tags.signature->outputs.emplace_back("outputs", projections(operation.output_projections, operation.outputs));
    tags.index = whole_range(extents);
    return tags;
}

OperationBody body_of(const Graph& graph, const Operation& operation, const std::vector<std::string>& tensor_ids) {
    auto selections = [&](const char* name, const std::vector<TensorId>& tensors) {
        std::vector<DocumentSelection> list;
        for (TensorId id : tensors) {
            list.push_back({tensor_ids[static_cast<size_t>(id)], whole_range(graph.tensor(id).type.extents())});
        }
        return DocumentSelections{{name, list}};
    };
    OperationBody body{operation.operator_name, std::nullopt, selections("inputs", operation.inputs),
                       selections("outputs", operation.outputs)};
    if (!operation.params.empty()) body.params.emplace();
    for (const auto& [name, text] : operation.params) body.params->emplace_back(name, json_string(text));
    return body;
}

void sort_by_id(std::vector<DocumentNode>& nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

}  // namespace

std::string print_graph_json(const GraphDocument& document) {
    std::vector<DocumentNode> sorted = document.nodes;
    sort_by_id(sorted);
    std::vector<std::string> nodes;
    for (const DocumentNode& node : sorted) nodes.push_back(print(node));
    return json_object({{"id", json_string(document.id)}, {"nodes", json_array(nodes)}}) + "\n";
}

GraphDocument to_document(const Graph& graph) {
    GraphDocument document;
    Ids ids;
    std::vector<std::string> tensor_ids;
    std::string names = "graph";
    for (const Tensor& tensor : graph.tensors) {
        tensor_ids.push_back(ids.of("tensor " + tensor.name));
        std::string dtype = is_bool(tensor.type.dtype) ? "boolean" : std::string(name(tensor.type.dtype));
        document.nodes.push_back(
            {tensor_ids.back(), tensor.name, TensorBody{dtype, whole_range(tensor.type.extents())}, std::nullopt});
        names += " " + tensor_ids.back();
    }
    for (const Operation& operation : graph.operations) {
        document.nodes.push_back({ids.of("operation " + operation.name), operation.name,
                                  body_of(graph, operation, tensor_ids), tags_of(graph, operation)});
        names += " " + document.nodes.back().id;
    }
    document.id = ids.of(names);
    sort_by_id(document.nodes);
    return document;
}

}  // namespace heddle
