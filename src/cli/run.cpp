// heddle run
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/gradient_source.h"
#include "cli/launch_profile.h"
#include "cli/progress_line.h"
#include "cli/run_placed.h"
#include "cli/run_sharded.h"
#include "cli/run_staged.h"
#include "cli/support.h"
#include "evaluate/evaluate.h"
#include "evaluate/failing_read.h"
#include "evaluate/work.h"
#include "inference/kept_program.h"
#include "support/file.h"
#include "support/npy.h"
#include "support/npz.h"
#include "support/resident_memory.h"
#include "support/tensor_text.h"
#include "transport/agree.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Measured {
    std::vector<TensorData> outputs;
    double load_ms = 0, compile_ms = 0;
    std::vector<double> run_ms;
    int64_t launches = 0, layout_launches = 0;
    int64_t peak_bytes = 0;           // of weights and activations, as the plan has them
    int64_t peak_resident_bytes = 0;  // of the process, as the system counts
    runtime::KernelCounts kernels;
    bool loaded = false;  // the whole program is an earlier run's
    std::vector<std::string> output_names;
    std::vector<rewrite::Step> rewrites;
    Diagnostics notes;  // of the plan
    std::optional<LaunchProfile> profile;
    Json launches_json;                // of it, with what each computes
    nlohmann::ordered_json placement;  // of a system: what explain/placement.h says; else null
    nlohmann::ordered_json shards;     // of places: what run_sharded.h says; else null
    std::shared_ptr<transport::Transport> machines;  // the other processes of this run; null: there are none
    bool is_quiet() const { return machines && machines->rank() > 0; }  // rank 0 has the outputs, and says so
    std::string placement_text;
};

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result<void> run_reference(const Source& source, const std::vector<TensorData>& feeds, Measured& measured) {
    auto begin = Clock::now();
    auto values = evaluate_graph(source.graph, feeds, Precision::body);
    if (!values) return fail(std::move(values.error()));
    measured.run_ms.push_back(milliseconds_since(begin));
    for (TensorId t : source.graph.outputs) measured.outputs.push_back((*values)[static_cast<size_t>(t)]);
    return {};
}

Result<void> run_session(runtime::Session& session, const std::vector<TensorData>& feeds, const RunOptions& options,
                         Measured& measured) {
    measured.outputs = session.make_outputs();
    for (int64_t i = 0; i < options.repeat; i++) {
        const auto begin = Clock::now();
        if (auto done = session.run(feeds, measured.outputs); !done) return done;
        measured.run_ms.push_back(milliseconds_since(begin));
    }
    return {};
}

std::string type_text(const TensorData& data) {
    return fmt::format("{}[{}]", name(data.dtype()), fmt::join(data.shape(), ", "));
}

Result<std::vector<std::string>> files_in(const std::string& folder, size_t outputs) {
    std::vector<std::string> files;
    if (folder.empty()) return files;
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem) {
        return fail({.code = "cli.output_dir",
                     .summary = fmt::format("cannot make the folder '{}'", folder),
                     .reason = problem.message()});
    }
    for (size_t i = 0; i < outputs; i++) files.push_back(fmt::format("{}/output_{}.npy", folder, i));
    return files;
}

// All files or none: those of the folder, which it answers, and the one of all.
Result<std::vector<std::string>> write_outputs(const Measured& measured, const RunOptions& options) {
    const std::vector<TensorData>& outputs = measured.outputs;
    auto files = files_in(options.output_dir, outputs.size());
    if (!files) return files;
    std::vector<std::string> written;
    const auto undo = [&](Diagnostics problems) {
        std::error_code ignored;
        for (const std::string& file : written) std::filesystem::remove(file, ignored);
        return fail(std::move(problems));
    };
    for (size_t i = 0; i < files->size(); i++) {
        if (auto done = write_npy((*files)[i], outputs[i]); !done) return undo(std::move(done.error()));
        written.push_back((*files)[i]);
    }
    if (options.output.empty()) return files;
    if (options.output.ends_with(".npy")) {
        if (auto done = write_npy(options.output, outputs.front()); !done) return undo(std::move(done.error()));
        return files;
    }
    std::vector<std::pair<std::string, const TensorData*>> named;
    for (size_t i = 0; i < outputs.size(); i++) named.emplace_back(measured.output_names[i], &outputs[i]);
    if (auto done = write_npz(options.output, named); !done) return undo(std::move(done.error()));
    return files;
}

