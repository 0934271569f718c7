// heddle compare: what kernels compute against something that does not share their code.
#include <filesystem>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/compare_tensors.h"
#include "frontends/onnx/import.h"
#include "graph/complex.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

// How many tensors outside of their bound are listed.
constexpr size_t listed_failures = 10;

// ---- tensor by tensor

Result<std::vector<Verdict>> compare_tensors(const Graph& graph, const std::vector<TensorData>& feeds,
                                             const CompareOptions& options) {
    auto computed = compute(graph, feeds, options.threads, options.cache, true);
    if (!computed) return fail(std::move(computed.error()));
    if (options.with == "reference") return compare_with_reference(graph, feeds, *computed);
    auto unfused = compute(graph, feeds, options.threads, options.cache, false);
    if (!unfused) return fail(std::move(unfused.error()));
    return compare_with_other(graph, feeds, *computed, *unfused);
}

Json verdict_json(const Verdict& v) {
    return {{"tensor", v.name},
            {"type", v.type},
            {"operation", v.operation},
            {"element", v.place},
            {"found", v.found},
            {"expected", v.expected},
            {"bound", v.bound},
            {"worst_ratio", v.comparison.worst_ratio},
            {"failures", v.comparison.failures},
            {"undecided", v.comparison.undecided}};
}

int print_verdicts(const std::vector<Verdict>& verdicts, const CompareOptions& options) {
    std::vector<const Verdict*> failures;
    const Verdict* worst = nullptr;
    int64_t undecided = 0;
    for (const Verdict& v : verdicts) {
        if (!v.comparison.equal) failures.push_back(&v);
        if (!worst || v.comparison.worst_ratio > worst->comparison.worst_ratio) worst = &v;
        undecided += v.comparison.undecided;
    }
    double ratio = worst ? worst->comparison.worst_ratio : 0;
    if (options.common.json) {
        Json json = {{"with", options.with},
                     {"compared", verdicts.size()},
                     {"worst_ratio", ratio},
                     {"allowed_ratio", 4},
                     {"worst_tensor", worst ? Json(worst->name) : Json(nullptr)},
                     {"undecided_elements", undecided}};
        json["failures"] = Json::array();
        for (const Verdict* v : failures) json["failures"].push_back(verdict_json(*v));
        fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
        return failures.empty() ? 0 : 1;
    }
    if (verdicts.empty()) {
        fmt::print("nothing to compare: what the outputs need is known already, or has no elements\n");
        return 0;
    }
    fmt::print(
        "compared {} tensors with {}: {}\n", verdicts.size(), options.with,
        failures.empty() ? "all within their bounds" : fmt::format("{} outside of their bounds", failures.size()));
    if (worst)
        fmt::print("worst |a - b| is {:.3g} times the bound e on rounding, of {} (4 is allowed)\n", ratio, worst->name);
    if (undecided > 0)
        fmt::print("{} elements are undecided: a comparison or rounding lies within its bound of a switch\n",
                   undecided);
    for (size_t i = 0; i < std::min(failures.size(), listed_failures); i++) {
        const Verdict& v = *failures[i];
        fmt::print("{}{}: {}{}\n  element [{}]: found {}, expected {}, bound {:.3g}; {} elements differ\n",
                   i == 0 ? "first: " : "", v.name, v.type,
                   v.operation.empty() ? "" : fmt::format(", of operation '{}'", v.operation), fmt::join(v.place, ", "),
                   v.found, v.expected, v.bound, v.comparison.failures);
    }
    return failures.empty() ? 0 : 1;
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
    const auto engine = open_engine(options.threads, options.cache);
    auto executable = compile_graph(source.graph, *engine, {});
    if (!executable) return fail(std::move(executable.error()));
    warn_of_cache(*engine);
    auto found = runtime::Session(*executable, engine->pool).run(feeds);
    if (!found) return fail(std::move(found.error()));
    bool equal = true;
    Json list = Json::array();
    for (size_t i = 0; i < found->size(); i++) {
        const TensorData &a = (*found)[i], &b = (*expected)[i];
        auto comparison = heddle::compare_model(a.reals(), b.reals(), model_tolerance(a.dtype()));
        bool fits = a.shape() == b.shape() && a.dtype() == b.dtype();
        equal = equal && comparison.equal && fits;
        std::string why = fits ? comparison.text()
                               : fmt::format("different: found {}[{}], expected {}[{}]", name(a.dtype()),
                                             fmt::join(a.shape(), ", "), name(b.dtype()), fmt::join(b.shape(), ", "));
        list.push_back({{"output", source.output_names[i]},
                        {"equal", comparison.equal && fits},
                        {"greatest", comparison.greatest},
                        {"maximum_difference", comparison.maximum_difference},
                        {"relative_maximum", comparison.relative_maximum},
                        {"relative_norm", comparison.relative_norm},
                        {"rows", comparison.rows},
                        {"argmax_differences", comparison.argmax_differences},
                        {"text", why}});
        if (!options.common.json) fmt::print("{}: {}\n", source.output_names[i], why);
    }
    if (options.common.json)
        fmt::print("{}\n", Json{{"with", options.with}, {"equal", equal}, {"outputs", list}}.dump(2));
    return equal ? 0 : 1;
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
        if (auto added = add_folder_inputs(options, *given); !added) return fail(std::move(added.error()));
    }
    auto source = load_model(options.model, *library, *given, options.bindings, options.rules);
    if (!source) return fail(std::move(source.error()));
    if (auto fine = check_work(source->graph, options.work, tensors); !fine) return fail(std::move(fine.error()));
    auto feeds = feeds_for(source->input_names, source->input_types(), *given, options.random_seed, options.work);
    if (!feeds) return fail(std::move(feeds.error()));
    if (!options.common.json) print_rewrites(source->rewrites);
    if (!tensors) return compare_outputs(*source, *feeds, options);
    if (has_complex(source->graph)) {
        source->graph = lower_complex(source->graph);
        for (TensorData& feed : *feeds) feed = feed.reals();
    }
    auto verdicts = compare_tensors(source->graph, *feeds, options);
    if (!verdicts) return fail(std::move(verdicts.error()));
    return print_verdicts(*verdicts, options);
}

}  // namespace

int compare_model(const CompareOptions& options) {
    auto status = compare(options);
    return status ? *status : report(status.error(), options.common);
}

}  // namespace heddle::cli
