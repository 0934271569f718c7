// From the tree of a JSON text to a graph document.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "interchange/document.h"
#include "interchange/document_names.h"
#include "interchange/json_tree.h"

namespace heddle::interchange {
namespace {

using Kind = JsonValue::Kind;

constexpr size_t maximum_errors = 20;

std::string lower_case(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

bool is_uuid(const std::string& text) {
    if (text.size() != 36) return false;
    for (size_t i = 0; i < text.size(); i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !digit) return false;
    }
    return true;
}

bool is_name(const std::string& text) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && letter(text[0]) &&
           std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

// Reads what is there, notes what is wrong, and goes on: all independent errors of one document.
class DocumentReader {
public:
    explicit DocumentReader(std::shared_ptr<const SourceText> source) : source_(std::move(source)) {}

    Diagnostics errors;

    GraphDocument document(const JsonValue& value) {
        GraphDocument result;
        if (!object(value, "$", {"id", "nodes"}, {})) return result;
        if (const JsonValue* id = member(value, "id")) result.id = uuid(*id, "$.id");
        if (const JsonValue* nodes = member(value, "nodes")) {
            result.nodes = list<DocumentNode>(*nodes, "$.nodes",
                                              [this](const JsonValue& v, const std::string& p) { return node(v, p); });
        }
        std::stable_sort(result.nodes.begin(), result.nodes.end(), [](auto& a, auto& b) { return a.id < b.id; });
        return result;
    }

private:
    using Names = std::vector<std::string>;

    void error(const char* code, const JsonValue& value, const std::string& path, std::string summary,
               std::string expected, std::string found, std::string remedy = "") {
        if (errors.size() >= maximum_errors) return;
        Diagnostic diagnostic{.code = code, .summary = fmt::format("{}: {}", path, summary)};
        diagnostic.place = {source_, value.offset, value.length};
        diagnostic.expected = std::move(expected);
        diagnostic.found = std::move(found);
        diagnostic.remedy = std::move(remedy);
        diagnostic.params = {{"path", path}};
        errors.push_back(std::move(diagnostic));
    }

    static const JsonValue* member(const JsonValue& value, const std::string& name) {
        for (const JsonValue& item : value.items) {
            if (item.name == name) return &item;
        }
        return nullptr;
    }

    bool kind(const JsonValue& value, const std::string& path, Kind expected) {
        if (value.kind == expected) return true;
        error("graph.json_type", value, path, "a value of the wrong type", kind_name(expected), kind_name(value.kind));
        return false;
    }

    bool object(const JsonValue& value, const std::string& path, const Names& required, const Names& optional) {
        if (!kind(value, path, Kind::object)) return false;
        Names known = required;
        known.insert(known.end(), optional.begin(), optional.end());
        for (const JsonValue& item : value.items) {
            if (std::find(known.begin(), known.end(), item.name) != known.end()) continue;
            std::string near = nearest_name(item.name, known);
            error("graph.json_key", item, path + "." + item.name, "an unknown key",
                  fmt::format("{}", fmt::join(known, ", ")), item.name,
                  near.empty() ? "" : fmt::format("did you mean '{}'?", near));
        }
        for (const std::string& name : required) {
            if (!member(value, name)) error("graph.json_key", value, path, "a key is missing", name, "no such key");
        }
        return true;
    }

    template <typename Item, typename Read>
    std::vector<Item> list(const JsonValue& value, const std::string& path, Read read) {
        std::vector<Item> result;
        if (!kind(value, path, Kind::array)) return result;
        // Enough errors end it: what is read of a value may be larger than the value.
        each_element(value, [&](const JsonValue& item) {
            if (errors.size() >= maximum_errors) return;
            result.push_back(read(item, fmt::format("{}[{}]", path, result.size())));
        });
        return result;
    }

    template <typename Item, typename Read>
    std::vector<std::pair<std::string, std::vector<Item>>> named_lists(const JsonValue& value, const std::string& path,
                                                                       Read read) {
        std::vector<std::pair<std::string, std::vector<Item>>> result;
        if (!kind(value, path, Kind::object)) return result;
        for (const JsonValue& item : value.items) {
            std::string item_path = path + "." + item.name;
            check_name(item, item_path);
            result.emplace_back(item.name, list<Item>(item, item_path, read));
        }
        return result;
    }

    void check_name(const JsonValue& item, const std::string& path) {
        if (is_name(item.name)) return;
        error("graph.json_name", item, path, "not a name", "letters, digits and underscores, not a digit first",
              item.name);
    }

    std::string string(const JsonValue& value, const std::string& path) {
        return kind(value, path, Kind::string) ? value.text : "";
    }

    std::string uuid(const JsonValue& value, const std::string& path) {
        if (!kind(value, path, Kind::string)) return "";
        std::string text = lower_case(value.text);
        if (!is_uuid(text)) {
            error("graph.json_uuid", value, path, "not a UUID", "hexadecimal digits in groups of 8-4-4-4-12",
                  value.text);
        }
        return text;
    }

