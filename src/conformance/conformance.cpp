#include "conformance/conformance.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "conformance/cases.h"
#include "conformance/rules.h"
#include "evaluate/compare.h"
#include "inference/compare_tensors.h"
#include "support/guarded.h"

namespace heddle::conformance {
namespace {

using Clock = std::chrono::steady_clock;

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

Diagnostics check_instance(const Result<Instance>& instance, inference::Engine& engine) {
    if (!instance) return instance.error();
    Diagnostics problems;
    compare_kernels(*instance, engine, problems);
    if (problems.empty()) compare_outputs(*instance, engine, problems);
    return problems;
}

class Checks {
public:
    explicit Checks(const Options& options) : options_(options) {}

    template <typename Work>
    void run(std::string name, Work work) {
        const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
        if (!options_.only.empty() && std::ranges::none_of(options_.only, begins)) return;
        const auto begin = Clock::now();
        // What a backend throws is its mistake, and the checks behind go on.
        auto problems = guarded("conformance.broken", [&]() -> Result<Diagnostics> { return work(); });
        Check check{std::move(name), problems ? std::move(*problems) : std::move(problems.error())};
        check.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
        if (options_.told) options_.told(check);
        list.push_back(std::move(check));
    }

    std::vector<Check> list;

private:
    const Options& options_;
};

}  // namespace

std::vector<Check> check_backend(std::shared_ptr<codegen::Backend> backend, const Library& library,
                                 const Options& options) {
    const auto engine = inference::make_engine(options.threads, inference::make_kernel_cache(nullptr, backend));
    // Scans run in rounds wherever they may: their order is a promise, too.
    engine->target.cores = std::max(engine->target.cores, 3);
    engine->target.launch_seconds = 1e-12;
    Checks checks(options);
    checks.run("config", [&] { return check_config(*backend, library, *engine); });
    checks.run("code", [&] { return check_code(*backend, library, engine->target); });
    checks.run("memory", [&] { return check_memory(*backend); });
    checks.run("index", [&] { return check_index(library, *engine); });
    uint64_t seed = options.seed * 1000;
    for (const Case& made : cases()) {
        seed++;
        checks.run(fmt::format("operator {}", made.name),
                   [&] { return check_instance(instance_of(made, library, seed), *engine); });
        if (!made.gradient) continue;
        checks.run(fmt::format("gradient {}", made.name), [&]() -> Diagnostics {
            const auto instance = instance_of(made, library, seed);
            if (!instance) return instance.error();
            return check_instance(gradient_of(*instance, seed), *engine);
        });
    }
    return std::move(checks.list);
}

bool all_passed(const std::vector<Check>& checks) { return std::ranges::all_of(checks, &Check::passed); }

std::string text_of(const Check& check) {
    std::string text =
        fmt::format("{:6} {} ({:.2f} s)\n", check.passed() ? "passed" : "FAILED", check.name, check.seconds);
    return text + (check.passed() ? "" : render(check.problems));
}

std::string summary_of(const std::vector<Check>& checks) {
    const auto passed = std::ranges::count_if(checks, &Check::passed);
    return fmt::format("{} of {} checks passed\n", passed, checks.size());
}

}  // namespace heddle::conformance
