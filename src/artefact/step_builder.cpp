// Finds ahead which steps a model takes: what is left to do, of which types the values are that are there, and which
// truth values are known, is a state; each state is one step, and the same state is the same step.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artefact/step_program.h"
#include "artefact/step_scope.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/order.h"
#include "support/progress.h"
#include "zspace/size_facts.h"

namespace heddle::artefact {
namespace {

// More inputs decide than were known to: the state is another one.
constexpr const char* again = "again";
constexpr size_t most_steps = 512;

struct State {
    std::vector<onnx::OnnxNode> rest;
    std::map<std::string, bool> truths;  // conditions that are known on this way
    std::set<std::string> asked;         // values by which the rest is decided
    ValueTypes values;
};

// What a part gives, and what is left behind it.
struct StageEnd {
    std::string key;
    std::vector<std::string> results;
    std::vector<ValueType> types;
    std::vector<onnx::OnnxNode> rest;
    std::vector<onnx::OnnxTensor> initializers;
    std::set<std::string> asked;
};

std::string key_of(const std::vector<onnx::OnnxNode>& nodes) {
    std::string key;
    for (const onnx::OnnxNode& node : nodes) key += fmt::format("{} = {}\n", fmt::join(node.outputs, ","), node.name);
    return key;
}

std::set<std::string> reads_of(const std::vector<onnx::OnnxNode>& nodes) {
    std::set<std::string> reads;
    for (const onnx::OnnxNode& node : nodes) {
        for (const std::string_view name : onnx::reads_of(node)) reads.emplace(name);
    }
    return reads;
}

std::unexpected<Diagnostics> not_yet(std::string summary, std::string reason, const onnx::OnnxNode* node = nullptr) {
    Diagnostic problem{.code = "artefact.steps",
                       .summary = std::move(summary),
                       .reason = std::move(reason),
                       .remedy = "run the model in a session: `heddle run`, heddle.Model"};
    if (node) problem.params = {{"node", node->label()}, {"operator", node->operator_type}};
    return fail(std::move(problem));
}

const onnx::OnnxGraph* body_of(const onnx::OnnxNode& node) {
    const auto found = std::ranges::find(node.attributes, "body", &onnx::OnnxAttribute::name);
    return found == node.attributes.end() ? nullptr : found->graph.get();
}

// ---- one stage

// The graphs of a state's stage, for sizes.
class StageImport {
public:
    StageImport(const StepRequest& request, const StepScope& scope, const State& state, int32_t open)
        : request_(request), scope_(scope), state_(state), open_(open) {}

    // Which values it reads, and which of them are sizes; that one of these (`open_`) is -1. Code artefact.steps.
    Result<void> prepare() {
        std::set<std::string> reads = reads_of(state_.rest);
        reads.insert(state_.asked.begin(), state_.asked.end());
        for (const std::string& name : reads) {
            const auto type = state_.values.find(name);
            if (type == state_.values.end() || state_.truths.contains(name)) continue;
            if (!state_.asked.contains(name)) {
                inputs.push_back(name);
                for (const ValueDimension& dimension : type->second.shape)
                    if (!dimension.number) names_.insert(dimension.name);
                continue;
            }
            const std::optional<int64_t> elements = type->second.elements();
            const auto sizes = elements && type->second.shape.size() <= 1
                                   ? onnx::size_names(name, example(name, {}))
                                   : std::nullopt;
            if (!sizes) return not_a_size(name, type->second);
            for (size_t i = 0; i < sizes->size(); i++) {
                const bool is_size = std::ssize(known_names) != open_;
                known_names.push_back({name, static_cast<int32_t>(i), is_size ? (*sizes)[i] : std::string()});
                if (is_size) names_.insert((*sizes)[i]);
            }
        }
        return {};
    }

    std::vector<Dimension> dimensions() const {
        std::vector<Dimension> result;
        for (const std::string& name : names_) {
            const auto given = std::ranges::find(request_.dimensions, name, &Dimension::name);
            result.push_back(given != request_.dimensions.end() ? *given : Dimension{name, 0, greatest(name), 1, true});
        }
        return result;
    }

