#include "inference/steps.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "frontends/onnx/loop.h"
#include "runtime/arena.h"
#include "support/progress.h"
#include "support/resident_memory.h"
#include "support/tensor_parts.h"

namespace heddle::inference {

std::unexpected<Diagnostics> wrong_step(const StepCall& call, std::string summary, std::string expected,
                                        std::string found) {
    return fail({.code = "inference.step",
                 .summary = std::move(summary),
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .params = {{"node", call.node.label()}, {"operator", call.node.operator_type}}});
}

std::optional<bool> condition_of(const Value& value) {
    const auto tensor = value.row_major().tensor;
    if (!tensor || tensor->size() != 1 || !is_bool(tensor->dtype())) return std::nullopt;
    return tensor->integer_at(0) != 0;
}

bool same_kind(const Value& a, const Value& b) {
    if (a.is_tensor() && b.is_tensor()) return a.dtype() == b.dtype();
    return a.is_tensor() == b.is_tensor();
}

std::optional<int64_t> number_of(const Value& value) {
    if (!value.tensor || value.tensor->size() != 1) return std::nullopt;
    return is_integer(value.tensor->dtype()) ? std::optional(value.tensor->integer_at(0)) : std::nullopt;
}

BodyRuns::BodyRuns(StepCall& call, const onnx::OnnxGraph& body) : graph_(call.graph.within(body)), watch_(call.watch) {
    graph_.capture();
}

void BodyRuns::give(size_t input, Value value) {
    value.sizes.clear();  // they may be others in the next run
    graph_.set(graph_.input_number(input), std::move(value));
}

Result<std::vector<Value>> BodyRuns::run() {
    auto results = graph_.run(watch_);
    if (!results) return results;
    for (Value& value : *results) value.sizes.clear();
    return results;
}

namespace {

TensorData scalar(DType dtype, int64_t number) {
    TensorData data(dtype, {});
    data.set_integer(0, number);
    return data;
}

// What iterations give for one output, one behind the other.
class Stack {
public:
    Stack(const onnx::OnnxValue& type, onnx::ScanWay way) : type_(type), way_(way) {}

    bool has_type() const { return !parts_.empty() || type_.dtype; }
    // What an iteration would give, where none is run.
    void take_type(const Value& value) {
        if (value.is_tensor()) found_ = value.dtype();
    }

    Result<void> add(StepCall& call, const Value& value) {
        if (!value.is_tensor()) return wrong_step(call, "an iteration gives no tensor for what is stacked");
        const auto rank = static_cast<int64_t>(value.rank());
        const int64_t axis = way_.axis_in(rank + 1);
        if (axis < 0 || axis > rank)
            return wrong_step(call, "the dimension along which results are stacked is not there",
                              fmt::format("at most {}", rank), std::to_string(axis));
        TensorData part = with_dimension(*value.dense().tensor, static_cast<size_t>(axis));
        const bool fits = parts_.empty() || (parts_[0].dtype() == part.dtype() && parts_[0].shape() == part.shape());
        if (!fits) return wrong_step(call, "iterations give results of different shapes for what is stacked");
        parts_.push_back(std::move(part));
        return {};
    }

    // Without iterations, dimensions that the body leaves open are 0.
    Value joined() {
        if (way_.reversed) std::ranges::reverse(parts_);
        if (!parts_.empty())
            return Value::of(heddle::joined(parts_, static_cast<size_t>(way_.axis_in(std::ssize(parts_[0].shape())))));
        std::vector<int64_t> shape;
        for (const onnx::OnnxDimension& dimension : type_.shape)
            shape.push_back(std::max<int64_t>(0, dimension.value.value_or(0)));
        const int64_t rank = std::ssize(shape);
        shape.insert(shape.begin() + std::clamp<int64_t>(way_.axis_in(rank + 1), 0, rank), 0);
        return Value::of(TensorData(type_.dtype.value_or(found_), shape));
    }

private:
    const onnx::OnnxValue& type_;
    const onnx::ScanWay way_;
    DType found_ = DType::float32;
    std::vector<TensorData> parts_;
};

// What iterations leave may be more than there is; how much it is, is looked at now and then.
Result<void> check_memory(int64_t trip) {
    constexpr int64_t interval = 64;
    if (trip % interval != 0 || resident_bytes() <= physical_memory_bytes() / 10 * 9) return {};
    auto problem = runtime::out_of_memory(resident_bytes());
    problem.error().front().summary = "the system has not the memory for what the iterations of a loop leave";
    return problem;
}

class LoopRun {
public:
    LoopRun(StepCall& call, const onnx::LoopForm& form) : call_(call), form_(form), body_(call, *form.body) {
        const auto begin = std::min(call.inputs.size(), form.own_inputs());
        const std::span<Value> others = std::span(call.inputs).subspan(begin);
        for (const Value& value : others.first(form.carried)) at_first_.push_back(kind_of(value));
        std::ranges::move(others.first(form.carried), std::back_inserter(carried_));
        for (Value& value : others.subspan(form.carried)) scanned_.push_back(value.row_major());
        for (size_t i = 0; i < form.stacked.size(); i++)
            stacks_.emplace_back(form.body->outputs[first_stacked() + i], form.stacked[i]);
    }

