// What patterns and dtypes bind, apart from shapes: dtype variables, and what is shown of all bindings.
#include "symbolic/bindings.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "symbolic/environment_state.h"

namespace heddle {
namespace {

using Kind = Syntax::Kind;

std::string compact(const StaticValue& value) {
    std::string text = value.print(), result;
    std::ranges::copy_if(text, std::back_inserter(result), [](char letter) { return letter != ' '; });
    return result;
}

class PatternNames {
public:
    explicit PatternNames(const Environment::State& state) : state_(state) {}

    std::vector<Binding> run() {
        for (const BoundInput& input : state_.inputs) {
            if (input.given && input.spec->shape) visit(*input.spec->shape, input);
        }
        for (const Syntax* solved : solved_names(*state_.metakernel)) {
            const NameSlot& slot = *state_.slot(solved->text);
            if (slot.phase == NameSlot::Phase::known) add(solved->text, compact(slot.value));
        }
        return std::move(bindings_);
    }

private:
    void visit(const Syntax& dimension, const BoundInput& input) {
        bool group = dimension.kind == Kind::dimension_group;
        bool variable = group || dimension.kind == Kind::dimension || dimension.kind == Kind::dimensions;
        if (variable) {
            if (!dimension.collector.empty()) add(dimension.collector, std::to_string(input.tensors.size()));
            const NameSlot& slot = *state_.slot(dimension.text);
            if (slot.phase == NameSlot::Phase::known) add(dimension.text, compact(slot.value));
        }
        if (!group && dimension.kind != Kind::pattern) return;
        for (const auto& child : dimension.children) visit(*child, input);
    }

    void add(const std::string& name, std::string value) {
        if (std::ranges::find(bindings_, name, &Binding::name) == bindings_.end())
            bindings_.push_back({name, std::move(value)});
    }

    const Environment::State& state_;
    std::vector<Binding> bindings_;
};

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
                slot->value = StaticValue::of(tensor.type.dtype);
                slot->bound_at = &dtype->place;
                slot->bound_by = tensor.name;
            } else if (!slot->value.is_dtype() || slot->value.dtype() != tensor.type.dtype) {
                Diagnostic diagnostic = environment.diagnostic(
                    "symbolic.dtype_conflict", dtype->place,
                    fmt::format("${} is {} in {}, but {} in {}", dtype->text, name(tensor.type.dtype), tensor.name,
                                slot->value.print(), slot->bound_by));
                diagnostic.expected = slot->value.print();
                diagnostic.found = name(tensor.type.dtype);
                diagnostic.remedy = "cast one of the two first, or let the template name two dtypes: $T and $U";
                diagnostic.contexts.push_back({fmt::format("bound by {}", slot->bound_by), *slot->bound_at});
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

std::vector<Binding> pattern_bindings(const Environment& environment) {
    return PatternNames(environment.state()).run();
}

std::string print_bindings(const Environment& environment) {
    std::string result;
    for (const Binding& binding : pattern_bindings(environment))
        result += fmt::format("${}={}\n", binding.name, binding.value);
    return result;
}

OtherBindings other_bindings(Environment& environment) {
    const Template& metakernel = environment.metakernel();
    OtherBindings others;
    auto add = [&](std::vector<Binding>& list, const std::string& name, const Place& place) {
        auto value = environment.lookup(name, place);
        const NameSlot* slot = environment.state().slot(name);
        if (!value || slot->per_operation || std::ranges::find(list, name, &Binding::name) != list.end()) return;
        list.push_back({name, value->print()});
    };
    for (const TensorSpec& input : metakernel.inputs) {
        if (input.dtype && input.dtype->kind == Kind::static_name) add(others.dtypes, input.dtype->text, input.place);
    }
    for (const Parameter& parameter : metakernel.params) add(others.parameters, parameter.name, parameter.place);
    for (const StaticLet& let : metakernel.lets) add(others.lets, let.name, let.place);
    return others;
}

}  // namespace heddle