    Result<Graph> graph(const SizeNames& sizes) {
        if (++asked_for_ > most_plans)
            return fail({.code = "artefact.too_many_sizes",
                         .summary = "a step is to hold for too many sizes",
                         .expected = fmt::format("at most {} kinds of sizes", most_plans),
                         .reason = "what is computed, or how, follows from sizes themselves",
                         .remedy = "narrower ranges of the model's dimensions"});
        const onnx::OnnxModel part = model();
        onnx::ImportOptions options{.bindings = sizes, .values = {}, .free_weights = {}, .progress = request_.progress};
        onnx::StageOptions stage{.known = {}, .wanted = {}, .lists = {}};
        for (const Known& known : known_names) {
            if (!stage.known.contains(known.value)) stage.known.emplace(known.value, example(known.value, sizes));
        }
        for (const std::string& output : scope_.outputs) {
            if (!state_.values.contains(output) && !scope_.initializer(output)) stage.wanted.insert(output);
        }
        SizeFacts facts;
        auto imported = [&] {
            const RecordingFacts recording(facts);
            return onnx::import_stage(part, request_.library, options, stage);
        }();
        if (!imported && may_leave_out()) return left_out(std::move(facts), std::move(imported.error()));
        if (!imported) return fail(std::move(imported.error()));
        if (auto done = end_with(*imported); !done) return fail(std::move(done.error()));
        Graph graph = std::move(imported->graph);
        for (const Known& known : known_names) {
            if (known.size.empty()) continue;
            const int64_t number = sizes.at(known.size);
            const TensorId input = graph.add_tensor("size " + known.size, {DType::uint8, {named_size(known.size, number)}});
            graph.inputs.push_back(input);
        }
        graph.dimension_names.insert(sizes.begin(), sizes.end());
        graph.facts = std::move(facts);
        graph.tag = tag_;
        return graph;
    }

    struct Known {
        std::string value;
        int32_t element = 0;
        std::string size;  // empty: it is -1
    };
    std::vector<std::string> inputs;
    std::vector<Known> known_names;
    std::vector<StageEnd> ends;         // by tag
    std::set<std::string> also_asked;  // inputs
    Diagnostics left_out_for;          // why the model does not hold for the first sizes that were left out

private:
    // Data may decide more than the model holds for, as more rows than there are: runs tell it then.
    bool may_leave_out() const {
        return std::ranges::any_of(dimensions(), &Dimension::is_open) && left_out_ < most_left_out;
    }

    Graph left_out(SizeFacts facts, Diagnostics why) {
        left_out_++;
        if (left_out_for.empty()) left_out_for = std::move(why);
        Graph nothing;
        nothing.facts = std::move(facts);
        nothing.tag = left_out_tag;
        return nothing;
    }

    // A number that a node asks for itself counts what it is given ("NODE#0"): it is at most as many elements.
    int64_t greatest(const std::string& size) const {
        int64_t most = -1;
        for (const onnx::OnnxNode& node : state_.rest) {
            const bool asks = std::ranges::any_of(node.outputs, [&](const std::string& output) {
                return !output.empty() && size.starts_with(output + "#");
            });
            if (!asks) continue;
            for (const std::string& input : node.inputs) {
                const auto type = state_.values.find(input);
                if (type != state_.values.end()) most = std::max(most, most_elements(type->second));
            }
        }
        return most < 0 ? open_end : std::min(most, open_end);
    }

    int64_t most_elements(const ValueType& type) const {
        int64_t all = 1;
        for (const ValueDimension& dimension : type.shape) {
            const auto given = std::ranges::find(request_.dimensions, dimension.name, &Dimension::name);
            const int64_t most = dimension.number                         ? *dimension.number
                                 : given != request_.dimensions.end() ? given->to
                                                                      : open_end;
            if (__builtin_mul_overflow(all, most, &all)) return open_end;
        }
        return all;
    }

