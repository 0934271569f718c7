#include "language/sections.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "language/functions.h"
#include "language/keys.h"
#include "language/parser.h"

namespace heddle {

// ---------------------------------------------------------------- YAML helpers

const Fragment* expression_text(const YamlNode& node, const std::string& what, DiagnosticSink& sink) {
    if (node.refused) return nullptr;
    if (!node.is_scalar()) {
        sink.add({.code = "language.yaml_kind",
                  .summary = fmt::format("{} must be text", what),
                  .place = node.place,
                  .found = std::string(node.kind_name()),
                  .remedy = node.kind == YamlNode::Kind::empty ? "write it, or remove the key" : "quote it: \"[$n]\""});
        return nullptr;
    }
    if (node.folded) {
        sink.add({.code = "language.folded",
                  .summary = fmt::format("{} is folded over several lines", what),
                  .place = node.place,
                  .reason = "YAML joins such lines, and columns and comments are lost",
                  .remedy = "write it on one line, or as a block that begins with |"});
        return nullptr;
    }
    return &node.scalar;
}

bool expect_mapping(const YamlNode& node, const std::string& what, DiagnosticSink& sink) {
    if (node.is_mapping() || node.refused) return node.is_mapping();
    sink.add({.code = "language.yaml_kind",
              .summary = fmt::format("{} must be a mapping", what),
              .place = node.place,
              .found = std::string(node.kind_name()),
              .remedy = "write `name: value` lines, indented deeper"});
    return false;
}

bool check_name(const YamlNode& key, const std::string& what, DiagnosticSink& sink) {
    const std::string& name = key.scalar.text;
    if (!is_identifier(name)) {
        sink.add({.code = "language.name",
                  .summary = fmt::format("`{}` cannot name {}", name, what),
                  .place = key.place,
                  .remedy = "use letters, digits and _, beginning with a letter"});
        return false;
    }
    if (is_reserved(name)) {
        sink.add({.code = "language.reserved_word",
                  .summary = fmt::format("`{}` is a word of the language", name),
                  .place = key.place,
                  .remedy = "choose another name"});
        return false;
    }
    return true;
}

void report_unknown_key(const YamlNode& key, const std::string& where, const std::vector<std::string>& known,
                        DiagnosticSink& sink) {
    std::string nearest = nearest_name(key.scalar.text, known);
    sink.add({.code = "language.unknown_key",
              .summary = fmt::format("{} has no key `{}`", where, key.scalar.text),
              .place = key.place,
              .expected = fmt::format("{}", fmt::join(known, ", ")),
              .remedy = nearest.empty() ? "" : fmt::format("did you mean {}?", nearest)});
}

namespace {

// A word or sentence that is no expression.
std::string plain_text(const YamlNode& node, const std::string& what, DiagnosticSink& sink) {
    if (node.is_scalar() || node.refused) return node.scalar.text;
    sink.add({.code = "language.yaml_kind",
              .summary = fmt::format("{} must be text", what),
              .place = node.place,
              .found = std::string(node.kind_name())});
    return {};
}

std::optional<bool> truth(const YamlNode& node, const std::string& what, DiagnosticSink& sink) {
    if (node.is_scalar() && (node.scalar.text == "true" || node.scalar.text == "false"))
        return node.scalar.text == "true";
    sink.add(
        {.code = "language.yaml_kind", .summary = fmt::format("{} must be true or false", what), .place = node.place});
    return std::nullopt;
}

// ---------------------------------------------------------------- index projection functions

// Numbers and expressions as YAML lists, or text with brackets.
SyntaxPointer structured_value(const YamlNode& node, DiagnosticSink& sink) {
    if (!node.is_sequence()) {
        const Fragment* text = expression_text(node, "a field of a projection", sink);
        return text ? parse_element(*text, sink) : nullptr;
    }
    auto made = std::make_shared<Syntax>();
    made->kind = Syntax::Kind::list;
    made->place = made->mark = node.place;
    for (const YamlNode& item : node.items) {
        SyntaxPointer part = structured_value(item, sink);
        if (!part) return nullptr;
        made->height = std::max(made->height, part->height + 1);
        made->children.push_back(std::move(part));
    }
    return made;
}

bool structured_fields(const YamlNode& node, const std::vector<std::string>& known, Syntax& made,
                       DiagnosticSink& sink) {
    bool sound = true;
    for (const YamlEntry& entry : node.entries) {
        if (entry.name() == "affineMap" && entry.value.is_mapping()) {
            sound = structured_fields(entry.value, key_names(KeyOwner::affine_map), made, sink) && sound;
        } else if (std::find(known.begin(), known.end(), entry.name()) == known.end()) {
            report_unknown_key(entry.key, "a projection", known, sink);
            sound = false;
        } else if (SyntaxPointer value = structured_value(entry.value, sink)) {
            made.height = std::max(made.height, value->height + 1);
            made.named.push_back({entry.name(), value, entry.key.place});
        } else {
            sound = false;
        }
    }
    return sound;
}

SyntaxPointer read_ipf(const YamlNode& node, DiagnosticSink& sink) {
    if (!node.is_mapping()) {
        const Fragment* text = expression_text(node, "an index projection function", sink);
        return text ? parse_ipf(*text, sink) : nullptr;
    }
    auto made = std::make_shared<Syntax>();
    made->kind = Syntax::Kind::structured;
    made->place = made->mark = node.place;
    bool sound = structured_fields(node, key_names(KeyOwner::projection), *made, sink);
    for (const char* field : {"projection", "offset", "shape"}) {
        bool has_map = node.entry("map") && std::string_view(field) != "shape";
        bool given =
            std::any_of(made->named.begin(), made->named.end(), [&](const auto& n) { return n.name == field; });
        if (!sound || given || has_map) continue;
        sink.add({.code = "language.missing_key",
                  .summary = fmt::format("a structured projection needs `{}`", field),
                  .place = node.place,
                  .remedy = "write {affineMap: {projection: [[1, 0]], offset: [0]}, shape: [1]}"});
        sound = false;
    }
    return sound ? made : nullptr;
}

// ---------------------------------------------------------------- tensors

class TensorReader {
public:
    TensorReader(TensorSpec& made, bool is_input, DiagnosticSink& sink)
        : made_(made), is_input_(is_input), sink_(sink) {}

