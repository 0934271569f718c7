// What the commands share: libraries, models, inputs, compiling, errors.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "frontends/onnx/model.h"
#include "graph/graph.h"
#include "inference/engine.h"
#include "inference/model.h"
#include "interchange/dialect.h"
#include "language/library.h"
#include "plan/plan.h"
#include "rewrite/apply.h"
#include "runtime/executable.h"
#include "symbolic/program.h"
#include "target/hosts.h"
#include "target/tags.h"

namespace heddle::cli {

// Prints errors to standard error (as JSON to standard output where asked for) and gives exit status 1.
int report(const Diagnostics& problems, const CommonOptions& options);

// The operator library that lies beside the program, with the user's files.
Result<Library> open_libraries(const CommonOptions& options);

// An environment of graph documents: a file, or a name of the environments beside the program.
Result<interchange::Dialect> open_environment(const std::string& name);

// The folder with the fixed parts of exported programs (artefact/artefact.h).
std::string exported_folder();
// That of the environments that have names.
std::string environments_folder();

// NAME=FILE, or FILE.npz for all arrays in it. Codes cli.input, and those of reading files.
Result<std::map<std::string, TensorData>> read_inputs(const std::vector<std::string>& texts);

// A graph with its interface, from a model or a program.
struct Source {
    Graph graph;
    std::vector<std::string> input_names, output_names;
    std::vector<rewrite::Step> rewrites = {};        // by the rules of --rule
    bool other_files = false;                        // it follows from files that the model names
    std::map<std::string, TensorData> weights = {};  // of the model that are inputs: what they are if nothing is given
    std::vector<TensorType> input_types() const;
};

// A model with its open dimensions bound by --bind and the given inputs' shapes. Code inference.unknown_input.
Result<Source> load_model(const std::string& path, const Library& library,
                          const std::map<std::string, TensorData>& given, const std::vector<std::string>& bindings,
                          const std::vector<std::string>& rules, Progress* progress = nullptr);
// The same of a model that is there. `free`: weights that become inputs.
Result<Source> load_model(const onnx::OnnxModel& model, const Library& library,
                          const std::map<std::string, TensorData>& given, const std::vector<std::string>& bindings,
                          const std::vector<std::string>& rules, Progress* progress,
                          inference::FreeWeights* weights = nullptr);

// The program of --call.
Result<Source> load_call(const std::string& text, const Library& library, const std::vector<ProgramInput>& inputs,
                         const std::vector<std::string>& rules, Progress* progress = nullptr);

// NAME=TYPE each, as of --input-type. `dimensions`: those that they name.
Result<std::vector<ProgramInput>> read_input_types(const std::vector<std::string>& texts,
                                                   std::map<std::string, int64_t>& dimensions);
// Inputs of --call: by --input-type, with --bind for dimensions that have no number there, and by what is given.
Result<std::vector<ProgramInput>> read_call_inputs(const std::vector<std::string>& texts,
                                                   const std::vector<std::string>& bindings,
                                                   const std::map<std::string, TensorData>& given,
                                                   std::map<std::string, int64_t>& dimensions);
// Of a name that nothing has, what makes it an input.
Diagnostics told_of_inputs(Diagnostics problems);

// "rewritten by RULE 3 times: a, b, c": a line a rule.
void print_rewrites(const std::vector<rewrite::Step>& steps);

// One tensor an input: given, or made up from a seed, which takes work too. Codes inference.missing_input,
// evaluate.too_much_work.
Result<std::vector<TensorData>> feeds_for(const std::vector<std::string>& names, const std::vector<TensorType>& types,
                                          const std::map<std::string, TensorData>& given, int64_t seed,
                                          double most_work);

// Before anything is computed. Code evaluate.too_much_work.
Result<void> check_work(const Graph& graph, double limit, bool interpreted);

// What a plan has to say (Plan::notes), to standard error.
void warn(const Diagnostics& notes);

// Null where it is off, or cannot be used, of which it warns.
std::shared_ptr<cache::Folder> usable_folder(const CacheOptions& cache);
// What runs choose for, as it was measured by the first of them.
Target this_machine();
// Those of the library and of the user's folders: $HEDDLE_TARGETS, with colons between, else
// $XDG_CONFIG_HOME/heddle/targets or ~/.config/heddle/targets, if it is there.
Result<TargetTags> open_tags();
// Of --choose. Code equations.choice.
Result<std::vector<equations::StoringChoice>> storing_choices(const std::vector<std::string>& texts);
// As an option names it: a tag, a file or JSON (target/tags.h); nothing is this machine.
Result<Target> open_target(const std::string& text);
// The same for a --system that is explained or compiled for: what needs a host and names none has that of its kind,
// wherever this is done. Where it runs, this machine is its host (target/hosts.h).
Result<Target> open_system(const std::string& text);
// The same, of a kind that kernels are scheduled for by loops and vectors. Code cli.target.
Result<Target> open_scheduled_target(const std::string& text);
// A plugin's backend by its name, or whichever the plugin has where the name is empty; null for "cpu". Codes cli.backend,
// those of load_plugin.
Result<std::shared_ptr<codegen::Backend>> open_backend(const std::string& name, const std::string& plugin);
// This machine, with what earlier runs have compiled; warns where that cannot be used. Null stands for its own backend.
std::shared_ptr<inference::Engine> open_engine(int threads, const CacheOptions& cache,
                                               std::shared_ptr<codegen::Backend> backend = nullptr);
// Warns of what the plan has to say.
Result<std::shared_ptr<const runtime::Executable>> compile_graph(const Graph& graph, inference::Engine& engine,
                                                                 const plan::PlanOptions& options);
// Of files of the cache that were damaged.
void warn_of_cache(const inference::Engine& engine);

double milliseconds_since(std::chrono::steady_clock::time_point begin);

}  // namespace heddle::cli
