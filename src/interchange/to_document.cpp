#include "interchange/to_document.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "interchange/json_text.h"
#include "interchange/box.h"
#include "interchange/issues.h"
#include "interchange/operator_use.h"
#include "interchange/parameters.h"

namespace heddle::interchange {
namespace {

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

std::vector<int64_t> start_of(const Tensor& tensor) {
    return tensor.start.empty() ? std::vector<int64_t>(tensor.type.shape.size(), 0) : tensor.start;
}

DocumentRange range_of(const Tensor& tensor) {
    DocumentRange range{start_of(tensor), tensor.type.extents()};
    for (size_t i = 0; i < range.end.size(); i++) range.end[i] += range.start[i];
    return range;
}

// Counts from where the tensor begins; in `clip` the dimensions where some point's box reaches outside of it.
DocumentProjection moved(const IndexProjection& projection, const Tensor& tensor, const DocumentRange& index) {
    DocumentProjection result;
    for (size_t row = 0; row < projection.projection.size(); row++)
        result.projection.emplace_back(projection.projection[row].begin(), projection.projection[row].end());
    result.offset.assign(projection.offset.begin(), projection.offset.end());
    result.shape.assign(projection.shape.begin(), projection.shape.end());
    DocumentRange range = range_of(tensor);
    for (size_t row = 0; row < result.shape.size(); row++) {
        if (row < projection.whole.size() && projection.whole[row]) {
            result.projection[row].assign(index.start.size(), 0);
            result.offset[row] = 0;
            result.shape[row] = range.end[row] - range.start[row];
        }
        result.offset[row] += range.start[row];
    }
    auto hull = projected(result, index);
    if (!hull || hull->is_empty()) return result;
    std::vector<int64_t> clip;
    for (size_t row = 0; row < result.shape.size(); row++) {
        if (hull->start[row] < range.start[row] || hull->end[row] > range.end[row])
            clip.push_back(static_cast<int64_t>(row));
    }
    if (!clip.empty()) result.clip = std::move(clip);
    return result;
}

std::optional<DocumentRange> selected(const DocumentProjection& projection, const DocumentRange& index,
                                      const DocumentRange& within) {
    auto box = projected(projection, index);
    if (!box) return std::nullopt;
    DocumentRange cut = intersection(*box, within);
    for (int64_t dimension : projection.clip.value_or(std::vector<int64_t>{})) {
        auto d = static_cast<size_t>(dimension);
        box->start[d] = cut.start[d];
        box->end[d] = cut.end[d];
    }
    return box;
}

// Nothing for an operation without projections.
std::optional<DocumentRange> index_of(const Operation& operation) {
    if (operation.input_projections.size() != operation.inputs.size() ||
        operation.output_projections.size() != operation.outputs.size() || operation.output_projections.empty())
        return std::nullopt;
    DocumentRange index;
    for (const IndexAxis& axis : operation.index) {
        if (axis.extends()) continue;
        index.start.push_back(0);
        index.end.push_back(axis.extent.value());
    }
    return index;
}

std::vector<DocumentProjection> all_moved(const Graph& graph, const std::vector<TensorId>& tensors,
                                          const std::vector<IndexProjection>& projections, const DocumentRange& index) {
    std::vector<DocumentProjection> result;
    result.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); i++)
        result.push_back(moved(projections[i], graph.tensor(tensors[i]), index));
    return result;
}

// Items by the names of their operands, in the order of the first of each; within a name by number. Without names all
// are of `unnamed`.
template <typename Item>
std::vector<std::pair<std::string, std::vector<Item>>> grouped(const OperandNames& names,
                                                               const std::vector<Item>& items, const char* unnamed) {
    std::vector<std::pair<std::string, std::vector<Item>>> result;
    if (names.size() != items.size()) {
        if (!items.empty()) result.emplace_back(unnamed, items);
        return result;
    }
    std::vector<size_t> order(items.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return names[i].element; });
    for (const OperandName& name : names) {
        auto same = [&](const auto& group) { return group.first == name.name; };
        if (std::ranges::none_of(result, same)) result.push_back({name.name, {}});
    }
    for (auto& [name, list] : result) {
        for (size_t i : order) {
            if (names[i].name == name) list.push_back(items[i]);
        }
    }
    return result;
}

