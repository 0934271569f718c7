#include "inference/steps.h"

#include <algorithm>

#include <fmt/format.h>

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

const onnx::OnnxAttribute* attribute_of(const onnx::OnnxNode& node, const std::string& name) {
    const auto found = std::ranges::find(node.attributes, name, &onnx::OnnxAttribute::name);
    return found == node.attributes.end() ? nullptr : &*found;
}

const onnx::OnnxGraph* graph_of(const onnx::OnnxNode& node, const std::string& attribute) {
    const onnx::OnnxAttribute* found = attribute_of(node, attribute);
    return found ? found->graph.get() : nullptr;
}

int64_t integer_of(const onnx::OnnxNode& node, const std::string& attribute, int64_t otherwise) {
    const onnx::OnnxAttribute* found = attribute_of(node, attribute);
    return found ? found->integer : otherwise;
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
    explicit Stack(const onnx::OnnxValue& type) : type_(type) {}

    bool has_type() const { return !parts_.empty() || type_.dtype; }
    // What an iteration would give, where none is run.
    void take_type(const Value& value) {
        if (value.tensor) found_ = value.tensor->dtype();
    }

    Result<void> add(StepCall& call, const Value& value, size_t axis) {
        if (!value.tensor) return wrong_step(call, "an iteration gives no tensor for what is stacked");
        if (axis > value.tensor->shape().size())
            return wrong_step(call, "the dimension along which results are stacked is not there",
                              fmt::format("at most {}", value.tensor->shape().size()), std::to_string(axis));
        TensorData part = with_dimension(*value.tensor, axis);
        const bool fits = parts_.empty() || (parts_[0].dtype() == part.dtype() && parts_[0].shape() == part.shape());
        if (!fits) return wrong_step(call, "iterations give results of different shapes for what is stacked");
        parts_.push_back(std::move(part));
        return {};
    }

    // Without iterations, dimensions that the body leaves open are 0.
    Value joined(size_t axis, bool reversed) {
        if (reversed) std::ranges::reverse(parts_);
        if (!parts_.empty()) return Value::of(heddle::joined(parts_, axis));
        std::vector<int64_t> shape;
        for (const onnx::OnnxDimension& dimension : type_.shape)
            shape.push_back(std::max<int64_t>(0, dimension.value.value_or(0)));
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), 0);
        return Value::of(TensorData(type_.dtype.value_or(found_), shape));
    }

private:
    const onnx::OnnxValue& type_;
    DType found_ = DType::float32;
    std::vector<TensorData> parts_;
};

}  // namespace

namespace {

// What is carried keeps the type that it begins with.
Result<void> check_carried(const StepCall& call, const std::vector<Value>& carried) {
    for (size_t i = 0; i < carried.size(); i++) {
        const Value& begin = call.inputs[i + 2];
        if (same_kind(begin, carried[i]) || (!begin.tensor && !begin.list)) continue;
        const auto text = [](const Value& value) {
            return value.tensor ? std::string(name(value.tensor->dtype())) : std::string("a list");
        };
        return wrong_step(call, fmt::format("carried value {} changes its type", i), text(begin), text(carried[i]));
    }
    return {};
}

// What iterations leave may be more than there is; how much it is, is looked at now and then.
Result<void> check_memory(int64_t trip) {
    constexpr int64_t interval = 64;
    if (trip % interval != 0 || resident_bytes() <= physical_memory_bytes() / 10 * 9) return {};
    auto problem = runtime::out_of_memory(resident_bytes());
    problem.error().front().summary = "the system has not the memory for what the iterations of a loop leave";
    return problem;
}

}  // namespace