    // False if a pattern or a dtype did not parse.
    bool read(const YamlEntry& entry) {
        made_.name = entry.name();
        made_.place = entry.key.place;
        if (!entry.value.is_mapping()) return short_form(entry.value);
        for (const YamlEntry& field : entry.value.entries) read_field(field);
        return sound_;
    }

private:
    bool short_form(const YamlNode& node) {
        const Fragment* text = expression_text(node, "a tensor", sink_);
        auto type = text ? parse_tensor_type(*text, is_input_, sink_) : std::nullopt;
        if (!type) return false;
        made_.dtype = type->dtype;
        made_.shape = type->shape;
        made_.optional = type->optional;
        made_.variadic = type->variadic;
        return true;
    }

    void read_field(const YamlEntry& field) {
        const std::string& key = field.name();
        const YamlNode& value = field.value;
        if (key == "shape") {
            const Fragment* text = expression_text(value, "a shape", sink_);
            made_.shape = !text ? nullptr : is_input_ ? parse_pattern(*text, sink_) : parse_list(*text, sink_);
            sound_ = sound_ && made_.shape;
        } else if (key == "dtype") {
            const Fragment* text = expression_text(value, "a dtype", sink_);
            made_.dtype = text ? parse_expression(*text, sink_) : nullptr;
            sound_ = sound_ && made_.dtype;
        } else if (key == "ipf") {
            made_.ipf = read_ipf(value, sink_);
        } else if (key == "reads" && is_input_) {
            if (const Fragment* text = expression_text(value, "the number of a tensor", sink_))
                made_.reads = parse_expression(*text, sink_);
        } else if (key == "placement") {
            made_.placement = plain_text(value, "a placement", sink_);
        } else if (key == "flavour") {
            read_flavour(value);
        } else if (key == "optional") {
            made_.optional = truth(value, "optional", sink_).value_or(false);
        } else if (key == "variadic") {
            made_.variadic = truth(value, "variadic", sink_).value_or(false);
        } else if (key == "overwrites" && !is_input_) {
            made_.overwrites = plain_text(value, "overwrites", sink_);
            made_.overwrites_place = value.place;
        } else if (key == "doc") {
            made_.doc = plain_text(value, "doc", sink_);
        } else {
            report_unknown_key(field.key, is_input_ ? "an input" : "an output",
                               key_names(is_input_ ? KeyOwner::input : KeyOwner::output), sink_);
        }
    }

    void read_flavour(const YamlNode& value) {
        std::string word = plain_text(value, "a flavour", sink_);
        if (word == "concrete") {
            made_.flavour = Flavour::concrete;
        } else if (word == "transparent") {
            made_.flavour = Flavour::transparent;
        } else {
            sink_.add({.code = "language.flavour",
                       .summary = fmt::format("`{}` is not a flavour", word),
                       .place = value.place,
                       .remedy = "write concrete (its value must be known) or transparent (it passes unopened)"});
        }
    }

