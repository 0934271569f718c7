#include "conformance/check_instance.h"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/rules.h"
#include "evaluate/compare.h"
#include "gradient/job_program.h"
#include "inference/compare_tensors.h"

namespace heddle::conformance {
namespace {

Diagnostic wrong_result(const std::string& tensor, const std::string& type, const std::string& comparison,
                        std::string expected, std::string found) {
    Diagnostic wrong =
        problem("conformance.result", fmt::format("'{}' ({}) is computed wrongly: {}", tensor, type, comparison));
    wrong.expected = std::move(expected);
    wrong.found = std::move(found);
    return wrong;
}

// Each tensor that a kernel writes, from what it read.
void compare_kernels(const Instance& instance, inference::Engine& engine, Diagnostics& problems) {
    const auto verdicts = inference::compare_tensors(instance.graph, instance.feeds, engine, {});
    if (!verdicts) {
        problems.insert(problems.end(), verdicts.error().begin(), verdicts.error().end());
        return;
    }
    for (const inference::Verdict& verdict : *verdicts) {
        if (verdict.comparison.equal) continue;
        problems.push_back(
            wrong_result(verdict.name, verdict.type, verdict.comparison.text(), verdict.expected, verdict.found));
    }
}

// The outputs of two runs of the program as users run it, where buffers share memory.
void compare_outputs(const Instance& instance, inference::Engine& engine, Diagnostics& problems) {
    const auto add = [&](const Diagnostics& more) { problems.insert(problems.end(), more.begin(), more.end()); };
    const auto expected = evaluate_graph_bounded(instance.graph, instance.feeds);
    if (!expected) return add(expected.error());
    auto executable = inference::compile(instance.graph, engine);
    if (!executable) return add(executable.error());
    runtime::Session session(*executable, engine.pool);
    for (int round = 0; round < 2; round++) {
        const auto found = session.run(instance.feeds);
        if (!found) return add(found.error());
        for (size_t o = 0; o < found->size(); o++) {
            const TensorId output = instance.graph.outputs[o];
            const auto comparison = compare_bounded((*found)[o], (*expected)[static_cast<size_t>(output)]);
            const Tensor& tensor = instance.graph.tensor(output);
            if (!comparison.equal)
                problems.push_back(wrong_result(tensor.name, tensor.type.text(), comparison.text(), {}, {}));
        }
    }
}

}  // namespace

Diagnostics check_instance(const Result<Instance>& instance, inference::Engine& engine) {
    if (!instance) return instance.error();
    Diagnostics problems;
    compare_kernels(*instance, engine, problems);
    if (problems.empty()) compare_outputs(*instance, engine, problems);
    return problems;
}

// ---- a gradient in two programs

namespace {

struct JobProgram {
    CompileJob job;
    gradient::DerivedProgram derived;
};

// What the backend's job of this derivative of the graph stands for.
Result<JobProgram> job_program(Derivation::Mode mode, const Graph& graph, const inference::Engine& engine) {
    auto job = gradient::job_for(engine.kernels->backend(), engine.target, graph,
                                 {.mode = mode, .tape_policy = "save_all"});
    if (!job) return fail(std::move(job.error()));
    auto derived = gradient::program_of(*job, graph);
    if (!derived) return fail(std::move(derived.error()));
    return JobProgram{std::move(*job), std::move(*derived)};
}

// The program run on kernels of the job's config.
Result<std::vector<TensorData>> run_as(const CompileJob& job, const Instance& instance, inference::Engine& engine) {
    auto executable = inference::compile(instance.graph, engine);
    if (!executable) return fail(std::move(executable.error()));
    runtime::Session session(*executable, engine.pool);
    session.expect(job.config);
    return session.run(instance.feeds);
}

// What the reverse program takes: inputs and outputs, each tensor once, the tape, and adjoints, which come behind the
// inputs in the feeds of `adjoint`; then shadows, which are zero.
std::vector<TensorData> reverse_feeds(const Instance& instance, const std::vector<TensorData>& forward,
                                      const Instance& adjoint) {
    std::vector<TensorData> feeds;
    std::vector<TensorId> seen;
    const auto add = [&](TensorId tensor, const TensorData& data) {
        if (std::ranges::find(seen, tensor) != seen.end()) return;
        seen.push_back(tensor);
        feeds.push_back(data);
    };
    const Graph& graph = instance.graph;
    for (size_t i = 0; i < graph.inputs.size(); i++) add(graph.inputs[i], instance.feeds[i]);
    for (size_t o = 0; o < graph.outputs.size(); o++) add(graph.outputs[o], forward[o]);
    feeds.insert(feeds.end(), forward.begin() + static_cast<std::ptrdiff_t>(graph.outputs.size()), forward.end());
    feeds.insert(feeds.end(), adjoint.feeds.begin() + static_cast<std::ptrdiff_t>(graph.inputs.size()),
                 adjoint.feeds.end());
    for (TensorId input : float_inputs(graph)) {
        const TensorType& type = graph.tensor(input).type;
        feeds.emplace_back(type.dtype, type.extents());
    }
    return feeds;
}

}  // namespace

Diagnostics check_tape(const Instance& instance, uint64_t seed, inference::Engine& engine) {
    auto first = job_program(Derivation::Mode::augmented, instance.graph, engine);
    if (!first) return first.error();
    auto second = job_program(Derivation::Mode::reverse, instance.graph, engine);
    if (!second) return second.error();
    const auto adjoint = gradient_of(instance, seed);
    if (!adjoint) return adjoint.error();
    const Instance forward{std::move(first->derived.graph), instance.feeds};
    const auto made = run_as(first->job, forward, engine);
    if (!made) return made.error();
    const Instance reverse{std::move(second->derived.graph), reverse_feeds(instance, *made, *adjoint)};
    if (const auto ran = run_as(second->job, reverse, engine); !ran) return ran.error();
    Diagnostics problems = check_instance(forward, engine);
    return problems.empty() ? check_instance(reverse, engine) : problems;
}

}  // namespace heddle::conformance