    std::vector<int64_t> integers(const JsonValue& value, const std::string& path) {
        if (!value.numbers.empty()) return value.numbers;
        return list<int64_t>(value, path, [this](const JsonValue& v, const std::string& p) {
            return kind(v, p, Kind::integer) ? v.integer : 0;
        });
    }

    DocumentRange range(const JsonValue& value, const std::string& path) {
        DocumentRange result;
        if (!object(value, path, {"start", "end"}, {})) return result;
        if (const JsonValue* start = member(value, "start")) result.start = integers(*start, path + ".start");
        if (const JsonValue* end = member(value, "end")) result.end = integers(*end, path + ".end");
        bool ordered = result.start.size() == result.end.size();
        for (size_t i = 0; ordered && i < result.start.size(); i++) ordered = result.start[i] <= result.end[i];
        if (!ordered) {
            error("graph.json_range", value, path, "not a range", "as many ends as starts, none before its start",
                  fmt::format("[{}] .. [{}]", fmt::join(result.start, ", "), fmt::join(result.end, ", ")));
        }
        return result;
    }

    DocumentSelection selection(const JsonValue& value, const std::string& path) {
        DocumentSelection result;
        if (!object(value, path, {"tensorId", "range"}, {})) return result;
        if (const JsonValue* id = member(value, "tensorId")) result.tensor_id = uuid(*id, path + ".tensorId");
        if (const JsonValue* box = member(value, "range")) result.range = range(*box, path + ".range");
        return result;
    }

    DocumentProjection projection(const JsonValue& value, const std::string& path) {
        DocumentProjection result;
        if (!object(value, path, {"affineMap", "shape"}, {"clip"})) return result;
        if (const JsonValue* shape = member(value, "shape")) result.shape = integers(*shape, path + ".shape");
        if (const JsonValue* clip = member(value, "clip")) result.clip = integers(*clip, path + ".clip");
        const JsonValue* map = member(value, "affineMap");
        if (!map || !object(*map, path + ".affineMap", {"projection", "offset"}, {})) return result;
        if (const JsonValue* rows = member(*map, "projection")) {
            result.projection =
                list<std::vector<int64_t>>(*rows, path + ".affineMap.projection",
                                           [this](const JsonValue& v, const std::string& p) { return integers(v, p); });
        }
        if (const JsonValue* offset = member(*map, "offset"))
            result.offset = integers(*offset, path + ".affineMap.offset");
        size_t rows = result.projection.size();
        bool fits = result.offset.size() == rows && result.shape.size() == rows;
        for (const auto& row : result.projection) fits = fits && row.size() == result.projection[0].size();
        for (int64_t dimension : result.clip.value_or(std::vector<int64_t>{}))
            fits = fits && dimension >= 0 && dimension < static_cast<int64_t>(rows);
        if (!fits) {
            error("graph.json_range", value, path, "the lengths of a projection differ",
                  "rows of one length, an offset and a shape a row, clip of dimensions",
                  fmt::format("{} rows, {} offsets, shape of {}", rows, result.offset.size(), result.shape.size()));
        }
        return result;
    }

    DocumentSelections selections(const JsonValue& value, const std::string& path) {
        return named_lists<DocumentSelection>(
            value, path, [this](const JsonValue& v, const std::string& p) { return selection(v, p); });
    }

    template <typename Body>
    void add_selections(const JsonValue& value, const std::string& path, Body& body) {
        if (const JsonValue* inputs = member(value, "inputs")) body.inputs = selections(*inputs, path + ".inputs");
        if (const JsonValue* outputs = member(value, "outputs")) body.outputs = selections(*outputs, path + ".outputs");
    }

    NoteBody note(const JsonValue& value, const std::string& path) {
        NoteBody result;
        if (!object(value, path, {"message"}, {})) return result;
        if (const JsonValue* message = member(value, "message")) result.message = string(*message, path + ".message");
        return result;
    }

    TensorBody tensor(const JsonValue& value, const std::string& path) {
        TensorBody result;
        if (!object(value, path, {"dtype", "range"}, {})) return result;
        if (const JsonValue* dtype = member(value, "dtype")) result.dtype = string(*dtype, path + ".dtype");
        if (const JsonValue* box = member(value, "range")) result.range = range(*box, path + ".range");
        return result;
    }

    OperationBody operation(const JsonValue& value, const std::string& path) {
        OperationBody result;
        if (!object(value, path, {"kernel"}, {"params", "inputs", "outputs"})) return result;
        if (const JsonValue* kernel = member(value, "kernel")) result.kernel = string(*kernel, path + ".kernel");
        if (const JsonValue* params = member(value, "params");
            params && kind(*params, path + ".params", Kind::object)) {
            result.params.emplace();
            for (const JsonValue& item : params->items) result.params->emplace_back(item.name, print_json_tree(item));
        }
        add_selections(value, path, result);
        return result;
    }