    // A value of the type whose elements are these sizes, or 1.
    TensorData example(const std::string& name, const SizeNames& sizes) const {
        const ValueType& type = state_.values.at(name);
        std::vector<int64_t> shape;
        for (const ValueDimension& dimension : type.shape) shape.push_back(*dimension.number);
        constexpr int64_t most = 64;  // others are no sizes, whatever they are
        if (shape.size() == 1) shape[0] = std::min(shape[0], most + 1);
        TensorData data(type.dtype, shape);
        for (int64_t i = 0; i < data.size() && is_integer(type.dtype); i++) data.set_integer(i, 1);
        for (const Known& known : known_names) {
            const auto size = sizes.find(known.size);
            if (known.value == name && known.size.empty()) data.set_integer(known.element, -1);
            if (known.value == name && size != sizes.end()) data.set_integer(known.element, size->second);
        }
        return data;
    }

    std::unexpected<Diagnostics> not_a_size(const std::string& name, const ValueType& type) const {
        std::string readers;
        for (const onnx::OnnxNode& node : state_.rest) {
            const auto reads = onnx::reads_of(node);
            const bool reads_it = reads.contains(name) ||
                                  std::ranges::any_of(node.outputs, [&](const std::string& output) {
                                      return !output.empty() && name.starts_with(output + "#");
                                  });
            if (reads_it) readers += fmt::format("{}'{}' ({})", readers.empty() ? "" : ", ", node.label(), node.operator_type);
        }
        return not_yet(fmt::format("the value '{}' decides, and it is no size", name),
                       fmt::format("it is {}, which {} asks for; a program is made ahead for sizes (integers, at most 64, "
                                   "their number known) and truth values",
                                   type.text(), readers));
    }

    // The nodes as a model of their own.
    onnx::OnnxModel model() const {
        const onnx::OnnxModel& whole = request_.model;
        onnx::OnnxModel part{.path = whole.path, .ir_version = whole.ir_version, .metadata = {}, .opsets = whole.opsets,
                             .graph = {}, .functions = whole.functions, .data_files = {}, .data_problems = {}};
        part.graph.nodes = state_.rest;
        for (const std::string& name : reads_of(state_.rest)) {
            if (const auto truth = state_.truths.find(name); truth != state_.truths.end()) {
                part.graph.initializers.push_back({.name = name, .data = truth_data(name, truth->second), .type_text = "bool"});
            } else if (const onnx::OnnxTensor* tensor = scope_.initializer(name); tensor && !state_.values.contains(name)) {
                part.graph.initializers.push_back(*tensor);
                part.graph.initializers.back().name = name;
            }
        }
        for (const std::string& name : inputs) {
            const ValueType& type = state_.values.at(name);
            onnx::OnnxValue value{.name = name, .dtype = type.dtype, .type_text = std::string(heddle::name(type.dtype)),
                                  .has_shape = true, .shape = {}};
            for (const ValueDimension& dimension : type.shape) value.shape.push_back({dimension.number, dimension.name});
            part.graph.inputs.push_back(std::move(value));
        }
        return part;
    }

    TensorData truth_data(const std::string& name, bool truth) const {
        TensorData data(DType::boolean, std::vector<int64_t>(state_.values.at(name).shape.size(), 1));
        data.set_integer(0, truth ? 1 : 0);
        return data;
    }

    // Which end it is; values of inputs that decide are told first.
    Result<void> end_with(onnx::ImportedStage& stage) {
        for (const std::string& name : stage.asked) {
            if (std::ranges::find(inputs, name) != inputs.end()) also_asked.insert(name);
        }
        if (!also_asked.empty()) return fail(Diagnostic{.code = again, .summary = "values of inputs decide"});
        const bool knows_more = std::ranges::any_of(
            stage.results, [&](const std::string& name) { return !state_.values.contains(name); });
        if (!knows_more && stage.rest.size() >= state_.rest.size() && !stage.has_written) {
            if (stage.waiting.empty())
                return not_yet(fmt::format("node '{}' waits for what nothing makes", state_.rest[0].label()), {});
            return fail(std::move(stage.waiting));
        }
        StageEnd end{.key = key_of(stage.rest), .results = stage.results, .types = {}, .rest = std::move(stage.rest),
                     .initializers = std::move(stage.initializers), .asked = {stage.asked.begin(), stage.asked.end()}};
        for (size_t i = 0; i < end.results.size(); i++) {
            end.types.push_back(type_of(end.results[i], stage.graph.tensor(stage.graph.outputs[i]).type));
            end.key += fmt::format("{} {} {}\n", end.results[i], heddle::name(end.types[i].dtype), end.types[i].shape.size());
        }
        end.key += fmt::format("asked {}", fmt::join(end.asked, ","));
        const auto same = std::ranges::find(ends, end.key, &StageEnd::key);
        tag_ = same - ends.begin() + 1;
        if (same == ends.end()) {
            ends.push_back(std::move(end));
            return {};
        }
        for (size_t i = 0; i < end.types.size(); i++)
            same->types[i] = *joined(end.results[i], same->types[i], end.types[i]);
        return {};
    }

