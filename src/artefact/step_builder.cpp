// Finds ahead which steps a model takes: what is left to do, of which types the values are that are there, and which
// truth values are known, is a state; each state is one step, and the same state is the same step.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "artefact/step_stage.h"
#include "frontends/onnx/order.h"
#include "support/progress.h"

namespace heddle::artefact {
namespace {

constexpr size_t most_steps = 512;

class StepBuilder {
public:
    explicit StepBuilder(const StepRequest& request)
        : request_(request), scope_(request.model, request.model.graph, nullptr, "") {
        program_.name = request.name;
    }

    Result<StepProgram> make() {
        StepState state{.rest = scope_.nodes, .truths = {}, .asked = {}, .values = {}};
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
            set_type(program_.output_values.back(), type);
        }
        return std::move(program_);
    }

private:
    static Argument argument_of(const std::string& name, const ValueType& type) {
        Argument argument{.name = name, .dtype = type.dtype, .shape = {}, .axes = {}, .sizes = {}, .value = {}};
        for (const ValueDimension& dimension : type.shape) {
            argument.shape.push_back(dimension.value.value_or(0));
            argument.sizes.push_back(dimension.value ? std::to_string(*dimension.value) : dimension.name);
        }
        return argument;
    }

    static StepType step_type(const ValueType& type) {
        const Argument argument = argument_of({}, type);
        return {type.dtype, argument.shape,
                fmt::format("{}[{}]", heddle::name(type.dtype), fmt::join(argument.sizes, ", "))};
    }

    Result<void> take_inputs(StepState& state) {
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
                    problems.push_back(
                        {.code = "onnx.unbound_dimension",
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
            scope_.values.emplace(input->name, new_value(input->name, type));
            state.values.emplace(input->name, std::move(type));
        }
        if (!problems.empty()) return fail(std::move(problems));
        for (const Dimension& dimension : request_.dimensions)
            if (dimension.count() > 1) program_.dimensions.push_back(dimension);
        return {};
    }

    int32_t new_value(const std::string& name) {
        program_.values.push_back({name, {}});
        return static_cast<int32_t>(program_.values.size() - 1);
    }

    int32_t new_value(const std::string& name, const ValueType& type) {
        const int32_t made = new_value(name);
        set_type(made, type);
        return made;
    }

    void set_type(int32_t value, const ValueType& type) {
        program_.values[static_cast<size_t>(value)].type = step_type(type).text;
    }

    // The place of a value; an initializer is one of constants.
    int32_t value_of(StepScope& scope, const std::string& name) {
        if (const int32_t known = scope.place(name); known >= 0) return known;
        StepScope* owner = &scope;
        while (owner->around && !owner->initializers.contains(name)) owner = owner->around;
        const int32_t made = new_value(name);
        const auto constant = owner->initializers.find(name);
        if (constant != owner->initializers.end() && constant->second.data) {
            program_.constants.push_back({made, *constant->second.data});
            set_type(made, type_of(*constant->second.data));
        }
        (constant != owner->initializers.end() ? owner : &scope)->values.emplace(name, made);
        return made;
    }

    std::optional<ValueType> type_in(const StepScope& scope, const StepState& state, const std::string& name) const {
        if (const auto found = state.values.find(name); found != state.values.end()) return found->second;
        const onnx::OnnxTensor* tensor = scope.initializer(name);
        return tensor && tensor->data ? std::optional(type_of(*tensor->data)) : std::nullopt;
    }

    Result<int32_t> step_of(StepScope& scope, StepState state) {
        forget(scope, state);
        if (state.rest.empty()) return end_of(scope, state);
        std::string key = onnx::key_of(state.rest);
        for (const auto& [name, truth] : state.truths) key += fmt::format("{} is {}\n", name, truth);
        for (const auto& [name, type] : state.values) key += fmt::format("{}: {}\n", name, type.text());
        key += fmt::format("asked {}", fmt::join(state.asked, ","));
        if (const auto known = scope.states.find(key); known != scope.states.end()) return known->second;
        const auto step = std::ssize(program_.steps);
        if (program_.steps.size() == most_steps)
            return not_yet(fmt::format("the model takes more than {} steps", most_steps),
                           "branches follow upon branches");
        program_.steps.emplace_back();
        auto done = fill(scope, std::move(state), static_cast<int32_t>(step));
        if (!done) return done;
        scope.states.emplace(std::move(key), *done);
        return done;
    }

    Result<int32_t> end_of(StepScope& scope, const StepState& state) {
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
                return not_yet(fmt::format("the output '{}' has other ranks or element types on other ways", output),
                               {});
        }
        return -1;
    }