constexpr const char* unnamed_inputs = "inputs";
constexpr const char* unnamed_outputs = "outputs";

class Writer {
public:
    Writer(const Graph& graph, const DocumentOptions& options) : graph_(graph), options_(options) {}

    GraphDocument write() {
        add_tensors();
        for (size_t i = 0; i < graph_.operations.size(); i++) add_operation(OperationId(i));
        std::string names = "graph";
        for (const DocumentNode& node : document_.nodes) names += " " + node.id;
        document_.id = ids_.of(names);
        std::ranges::stable_sort(document_.nodes, {}, &DocumentNode::id);
        return std::move(document_);
    }

private:
    void add_tensors() {
        std::vector<bool> used(graph_.tensors.size(), false);
        auto use = [&](const std::vector<TensorId>& ids) {
            for (TensorId id : ids) used[static_cast<size_t>(id)] = true;
        };
        use(graph_.inputs);
        use(graph_.outputs);
        for (const Operation& operation : graph_.operations) {
            use(operation.inputs);
            use(operation.outputs);
        }
        tensor_ids_.resize(graph_.tensors.size());
        for (size_t i = 0; i < graph_.tensors.size(); i++) {
            const Tensor& tensor = graph_.tensors[i];
            if (!used[i]) continue;
            tensor_ids_[i] = ids_.of("tensor " + tensor.name);
            document_.nodes.push_back(
                {tensor_ids_[i], tensor.name, TensorBody{dtype_text(tensor.type.dtype), range_of(tensor)}, {}});
        }
    }

    // What an operation selects of its operands: what its index projects to, or all of them where it has no
    // projections.
    std::vector<DocumentSelection> selections(const std::vector<TensorId>& tensors,
                                              const std::vector<DocumentProjection>& projections,
                                              const std::optional<DocumentRange>& index) const {
        std::vector<DocumentSelection> result;
        result.reserve(tensors.size());
        for (size_t i = 0; i < tensors.size(); i++) {
            DocumentSelection& selection =
                result.emplace_back(tensor_ids_[static_cast<size_t>(tensors[i])], range_of(graph_.tensor(tensors[i])));
            if (!index) continue;
            if (auto box = selected(projections[i], *index, selection.range)) selection.range = std::move(*box);
        }
        return result;
    }

    void add_operation(OperationId number) {
        const Operation& operation = graph_.operations[static_cast<size_t>(number)];
        auto index = index_of(operation);
        std::vector<DocumentProjection> inputs, outputs;
        if (index) {
            inputs = all_moved(graph_, operation.inputs, operation.input_projections, *index);
            outputs = all_moved(graph_, operation.outputs, operation.output_projections, *index);
        }
        DocumentNode node{
            ids_.of("operation " + operation.name), operation.name,
            OperationBody{
                operation.operator_name, std::nullopt,
                grouped(operation.input_names, selections(operation.inputs, inputs, index), unnamed_inputs),
                grouped(operation.output_names, selections(operation.outputs, outputs, index), unnamed_outputs)},
            std::nullopt};
        DocumentParameters params;
        for (const auto& [name, text] : operation.params)
            params.emplace_back(name, parameter_json(text, graph_.dimension_names));
        add_part_parameters(operation, params);
        if (!params.empty()) std::get<OperationBody>(node.body).params = std::move(params);
        if (index) {
            node.tags.emplace();
            node.tags->signature = {grouped(operation.input_names, inputs, unnamed_inputs),
                                    grouped(operation.output_names, outputs, unnamed_outputs)};
            node.tags->index = *index;
            if (options_.applications) add_applications(number, node, *index);
        } else if (auto boxes = options_.boxes.find(number); boxes != options_.boxes.end() && options_.applications) {
            add_boxes(operation, node, boxes->second);
        }
        document_.nodes.push_back(std::move(node));
    }

    // Of one side of an operation: what each of the boxes selects, by operands' names.
    DocumentSelections selected_boxes(const OperandNames& names, const std::vector<TensorId>& tensors,
                                      const std::vector<DocumentRange>& boxes, const char* unnamed) const {
        std::vector<DocumentSelection> list;
        list.reserve(tensors.size());
        for (size_t i = 0; i < tensors.size(); i++) {
            DocumentRange box = boxes[i];
            const std::vector<int64_t> start = start_of(graph_.tensor(tensors[i]));
            for (size_t d = 0; d < start.size(); d++) {
                box.start[d] += start[d];
                box.end[d] += start[d];
            }
            list.emplace_back(tensor_ids_[static_cast<size_t>(tensors[i])], std::move(box));
        }
        return grouped(names, list, unnamed);
    }

