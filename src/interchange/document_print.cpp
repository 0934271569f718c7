#include "interchange/document.h"

#include <algorithm>

#include "interchange/document_names.h"
#include "interchange/json_text.h"

namespace heddle::interchange {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

std::string print(const DocumentRange& range) {
    return json_object({{"start", json_number_vector(numbers_of(range.start))}, {"end", json_number_vector(numbers_of(range.end))}});
}

std::string print(const DocumentSelection& selection) {
    return json_object({{"tensorId", json_string(selection.tensor_id)}, {"range", print(selection.range)}});
}

std::string print(const DocumentProjection& projection) {
    std::vector<std::string> rows;
    for (const auto& row : projection.projection) rows.push_back(json_number_vector(row));
    Members map = {{"projection", json_array(rows)}, {"offset", json_number_vector(projection.offset)}};
    Members members = {{"affineMap", json_object(map)}, {"shape", json_number_vector(projection.shape)}};
    if (projection.clip) members.emplace_back("clip", json_number_vector(*projection.clip));
    return json_object(members);
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
        members.emplace_back(document_names::tag_types + document_names::signature, json_object(lists));
    }
    if (tags.index) members.emplace_back(document_names::tag_types + document_names::index, print(*tags.index));
    if (tags.sequence_point)
        members.emplace_back(document_names::tag_types + document_names::sequence_point, *tags.sequence_point);
    std::ranges::stable_sort(members, {}, [&](const auto& member) {
        return std::ranges::find(tags.order, member.first.substr(document_names::tag_types.size())) -
               tags.order.begin();
    });
    return json_object(members);
}

std::string print(const DocumentNode& node) {
    Members members = {{"id", json_string(node.id)},
                       {"type", json_string(document_names::node_types + document_names::nodes[node.body.index()])}};
    if (node.label) members.emplace_back("label", json_string(*node.label));
    members.emplace_back("body", std::visit([](const auto& body) { return print(body); }, node.body));
    if (node.tags) members.emplace_back("tags", print(*node.tags));
    return json_object(members);
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

}  // namespace heddle::interchange
