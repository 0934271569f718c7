#include "cli/run_staged.h"

#include <algorithm>

#include <fmt/format.h>

#include "explain/arguments.h"
#include "frontends/onnx/import.h"
#include "inference/model.h"

namespace heddle::cli {

std::unexpected<Diagnostics> for_one_graph(const std::string& option) {
    return fail({.code = "cli.stages",
                 .summary = fmt::format("{} is for a model that is one graph", option),
                 .reason = "sizes, branches or trip counts of this one follow from data, so that it is several"});
}

namespace {

using Given = std::map<std::string, TensorData>;

// An option that asks for something of one graph.
Result<void> check_options(const RunOptions& options) {
    const std::string wrong = !options.rules.empty()     ? "--rule"
                              : !options.system.empty()  ? "--system"
                              : !options.choices.empty() ? "--choose"
                                                         : "";
    if (wrong.empty()) return {};
    return for_one_graph(wrong);
}

// NAME[0], NAME[1] ... as long as they are given.
std::vector<inference::Value> list_given(const Given& given, const std::string& name) {
    std::vector<inference::Value> elements;
    for (;;) {
        const auto found = given.find(fmt::format("{}[{}]", name, elements.size()));
        if (found == given.end()) return elements;
        elements.push_back(inference::Value::of(found->second));
    }
}

// Of the type that the model says, with numbers for what is bound.
Result<TensorType> type_of(const onnx::OnnxValue& input, const std::map<std::string, int64_t>& bound) {
    TensorType type{*input.dtype, {}};
    for (size_t d = 0; d < input.shape.size(); d++) {
        const std::string name = onnx::open_name(input, d);
        const auto number = bound.find(name);
        if (!name.empty() && number == bound.end())
            return fail({.code = "onnx.unbound_dimension",
                         .summary = fmt::format("dimension '{}' of input '{}' has no number", name, input.name),
                         .remedy = fmt::format("give the input's values, or --bind {}=NUMBER", name),
                         .params = {{"dimension", name}}});
        type.shape.push_back(name.empty() ? *input.shape[d].value : number->second);
    }
    return type;
}

Result<std::vector<inference::Value>> inputs_of(const onnx::OnnxModel& model, const Given& given,
                                                const std::map<std::string, int64_t>& bindings,
                                                const RunOptions& options) {
    const auto declared = onnx::caller_inputs(model);
    Given named = given;  // an element stands for its list
    for (const auto& [name, tensor] : given) {
        const size_t bracket = name.rfind('[');
        if (bracket == std::string::npos || !name.ends_with(']')) continue;
        named.erase(name);
        named.emplace(name.substr(0, bracket), tensor);
    }
    if (auto known = inference::arrange(inference::input_names(model), named); !known)
        return fail(std::move(known.error()));
    const auto is_read = onnx::read_inputs(model);
    std::vector<const std::vector<int64_t>*> shapes;
    for (const onnx::OnnxValue* input : declared) {
        const auto found = given.find(input->name);
        shapes.push_back(found == given.end() ? nullptr : &found->second.shape());
    }
    auto bound = onnx::bind_shapes(model, shapes, bindings);
    if (!bound) return fail(std::move(bound.error()));
    std::vector<inference::Value> values(declared.size());
    for (size_t i = 0; i < declared.size(); i++) {
        const onnx::OnnxValue& input = *declared[i];
        const auto found = given.find(input.name);
        if (found != given.end()) {
            values[i] = inference::Value::of(found->second);
        } else if (!input.dtype) {
            // An optional that is not given is an empty value.
            auto elements = list_given(given, input.name);
            if (input.type_text.starts_with("sequence") || !elements.empty())
                values[i] = inference::Value::of_list(std::move(elements));
        } else if (is_read[i]) {
            auto type = type_of(input, *bound);
            if (!type) return fail(std::move(type.error()));
            auto feed = feeds_for({input.name}, {*type}, given, options.random_seed, options.work);
            if (!feed) return fail(std::move(feed.error()));
            values[i] = inference::Value::of(std::move(feed->front()));
        }
    }
    return values;
}

void take_output(const inference::Value& value, const std::string& name, StagedRun& run) {
    if (value.tensor) {
        run.output_names.push_back(name);
        run.outputs.push_back(*value.tensor);
    }
    for (size_t i = 0; value.list && i < value.list->size(); i++)
        take_output((*value.list)[i], fmt::format("{}[{}]", name, i), run);
}

}  // namespace

Result<StagedRun> run_staged(const RunOptions& options, const Library& library, const Given& given,
                             std::shared_ptr<inference::Engine> engine, Progress& progress) {
    if (auto fine = check_options(options); !fine) return fail(std::move(fine.error()));
    auto model = onnx::read_model(options.model);
    if (!model) return fail(std::move(model.error()));
    if (auto problems = onnx::check_support(*model, library); !problems.empty()) return fail(std::move(problems));
    auto bindings = explain::parse_bindings(options.bindings);
    if (!bindings) return fail(std::move(bindings.error()));
    const auto inputs = inputs_of(*model, given, *bindings, options);
    if (!inputs) return fail(inputs.error());
    const bool is_reference = options.backend == "reference";
    inference::ProgramCache programs(std::move(engine));
    inference::StagedModel staged(*model, library, is_reference ? inference::interpreted() : inference::compiled_by(programs),
                                  *bindings);
    // An interpreted operation takes a hundred times as long.
    const inference::WorkLimit limit{is_reference ? options.work / 100 : options.work, "--work"};
    StagedRun run;
    std::vector<inference::Value> results;
    double first_ms = 0;
    for (int64_t i = is_reference ? 1 : 0; i < options.repeat + 1; i++) {
        const auto begin = std::chrono::steady_clock::now();
        auto done = staged.run(*inputs, {&progress, nullptr, limit});
        if (!done) return fail(std::move(done.error()));
        results = std::move(*done);
        i == 0 ? first_ms = milliseconds_since(begin) : run.run_ms.emplace_back(milliseconds_since(begin));
    }
    run.compile_ms = std::max(0.0, first_ms - std::ranges::min(run.run_ms));
    const size_t profiled = options.profile.empty() || is_reference ? 0 : profiled_runs(options.repeat, run.run_ms.back());
    for (size_t i = 0; i < profiled; i++) {
        std::vector<runtime::LaunchTime> launches;
        if (auto done = staged.run(*inputs, {&progress, &launches, limit}); !done) return fail(std::move(done.error()));
        run.profile.add(launches);
    }
    run.kernels = programs.kernels();
    run.notes = programs.take_notes();
    for (size_t i = 0; i < results.size(); i++) take_output(results[i], model->graph.outputs[i].name, run);
    return run;
}

}  // namespace heddle::cli
