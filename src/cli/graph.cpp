// heddle graph
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "pictures/draw_parts.h"
#include "cli/gradient_source.h"
#include "cli/graph_steps.h"
#include "cli/launch_profile.h"
#include "cli/step_pictures.h"
#include "cli/support.h"
#include "explain/sharded_document.h"
#include "interchange/json_tree.h"
#include "interchange/to_document.h"
#include "inference/staged_model.h"
#include "interchange/validate.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

using namespace interchange;
using namespace pictures;

using Json = nlohmann::ordered_json;

// A graph, a document of it, or both; or a model in steps.
struct Loaded {
    std::string title;
    std::optional<Graph> graph;
    std::optional<GraphDocument> document;
    std::optional<artefact::StepProgram> steps;
    std::shared_ptr<const SourceText> text;  // of a document that was read
    std::vector<rewrite::Step> rewrites;
    std::vector<std::string> input_names;
    std::map<std::string, TensorData> given;
};

bool is_document(const GraphOptions& options) { return options.file.ends_with(".json"); }

Result<void> check_options(const GraphOptions& options) {
    auto wrong = [](std::string summary, std::string remedy) {
        return fail({.code = "cli.graph", .summary = std::move(summary), .remedy = std::move(remedy)});
    };
    if (options.file.empty() == options.call.empty())
        return wrong("give a file, or --call with a program, and not both", "heddle graph --help shows examples");
    if (!options.shards.empty() && is_document(options))
        return wrong("--shard is for models and calls", "a document says itself what its operations are cut into");
    if (!options.shards.empty() && options.fused)
        return wrong("--shard is for the graph's operations, and --fused for its launches", "give one of the two");
    if (options.gradient) return {};
    if (options.call.empty() && !options.input_types.empty())
        return wrong("--input-type is for --call", "a file says the types of its inputs");
    if (is_document(options) && !options.rules.empty())
        return wrong("--rule is for models and calls", "the operations of a document are not calls");
    if (options.fused && (is_document(options) || options.svg.empty()))
        return wrong("--fused is for pictures of models and calls", "--svg FILE");
    if (!options.inputs.empty() && (is_document(options) || !options.call.empty()))
        return wrong("--input is for models", "--input-type says the types of a call's inputs");
    return {};
}

Result<Source> called(const GraphOptions& options, const Library& library) {
    std::map<std::string, int64_t> dimensions;
    auto inputs = read_call_inputs(options.input_types, options.bindings, {}, dimensions);
    if (!inputs) return fail(std::move(inputs.error()));
    auto source = load_call(options.call, library, *inputs, options.rules);
    if (source) source->graph.dimension_names = dimensions;
    return source;
}

Result<Loaded> load(const GraphOptions& options, const Library& library) {
    Loaded loaded;
    loaded.title = options.file.empty() ? options.call : std::filesystem::path(options.file).filename().string();
    if (options.gradient) loaded.title = "gradient of " + loaded.title;
    if (!options.gradient && is_document(options)) {
        auto text = read_file(options.file, largest_json);
        if (!text) return fail(std::move(text.error()));
        loaded.text = std::make_shared<const SourceText>(options.file, std::move(*text));
        auto document = parse_graph_json(loaded.text);
        if (!document) return fail(std::move(document.error()));
        loaded.document = std::move(*document);
        return loaded;
    }
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    const auto load_source = [&] {
        if (options.gradient)
            return load_gradient({options.file, options.call, options.bindings, options.rules}, *options.gradient,
                                 library, *given);
        return options.file.empty() ? called(options, library)
                                    : load_model(options.file, library, *given, options.bindings, options.rules);
    };
    auto source = load_source();
    const bool may_be_steps = !options.gradient && !options.file.empty();
    if (!source && may_be_steps && inference::needs_stages(source.error())) {
        auto steps = sketch(options, library);
        if (!steps) return fail(std::move(steps.error()));
        loaded.steps = std::move(*steps);
        return loaded;
    }
    if (!source) return fail(std::move(source.error()));
    loaded.graph = std::move(source->graph);
    loaded.rewrites = std::move(source->rewrites);
    loaded.input_names = std::move(source->input_names);
    loaded.given = std::move(*given);
    if (!options.shards.empty()) {
        auto document = explain::sharded_document(*loaded.graph, options.shards);
        if (!document) return fail(std::move(document.error()));
        loaded.document = std::move(*document);
    } else if (options.validate || !options.json.empty()) {
        loaded.document = interchange::to_document(*loaded.graph);
    }
    return loaded;
}

