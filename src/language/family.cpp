#include "language/family.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "language/parser.h"

namespace heddle {

using Values = std::map<std::string, SyntaxPointer>;

SyntaxPointer substitute(const SyntaxPointer& syntax, const Values& values) {
    if (!syntax) return nullptr;
    if (syntax->kind == Syntax::Kind::static_name) {
        auto found = values.find(syntax->text);
        return found == values.end() ? syntax : found->second;
    }
    auto copy = std::make_shared<Syntax>(*syntax);
    bool changed = false;
    int below = 0;
    auto replace = [&](SyntaxPointer& part) {
        SyntaxPointer made = substitute(part, values);
        changed = changed || made != part;
        part = std::move(made);
        if (part) below = std::max(below, part->height);
    };
    for (auto& child : copy->children) replace(child);
    for (auto& generator : copy->generators)
        for (SyntaxPointer* part : {&generator.range, &generator.first, &generator.end}) replace(*part);
    for (auto& argument : copy->named) replace(argument.value);
    for (SyntaxPointer* part :
         {&copy->filter, &copy->value, &copy->initial, &copy->pick, &copy->offset, &copy->extents}) {
        replace(*part);
    }
    copy->height = below + 1;
    return changed ? copy : syntax;
}

namespace {

// Every tree of a template.
template <typename Visit>
void for_each_tree(Template& made, const Visit& replace) {
    for (Parameter& parameter : made.params) {
        replace(parameter.type.length);
        replace(parameter.type.of);
        replace(parameter.type.lowest);
        replace(parameter.type.highest);
        replace(parameter.default_value);
    }
    for (auto* tensors : {&made.inputs, &made.outputs}) {
        for (TensorSpec& tensor : *tensors) {
            replace(tensor.shape);
            replace(tensor.dtype);
            replace(tensor.ipf);
            replace(tensor.reads);
        }
    }
    for (Requirement& requirement : made.requirements) replace(requirement.condition);
    for (StaticLet& let : made.lets) replace(let.value);
    replace(made.index);
    if (made.each) replace(made.each->count);
    for (auto* statements : {&made.body, &made.graph, &made.grad}) {
        for (SyntaxPointer& statement : *statements) replace(statement);
    }
}

// Nodes that all members of a family may have together: values are shared where they are spliced, but checks walk them.
constexpr size_t expansion_limit = 2'000'000;

size_t node_count(const SyntaxPointer& syntax) {
    size_t count = 0;
    visit_all(syntax, [&](const Syntax&) { count++; });
    return count;
}

bool is_own_key(const std::string& key) { return key == "doc" || key == "onnx"; }

class FamilyExpander {
public:
    FamilyExpander(const Draft& base, DiagnosticSink& sink) : base_(base), sink_(sink) {}

    std::vector<Draft> run() {
        std::vector<Draft> members;
        if (!expect_mapping(*base_.family, "a family", sink_)) return members;
        for (const YamlEntry& entry : base_.family->entries) {
            for (const YamlEntry& value : entry.value.entries) {
                if (!is_own_key(value.name())) keys_.insert(value.name());
            }
        }
        for (const YamlEntry& entry : base_.family->entries) {
            if (spent_ > expansion_limit) break;
            bool named = check_name(entry.key, "an operator", sink_);
            if (!expect_mapping(entry.value, fmt::format("the member `{}`", entry.name()), sink_) || !named) continue;
            members.push_back(member(entry));
        }
        return members;
    }

private:
    Draft member(const YamlEntry& entry) {
        Draft draft = base_;
        draft.family = nullptr;
        draft.made.name = entry.name();
        draft.made.place = entry.key.place;
        if (draft.made.onnx && draft.made.onnx->name == base_.made.name) draft.made.onnx->name = entry.name();
        Values values = read_values(entry, draft);
        if (within_limit(draft.made, values, entry)) {
            for_each_tree(draft.made, [&](SyntaxPointer& part) { part = substitute(part, values); });
        } else {
            draft.incomplete = true;
        }
        return draft;
    }

    bool within_limit(Template& made, const Values& values, const YamlEntry& entry) {
        std::map<std::string, size_t> sizes;
        for (const auto& [name, value] : values) sizes[name] = node_count(value);
        for_each_tree(made, [&](SyntaxPointer& part) {
            spent_++;
            visit_all(part, [&](const Syntax& node) {
                auto value = node.kind == Syntax::Kind::static_name ? sizes.find(node.text) : sizes.end();
                spent_ += value == sizes.end() ? 1 : value->second;
            });
        });
        if (spent_ <= expansion_limit) return true;
        sink_.add({.code = "language.too_large",
                   .summary = fmt::format("the members of this family have more than {} nodes", expansion_limit),
                   .place = entry.key.place,
                   .remedy = "split the family"});
        return false;
    }

    Values read_values(const YamlEntry& entry, Draft& draft) {
        Values values;
        for (const YamlEntry& value : entry.value.entries) {
            if (value.name() == "doc") {
                if (value.value.is_scalar()) draft.made.doc = value.value.scalar.text;
            } else if (value.name() == "onnx") {
                draft.made.onnx = read_onnx(value.value, entry.name(), sink_);
            } else {
                read_value(value, draft, values);
            }
        }
        for (const std::string& key : keys_) {
            if (entry.value.entry(key) || draft.incomplete) continue;
            sink_.add({.code = "language.missing_key",
                       .summary = fmt::format("the member `{}` does not say `{}`", entry.name(), key),
                       .place = entry.key.place,
                       .reason = "other members of the family do",
                       .remedy = fmt::format("write {}: {{{}: ...}}", entry.name(), key)});
            draft.failed.insert(key);
        }
        return values;
    }

    void read_value(const YamlEntry& value, Draft& draft, Values& values) {
        const Template& base = base_.made;
        const std::string& key = value.name();
        if (base.parameter(key) || base.input(key) || base.let(key)) {
            sink_.add({.code = "language.duplicate_name",
                       .summary = fmt::format("`{}` is a value of the family and another name of the template", key),
                       .place = value.key.place,
                       .remedy = "rename one of the two"});
        }
        const Fragment* text = expression_text(value.value, "a member's value", sink_);
        SyntaxPointer parsed = text ? parse_element(*text, sink_) : nullptr;
        if (parsed) {
            values[key] = std::move(parsed);
        } else {
            draft.failed.insert(key);
        }
    }

    const Draft& base_;
    DiagnosticSink& sink_;
    std::set<std::string> keys_;
    size_t spent_ = 0;
};

}  // namespace

std::vector<Draft> expand_family(Draft draft, DiagnosticSink& sink) {
    if (draft.family) return FamilyExpander(draft, sink).run();
    std::vector<Draft> alone;
    alone.push_back(std::move(draft));
    return alone;
}

}  // namespace heddle