    Result<std::vector<Value>> run() {
        if (auto fine = form_.counts ? take_count() : take_lengths(); !fine) return fail(std::move(fine.error()));
        for (int64_t trip = 0; goes_on_ && (!trips_ || trip < *trips_); trip++) {
            if (auto fine = spend(call_.watch, work_of_iteration); !fine) return fail(std::move(fine.error()));
            if (auto fine = check_memory(trip); !fine) return fail(std::move(fine.error()));
            if (auto done = iterate(trip); !done) return fail(std::move(done.error()));
        }
        if (scanned_.empty() && !std::ranges::all_of(stacks_, &Stack::has_type)) find_types();
        for (Stack& stack : stacks_) carried_.push_back(stack.joined());
        return std::move(carried_);
    }

private:
    size_t first_stacked() const { return form_.own_outputs() + form_.carried; }
    bool is_given(size_t i) const { return i < call_.inputs.size() && call_.inputs[i].tensor; }

    Result<void> take_count() {
        if (is_given(0) && !(trips_ = number_of(call_.inputs[0])))
            return wrong_step(call_, "the trip count is one integer");
        if (!is_given(1)) return {};
        const auto condition = condition_of(call_.inputs[1]);
        if (!condition) return wrong_step(call_, "the condition is one truth value");
        goes_on_ = *condition;
        return {};
    }

    Result<void> take_lengths() {
        for (size_t i = 0; i < scanned_.size(); i++) {
            const int64_t rank = scanned_[i].tensor ? std::ssize(scanned_[i].tensor->shape()) : 0;
            const int64_t axis = form_.scanned[i].axis_in(rank);
            if (axis < 0 || axis >= rank)
                return wrong_step(call_, fmt::format("what is scanned has no dimension {}", axis));
            const int64_t extent = scanned_[i].tensor->shape()[static_cast<size_t>(axis)];
            if (trips_.value_or(extent) != extent)
                return wrong_step(call_, "what is scanned has different lengths", std::to_string(*trips_),
                                  std::to_string(extent));
            trips_ = extent;
        }
        return {};
    }

    // What is carried goes into the body.
    void give_inputs(int64_t trip, std::vector<Value> carried) {
        size_t input = 0;
        if (form_.counts) {
            if (body_.reads(0)) body_.give(0, Value::of(scalar(DType::int64, trip)));
            if (body_.reads(1)) body_.give(1, goes_on_value_);
            input = form_.own_inputs();
        }
        for (Value& value : carried) body_.give(input++, std::move(value));
        for (size_t i = 0; i < scanned_.size(); i++) {
            const TensorData& tensor = *scanned_[i].tensor;
            const auto axis = static_cast<size_t>(form_.scanned[i].axis_in(std::ssize(tensor.shape())));
            const int64_t place = form_.scanned[i].reversed ? *trips_ - 1 - trip : trip;
            body_.give(input++, Value::of(without_dimension(part_of(tensor, axis, place, 1), axis)));
        }
    }

    Result<void> iterate(int64_t trip) {
        give_inputs(trip, std::move(carried_));
        auto results = body_.run();
        if (!results) return fail(std::move(results.error()));
        if (form_.counts) {
            const auto condition = condition_of((*results)[0]);
            if (!condition) return wrong_step(call_, "the condition that the body gives is one truth value");
            goes_on_ = *condition;
        }
        for (size_t i = 0; i < stacks_.size(); i++) {
            if (auto done = stacks_[i].add(call_, (*results)[first_stacked() + i]); !done) return done;
        }
        const auto begin = results->begin() + static_cast<std::ptrdiff_t>(form_.own_outputs());
        carried_.assign(std::make_move_iterator(begin),
                        std::make_move_iterator(begin + static_cast<std::ptrdiff_t>(form_.carried)));
        return check_carried();
    }

