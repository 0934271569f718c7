#include "symbolic/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "symbolic/environment_state.h"
#include "symbolic/failures.h"

namespace heddle {
namespace {

void add_slot(Environment::State& state, const std::string& name, NameSlot::Kind kind, int32_t number) {
    if (2 * (state.slots.size() + 1) > state.places.size()) {
        state.places.assign(2 * state.places.size(), -1);
        for (size_t i = 0; i < state.slots.size(); ++i)
            state.places[state.place_of(state.slots[i].name)] = static_cast<int32_t>(i);
    }
    int32_t& place = state.places[state.place_of(name)];
    if (place >= 0) return;
    place = static_cast<int32_t>(state.slots.size());
    NameSlot& slot = state.slots.emplace_back();
    slot.name = name;
    slot.kind = kind;
    slot.number = number;
    slot.per_operation = kind == NameSlot::Kind::each || kind == NameSlot::Kind::index;
}

void add_pattern_variables(Environment::State& state, const Syntax& dimension) {
    switch (dimension.kind) {
    case Syntax::Kind::dimension:
    case Syntax::Kind::dimensions:
    case Syntax::Kind::dimension_group:
        add_slot(state, dimension.text, NameSlot::Kind::variable, 0);
        if (NameSlot* slot = state.slot(dimension.text); !dimension.collector.empty()) slot->collected = true;
        break;
    default: break;
    }
    if (dimension.kind == Syntax::Kind::pattern || dimension.kind == Syntax::Kind::dimension_group) {
        for (const auto& child : dimension.children) add_pattern_variables(state, *child);
    }
}

// A parameter or let comes before a pattern variable of its name, which is then compared with it.
void add_names(Environment::State& state) {
    const Template& metakernel = *state.metakernel;
    for (size_t i = 0; i < metakernel.params.size(); ++i) {
        add_slot(state, metakernel.params[i].name, NameSlot::Kind::parameter, static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < metakernel.lets.size(); ++i) {
        add_slot(state, metakernel.lets[i].name, NameSlot::Kind::let, static_cast<int32_t>(i));
    }
    if (metakernel.each) add_slot(state, metakernel.each->name, NameSlot::Kind::each, 0);
    for (const TensorSpec& input : metakernel.inputs) {
        if (input.dtype && input.dtype->kind == Syntax::Kind::static_name) {
            add_slot(state, input.dtype->text, NameSlot::Kind::variable, 0);
        }
        if (input.shape) add_pattern_variables(state, *input.shape);
    }
    for (size_t i = 0; i < metakernel.inputs.size(); ++i) {
        add_slot(state, metakernel.inputs[i].name, NameSlot::Kind::input, static_cast<int32_t>(i));
    }
    for (const Syntax* name : solved_names(metakernel)) add_slot(state, name->text, NameSlot::Kind::variable, 0);
    static const std::string index = "index";
    add_slot(state, index, NameSlot::Kind::index, 0);
}

template <typename Specification>
int32_t position_of(const std::vector<Specification>& list, std::string_view name) {
    for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].spec->name == name) return static_cast<int32_t>(i);
    }
    return -1;
}

StaticValue input_value(const BoundInput& input) {
    if (!input.given) return StaticValue::none();
    if (!input.spec->variadic) return StaticValue::of(&input.tensors[0]);
    StaticValue::List tensors;
    for (const BoundTensor& tensor : input.tensors) tensors.push_back(StaticValue::of(&tensor));
    return StaticValue::of(std::move(tensors));
}

StaticValue index_value(const std::vector<BoundAxis>& index) {
    StaticValue::List extents;
    extents.reserve(index.size());
    for (const BoundAxis& axis : index) {
        for (const Size& extent : axis.extents) extents.push_back(StaticValue::of(extent));
    }
    return StaticValue::of(std::move(extents));
}

std::unexpected<Diagnostics> unbound(Environment& environment, std::string_view name, const Place& use) {
    if (environment.state().matching) {
        environment.state().met_unbound = true;
        // Matching throws this away and comes back, so it is not worth words; if nothing ever binds the name,
        // `match_patterns` reports what it waits for.
        return fail(Diagnostic{.code = "symbolic.unbound_name", .summary = std::string(name), .place = use});
    }
    Diagnostic diagnostic =
        environment.diagnostic("symbolic.unbound_name", use, fmt::format("no tensor that was given binds ${}", name));
    diagnostic.reason = "a name that only an optional input binds may be used only under has() of that input";
    return fail(std::move(diagnostic));
}

// A parameter or a let, now that it is needed.
Result<StaticValue> evaluate_slot(Environment& environment, NameSlot::Kind kind, int32_t number) {
    const Template& metakernel = environment.metakernel();
    if (kind == NameSlot::Kind::parameter) {
        return parameter_value(environment, metakernel.params[static_cast<size_t>(number)]);
    }
    return environment.evaluate(*metakernel.lets[static_cast<size_t>(number)].value);
}

}  // namespace

