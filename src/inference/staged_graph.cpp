#include "inference/staged_graph.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/flatten.h"
#include "frontends/onnx/order.h"
#include "inference/stage_parts.h"
#include "inference/steps.h"
#include "support/progress.h"

namespace heddle::inference {

Result<void> spend(const RunWatch& watch, double operations) {
    if (!watch.spent || (*watch.spent += operations) <= watch.limit.operations) return {};
    return fail({.code = "evaluate.too_much_work",
                 .summary = fmt::format("this takes more than {:.2g} scalar operations", watch.limit.operations),
                 .reason = fmt::format("a loop may go on for years; an iteration counts for {:.0e} operations and those of its body",
                                       work_of_iteration),
                 .remedy = fmt::format("if that is meant, raise the limit: {} {:.0e}", watch.limit.option, 10 * watch.limit.operations)});
}

StagedGraph::StagedGraph(const Staging& staging, const onnx::OnnxGraph& graph, StagedGraph* around, std::string name)
    : staging_(staging), graph_(graph), around_(around), name_(std::move(name)) {
    onnx::FlatGraph flat = onnx::flattened(staging.model, graph);
    for (onnx::OnnxTensor& tensor : flat.initializers) initializers_.emplace(tensor.name, std::move(tensor));
    for (const onnx::OnnxValue& output : graph.outputs) {
        outputs_.insert(output.name);
        output_numbers_.push_back(number_of(output.name));
    }
    for (const std::string_view captured : onnx::captures_of(graph)) {
        if (around) captures_.emplace_back(around->number_of(std::string(captured)), number_of(std::string(captured)));
    }
    first_ = follow(std::move(flat.nodes), {});
    for (const onnx::OnnxValue& input : graph.inputs) {
        const int32_t number = number_of(input.name);
        inputs_.push_back({number, std::ranges::binary_search(first_->needed, number)});
    }
}

StagedGraph::~StagedGraph() = default;

int32_t StagedGraph::number_of(const std::string& name) {
    const auto [known, is_new] = numbers_.try_emplace(name, static_cast<int32_t>(values_.size()));
    if (is_new) values_.push_back({.name = name, .value = {}});
    return known->second;
}

std::vector<int32_t> StagedGraph::numbers_of(const std::set<std::string>& names) {
    std::vector<int32_t> numbers;
    for (const std::string& name : names) numbers.push_back(number_of(name));
    std::ranges::sort(numbers);
    return numbers;
}

void StagedGraph::capture() {
    for (const auto& [outside, here] : captures_) {
        const auto& value = around_->at(outside);
        if (!value) continue;
        at(here) = value;
        values_[static_cast<size_t>(here)].is_held = true;
    }
}

void StagedGraph::let_go() {
    for (NamedValue& named : values_) {
        named.is_held = false;
        named.value.reset();
    }
}

// Each value that is read is given, or some node makes it.
Result<void> StagedGraph::check_reads() {
    std::set<std::string> made;
    for (const onnx::OnnxNode& node : first_->rest) made.insert(node.outputs.begin(), node.outputs.end());
    // An input that nothing reads has no value.
    if (around_) std::ranges::transform(graph_.inputs, std::inserter(made, made.end()), &onnx::OnnxValue::name);
    Diagnostics problems;
    const auto check = [&](const std::string& name, const std::string& who) {
        if (made.contains(name) || is_there(name) || initializer(name)) return;
        problems.push_back({.code = "onnx.undefined_value",
                            .summary = fmt::format("{} reads '{}', which nothing defines", who, name),
                            .remedy = "the model is not valid: export it again",
                            .params = {{"file", staging_.model.path}, {"value", name}}});
    };
    for (const onnx::OnnxNode& node : first_->rest) {
        for (const std::string_view name : onnx::reads_of(node))
            check(std::string(name), fmt::format("node '{}'", node.label()));
    }
    const std::string of = name_.empty() ? "the model" : "a body";
    for (const std::string& output : outputs_) check(output, "an output of " + of);
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

StagedGraph& StagedGraph::within(const onnx::OnnxGraph& graph) {
    auto& known = within_[&graph];
    if (!known)
        known = std::make_unique<StagedGraph>(staging_, graph, this, fmt::format("{}/{}", name_, within_.size()));
    return *known;
}

const onnx::OnnxTensor* StagedGraph::initializer(const std::string& name) const {
    const auto found = initializers_.find(name);
    if (found != initializers_.end()) return &found->second;
    return around_ ? around_->initializer(name) : nullptr;
}

// Who takes it is the last to read it.
std::optional<Value> StagedGraph::value_of(int32_t number, bool take) {
    NamedValue& named = values_[static_cast<size_t>(number)];
    if (named.value && take && !named.is_held) return std::exchange(named.value, std::nullopt);
    if (named.value) return named.value;
    const onnx::OnnxTensor* tensor = initializer(named.name);
    return tensor && tensor->data ? std::optional(Value::of(*tensor->data)) : std::nullopt;
}

int64_t StagedGraph::opset_of(const onnx::OnnxNode& node) const {
    const onnx::OnnxModel& model = staging_.model;
    const bool in_function = node.written_in >= 0;
    return model.opset_of(in_function ? &model.functions[static_cast<size_t>(node.written_in)] : nullptr, node.domain);
}

// The same rest is the same continuation.
StagedGraph::Continuation* StagedGraph::follow(std::vector<onnx::OnnxNode> nodes, std::set<std::string> asked,
                                               const std::string& lists) {
    const std::string key = fmt::format("{}{}asked {}", lists, onnx::key_of(nodes), fmt::join(asked, ","));
    auto& known = continuations_[key];
    if (known) return known.get();
    known = std::make_unique<Continuation>();
    known->name = fmt::format("{}:{}", name_, continuations_.size());
    std::set<std::string> needed = outputs_;
    needed.insert(asked.begin(), asked.end());
    needed.merge(onnx::reads_of(nodes));
    known->needed = numbers_of(needed);
    known->rest = std::move(nodes);
    known->asked = std::move(asked);
    return known.get();
}

// An optional that is there in one run may be absent in another: then other nodes are steps.
StagedGraph::Continuation* StagedGraph::fitting(Continuation& at) {
    const auto is_list = [&](int32_t number) {
        const auto& value = this->at(number);
        return value && !value->is_tensor();
    };
    size_t known = 0;
    bool same = at.is_split;
    for (const int32_t number : at.needed) {
        if (!same) break;
        if (is_list(number)) same = known < at.lists.size() && at.lists[known++] == number;
    }
    if (same && known == at.lists.size()) return &at;
    std::vector<int32_t> lists;
    std::ranges::copy_if(at.needed, std::back_inserter(lists), is_list);
    Continuation* fits = &at;
    if (at.is_split) {
        std::vector<std::string> names;
        for (const int32_t number : lists) names.push_back(values_[static_cast<size_t>(number)].name);
        fits = follow(at.rest, at.asked, fmt::format("lists {}\n", fmt::join(names, ",")));
    }
    fits->lists = std::move(lists);
    return fits;
}

Result<std::vector<Value>> StagedGraph::run(const RunWatch& watch) {
    auto results = run_all(watch);
    forget_but({});
    return results;
}

Result<std::vector<Value>> StagedGraph::run_all(const RunWatch& watch) {
    if (!is_checked_) {
        if (auto fine = check_reads(); !fine) return fail(std::move(fine.error()));
        is_checked_ = true;
    }
    for (Continuation* at = first_; at;) {
        // A look at the clock takes about as long as a short stage; a long one looks itself.
        if (stages_run_++ % 8 == 0 && is_cancelled(watch.progress)) return cancelled();
        at = fitting(*at);
        if (auto done = run_steps(*at, watch); !done) return fail(std::move(done.error()));
        if (at->nodes.empty()) break;
        auto next = run_stage(*at, watch);
        if (!next) return fail(std::move(next.error()));
        at = *next;
        if (at) forget_but(at->needed);
    }
    return take_results();
}

Result<std::vector<Value>> StagedGraph::take_results() {
    std::vector<Value> results;
    results.reserve(output_numbers_.size());
    for (auto number = output_numbers_.begin(); number != output_numbers_.end(); ++number) {
        const bool is_last = std::find(std::next(number), output_numbers_.end(), *number) == output_numbers_.end();
        auto value = value_of(*number, is_last);
        if (!value)
            return fail({.code = "onnx.undefined_value",
                         .summary = fmt::format("nothing defines the output '{}'", values_[static_cast<size_t>(*number)].name),
                         .params = {{"file", staging_.model.path}}});
        results.push_back(std::move(*value));
    }
    return results;
}

void StagedGraph::forget_but(const std::vector<int32_t>& needed) {
    for (size_t i = 0; i < values_.size(); i++) {
        NamedValue& named = values_[i];
        if (named.value && !named.is_held && !std::ranges::binary_search(needed, static_cast<int32_t>(i))) named.value.reset();
    }
}

// ---- steps

StagedGraph::PlannedStep StagedGraph::planned(const onnx::OnnxNode& node) {
    PlannedStep step{.node = node};
    for (const std::string& input : node.inputs) step.inputs.push_back({input.empty() ? -1 : number_of(input), false});
    for (const std::string& output : node.outputs) step.outputs.push_back(output.empty() ? -1 : number_of(output));
    return step;
}

Result<void> StagedGraph::run_step(const PlannedStep& step, const RunWatch& watch) {
    const onnx::OnnxNode& node = step.node;
    StepCall call{.node = node, .inputs = {}, .graph = *this, .watch = watch};
    for (const auto& [number, is_last] : step.inputs) {
        auto value = number < 0 ? Value() : value_of(number, is_last);
        if (!value)
            return fail({.code = "onnx.undefined_value",
                         .summary = fmt::format("node '{}' reads '{}', which nothing defines", node.label(),
                                                values_[static_cast<size_t>(number)].name)});
        call.inputs.push_back(std::move(*value));
    }
    auto results = inference::run_step(call);
    if (!results) {
        for (Diagnostic& diagnostic : results.error())
            diagnostic.contexts.push_back({fmt::format("in node '{}' ({})", node.label(), node.operator_type), {}});
        return fail(std::move(results.error()));
    }
    for (size_t i = 0; i < step.outputs.size() && i < results->size(); i++) {
        if (step.outputs[i] >= 0) set(step.outputs[i], std::move((*results)[i]));
    }
    return {};
}

// The first time it is found which steps can run before the next stage: those whose values are there.
Result<void> StagedGraph::run_steps(Continuation& at, const RunWatch& watch) {
    if (at.is_split) {
        for (const PlannedStep& step : at.steps) {
            if (auto done = run_step(step, watch); !done) return done;
        }
        return {};
    }
    std::vector<PlannedStep> steps;
    std::vector<onnx::OnnxNode> others;
    for (const onnx::OnnxNode& node : at.rest) {
        bool is_there = true, reads_list = false;
        for (const std::string_view name : onnx::reads_of(node)) {
            const auto& value = this->at(number_of(std::string(name)));
            is_there = is_there && (value || initializer(std::string(name)));
            reads_list = reads_list || (value && !value->is_tensor());
        }
        if (!is_there || !(onnx::is_step(node) || reads_list)) {
            others.push_back(node);
            continue;
        }
        steps.push_back(planned(node));
        if (auto done = run_step(steps.back(), watch); !done) return done;
    }
    split(at, std::move(steps), std::move(others));
    return {};
}

void StagedGraph::split(Continuation& at, std::vector<PlannedStep> steps, std::vector<onnx::OnnxNode> others) {
    at.steps = std::move(steps);
    at.nodes = std::move(others);
    std::set<std::string> read = onnx::reads_of(at.nodes), made;
    read.insert(at.asked.begin(), at.asked.end());
    for (const onnx::OnnxNode& node : at.nodes) made.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& name : read) {
        if (!made.contains(name) && !initializer(name)) at.reads.push_back({.name = name, .number = number_of(name)});
    }
    // From the last step to the first: what nobody behind it reads, it may take.
    read.insert(outputs_.begin(), outputs_.end());
    for (auto step = at.steps.rbegin(); step != at.steps.rend(); ++step) {
        for (size_t i = 0; i < step->inputs.size(); i++) {
            const std::string& name = step->node.inputs[i];
            step->inputs[i].is_last = !read.contains(name) && !onnx::captures(step->node, name) &&
                                      std::ranges::count(step->node.inputs, name) == 1;
        }
        for (const std::string_view name : onnx::reads_of(step->node)) read.emplace(name);
    }
    at.is_split = true;
}

// ---- stages

void StagedGraph::take_inputs(Continuation& at) {
    StageInputs& inputs = at.inputs;
    inputs.reads.clear();
    inputs.values.clear();
    inputs.known.clear();
    inputs.lists.clear();
    inputs.part.names.clear();
    std::string negative;
    for (StageRead& read : at.reads) {
        const auto& value = this->at(read.number);
        if (!value) continue;  // the import says who reads it
        if (!value->is_tensor()) {
            inputs.lists.insert(read.name);
            continue;
        }
        const bool decides = !at.asked.empty() && at.asked.contains(read.name);
        const TensorData data = decides ? value->row_major().tensor.value() : TensorData();
        const auto sizes = decides ? onnx::size_names(read.name, data) : std::nullopt;
        if (!sizes) {
            inputs.reads.push_back(&read);
            inputs.values.push_back(&*value);
            if (read.widen(*value)) at.version++;
            continue;
        }
        inputs.known.emplace(read.name, data);
        for (size_t i = 0; i < sizes->size(); i++) {
            const int64_t number = data.integer_at(static_cast<int64_t>(i));
            if (number >= 0)
                inputs.part.names.emplace((*sizes)[i], number);
            else
                negative += fmt::format(" {}#{}={}", read.name, i, number);
        }
        if (data.shape().size() == 1) negative += fmt::format(" {}[{}]", read.name, data.size());
    }
    const StageInputs::Key key{at.version, at.asked.size(), std::move(negative)};
    if (inputs.key == key) return;
    inputs.part.key = fmt::format("{} {} {}{}", at.name, key.version, key.asked, key.negative);
    inputs.key = key;
}

Result<StagedGraph::Continuation*> StagedGraph::run_stage(Continuation& at, const RunWatch& watch) {
    for (;;) {
        take_inputs(at);
        const auto specialise = [&](const std::vector<TensorData>&, Progress* progress) { return import(at, progress); };
        at.inputs.part.grow = around_ != nullptr;  // what a body appends to, it is given again
        auto results = staging_.run(at.inputs.part, at.inputs.values, std::ref(specialise), watch);
        if (!results && results.error().front().code == again) continue;
        if (!results) return fail(std::move(results.error()));
        if (auto fine = spend(watch, results->operations); !fine) return fail(std::move(fine.error()));
        const StageEnd& end = ends_[static_cast<size_t>(results->tag - 1)];
        for (const auto& [number, from] : end.handed_on) this->at(number) = this->at(from);
        for (size_t i = 0; i < end.results.size(); i++) set(end.results[i], std::move(results->values[i]));
        return end.next;
    }
}

// The nodes as a model of their own.
onnx::OnnxModel StagedGraph::part_of(const Continuation& at) const {
    onnx::OnnxModel part = onnx::model_of(staging_.model, at.nodes,
                                          [this](const std::string& name) { return initializer(name); });
    for (size_t i = 0; i < at.inputs.reads.size(); i++) {
        const StageRead& read = *at.inputs.reads[i];
        part.graph.inputs.push_back(onnx::value_of(read.name, at.inputs.values[i]->dtype(), *read.pattern));
    }
    return part;
}

Result<Graph> StagedGraph::import(Continuation& at, Progress* progress) {
    const StageInputs& inputs = at.inputs;
    const onnx::OnnxModel part = part_of(at);
    std::vector<std::vector<int64_t>> shapes;
    std::vector<const std::vector<int64_t>*> given;
    onnx::ImportOptions options{.bindings = {}, .values = {}, .free_weights = {}, .progress = progress};
    for (size_t i = 0; i < inputs.reads.size(); i++) {
        shapes.push_back(inputs.values[i]->shape());
        if (!at.asked.contains(inputs.reads[i]->name)) continue;
        const TensorData tensor = *inputs.values[i]->row_major().tensor;
        if (tensor.size() <= largest_folded)
            options.values.emplace(inputs.reads[i]->name, tensor.owned() ? tensor : tensor.clone());
    }
    for (const std::vector<int64_t>& shape : shapes) given.push_back(&shape);
    auto bound = onnx::bind_shapes(part, given, {});
    if (!bound) return fail(std::move(bound.error()));
    options.bindings = std::move(*bound);
    onnx::StageOptions stage{.known = inputs.known, .wanted = {}, .lists = inputs.lists};
    for (const std::string& output : outputs_) {
        if (!is_there(output)) stage.wanted.insert(output);
    }
    SizeFacts facts;
    auto imported = [&] {
        const RecordingFacts recording(facts);
        return onnx::import_stage(part, staging_.library, options, stage);
    }();
    if (!imported) return fail(std::move(imported.error()));
    auto graph = end_stage(at, std::move(*imported));
    if (graph) graph->facts = std::move(facts);
    return graph;
}

Result<Graph> StagedGraph::end_stage(Continuation& at, onnx::ImportedStage stage) {
    const size_t asked = at.asked.size();
    for (const std::string& name : stage.asked) {
        if (std::ranges::find(at.inputs.reads, name, &StageRead::name) != at.inputs.reads.end()) at.asked.insert(name);
    }
    if (at.asked.size() != asked) {
        for (const int32_t number : numbers_of(at.asked)) {
            const auto place = std::ranges::lower_bound(at.needed, number);
            if (place == at.needed.end() || *place != number) at.needed.insert(place, number);
        }
        return fail(Diagnostic{.code = again, .summary = "values of inputs decide"});
    }
    const bool knows_more =
        std::ranges::any_of(stage.results, [&](const std::string& name) { return !is_there(name); });
    if (!knows_more && stage.rest.size() >= at.nodes.size() && !stage.has_written) {
        Diagnostics waiting = std::move(stage.waiting);
        if (waiting.empty())
            waiting.push_back({.code = "inference.broken",
                               .summary = fmt::format("node '{}' waits for what nothing makes", at.nodes[0].label())});
        return fail(std::move(waiting));
    }
    for (onnx::OnnxTensor& tensor : stage.initializers) initializers_.insert_or_assign(tensor.name, std::move(tensor));
    std::set<std::string> known = at.asked;
    known.insert(stage.asked.begin(), stage.asked.end());
    ends_.push_back(end_of(at, std::move(stage.results), stage.graph));
    if (!stage.rest.empty()) ends_.back().next = follow(std::move(stage.rest), std::move(known));
    stage.graph.tag = static_cast<int64_t>(ends_.size());
    return std::move(stage.graph);
}

// What the stage only hands on is no result of its program.
StagedGraph::StageEnd StagedGraph::end_of(Continuation& at, std::vector<std::string> results, Graph& graph) {
    StageEnd end;
    std::vector<TensorId> computed;
    for (size_t i = 0; i < results.size(); i++) {
        const int32_t number = number_of(results[i]);
        const auto from = std::ranges::find(graph.inputs, copied_by(graph, graph.outputs[i]));
        const auto place = static_cast<size_t>(from - graph.inputs.begin());
        if (place < at.inputs.reads.size()) {
            end.handed_on.emplace_back(number, at.inputs.reads[place]->number);
        } else {
            end.results.push_back(number);
            computed.push_back(graph.outputs[i]);
        }
    }
    graph.outputs = std::move(computed);
    return end;
}

}  // namespace heddle::inference
