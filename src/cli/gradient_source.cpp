#include "cli/gradient_source.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontends/onnx/import.h"
#include "gradient/derived_graph.h"
#include "gradient/gradient.h"
#include "support/lexer.h"

namespace heddle::cli {
namespace {

using Given = std::map<std::string, TensorData>;

// ---- what is wanted

// `*` stands for any letters, `?` for one.
bool fits(std::string_view pattern, std::string_view name) {
    size_t p = 0, n = 0, star = std::string_view::npos, behind = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            behind = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            p++, n++;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++behind;
        } else {
            return false;
        }
    }
    return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

// Names and patterns of "a,b.*"; a text that is a name as it stands, with commas or stars, is this one.
std::vector<std::string> patterns_of(const std::vector<std::string>& texts, const std::set<std::string_view>& names) {
    std::vector<std::string> patterns;
    for (const std::string& text : texts) {
        const bool is_name = names.contains(text);
        for (size_t begin = 0; begin <= text.size();) {
            const size_t end = is_name ? text.size() : std::min(text.find(',', begin), text.size());
            if (end > begin) patterns.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    return patterns;
}

Diagnostic nothing_fits(const std::string& pattern, const std::vector<std::string>& names) {
    constexpr size_t listed = 8;
    std::vector<std::string> some(names.begin(), names.begin() + int64_t(std::min(names.size(), listed)));
    if (names.size() > listed) some.push_back(fmt::format("and {} more", names.size() - listed));
    const std::string near = nearest_name(pattern, names);
    return {
        .code = "cli.wrt",
        .summary = fmt::format("'{}' names nothing that has a gradient", pattern),
        .expected = names.empty() ? "an input or a weight of a float type" : fmt::format("{}", fmt::join(some, ", ")),
        .remedy = near.empty() ? "heddle grad --list lists inputs and weights of float types"
                               : fmt::format("did you mean '{}'? heddle grad --list lists all", near),
        .params = {{"name", pattern}}};
}

// Without patterns `defaults`, which are `names` too. Code cli.wrt.
Result<std::vector<std::string>> wanted_of(const GradientOptions& options, const std::vector<std::string>& names,
                                           const std::vector<std::string>& defaults) {
    if (options.wrt.empty() && !defaults.empty()) return defaults;
    if (options.wrt.empty()) {
        return fail({.code = "cli.wrt",
                     .summary = "no input is of a float type",
                     .reason = "without --wrt the gradient is with respect to all such inputs",
                     .remedy = "name weights by --wrt 'NAME' or 'PATTERN*'; --list lists them"});
    }
    const std::set<std::string_view> known(names.begin(), names.end());
    std::set<std::string_view> seen;
    std::vector<std::string> wanted;
    Diagnostics problems;
    for (const std::string& pattern : patterns_of(options.wrt, known)) {
        bool any = false;
        const auto take = [&](const std::string& name) {
            any = true;
            if (seen.insert(*known.find(name)).second) wanted.push_back(name);
        };
        if (known.contains(pattern)) {
            take(pattern);
        } else {
            for (const std::string& name : names)
                if (fits(pattern, name)) take(name);
        }
        if (!any) problems.push_back(nothing_fits(pattern, names));
    }
    if (!problems.empty()) return fail(std::move(problems));
    if (wanted.empty()) return fail(nothing_fits(options.wrt.front(), names));
    return wanted;
}

// ---- what is differentiated

bool has_derivatives(const Graph& graph, TensorId id) {
    return gradient::is_differentiable(graph.tensor(id).type.dtype);
}

struct Wanted {
    Source source;
    std::vector<std::string> names;
};

std::vector<std::string> float_inputs(const onnx::OnnxModel& model) {
    std::vector<std::string> names;
    const std::vector<bool> is_read = onnx::read_inputs(model);
    for (size_t i = 0; const onnx::OnnxValue* input : onnx::caller_inputs(model)) {
        if (is_read[i++] && input->dtype && is_float(*input->dtype)) names.push_back(input->name);
    }
    return names;
}

// "float32[batch, 3]"
std::string type_text(const onnx::OnnxValue& input) {
    std::vector<std::string> shape;
    for (size_t d = 0; d < input.shape.size(); d++) {
        const std::string name = onnx::open_name(input, d);
        shape.push_back(name.empty() ? std::to_string(*input.shape[d].value) : name);
    }
    return fmt::format("{}[{}]", input.type_text, fmt::join(shape, ", "));
}

// The weights of both branches of an `If` may have one name.
std::vector<std::string> weight_names(const onnx::OnnxModel& model) {
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const onnx::OnnxWeight& weight : onnx::weights(model))
        if (seen.insert(weight.name).second) names.push_back(weight.name);
    return names;
}

// Names that a pattern fits, but that are of a branch that is not taken, have no gradient.
Result<Wanted> load_from_model(const Differentiated& from, const GradientOptions& options, const Library& library,
                               const Given& given, Progress* progress) {
    auto model = onnx::read_model(from.model);
    if (!model) return fail(std::move(model.error()));
    const std::vector<std::string> inputs = float_inputs(*model), weights = weight_names(*model);
    std::vector<std::string> names = inputs;
    names.insert(names.end(), weights.begin(), weights.end());
    auto wanted = wanted_of(options, names, inputs);
    if (!wanted) return fail(std::move(wanted.error()));
    inference::FreeWeights free;
    const std::set<std::string_view> named(wanted->begin(), wanted->end());
    for (const onnx::OnnxWeight& weight : onnx::weights(*model)) {
        const auto other = given.find(weight.name);
        if (!named.contains(weight.name) && other == given.end()) continue;
        free.wanted.insert(weight.name);
        free.values.emplace(weight.name, other == given.end() ? weight.data : other->second);
    }
    Given of_model;
    for (const std::string& name : inference::input_names(*model))
        if (auto found = given.find(name); found != given.end()) of_model.insert(*found);
    auto source = load_model(*model, library, of_model, from.bindings, from.rules, progress, &free);
    if (!source) return fail(std::move(source.error()));
    std::erase_if(*wanted, [&](const std::string& name) {
        return free.wanted.contains(name) && !source->weights.contains(name);
    });
    if (wanted->empty()) {
        return fail({.code = "cli.wrt",
                     .summary = fmt::format("the model does not read '{}' here", *free.wanted.begin()),
                     .reason = "it is a weight of a branch that is not taken for these inputs",
                     .remedy = "name weights of the branch that is",
                     .params = {{"name", *free.wanted.begin()}}});
    }
    return Wanted{std::move(*source), std::move(*wanted)};
}

// Inputs of a call, and what else the loss reads. What --bind names is the model's, where there is one.
Result<std::vector<ProgramInput>> typed_inputs(const Differentiated& from, const GradientOptions& options,
                                               const Given& given, std::map<std::string, int64_t>& dimensions) {
    const auto bindings = from.call.empty() ? std::vector<std::string>() : from.bindings;
    return read_call_inputs(options.input_types, bindings, given, dimensions);
}

// What nothing reads may be the loss's, or an adjoint.
void drop_unread_inputs(Source& source) {
    std::set<TensorId> read(source.graph.outputs.begin(), source.graph.outputs.end());
    for (const Operation& operation : source.graph.operations)
        read.insert(operation.inputs.begin(), operation.inputs.end());
    std::erase_if(source.graph.inputs, [&](TensorId id) { return !read.contains(id); });
    source.graph = prune(source.graph);
    source.input_names.clear();
    for (TensorId id : source.graph.inputs) source.input_names.push_back(source.graph.tensor(id).name);
}

Result<Wanted> load_from_call(const Differentiated& from, const GradientOptions& options, const Library& library,
                              const std::vector<ProgramInput>& typed, Progress* progress) {
    auto source = load_call(from.call, library, typed, from.rules, progress);
    if (!source) return fail(std::move(source.error()));
    drop_unread_inputs(*source);
    std::vector<std::string> names;
    for (TensorId id : source->graph.inputs)
        if (has_derivatives(source->graph, id)) names.push_back(source->graph.tensor(id).name);
    auto wanted = wanted_of(options, names, names);
    if (!wanted) return fail(std::move(wanted.error()));
    return Wanted{std::move(*source), std::move(*wanted)};
}

// ---- the loss

// What its text may name: tensors of the graph by name, and types that become inputs.
struct LossScope {
    std::vector<ProgramInput> names;
    std::vector<TensorId> tensors;  // no_id: a new input
};

LossScope scope_of(const Source& source, const std::vector<ProgramInput>& typed) {
    LossScope scope;
    std::set<std::string> seen;
    auto add = [&](const std::string& name, const TensorType& type, TensorId tensor) {
        if (!is_identifier(name) || !seen.insert(name).second) return;
        scope.names.push_back({name, type});
        scope.tensors.push_back(tensor);
    };
    const Graph& graph = source.graph;
    for (size_t i = 0; i < graph.outputs.size(); i++)
        add(source.output_names[i], graph.tensor(graph.outputs[i]).type, graph.outputs[i]);
    for (size_t i = 0; i < graph.inputs.size(); i++)
        add(source.input_names[i], graph.tensor(graph.inputs[i]).type, graph.inputs[i]);
    for (size_t i = 0; i < graph.outputs.size(); i++)  // for names that are no words
        add(fmt::format("output_{}", i), graph.tensor(graph.outputs[i]).type, graph.outputs[i]);
    for (const ProgramInput& input : typed) add(input.name, input.type, no_id);
    return scope;
}

// Puts the loss in place of the outputs. Codes cli.loss, those of programs.
Result<void> add_loss(Source& source, const std::string& text, const std::vector<ProgramInput>& typed,
                      const Library& library) {
    LossScope scope = scope_of(source, typed);
    Session session(library);
    auto program = std::make_shared<SourceText>("--loss", text);
    auto applied = apply_program(session, program, scope.names);
    if (!applied) return fail(told_of_inputs(std::move(applied.error())));
    const Graph loss = session.finish(applied->outputs);
    const TensorType* type = loss.outputs.size() == 1 ? &loss.tensor(loss.outputs[0]).type : nullptr;
    if (!type || !is_float(type->dtype) || type->elements() != 1) {
        return fail({.code = "cli.loss",
                     .summary = "the loss is not a single number of a float type",
                     .place = {program, 0, text.size()},
                     .expected = "one number, such as a mean",
                     .found = type ? type->text() : fmt::format("{} results", loss.outputs.size()),
                     .remedy = "write --loss 'reduce_mean(...)'"});
    }
    std::set<TensorId> read(loss.outputs.begin(), loss.outputs.end());
    for (const Operation& operation : loss.operations) read.insert(operation.inputs.begin(), operation.inputs.end());
    for (size_t i = 0; i < scope.tensors.size(); i++) {
        if (scope.tensors[i] >= 0 || !read.contains(loss.inputs[i])) continue;
        scope.tensors[i] = source.graph.add_tensor(scope.names[i].name, scope.names[i].type);
        source.graph.inputs.push_back(scope.tensors[i]);
        source.input_names.push_back(scope.names[i].name);
    }
    // Of what nothing reads any tensor will do.
    for (TensorId& tensor : scope.tensors) tensor = tensor < 0 ? source.graph.inputs[0] : tensor;
    source.graph.outputs = splice(source.graph, loss, scope.tensors, "loss.");
    source.output_names = applied->names;
    return {};
}

// ---- the gradient

// Of a single loss the adjoint is one.
void seed(Graph& graph) {
    heddle::Tensor& adjoint = graph.tensors[static_cast<size_t>(graph.inputs.back())];
    adjoint.constant = TensorData(adjoint.type.dtype, adjoint.type.extents());
    adjoint.constant->set_real(0, 1);
    graph.inputs.pop_back();
}

std::vector<std::string> adjoint_names(const Source& source) {
    std::vector<std::string> names;
    for (TensorId id : gradient::outputs_with_derivatives(source.graph)) {
        const auto at = std::ranges::find(source.graph.outputs, id) - source.graph.outputs.begin();
        names.push_back("d_" + source.output_names[static_cast<size_t>(at)]);
    }
    return names;
}

Result<void> differentiate(Source& source, const std::vector<std::string>& names, const GradientOptions& options) {
    std::map<std::string_view, TensorId> inputs;
    for (size_t i = 0; i < source.input_names.size(); i++)
        inputs.emplace(source.input_names[i], source.graph.inputs[i]);
    std::vector<TensorId> wanted;
    for (const std::string& name : names) wanted.push_back(inputs.at(name));
    const gradient::StepsBetween between =
        options.every >= 0 ? gradient::every_steps(options.every) : gradient::StepsBetween();
    auto derived = gradient::value_and_gradient(source.graph, wanted, source.graph.outputs, between);
    if (!derived) return fail(std::move(derived.error()));
    if (!options.loss.empty()) {
        seed(*derived);
    } else {
        const auto adjoints = adjoint_names(source);
        source.input_names.insert(source.input_names.end(), adjoints.begin(), adjoints.end());
    }
    for (const std::string& name : names) source.output_names.push_back("d_" + name);
    source.graph = std::move(*derived);
    return {};
}

// All that is given must be an input; a type must be of one that neither the model nor a file describes.
Result<void> check_inputs(const Source& source, const Differentiated& from, const GradientOptions& options,
                          const Given& given, size_t of_model) {
    if (auto known = inference::arrange(source.input_names, given); !known) return fail(std::move(known.error()));
    std::map<std::string, int64_t> dimensions = source.graph.dimension_names;
    auto typed = read_input_types(options.input_types, dimensions);
    if (!typed) return fail(std::move(typed.error()));
    const size_t first = from.call.empty() ? of_model : 0;
    const std::set<std::string_view> described(source.input_names.begin() + static_cast<int64_t>(first),
                                               source.input_names.end());
    Diagnostics problems;
    for (const ProgramInput& input : *typed) {
        if (described.contains(input.name)) continue;
        problems.push_back({.code = "cli.input",
                            .summary = fmt::format("--input-type says a type of '{}', which needs none", input.name),
                            .expected = "inputs of --call, and new names in --loss",
                            .remedy = from.call.empty()
                                          ? "sizes of a model's inputs are given by --bind, or by their values"
                                          : "leave it out, or read it in --call or --loss",
                            .params = {{"input", input.name}}});
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
}

Result<void> check_source(const Differentiated& from) {
    const auto wrong = [](std::string summary, std::string remedy) {
        return fail({.code = "cli.what_to_run", .summary = std::move(summary), .remedy = std::move(remedy)});
    };
    if (from.model.empty() == from.call.empty())
        return wrong("give a model, or --call with a program, and not both", "heddle grad --help shows examples");
    if (from.model.ends_with(".json"))
        return wrong("a graph document cannot be differentiated: it has neither bodies nor the values of weights",
                     "give the model or the call that it was made from");
    return {};
}

}  // namespace

Result<Source> load_gradient(const Differentiated& from, const GradientOptions& options, const Library& library,
                             const Given& given, Progress* progress) {
    if (auto fine = check_source(from); !fine) return fail(std::move(fine.error()));
    std::map<std::string, int64_t> dimensions;
    auto typed = typed_inputs(from, options, given, dimensions);
    if (!typed) return fail(std::move(typed.error()));
    auto loaded = from.call.empty() ? load_from_model(from, options, library, given, progress)
                                    : load_from_call(from, options, library, *typed, progress);
    if (!loaded) return fail(std::move(loaded.error()));
    Source& source = loaded->source;
    const size_t of_model = source.input_names.size();
    source.graph.dimension_names.insert(dimensions.begin(), dimensions.end());
    if (!options.loss.empty()) {
        if (auto added = add_loss(source, options.loss, *typed, library); !added) return fail(std::move(added.error()));
    }
    if (auto done = differentiate(source, loaded->names, options); !done) return fail(std::move(done.error()));
    if (auto fine = check_inputs(source, from, options, given, of_model); !fine) return fail(std::move(fine.error()));
    return std::move(source);
}

Result<std::vector<Differentiable>> list_differentiable(const Differentiated& from, const GradientOptions& options,
                                                        const Library& library, const Given& given) {
    if (auto fine = check_source(from); !fine) return fail(std::move(fine.error()));
    std::vector<Differentiable> list;
    if (!from.call.empty()) {
        std::map<std::string, int64_t> dimensions;
        auto typed = typed_inputs(from, options, given, dimensions);
        auto source = typed ? load_call(from.call, library, *typed, from.rules) : fail(std::move(typed.error()));
        if (!source) return fail(std::move(source.error()));
        for (TensorId id : source->graph.inputs)
            if (has_derivatives(source->graph, id))
                list.push_back({source->graph.tensor(id).name, source->graph.tensor(id).type.text()});
        return list;
    }
    auto model = onnx::read_model(from.model);
    if (!model) return fail(std::move(model.error()));
    const auto inputs = float_inputs(*model);
    for (const onnx::OnnxValue* input : onnx::caller_inputs(*model))
        if (std::ranges::find(inputs, input->name) != inputs.end()) list.push_back({input->name, type_text(*input)});
    for (const onnx::OnnxWeight& weight : onnx::weights(*model)) {
        const TensorType type{weight.data.dtype(), {weight.data.shape().begin(), weight.data.shape().end()}};
        list.push_back({weight.name, type.text(), true});
    }
    return list;
}

}  // namespace heddle::cli