// Loop(trip count?, condition?, carried...): the body gives its condition, the carried values, and what is stacked.
Result<std::vector<Value>> run_loop(StepCall& call) {
    const onnx::OnnxGraph* body = graph_of(call.node, "body");
    if (!body) return wrong_step(call, "the loop has no body");
    const auto given = [&](size_t i) { return i < call.inputs.size() && call.inputs[i].tensor; };
    std::optional<int64_t> trips;
    if (given(0) && !(trips = number_of(call.inputs[0]))) return wrong_step(call, "the trip count is one integer");
    bool goes_on = true;
    if (given(1)) {
        const auto condition = condition_of(call.inputs[1]);
        if (!condition) return wrong_step(call, "the condition is one truth value");
        goes_on = *condition;
    }
    std::vector<Value> carried(call.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(call.inputs)),
                               call.inputs.end());
    const size_t count = carried.size();
    const size_t outputs = call.node.outputs.size() + 1;
    if (body->inputs.size() != count + 2 || body->outputs.size() != outputs || outputs < count + 1)
        return wrong_step(call, "the body does not fit the loop",
                          fmt::format("{} inputs and {} outputs", count + 2, std::max(outputs, count + 1)),
                          fmt::format("{} and {}", body->inputs.size(), body->outputs.size()));
    std::vector<Stack> stacks;
    for (size_t i = count + 1; i < body->outputs.size(); i++) stacks.emplace_back(body->outputs[i]);
    for (int64_t trip = 0; goes_on && (!trips || trip < *trips); trip++) {
        if (is_cancelled(call.watch.progress)) return cancelled();
        if (auto fine = check_memory(trip); !fine) return fail(std::move(fine.error()));
        std::vector<Value> inputs{Value::of(scalar(DType::int64, trip)), Value::of(scalar(DType::boolean, 1))};
        std::ranges::move(carried, std::back_inserter(inputs));
        auto results = run_body(call, *body, std::move(inputs));
        if (!results) return results;
        const auto condition = condition_of((*results)[0]);
        if (!condition) return wrong_step(call, "the condition that the body gives is one truth value");
        goes_on = *condition;
        carried.assign(results->begin() + 1, results->begin() + 1 + static_cast<std::ptrdiff_t>(count));
        if (auto fine = check_carried(call, carried); !fine) return fail(std::move(fine.error()));
        for (size_t i = 0; i < stacks.size(); i++) {
            if (auto done = stacks[i].add(call, (*results)[1 + count + i], 0); !done)
                return fail(std::move(done.error()));
        }
    }
    if (!std::ranges::all_of(stacks, &Stack::has_type)) {
        // Bodies of functions say no types: one iteration, of which nothing is kept, tells them.
        std::vector<Value> inputs{Value::of(scalar(DType::int64, 0)), Value::of(scalar(DType::boolean, 1))};
        std::ranges::copy(carried, std::back_inserter(inputs));
        const auto results = run_body(call, *body, std::move(inputs));
        for (size_t i = 0; results && i < stacks.size(); i++) stacks[i].take_type((*results)[1 + count + i]);
    }
    for (Stack& stack : stacks) carried.push_back(stack.joined(0, false));
    return carried;
}

namespace {

// Of scanned inputs or outputs: along which dimension, and whether from the end.
struct Way {
    int64_t axis = 0;
    bool reversed = false;
};

std::vector<Way> ways_of(const onnx::OnnxNode& node, const std::string& kind, size_t count) {
    std::vector<Way> ways(count);
    const onnx::OnnxAttribute* axes = attribute_of(node, kind + "_axes");
    const onnx::OnnxAttribute* turns = attribute_of(node, kind + "_directions");
    if (!turns && kind == "scan_input") turns = attribute_of(node, "directions");  // before opset 9
    for (size_t i = 0; i < count; i++) {
        if (axes && i < axes->integers.size()) ways[i].axis = axes->integers[i];
        if (turns && i < turns->integers.size()) ways[i].reversed = turns->integers[i] != 0;
    }
    return ways;
}

}  // namespace

