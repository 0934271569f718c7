// Steps on lists of tensors, and on optional values.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/loop.h"
#include "inference/steps.h"
#include "runtime/arena.h"
#include "support/resident_memory.h"
#include "support/tensor_parts.h"

namespace heddle::inference {
namespace {

using List = std::vector<Value>;
using Answer = Result<std::vector<Value>>;

std::unexpected<Diagnostics> wrong_list(const StepCall& call, std::string summary, std::string expected = {},
                                        std::string found = {}) {
    auto wrong = wrong_step(call, std::move(summary), std::move(expected), std::move(found));
    wrong.error().front().code = "inference.list";
    return wrong;
}

bool is_given(const StepCall& call, size_t input) {
    return input < call.inputs.size() && (call.inputs[input].tensor || call.inputs[input].list);
}

Result<const List*> list_of(const StepCall& call, size_t input) {
    if (input < call.inputs.size() && call.inputs[input].list) return call.inputs[input].list.get();
    return wrong_list(call, fmt::format("input {} is no list", input), "a list of tensors");
}

// A place in a list of `length`; from the end where it is negative. Without the input, `otherwise`.
Result<size_t> place_of(const StepCall& call, size_t input, int64_t length, int64_t otherwise) {
    if (!is_given(call, input)) {
        if (otherwise >= 0) return static_cast<size_t>(otherwise);
        return wrong_list(call, "the list is empty", "an element");
    }
    const auto place = number_of(call.inputs[input]);
    if (!place) return wrong_list(call, "the place in a list is one integer");
    const int64_t from_begin = *place < 0 ? *place + length : *place;
    if (from_begin < 0 || from_begin >= length)
        return wrong_list(call, "the place is not in the list", fmt::format("{} to {}", -length, length - 1),
                          std::to_string(*place));
    return static_cast<size_t>(from_begin);
}

Answer one(Value value) {
    std::vector<Value> values;
    values.push_back(std::move(value));
    return values;
}

Value number(DType dtype, int64_t value) {
    TensorData data(dtype, {});
    data.set_integer(0, value);
    return Value::of(std::move(data));
}

Answer make_empty(StepCall&) { return one(Value::of_list({})); }

std::unexpected<Diagnostics> other_type(const StepCall& call) {
    return wrong_list(call, "elements of a list are of different types");
}

Answer make_list(StepCall& call) {
    for (const Value& element : call.inputs) {
        if (!same_kind(element, call.inputs[0])) return other_type(call);
    }
    return one(Value::of_list(call.inputs));
}

Answer length_of(StepCall& call) {
    const auto list = list_of(call, 0);
    if (!list) return fail(list.error());
    return one(number(DType::int64, std::ssize(**list)));
}

Answer element_of(StepCall& call) {
    const auto list = list_of(call, 0);
    if (!list) return fail(list.error());
    const auto place = place_of(call, 1, std::ssize(**list), -1);
    if (!place) return fail(place.error());
    return one((**list)[*place]);
}

Answer insert(StepCall& call) {
    const auto list = list_of(call, 0);
    if (!list) return fail(list.error());
    if (!is_given(call, 1)) return wrong_list(call, "what is put into the list is not given");
    if (!(*list)->empty() && !same_kind((**list)[0], call.inputs[1])) return other_type(call);
    const int64_t length = std::ssize(**list);
    // One place more than there are elements: behind the last.
    const bool behind = is_given(call, 2) && number_of(call.inputs[2]) == length;
    const auto place = behind ? Result<size_t>(static_cast<size_t>(length)) : place_of(call, 2, length, length);
    if (!place) return fail(place.error());
    List made = call.inputs[0].take_list();
    made.insert(made.begin() + static_cast<std::ptrdiff_t>(*place), std::move(call.inputs[1]));
    return one(Value::of_list(std::move(made)));
}

Answer erase(StepCall& call) {
    const auto list = list_of(call, 0);
    if (!list) return fail(list.error());
    const auto place = place_of(call, 1, std::ssize(**list), std::ssize(**list) - 1);
    if (!place) return fail(place.error());
    List made = call.inputs[0].take_list();
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(*place));
    return one(Value::of_list(std::move(made)));
}

// The dimension that an attribute names, of tensors of this rank.
Result<size_t> axis_of(const StepCall& call, int64_t rank, int64_t otherwise) {
    const int64_t axis = onnx::integer_of(call.node, "axis", otherwise);
    const int64_t from_begin = axis < 0 ? axis + rank : axis;
    if (from_begin < 0 || from_begin >= rank)
        return wrong_list(call, "there is no such dimension", fmt::format("{} to {}", -rank, rank - 1),
                          std::to_string(axis));
    return static_cast<size_t>(from_begin);
}

// Of a dimension of tensors without elements there may be any number.
Result<void> check_count(int64_t parts) {
    const int64_t most = physical_memory_bytes() / static_cast<int64_t>(sizeof(Value));
    if (parts <= most) return {};
    auto problem = runtime::out_of_memory(physical_memory_bytes());
    problem.error().front().found = fmt::format("a list of {} tensors", parts);
    return problem;
}

// Lengths of the parts along a dimension of `extent`.
Result<std::vector<int64_t>> parts_of(const StepCall& call, int64_t extent) {
    if (!is_given(call, 1)) {
        if (auto fine = check_count(extent); !fine) return fail(std::move(fine.error()));
        return std::vector<int64_t>(static_cast<size_t>(extent), 1);
    }
    const auto& split = call.inputs[1].tensor;
    if (!split || !is_integer(split->dtype()) || split->shape().size() > 1)
        return wrong_list(call, "the lengths of parts are one integer or a list of them");
    std::vector<int64_t> lengths;
    if (split->shape().empty()) {
        const int64_t length = split->integer_at(0);
        if (length < 1) return wrong_list(call, "parts have at least one element", "1 or more", std::to_string(length));
        if (auto fine = check_count(extent / length); !fine) return fail(std::move(fine.error()));
        for (int64_t begin = 0; begin < extent; begin += length) lengths.push_back(std::min(length, extent - begin));
        return lengths;
    }
    int64_t left = extent;
    for (int64_t i = 0; i < split->size(); i++) {
        lengths.push_back(split->integer_at(i));
        if (lengths.back() < 0 || lengths.back() > left) left = -1;
        if (left < 0) break;
        left -= lengths.back();
    }
    if (left != 0)
        return wrong_list(call, "the lengths of parts do not sum to the dimension", std::to_string(extent));
    return lengths;
}

Answer split(StepCall& call) {
    if (call.inputs.empty() || !call.inputs[0].tensor) return wrong_list(call, "what is split is no tensor");
    const TensorData& data = *call.inputs[0].tensor;
    const auto axis = axis_of(call, std::ssize(data.shape()), 0);
    if (!axis) return fail(axis.error());
    const auto lengths = parts_of(call, data.shape()[*axis]);
    if (!lengths) return fail(lengths.error());
    const bool drops = !is_given(call, 1) && onnx::integer_of(call.node, "keepdims", 1) == 0;
    List parts;
    int64_t begin = 0;
    for (const int64_t length : *lengths) {
        TensorData part = heddle::part_of(data, *axis, begin, length);
        parts.push_back(Value::of(drops ? without_dimension(part, *axis) : std::move(part)));
        begin += length;
    }
    return one(Value::of_list(std::move(parts)));
}

Answer concatenate(StepCall& call) {
    const auto list = list_of(call, 0);
    if (!list) return fail(list.error());
    if ((*list)->empty() || !(**list)[0].tensor)
        return wrong_list(call, "tensors of an empty list are joined", "at least one tensor");
    const bool is_new = onnx::integer_of(call.node, "new_axis", 0) != 0;
    const int64_t rank = std::ssize((**list)[0].tensor->shape()) + (is_new ? 1 : 0);
    const auto axis = axis_of(call, rank, 0);
    if (!axis) return fail(axis.error());
    std::vector<TensorData> parts;
    for (const Value& element : **list) {
        if (!element.tensor || (is_new && std::ssize(element.tensor->shape()) + 1 != rank))
            return wrong_list(call, "elements of the list have different ranks");
        parts.push_back(is_new ? with_dimension(*element.tensor, *axis) : *element.tensor);
        std::vector<int64_t> shape = parts.back().shape(), first = parts.front().shape();
        if (shape.size() == first.size()) shape[*axis] = first[*axis];
        if (shape != first || parts.back().dtype() != parts.front().dtype())
            return wrong_list(call, "elements of the list do not fit together");
    }
    return one(Value::of(joined(parts, *axis)));
}

Answer make_optional(StepCall& call) { return one(call.inputs.empty() ? Value() : call.inputs[0]); }
Answer has_element(StepCall& call) { return one(number(DType::boolean, is_given(call, 0) ? 1 : 0)); }

Answer optional_element(StepCall& call) {
    if (!is_given(call, 0)) return wrong_list(call, "the optional has no element");
    return one(call.inputs[0]);
}

// An `If` whose branches read lists.
Answer branch(StepCall& call) {
    const auto condition = call.inputs.empty() ? std::nullopt : condition_of(call.inputs[0]);
    const onnx::OnnxGraph* taken = condition ? onnx::branch_of(call.node, *condition) : nullptr;
    if (!taken) return wrong_step(call, "the condition is one truth value, and each branch a graph");
    return BodyRuns(call, *taken).run();
}

}  // namespace

Step list_step(const std::string& operator_type) {
    static const std::map<std::string, Step> steps = {{"SequenceEmpty", &make_empty},
                                                      {"SequenceConstruct", &make_list},
                                                      {"SequenceLength", &length_of},
                                                      {"SequenceAt", &element_of},
                                                      {"SequenceInsert", &insert},
                                                      {"SequenceErase", &erase},
                                                      {"SplitToSequence", &split},
                                                      {"ConcatFromSequence", &concatenate},
                                                      {"Optional", &make_optional},
                                                      {"OptionalHasElement", &has_element},
                                                      {"OptionalGetElement", &optional_element},
                                                      {"Identity", &make_optional},
                                                      {"If", &branch}};
    const auto found = steps.find(operator_type);
    return found == steps.end() ? nullptr : found->second;
}

}  // namespace heddle::inference
