#include "frontends/onnx/model.h"

#include <fmt/format.h>

#include "frontends/onnx/tensor_proto.h"
#include "support/file.h"

namespace heddle::onnx {
namespace {

constexpr int deepest_graph = 32;  // graphs in attributes of graphs

class ModelReader {
public:
    ModelReader(FileContext file) : file_(std::move(file)) {}

    Result<OnnxModel> model(Bytes message) {
        OnnxModel model{.path = file_.path};
        bool has_graph = false;
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) model.ir_version = field->as_signed();
            if (field->number == 8) opset(field->bytes, model);
            if (field->number == 7 && field->type == Field::Type::bytes) {
                has_graph = true;
                model.graph = graph(field->bytes, 0);
            }
        }
        if (!problems_.empty()) return fail(std::move(problems_));
        if (reader.failed() && (has_graph || model.ir_version > 0)) return truncated(file_, "the model");
        if (reader.failed() || !has_graph) {
            return fail({.code = "onnx.not_a_model",
                         .summary = fmt::format("'{}' is not an ONNX model", file_.path),
                         .params = {{"file", file_.path}}});
        }
        return model;
    }

private:
    static std::string domain(std::string_view name) { return name == "ai.onnx" ? "" : std::string(name); }

    void opset(Bytes message, OnnxModel& model) {
        std::string name;
        int64_t version = 0;
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1) name = domain(field->as_text());
            if (field->number == 2) version = field->as_signed();
        }
        model.opsets[name] = version;
    }

    void cut(const Reader& reader, const std::string& where) {
        if (!reader.failed() || !problems_.empty()) return;
        auto diagnostics = truncated(file_, where);
        problems_ = std::move(diagnostics.error());
    }

    OnnxGraph graph(Bytes message, int depth) {
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
            case 11: graph.inputs.push_back(value(field->bytes)); break;
            case 12: graph.outputs.push_back(value(field->bytes)); break;
            default: break;
            }
        }
        cut(reader, "a graph");
        return graph;
    }

    std::optional<OnnxTensor> tensor(Bytes message) {
        auto tensor = read_tensor(file_, message);
        if (tensor) return std::move(*tensor);
        problems_.insert(problems_.end(), tensor.error().begin(), tensor.error().end());
        return std::nullopt;
    }

    OnnxNode node(Bytes message, int depth) {
        OnnxNode node;
        Reader reader(message);
        while (auto field = reader.next()) {
            switch (field->number) {
            case 1: node.inputs.emplace_back(field->as_text()); break;
            case 2: node.outputs.emplace_back(field->as_text()); break;
            case 3: node.name = field->as_text(); break;
            case 4: node.operator_type = field->as_text(); break;
            case 5: node.attributes.push_back(attribute(field->bytes, depth)); break;
            case 7: node.domain = domain(field->as_text()); break;
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
            case 9: a.texts.emplace_back(field->as_text()); break;
            case 20: type = field->as_signed(); break;
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

    void type(Bytes message, OnnxValue& value) {
        Reader reader(message);
        while (auto field = reader.next()) {
            if (field->number == 1 && field->type == Field::Type::bytes) {
                tensor_type(field->bytes, value);
            } else {
                value.type_text = field->number == 4   ? "sequence"
                                  : field->number == 9 ? "optional"
                                                       : "a type that is no tensor";
            }
        }
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
    Diagnostics problems_;
};

}  // namespace

std::string OnnxNode::label() const { return !name.empty() ? name : outputs.empty() ? operator_type : outputs.front(); }

bool is_branch(const OnnxNode& node) { return node.domain.empty() && node.operator_type == "If"; }

const OnnxGraph* branch_of(const OnnxNode& node, bool condition) {
    for (const OnnxAttribute& attribute : node.attributes) {
        if (attribute.name == (condition ? "then_branch" : "else_branch")) return attribute.graph.get();
    }
    return nullptr;
}

Diagnostic external_data(const std::string& file, const std::string& first, int64_t tensors) {
    return {
        .code = "onnx.external_data",
        .summary = fmt::format("the data of {} lie in another file",
                               tensors == 1 ? fmt::format("tensor '{}'", first)
                                            : fmt::format("{} tensors, of which '{}' is the first,", tensors, first)),
        .reason = "files beside the model are not read",
        .remedy = "save the model with its weights inside",
        .params = {{"file", file}, {"tensor", first}, {"count", std::to_string(tensors)}}};
}

Result<OnnxModel> parse_model(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner) {
    return ModelReader({path, std::move(owner)}).model(bytes);
}

Result<OnnxTensor> parse_tensor(const std::string& path, Bytes bytes, std::shared_ptr<const void> owner) {
    auto tensor = read_tensor({path, std::move(owner)}, bytes);
    if (tensor && tensor->is_external) return fail(external_data(path, tensor->name, 1));
    return tensor;
}

Result<OnnxModel> read_model(const std::string& path) {
    auto file = map_file(path);
    if (!file) return fail(std::move(file.error()));
    return parse_model(path, file->bytes, file->owner);
}

}  // namespace heddle::onnx