Result<void> profile_session(runtime::Session& session, const Graph& graph, const std::vector<TensorData>& feeds,
                             const runtime::Executable& executable, const inference::Engine& engine,
                             const RunOptions& options, Measured& measured) {
    auto profile =
        profile_launches(session, feeds, measured.outputs, profiled_runs(options.repeat, measured.run_ms.back()));
    if (!profile) return fail(std::move(profile.error()));
    auto launches = launches_json(graph, executable.plan(), *profile, engine.pool->threads());
    if (!launches) return fail(std::move(launches.error()));
    measured.profile = std::move(*profile);
    measured.launches_json = std::move(*launches);
    return {};
}

void print_json(const Measured& m, const Progress& progress, const std::vector<std::string>& files,
                const RunOptions& options) {
    Json json;
    json["outputs"] = Json::array();
    for (size_t i = 0; i < m.outputs.size(); i++) {
        Json output = {
            {"name", m.output_names[i]}, {"dtype", name(m.outputs[i].dtype())}, {"shape", m.outputs[i].shape()}};
        output["file"] = i < files.size() ? Json(files[i]) : Json(nullptr);
        json["outputs"].push_back(std::move(output));
    }
    if (!options.output.empty()) json["file"] = options.output;
    if (m.profile)
        json["profile"] = {
            {"file", options.profile}, {"runs", m.profile->runs}, {"launches_ms", m.profile->sum_milliseconds()}};
    if (!m.rewrites.empty()) json["rewrites"] = Json::array();
    for (const rewrite::Step& step : m.rewrites) json["rewrites"].push_back({{"rule", step.rule}, {"at", step.at}});
    if (!m.placement.is_null()) json["placement"] = m.placement;
    if (!m.shards.is_null()) json["shards"] = m.shards;
    json["load_ms"] = m.load_ms;
    json["compile_ms"] = m.compile_ms;
    for (size_t i = 0; i < stages; i++)
        json["stages_ms"][std::string(name(Stage(i)))] = 1e3 * progress.seconds(Stage(i));
    if (!m.notes.empty()) json["notes"] = Json::parse(render_json(m.notes));
    json["run_ms"] = {
        {"min", *std::min_element(m.run_ms.begin(), m.run_ms.end())}, {"median", median(m.run_ms)}, {"all", m.run_ms}};
    json["program_loaded"] = m.loaded;
    json["launches"] = m.launches;
    json["layout_launches"] = m.layout_launches;
    json["kernels_compiled"] = m.kernels.compiled;
    json["kernels_loaded"] = m.kernels.loaded;
    json["peak_bytes"] = m.peak_bytes;
    json["peak_resident_bytes"] = m.peak_resident_bytes;
    fmt::print("{}\n", json.dump(2));
}

