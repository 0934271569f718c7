#include "cli/support.h"

#include <charconv>
#include <filesystem>
#include <random>
#include <ranges>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cache/folder.h"
#include "cli/bindings.h"
#include "cli/progress_line.h"
#include "evaluate/work.h"
#include "explain/arguments.h"
#include "frontends/onnx/import.h"
#include "inference/host.h"
#include "inference/model.h"
#include "plugins/load_plugin.h"
#include "support/npy.h"
#include "support/npz.h"
#include "target/facts.h"
#include "target/hosts.h"

namespace heddle::cli {

int report(const Diagnostics& problems, const CommonOptions& options) {
    if (options.json) {
        fmt::print("{{\"errors\": {}}}\n", render_json(problems));
    } else {
        fmt::print(stderr, "{}", render(problems));
    }
    return 1;
}

namespace {

// build/heddle finds ../operators; an installed bin/heddle finds ../share/heddle/operators; a build folder elsewhere
// has a link of its own.
std::filesystem::path data_folder(const char* name) {
    std::error_code problem;
    auto program = std::filesystem::read_symlink("/proc/self/exe", problem);
    auto root = program.parent_path().parent_path();
    for (const auto& folder : {root / "share/heddle" / name, program.parent_path() / name}) {
        if (std::filesystem::is_directory(folder, problem)) return folder;
    }
    return root / name;
}

}  // namespace

Result<Library> open_libraries(const CommonOptions& options) {
    auto library = open_library(data_folder("operators"));
    if (!library) return library;
    Diagnostics problems;
    for (const std::string& text : options.libraries) {
        size_t equals = text.find('=');  // NAME=PATH
        bool named = equals != std::string::npos && text.find('/') > equals;
        auto added =
            named ? library->add_library(text.substr(equals + 1), text.substr(0, equals)) : library->add_library(text);
        if (!added) problems.insert(problems.end(), added.error().begin(), added.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    return library;
}

Result<interchange::Dialect> open_environment(const std::string& name) {
    return interchange::open_dialect(name, environments_folder());
}

std::string exported_folder() { return data_folder("exported").string(); }
std::string environments_folder() { return data_folder("environments").string(); }

namespace {

Result<TensorData> read_tensor_file(const std::string& path, const std::string& name) {
    if (path.ends_with(".npz")) {
        auto arrays = read_npz(path);
        if (!arrays) return fail(std::move(arrays.error()));
        if (const auto found = arrays->find(name); found != arrays->end()) return std::move(found->second);
        return fail({.code = "cli.input",
                     .summary = fmt::format("'{}' has no array '{}'", path, name),
                     .found = fmt::format("{}", fmt::join(std::views::keys(*arrays), ", ")),
                     .remedy = "--input FILE.npz gives each array to the input of its name"});
    }
    if (!path.ends_with(".pb")) return read_npy(path);
    auto tensor = onnx::read_tensor(path);
    if (!tensor) return fail(std::move(tensor.error()));
    if (!tensor->data) {
        return fail({.code = "cli.input",
                     .summary = fmt::format("'{}' holds elements of type {}, which is not supported", path,
                                            tensor->type_text)});
    }
    return std::move(*tensor->data);
}

}  // namespace

Result<std::map<std::string, TensorData>> read_inputs(const std::vector<std::string>& texts) {
    std::map<std::string, TensorData> inputs;
    Diagnostics problems;
    for (const std::string& text : texts) {
        size_t equals = text.find('=');
        if (equals == std::string::npos && text.ends_with(".npz")) {
            auto arrays = read_npz(text);
            if (!arrays) problems.insert(problems.end(), arrays.error().begin(), arrays.error().end());
            if (arrays) inputs.insert(arrays->begin(), arrays->end());
            continue;
        }
        if (equals == std::string::npos || equals == 0) {
            problems.push_back({.code = "cli.input",
                                .summary = fmt::format("--input does not understand '{}'", text),
                                .expected = "NAME=FILE, or FILE.npz for all arrays in it"});
            continue;
        }
        auto tensor = read_tensor_file(text.substr(equals + 1), text.substr(0, equals));
        if (tensor) {
            inputs.insert_or_assign(text.substr(0, equals), std::move(*tensor));
        } else {
            problems.insert(problems.end(), tensor.error().begin(), tensor.error().end());
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return inputs;
}

Result<Source> load_model(const std::string& path, const Library& library,
                          const std::map<std::string, TensorData>& given, const std::vector<std::string>& binding_texts,
                          const std::vector<std::string>& rules, Progress* progress) {
    auto model = onnx::read_model(path);
    if (!model) return fail(std::move(model.error()));
    return load_model(*model, library, given, binding_texts, rules, progress);
}

Result<Source> load_model(const onnx::OnnxModel& model, const Library& library,
                          const std::map<std::string, TensorData>& given, const std::vector<std::string>& binding_texts,
                          const std::vector<std::string>& rules, Progress* progress, inference::FreeWeights* weights) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : given) names.insert(name);
    if (const auto opened = onnx::without_initializers(model, names))
        return load_model(*opened, library, given, binding_texts, rules, progress, weights);
    auto uses = rewrite::read_rule_uses(rules, library);
    if (!uses) return fail(std::move(uses.error()));
    inference::Rewriting rewriting{std::move(*uses), {}};
    auto resolved = resolve_bindings(binding_texts, dimensions_of(model));
    if (!resolved) return fail(std::move(resolved.error()));
    auto bindings = explain::parse_bindings(*resolved);
    if (!bindings) return fail(std::move(bindings.error()));
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());
    Source source{
        .graph = {}, .input_names = inference::read_input_names(model), .output_names = inference::output_names(model)};
    source.other_files = !model.data_files.empty();
    const auto inputs = onnx::caller_inputs(model);
    if (const auto list = std::ranges::find_if(inputs, [](const auto* input) { return onnx::is_list(*input); });
        list != inputs.end())
        return fail(onnx::list_input(**list));
    auto arranged = inference::arrange(inference::input_names(model), given);
    if (!arranged) return fail(std::move(arranged.error()));
    auto graph = inference::specialise(model, library, *arranged, std::move(*bindings), &rewriting, progress, weights);
    if (!graph) return fail(std::move(graph.error()));
    source.graph = std::move(*graph);
    source.rewrites = std::move(rewriting.steps);
    if (!weights) return source;
    for (const onnx::OnnxWeight& weight : weights->found) {
        source.input_names.push_back(weight.name);
        source.weights.insert_or_assign(weight.name, weight.data);
    }
    return source;
}

Result<std::vector<ProgramInput>> read_input_types(const std::vector<std::string>& texts,
                                                   std::map<std::string, int64_t>& dimensions) {
    std::vector<ProgramInput> inputs;
    Diagnostics problems;
    for (const std::string& text : texts) {
        auto input = explain::parse_input_type(text, dimensions);
        if (input)
            inputs.push_back({std::move(input->name), std::move(input->type), std::move(input->start)});
        else
            problems.insert(problems.end(), input.error().begin(), input.error().end());
    }
    if (!problems.empty()) return fail(std::move(problems));
    return inputs;
}

Result<std::vector<ProgramInput>> read_call_inputs(const std::vector<std::string>& texts,
                                                   const std::vector<std::string>& bindings,
                                                   const std::map<std::string, TensorData>& given,
                                                   std::map<std::string, int64_t>& dimensions) {
    auto resolved = resolve_bindings(bindings, dimensions_in(texts));
    if (!resolved) return fail(std::move(resolved.error()));
    auto bound = explain::parse_bindings(*resolved);
    if (!bound) return fail(std::move(bound.error()));
    dimensions.merge(*bound);
    auto inputs = read_input_types(texts, dimensions);
    if (!inputs) return inputs;
    for (const auto& [name, tensor] : given) {
        if (std::ranges::find(*inputs, name, &ProgramInput::name) != inputs->end()) continue;
        inputs->push_back({name, TensorType{tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}}});
    }
    return inputs;
}

Diagnostics told_of_inputs(Diagnostics problems) {
    for (Diagnostic& problem : problems) {
        if (problem.code != "symbolic.unknown_name") continue;
        problem.remedy +=
            fmt::format("{}a new input needs its values, --input NAME=FILE, or its type, --input-type NAME=TYPE",
                        problem.remedy.empty() ? "" : "; ");
    }
    return problems;
}

Result<Source> load_call(const std::string& text, const Library& library, const std::vector<ProgramInput>& inputs,
                         const std::vector<std::string>& rules, Progress* progress) {
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());  // nothing more is loaded
    if (auto wanted = begin_stage(progress, Stage::symbolic, 1); !wanted) return fail(wanted.error());
    auto uses = rewrite::read_rule_uses(rules, library);
    if (!uses) return fail(std::move(uses.error()));
    auto program = std::make_shared<SourceText>("--call", text);
    Source source;
    auto as_written = [&]() -> Result<Graph> {
        Session session(library);
        session.set_progress(progress);
        auto applied = apply_program(session, program, inputs);
        if (!applied) return fail(std::move(applied.error()));
        source.output_names = std::move(applied->names);
        return session.finish(std::move(applied->outputs));
    };
    auto rewritten = [&]() -> Result<Graph> {
        auto calls = rewrite::CallGraph::of_program(program, library, inputs);
        if (!calls) return fail(std::move(calls.error()));
        auto steps = rewrite::apply_rules(*calls, *uses);
        if (!steps) return fail(std::move(steps.error()));
        source.rewrites = std::move(*steps);
        source.output_names = calls->output_names();
        return calls->expand(calls->outputs());
    };
    auto graph = uses->empty() ? as_written() : rewritten();
    if (!graph) return fail(told_of_inputs(std::move(graph.error())));
    source.graph = std::move(*graph);
    for (TensorId t : source.graph.inputs) source.input_names.push_back(source.graph.tensor(t).name);
    if (auto wanted = step_done(progress); !wanted) return fail(wanted.error());
    return source;
}

