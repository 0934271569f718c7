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
    if (!value.tensor || value.tensor->size() != 1 || !is_bool(value.tensor->dtype())) return std::nullopt;
    return value.tensor->integer_at(0) != 0;
}

bool same_kind(const Value& a, const Value& b) {
    if (a.tensor && b.tensor) return a.tensor->dtype() == b.tensor->dtype();
    return !a.tensor == !b.tensor;
}

std::optional<int64_t> number_of(const Value& value) {
    if (!value.tensor || value.tensor->size() != 1) return std::nullopt;
    return is_integer(value.tensor->dtype()) ? std::optional(value.tensor->integer_at(0)) : std::nullopt;
}

Result<std::vector<Value>> run_body(StepCall& call, const onnx::OnnxGraph& body, std::vector<Value> inputs) {
    StagedGraph& graph = call.graph.within(body);
    NamedValues values;
    for (const std::string& name : graph.captures()) {
        const auto found = call.values.find(name);
        if (found != call.values.end()) values.emplace(name, found->second);
    }
    for (size_t i = 0; i < inputs.size(); i++) {
        inputs[i].sizes.clear();  // they may be others in the next iteration
        values.insert_or_assign(body.inputs[i].name, std::move(inputs[i]));
    }
    auto results = graph.run(std::move(values), call.watch);
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
        if (value.tensor) found_ = value.tensor->dtype();
    }

    Result<void> add(StepCall& call, const Value& value) {
        if (!value.tensor) return wrong_step(call, "an iteration gives no tensor for what is stacked");
        const auto rank = std::ssize(value.tensor->shape());
        const int64_t axis = way_.axis_in(rank + 1);
        if (axis < 0 || axis > rank)
            return wrong_step(call, "the dimension along which results are stacked is not there",
                              fmt::format("at most {}", rank), std::to_string(axis));
        TensorData part = with_dimension(*value.tensor, static_cast<size_t>(axis));
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
    LoopRun(StepCall& call, const onnx::LoopForm& form) : call_(call), form_(form) {
        const auto begin = std::min(call.inputs.size(), form.own_inputs());
        const std::span<const Value> others = std::span(call.inputs).subspan(begin);
        carried_.assign(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(form.carried));
        at_first_ = others.first(form.carried);
        scanned_ = others.subspan(form.carried);
        for (size_t i = 0; i < form.stacked.size(); i++)
            stacks_.emplace_back(form.body->outputs[first_stacked() + i], form.stacked[i]);
    }

    Result<std::vector<Value>> run() {
        if (auto fine = form_.counts ? take_count() : take_lengths(); !fine) return fail(std::move(fine.error()));
        for (int64_t trip = 0; goes_on_ && (!trips_ || trip < *trips_); trip++) {
            if (is_cancelled(call_.watch.progress)) return cancelled();
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

    // What the body is given: `carried_` goes into it.
    std::vector<Value> inputs_of(int64_t trip, std::vector<Value> carried) const {
        std::vector<Value> inputs;
        if (form_.counts) inputs = {Value::of(scalar(DType::int64, trip)), Value::of(scalar(DType::boolean, 1))};
        std::ranges::move(carried, std::back_inserter(inputs));
        for (size_t i = 0; i < scanned_.size(); i++) {
            const TensorData& tensor = *scanned_[i].tensor;
            const auto axis = static_cast<size_t>(form_.scanned[i].axis_in(std::ssize(tensor.shape())));
            const int64_t place = form_.scanned[i].reversed ? *trips_ - 1 - trip : trip;
            inputs.push_back(Value::of(without_dimension(part_of(tensor, axis, place, 1), axis)));
        }
        return inputs;
    }

    Result<void> iterate(int64_t trip) {
        auto results = run_body(call_, *form_.body, inputs_of(trip, std::move(carried_)));
        if (!results) return fail(std::move(results.error()));
        if (form_.counts) {
            const auto condition = condition_of((*results)[0]);
            if (!condition) return wrong_step(call_, "the condition that the body gives is one truth value");
            goes_on_ = *condition;
        }
        const auto begin = results->begin() + static_cast<std::ptrdiff_t>(form_.own_outputs());
        carried_.assign(begin, begin + static_cast<std::ptrdiff_t>(form_.carried));
        if (auto fine = check_carried(); !fine) return fine;
        for (size_t i = 0; i < stacks_.size(); i++) {
            if (auto done = stacks_[i].add(call_, (*results)[first_stacked() + i]); !done) return done;
        }
        return {};
    }

    // It keeps the type that it begins with.
    Result<void> check_carried() const {
        for (size_t i = 0; i < carried_.size(); i++) {
            const Value& begin = at_first_[i];
            if (same_kind(begin, carried_[i]) || (!begin.tensor && !begin.list)) continue;
            const auto text = [](const Value& value) {
                return value.tensor ? std::string(name(value.tensor->dtype())) : std::string("a list");
            };
            return wrong_step(call_, fmt::format("carried value {} changes its type", i), text(begin),
                              text(carried_[i]));
        }
        return {};
    }

    // Bodies of functions say no types: one iteration, of which nothing is kept, tells them.
    void find_types() {
        const auto results = run_body(call_, *form_.body, inputs_of(0, carried_));
        for (size_t i = 0; results && i < stacks_.size(); i++) stacks_[i].take_type((*results)[first_stacked() + i]);
    }

    StepCall& call_;
    const onnx::LoopForm& form_;
    std::optional<int64_t> trips_;
    bool goes_on_ = true;
    std::vector<Value> carried_;
    std::span<const Value> at_first_, scanned_;
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
    for (size_t place = 0; place < length; place++) {
        std::vector<Value> given;
        for (const Value& input : call.inputs) {
            if (input.list && input.list->size() != length)
                return wrong_step(call, "lists have different lengths", std::to_string(length),
                                  std::to_string(input.list->size()));
            given.push_back(input.list ? (*input.list)[place] : input);
        }
        auto results = run_body(call, *body, std::move(given));
        if (!results) return results;
        for (size_t i = 0; i < lists.size(); i++) lists[i].push_back(std::move((*results)[i]));
    }
    std::vector<Value> results;
    for (auto& list : lists) results.push_back(Value::of_list(std::move(list)));
    return results;
}

Result<std::vector<Value>> run_step(StepCall& call) {
    static const std::map<std::string, Step> loops = {
        {"Loop", &run_loop}, {"Scan", &run_loop}, {"SequenceMap", &run_map}};
    const auto loop = loops.find(call.node.operator_type);
    const Step step = loop != loops.end() ? loop->second : list_step(call.node.operator_type);
    if (step) return step(call);
    return wrong_step(call, "it is given a list, and it is an operation on tensors", "tensors", "a list");
}

}  // namespace heddle::inference