void print_text(const Measured& m, const std::vector<std::string>& files, const RunOptions& options) {
    if (options.placement)
        fmt::print("{}\n", m.placement_text);
    else if (m.placement.contains("host"))
        fmt::print("host: {}\n", m.placement["host"].get<std::string>());
    print_rewrites(m.rewrites);
    if (m.rewrites.empty() && !options.rules.empty()) fmt::print("no rule fits anywhere\n");
    for (size_t i = 0; i < m.outputs.size(); i++) {
        fmt::print("{}: {} = {}{}\n", m.output_names[i], type_text(m.outputs[i]), some_values(m.outputs[i]),
                   i < files.size() ? " -> " + files[i] : "");
    }
    if (!options.output.empty())
        fmt::print("{} output{} -> {}\n", m.outputs.size(), m.outputs.size() == 1 ? "" : "s", options.output);
    if (m.profile)
        fmt::print("{} launches, {:.3g} ms in them (medians of {} warm runs) -> {}\n", m.profile->launched,
                   m.profile->sum_milliseconds(), m.profile->runs, options.profile);
    fmt::print("load {:.1f} ms, compile {:.1f} ms", m.load_ms, m.compile_ms);
    if (m.run_ms.size() > 1) {
        fmt::print(", run {:.3f} ms (median of {}, least {:.3f})", median(m.run_ms), m.run_ms.size(),
                   *std::min_element(m.run_ms.begin(), m.run_ms.end()));
    } else {
        fmt::print(", run {:.3f} ms", m.run_ms.front());
    }
    if (!m.placement.is_null()) {
        const Json& run = m.placement["run"];
        fmt::print("; {} launches, {} functions on other devices, {} copies of {} bytes", m.launches,
                   run["device_launches"].get<int64_t>(), run["copies"].get<int64_t>(),
                   run["copied_bytes"].get<int64_t>());
    } else if (!m.shards.is_null()) {
        double modelled = 0;
        for (const Json& seconds : m.shards["modelled"]) modelled += seconds.get<double>();
        fmt::print(", modelled {:.3g} ms; {} places, {} launches, {} messages of {} bytes", 1e3 * modelled,
                   m.shards["places"].size(), m.launches, m.shards["messages"].get<int64_t>(),
                   m.shards["bytes"].get<int64_t>());
    } else if (options.backend != "reference") {
        fmt::print("; {} launches{}, {} kernels compiled{}, {:.1f} MB", m.launches,
                   m.layout_launches > 0 ? fmt::format(" and {} for layout", m.layout_launches) : "",
                   m.kernels.compiled, m.kernels.loaded > 0 ? fmt::format(", {} loaded", m.kernels.loaded) : "",
                   static_cast<double>(m.peak_bytes) / 1e6);
    }
    fmt::print("; resident peak {:.1f} MB\n", static_cast<double>(m.peak_resident_bytes) / 1e6);
}

using Given = std::map<std::string, TensorData>;

Result<Source> load_program(const RunOptions& options, const Library& library, const Given& given, Progress& progress) {
    std::map<std::string, int64_t> dimensions;
    auto inputs = read_call_inputs(options.input_types, options.bindings, given, dimensions);
    if (!inputs) return fail(std::move(inputs.error()));
    return load_call(options.call, library, *inputs, options.rules, &progress);
}

Result<Source> load(const RunOptions& options, const Library& library, const Given& given, Progress& progress) {
    const auto load_source = [&] {
        if (options.gradient)
            return load_gradient({options.model, options.call, options.bindings, options.rules}, *options.gradient,
                                 library, given, &progress);
        return options.call.empty()
                   ? load_model(options.model, library, given, options.bindings, options.rules, &progress)
                   : load_program(options, library, given, progress);
    };
    auto source = load_source();
    progress.finish();
    if (!source) return source;
    if (auto fine = check_work(source->graph, options.work, options.backend == "reference"); !fine)
        return fail(std::move(fine.error()));
    return source;
}

Given with_weights(const Given& given, const Source& source) {
    Given all = given;
    all.insert(source.weights.begin(), source.weights.end());
    return all;
}

// All that the program follows from, so that a later run may take it as it is. Of rules it must say what they did.
inference::ProgramSource kept_as(const RunOptions& options, const Library& library, const Given& given,
                                 const inference::Engine& engine) {
    const auto folder = engine.kernels->folder();
    if (!folder || !options.rules.empty() || options.gradient || !options.profile.empty())
        return {};  // weights are not in what is kept
    const auto model = options.call.empty() ? inference::digest_of_file(options.model, *folder) : options.call;
    if (!model) return {};
    std::string types;
    for (const auto& [name, tensor] : given) types += fmt::format("{}: {}; ", name, type_text(tensor));
    for (const std::string& type : options.input_types) types += type + "; ";
    return {fmt::format("{} {}\nlibraries {} {}\ninputs {}\nbound {}", options.call.empty() ? "model" : "call", *model,
                        inference::digest_of(library), fmt::join(options.common.libraries, " "), types,
                        fmt::join(options.bindings, ",")),
            fmt::format("{} {}{}", options.call.empty() ? options.model : options.call, types,
                        fmt::join(options.bindings, ","))};
}

// A program with what it is run on.
struct Ready {
    inference::KeptProgram program;
    std::vector<TensorData> feeds;
    bool may_be_kept = false;
    std::optional<Graph> graph = {};  // where it was just made
};

