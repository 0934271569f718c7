// Steps that run a graph again and again: loops, and what is done with each element of a list.
#include <algorithm>

#include <fmt/format.h>

#include "artefact/step_builder.h"

namespace heddle::artefact {

// What it reads and gives, by the graph around it.
struct StepBuilder::Loop {
    const onnx::OnnxNode& node;
    const onnx::OnnxGraph& body;
    const bool counts;
    std::vector<std::string> carried, scanned;  // at first; of what an iteration is given parts
    std::vector<std::string> inputs;            // what the body calls them
    std::vector<onnx::ScanWay> ways, stacked;   // of tensors
    const bool of_lists = false;                // what is scanned and stacked are lists
    std::vector<std::pair<std::string, std::string>> lent = {};  // what the body calls a value of outside
    std::vector<ValueType> types = {};                           // of what is carried, in all iterations
    std::vector<ValueType> parts = {};                           // of what is scanned

    const onnx::OnnxValue& output(size_t i) const { return body.outputs[(counts ? 1 : 0) + i]; }
};

namespace {

constexpr onnx::ScanWay list_way{.axis = -1};  // of a row: along no dimension

// The dimension in tensors of this rank; nothing: they have none.
std::optional<int64_t> axis_in(const onnx::ScanWay& way, size_t rank) {
    const int64_t axis = way.axis_in(static_cast<int64_t>(rank));
    return axis < 0 || axis >= static_cast<int64_t>(rank) ? std::nullopt : std::optional(axis);
}

std::set<std::string> names_in(const ValueTypes& types) {
    std::set<std::string> names;
    for (const auto& [name, type] : types) {
        for (const ValueDimension& dimension : type.shape) names.insert(dimension.name);
    }
    return names;
}

std::unexpected<Diagnostics> does_not_fit(const onnx::OnnxNode& node) {
    return not_yet(fmt::format("the body of node '{}' does not fit the loop", node.label()), {}, &node);
}

}  // namespace

Result<int32_t> StepBuilder::add_loop(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step) {
    const auto form = onnx::loop_form(node);
    if (!form) return does_not_fit(node);
    const auto begin = node.inputs.begin() + std::min(std::ssize(node.inputs),
                                                      static_cast<std::ptrdiff_t>(form->own_inputs()));
    const auto behind = begin + static_cast<std::ptrdiff_t>(form->carried);
    Loop loop{.node = node,
              .body = *form->body,
              .counts = form->counts,
              .carried = {begin, behind},
              .scanned = {behind, behind + std::ssize(form->scanned)},
              .inputs = {},
              .ways = form->scanned,
              .stacked = form->stacked};
    for (size_t i = form->own_inputs(); i < form->body->inputs.size(); i++)
        loop.inputs.push_back(form->body->inputs[i].name);
    for (const std::string& name : loop.carried) {
        auto type = type_in(scope, state, name);
        if (!type) return not_yet(fmt::format("node '{}' carries what is not given", node.label()), {}, &node);
        loop.types.push_back(std::move(*type));
    }
    StepRow row{.kind = StepRow::Kind::loop, .name = node.label()};
    const auto optional_value = [&](size_t i) {
        const bool is_given = loop.counts && i < node.inputs.size() && !node.inputs[i].empty();
        return is_given ? value_of(scope, node.inputs[i]) : -1;
    };
    row.first = optional_value(0);
    row.second = optional_value(1);
    if (auto taken = take_scanned(scope, state, loop, row); !taken) return fail(std::move(taken.error()));
    return add_loop_row(scope, std::move(state), std::move(loop), std::move(row), step);
}

// SequenceMap(list, more...): the body with the elements of lists at one place, and with tensors as they are.
Result<int32_t> StepBuilder::add_map(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step) {
    const onnx::OnnxGraph* body = onnx::graph_of(node, "body");
    if (!body || body->inputs.size() != node.inputs.size() || body->outputs.size() != node.outputs.size())
        return does_not_fit(node);
    Loop loop{.node = node, .body = *body, .counts = false, .carried = {}, .scanned = {}, .inputs = {}, .ways = {},
              .stacked = {}, .of_lists = true};
    StepRow row{.kind = StepRow::Kind::loop, .name = node.label()};
    for (size_t i = 0; i < node.inputs.size(); i++) {
        const auto type = type_in(scope, state, node.inputs[i]);
        const std::string& name = body->inputs[i].name;
        if (!type || (i == 0 && !type->is_list())) return does_not_fit(node);
        if (!type->is_list()) {
            loop.lent.emplace_back(name, node.inputs[i]);
            continue;
        }
        if (type->is_empty) return add_empty_lists(scope, std::move(state), node, step);
        loop.inputs.push_back(name);
        loop.scanned.push_back(node.inputs[i]);
        loop.parts.push_back(element_of(name, *type));
        row.scanned.push_back(value_of(scope, node.inputs[i]));
        row.scan_ways.push_back(list_way);
    }
    return add_loop_row(scope, std::move(state), std::move(loop), std::move(row), step);
}

// In place of a node that has nothing to do.
Result<int32_t> StepBuilder::add_empty_lists(StepScope& scope, StepState state, const onnx::OnnxNode& node,
                                             int32_t step) {
    for (const std::string& output : node.outputs)
        state.rest.push_back({.name = node.name, .operator_type = "SequenceEmpty", .outputs = {output}});
    return fill(scope, std::move(state), step);
}

Result<int32_t> StepBuilder::add_loop_row(StepScope& scope, StepState state, Loop loop, StepRow row, int32_t step) {
    for (const std::string& name : loop.carried) row.inputs.push_back(value_of(scope, name));
    auto types = add_body(scope, state, loop, row);
    if (!types) return fail(std::move(types.error()));
    for (size_t i = 0; i < loop.node.outputs.size(); i++) {
        const std::string& name = loop.node.outputs[i];
        row.results.push_back(name.empty() ? new_value({}) : value_of(scope, name));
        set_type(row.results.back(), (*types)[i]);
        if (!name.empty()) state.values.insert_or_assign(name, (*types)[i]);
    }
    return add_row(scope, std::move(row), std::move(state), step);
}

Result<void> StepBuilder::take_scanned(StepScope& scope, const StepState& state, Loop& loop, StepRow& row) {
    for (size_t i = 0; i < loop.scanned.size(); i++) {
        const std::string& name = loop.scanned[i];
        auto type = type_in(scope, state, name);
        if (!type || !type->is_tensor())
            return not_yet(fmt::format("node '{}' scans what is not given", loop.node.label()), {}, &loop.node);
        const auto axis = axis_in(loop.ways[i], type->shape.size());
        if (!axis)
            return not_yet(fmt::format("node '{}' scans '{}' along dimension {}, which it has not", loop.node.label(),
                                       name, loop.ways[i].axis_in(std::ssize(type->shape))),
                           {}, &loop.node);
        type->shape.erase(type->shape.begin() + *axis);
        loop.parts.push_back(std::move(*type));
        row.scanned.push_back(value_of(scope, name));
        row.scan_ways.push_back({*axis, loop.ways[i].reversed});
    }
    return {};
}

// The body, for types of what is carried that hold in all iterations; types of what the loop gives.
Result<std::vector<ValueType>> StepBuilder::add_body(StepScope& scope, const StepState& state, Loop& loop,
                                                     StepRow& row) {
    const std::set<std::string> outside = names_in(state.values);
    for (;;) {
        const size_t steps = program_.steps.size(), parts = program_.parts.size();
        const auto first_value = static_cast<int32_t>(program_.values.size());
        StepScope& inner = *scopes_.emplace_back(std::make_unique<StepScope>(
            request_.model, loop.body, &scope, fmt::format("{}/{}", scope.name, loop.node.label())));
        auto body = step_of(inner, begin_of_body(scope, inner, state, loop, row));
        if (!body) return fail(std::move(body.error()));
        auto widened = widen(loop, inner, outside);
        if (!widened) return fail(std::move(widened.error()));
        if (*widened) {
            program_.steps.resize(steps);
            program_.parts.erase(program_.parts.begin() + static_cast<std::ptrdiff_t>(parts), program_.parts.end());
            continue;
        }
        row.body = *body;
        row.body_outputs.clear();
        if (!loop.counts) row.body_outputs.push_back(row.body_inputs[1]);  // which holds
        for (const onnx::OnnxValue& output : loop.body.outputs)
            row.body_outputs.push_back(value_of(inner, output.name));
        for (int32_t v = first_value; v < std::ssize(program_.values); v++) {
            const bool is_constant =
                std::ranges::find(program_.constants, v, &StepConstant::value) != program_.constants.end();
            if (!is_constant) row.drops.push_back(v);
        }
        return types_behind(state, loop, inner, row);
    }
}

// What an iteration is given, and reads of the graph around it.
StepState StepBuilder::begin_of_body(StepScope& scope, StepScope& inner, const StepState& state, const Loop& loop,
                                     StepRow& row) {
    StepState begin{.rest = inner.nodes, .truths = {}, .asked = {}, .values = {}};
    for (const std::string& name : inner.captures) {
        if (const auto found = state.values.find(name); found != state.values.end()) begin.values.insert(*found);
    }
    row.body_inputs.clear();
    const auto add_input = [&](const std::string& name, const ValueType& type) {
        row.body_inputs.push_back(new_value(name, type));
        if (name.empty()) return;
        inner.values.insert_or_assign(name, row.body_inputs.back());
        begin.values.insert_or_assign(name, type);
    };
    const auto own = [&](size_t i) { return loop.counts ? loop.body.inputs[i].name : std::string(); };
    add_input(own(0), {DType::int64, {}});
    add_input(own(1), {DType::boolean, {}});
    const size_t count = loop.carried.size();
    for (size_t i = 0; i < count; i++) add_input(loop.inputs[i], loop.types[i]);
    for (size_t i = 0; i < loop.parts.size(); i++) add_input(loop.inputs[count + i], loop.parts[i]);
    for (const auto& [name, of] : loop.lent) {
        inner.lent.insert_or_assign(name, value_of(scope, of));
        begin.values.insert_or_assign(name, *type_in(scope, state, of));
    }
    return begin;
}

// Whether an iteration gives another type than it was given, which then is one of both.
Result<bool> StepBuilder::widen(Loop& loop, const StepScope& inner, const std::set<std::string>& outside) const {
    bool changed = false;
    for (const onnx::OnnxValue& output : loop.body.outputs) {
        if (!inner.output_types.contains(output.name))
            return not_yet(fmt::format("no iteration of '{}' comes to its end", loop.node.label()),
                           "it takes an element of an empty list", &loop.node);
    }
    for (size_t i = 0; i < loop.types.size(); i++) {
        const std::string& name = loop.inputs[i];
        auto both = joined(name, loop.types[i],
                           known_outside(name, inner.output_types.at(loop.output(i).name), outside));
        if (!both)
            return not_yet(fmt::format("the loop '{}' carries '{}', whose rank or element type changes",
                                       loop.node.label(), name),
                           "a program is made ahead for one rank", &loop.node);
        changed = changed || *both != loop.types[i];
        loop.types[i] = std::move(*both);
    }
    return changed;
}

// Names in them mean the same outside of the body.
Result<std::vector<ValueType>> StepBuilder::types_behind(const StepState& state, const Loop& loop,
                                                         const StepScope& inner, StepRow& row) const {
    std::vector<ValueType> types;
    const std::set<std::string> outside = names_in(state.values);
    const std::vector<std::string>& results = loop.node.outputs;
    const size_t count = loop.carried.size();
    for (size_t i = 0; i < count; i++) types.push_back(known_outside(results[i], loop.types[i], outside));
    for (size_t i = count; i < results.size(); i++) {
        const ValueType& part = inner.output_types.at(loop.output(i).name);
        if (!part.is_tensor())
            return not_yet(fmt::format("node '{}' stacks what is no tensor", loop.node.label()), {}, &loop.node);
        if (loop.of_lists) {
            types.push_back(known_outside(results[i], list_of(part), outside));
            row.stacked.push_back(step_type(types.back()));
            row.stack_ways.push_back(list_way);
            continue;
        }
        auto type = stacked_type(loop, i, part, row);
        if (!type) return fail(std::move(type.error()));
        types.push_back(std::move(*type));
    }
    return types;
}

// Of the loop's output `i`, which is stacked. Without iterations, dimensions that the body leaves open are 0.
Result<ValueType> StepBuilder::stacked_type(const Loop& loop, size_t i, const ValueType& type, StepRow& row) const {
    const onnx::OnnxValue& declared = loop.output(i);
    const onnx::ScanWay& way = loop.stacked[i - loop.carried.size()];
    const int64_t axis = way.axis_in(std::ssize(type.shape) + 1);
    if (axis < 0 || axis > std::ssize(type.shape))
        return not_yet(fmt::format("node '{}' stacks '{}' along dimension {}, which it has not",
                                   loop.node.label(), declared.name, axis), {}, &loop.node);
    ValueType stack = type, none{declared.dtype.value_or(type.dtype), {}};
    for (const onnx::OnnxDimension& dimension : declared.shape)
        none.shape.push_back({std::max<int64_t>(0, dimension.value.value_or(0)), {}});
    for (size_t d = 0; d < type.shape.size(); d++) {
        const bool is_same = d < none.shape.size() && stack.shape[d] == none.shape[d];
        if (!is_same) stack.shape[d].value = std::nullopt;
    }
    const auto insert = [axis](ValueType& into, const ValueDimension& dimension) {
        into.shape.insert(into.shape.begin() + std::min<int64_t>(axis, std::ssize(into.shape)), dimension);
    };
    insert(stack, {});
    insert(none, {0, {}});
    for (size_t d = 0; d < stack.shape.size(); d++) {
        if (!stack.shape[d].value) stack.shape[d].name = fmt::format("{}.{}", loop.node.outputs[i], d);
    }
    row.stacked.push_back(step_type(none));
    row.stack_ways.push_back({axis, way.reversed});
    return stack;
}

}  // namespace heddle::artefact