    const StepRequest& request_;
    const StepScope& scope_;
    const State& state_;
    const int32_t open_;
    std::set<std::string> names_;
    int64_t tag_ = 0;
    // Data may decide any sizes: what more kinds of them need is left out, and told when the program runs.
    static constexpr int most_plans = 256, most_left_out = 64;
    int asked_for_ = 0, left_out_ = 0;
};

// ---- all steps

class StepBuilder {
public:
    explicit StepBuilder(const StepRequest& request) : request_(request), scope_(request.model, request.model.graph, nullptr, "") {
        program_.name = request.name;
    }

    Result<StepProgram> make() {
        State state{.rest = scope_.nodes, .truths = {}, .asked = {}, .values = {}};
        if (auto taken = take_inputs(state); !taken) return fail(std::move(taken.error()));
        auto first = step_of(scope_, std::move(state));
        if (!first) return fail(std::move(first.error()));
        program_.first = *first;
        for (const onnx::OnnxValue& output : scope_.graph.outputs) {
            const ValueType& type = scope_.output_types.at(output.name);
            program_.outputs.push_back(argument_of(output.name, type));
            if (scope_.mixed.contains(output.name)) program_.outputs.back().sizes = {"..."};
            if (scope_.mixed.contains(output.name)) program_.outputs.back().shape = {0};
            program_.output_values.push_back(value_of(scope_, output.name));
        }
        return std::move(program_);
    }

private:
    static Argument argument_of(const std::string& name, const ValueType& type) {
        Argument argument{.name = name, .dtype = type.dtype, .shape = {}, .axes = {}, .sizes = {}, .value = {}};
        for (const ValueDimension& dimension : type.shape) {
            argument.shape.push_back(dimension.number.value_or(0));
            argument.sizes.push_back(dimension.number ? std::to_string(*dimension.number) : dimension.name);
        }
        return argument;
    }

    static StepType step_type(const ValueType& type) {
        StepType result{type.dtype, {}};
        for (const ValueDimension& dimension : type.shape) result.shape.push_back(dimension.number.value_or(0));
        return result;
    }

    Result<void> take_inputs(State& state) {
        Diagnostics problems;
        for (const onnx::OnnxValue* input : onnx::caller_inputs(request_.model)) {
            if (onnx::is_list(*input)) return fail(onnx::list_input(*input));
            if (!input->dtype || !input->has_shape)
                return not_yet(fmt::format("the model does not say the rank of input '{}'", input->name), {});
            ValueType type{*input->dtype, {}};
            for (size_t d = 0; d < input->shape.size(); d++) {
                const std::string name = onnx::open_name(*input, d);
                const auto given = std::ranges::find(request_.dimensions, name, &Dimension::name);
                if (!name.empty() && given == request_.dimensions.end()) {
                    problems.push_back({.code = "onnx.unbound_dimension",
                                        .summary = fmt::format("dimension '{}' of input '{}' has no number", name, input->name),
                                        .remedy = fmt::format("say which it may have: --bind {}=FROM:TO", name),
                                        .params = {{"dimension", name}}});
                    continue;
                }
                if (name.empty())
                    type.shape.push_back({*input->shape[d].value, {}});
                else if (given->count() == 1)
                    type.shape.push_back({given->from, {}});
                else
                    type.shape.push_back({std::nullopt, name});
            }
            program_.inputs.push_back(argument_of(input->name, type));
            scope_.values.emplace(input->name, program_.value_count++);
            state.values.emplace(input->name, std::move(type));
        }
        if (!problems.empty()) return fail(std::move(problems));
        for (const Dimension& dimension : request_.dimensions)
            if (dimension.count() > 1) program_.dimensions.push_back(dimension);
        return {};
    }