    // What a carried value is: a tensor's type, a list, or nothing.
    struct ValueKind {
        std::optional<DType> dtype;
        bool is_list = false;
        bool operator==(const ValueKind&) const = default;
        std::string text() const { return dtype ? std::string(name(*dtype)) : std::string("a list"); }
    };
    static ValueKind kind_of(const Value& value) {
        return {value.is_tensor() ? std::optional(value.dtype()) : std::nullopt, value.list != nullptr};
    }

    // It keeps the type that it begins with.
    Result<void> check_carried() const {
        for (size_t i = 0; i < carried_.size(); i++) {
            const ValueKind &begin = at_first_[i], now = kind_of(carried_[i]);
            if (begin.dtype == now.dtype || begin == ValueKind()) continue;
            return wrong_step(call_, fmt::format("carried value {} changes its type", i), begin.text(), now.text());
        }
        return {};
    }

    // Bodies of functions say no types: one iteration, of which nothing is kept, tells them.
    void find_types() {
        give_inputs(0, carried_);
        const auto results = body_.run();
        for (size_t i = 0; results && i < stacks_.size(); i++) stacks_[i].take_type((*results)[first_stacked() + i]);
    }

    StepCall& call_;
    const onnx::LoopForm& form_;
    std::optional<int64_t> trips_;
    bool goes_on_ = true;
    const Value goes_on_value_ = Value::of(scalar(DType::boolean, 1));
    BodyRuns body_;
    std::vector<Value> carried_, scanned_;
    std::vector<ValueKind> at_first_;  // of what is carried
    std::vector<Stack> stacks_;
};

}  // namespace

Result<std::vector<Value>> run_loop(StepCall& call) {
    const onnx::OnnxGraph* body = onnx::graph_of(call.node, "body");
    if (!body) return wrong_step(call, "the loop has no body");
    const auto form = onnx::loop_form(call.node);
    if (!form)
        return wrong_step(call, "the body does not fit the loop", "inputs and outputs for those of the node",
                          fmt::format("{} inputs and {} outputs", body->inputs.size(), body->outputs.size()));
    return LoopRun(call, *form).run();
}

// SequenceMap(list, more...): the body on each element; of other lists on those of the same place.
Result<std::vector<Value>> run_map(StepCall& call) {
    const onnx::OnnxGraph* body = onnx::graph_of(call.node, "body");
    if (!body || call.inputs.empty() || !call.inputs[0].list || body->inputs.size() != call.inputs.size())
        return wrong_step(call, "the body does not fit the inputs, of which the first is a list");
    const size_t length = call.inputs[0].list->size();
    std::vector<std::vector<Value>> lists(body->outputs.size());
    BodyRuns runs(call, *body);
    for (size_t place = 0; place < length; place++) {
        for (size_t i = 0; i < call.inputs.size(); i++) {
            const Value& input = call.inputs[i];
            if (input.list && input.list->size() != length)
                return wrong_step(call, "lists have different lengths", std::to_string(length),
                                  std::to_string(input.list->size()));
            runs.give(i, input.list ? (*input.list)[place] : input);
        }
        auto results = runs.run();
        if (!results) return results;
        for (size_t i = 0; i < lists.size(); i++) lists[i].push_back((*results)[i].dense());
    }
    std::vector<Value> results;
    for (auto& list : lists) results.push_back(Value::of_list(std::move(list)));
    return results;
}

Result<std::vector<Value>> run_step(StepCall& call) {
    static const std::map<std::string, Step> loops = {
        {"Loop", &run_loop}, {"Scan", &run_loop}, {"SequenceMap", &run_map}};
    const auto loop = loops.find(call.node.operator_type);
    if (loop != loops.end()) return loop->second(call);
    for (Value& input : call.inputs) input = input.dense();  // lists hold no part of what grows
    if (const Step step = list_step(call.node.operator_type)) return step(call);
    return wrong_step(call, "it is given a list, and it is an operation on tensors", "tensors", "a list");
}

}  // namespace heddle::inference