Result<Ready> take(inference::KeptProgram program, const RunOptions& options, const Given& given, Measured& measured) {
    measured.loaded = true;
    auto feeds = feeds_for(program.input_names, program.executable->plan().input_types, given, options.random_seed,
                           options.work);
    if (!feeds) return fail(std::move(feeds.error()));
    return Ready{std::move(program), std::move(*feeds)};
}

Result<plan::PlanOptions> plan_options_of(const RunOptions& options) {
    auto choices = storing_choices(options.choices);
    if (!choices) return fail(std::move(choices.error()));
    return plan::PlanOptions{.fuse = !options.unfused, .storing = std::move(*choices)};
}

Result<Ready> make(const RunOptions& options, const Library& library, const Given& given, inference::Engine& engine,
                   Progress& progress, Measured& measured) {
    auto begin = Clock::now();
    auto source = load(options, library, given, progress);
    if (!source) return fail(std::move(source.error()));
    auto feeds = feeds_for(source->input_names, source->input_types(), with_weights(given, *source),
                           options.random_seed, options.work);
    if (!feeds) return fail(std::move(feeds.error()));
    measured.load_ms += milliseconds_since(begin);
    begin = Clock::now();
    auto plan_options = plan_options_of(options);
    if (!plan_options) return fail(std::move(plan_options.error()));
    plan_options->progress = &progress;
    auto executable = compile_graph(source->graph, engine, *plan_options);
    if (!executable) return fail(std::move(executable.error()));
    measured.compile_ms = milliseconds_since(begin);
    measured.rewrites = std::move(source->rewrites);
    inference::KeptProgram program{std::move(*executable), std::move(source->input_names),
                                   std::move(source->output_names), scalar_operations(source->graph)};
    Ready ready{std::move(program), std::move(*feeds), !source->other_files};
    if (!options.profile.empty()) ready.graph = std::move(source->graph);  // else its weights are not kept
    return ready;
}

// Where an index is out of range is found in the graph, which programs do not keep.
Diagnostics located_in_source(Diagnostics errors, const RunOptions& options, const Library& library, const Given& given,
                              Progress& progress, const std::vector<TensorData>& feeds) {
    if (errors.front().code != "runtime.index_out_of_range") return errors;
    const auto source = load(options, library, given, progress);
    return source ? located(std::move(errors), source->graph, feeds) : errors;
}

// A program of calls and a gradient are one graph.
bool may_be_staged(const RunOptions& options) { return options.call.empty() && !options.gradient; }

Result<void> run_in_stages(const RunOptions& options, const Library& library, const Given& given,
                           const std::shared_ptr<inference::Engine>& engine, Progress& progress, Measured& measured) {
    auto run = run_staged(options, library, given, engine, progress);
    if (!run) return fail(std::move(run.error()));
    measured.outputs = std::move(run->outputs);
    measured.output_names = std::move(run->output_names);
    measured.compile_ms = run->compile_ms;
    measured.run_ms = std::move(run->run_ms);
    measured.notes = std::move(run->notes);
    measured.kernels = run->kernels;
    if (!options.profile.empty() && options.backend != "reference") {
        measured.profile = run->profile.profile();
        measured.launches_json = run->profile.json();
    }
    warn_of_cache(*engine);
    return {};
}