Environment::Environment(const Template& metakernel) : state_(std::make_unique<State>()) {
    state_->metakernel = &metakernel;
    state_->places.assign(64, -1);
    state_->slots.reserve(metakernel.params.size() + metakernel.lets.size() + 4 * metakernel.inputs.size() + 2);
    add_names(*state_);
    state_->inputs.reserve(metakernel.inputs.size());
    state_->outputs.reserve(metakernel.outputs.size());
    for (const TensorSpec& input : metakernel.inputs)
        state_->inputs.push_back({.spec = &input, .given = false, .tensors = {}});
    for (const TensorSpec& output : metakernel.outputs) {
        state_->outputs.push_back({.spec = &output, .requested = true, .types = {}});
    }
}
Environment::~Environment() = default;

void Environment::State::forget() {
    node_name.clear();
    given_parameters = nullptr;
    for (BoundInput& input : inputs) {
        input.given = false;
        input.tensors.clear();
    }
    for (BoundOutput& output : outputs) {
        output.requested = true;
        output.types.clear();
    }
    index.clear();
    index_known = false;
    each_value = 0;
    budget = {};
    for (NameSlot& slot : slots) {
        slot.phase = NameSlot::Phase::unknown;
        slot.per_operation = slot.kind == NameSlot::Kind::each || slot.kind == NameSlot::Kind::index;
        slot.value = {};
        slot.bound_at = nullptr;
        slot.bound_by = {};
    }
    matching = met_unbound = touched_operation = false;
    frames = nesting = 0;
}

const Template& Environment::metakernel() const { return *state_->metakernel; }
EvaluationBudget& Environment::budget() { return state_->budget; }
const std::vector<BoundInput>& Environment::inputs() const { return state_->inputs; }
const std::vector<BoundOutput>& Environment::outputs() const { return state_->outputs; }
int32_t Environment::input_position(std::string_view name) const { return position_of(state_->inputs, name); }
int32_t Environment::output_position(std::string_view name) const { return position_of(state_->outputs, name); }
const std::vector<BoundAxis>& Environment::index() const { return state_->index; }
int64_t Environment::each_value() const { return state_->each_value; }

Diagnostic application_diagnostic(const Template& metakernel, const std::string& node_name, std::string code,
                                  const Place& place, std::string summary) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.place = place;
    diagnostic.summary = std::move(summary);
    diagnostic.params.emplace_back("operator", metakernel.name);
    if (!node_name.empty()) diagnostic.params.emplace_back("node", node_name);
    return diagnostic;
}

Diagnostic Environment::diagnostic(std::string code, const Place& place, std::string summary) const {
    return application_diagnostic(metakernel(), state_->node_name, std::move(code), place, std::move(summary));
}

Result<StaticValue> Environment::lookup(std::string_view name, const Place& use) {
    State& state = *state_;
    int32_t found = state.places[state.place_of(name)];
    if (found < 0) {
        std::vector<std::string> known;
        for (const NameSlot& slot : state.slots) known.emplace_back(slot.name);
        std::sort(known.begin(), known.end());
        Diagnostic unknown = diagnostic("symbolic.unknown_name", use, fmt::format("unknown name ${}", name));
        std::string near = nearest_name(std::string(name), known);
        if (!near.empty()) unknown.remedy = fmt::format("did you mean ${}?", near);
        return fail(std::move(unknown));
    }
    size_t position = static_cast<size_t>(found);
    NameSlot& slot = state.slots[position];
    if (slot.per_operation) state.touched_operation = true;
    if (slot.phase == NameSlot::Phase::known) return slot.value;
    switch (slot.kind) {
    case NameSlot::Kind::each: return StaticValue::of(state.each_value);
    case NameSlot::Kind::input: return input_value(state.inputs[static_cast<size_t>(slot.number)]);
    case NameSlot::Kind::index:
        if (!state.index_known) {
            return fail(diagnostic("symbolic.unbound_name", use, "$index is used before the index is known"));
        }
        return index_value(state.index);
    case NameSlot::Kind::variable: return unbound(*this, name, use);
    default: break;
    }
    if (slot.phase == NameSlot::Phase::busy) {
        return fail(diagnostic("symbolic.cycle", use, fmt::format("${} depends on itself", name)));
    }
    if (state.nesting >= deepest_evaluation) {
        return limit_error(use, fmt::format("more than {} names within each other", deepest_evaluation));
    }
    bool touched_before = std::exchange(state.touched_operation, false);
    slot.phase = NameSlot::Phase::busy;
    ++state.nesting;
    auto value = evaluate_slot(*this, slot.kind, slot.number);
    --state.nesting;
    NameSlot& after = state.slots[position];
    after.phase = NameSlot::Phase::unknown;
    if (value) {
        after.phase = NameSlot::Phase::known;
        after.value = *value;
        after.per_operation = state.touched_operation;
    }
    state.touched_operation |= touched_before;
    return value;
}

Result<bool> Environment::has(std::string_view name, const Place& use) {
    for (const BoundInput& input : state_->inputs) {
        if (input.spec->name == name) return input.given;
    }
    for (const BoundOutput& output : state_->outputs) {
        if (output.spec->name == name) return output.requested;
    }
    if (const NameSlot* slot = state_->slot(name); slot && slot->kind == NameSlot::Kind::parameter) {
        auto value = lookup(name, use);
        if (!value) return std::unexpected(value.error());
        return !value->is_none();
    }
    return fail(diagnostic("symbolic.unknown_name", use,
                           fmt::format("has() asks for an input, an output or a parameter, and {} is none", name)));
}

}  // namespace heddle