// The median of some runs, on given and made-up inputs.
Result<Times> measure(const Loaded& loaded, const inference::Engine& engine,
                      const std::shared_ptr<const runtime::Executable>& executable) {
    constexpr size_t runs = 10;
    if (auto fine = check_work(*loaded.graph, default_work / runs, false); !fine) return fail(std::move(fine.error()));
    auto feeds = feeds_for(loaded.input_names, executable->plan().input_types, loaded.given, 1, default_work);
    if (!feeds) return fail(std::move(feeds.error()));
    runtime::Session session(executable, engine.pool);
    std::vector<TensorData> outputs = session.make_outputs();
    auto profile = profile_launches(session, *feeds, outputs, runs);
    if (!profile) return fail(std::move(profile.error()));
    Times times;
    for (const runtime::LaunchTime& launch : profile->launches) times.microseconds.push_back(launch.microseconds);
    const double sum = profile->sum_milliseconds() * 1e3;
    const bool all_given = loaded.given.size() == loaded.input_names.size();
    times.how = fmt::format("{:.3g} ms in launches, each the median of {} runs; {} thread{}, {} inputs", sum / 1e3,
                            runs, engine.pool->threads(), engine.pool->threads() == 1 ? "" : "s",
                            all_given              ? "given"
                            : loaded.given.empty() ? "made-up"
                                                   : "given and made-up");
    return times;
}

Result<std::vector<Picture>> fused_pictures(const GraphOptions& options, const Loaded& loaded) {
    const auto engine = open_engine(options.threads, options.cache);
    if (!options.profile) {
        auto plan = plan::make_plan(*loaded.graph, engine->target);
        if (!plan) return fail(std::move(plan.error()));
        warn(plan->notes);
        return draw_plan(loaded.title, *loaded.graph, *plan, {}, options.unfold);
    }
    auto executable = compile_graph(*loaded.graph, *engine, {});
    if (!executable) return fail(std::move(executable.error()));
    auto times = measure(loaded, *engine, *executable);
    if (!times) return fail(std::move(times.error()));
    warn_of_cache(*engine);
    return draw_plan(loaded.title, *loaded.graph, (*executable)->plan(), *times, options.unfold);
}

Result<std::vector<Picture>> pictures_of(const GraphOptions& options, const Loaded& loaded) {
    if (loaded.steps) return pictures_of(options, loaded.title, *loaded.steps);
    if (options.fused) return fused_pictures(options, loaded);
    const bool is_sharded = !options.shards.empty();
    if (loaded.graph && !is_sharded) return draw_operations(loaded.title, *loaded.graph, options.unfold);
    return draw_document(loaded.title, *loaded.document);
}

std::vector<std::pair<const char*, size_t>> counts_of(const Loaded& loaded) {
    if (loaded.steps) return {{"steps", loaded.steps->steps.size()}, {"stages", loaded.steps->parts.size()}};
    if (!loaded.document) return {{"operations", loaded.graph->operations.size()}};
    size_t counts[4] = {};
    for (const DocumentNode& node : loaded.document->nodes) counts[node.body.index()]++;
    return {{"tensors", counts[1]}, {"operations", counts[2]}, {"applications", counts[3]}, {"notes", counts[0]}};
}

// "a.svg", "a-2.svg", ...
std::vector<std::string> page_files(const std::string& file, size_t pages) {
    std::vector<std::string> files;
    const std::filesystem::path path(file);
    for (size_t i = 0; i < pages; i++) {
        const std::string number = i == 0 ? "" : fmt::format("-{}", i + 1);
        files.push_back((path.parent_path() / (path.stem().string() + number + path.extension().string())).string());
    }
    return files;
}

