#include "inference/staged_model.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evaluate/evaluate.h"
#include "frontends/onnx/flatten.h"
#include "frontends/onnx/order.h"
#include "inference/steps.h"
#include "support/progress.h"

namespace heddle::inference {

namespace {

// The import found that more values decide than were known to: it is done again with these.
constexpr const char* again = "again";

}  // namespace

struct StagedGraph::Continuation {
    std::string name;
    std::vector<onnx::OnnxNode> rest;          // all
    std::vector<onnx::OnnxNode> steps, nodes;  // those run first, then a stage of these begins
    bool is_split = false;                     // into steps and nodes: when it first runs
    std::set<std::string> lists;               // values that are no tensors, for which it is split
    std::set<std::string> asked;               // values by which it is decided
    std::set<std::string> needed;              // all that is read from here on
    std::vector<std::string> reads;            // by `nodes`, and made by none of them
    // Of inputs: a dimension has a name, or one number; another number opens it for good.
    std::map<std::string, std::vector<onnx::OnnxDimension>> patterns;
    int64_t version = 0;                       // of these
};

struct StagedGraph::StageEnd {
    std::vector<std::string> results;
    Continuation* next = nullptr;
};

struct StagedGraph::Inputs {
    std::vector<std::string> names;
    std::vector<TensorData> tensors;
    std::map<std::string, TensorData> known;
    std::set<std::string> lists;
    ProgramCache::Part part;
};

StagedGraph::StagedGraph(const Staging& staging, const onnx::OnnxGraph& graph, StagedGraph* around, std::string name)
    : staging_(staging), graph_(graph), around_(around), name_(std::move(name)) {
    for (const std::string_view captured : onnx::captures_of(graph)) captures_.emplace(captured);
    onnx::FlatGraph flat = onnx::flattened(staging.model, graph);
    for (onnx::OnnxTensor& tensor : flat.initializers) initializers_.emplace(tensor.name, std::move(tensor));
    for (const onnx::OnnxValue& output : graph.outputs) outputs_.insert(output.name);
    first_ = follow(std::move(flat.nodes), {});
}

// Each value that is read is given, or some node makes it.
Result<void> StagedGraph::check_reads(const NamedValues& values) const {
    std::set<std::string> made;
    for (const onnx::OnnxNode& node : first_->rest) made.insert(node.outputs.begin(), node.outputs.end());
    Diagnostics problems;
    const auto check = [&](const std::string& name, const std::string& who) {
        if (made.contains(name) || values.contains(name) || initializer(name)) return;
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

StagedGraph::~StagedGraph() = default;

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

std::optional<Value> StagedGraph::value_of(const std::string& name, const NamedValues& values) const {
    const auto found = values.find(name);
    if (found != values.end()) return found->second;
    const onnx::OnnxTensor* tensor = initializer(name);
    return tensor && tensor->data ? std::optional(Value::of(*tensor->data)) : std::nullopt;
}

// The same rest is the same continuation.
StagedGraph::Continuation* StagedGraph::follow(std::vector<onnx::OnnxNode> nodes, std::set<std::string> asked,
                                               const std::string& lists) {
    const std::string key = fmt::format("{}{}asked {}", lists, onnx::key_of(nodes), fmt::join(asked, ","));
    auto& known = continuations_[key];
    if (known) return known.get();
    known = std::make_unique<Continuation>();
    known->name = fmt::format("{}:{}", name_, continuations_.size());
    known->needed = outputs_;
    known->needed.insert(asked.begin(), asked.end());
    known->needed.merge(onnx::reads_of(nodes));
    known->rest = std::move(nodes);
    known->asked = std::move(asked);
    return known.get();
}

// An optional that is there in one run may be absent in another: then other nodes are steps.
StagedGraph::Continuation* StagedGraph::fitting(Continuation& at, const NamedValues& values) {
    std::set<std::string> lists;
    for (const auto& [name, value] : values) {
        if (!value.tensor && at.needed.contains(name)) lists.insert(name);
    }
    Continuation* fits = !at.is_split || at.lists == lists
                             ? &at
                             : follow(at.rest, at.asked, fmt::format("lists {}\n", fmt::join(lists, ",")));
    fits->lists = std::move(lists);
    return fits;
}

Result<std::vector<Value>> StagedGraph::run(NamedValues values, const RunWatch& watch) {
    if (!is_checked_) {
        if (auto fine = check_reads(values); !fine) return fail(std::move(fine.error()));
        is_checked_ = true;
    }
    for (Continuation* at = first_; at;) {
        if (is_cancelled(watch.progress)) return cancelled();
        at = fitting(*at, values);
        if (auto done = run_steps(*at, values, watch); !done) return fail(std::move(done.error()));
        if (at->nodes.empty()) break;
        auto next = run_stage(*at, values, watch);
        if (!next) return fail(std::move(next.error()));
        at = *next;
        if (at) std::erase_if(values, [&](const auto& value) { return !at->needed.contains(value.first); });
    }
    std::vector<Value> results;
    for (const onnx::OnnxValue& output : graph_.outputs) {
        auto value = value_of(output.name, values);
        if (!value)
            return fail({.code = "onnx.undefined_value",
                         .summary = fmt::format("nothing defines the output '{}'", output.name),
                         .params = {{"file", staging_.model.path}}});
        results.push_back(std::move(*value));
    }
    return results;
}

int64_t StagedGraph::opset_of(const onnx::OnnxNode& node) const {
    const onnx::OnnxModel& model = staging_.model;
    const bool in_function = node.written_in >= 0;
    return model.opset_of(in_function ? &model.functions[static_cast<size_t>(node.written_in)] : nullptr, node.domain);
}

// ---- steps

Result<void> StagedGraph::run_step(const onnx::OnnxNode& node, NamedValues& values, const RunWatch& watch) {
    StepCall call{.node = node, .inputs = {}, .graph = *this, .values = values, .watch = watch};
    for (const std::string& input : node.inputs) {
        auto value = input.empty() ? Value() : value_of(input, values);
        if (!value)
            return fail({.code = "onnx.undefined_value",
                         .summary = fmt::format("node '{}' reads '{}', which nothing defines", node.label(), input)});
        call.inputs.push_back(std::move(*value));
    }
    auto results = inference::run_step(call);
    if (!results) {
        for (Diagnostic& diagnostic : results.error())
            diagnostic.contexts.push_back({fmt::format("in node '{}' ({})", node.label(), node.operator_type), {}});
        return fail(std::move(results.error()));
    }
    for (size_t i = 0; i < node.outputs.size() && i < results->size(); i++) {
        if (!node.outputs[i].empty()) values[node.outputs[i]] = std::move((*results)[i]);
    }
    return {};
}

// The first time it is found which steps can run before the next stage: those whose values are there.
Result<void> StagedGraph::run_steps(Continuation& at, NamedValues& values, const RunWatch& watch) {
    if (at.is_split) {
        for (const onnx::OnnxNode& node : at.steps) {
            if (auto done = run_step(node, values, watch); !done) return done;
        }
        return {};
    }
    std::vector<onnx::OnnxNode> steps, others;
    for (const onnx::OnnxNode& node : at.rest) {
        bool is_there = true, reads_list = false;
        for (const std::string_view name : onnx::reads_of(node)) {
            const auto value = value_of(std::string(name), values);
            is_there = is_there && value;
            reads_list = reads_list || (value && !value->tensor);
        }
        if (!is_there || !(onnx::is_step(node) || reads_list)) {
            others.push_back(node);
            continue;
        }
        if (auto done = run_step(node, values, watch); !done) return done;
        steps.push_back(node);
    }
    split(at, std::move(steps), std::move(others));
    return {};
}

void StagedGraph::split(Continuation& at, std::vector<onnx::OnnxNode> steps, std::vector<onnx::OnnxNode> others) {
    at.steps = std::move(steps);
    at.nodes = std::move(others);
    std::set<std::string> read = onnx::reads_of(at.nodes), made;
    read.insert(at.asked.begin(), at.asked.end());
    for (const onnx::OnnxNode& node : at.nodes) made.insert(node.outputs.begin(), node.outputs.end());
    for (const std::string& name : read) {
        if (!made.contains(name) && !initializer(name)) at.reads.push_back(name);
    }
    at.is_split = true;
}

// ---- stages

namespace {

std::vector<onnx::OnnxDimension> pattern_of(const Value& value) {
    std::vector<onnx::OnnxDimension> pattern;
    const std::vector<int64_t>& shape = value.tensor->shape();
    for (size_t d = 0; d < shape.size(); d++) {
        const bool is_named = d < value.sizes.size() && value.sizes[d].named();
        pattern.push_back(is_named ? onnx::OnnxDimension{std::nullopt, value.sizes[d].origin()->text()}
                                   : onnx::OnnxDimension{shape[d], {}});
    }
    return pattern;
}

// Whether it has changed.
bool widen(std::vector<onnx::OnnxDimension>& known, const std::vector<onnx::OnnxDimension>& now) {
    const std::vector<onnx::OnnxDimension> before = known;
    if (known.size() != now.size()) known = now;
    for (size_t d = 0; d < known.size(); d++) {
        if (known[d] != now[d]) known[d] = {};
    }
    return known != before;
}

}  // namespace

StagedGraph::Inputs StagedGraph::inputs_of(Continuation& at, const NamedValues& values) const {
    Inputs inputs;
    std::string negative;
    for (const std::string& name : at.reads) {
        const auto found = values.find(name);
        if (found == values.end()) continue;  // the import says who reads it
        const Value& value = found->second;
        if (!value.tensor) {
            inputs.lists.insert(name);
            continue;
        }
        const auto sizes = at.asked.contains(name) ? onnx::size_names(name, *value.tensor) : std::nullopt;
        if (!sizes) {
            inputs.names.push_back(name);
            inputs.tensors.push_back(*value.tensor);
            const auto [pattern, is_new] = at.patterns.try_emplace(name, pattern_of(value));
            if (!is_new && widen(pattern->second, pattern_of(value))) at.version++;
            continue;
        }
        inputs.known.emplace(name, *value.tensor);
        for (size_t i = 0; i < sizes->size(); i++) {
            const int64_t number = value.tensor->integer_at(static_cast<int64_t>(i));
            if (number >= 0)
                inputs.part.names.emplace((*sizes)[i], number);
            else
                negative += fmt::format(" {}#{}={}", name, i, number);
        }
        if (value.tensor->shape().size() == 1) negative += fmt::format(" {}[{}]", name, value.tensor->size());
    }
    inputs.part.key = fmt::format("{} {} {}{}", at.name, at.version, at.asked.size(), negative);
    return inputs;
}

Result<StagedGraph::Continuation*> StagedGraph::run_stage(Continuation& at, NamedValues& values,
                                                          const RunWatch& watch) {
    for (;;) {
        const Inputs inputs = inputs_of(at, values);
        const auto specialise = [&](const std::vector<TensorData>&, Progress* progress) {
            return import(at, inputs, values, progress);
        };
        auto results = staging_.run(inputs.part, inputs.tensors, specialise, watch);
        if (!results && results.error().front().code == again) continue;
        if (!results) return fail(std::move(results.error()));
        const StageEnd& end = ends_[static_cast<size_t>(results->tag - 1)];
        for (size_t i = 0; i < end.results.size(); i++)
            values[end.results[i]] = {std::move(results->tensors[i]), nullptr, {}, std::move(results->types[i].shape)};
        return end.next;
    }
}

// The nodes as a model of their own.
onnx::OnnxModel StagedGraph::part_of(const Continuation& at, const Inputs& inputs) const {
    onnx::OnnxModel part = onnx::model_of(staging_.model, at.nodes,
                                          [this](const std::string& name) { return initializer(name); });
    for (size_t i = 0; i < inputs.names.size(); i++)
        part.graph.inputs.push_back(
            onnx::value_of(inputs.names[i], inputs.tensors[i].dtype(), at.patterns.at(inputs.names[i])));
    return part;
}

Result<Graph> StagedGraph::import(Continuation& at, const Inputs& inputs, const NamedValues& values,
                                  Progress* progress) {
    const onnx::OnnxModel part = part_of(at, inputs);
    std::vector<const std::vector<int64_t>*> shapes;
    onnx::ImportOptions options{.bindings = {}, .values = {}, .free_weights = {}, .progress = progress};
    for (size_t i = 0; i < inputs.names.size(); i++) {
        const TensorData& tensor = inputs.tensors[i];
        shapes.push_back(&tensor.shape());
        if (at.asked.contains(inputs.names[i]) && tensor.size() <= largest_folded)
            options.values.emplace(inputs.names[i], tensor.owned() ? tensor : tensor.clone());
    }
    auto bound = onnx::bind_shapes(part, shapes, {});
    if (!bound) return fail(std::move(bound.error()));
    options.bindings = std::move(*bound);
    onnx::StageOptions stage{.known = inputs.known, .wanted = {}, .lists = inputs.lists};
    for (const std::string& output : outputs_) {
        if (!values.contains(output)) stage.wanted.insert(output);
    }
    SizeFacts facts;
    auto imported = [&] {
        const RecordingFacts recording(facts);
        return onnx::import_stage(part, staging_.library, options, stage);
    }();
    if (!imported) return fail(std::move(imported.error()));
    auto graph = end_stage(at, std::move(*imported), inputs, values);
    if (graph) graph->facts = std::move(facts);
    return graph;
}

Result<Graph> StagedGraph::end_stage(Continuation& at, onnx::ImportedStage stage, const Inputs& inputs,
                                     const NamedValues& values) {
    const size_t asked = at.asked.size();
    const auto is_input = [&](const std::string& name) {
        return std::ranges::find(inputs.names, name) != inputs.names.end();
    };
    for (const std::string& name : stage.asked) {
        if (is_input(name)) at.asked.insert(name);
    }
    if (at.asked.size() != asked) {
        at.needed.insert(at.asked.begin(), at.asked.end());
        return fail(Diagnostic{.code = again, .summary = "values of inputs decide"});
    }
    const bool knows_more =
        std::ranges::any_of(stage.results, [&](const std::string& name) { return !values.contains(name); });
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
    ends_.push_back({std::move(stage.results), nullptr});
    if (!stage.rest.empty()) ends_.back().next = follow(std::move(stage.rest), std::move(known));
    stage.graph.tag = static_cast<int64_t>(ends_.size());
    return std::move(stage.graph);
}

// ---- the model

bool needs_stages(const Diagnostics& problems) {
    return std::ranges::any_of(problems, [](const Diagnostic& problem) {
        const auto has = [&](const char* key) {
            return std::ranges::any_of(problem.params, [&](const auto& param) { return param.first == key; });
        };
        // An input whose value is not given is no value of a stage.
        const bool waits = has("waits_for") && !has("not_given");
        return problem.code == "onnx.step" || problem.code == "onnx.open_branch" || waits;
    });
}

bool holds_for_little(const Graph& graph) {
    return std::ranges::any_of(graph.inputs, [&](TensorId input) {
        constexpr int64_t few = 6;
        const auto& decided = graph.tensor(input).constant;
        return decided && (decided->shape().size() > 1 || decided->size() > few || is_float(decided->dtype()));
    });
}

RunPart compiled_by(ProgramCache& programs) {
    return [&programs](const ProgramCache::Part& part, const std::vector<TensorData>& inputs,
                       const Specialise& specialise, const RunWatch& watch) {
        return programs.run(part, inputs, specialise, watch.progress, watch.profile);
    };
}

RunPart interpreted() {
    return [](const ProgramCache::Part&, const std::vector<TensorData>& inputs, const Specialise& specialise,
              const RunWatch& watch) -> Result<ProgramCache::Results> {
        auto graph = specialise(inputs, watch.progress);
        if (!graph) return fail(std::move(graph.error()));
        auto values = evaluate_graph(*graph, inputs, Precision::body);
        if (!values) return fail(std::move(values.error()));
        ProgramCache::Results results{.tensors = {}, .types = {}, .tag = graph->tag};
        for (TensorId output : graph->outputs) {
            results.tensors.push_back(std::move((*values)[static_cast<size_t>(output)]));
            results.types.push_back(graph->tensor(output).type);
        }
        return results;
    };
}

StagedModel::StagedModel(const onnx::OnnxModel& model, const Library& library, RunPart run,
                         std::map<std::string, int64_t> bindings)
    : staging_{model, library, std::move(run)},
      bindings_(std::move(bindings)),
      graph_(staging_, model.graph, nullptr, "") {
    for (const onnx::OnnxValue* input : onnx::caller_inputs(model)) declared_.graph.inputs.push_back(*input);
}

namespace {

// The caller may write to it: what is only handed on, or handed on twice, is copied.
Value own(Value value, std::set<const std::byte*>& taken) {
    if (value.tensor && (!value.tensor->owned() || !taken.insert(value.tensor->data()).second))
        value.tensor = value.tensor->clone();
    if (!value.list) return value;
    std::vector<Value> elements;
    for (const Value& element : *value.list) elements.push_back(own(element, taken));
    return Value::of_list(std::move(elements));
}

}  // namespace

Result<std::vector<Value>> StagedModel::run(std::vector<Value> inputs, const RunWatch& watch) {
    const std::lock_guard lock(running_);
    const std::vector<onnx::OnnxValue>& declared = declared_.graph.inputs;
    std::vector<const std::vector<int64_t>*> shapes;
    for (const Value& value : inputs) shapes.push_back(value.tensor ? &value.tensor->shape() : nullptr);
    auto bound = onnx::bind_shapes(declared_, shapes, bindings_);
    if (!bound) return fail(std::move(bound.error()));
    NamedValues values;
    for (size_t i = 0; i < declared.size(); i++) {
        Value& value = inputs[i];
        if (!value.tensor && !value.list && !onnx::is_list(declared[i])) continue;
        if (value.tensor && declared[i].dtype && value.tensor->dtype() != *declared[i].dtype)
            return fail(runtime::wrong_dtype(declared[i].name, {*declared[i].dtype, {}}, *value.tensor));
        for (size_t d = 0; value.tensor && d < declared[i].shape.size(); d++) {
            const std::string name = onnx::open_name(declared[i], d);
            const int64_t number = value.tensor->shape()[d];
            value.sizes.push_back(name.empty() || bindings_.contains(name) ? Size(number) : named_size(name, number));
        }
        values.emplace(declared[i].name, std::move(value));
    }
    auto results = graph_.run(std::move(values), watch);
    if (!results) return results;
    std::set<const std::byte*> taken;
    for (Value& value : *results) value = own(std::move(value), taken);
    return results;
}

}  // namespace heddle::inference