    // The place of a value; an initializer is one of constants.
    int32_t value_of(StepScope& scope, const std::string& name) {
        if (const int32_t known = scope.place(name); known >= 0) return known;
        StepScope* owner = &scope;
        while (owner->around && !owner->initializers.contains(name)) owner = owner->around;
        const int32_t made = program_.value_count++;
        const auto constant = owner->initializers.find(name);
        if (constant != owner->initializers.end() && constant->second.data)
            program_.constants.push_back({made, *constant->second.data});
        (constant != owner->initializers.end() ? owner : &scope)->values.emplace(name, made);
        return made;
    }

    std::optional<ValueType> type_in(const StepScope& scope, const State& state, const std::string& name) const {
        if (const auto found = state.values.find(name); found != state.values.end()) return found->second;
        const onnx::OnnxTensor* tensor = scope.initializer(name);
        return tensor && tensor->data ? std::optional(type_of(*tensor->data)) : std::nullopt;
    }

    // Only what the rest still needs: so that ways that differed come together again.
    static void forget(const StepScope& scope, State& state) {
        std::set<std::string> needed = reads_of(state.rest);
        std::set<std::string> made;
        for (const onnx::OnnxNode& node : state.rest) made.insert(node.outputs.begin(), node.outputs.end());
        std::erase_if(state.asked, [&](const std::string& name) {
            return !needed.contains(name) && !made.contains(name.substr(0, name.rfind('#')));
        });
        needed.insert(state.asked.begin(), state.asked.end());
        std::erase_if(state.truths, [&](const auto& truth) { return !needed.contains(truth.first); });
        needed.insert(scope.outputs.begin(), scope.outputs.end());
        std::erase_if(state.values, [&](const auto& value) { return !needed.contains(value.first); });
    }

    Result<int32_t> step_of(StepScope& scope, State state) {
        forget(scope, state);
        if (state.rest.empty()) return end_of(scope, state);
        std::string key = key_of(state.rest);
        for (const auto& [name, truth] : state.truths) key += fmt::format("{} is {}\n", name, truth);
        for (const auto& [name, type] : state.values) key += fmt::format("{}: {}\n", name, type.text());
        key += fmt::format("asked {}", fmt::join(state.asked, ","));
        if (const auto known = scope.states.find(key); known != scope.states.end()) return known->second;
        const auto step = std::ssize(program_.steps);
        if (program_.steps.size() == most_steps)
            return not_yet(fmt::format("the model takes more than {} steps", most_steps), "branches follow upon branches");
        program_.steps.emplace_back();
        auto done = fill(scope, std::move(state), static_cast<int32_t>(step));
        if (!done) return done;
        scope.states.emplace(std::move(key), *done);
        return done;
    }

    Result<int32_t> end_of(StepScope& scope, const State& state) {
        for (const std::string& output : scope.outputs) {
            const auto type = type_in(scope, state, output);
            if (!type)
                return fail({.code = "onnx.undefined_value",
                             .summary = fmt::format("nothing defines the output '{}'", output),
                             .params = {{"file", request_.model.path}}});
            const auto [known, is_new] = scope.output_types.emplace(output, *type);
            if (is_new) continue;
            if (auto both = joined(output, known->second, *type))
                known->second = std::move(*both);
            else if (known->second.dtype == type->dtype && !scope.around)
                scope.mixed.insert(output);
            else
                return not_yet(fmt::format("the output '{}' has other ranks or element types on other ways", output), {});
        }
        return -1;
    }

