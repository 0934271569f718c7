#include "frontends/onnx/model.h"

#include <set>

#include <fmt/format.h>

#include "frontends/onnx/functions.h"
#include "frontends/onnx/order.h"
#include "frontends/onnx/tensor_proto.h"
#include "support/descriptor.h"
#include "support/file.h"

namespace heddle::onnx {
namespace {

constexpr int deepest_graph = 32;  // graphs in attributes of graphs

class ModelReader {
public:
    ModelReader(FileContext file, OpenDataFile open) : file_(std::move(file)), external_(std::move(open)) {}

    Result<OnnxModel> model(Bytes message) {
        OnnxModel model{.path = file_.path};
        bool has_graph = false;
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) model.ir_version = field->as_signed();
            if (field->number == 8) opset(field->bytes, model.opsets);
            describe(*field, model.metadata);
            if (field->number == 25) model.functions.push_back(function(field->bytes));
            if (field->number == 7 && field->type == Field::Type::bytes) {
                has_graph = true;
                model.graph = graph(field->bytes, 0, &model.metadata.graph_description);
            }
        }
        if (!problems_.empty()) return fail(std::move(problems_));
        if (reader.failed() && (has_graph || model.ir_version > 0)) return truncated(file_, "the model");
        if (reader.failed() || !has_graph) {
            return fail({.code = "onnx.not_a_model",
                         .summary = fmt::format("'{}' is not an ONNX model", file_.path),
                         .params = {{"file", file_.path}}});
        }
        if (auto fine = link_functions(model); !fine) return fail(std::move(fine.error()));
        if (auto fine = order_nodes(model); !fine) return fail(std::move(fine.error()));
        model.data_files = external_.paths();
        model.data_problems = external_.problems();
        return model;
    }

private:
    static std::string domain(std::string name) { return name == "ai.onnx" ? std::string() : name; }

    static void describe(const Field& field, OnnxMetadata& metadata) {
        switch (field.number) {
        case 2: metadata.producer_name = field.as_text(); break;
        case 3: metadata.producer_version = field.as_text(); break;
        case 4: metadata.domain = field.as_text(); break;
        case 5: metadata.version = field.as_signed(); break;
        case 6: metadata.description = field.as_text(); break;
        case 14: property(field.bytes, metadata.properties); break;
        default: break;
        }
    }