Result<void> run_compiled(const RunOptions& options, const Library& library, const Given& given, Progress& progress,
                          Measured& measured) {
    const auto begin = Clock::now();
    auto backend = open_backend(options.backend, options.plugin);
    if (!backend) return fail(std::move(backend.error()));
    const auto engine = open_engine(options.threads, options.cache, std::move(*backend));
    const auto plan_options = plan_options_of(options);
    if (!plan_options) return fail(plan_options.error());
    const inference::ProgramSource source = kept_as(options, library, given, *engine);
    const auto value_of = [&](size_t, const std::string& name) {
        const auto found = given.find(name);
        return found == given.end() ? nullptr : &found->second;
    };
    auto kept = inference::find_program(source, value_of, *engine, *plan_options);
    if (kept && kept->work > options.work) kept.reset();  // making it says more
    measured.load_ms += milliseconds_since(begin);
    if (kept) progress.finish();
    auto ready = kept ? take(std::move(*kept), options, given, measured)
                      : make(options, library, given, *engine, progress, measured);
    if (!ready && may_be_staged(options) && inference::needs_stages(ready.error()))
        return run_in_stages(options, library, given, engine, progress, measured);
    if (!ready) return fail(std::move(ready.error()));
    const runtime::Executable& executable = *ready->program.executable;
    runtime::Session session(ready->program.executable, engine->pool);
    if (auto done = run_session(session, ready->feeds, options, measured); !done)
        return fail(located_in_source(std::move(done.error()), options, library, given, progress, ready->feeds));
    if (!options.profile.empty()) {
        if (auto done = profile_session(session, *ready->graph, ready->feeds, executable, *engine, options, measured);
            !done)
            return done;
    }
    measured.output_names = ready->program.output_names;
    measured.notes = executable.plan().notes;
    measured.launches = executable.plan().launches();
    measured.layout_launches = executable.plan().layout_launches();
    measured.kernels = executable.kernels();
    measured.peak_bytes = session.bytes() + executable.resident_bytes();
    if (ready->may_be_kept) inference::keep_program(source, value_of, ready->program, *engine, *plan_options);
    warn_of_cache(*engine);
    return {};
}

Result<Source> load_with_feeds(const RunOptions& options, const Library& library, const Given& given,
                               Progress& progress, Measured& measured, std::vector<TensorData>& feeds) {
    const auto begin = Clock::now();
    auto source = load(options, library, given, progress);
    if (!source) return source;
    auto made = feeds_for(source->input_names, source->input_types(), with_weights(given, *source), options.random_seed,
                          options.work);
    if (!made) return fail(std::move(made.error()));
    feeds = std::move(*made);
    measured.load_ms += milliseconds_since(begin);
    measured.output_names = source->output_names;
    measured.rewrites = source->rewrites;
    return source;
}

Result<void> run_interpreted(const RunOptions& options, const Library& library, const Given& given, Progress& progress,
                             Measured& measured) {
    std::vector<TensorData> feeds;
    auto source = load_with_feeds(options, library, given, progress, measured, feeds);
    if (!source && may_be_staged(options) && inference::needs_stages(source.error()))
        return run_in_stages(options, library, given, inference::make_engine(1), progress, measured);
    if (!source) return fail(std::move(source.error()));
    return run_reference(*source, feeds, measured);
}

Result<void> run_on_system(const RunOptions& options, const Library& library, const Given& given, Progress& progress,
                           Measured& measured) {
    std::vector<TensorData> feeds;
    auto source = load_with_feeds(options, library, given, progress, measured, feeds);
    if (!source) return fail(std::move(source.error()));
    auto run = run_placed(source->graph, feeds, options);
    if (!run) return fail(std::move(run.error()));
    measured.outputs = std::move(run->outputs);
    measured.compile_ms = run->compile_ms;
    measured.run_ms = std::move(run->run_ms);
    measured.launches = run->report.kernel_launches;
    measured.placement = explain::placement_json(source->graph, run->placed);
    measured.placement_text = explain::placement_text(source->graph, run->placed);
    Json& json = measured.placement["run"];
    json = {{"device_launches", run->report.launches},
            {"copies", run->report.copies},
            {"copied_bytes", run->report.copied_bytes},
            {"steps", Json::array()}};
    json["kernels"] = Json::array();
    for (const PlacedRun::Kernels& kernels : run->kernels) {
        Json launches = Json::array();
        for (const auto& [name, tasks] : kernels.launches) launches.push_back({{"name", name}, {"tasks", tasks}});
        json["kernels"].push_back({{"function", kernels.function}, {"launches", std::move(launches)}});
    }
    for (const running::RunReport::Line& line : run->report.lines)
        json["steps"].push_back({{"what", line.what}, {"seconds", line.seconds}, {"bytes", line.bytes}});
    return {};
}