    // The step itself, which is there, without contents. Another number: the state is that one.
    Result<int32_t> fill(StepScope& scope, State state, int32_t step) {
        for (size_t n = 0; n < state.rest.size(); n++) {
            const onnx::OnnxNode node = state.rest[n];
            if (!onnx::is_step(node)) continue;
            const auto reads = onnx::reads_of(node);
            const bool is_there = std::ranges::all_of(reads, [&](std::string_view name) {
                return type_in(scope, state, std::string(name)).has_value();
            });
            if (!is_there) continue;
            state.rest.erase(state.rest.begin() + static_cast<std::ptrdiff_t>(n));
            return add_loop(scope, std::move(state), node, step);
        }
        for (const std::string& name : state.asked) {
            const auto type = state.values.find(name);
            if (type == state.values.end() || !is_bool(type->second.dtype) || state.truths.contains(name)) continue;
            return add_branch(scope, std::move(state), name, step);
        }
        return add_part(scope, std::move(state), step);
    }

    Result<int32_t> add_branch(StepScope& scope, State state, const std::string& condition, int32_t step) {
        StepRow row{.kind = StepRow::Kind::branch, .name = condition, .first = value_of(scope, condition)};
        State other = state;
        state.truths[condition] = true;
        other.truths[condition] = false;
        auto next = step_of(scope, std::move(state));
        if (!next) return next;
        auto second = step_of(scope, std::move(other));
        if (!second) return second;
        row.next = *next;
        row.second = *second;
        program_.steps[static_cast<size_t>(step)] = std::move(row);
        return step;
    }

    // A step whose parts are the same stage for all sizes, and where one of the sizes is -1, if the model holds for that.
    Result<int32_t> add_part(StepScope& scope, State state, int32_t step) {
        StepRow row{.kind = StepRow::Kind::part, .name = state.rest.front().label()};
        std::vector<State> behind;  // by form
        Diagnostics why;
        for (int32_t open = -1; open < std::ssize(row.sizes); open++) {
            StageImport stage(request_, scope, state, open);
            if (auto fine = stage.prepare(); !fine) return fail(std::move(fine.error()));
            if (open < 0) {
                for (const std::string& name : stage.inputs) row.inputs.push_back(value_of(scope, name));
                for (const auto& known : stage.known_names) row.sizes.emplace_back(value_of(scope, known.value), known.element);
            }
            auto programs = make_programs({.name = "part",
                                           .dimensions = stage.dimensions(),
                                           .targets = request_.targets,
                                           .graph = [&](const SizeNames& sizes) { return stage.graph(sizes); },
                                           .progress = request_.progress});
            if (!stage.also_asked.empty()) {
                state.asked.merge(stage.also_asked);
                return fill(scope, std::move(state), step);
            }
            if (!programs || programs->empty()) {
                if (why.empty()) why = programs ? std::move(stage.left_out_for) : std::move(programs.error());
                if (is_cancelled(request_.progress)) return fail(std::move(why));
                continue;
            }
            for (Program& program : *programs) {
                const StageEnd& end = stage.ends[static_cast<size_t>(program.tag - 1)];
                StepForm form = form_of(scope, state, end);
                form.part = static_cast<int32_t>(program_.parts.size());
                form.open = open;
                program.name = fmt::format("{}_part{}", request_.name, form.part);
                program_.parts.push_back(std::move(program));
                row.forms.push_back(std::move(form));
                behind.push_back(state_behind(scope, state, end));
            }
        }
        if (row.forms.empty()) return fail(std::move(why));
        for (size_t f = 0; f < behind.size(); f++) {
            auto next = step_of(scope, std::move(behind[f]));
            if (!next) return next;
            row.forms[f].next = *next;
        }
        program_.steps[static_cast<size_t>(step)] = std::move(row);
        return step;
    }

    static State state_behind(StepScope& scope, const State& state, const StageEnd& end) {
        State next{.rest = end.rest, .truths = state.truths, .asked = state.asked, .values = state.values};
        next.asked.insert(end.asked.begin(), end.asked.end());
        for (size_t i = 0; i < end.results.size(); i++) next.values.insert_or_assign(end.results[i], end.types[i]);
        forget(scope, next);
        return next;
    }

