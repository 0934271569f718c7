// What each pass over equations gains and costs: programs are planned, and run, with all passes and without each.
// bench/passes.py gives the programs and makes a table of what this prints.
//
//     build/bench_passes PROGRAMS.json SECONDS
//
// PROGRAMS.json is a list of {name, model: FILE} or {name, call: TEXT, libraries: [FILE]}, with inputs: {NAME: FILE.npy};
// with gradient: true it is the program's gradient by its inputs, at adjoints that are ones.
// Prints one line of JSON a program: {name, passes: {NAME: {us, changed}}, all: FIGURES, without: {NAME: FIGURES}}. A
// pass without which the plan has the same text is left out of `without`. FIGURES are launches, layout launches, modelled
// seconds, bytes and operations, instructions of kernels, and the least milliseconds of a run on one core, both programs
// in turn for SECONDS.
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>
#include <map>
#include <string>

#include <fmt/format.h>

#include "codegen/instruction_count.h"
#include "equations/cost.h"
#include "equations/passes.h"
#include "gradient/gradient.h"
#include "helpers/source_folder.h"
#include "inference/engine.h"
#include "inference/model.h"
#include "plan/plan.h"
#include "support/file.h"
#include "support/npy.h"
#include "symbolic/program.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

template <typename T>
T expect(Result<T> result) {
    if (!result) {
        std::fputs(render(result.error()).c_str(), stderr);
        std::exit(1);
    }
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double microseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Program {
    Graph graph;
    std::vector<TensorData> inputs;
};

std::map<std::string, TensorData> arrays_of(const Json& json) {
    std::map<std::string, TensorData> arrays;
    for (const auto& [name, file] : json["inputs"].items()) arrays[name] = expect(read_npy(file.get<std::string>()));
    return arrays;
}

Program called(const Json& json) {
    Library library = expect(open_library(in_source("operators")));
    for (const Json& file : json["libraries"]) expect(library.add_library(file.get<std::string>()));
    Program program;
    std::vector<ProgramInput> types;
    for (auto& [name, array] : arrays_of(json)) {
        types.push_back({name, {array.dtype(), {array.shape().begin(), array.shape().end()}}});
        program.inputs.push_back(std::move(array));
    }
    const auto text = std::make_shared<SourceText>("program", json["call"].get<std::string>());
    program.graph = expect(build_program(text, library, types));
    return program;
}

Program imported(const Json& json) {
    const Library library = expect(open_library(in_source("operators")));
    const auto model = expect(onnx::read_model(json["model"].get<std::string>()));
    const auto arrays = arrays_of(json);
    const auto given = expect(inference::arrange(inference::input_names(model), arrays));
    Program program{.graph = expect(inference::specialise(model, library, given)), .inputs = {}};
    for (const std::string& name : inference::read_input_names(model)) program.inputs.push_back(arrays.at(name));
    return program;
}

// The same from the program's inputs, and ones, to the adjoints of its inputs.
Program gradient_of(Program program) {
    std::vector<TensorId> wanted;
    for (TensorId input : program.graph.inputs)
        if (gradient::is_differentiable(program.graph.tensor(input).type.dtype)) wanted.push_back(input);
    program.graph = expect(gradient::gradient(program.graph, wanted));
    for (size_t i = program.inputs.size(); i < program.graph.inputs.size(); i++) {
        const TensorType& type = program.graph.tensor(program.graph.inputs[i]).type;
        TensorData ones(type.dtype, type.extents());
        for (int64_t k = 0; k < ones.size(); k++) ones.set_real(k, 1);
        program.inputs.push_back(std::move(ones));
    }
    return program;
}

// The passes but one; "": all.
plan::PlanOptions options_without(const std::string& name) {
    return {.passes = [name](equations::System& system) { equations::optimise(system, {.without = {name}}); }};
}

Json figures(const Graph& graph, const plan::Plan& plan, const std::string& without) {
    auto system = expect(equations::lower(graph));
    equations::optimise(system, {.without = {without}});
    const auto cost = equations::run_cost(system, equations::fuse(system, plan.target, {}), plan.target);
    int64_t instructions = 0;
    for (const auto& tree : plan.trees) instructions += codegen::instruction_count(*tree);
    return {{"launches", plan.launches()}, {"layout", plan.layout_launches()}, {"seconds", cost.seconds},
            {"bytes", cost.bytes},         {"operations", cost.operations},    {"instructions", instructions}};
}

// The time of each pass, of all its runs together.
Json pass_times(const Graph& graph) {
    constexpr int rounds = 3;
    std::map<std::string_view, double> least;
    std::map<std::string_view, bool> changes;
    for (int round = 0; round < rounds; round++) {
        auto system = expect(equations::lower(graph));
        std::map<std::string_view, double> sum;
        auto begin = Clock::now();
        equations::optimise(system, {.after = [&](const equations::Pass& pass, const auto&, bool changed) {
                                sum[pass.name] += microseconds_since(begin);
                                changes[pass.name] |= changed;
                                begin = Clock::now();
                            }});
        for (const auto& [name, time] : sum)
            if (round == 0 || time < least[name]) least[name] = time;
    }
    Json json;
    for (const equations::Pass& pass : equations::passes())
        json[pass.name] = {{"us", least[pass.name]}, {"changed", changes[pass.name]}};
    return json;
}

// By processor time: what else runs on the machine counts only as far as it takes caches and clock away.
class Measured {
public:
    Measured(const Program& program, inference::Engine& engine, const plan::PlanOptions& options)
        : inputs_(program.inputs),
          session_(expect(inference::compile(program.graph, engine, options)), engine.pool),
          outputs_(expect(session_.run(inputs_))) {}
    void run() {
        const std::clock_t begin = std::clock();
        expect(session_.run(inputs_, outputs_));
        least_ = std::min(least_, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    double milliseconds() const { return least_; }

private:
    const std::vector<TensorData>& inputs_;
    runtime::Session session_;
    std::vector<TensorData> outputs_;
    double least_ = std::numeric_limits<double>::infinity();
};

// Of all passes, and of all but one, in turn.
std::pair<double, double> run_times(const Program& program, inference::Engine& engine, const std::string& without,
                                    double seconds) {
    Measured all(program, engine, {}), fewer(program, engine, options_without(without));
    const auto begin = Clock::now();
    for (int round = 0; round < 5 || microseconds_since(begin) < seconds * 1e6; round++) {
        all.run();
        fewer.run();
    }
    return {all.milliseconds(), fewer.milliseconds()};
}

Json measured(const Json& json, inference::Engine& engine, double seconds) {
    Program program = json.contains("model") ? imported(json) : called(json);
    if (json.value("gradient", false)) program = gradient_of(std::move(program));
    const Target& target = engine.target;
    const plan::Plan plan = expect(plan::make_plan(program.graph, target));
    const std::string text = plan::print(plan);
    Json result = {{"name", json["name"]}, {"passes", pass_times(program.graph)}};
    result["all"] = figures(program.graph, plan, "");
    result["without"] = Json::object();
    for (const equations::Pass& pass : equations::passes()) {
        const std::string name(pass.name);
        const plan::Plan fewer = expect(plan::make_plan(program.graph, target, options_without(name)));
        if (plan::print(fewer) == text) continue;
        Json& entry = result["without"][name];
        entry = figures(program.graph, fewer, name);
        for (const Diagnostic& note : fewer.notes) entry["notes"].push_back(note.code);
        if (seconds <= 0) continue;
        const auto [with, without] = run_times(program, engine, name, seconds);
        entry["all_ms"] = with;
        entry["ms"] = without;
    }
    return result;
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
    if (count != 3) return std::fputs("bench_passes PROGRAMS.json SECONDS\n", stderr), 2;
    const auto programs = heddle::Json::parse(heddle::expect(heddle::read_file(arguments[1], int64_t{1} << 24)));
    const auto engine = heddle::inference::make_engine(1);
    for (const auto& program : programs) {
        std::puts(heddle::measured(program, *engine, std::stod(arguments[2])).dump().c_str());
        std::fflush(stdout);
    }
}
