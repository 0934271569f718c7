// heddle compare: what kernels compute against something that does not share their code.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/progress_line.h"
#include "cli/support.h"
#include "frontends/onnx/import.h"
#include "inference/compare_tensors.h"

namespace heddle::cli {
namespace {

// ---- tensor by tensor

Result<std::vector<inference::Verdict>> compare_tensors(const Source& source, const std::vector<TensorData>& feeds,
                                                        const CompareOptions& options) {
    auto backend = open_backend({}, options.plugin);
    if (!backend) return fail(std::move(backend.error()));
    const auto engine = open_engine(options.threads, options.cache, std::move(*backend));
    const auto progress = progress_on_terminal();
    Diagnostics notes;
    auto verdicts = inference::compare_tensors(
        source.graph, feeds, *engine,
        {.unfused = options.with == "unfused",
         .progress = progress.get(),
         .told = [](const std::string& text) { fmt::print(stderr, "reference: {}\n", text); },
         .notes = &notes});
    warn(notes);
    warn_of_cache(*engine);
    return verdicts;
}

int print_verdicts(const std::vector<inference::Verdict>& verdicts, const CompareOptions& options) {
    if (options.common.json)
        fmt::print("{}\n", inference::verdicts_json(verdicts, options.with));
    else
        fmt::print("{}", inference::verdicts_text(verdicts, options.with));
    return inference::all_within(verdicts) ? 0 : 1;
}

// ---- expected outputs in files

// FOLDER/STEM_0.npy or .pb, as test suites write them; empty if neither is there.
std::string numbered_file(const std::string& folder, const char* stem, size_t number) {
    std::error_code problem;
    for (const char* suffix : {".npy", ".pb"}) {
        std::string path = fmt::format("{}/{}_{}{}", folder, stem, number, suffix);
        if (std::filesystem::is_regular_file(path, problem)) return path;
    }
    return {};
}

// Inputs that are not given are taken from the folder, if it has them.
Result<void> add_folder_inputs(const CompareOptions& options, std::map<std::string, TensorData>& given) {
    auto model = onnx::read_model(options.model);
    if (!model) return fail(std::move(model.error()));
    auto inputs = onnx::caller_inputs(*model);
    for (size_t i = 0; i < inputs.size(); i++) {
        std::string file = numbered_file(options.with, "input", i);
        if (file.empty() || given.contains(inputs[i]->name)) continue;
        auto read = read_inputs({"file=" + file});
        if (!read) return fail(std::move(read.error()));
        given[inputs[i]->name] = std::move(read->begin()->second);
    }
    return {};
}

Result<std::vector<TensorData>> expected_outputs(const std::string& folder, const Source& source) {
    std::vector<TensorData> expected;
    Diagnostics problems;
    for (size_t i = 0; i < source.output_names.size(); i++) {
        std::string file = numbered_file(folder, "output", i);
        if (file.empty()) {
            problems.push_back(
                {.code = "cli.expected_output",
                 .summary = fmt::format("'{}' has no file for output '{}'", folder, source.output_names[i]),
                 .expected = fmt::format("output_{0}.npy or output_{0}.pb", i),
                 .remedy = "--with takes reference, unfused, or a folder of expected outputs"});
            continue;
        }
        auto read = read_inputs({"file=" + file});
        if (read)
            expected.push_back(std::move(read->begin()->second));
        else
            problems.insert(problems.end(), read.error().begin(), read.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    return expected;
}

Result<int> compare_outputs(const Source& source, const std::vector<TensorData>& feeds, const CompareOptions& options) {
    auto expected = expected_outputs(options.with, source);
    if (!expected) return fail(std::move(expected.error()));
    auto backend = open_backend({}, options.plugin);
    if (!backend) return fail(std::move(backend.error()));
    const auto engine = open_engine(options.threads, options.cache, std::move(*backend));
    auto executable = compile_graph(source.graph, *engine, {});
    if (!executable) return fail(std::move(executable.error()));
    warn_of_cache(*engine);
    auto found = runtime::Session(*executable, engine->pool).run(feeds);
    if (!found) return fail(std::move(found.error()));
    const auto verdicts = inference::compare_outputs(source.output_names, *found, *expected);
    if (options.common.json) {
        fmt::print("{}\n", inference::outputs_json(verdicts, options.with));
    } else {
        for (const auto& verdict : verdicts) fmt::print("{}: {}\n", verdict.name, verdict.text);
    }
    return std::ranges::all_of(verdicts, &inference::OutputVerdict::equal) ? 0 : 1;
}

Result<Source> load_compared(const CompareOptions& options, const Library& library,
                             const std::map<std::string, TensorData>& given) {
    if (options.call.empty()) return load_model(options.model, library, given, options.bindings, options.rules);
    std::map<std::string, int64_t> dimensions;
    auto inputs = read_call_inputs(options.input_types, options.bindings, given, dimensions);
    if (!inputs) return fail(std::move(inputs.error()));
    return load_call(options.call, library, *inputs, options.rules);
}

Result<int> compare(const CompareOptions& options) {
    bool tensors = options.with == "reference" || options.with == "unfused";
    std::error_code problem;
    if (!tensors && !std::filesystem::is_directory(options.with, problem)) {
        return fail({.code = "cli.compare_with",
                     .summary = fmt::format("cannot compare with '{}'", options.with),
                     .expected = "reference, unfused, or a folder of expected outputs",
                     .reason = "there is no such folder"});
    }
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    if (!tensors) {
        if (auto added = options.model.empty() ? Result<void>() : add_folder_inputs(options, *given); !added)
            return fail(std::move(added.error()));
    }
    auto source = load_compared(options, *library, *given);
    if (!source) return fail(std::move(source.error()));
    if (auto fine = check_work(source->graph, options.work, tensors); !fine) return fail(std::move(fine.error()));
    auto feeds = feeds_for(source->input_names, source->input_types(), *given, options.random_seed, options.work);
    if (!feeds) return fail(std::move(feeds.error()));
    if (!options.common.json) print_rewrites(source->rewrites);
    if (!tensors) return compare_outputs(*source, *feeds, options);
    auto verdicts = compare_tensors(*source, *feeds, options);
    if (!verdicts) return fail(std::move(verdicts.error()));
    return print_verdicts(*verdicts, options);
}

}  // namespace

int compare_model(const CompareOptions& options) {
    auto status = compare(options);
    return status ? *status : report(status.error(), options.common);
}

}  // namespace heddle::cli