    StepForm form_of(StepScope& scope, const State& state, const StageEnd& end) {
        StepForm form;
        for (const onnx::OnnxTensor& tensor : end.initializers) scope.initializers.insert_or_assign(tensor.name, tensor);
        std::set<std::string> there;
        for (const auto& [name, type] : state.values) there.insert(name);
        for (size_t i = 0; i < end.results.size(); i++) {
            form.outputs.push_back(value_of(scope, end.results[i]));
            form.types.push_back(step_type(end.types[i]));
            there.insert(end.results[i]);
        }
        const State next = state_behind(scope, state, end);
        for (const std::string& name : there) {
            if (!next.values.contains(name) && scope.has_value(name)) form.drops.push_back(value_of(scope, name));
        }
        return form;
    }

    // ---- loops

    // Of a loop: what it reads and gives, by the graph around it.
    struct Loop {
        const onnx::OnnxNode& node;
        const onnx::OnnxGraph& body;
        std::vector<std::string> carried;  // at first
        std::vector<ValueType> types;      // of what is carried, in all iterations
    };

    Result<int32_t> add_loop(StepScope& scope, State state, const onnx::OnnxNode& node, int32_t step) {
        const onnx::OnnxGraph* body = body_of(node);
        if (node.operator_type != "Loop" || !body)
            return not_yet(fmt::format("node '{}' ({}) is a step that no program has yet", node.label(), node.operator_type),
                           "programs have branches and loops, no lists and no scans", &node);
        Loop loop{node, *body, {node.inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(node.inputs)), node.inputs.end()}, {}};
        const size_t count = loop.carried.size();
        if (body->inputs.size() != count + 2 || body->outputs.size() != node.outputs.size() + 1 ||
            body->outputs.size() < count + 1)
            return not_yet(fmt::format("the body of node '{}' does not fit the loop", node.label()), {}, &node);
        for (const std::string& name : loop.carried) {
            auto type = type_in(scope, state, name);
            if (!type) return not_yet(fmt::format("node '{}' carries what is not given", node.label()), {}, &node);
            loop.types.push_back(std::move(*type));
        }
        StepRow row{.kind = StepRow::Kind::loop, .name = node.label()};
        const auto optional_value = [&](size_t i) {
            return i < node.inputs.size() && !node.inputs[i].empty() ? value_of(scope, node.inputs[i]) : -1;
        };
        row.first = optional_value(0);
        row.second = optional_value(1);
        for (const std::string& name : loop.carried) row.inputs.push_back(value_of(scope, name));
        auto types = add_body(scope, state, loop, row);
        if (!types) return fail(std::move(types.error()));
        for (size_t i = 0; i < node.outputs.size(); i++) {
            const std::string& name = node.outputs[i];
            row.results.push_back(name.empty() ? program_.value_count++ : value_of(scope, name));
            if (!name.empty()) state.values.insert_or_assign(name, (*types)[i]);
        }
        program_.steps[static_cast<size_t>(step)] = std::move(row);
        auto next = step_of(scope, std::move(state));
        if (!next) return next;
        program_.steps[static_cast<size_t>(step)].next = *next;
        return step;
    }

    // The body, for types of what is carried that hold in all iterations; types of what the loop gives.
    Result<std::vector<ValueType>> add_body(StepScope& scope, const State& state, Loop& loop, StepRow& row) {
        const size_t count = loop.carried.size();
        const auto inner_name = [&](size_t i) { return loop.body.inputs[i].name; };
        for (;;) {
            const size_t steps = program_.steps.size(), parts = program_.parts.size();
            const int32_t first_value = program_.value_count;
            StepScope& inner = *scopes_.emplace_back(
                std::make_unique<StepScope>(request_.model, loop.body, &scope, fmt::format("{}/{}", scope.name, loop.node.label())));
            State begin{.rest = inner.nodes, .truths = {}, .asked = {}, .values = {}};
            for (const std::string& name : inner.captures) {
                if (const auto found = state.values.find(name); found != state.values.end()) begin.values.insert(*found);
            }
            row.body_inputs.clear();
            for (size_t i = 0; i < count + 2; i++) {
                row.body_inputs.push_back(program_.value_count);
                inner.values.emplace(inner_name(i), program_.value_count++);
            }
            begin.values.insert_or_assign(inner_name(0), ValueType{DType::int64, {}});
            begin.values.insert_or_assign(inner_name(1), ValueType{DType::boolean, {}});
            for (size_t i = 0; i < count; i++) begin.values.insert_or_assign(inner_name(i + 2), loop.types[i]);
            auto body = step_of(inner, begin);
            if (!body) return fail(std::move(body.error()));
            auto widened = widen(loop, inner);
            if (!widened) return fail(std::move(widened.error()));
            if (*widened) {
                program_.steps.resize(steps);
                program_.parts.erase(program_.parts.begin() + static_cast<std::ptrdiff_t>(parts), program_.parts.end());
                continue;
            }
            row.body = *body;
            row.body_outputs.clear();
            for (const onnx::OnnxValue& output : loop.body.outputs) row.body_outputs.push_back(value_of(inner, output.name));
            for (int32_t v = first_value; v < program_.value_count; v++) {
                const bool is_constant = std::ranges::find(program_.constants, v, &StepConstant::value) != program_.constants.end();
                if (!is_constant) row.drops.push_back(v);
            }
            return types_behind(scope, state, loop, inner, row);
        }
    }