void print_json(const GraphOptions& options, const Loaded& loaded, const std::vector<std::string>& drawn,
                const Validation* validation, const std::string& environment) {
    Json json = Json::object();
    for (const auto& [name, count] : counts_of(loaded)) json[name] = count;
    if (!options.svg.empty()) json["svg"] = options.svg;
    if (!options.svg.empty()) json["fused"] = options.fused;
    if (drawn.size() > 1) json["pages"] = drawn;
    if (!options.json.empty()) json["json"] = options.json;
    if (loaded.steps) json["outline"] = outline_of(*loaded.steps);
    if (validation) {
        json["valid"] = true;
        json["environment"] = environment;
        json["applied_again"] = validation->applied_again;
        json["not_applied_again"] = validation->not_applied_again;
    }
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const GraphOptions& options, const Loaded& loaded, const std::vector<std::string>& drawn,
                const Validation* validation, const std::string& environment) {
    print_rewrites(loaded.rewrites);
    std::string counts;
    for (const auto& [name, count] : counts_of(loaded)) {
        if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, name);
    }
    std::string files = options.json.empty() ? "" : " -> " + options.json;
    constexpr size_t listed = 4;
    for (size_t i = 0; i < drawn.size(); i++) {
        if (drawn.size() <= listed || i < 2 || i + 1 == drawn.size()) files += (i == 0 ? " -> " : ", ") + drawn[i];
        if (drawn.size() > listed && i == 2) files += ", ...";
    }
    fmt::print("{}: {}{}\n", options.file.empty() ? options.call : options.file, counts.empty() ? "nothing" : counts,
               files);
    if (loaded.steps) 
        for (const std::string& line : outline_of(*loaded.steps)) fmt::print("  {}\n", line);
    if (!validation) return;
    fmt::print("valid in the environment '{}'", environment);
    if (validation->applied_again > 0) fmt::print("; {} operators applied again", validation->applied_again);
    fmt::print("\n");
    for (const std::string& text : validation->not_applied_again) fmt::print("  not applied again: {}\n", text);
}

// All of them (names and texts) or none.
Result<void> write_files(const std::vector<std::pair<std::string, std::string>>& files) {
    for (size_t i = 0; i < files.size(); i++) {
        auto written = write_file(files[i].first, files[i].second);
        if (written) continue;
        std::error_code ignored;
        for (size_t before = 0; before < i; before++) std::filesystem::remove(files[before].first, ignored);
        return written;
    }
    return {};
}

Result<void> show(const GraphOptions& options) {
    if (auto fine = check_options(options); !fine) return fine;
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto loaded = load(options, *library);
    if (!loaded) return fail(std::move(loaded.error()));
    std::string environment = !options.environment.empty() ? options.environment : loaded->text ? "loom" : "heddle";
    std::optional<Validation> validation;
    if (options.validate) {
        auto dialect = open_environment(environment);
        if (!dialect) return fail(std::move(dialect.error()));
        validation = interchange::validate(*loaded->document, {std::move(*dialect), &*library, loaded->text});
        if (!validation->issues.empty()) return fail(std::move(validation->issues));
    }
    std::vector<std::string> drawn;
    std::vector<std::pair<std::string, std::string>> files;
    if (!options.svg.empty()) {
        auto pages = pictures_of(options, *loaded);
        if (!pages) return fail(std::move(pages.error()));
        drawn = page_files(options.svg, pages->size());
        for (size_t i = 0; i < drawn.size(); i++) files.emplace_back(drawn[i], (*pages)[i].text());
    }
    if (!options.json.empty()) files.emplace_back(options.json, print_graph_json(*loaded->document));
    if (auto written = write_files(files); !written) return written;
    const Validation* valid = validation ? &*validation : nullptr;
    if (options.common.json)
        print_json(options, *loaded, drawn, valid, environment);
    else
        print_text(options, *loaded, drawn, valid, environment);
    return {};
}

}  // namespace

int show_graph(const GraphOptions& options) {
    auto done = show(options);
    return done ? 0 : report(done.error(), options.common);
}

}  // namespace heddle::cli
