#include "language/unused.h"

#include <set>

#include <fmt/format.h>

namespace heddle {
namespace {

using Kind = Syntax::Kind;

class Uses {
public:
    explicit Uses(const Template& made) : made_(made) {
        for (const auto* statements : {&made.body, &made.graph, &made.grad})
            for (const SyntaxPointer& statement : *statements) add(statement);
        for (const StaticLet& let : made.lets) add(let.value);
        for (const Requirement& requirement : made.requirements) add(requirement.condition);
        for (const Parameter& parameter : made.params)
            for (const SyntaxPointer& part : {parameter.type.length, parameter.type.of, parameter.default_value}) add(part);
        if (made.each) add(made.each->count);
        add(made.index);
        for (const TensorSpec& output : made.outputs)
            for (const SyntaxPointer& part : {output.shape, output.dtype, output.ipf}) add(part);
        for (const TensorSpec& input : made.inputs) add(input.ipf);
    }

    bool has(const std::string& name) const { return names_.contains(name); }
    bool has_static(const std::string& name) const { return statics_.contains(name); }

    // An input may be there for its shape or dtype alone.
    bool uses_what_it_binds(const TensorSpec& input) const {
        bool uses = input.dtype && input.dtype->kind == Kind::static_name && has_static(input.dtype->text);
        visit_all(input.shape, [&](const Syntax& node) { uses = uses || (!node.text.empty() && has_static(node.text)); });
        return uses;
    }

    // Of the other inputs' patterns.
    bool is_bound_elsewhere(const TensorSpec& input) const {
        for (const TensorSpec& other : made_.inputs) {
            if (&other == &input) continue;
            bool all = true;
            visit_all(input.shape, [&](const Syntax& node) {
                bool found = node.text.empty() || !has_static(node.text);
                visit_all(other.shape, [&](const Syntax& at) { found = found || at.text == node.text; });
                all = all && found;
            });
            const bool same_dtype = !input.dtype || input.dtype->kind != Kind::static_name ||
                                    (other.dtype && other.dtype->text == input.dtype->text);
            if (all && same_dtype) return true;
        }
        return false;
    }

    bool in_patterns(const std::string& name) const {
        bool found = false;
        for (const TensorSpec& input : made_.inputs)
            for (const SyntaxPointer& part : {input.shape, input.dtype})
                visit_all(part, [&](const Syntax& node) { found = found || node.text == name; });
        return found;
    }

private:
    void add(const SyntaxPointer& part) {
        visit_all(part, [&](const Syntax& node) {
            if (node.kind == Kind::static_name) statics_.insert(node.text);
            if (node.kind == Kind::static_name || node.kind == Kind::name || node.kind == Kind::index_name ||
                node.kind == Kind::call)
                names_.insert(node.text);
        });
    }

    const Template& made_;
    std::set<std::string> names_, statics_;
};

}  // namespace

Diagnostics unused_names(const Template& metakernel) {
    Diagnostics remarks;
    if (!metakernel.has_body() && !metakernel.is_composition()) return remarks;
    const Uses uses(metakernel);
    auto add = [&](const char* what, const std::string& name, const Place& place) {
        Diagnostic remark;
        remark.code = "language.unused";
        remark.summary = fmt::format("the {} `{}` of {} is not used", what, name, metakernel.name);
        remark.place = place;
        remark.remedy = "leave it out, or use it";
        remark.params.emplace_back("operator", metakernel.name);
        remarks.push_back(std::move(remark));
    };
    for (const Parameter& parameter : metakernel.params)
        if (!uses.has(parameter.name) && !uses.in_patterns(parameter.name) && !metakernel.onnx)
            add("parameter", parameter.name, parameter.place);
    for (const TensorSpec& input : metakernel.inputs)
        if (!uses.has(input.name) && (!uses.uses_what_it_binds(input) || uses.is_bound_elsewhere(input)) &&
            !metakernel.onnx)
            add("input", input.name, input.place);
    for (const StaticLet& let : metakernel.lets)
        if (!uses.has(let.name) && !uses.in_patterns(let.name)) add("let", let.name, let.place);
    for (const SyntaxPointer& statement : metakernel.body)
        visit_all(statement, [&](const Syntax& node) {
            if (node.kind == Kind::let && !uses.has(node.text)) add("let", node.text, node.mark);
        });
    return remarks;
}

}  // namespace heddle
