#include "conformance/conformance.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "conformance/cases.h"
#include "conformance/check_instance.h"
#include "conformance/rules.h"
#include "support/guarded.h"

namespace heddle::conformance {
namespace {

using Clock = std::chrono::steady_clock;

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
        if (!made.tape) continue;
        checks.run(fmt::format("tape {}", made.name), [&]() -> Diagnostics {
            const auto instance = instance_of(made, library, seed);
            if (!instance) return instance.error();
            return check_tape(*instance, seed, *engine);
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