    static void property(Bytes message, std::map<std::string, std::string>& properties) {
        std::string key, value;
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) key = field->as_text();
            if (field->number == 2) value = field->as_text();
        }
        properties.insert_or_assign(std::move(key), std::move(value));
    }

    void opset(Bytes message, Opsets& opsets) {
        std::string name;
        int64_t version = 0;
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) name = domain(field->as_text());
            if (field->number == 2) version = field->as_signed();
        }
        opsets[name] = version;
    }

    void cut(const Reader& reader, const std::string& where) {
        if (!reader.failed() || !problems_.empty()) return;
        auto diagnostics = truncated(file_, where);
        problems_ = std::move(diagnostics.error());
    }

    OnnxGraph graph(Bytes message, int depth, std::string* description = nullptr) {
        OnnxGraph graph;
        if (depth > deepest_graph) {
            if (problems_.empty())
                problems_.push_back({.code = "onnx.not_a_model", .summary = "graphs are nested too deep"});
            return graph;
        }
        Reader reader(message);
        while (auto field = reader.next()) {
            switch (field->number) {
            case 1: graph.nodes.push_back(node(field->bytes, depth)); break;
            case 2: graph.name = field->as_text(); break;
            case 5:
                if (auto tensor = this->tensor(field->bytes)) graph.initializers.push_back(std::move(*tensor));
                break;
            case 10:
                if (description) *description = field->as_text();
                break;
            case 11: graph.inputs.push_back(value(field->bytes)); break;
            case 12: graph.outputs.push_back(value(field->bytes)); break;
            default: break;
            }
        }
        cut(reader, "a graph");
        return graph;
    }

    OnnxFunction function(Bytes message) {
        OnnxFunction function;
        Reader reader(message);
        while (auto field = reader.next()) {
            switch (field->number) {
            case 1: function.name = field->as_text(); break;
            case 4: function.inputs.push_back(field->as_text()); break;
            case 5: function.outputs.push_back(field->as_text()); break;
            case 7: function.graph.nodes.push_back(node(field->bytes, 0)); break;
            case 9: opset(field->bytes, function.opsets); break;
            case 10: function.domain = domain(field->as_text()); break;
            case 11: function.defaults.push_back(attribute(field->bytes, 0)); break;
            case 13: function.overload = field->as_text(); break;
            default: break;
            }
        }
        cut(reader, "a function");
        return function;
    }

    std::optional<OnnxTensor> tensor(Bytes message) {
        auto tensor = read_tensor(file_, external_, message);
        if (tensor) return std::move(*tensor);
        problems_.insert(problems_.end(), tensor.error().begin(), tensor.error().end());
        return std::nullopt;
    }

    OnnxNode node(Bytes message, int depth) {
        OnnxNode node{.bytes = static_cast<int64_t>(message.size())};
        Reader reader(message);
        while (auto field = reader.next()) {
            switch (field->number) {
            case 1: node.inputs.push_back(field->as_text()); break;
            case 2: node.outputs.push_back(field->as_text()); break;
            case 3: node.name = field->as_text(); break;
            case 4: node.operator_type = field->as_text(); break;
            case 5:
                node.attributes.push_back(attribute(field->bytes, depth));
                if (node.attributes.back().tensor || node.attributes.back().graph)
                    node.bytes -= static_cast<int64_t>(field->bytes.size());
                break;
            case 7: node.domain = domain(field->as_text()); break;
            case 8: node.overload = field->as_text(); break;
            default: break;
            }
        }
        cut(reader, "a node");
        return node;
    }

    OnnxAttribute attribute(Bytes message, int depth) {
        using Kind = OnnxAttribute::Kind;
        OnnxAttribute a;
        int64_t type = 0;
        bool complete = true;
        Reader reader(message);
        while (auto field = reader.next()) {
            switch (field->number) {
            case 1: a.name = field->as_text(); break;
            case 2: a.real = field->as_float(); break;
            case 3: a.integer = field->as_signed(); break;
            case 4: a.text = field->as_text(); break;
            case 5: a.tensor = tensor(field->bytes); break;
            case 6: a.graph = std::make_shared<OnnxGraph>(graph(field->bytes, depth + 1)); break;
            case 7: complete &= append_floats(*field, a.reals); break;
            case 8: complete &= append_integers(*field, a.integers); break;
            case 9: a.texts.push_back(field->as_text()); break;
            case 20: type = field->as_signed(); break;
            case 21: a.reference = field->as_text(); break;
            default: break;
            }
        }
        if (!complete && problems_.empty()) problems_ = truncated(file_, "an attribute").error();
        cut(reader, "an attribute");
        constexpr Kind kinds[] = {Kind::none,  Kind::real,  Kind::integer,  Kind::text, Kind::tensor,
                                  Kind::graph, Kind::reals, Kind::integers, Kind::texts};
        a.kind = type >= 0 && type < 9 ? kinds[type] : Kind::other;
        return a;
    }

    OnnxValue value(Bytes message) {
        OnnxValue value{.type_text = "no type"};
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) value.name = field->as_text();
            if (field->number == 2) type(field->bytes, value);
        }
        cut(reader, "the type of a value");
        return value;
    }

    void type(Bytes message, OnnxValue& value, int depth = 0) {
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1 && field->type == Field::Type::bytes) {
                tensor_type(field->bytes, value);
            } else {
                const std::string around = field->number == 4 ? "sequence" : field->number == 9 ? "optional" : "";
                value.type_text = "a type that is no tensor";
                if (around.empty()) continue;
                value.element = std::make_shared<OnnxValue>(element(field->bytes, depth));
                value.type_text = fmt::format("{}({})", around, value.element->type_text);
            }
        }
    }

    // What a value of the type holds.
    OnnxValue element(Bytes message, int depth) {
        OnnxValue element{.type_text = "no type"};
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1 && depth < deepest_graph) type(field->bytes, element, depth + 1);
        }
        return element;
    }

    void tensor_type(Bytes message, OnnxValue& value) {
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) {
                value.dtype = dtype_of(field->as_signed());
                value.type_text = type_name(field->as_signed());
            }
            if (field->number == 2) {
                value.has_shape = true;
                shape(field->bytes, value);
            }
        }
    }

    static void shape(Bytes message, OnnxValue& value) {
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number != 1) continue;
            OnnxDimension dimension;
            Reader inner(field->bytes);
            while (auto part = inner.next()) {
                if (part->number == 1) dimension.value = part->as_signed();
                if (part->number == 2) dimension.name = part->as_text();
            }
            value.shape.push_back(std::move(dimension));
        }
    }

    FileContext file_;
    ExternalData external_;
    Diagnostics problems_;
};

}  // namespace