    void add_boxes(const Operation& operation, DocumentNode& node, const std::vector<OperandBoxes>& parts) {
        auto& body = std::get<OperationBody>(node.body);
        OperandBoxes whole = parts.at(0);
        for (const OperandBoxes& part : parts) {
            for (size_t i = 0; i < part.inputs.size(); i++) whole.inputs[i] = hull(whole.inputs[i], part.inputs[i]);
            for (size_t i = 0; i < part.outputs.size(); i++) whole.outputs[i] = hull(whole.outputs[i], part.outputs[i]);
        }
        const auto inputs = [&](const OperandBoxes& of) {
            return selected_boxes(operation.input_names, operation.inputs, of.inputs, unnamed_inputs);
        };
        const auto outputs = [&](const OperandBoxes& of) {
            return selected_boxes(operation.output_names, operation.outputs, of.outputs, unnamed_outputs);
        };
        body.inputs = inputs(whole);
        body.outputs = outputs(whole);
        for (size_t i = 0; i < parts.size(); i++)
            document_.nodes.push_back({ids_.of(fmt::format("application {} of {}", i, node.id)), std::nullopt,
                                       ApplicationBody{node.id, inputs(parts[i]), outputs(parts[i])}, std::nullopt});
    }

    void add_applications(OperationId number, const DocumentNode& operation, const DocumentRange& index) {
        auto found = options_.shards.find(number);
        auto boxes = found == options_.shards.end() ? std::vector{index} : found->second;
        for (size_t i = 0; i < boxes.size(); i++) {
            auto node =
                application_of(operation, boxes[i], ids_.of(fmt::format("application {} of {}", i, operation.id)));
            if (node) document_.nodes.push_back(std::move(*node));
        }
    }

    const Graph& graph_;
    const DocumentOptions& options_;
    GraphDocument document_;
    Ids ids_;
    std::vector<std::string> tensor_ids_;
};

}  // namespace

GraphDocument to_document(const Graph& graph, const DocumentOptions& options) { return Writer(graph, options).write(); }

std::optional<DocumentSignature> signature_of(const Graph& graph, const Operation& operation) {
    auto index = index_of(operation);
    if (!index) return std::nullopt;
    return DocumentSignature{
        grouped(operation.input_names, all_moved(graph, operation.inputs, operation.input_projections, *index),
                unnamed_inputs),
        grouped(operation.output_names, all_moved(graph, operation.outputs, operation.output_projections, *index),
                unnamed_outputs)};
}

std::optional<DocumentNode> application_of(const DocumentNode& operation, const DocumentRange& index, std::string id) {
    const auto& body = std::get<OperationBody>(operation.body);
    if (!operation.tags || !operation.tags->signature ||
        !signature_fits(*operation.tags->signature, index, body, nullptr))
        return std::nullopt;
    auto part = [&](const std::optional<DocumentSelections>& whole,
                    const DocumentProjections& projections) -> std::optional<DocumentSelections> {
        DocumentSelections result;
        for (const auto& [name, list] : whole.value_or(DocumentSelections{})) {
            auto same = [&](const auto& other) { return other.first == name; };
            const auto& maps = std::ranges::find_if(projections, same)->second;
            auto& selections = result.emplace_back(name, std::vector<DocumentSelection>{}).second;
            for (size_t i = 0; i < list.size(); i++) {
                auto box = selected(maps[i], index, list[i].range);
                if (!box) return std::nullopt;
                selections.push_back({list[i].tensor_id, std::move(*box)});
            }
        }
        return result;
    };
    auto inputs = part(body.inputs, operation.tags->signature->inputs);
    auto outputs = part(body.outputs, operation.tags->signature->outputs);
    if (!inputs || !outputs) return std::nullopt;
    DocumentNode node{std::move(id), std::nullopt, ApplicationBody{operation.id, std::move(inputs), std::move(outputs)},
                      DocumentTags{}};
    node.tags->index = index;
    return node;
}

}  // namespace heddle::interchange