void print_rewrites(const std::vector<rewrite::Step>& steps) {
    constexpr size_t listed = 8;
    std::vector<std::pair<std::string, std::vector<std::string>>> rules;  // in the order of their first steps
    for (const rewrite::Step& step : steps) {
        auto found = std::ranges::find(rules, step.rule, &std::pair<std::string, std::vector<std::string>>::first);
        if (found == rules.end()) found = rules.insert(rules.end(), {step.rule, {}});
        found->second.push_back(step.at);
    }
    for (auto& [rule, places] : rules) {
        size_t count = places.size();
        places.resize(std::min(count, listed));
        fmt::print("rewritten by {} {} time{}: {}{}\n", rule, count, count == 1 ? "" : "s", fmt::join(places, ", "),
                   count > listed ? fmt::format(" and {} more", count - listed) : "");
    }
}

namespace {

TensorData made_up(const TensorType& type, std::mt19937_64& random) {
    TensorData made(type.dtype, type.extents()), data = made.reals();
    std::normal_distribution<double> normal;
    for (int64_t i = 0; i < data.size(); i++) {
        if (is_float(data.dtype())) {
            data.set_real(i, normal(random));
        } else {
            // Small, since integers are mostly indices.
            data.set_integer(i, static_cast<int64_t>(random() % (is_bool(type.dtype) ? 2 : 10)));
        }
    }
    return made;
}

Diagnostic too_much_to_make_up(const std::string& input, const TensorType& type, double limit) {
    return {.code = "evaluate.too_much_work",
            .summary = fmt::format("to make up the input '{}' takes more work than is allowed", input),
            .expected = fmt::format("at most {:.2g} scalar operations", limit),
            .found = type.text(),
            .remedy = "give its values, or raise the limit by --work",
            .params = {{"input", input}}};
}

}  // namespace