    // Whether an iteration gives another type than it was given, which then is one of both.
    Result<bool> widen(Loop& loop, const StepScope& inner) const {
        bool changed = false;
        for (size_t i = 0; i < loop.types.size(); i++) {
            const std::string& name = loop.body.inputs[i + 2].name;
            auto both = joined(name, loop.types[i], inner.output_types.at(loop.body.outputs[i + 1].name));
            if (!both)
                return not_yet(fmt::format("the loop '{}' carries '{}', whose rank or element type changes", loop.node.label(), name),
                               "a program is made ahead for one rank", &loop.node);
            changed = changed || *both != loop.types[i];
            loop.types[i] = std::move(*both);
        }
        return changed;
    }

    Result<std::vector<ValueType>> types_behind(const StepScope& scope, const State& state, const Loop& loop,
                                                const StepScope& inner, StepRow& row) const {
        std::vector<ValueType> types;
        const size_t count = loop.carried.size();
        // Names that mean the same outside of the body.
        std::set<std::string> outside;
        for (const auto& [name, type] : state.values) {
            for (const ValueDimension& dimension : type.shape) outside.insert(dimension.name);
        }
        const auto seen_outside = [&](const std::string& name, ValueType type) {
            for (size_t d = 0; d < type.shape.size(); d++) {
                if (!type.shape[d].number && !outside.contains(type.shape[d].name))
                    type.shape[d] = {std::nullopt, fmt::format("{}.{}", name, d)};
            }
            return type;
        };
        for (size_t i = 0; i < count; i++) {
            const ValueType first = *type_in(scope, state, loop.carried[i]);
            types.push_back(seen_outside(loop.node.outputs[i], *joined(loop.node.outputs[i], first, loop.types[i])));
        }
        for (size_t i = count; i < loop.node.outputs.size(); i++) {
            const onnx::OnnxValue& declared = loop.body.outputs[i + 1];
            const ValueType& type = inner.output_types.at(declared.name);
            // Without iterations, dimensions that the body leaves open are 0.
            ValueType stack = type, none{declared.dtype.value_or(type.dtype), {}};
            for (size_t d = 0; d < type.shape.size(); d++) {
                const bool fits = declared.has_shape && declared.shape.size() == type.shape.size();
                none.shape.push_back({std::max<int64_t>(0, fits ? declared.shape[d].value.value_or(0) : 0), {}});
                if (stack.shape[d] != none.shape[d]) stack.shape[d] = {std::nullopt, fmt::format("{}.{}", loop.node.outputs[i], d + 1)};
            }
            stack.shape.insert(stack.shape.begin(), {std::nullopt, loop.node.outputs[i] + ".0"});
            none.shape.insert(none.shape.begin(), {0, {}});
            row.stacked.push_back(step_type(none));
            types.push_back(std::move(stack));
        }
        return types;
    }

    const StepRequest& request_;
    StepProgram program_;
    StepScope scope_;
    std::vector<std::unique_ptr<StepScope>> scopes_;  // of bodies
};

}  // namespace

Result<StepProgram> make_step_program(const StepRequest& request) { return StepBuilder(request).make(); }

}  // namespace heddle::artefact