    TensorSpec& made_;
    bool is_input_;
    DiagnosticSink& sink_;
    bool sound_ = true;
};

std::vector<TensorSpec> read_tensors(const YamlNode& node, bool is_input, Draft& draft, DiagnosticSink& sink) {
    std::vector<TensorSpec> tensors;
    if (!expect_mapping(node, is_input ? "inputs" : "outputs", sink)) draft.incomplete = true;
    constexpr size_t tensor_limit = 1024;
    for (const YamlEntry& entry : node.entries) {
        if (tensors.size() == tensor_limit) {
            sink.add({.code = "language.too_large",
                      .summary = fmt::format("more than {} tensors", tensor_limit),
                      .place = entry.key.place,
                      .remedy = "use a variadic one: \"$T[$n]*\""});
            draft.incomplete = true;
            break;
        }
        TensorSpec tensor;
        bool named = check_name(entry.key, "a tensor", sink);
        bool sound = TensorReader(tensor, is_input, sink).read(entry);
        if (!named || !sound) draft.incomplete = true;
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

// ---------------------------------------------------------------- constraints, kernels

void read_dtypes(const YamlEntry& entry, Draft& draft, DiagnosticSink& sink) {
    const YamlNode* list = &entry.value;
    if (list->is_mapping() && list->entries.size() == 1 && list->entries[0].name() == "enum")
        list = &list->entries[0].value;
    if (!list->is_sequence()) {
        sink.add({.code = "language.yaml_kind",
                  .summary = fmt::format("the dtypes of `{}` must be a list", entry.name()),
                  .place = list->place,
                  .found = std::string(list->kind_name()),
                  .remedy = "write {T: [float32, float64]}"});
        return;
    }
    DTypeConstraint constraint{entry.name(), {}, entry.key.place};
    for (const YamlNode& item : list->items) {
        std::string name = plain_text(item, "a dtype", sink);
        if (!is_dtype_name(name)) {
            std::string nearest = nearest_name(name, dtype_names());
            sink.add({.code = "language.unknown_dtype",
                      .summary = fmt::format("`{}` is not a dtype", name),
                      .place = item.place,
                      .remedy = nearest.empty() ? "" : fmt::format("did you mean {}?", nearest)});
        }
        constraint.dtype_names.push_back(std::move(name));
    }
    draft.made.dtypes.push_back(std::move(constraint));
}

void read_requirement(const YamlNode& node, std::vector<Requirement>& requirements, DiagnosticSink& sink) {
    if (!node.is_sequence() || node.items.size() != 2) {
        sink.add({.code = "language.yaml_kind",
                  .summary = "a requirement is a pair of a condition and a message",
                  .place = node.place,
                  .remedy = "write [\"$chunk > 0\", \"chunk must be positive\"]"});
        return;
    }
    const Fragment* text = expression_text(node.items[0], "a condition", sink);
    SyntaxPointer condition = text ? parse_expression(*text, sink) : nullptr;
    std::string message = plain_text(node.items[1], "a message", sink);
    if (condition) requirements.push_back({condition, message});
}

void read_constraints(const YamlNode& node, Draft& draft, DiagnosticSink& sink) {
    if (!expect_mapping(node, "constraints", sink)) return;
    for (const YamlEntry& entry : node.entries) {
        if (entry.name() != "require") {
            read_dtypes(entry, draft, sink);
        } else {
            draft.made.requirements = read_requirements(entry.value, sink);
        }
    }
}

void read_kernels(const YamlNode& node, Draft& draft, DiagnosticSink& sink) {
    auto read = [&](const YamlNode& row) {
        const Fragment* text = expression_text(row, "a row of kernels", sink);
        auto parsed = text ? parse_kernel_row(*text, sink) : std::nullopt;
        if (parsed) draft.made.kernels.push_back(std::move(*parsed));
    };
    if (!node.is_sequence()) return read(node);
    for (const YamlNode& row : node.items) read(row);
}

void read_reduces(const YamlNode& node, Draft& draft, DiagnosticSink& sink) {
    if (!expect_mapping(node, "reduces", sink)) return;
    for (const YamlEntry& entry : node.entries) {
        std::string combiner = plain_text(entry.value, "a combiner", sink);
        if (is_reduction_name(combiner) && !is_combiner(combiner)) {
            sink.add({.code = "language.reduces",
                      .summary = fmt::format("`{}` does not join partial results", combiner),
                      .place = entry.value.place,
                      .remedy = "write sum, prod, min, max, any, all, or the name of an operator of two tensors"});
        }
        draft.made.reduces.push_back({entry.name(), combiner, entry.key.place, entry.value.place});
    }
}

}  // namespace

std::vector<Requirement> read_requirements(const YamlNode& node, DiagnosticSink& sink) {
    std::vector<Requirement> requirements;
    if (!node.is_sequence()) {
        sink.add({.code = "language.yaml_kind",
                  .summary = "require must be a list of pairs",
                  .place = node.place,
                  .found = std::string(node.kind_name()),
                  .remedy = "write [[\"$chunk > 0\", \"chunk must be positive\"]]"});
    }
    for (const YamlNode& item : node.items) read_requirement(item, requirements, sink);
    return requirements;
}

// ---------------------------------------------------------------- parameters, lets, onnx

std::vector<Parameter> read_parameters(const YamlNode& node, Draft& draft, DiagnosticSink& sink) {
    std::vector<Parameter> parameters;
    if (!expect_mapping(node, "params", sink)) draft.incomplete = true;
    for (const YamlEntry& entry : node.entries) {
        const YamlNode* type = &entry.value;
        const YamlNode* default_value = nullptr;
        if (type->is_mapping()) {
            for (const YamlEntry& field : entry.value.entries) {
                if (field.name() == "default") {
                    default_value = &field.value;
                } else if (field.name() != "type" && field.name() != "doc") {
                    report_unknown_key(field.key, "a parameter", key_names(KeyOwner::parameter), sink);
                }
            }
            const YamlEntry* given = entry.value.entry("type");
            type = given ? &given->value : type;
        }
        bool named = check_name(entry.key, "a parameter", sink);
        const Fragment* text = expression_text(*type, "a parameter's type", sink);
        auto parsed = text ? parse_parameter(*text, sink) : std::nullopt;
        const Fragment* value = default_value ? expression_text(*default_value, "a default", sink) : nullptr;
        if (parsed && value) parsed->default_value = parse_expression(*value, sink);
        if (!named || !parsed) {
            draft.failed.insert(entry.name());
            continue;
        }
        parsed->name = entry.name();
        parsed->place = entry.key.place;
        parameters.push_back(std::move(*parsed));
    }
    return parameters;
}

std::vector<StaticLet> read_static_lets(const YamlNode& node, Draft& draft, DiagnosticSink& sink) {
    std::vector<StaticLet> lets;
    const Fragment* text = expression_text(node, "let", sink);
    if (!text) {
        draft.incomplete = true;
        return lets;
    }
    std::vector<std::string> failed;
    for (auto& let : parse_static_lets(*text, sink, failed)) {
        lets.push_back({std::move(let.name), std::move(let.value), std::move(let.place)});
    }
    draft.failed.insert(failed.begin(), failed.end());
    return lets;
}

std::optional<OnnxKey> read_onnx(const YamlNode& node, const std::string& default_name, DiagnosticSink& sink) {
    if (!expect_mapping(node, "onnx", sink)) return std::nullopt;
    OnnxKey key;
    key.name = default_name;
    for (const YamlEntry& field : node.entries) {
        if (field.name() == "domain") {
            key.domain = plain_text(field.value, "a domain", sink);
            if (key.domain == "ai.onnx") key.domain.clear();
        } else if (field.name() == "name") {
            key.name = plain_text(field.value, "an operator's name", sink);
        } else if (field.name() == "since") {
            std::string text = plain_text(field.value, "since", sink);
            auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), key.since);
            if (status != std::errc{} || end != text.data() + text.size() || key.since < 1) {
                sink.add({.code = "language.onnx_since",
                          .summary = fmt::format("`{}` is not a version", text),
                          .place = field.value.place,
                          .remedy = "write the first opset version, as since: 13"});
                key.since = 1;
            }
        } else {
            report_unknown_key(field.key, "onnx", key_names(KeyOwner::onnx), sink);
        }
    }
    return key;
}

// ---------------------------------------------------------------- one metakernel

namespace {

class TemplateReader {
public:
    TemplateReader(Draft& draft, DiagnosticSink& sink) : draft_(draft), made_(draft.made), sink_(sink) {}