std::vector<TensorType> Source::input_types() const {
    std::vector<TensorType> types;
    for (TensorId input : graph.inputs) types.push_back(graph.tensor(input).type);
    return types;
}

Result<std::vector<TensorData>> feeds_for(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                                          const std::map<std::string, TensorData>& given, int64_t seed,
                                          double most_work) {
    constexpr double work_of_element = 64;
    double work = 0;
    std::vector<TensorData> feeds;
    Diagnostics problems;
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    for (size_t i = 0; i < names.size(); i++) {
        const TensorType& type = types[i];
        auto found = given.find(names[i]);
        if (found != given.end()) {
            feeds.push_back(found->second);
        } else if (seed >= 0) {
            work += work_of_element * static_cast<double>(type.elements());
            if (work > most_work) return fail(too_much_to_make_up(names[i], type, most_work));
            feeds.push_back(made_up(type, random));
        } else {
            problems.push_back(inference::missing_input(names[i], type.text()));
            problems.back().remedy = fmt::format("--input {}=FILE.npy, or --random SEED for made-up values", names[i]);
        }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return feeds;
}

Result<void> check_work(const Graph& graph, double limit, bool interpreted) {
    const double share = interpreted ? 0.01 : 1;
    return heddle::check_work(graph, limit, share, "--work");
}

void warn(const Diagnostics& notes) {
    for (const Diagnostic& note : notes) {
        fmt::print(stderr, "warning[{}]: {}\n", note.code, note.summary);
        if (!note.found.empty()) fmt::print(stderr, "  found: {}\n", note.found);
        if (!note.reason.empty()) fmt::print(stderr, "  reason: {}\n", note.reason);
        if (!note.remedy.empty()) fmt::print(stderr, "  remedy: {}\n", note.remedy);
    }
}

std::shared_ptr<cache::Folder> usable_folder(const CacheOptions& cache) {
    Diagnostics notes;
    auto folder = cache.off ? nullptr : cache::open_folder(cache.folder, notes);
    warn(notes);
    return folder;
}

Target this_machine() { return inference::host_target(usable_folder({}).get()); }

namespace {

// Those that are named must be there; the one that nobody names may be.
std::vector<std::string> target_folders() {
    std::vector<std::string> folders;
    if (const char* named = std::getenv("HEDDLE_TARGETS")) {
        std::istringstream list(named);
        for (std::string folder; std::getline(list, folder, ':');) {
            if (!folder.empty()) folders.push_back(folder);
        }
        return folders;
    }
    const char *config = std::getenv("XDG_CONFIG_HOME"), *home = std::getenv("HOME");
    if (config && *config == '/')
        folders.push_back(std::string(config) + "/heddle/targets");
    else if (home && *home == '/')
        folders.push_back(std::string(home) + "/.config/heddle/targets");
    std::error_code problem;
    std::erase_if(folders, [&](const std::string& folder) { return !std::filesystem::is_directory(folder, problem); });
    return folders;
}

}  // namespace

Result<TargetTags> open_tags() {
    TargetTags tags = TargetTags::built_in();
    for (const std::string& folder : target_folders()) {
        if (auto added = tags.add_folder(folder); !added) return fail(std::move(added.error()));
    }
    return tags;
}

Result<Target> open_target(const std::string& text) {
    if (text.empty()) return this_machine();
    const auto tags = open_tags();
    if (!tags) return fail(tags.error());
    return tags->open(text);
}

Result<Target> open_system(const std::string& text) {
    auto target = open_target(text);
    if (!target) return target;
    return with_default_host(std::move(*target));
}

Result<Target> open_scheduled_target(const std::string& text) {
    auto target = open_target(text);
    if (!target) return target;
    const KindFacts* kind = find_kind(kind_of(*target));
    if (kind && kind->has_group("scheduled") && !kind->has_group("workgroups")) return target;
    std::vector<std::string> parts;
    for (const SystemDevice& device : target->devices) parts.push_back(fmt::format("'{}:{}'", text, device.name));
    const bool gpu = kind && kind->has_group("workgroups");
    return fail(
        {.code = "cli.target",
         .summary = fmt::format("kernels are chosen for one processor, and '{}' is of kind '{}'{}", short_text(*target),
                                kind_of(*target), gpu ? ", for which there is no code but pages" : ""),
         .remedy = !parts.empty() ? fmt::format("name one of its devices: {}", fmt::join(parts, ", "))
                   : gpu          ? "name a target of kind 'cpu'; compile a page, for the GPU of a browser: --target "
                                    "webgpu; or see what would run there: explain --system"
                                  : "name a target of kind 'cpu'"});
}

Result<std::shared_ptr<codegen::Backend>> open_backend(const std::string& name, const std::string& plugin) {
    if (plugin.empty() || name == "cpu") return nullptr;
    auto backend = plugins::load_plugin(plugin);
    if (!backend || name.empty() || (*backend)->name() == name) return backend;
    return fail({.code = "cli.backend",
                 .summary = fmt::format("the plugin has no backend '{}'", name),
                 .expected = fmt::format("cpu, reference, {}", (*backend)->name()),
                 .params = {{"plugin", plugin}, {"backend", name}}});
}

std::shared_ptr<inference::Engine> open_engine(int threads, const CacheOptions& cache,
                                               std::shared_ptr<codegen::Backend> backend) {
    return inference::make_engine(threads, inference::make_kernel_cache(usable_folder(cache), std::move(backend)));
}

Result<std::shared_ptr<const runtime::Executable>> compile_graph(const Graph& graph, inference::Engine& engine,
                                                                 const plan::PlanOptions& options) {
    const auto own = options.progress ? nullptr : progress_on_terminal();
    plan::PlanOptions told = options;
    if (own) told.progress = own.get();
    auto executable = inference::compile(graph, engine, told);
    told.progress->finish();
    if (executable) warn((*executable)->plan().notes);
    return executable;
}

void warn_of_cache(const inference::Engine& engine) {
    if (const auto folder = engine.kernels->folder()) warn(folder->take_notes());
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Result<std::vector<equations::StoringChoice>> storing_choices(const std::vector<std::string>& texts) {
    std::vector<equations::StoringChoice> choices;
    for (const std::string& text : texts) {
        auto choice = equations::parse_storing_choice(text);
        if (!choice) return fail(std::move(choice.error()));
        choices.push_back(std::move(*choice));
    }
    return choices;
}

}  // namespace heddle::cli