    ApplicationBody application(const JsonValue& value, const std::string& path) {
        ApplicationBody result;
        if (!object(value, path, {"operationId"}, {"inputs", "outputs"})) return result;
        if (const JsonValue* id = member(value, "operationId")) result.operation_id = uuid(*id, path + ".operationId");
        add_selections(value, path, result);
        return result;
    }

    DocumentSignature signature(const JsonValue& value, const std::string& path) {
        DocumentSignature result;
        if (!object(value, path, {"inputs", "outputs"}, {})) return result;
        auto read = [this](const JsonValue& v, const std::string& p) { return projection(v, p); };
        if (const JsonValue* inputs = member(value, "inputs")) {
            result.inputs = named_lists<DocumentProjection>(*inputs, path + ".inputs", read);
        }
        if (const JsonValue* outputs = member(value, "outputs")) {
            result.outputs = named_lists<DocumentProjection>(*outputs, path + ".outputs", read);
        }
        return result;
    }

    DocumentTags tags(const JsonValue& value, const std::string& path, const std::string& node_type) {
        DocumentTags result;
        if (!kind(value, path, Kind::object)) return result;
        Names known = {document_names::sequence_point};
        if (node_type == "Operation" || node_type == "Application") known.push_back(document_names::index);
        if (node_type == "Operation") known.push_back(document_names::signature);
        std::set<std::string> seen;
        Names order;
        for (const JsonValue& item : value.items) {
            std::string name = item.name, item_path = path + "." + name;
            for (const std::string& prefix : {document_names::tag_types, document_names::old_tag_types}) {
                if (item.name.starts_with(prefix)) name = item.name.substr(prefix.size());
            }
            bool fits = name != item.name && std::find(known.begin(), known.end(), name) != known.end();
            if (!fits || !seen.insert(name).second) {
                error("graph.json_tag", item, item_path,
                      fmt::format("a node of type {} has no such tag, or has it twice", node_type),
                      fmt::format("{} and one of {}", document_names::tag_types, fmt::join(known, ", ")), item.name);
            } else if (name == document_names::signature) {
                result.signature = signature(item, item_path);
            } else if (name == document_names::index) {
                result.index = range(item, item_path);
            } else {
                result.sequence_point = print_json_tree(item);
            }
            order.push_back(std::move(name));
        }
        auto place = [](const std::string& name) {
            return name == document_names::signature ? 0 : name == document_names::index ? 1 : 2;
        };
        if (!std::ranges::is_sorted(order, {}, place)) result.order = std::move(order);
        return result;
    }

    void read_body(const JsonValue& value, const std::string& path, const std::string& type, DocumentNode& node) {
        if (type == "Note") node.body = note(value, path);
        if (type == "Tensor") node.body = tensor(value, path);
        if (type == "Operation") node.body = operation(value, path);
        if (type == "Application") node.body = application(value, path);
    }

    DocumentNode node(const JsonValue& value, const std::string& path) {
        DocumentNode result;
        if (!object(value, path, {"id", "type", "body"}, {"label", "tags", "annotations"})) return result;
        if (const JsonValue* id = member(value, "id")) {
            result.id = uuid(*id, path + ".id");
            if (!ids_.insert(result.id).second) {
                error("graph.json_uuid", *id, path + ".id", "two nodes have one id", "an id of its own", result.id);
            }
        }
        if (const JsonValue* label = member(value, "label")) result.label = string(*label, path + ".label");
        const JsonValue* type = member(value, "type");
        if (!type || !kind(*type, path + ".type", Kind::string)) return result;
        std::string name = type->text.starts_with(document_names::node_types)
                               ? type->text.substr(document_names::node_types.size())
                               : "";
        if (std::find(document_names::nodes.begin(), document_names::nodes.end(), name) ==
            document_names::nodes.end()) {
            error("graph.json_node_type", *type, path + ".type", "an unknown type of node",
                  fmt::format("{} and one of {}", document_names::node_types, fmt::join(document_names::nodes, ", ")),
                  type->text);
            return result;
        }
        if (const JsonValue* body = member(value, "body")) read_body(*body, path + ".body", name, result);
        const JsonValue *tagged = member(value, "tags"), *annotated = member(value, "annotations");
        if (tagged && annotated) {
            error("graph.json_key", *annotated, path + ".annotations", "both the new and the old key", "tags",
                  "annotations");
        } else if (tagged || annotated) {
            result.tags = tags(tagged ? *tagged : *annotated, path + (tagged ? ".tags" : ".annotations"), name);
        }
        return result;
    }

    std::shared_ptr<const SourceText> source_;
    std::set<std::string> ids_;
};

}  // namespace

Result<GraphDocument> parse_graph_json(std::shared_ptr<const SourceText> source) {
    auto tree = read_json_tree(source);
    if (!tree) return fail(std::move(tree.error()));
    DocumentReader reader(std::move(source));
    GraphDocument document = reader.document(*tree);
    if (!reader.errors.empty()) return fail(std::move(reader.errors));
    return document;
}

}  // namespace heddle::interchange