Result<void> run_on_places(const RunOptions& said, const Library& library, const Given& given, Progress& progress,
                           Measured& measured) {
    RunOptions options = said;
    auto places = places_for(options, measured.machines);
    if (!places) return fail(std::move(places.error()));
    if (options.rules.empty()) options.rules = places->said.rules;
    std::vector<TensorData> feeds;
    auto source = load_with_feeds(options, library, given, progress, measured, feeds);
    if (!source && may_be_staged(options) && inference::needs_stages(source.error())) {
        const auto engine = open_engine(options.threads, options.cache);
        engine->places = running::make_places(std::move(*places));
        auto run = run_in_stages(options, library, given, engine, progress, measured);
        return run ? Result<void>() : fail(std::move(run.error()));
    }
    if (!source) return fail(std::move(source.error()));
    const Graph graph = prune(source->graph);
    auto run = run_sharded(graph, feeds, options, *places);
    if (!run) return fail(std::move(run.error()));
    measured.outputs = std::move(run->outputs);
    measured.compile_ms = run->compile_ms;
    measured.shards = shards_json(graph, *run);
    measured.placement_text = shards_text(graph, *run);
    for (const running::RunReport& report : run->reports) measured.launches += report.kernel_launches;
    measured.run_ms = std::move(run->run_ms);
    return {};
}

// Outputs and what else was measured, to files and for people.
Result<void> tell(const Measured& measured, const RunOptions& options, const Progress& progress) {
    if (options.output.ends_with(".npy") && measured.outputs.size() != 1) {
        return fail({.code = "cli.output",
                     .summary = fmt::format("'{}' holds one array, and there are {} outputs", options.output,
                                            measured.outputs.size()),
                     .expected = fmt::format("{}", fmt::join(measured.output_names, ", ")),
                     .remedy = "write them to a .npz, or to a folder by --output-dir"});
    }
    auto files = write_outputs(measured, options);
    if (!files) return fail(std::move(files.error()));
    if (measured.profile) {
        if (auto written = write_file(options.profile, measured.launches_json.dump(2) + "\n"); !written) return written;
    }
    if (options.common.json) {
        print_json(measured, progress, *files, options);
    } else {
        print_text(measured, *files, options);
    }
    return {};
}

Result<void> run_source(const RunOptions& options, const std::shared_ptr<transport::Transport>& machines) {
    if (options.model.empty() == options.call.empty()) {
        return fail({.code = "cli.what_to_run",
                     .summary = "give a model, or --call with a program, and not both",
                     .remedy = "heddle run --help shows examples"});
    }
    if (options.call.empty() && !options.gradient && !options.input_types.empty()) {
        return fail({.code = "cli.what_to_run",
                     .summary = "--input-type is for --call",
                     .remedy = "a model says the types of its inputs; --bind gives sizes that it leaves open"});
    }
    const auto begin = Clock::now();
    const auto progress = progress_on_terminal();
    progress->begin(Stage::load, 1);
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto given = read_inputs(options.inputs);
    if (!given) return fail(std::move(given.error()));
    Measured measured{.machines = machines};
    measured.load_ms = milliseconds_since(begin);
    const auto run = !options.system.empty()          ? run_on_system
                     : runs_sharded(options)          ? run_on_places
                     : options.backend == "reference" ? run_interpreted
                                                      : run_compiled;
    if (auto done = run(options, *library, *given, *progress, measured); !done) return done;
    measured.peak_resident_bytes = peak_resident_bytes();
    auto told = measured.is_quiet() ? Result<void>() : tell(measured, options, *progress);
    return machines ? transport::follow_first(*machines, std::move(told)) : told;
}

// Of one of several processes: what the first one says, too, is said once; else who says it.
int report_of(const transport::Transport& machines, Diagnostics problems, const CommonOptions& options) {
    if (machines.rank() > 0)
        for (Diagnostic& problem : problems)
            problem.summary = fmt::format("process {}: {}", machines.rank(), problem.summary);
    return report(problems, options);
}

}  // namespace

int run_model(const RunOptions& options) {
    std::shared_ptr<transport::Transport> machines;
    if (options.system.empty() && runs_sharded(options)) {
        auto connected = connect(options.shard);
        if (!connected) return report(connected.error(), options.common);
        machines = std::move(*connected);
    }
    auto done = run_source(options, machines);
    if (done) return 0;
    if (!machines) return report(done.error(), options.common);
    return machines->fail(done.error()) ? 1 : report_of(*machines, std::move(done.error()), options.common);
}

}  // namespace heddle::cli
