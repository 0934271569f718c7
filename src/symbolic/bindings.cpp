// What patterns and dtypes bind, apart from shapes: dtype variables, and the printing of all bindings.
#include <fmt/format.h>

#include <algorithm>

#include "symbolic/environment_state.h"

namespace heddle {
namespace {

using Value = StaticValue;
using Kind = Syntax::Kind;

}  // namespace

Result<void> match_dtypes(Environment& environment) {
    Environment::State& state = environment.state();
    std::vector<std::pair<const Syntax*, const BoundTensor*>> expressions;
    for (BoundInput& input : state.inputs) {
        const Syntax* dtype = input.spec->dtype.get();
        if (!dtype) continue;
        for (BoundTensor& tensor : input.tensors) {
            NameSlot* slot = dtype->kind == Kind::static_name ? state.slot(dtype->text) : nullptr;
            if (!slot || slot->kind != NameSlot::Kind::variable) {
                expressions.emplace_back(dtype, &tensor);
                continue;
            }
            if (slot->phase != NameSlot::Phase::known) {
                slot->phase = NameSlot::Phase::known;
                slot->value = Value::of(tensor.type.dtype);
                slot->bound_at = dtype->place;
                slot->bound_by = tensor.name;
            } else if (!slot->value.is_dtype() || slot->value.dtype() != tensor.type.dtype) {
                Diagnostic diagnostic = environment.diagnostic(
                    "symbolic.dtype_conflict", dtype->place,
                    fmt::format("${} is {} in {}, but {} in {}", dtype->text, name(tensor.type.dtype), tensor.name,
                                slot->value.print(), slot->bound_by));
                diagnostic.expected = slot->value.print();
                diagnostic.found = name(tensor.type.dtype);
                diagnostic.remedy = "cast one of the two first, or let the template name two dtypes: $T and $U";
                diagnostic.contexts.push_back({fmt::format("bound by {}", slot->bound_by), slot->bound_at});
                diagnostic.params.emplace_back("input", tensor.name);
                return fail(std::move(diagnostic));
            }
        }
    }
    for (const auto& [dtype, tensor] : expressions) {
        auto expected = environment.evaluate(*dtype);
        if (!expected) return std::unexpected(expected.error());
        if (expected->is_dtype() && expected->dtype() == tensor->type.dtype) continue;
        Diagnostic diagnostic = environment.diagnostic("symbolic.input_dtype", dtype->place,
                                                       fmt::format("{} is {}", tensor->name, name(tensor->type.dtype)));
        diagnostic.expected = expected->print();
        diagnostic.found = name(tensor->type.dtype);
        diagnostic.params.emplace_back("input", tensor->name);
        return fail(std::move(diagnostic));
    }
    return {};
}

std::string print_bindings(const Environment& environment) {
    const Environment::State& state = environment.state();
    std::vector<std::string> lines;
    std::vector<std::string_view> printed;
    auto compact = [](const Value& value) {
        std::string text = value.print(), result;
        std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char letter) { return letter != ' '; });
        return result;
    };
    auto line = [&](std::string_view variable, const std::string& value) {
        if (std::find(printed.begin(), printed.end(), variable) != printed.end()) return;
        printed.push_back(variable);
        lines.push_back(fmt::format("${}={}", variable, value));
    };
    auto visit = [&](auto&& self, const Syntax& dimension, const BoundInput& input) -> void {
        bool variable = dimension.kind == Kind::dimension || dimension.kind == Kind::dimensions ||
                        dimension.kind == Kind::dimension_group;
        if (variable) {
            if (!dimension.collector.empty()) line(dimension.collector, std::to_string(input.tensors.size()));
            const NameSlot& slot = *state.slot(dimension.text);
            if (slot.phase == NameSlot::Phase::known) line(dimension.text, compact(slot.value));
        }
        if (variable && dimension.kind != Kind::dimension_group) return;
        if (!variable && dimension.kind != Kind::pattern) return;
        for (const auto& child : dimension.children) self(self, *child, input);
    };
    for (const BoundInput& input : state.inputs) {
        if (input.given && input.spec->shape) visit(visit, *input.spec->shape, input);
    }
    std::string result;
    for (const std::string& text : lines) result += text + "\n";
    return result;
}

}  // namespace heddle
