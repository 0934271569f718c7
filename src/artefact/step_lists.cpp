// Steps on lists of tensors and on optional values, as sessions take them (inference/list_steps.cpp). Of which types
// elements are is known ahead; how many there are is not.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "artefact/step_builder.h"
#include "frontends/onnx/order.h"

namespace heddle::artefact {
namespace {

using RowKind = StepRow::Kind;
using Types = std::vector<std::optional<ValueType>>;

struct ListCall {
    const onnx::OnnxNode& node;
    const Types& inputs;

    bool is_given(size_t input) const { return input < inputs.size() && inputs[input]; }
    const ValueType& type(size_t input) const { return *inputs[input]; }
    std::string result() const { return node.outputs.empty() ? node.label() : node.outputs[0]; }
};
using Answer = Result<ListStep>;

std::unexpected<Diagnostics> wrong_list(const ListCall& call, std::string what) {
    return not_yet(fmt::format("node '{}' ({}): {}", call.node.label(), call.node.operator_type, what), {}, &call.node);
}

Answer step(RowKind kind, ValueType result) { return ListStep{{.kind = kind}, {std::move(result)}, std::nullopt}; }
// What is asked of an empty list.
Answer failing(RowKind kind) { return ListStep{{.kind = kind}, {}, std::nullopt}; }

Result<void> check_list(const ListCall& call) {
    if (call.is_given(0) && call.type(0).is_list()) return {};
    return wrong_list(call, "its first input is no list");
}

// A place in a list, or the lengths of parts.
Result<void> check_integers(const ListCall& call, size_t input) {
    if (!call.is_given(input)) return {};
    const ValueType& type = call.type(input);
    if (type.is_tensor() && is_integer(type.dtype)) return {};
    return wrong_list(call, fmt::format("its input {} is to be integers", input));
}

Result<ValueType> list_with(const ListCall& call, const ValueType& list, size_t input) {
    if (!call.is_given(input) || !call.type(input).is_tensor()) return wrong_list(call, "a list holds tensors");
    auto both = joined(call.result(), list, list_of(call.type(input)));
    if (!both) return wrong_list(call, "elements of a list are of different ranks or element types");
    return std::move(*both);
}

const ValueType no_elements{.kind = ValueType::Kind::list, .is_empty = true};

Answer make_list(const ListCall& call) {
    ValueType list = no_elements;
    for (size_t i = 0; i < call.inputs.size(); i++) {
        auto both = list_with(call, list, i);
        if (!both) return fail(std::move(both.error()));
        list = std::move(*both);
    }
    return step(RowKind::list, std::move(list));
}

Answer length_of(const ListCall& call) {
    if (auto fine = check_list(call); !fine) return fail(std::move(fine.error()));
    return step(RowKind::length, {DType::int64, {}});
}

Answer element(const ListCall& call) {
    if (auto fine = check_list(call); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_integers(call, 1); !fine) return fail(std::move(fine.error()));
    if (call.type(0).is_empty) return failing(RowKind::element);
    return step(RowKind::element, element_of(call.result(), call.type(0)));
}

Answer insert(const ListCall& call) {
    if (auto fine = check_list(call); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_integers(call, 2); !fine) return fail(std::move(fine.error()));
    auto both = list_with(call, call.type(0), 1);
    if (!both) return fail(std::move(both.error()));
    return step(RowKind::insert, std::move(*both));
}

Answer erase(const ListCall& call) {
    if (auto fine = check_list(call); !fine) return fail(std::move(fine.error()));
    if (auto fine = check_integers(call, 1); !fine) return fail(std::move(fine.error()));
    return step(RowKind::erase, call.type(0));
}

Result<int32_t> axis_of(const ListCall& call, size_t rank) {
    const onnx::ScanWay way{.axis = onnx::integer_of(call.node, "axis", 0)};
    const int64_t axis = way.axis_in(static_cast<int64_t>(rank));
    if (axis >= 0 && axis < static_cast<int64_t>(rank)) return static_cast<int32_t>(axis);
    return wrong_list(call, fmt::format("there is no dimension {} among {}", way.axis, rank));
}

Answer split(const ListCall& call) {
    if (!call.is_given(0) || !call.type(0).is_tensor()) return wrong_list(call, "what is split is no tensor");
    if (auto fine = check_integers(call, 1); !fine) return fail(std::move(fine.error()));
    if (call.is_given(1) && call.type(1).shape.size() > 1) return wrong_list(call, "lengths of parts are a list");
    const auto axis = axis_of(call, call.type(0).shape.size());
    if (!axis) return fail(std::move(axis.error()));
    const bool is_single = !call.is_given(1);
    ValueType part = call.type(0);
    part.shape[static_cast<size_t>(*axis)] = is_single ? ValueDimension{1, {}} : ValueDimension();
    const bool drops = is_single && onnx::integer_of(call.node, "keepdims", 1) == 0;
    if (drops) part.shape.erase(part.shape.begin() + *axis);
    auto made = step(RowKind::split, list_of(std::move(part)));
    made->row.axis = *axis;
    made->row.changes_rank = drops;
    return made;
}

Answer concatenate(const ListCall& call) {
    if (auto fine = check_list(call); !fine) return fail(std::move(fine.error()));
    if (call.type(0).is_empty) return failing(RowKind::concatenate);
    ValueType whole = call.type(0);
    whole.kind = ValueType::Kind::tensor;
    const bool is_new = onnx::integer_of(call.node, "new_axis", 0) != 0;
    const auto axis = axis_of(call, whole.shape.size() + (is_new ? 1 : 0));
    if (!axis) return fail(std::move(axis.error()));
    if (is_new)
        whole.shape.insert(whole.shape.begin() + *axis, ValueDimension());
    else
        whole.shape[static_cast<size_t>(*axis)] = {};
    auto made = step(RowKind::concatenate, named_in_full(call.result(), std::move(whole)));
    made->row.axis = *axis;
    made->row.changes_rank = is_new;
    return made;
}

bool is_there(const ListCall& call) { return call.is_given(0) && call.type(0).kind != ValueType::Kind::nothing; }

Answer same(const ListCall& call) {
    return step(RowKind::same, is_there(call) ? call.type(0) : ValueType{.kind = ValueType::Kind::nothing});
}

Answer has_element(const ListCall& call) {
    auto made = step(RowKind::is_there, {DType::boolean, {}});
    made->truth = is_there(call);
    return made;
}

// It fails where there is none.
Answer optional_element(const ListCall& call) { return is_there(call) ? same(call) : failing(RowKind::element); }

}  // namespace

Result<ListStep> list_step(const onnx::OnnxNode& node, const Types& inputs) {
    static const std::map<std::string, Answer (*)(const ListCall&)> steps = {{"SequenceEmpty", &make_list},
                                                                           {"SequenceConstruct", &make_list},
                                                                           {"SequenceLength", &length_of},
                                                                           {"SequenceAt", &element},
                                                                           {"SequenceInsert", &insert},
                                                                           {"SequenceErase", &erase},
                                                                           {"SplitToSequence", &split},
                                                                           {"ConcatFromSequence", &concatenate},
                                                                           {"Optional", &same},
                                                                           {"Identity", &same},
                                                                           {"OptionalHasElement", &has_element},
                                                                           {"OptionalGetElement", &optional_element}};
    const ListCall call{node, inputs};
    const auto found = steps.find(node.operator_type);
    if (found == steps.end()) return wrong_list(call, "it is given a list, and it is an operation on tensors");
    return found->second(call);
}

Result<int32_t> StepBuilder::add_presence(StepScope& scope, StepState state, const std::string& value, int32_t step) {
    StepRow row{.kind = RowKind::presence, .name = value, .first = value_of(scope, value)};
    StepState other = state;
    state.values.at(value).may_be_absent = false;
    other.values.at(value) = ValueType{.kind = ValueType::Kind::nothing};
    return add_ways(scope, std::move(row), std::move(state), std::move(other), step);
}

Result<int32_t> StepBuilder::add_list_step(StepScope& scope, StepState state, const onnx::OnnxNode& node,
                                           int32_t step) {
    Types types;
    for (const std::string& input : node.inputs)
        types.push_back(input.empty() ? std::nullopt : type_in(scope, state, input));
    auto made = list_step(node, types);
    if (!made) return fail(std::move(made.error()));
    StepRow& row = made->row;
    row.name = node.label();
    for (const std::string& input : node.inputs) row.inputs.push_back(input.empty() ? -1 : value_of(scope, input));
    const std::string result = node.outputs.empty() ? std::string() : node.outputs[0];
    row.results = {result.empty() ? new_value({}) : value_of(scope, result)};
    if (made->results.empty()) {
        program_.steps[static_cast<size_t>(step)] = std::move(row);
        return step;
    }
    std::set<std::string> there{result};
    for (const auto& [name, type] : state.values) there.insert(name);
    set_type(row.results[0], made->results[0]);
    state.values.insert_or_assign(result, std::move(made->results[0]));
    if (made->truth) state.truths.insert_or_assign(result, *made->truth);
    forget(scope, state);
    row.drops = drops_between(scope, there, state);
    return add_row(scope, std::move(row), std::move(state), step);
}

// An `If` whose branches read lists: the nodes of the branch in place of it, once it is known which.
Result<int32_t> StepBuilder::add_written_branch(StepScope& scope, StepState state, const onnx::OnnxNode& node,
                                                int32_t step) {
    const std::string condition = node.inputs.empty() ? std::string() : node.inputs[0];
    const auto type = type_in(scope, state, condition);
    const auto truth = state.truths.find(condition);
    const onnx::OnnxTensor* constant = scope.initializer(condition);
    const bool is_constant = !state.values.contains(condition) && constant && constant->data;
    const bool is_one = type && type->is_tensor() && is_bool(type->dtype) && type->elements().value_or(1) == 1;
    if (!is_one || !onnx::branch_of(node, true) || !onnx::branch_of(node, false))
        return not_yet(fmt::format("node '{}': a condition is one truth value, and each branch a graph", node.label()),
                       {}, &node);
    if (!is_constant && truth == state.truths.end()) {
        state.rest.insert(state.rest.begin(), node);
        return add_branch(scope, std::move(state), condition, step);
    }
    const bool holds = is_constant ? constant->data->integer_at(0) != 0 : truth->second;
    onnx::FlatGraph branch = onnx::written_out(request_.model, node, holds);
    for (onnx::OnnxTensor& tensor : branch.initializers)
        scope.initializers.insert_or_assign(tensor.name, std::move(tensor));
    state.rest.insert(state.rest.begin(), branch.nodes.begin(), branch.nodes.end());
    forget(scope, state);
    if (state.rest.empty()) return end_of(scope, state);
    return fill(scope, std::move(state), step);
}

}  // namespace heddle::artefact