    // The step itself, which is there, without contents. Another number: the state is that one.
    Result<int32_t> fill(StepScope& scope, StepState state, int32_t step) {
        for (size_t n = 0; n < state.rest.size(); n++) {
            const onnx::OnnxNode node = state.rest[n];
            if (!onnx::is_step(node)) continue;
            const auto reads = onnx::reads_of(node);
            const bool is_there = std::ranges::all_of(
                reads, [&](std::string_view name) { return type_in(scope, state, std::string(name)).has_value(); });
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

    Result<int32_t> add_branch(StepScope& scope, StepState state, const std::string& condition, int32_t step) {
        StepRow row{.kind = StepRow::Kind::branch, .name = condition, .first = value_of(scope, condition)};
        StepState other = state;
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

    // A step whose parts are the same stage for all sizes, and where one of these is -1, if the model holds for that.
    Result<int32_t> add_part(StepScope& scope, StepState state, int32_t step) {
        StepRow row{.kind = StepRow::Kind::part, .name = state.rest.front().label()};
        const StepState now = first_piece(scope, state);
        std::vector<StepState> behind;  // by form
        Diagnostics why;
        for (int32_t open = -1; open < std::ssize(row.sizes); open++) {
            StageImport stage(request_, scope, now, open);
            if (auto fine = stage.prepare(); !fine) return fail(std::move(fine.error()));
            if (open < 0) {
                for (const std::string& name : stage.inputs) row.inputs.push_back(value_of(scope, name));
                for (const auto& known : stage.known_names) {
                    row.sizes.emplace_back(value_of(scope, known.value), known.element);
                    row.size_names.push_back(known.size);
                }
            }
            const ProgramRequest wanted{.name = "part",
                                        .dimensions = stage.dimensions(),
                                        .targets = request_.targets,
                                        .graph = [&](const SizeNames& sizes) { return stage.graph(sizes); },
                                        .progress = request_.progress};
            auto programs = request_.is_sketch ? sketched_programs(wanted) : make_programs(wanted);
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
                StepState next = state_behind(scope, state, now, end);
                StepForm form = form_of(scope, state, end, next);
                form.part = static_cast<int32_t>(program_.parts.size());
                form.open = open;
                program.name = fmt::format("{}_part{}", request_.name, form.part);
                program_.parts.push_back(std::move(program));
                row.forms.push_back(std::move(form));
                behind.push_back(std::move(next));
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

    // Sizes that data decide multiply plans: pieces that have some of them each are stages one after another.
    StepState first_piece(const StepScope& scope, const StepState& state) const {
        const auto open_sizes = [&](const StepState& of) {
            StageImport stage(request_, scope, of, -1);
            const bool is_fine = stage.prepare().has_value();
            const std::vector<Dimension> sizes = is_fine ? stage.dimensions() : std::vector<Dimension>();
            return std::ranges::count_if(sizes, [](const Dimension& size) { return size.count() > 1; });
        };
        std::vector<StepState> pieces;
        for (std::vector<onnx::OnnxNode>& nodes : pieces_of(state.rest)) {
            pieces.push_back(state);
            pieces.back().rest = std::move(nodes);
            forget(scope, pieces.back());
        }
        const auto all = open_sizes(state);
        const auto has_all = [&](const StepState& piece) { return open_sizes(piece) == all; };
        return pieces.size() < 2 || all < 2 || std::ranges::any_of(pieces, has_all) ? state : std::move(pieces.front());
    }

    static StepState state_behind(StepScope& scope, const StepState& state, const StepState& now, const StageEnd& end) {
        StepState next{.rest = end.rest, .truths = state.truths, .asked = state.asked, .values = state.values};
        std::set<std::string> done;
        for (const onnx::OnnxNode& node : now.rest) done.insert(onnx::key_of({node}));
        std::ranges::copy_if(state.rest, std::back_inserter(next.rest),
                             [&](const onnx::OnnxNode& node) { return !done.contains(onnx::key_of({node})); });
        next.asked.insert(end.asked.begin(), end.asked.end());
        for (size_t i = 0; i < end.results.size(); i++) next.values.insert_or_assign(end.results[i], end.types[i]);
        forget(scope, next);
        return next;
    }

    StepForm form_of(StepScope& scope, const StepState& state, const StageEnd& end, const StepState& next) {
        StepForm form;
        for (const onnx::OnnxTensor& tensor : end.initializers)
            scope.initializers.insert_or_assign(tensor.name, tensor);
        std::set<std::string> there;
        for (const auto& [name, type] : state.values) there.insert(name);
        for (size_t i = 0; i < end.results.size(); i++) {
            form.outputs.push_back(value_of(scope, end.results[i]));
            form.types.push_back(step_type(end.types[i]));
            set_type(form.outputs.back(), end.types[i]);
            there.insert(end.results[i]);
        }
        for (const std::string& name : there) {
            if (!next.values.contains(name) && scope.has_value(name)) form.drops.push_back(value_of(scope, name));
        }
        return form;
    }

    // ---- loops

    // Of a loop: what it reads and gives, by the graph around it.
    struct Loop {
        const onnx::OnnxNode& node;
        const onnx::LoopForm form;
        std::vector<std::string> carried;  // at first
        std::vector<ValueType> types;      // of what is carried, in all iterations
        std::vector<ValueType> parts;      // of what is scanned

        const onnx::OnnxGraph& body() const { return *form.body; }
        // The names of what an iteration is given and gives.
        const std::string& input(size_t i) const { return body().inputs[form.own_inputs() + i].name; }
        const onnx::OnnxValue& output(size_t i) const { return body().outputs[form.own_outputs() + i]; }
    };

    Result<int32_t> add_loop(StepScope& scope, StepState state, const onnx::OnnxNode& node, int32_t step) {
        const bool is_loop = node.operator_type == "Loop" || node.operator_type == "Scan";
        if (!is_loop)
            return not_yet(
                fmt::format("node '{}' ({}) is a step that no program has yet", node.label(), node.operator_type),
                "programs have branches and loops, and no lists", &node);
        auto form = onnx::loop_form(node);
        if (!form) return not_yet(fmt::format("the body of node '{}' does not fit the loop", node.label()), {}, &node);
        const auto begin = node.inputs.begin() + std::min(std::ssize(node.inputs),
                                                          static_cast<std::ptrdiff_t>(form->own_inputs()));
        Loop loop{node, std::move(*form), {begin, begin + static_cast<std::ptrdiff_t>(form->carried)}, {}, {}};
        for (const std::string& name : loop.carried) {
            auto type = type_in(scope, state, name);
            if (!type) return not_yet(fmt::format("node '{}' carries what is not given", node.label()), {}, &node);
            loop.types.push_back(std::move(*type));
        }
        StepRow row{.kind = StepRow::Kind::loop, .name = node.label()};
        const auto optional_value = [&](size_t i) {
            const bool is_given = loop.form.counts && i < node.inputs.size() && !node.inputs[i].empty();
            return is_given ? value_of(scope, node.inputs[i]) : -1;
        };
        row.first = optional_value(0);
        row.second = optional_value(1);
        for (const std::string& name : loop.carried) row.inputs.push_back(value_of(scope, name));
        if (auto taken = take_scanned(scope, state, loop, row); !taken) return fail(std::move(taken.error()));
        auto types = add_body(scope, state, loop, row);
        if (!types) return fail(std::move(types.error()));
        for (size_t i = 0; i < node.outputs.size(); i++) {
            const std::string& name = node.outputs[i];
            row.results.push_back(name.empty() ? new_value({}) : value_of(scope, name));
            set_type(row.results.back(), (*types)[i]);
            if (!name.empty()) state.values.insert_or_assign(name, (*types)[i]);
        }
        program_.steps[static_cast<size_t>(step)] = std::move(row);
        auto next = step_of(scope, std::move(state));
        if (!next) return next;
        program_.steps[static_cast<size_t>(step)].next = *next;
        return step;
    }

    Result<void> take_scanned(StepScope& scope, const StepState& state, Loop& loop, StepRow& row) {
        const size_t first = loop.form.own_inputs() + loop.form.carried;
        for (size_t i = 0; i < loop.form.scanned.size(); i++) {
            const std::string& name = loop.node.inputs[first + i];
            auto type = type_in(scope, state, name);
            if (!type)
                return not_yet(fmt::format("node '{}' scans what is not given", loop.node.label()), {}, &loop.node);
            const int64_t axis = loop.form.scanned[i].axis_in(std::ssize(type->shape));
            if (axis < 0 || axis >= std::ssize(type->shape))
                return not_yet(fmt::format("node '{}' scans '{}' along dimension {}, which it has not",
                                           loop.node.label(), name, axis), {}, &loop.node);
            type->shape.erase(type->shape.begin() + axis);
            loop.parts.push_back(std::move(*type));
            row.scanned.push_back(value_of(scope, name));
            row.scan_ways.push_back({axis, loop.form.scanned[i].reversed});
        }
        return {};
    }

    // The body, for types of what is carried that hold in all iterations; types of what the loop gives.
    Result<std::vector<ValueType>> add_body(StepScope& scope, const StepState& state, Loop& loop, StepRow& row) {
        const size_t count = loop.carried.size();
        for (;;) {
            const size_t steps = program_.steps.size(), parts = program_.parts.size();
            const auto first_value = static_cast<int32_t>(program_.values.size());
            StepScope& inner = *scopes_.emplace_back(std::make_unique<StepScope>(
                request_.model, loop.body(), &scope, fmt::format("{}/{}", scope.name, loop.node.label())));
            StepState begin{.rest = inner.nodes, .truths = {}, .asked = {}, .values = {}};
            for (const std::string& name : inner.captures) {
                if (const auto found = state.values.find(name); found != state.values.end())
                    begin.values.insert(*found);
            }
            row.body_inputs.clear();
            const auto add_input = [&](const std::string& name, const ValueType& type) {
                row.body_inputs.push_back(new_value(name, type));
                if (name.empty()) return;
                inner.values.insert_or_assign(name, row.body_inputs.back());
                begin.values.insert_or_assign(name, type);
            };
            const auto own = [&](size_t i) { return loop.form.counts ? loop.body().inputs[i].name : std::string(); };
            add_input(own(0), {DType::int64, {}});
            add_input(own(1), {DType::boolean, {}});
            for (size_t i = 0; i < count; i++) add_input(loop.input(i), loop.types[i]);
            for (size_t i = 0; i < loop.parts.size(); i++) add_input(loop.input(count + i), loop.parts[i]);
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
            if (!loop.form.counts) row.body_outputs.push_back(row.body_inputs[1]);  // which holds
            for (const onnx::OnnxValue& output : loop.body().outputs)
                row.body_outputs.push_back(value_of(inner, output.name));
            for (int32_t v = first_value; v < std::ssize(program_.values); v++) {
                const bool is_constant =
                    std::ranges::find(program_.constants, v, &StepConstant::value) != program_.constants.end();
                if (!is_constant) row.drops.push_back(v);
            }
            return types_behind(scope, state, loop, inner, row);
        }
    }

    // Whether an iteration gives another type than it was given, which then is one of both.
    Result<bool> widen(Loop& loop, const StepScope& inner) const {
        bool changed = false;
        for (size_t i = 0; i < loop.types.size(); i++) {
            const std::string& name = loop.input(i);
            auto both = joined(name, loop.types[i], inner.output_types.at(loop.output(i).name));
            if (!both)
                return not_yet(fmt::format("the loop '{}' carries '{}', whose rank or element type changes",
                                           loop.node.label(), name),
                               "a program is made ahead for one rank", &loop.node);
            changed = changed || *both != loop.types[i];
            loop.types[i] = std::move(*both);
        }
        return changed;
    }

    Result<std::vector<ValueType>> types_behind(const StepScope& scope, const StepState& state, const Loop& loop,
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
                if (!type.shape[d].value && !outside.contains(type.shape[d].name))
                    type.shape[d] = {std::nullopt, fmt::format("{}.{}", name, d)};
            }
            return type;
        };
        for (size_t i = 0; i < count; i++) {
            const ValueType first = *type_in(scope, state, loop.carried[i]);
            types.push_back(seen_outside(loop.node.outputs[i], *joined(loop.node.outputs[i], first, loop.types[i])));
        }
        for (size_t i = count; i < loop.node.outputs.size(); i++) {
            auto type = stacked_type(loop, i, inner, row);
            if (!type) return fail(std::move(type.error()));
            types.push_back(std::move(*type));
        }
        return types;
    }

    // Of the loop's output `i`, which is stacked. Without iterations, dimensions that the body leaves open are 0.
    Result<ValueType> stacked_type(const Loop& loop, size_t i, const StepScope& inner, StepRow& row) const {
        const onnx::OnnxValue& declared = loop.output(i);
        const ValueType& type = inner.output_types.at(declared.name);
        const onnx::ScanWay& way = loop.form.stacked[i - loop.carried.size()];
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

    const StepRequest& request_;
    StepProgram program_;
    StepScope scope_;
    std::vector<std::unique_ptr<StepScope>> scopes_;  // of bodies
};

}  // namespace

Result<StepProgram> make_step_program(const StepRequest& request) { return StepBuilder(request).make(); }

}  // namespace heddle::artefact