namespace {

// Scan(states..., scanned...): the body gives the states and what is stacked.
Result<std::vector<Value>> scan(StepCall& call) {
    const onnx::OnnxGraph* body = graph_of(call.node, "body");
    const int64_t count = integer_of(call.node, "num_scan_inputs", 0);
    const auto inputs = std::ssize(call.inputs);
    if (!body || count < 1 || count > inputs || std::ssize(body->inputs) != inputs ||
        body->outputs.size() != call.node.outputs.size() || std::ssize(body->outputs) < inputs - count)
        return wrong_step(call, "the body does not fit the node",
                          fmt::format("{} inputs and {} outputs", inputs, call.node.outputs.size()));
    const auto state_count = static_cast<size_t>(inputs - count);
    std::vector<Value> states(call.inputs.begin(), call.inputs.begin() + (inputs - count));
    std::vector<Way> ways = ways_of(call.node, "scan_input", static_cast<size_t>(count));
    const std::vector<Way> out_ways =
        ways_of(call.node, "scan_output", body->outputs.size() - state_count);
    std::optional<int64_t> trips;
    for (size_t i = 0; i < ways.size(); i++) {
        const Value& scanned = call.inputs[state_count + i];
        const int64_t rank = scanned.tensor ? std::ssize(scanned.tensor->shape()) : 0;
        if (ways[i].axis < 0) ways[i].axis += rank;
        if (ways[i].axis < 0 || ways[i].axis >= rank)
            return wrong_step(call, fmt::format("what is scanned has no dimension {}", ways[i].axis));
        const int64_t extent = scanned.tensor->shape()[static_cast<size_t>(ways[i].axis)];
        if (trips.value_or(extent) != extent)
            return wrong_step(call, "what is scanned has different lengths", std::to_string(*trips),
                              std::to_string(extent));
        trips = extent;
    }
    std::vector<Stack> stacks;
    for (size_t i = state_count; i < body->outputs.size(); i++) stacks.emplace_back(body->outputs[i]);
    std::vector<size_t> axes(stacks.size(), 0);
    for (int64_t trip = 0; trip < *trips; trip++) {
        if (is_cancelled(call.watch.progress)) return cancelled();
        std::vector<Value> given = std::move(states);
        for (size_t i = 0; i < ways.size(); i++) {
            const auto axis = static_cast<size_t>(ways[i].axis);
            const int64_t place = ways[i].reversed ? *trips - 1 - trip : trip;
            given.push_back(Value::of(
                without_dimension(heddle::part_of(*call.inputs[state_count + i].tensor, axis, place, 1), axis)));
        }
        auto results = run_body(call, *body, std::move(given));
        if (!results) return results;
        states.assign(results->begin(), results->begin() + static_cast<std::ptrdiff_t>(state_count));
        for (size_t i = 0; i < stacks.size(); i++) {
            const Value& part = (*results)[state_count + i];
            const int64_t rank = part.tensor ? std::ssize(part.tensor->shape()) + 1 : 1;
            axes[i] = static_cast<size_t>(out_ways[i].axis < 0 ? out_ways[i].axis + rank : out_ways[i].axis);
            if (auto done = stacks[i].add(call, part, axes[i]); !done) return fail(std::move(done.error()));
        }
    }
    for (size_t i = 0; i < stacks.size(); i++) states.push_back(stacks[i].joined(axes[i], out_ways[i].reversed));
    return states;
}

// Before opset 9 the first input is lengths, which are refused, and the first dimension of all others is one of
// examples, each of which is scanned by itself.
Result<std::vector<Value>> scan_examples(StepCall& call) {
    if (call.inputs.size() < 2 || call.inputs[0].tensor || call.inputs[0].list)
        return wrong_step(call, "lengths of scanned sequences are not supported", "no first input");
    std::optional<int64_t> examples;
    for (size_t i = 1; i < call.inputs.size(); i++) {
        const auto& tensor = call.inputs[i].tensor;
        const int64_t extent = tensor && !tensor->shape().empty() ? tensor->shape()[0] : -1;
        if (extent < 1 || examples.value_or(extent) != extent)
            return wrong_step(call, "inputs have one first dimension, of at least one example");
        examples = extent;
    }
    std::vector<std::vector<TensorData>> results;  // by output
    for (int64_t example = 0; example < *examples; example++) {
        StepCall one{.node = call.node, .inputs = {}, .graph = call.graph, .values = call.values, .watch = call.watch};
        for (size_t i = 1; i < call.inputs.size(); i++)
            one.inputs.push_back(
                Value::of(without_dimension(heddle::part_of(*call.inputs[i].tensor, 0, example, 1), 0)));
        auto values = scan(one);
        if (!values) return values;
        results.resize(values->size());
        for (size_t i = 0; i < results.size(); i++) {
            if (!(*values)[i].tensor) return wrong_step(call, "the body gives no tensor");
            results[i].push_back(with_dimension(*(*values)[i].tensor, 0));
            if (results[i].back().shape() != results[i].front().shape())
                return wrong_step(call, "examples give results of different shapes");
        }
    }
    std::vector<Value> values;
    for (const auto& parts : results) values.push_back(Value::of(joined(parts, 0)));
    return values;
}

}  // namespace

Result<std::vector<Value>> run_scan(StepCall& call) {
    constexpr int64_t first_without_examples = 9;
    return call.graph.opset_of(call.node) < first_without_examples ? scan_examples(call) : scan(call);
}

// SequenceMap(list, more...): the body on each element; of other lists on those of the same place.
Result<std::vector<Value>> run_map(StepCall& call) {
    const onnx::OnnxGraph* body = graph_of(call.node, "body");
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
        {"Loop", &run_loop}, {"Scan", &run_scan}, {"SequenceMap", &run_map}};
    const auto loop = loops.find(call.node.operator_type);
    const Step step = loop != loops.end() ? loop->second : list_step(call.node.operator_type);
    if (step) return step(call);
    return wrong_step(call, "it is given a list, and it is an operation on tensors", "tensors", "a list");
}

}  // namespace heddle::inference