    void read(const YamlNode& node) {
        for (const YamlEntry& section : node.entries) read_section(section);
        if (!node.entry("outputs") && !draft_.incomplete) {
            sink_.add({.code = "language.missing_key",
                       .summary = fmt::format("`{}` has no outputs", made_.name),
                       .place = made_.place,
                       .remedy = "write outputs: {y: \"$T\"}"});
            draft_.incomplete = true;
        }
        const YamlEntry* body = node.entry("body");
        const YamlEntry* graph = node.entry("graph");
        if (body && graph) {
            sink_.add({.code = "language.body_and_graph",
                       .summary = fmt::format("`{}` has both a body and a graph", made_.name),
                       .place = graph->key.place,
                       .reason = "a composition is made of other operators' bodies",
                       .remedy = "remove one of the two",
                       .contexts = {{"the body is here", body->key.place}}});
        }
    }

private:
    void read_section(const YamlEntry& section) {
        const std::string& key = section.name();
        const YamlNode& value = section.value;
        if (key == "doc") {
            made_.doc = plain_text(value, "doc", sink_);
        } else if (key == "params") {
            made_.params = read_parameters(value, draft_, sink_);
        } else if (key == "inputs") {
            made_.inputs = read_tensors(value, true, draft_, sink_);
        } else if (key == "outputs") {
            made_.outputs = read_tensors(value, false, draft_, sink_);
        } else if (key == "constraints") {
            read_constraints(value, draft_, sink_);
        } else if (key == "let") {
            made_.lets = read_static_lets(value, draft_, sink_);
        } else if (key == "index") {
            read_index(value);
        } else if (key == "each") {
            read_each(value);
        } else if (key == "body") {
            read_statements(value, "a body", made_.body, parse_body);
        } else if (key == "graph") {
            read_statements(value, "a graph", made_.graph, parse_graph);
        } else if (key == "grad") {
            read_statements(value, "a gradient rule", made_.grad, parse_graph);
        } else if (key == "kernels") {
            read_kernels(value, draft_, sink_);
        } else if (key == "reduces") {
            read_reduces(value, draft_, sink_);
        } else if (key == "onnx") {
            made_.onnx = read_onnx(value, made_.name, sink_);
        } else if (key == "family") {
            draft_.family = &value;
        } else {
            report_unknown_key(section.key, fmt::format("`{}`", made_.name), key_names(KeyOwner::metakernel), sink_);
            draft_.incomplete = true;
        }
    }

