#include "artefact/step_builder.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/order.h"
#include "support/progress.h"

namespace heddle::artefact {
namespace {

constexpr size_t most_steps = 512;
constexpr size_t most_dimensions = 16;  // HEDDLE_RANKS

Argument argument_of(const std::string& name, const ValueType& type) {
    Argument argument{.name = name, .dtype = type.dtype, .shape = {}, .axes = {}, .sizes = {}, .value = {}};
    argument.is_list = type.kind == ValueType::Kind::list;
    argument.may_be_absent = !type.is_tensor() && !type.is_list();
    for (const ValueDimension& dimension : type.shape) {
        argument.shape.push_back(dimension.value.value_or(0));
        argument.sizes.push_back(dimension.value          ? std::to_string(*dimension.value)
                                 : dimension.name.empty() ? "any"
                                                          : dimension.name);
    }
    return argument;
}

StepState state_behind(StepScope& scope, const StepState& state, const StepState& now, const StageEnd& end) {
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

}  // namespace

StepType step_type(const ValueType& type) {
    const Argument argument = argument_of({}, type);
    const bool has_no_type = type.is_empty || type.kind == ValueType::Kind::nothing;
    return {type.dtype, argument.shape, has_no_type ? type.text() : text_of(argument)};
}

StepBuilder::StepBuilder(const StepRequest& request)
    : request_(request), scope_(request.model, request.model.graph, nullptr, "") {
    program_.name = request.name;
}

Result<StepProgram> StepBuilder::make() {
    StepState state{.rest = scope_.nodes, .truths = {}, .asked = {}, .values = {}};
    if (auto taken = take_inputs(state); !taken) return fail(std::move(taken.error()));
    auto first = step_of(scope_, std::move(state));
    if (!first) return fail(std::move(first.error()));
    program_.first = *first;
    for (const onnx::OnnxValue& output : scope_.graph.outputs) {
        const auto found = scope_.output_types.find(output.name);
        if (found == scope_.output_types.end()) return not_yet("the model takes elements of empty lists alone", {});
        const ValueType& type = found->second;
        program_.outputs.push_back(argument_of(output.name, type));
        if (scope_.mixed.contains(output.name)) program_.outputs.back().sizes = {"..."};
        if (scope_.mixed.contains(output.name)) program_.outputs.back().shape = {0};
        program_.output_values.push_back(value_of(scope_, output.name));
        set_type(program_.output_values.back(), type);
    }
    return std::move(program_);
}

// ---- values

Result<void> StepBuilder::take_inputs(StepState& state) {
    Diagnostics problems;
    for (const onnx::OnnxValue* input : onnx::caller_inputs(request_.model)) {
        auto type = type_of_input(*input, problems);
        if (!type) return fail(std::move(type.error()));
        program_.inputs.push_back(argument_of(input->name, *type));
        scope_.values.emplace(input->name, new_value(input->name, *type));
        state.values.emplace(input->name, std::move(*type));
    }
    if (!problems.empty()) return fail(std::move(problems));
    for (const Dimension& dimension : request_.dimensions)
        if (dimension.count() > 1) program_.dimensions.push_back(dimension);
    return {};
}

// What a list or an optional value holds may have any sizes.
Result<ValueType> StepBuilder::type_of_input(const onnx::OnnxValue& input, Diagnostics& problems) const {
    const onnx::OnnxValue* tensor = &input;
    ValueType type;
    for (; tensor->element; tensor = tensor->element.get()) {
        if (onnx::is_optional(*tensor))
            type.may_be_absent = true;
        else if (type.kind == ValueType::Kind::list)
            return not_yet(fmt::format("input '{}' is a list of lists", input.name), {});
        else
            type.kind = ValueType::Kind::list;
    }
    if (!tensor->dtype || !tensor->has_shape)
        return not_yet(fmt::format("the model does not say the rank of input '{}'", input.name), {});
    type.dtype = *tensor->dtype;
    for (size_t d = 0; d < tensor->shape.size(); d++) {
        const std::string name = onnx::open_name(*tensor, d);
        const auto given = std::ranges::find(request_.dimensions, name, &Dimension::name);
        if (name.empty())
            type.shape.push_back({*tensor->shape[d].value, {}});
        else if (tensor != &input)
            type.shape.push_back({});
        else if (given == request_.dimensions.end())
            problems.push_back({.code = "onnx.unbound_dimension",
                                .summary = fmt::format("dimension '{}' of input '{}' has no number", name, input.name),
                                .remedy = fmt::format("say which it may have: --bind {}=FROM:TO", name),
                                .params = {{"dimension", name}}});
        else if (given->count() == 1)
            type.shape.push_back({given->from, {}});
        else
            type.shape.push_back({std::nullopt, name});
    }
    if (type.kind == ValueType::Kind::list) return type;
    return named_in_full(input.name, std::move(type));
}

int32_t StepBuilder::new_value(const std::string& name) {
    program_.values.push_back({name, {}});
    return static_cast<int32_t>(program_.values.size() - 1);
}

int32_t StepBuilder::new_value(const std::string& name, const ValueType& type) {
    const int32_t made = new_value(name);
    set_type(made, type);
    return made;
}

void StepBuilder::set_type(int32_t value, const ValueType& type) {
    program_.values[static_cast<size_t>(value)].type = step_type(type).text;
}

int32_t StepBuilder::value_of(StepScope& scope, const std::string& name) {
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

std::optional<ValueType> StepBuilder::type_in(const StepScope& scope, const StepState& state, const std::string& name) const {
    if (const auto found = state.values.find(name); found != state.values.end()) return found->second;
    const onnx::OnnxTensor* tensor = scope.initializer(name);
    return tensor && tensor->data ? std::optional(type_of(*tensor->data)) : std::nullopt;
}

std::vector<int32_t> StepBuilder::drops_between(StepScope& scope, const std::set<std::string>& there,
                                                const StepState& behind) {
    std::vector<int32_t> drops;
    for (const std::string& name : there) {
        if (!behind.values.contains(name) && scope.has_value(name)) drops.push_back(value_of(scope, name));
    }
    return drops;
}

// ---- steps

Result<int32_t> StepBuilder::step_of(StepScope& scope, StepState state) {
    forget(scope, state);
    for (const auto& [name, type] : state.values) {
        if (type.shape.size() > most_dimensions)
            return not_yet(fmt::format("'{}' has more than {} dimensions", name, most_dimensions), {});
    }
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

Result<int32_t> StepBuilder::end_of(StepScope& scope, const StepState& state) {
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
        else if (known->second.dtype == type->dtype && known->second.kind == type->kind && !scope.around)
            scope.mixed.insert(output);
        else
            return not_yet(fmt::format("the output '{}' has other ranks or element types on other ways", output),
                           {});
    }
    return -1;
}

Result<int32_t> StepBuilder::fill(StepScope& scope, StepState state, int32_t step) {
    const std::set<std::string> read = onnx::reads_of(state.rest);
    for (const auto& [name, type] : state.values) {
        if (type.may_be_absent && read.contains(name)) return add_presence(scope, std::move(state), name, step);
    }
    for (size_t n = 0; n < state.rest.size(); n++) {
        const onnx::OnnxNode node = state.rest[n];
        bool is_there = true, reads_list = false;
        for (const std::string_view name : onnx::reads_of(node)) {
            const auto type = type_in(scope, state, std::string(name));
            is_there = is_there && type;
            reads_list = reads_list || (type && !type->is_tensor());
        }
        if (!is_there || !(onnx::is_step(node) || reads_list)) continue;
        state.rest.erase(state.rest.begin() + static_cast<std::ptrdiff_t>(n));
        if (onnx::is_branch(node)) return add_written_branch(scope, std::move(state), node, step);
        if (node.operator_type == "SequenceMap") return add_map(scope, std::move(state), node, step);
        return onnx::is_step(node) && onnx::graph_of(node, "body") ? add_loop(scope, std::move(state), node, step)
                                                                  : add_list_step(scope, std::move(state), node, step);
    }
    for (const std::string& name : state.asked) {
        const auto type = state.values.find(name);
        if (type == state.values.end() || !is_bool(type->second.dtype) || state.truths.contains(name)) continue;
        return add_branch(scope, std::move(state), name, step);
    }
    return add_part(scope, std::move(state), step);
}

Result<int32_t> StepBuilder::add_branch(StepScope& scope, StepState state, const std::string& condition, int32_t step) {
    StepRow row{.kind = StepRow::Kind::branch, .name = condition, .first = value_of(scope, condition)};
    StepState other = state;
    state.truths[condition] = true;
    other.truths[condition] = false;
    return add_ways(scope, std::move(row), std::move(state), std::move(other), step);
}

// The step behind the row, and the one where what it asks is not so.
Result<int32_t> StepBuilder::add_ways(StepScope& scope, StepRow row, StepState state, StepState other, int32_t step) {
    auto next = step_of(scope, std::move(state));
    if (!next) return next;
    auto second = step_of(scope, std::move(other));
    if (!second) return second;
    row.next = *next;
    row.second = *second;
    program_.steps[static_cast<size_t>(step)] = std::move(row);
    return step;
}

Result<int32_t> StepBuilder::add_row(StepScope& scope, StepRow row, StepState behind, int32_t step) {
    program_.steps[static_cast<size_t>(step)] = std::move(row);
    auto next = step_of(scope, std::move(behind));
    if (!next) return next;
    program_.steps[static_cast<size_t>(step)].next = *next;
    return step;
}

// A step whose parts are the same stage for all sizes, and where one of these is -1, if the model holds for that.
Result<int32_t> StepBuilder::add_part(StepScope& scope, StepState state, int32_t step) {
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
StepState StepBuilder::first_piece(const StepScope& scope, const StepState& state) const {
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

StepForm StepBuilder::form_of(StepScope& scope, const StepState& state, const StageEnd& end, const StepState& next) {
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
    form.drops = drops_between(scope, there, next);
    return form;
}

Result<StepProgram> make_step_program(const StepRequest& request) { return StepBuilder(request).make(); }

}  // namespace heddle::artefact