std::string OnnxNode::label() const { return !name.empty() ? name : outputs.empty() ? operator_type : outputs.front(); }

bool is_branch(const OnnxNode& node) { return node.function < 0 && node.domain.empty() && node.operator_type == "If"; }

bool is_list(const OnnxValue& value) {
    return value.type_text.starts_with("sequence(") || value.type_text.starts_with("optional(");
}

bool is_optional(const OnnxValue& value) { return value.type_text.starts_with("optional("); }

bool is_step(const OnnxNode& node) {
    static const std::set<std::string_view> steps = {
        "Loop",           "Scan",          "SequenceMap",        "SequenceEmpty",    "SequenceConstruct",
        "SequenceInsert", "SequenceErase", "SequenceAt",         "SequenceLength",   "SplitToSequence",
        "ConcatFromSequence", "Optional",  "OptionalHasElement", "OptionalGetElement"};
    return node.function < 0 && node.domain.empty() && steps.contains(node.operator_type);
}

const OnnxGraph* branch_of(const OnnxNode& node, bool condition) {
    for (const OnnxAttribute& attribute : node.attributes) {
        if (attribute.name == (condition ? "then_branch" : "else_branch")) return attribute.graph.get();
    }
    return nullptr;
}

int64_t OnnxModel::opset_of(const OnnxFunction* function, const std::string& domain) const {
    if (function) {
        auto own = function->opsets.find(domain);
        if (own != function->opsets.end()) return own->second;
    }
    auto found = opsets.find(domain);
    return found == opsets.end() ? 0 : found->second;
}

Result<OnnxModel> parse_model(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner,
                              OpenDataFile open) {
    return ModelReader({path, std::move(owner)}, std::move(open)).model(bytes);
}

Result<OnnxTensor> parse_tensor(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner,
                                OpenDataFile open) {
    ExternalData external(std::move(open));
    auto tensor = read_tensor({path, std::move(owner)}, external, bytes);
    if (auto problems = external.problems(); !problems.empty()) return fail(std::move(problems));
    return tensor;
}

Result<OnnxModel> read_model(const std::string& path) {
    auto file = map_file(path);
    if (!file) return fail(std::move(file.error()));
    auto model = parse_model(path, file->bytes, file->owner, data_files_beside(path));
    give_back_pages(file->owner, file->bytes);  // the system may map more of a large file than was looked at
    return model;
}

Result<OnnxTensor> read_tensor(const std::string& path) {
    auto file = map_file(path);
    if (!file) return fail(std::move(file.error()));
    return parse_tensor(path, file->bytes, file->owner, data_files_beside(path));
}

}  // namespace heddle::onnx