    void read_index(const YamlNode& value) {
        const Fragment* text = expression_text(value, "an index", sink_);
        made_.index = text ? parse_list(*text, sink_) : nullptr;
        if (!made_.index) draft_.incomplete = true;
    }

    void read_each(const YamlNode& value) {
        const Fragment* text = expression_text(value, "each", sink_);
        made_.each = text ? parse_iteration(*text, sink_) : std::nullopt;
        if (!made_.each) draft_.incomplete = true;
    }

    using Statements = std::vector<SyntaxPointer>;
    using StatementParser = Statements (*)(const Fragment&, DiagnosticSink&, std::vector<std::string>&);

    void read_statements(const YamlNode& value, const char* what, Statements& into, StatementParser parse) {
        const Fragment* text = expression_text(value, what, sink_);
        if (!text) return;
        std::vector<std::string> failed;
        into = parse(*text, sink_, failed);
        draft_.failed.insert(failed.begin(), failed.end());
        if (into.empty() && failed.empty()) {
            sink_.add({.code = "language.empty_block",
                       .summary = fmt::format("{} has no statements", what),
                       .place = value.place,
                       .remedy = "write y = ..., or remove the key"});
        }
    }

    Draft& draft_;
    Template& made_;
    DiagnosticSink& sink_;
};

// `parts[$i] = ...` with one bracket: of a variadic output it picks the tensor.
SyntaxPointer with_pick(const SyntaxPointer& statement, const Template& made) {
    if (statement->kind == Syntax::Kind::parallel_block || statement->kind == Syntax::Kind::scan_block) {
        auto copy = std::make_shared<Syntax>(*statement);
        for (SyntaxPointer& child : copy->children) child = with_pick(child, made);
        return copy;
    }
    const TensorSpec* output = made.output(statement->text);
    bool picks = statement->kind == Syntax::Kind::equation && output && output->variadic && !statement->pick &&
                 statement->children.size() == 1;
    if (!picks) return statement;
    auto copy = std::make_shared<Syntax>(*statement);
    copy->pick = copy->children[0];
    copy->children.clear();
    copy->has_left = false;
    return copy;
}

}  // namespace

Draft read_template(const YamlEntry& entry, bool incomplete, DiagnosticSink& sink) {
    Draft draft;
    draft.incomplete = incomplete;
    draft.made.name = entry.name();
    draft.made.place = entry.key.place;
    if (!expect_mapping(entry.value, fmt::format("the metakernel `{}`", entry.name()), sink)) {
        draft.incomplete = true;
        return draft;
    }
    TemplateReader(draft, sink).read(entry.value);
    for (SyntaxPointer& statement : draft.made.body) statement = with_pick(statement, draft.made);
    return draft;
}

}  // namespace heddle
