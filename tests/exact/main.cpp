// Random bodies without reductions and mathematical functions: compiled, fused and not, by LLVM and by the C compiler, they give
// the interpreter's bits. So do all triples of functions whose roundings are stated, and casts at ties; mathematical functions
// of functions are within their bounds. Exit status 1 where one is not, or is refused.
#include <algorithm>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "exact/chains.h"
#include "exact/exact_bodies.h"

namespace heddle::exact {
namespace {

struct Options {
    uint64_t seed = 1;
    int count = 1000, together = 50, every = 20, share = 1;
    bool print = false, chains = false;
};

void run_bodies(Runner& runner, const Options& options) {
    int bodies = 0;
    for (uint64_t seed = options.seed; bodies < options.count; seed++) {
        random::Choices choices(seed);
        Bodies made = random_bodies(choices, options.together);
        bodies += static_cast<int>(made.texts.size());
        if (options.print) fmt::print("{}", made.templates);
        Case one{.templates = std::move(made.templates),
                 .calls = std::move(made.calls),
                 .inputs = {},
                 .texts = std::move(made.texts),
                 .exact = true,
                 .name = fmt::format("seed {}, {}, {}", seed, name(made.real), name(made.integer))};
        const int64_t size = awkward_size(seed);
        const std::pair<const char*, DType> inputs[] = {
            {"a", made.real},    {"b", made.real},      {"c", made.real},     {"i", made.integer},
            {"j", made.integer}, {"p", DType::boolean}, {"q", DType::boolean}};
        for (const auto& [name, dtype] : inputs) {
            const uint64_t own = seed * 8 + one.inputs.size();
            one.inputs.emplace_back(name, is_float(dtype) ? reals(dtype, size, own) : integers(dtype, size, own));
        }
        runner.run(one);
    }
    fmt::print("{} random bodies\n", bodies);
}

void run_chains(Runner& runner, const Options& options) {
    std::vector<Case> all;
    for (const DType dtype : {DType::float32, DType::float64, DType::float16})
        std::ranges::move(exact_triples(dtype), std::back_inserter(all));
    for (const DType dtype : {DType::float32, DType::float64})
        std::ranges::move(pairs_of_functions(dtype), std::back_inserter(all));
    for (size_t i = 0; i < all.size(); i += static_cast<size_t>(options.share)) runner.run(all[i]);
    for (const Case& made : casts()) runner.run(made);
}

int run(const Options& options) {
    Runner runner(options.every);
    if (options.chains)
        run_chains(runner, options);
    else
        run_bodies(runner, options);
    fmt::print("{} results compared, {} findings\n", runner.compared(), runner.found());
    return runner.found() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heddle::exact

int main(int count, char** arguments) {
    heddle::exact::Options options;
    CLI::App app("Bodies whose results are exact, in every backend");
    app.add_option("--seed", options.seed);
    app.add_option("--count", options.count, "random bodies");
    app.add_option("--together", options.together, "bodies of one program");
    app.add_option("--c-every", options.every, "each so many programs goes through the C compiler, 0: none");
    app.add_flag("--chains", options.chains, "triples and pairs of functions, and casts, in place of random bodies");
    app.add_option("--share", options.share, "each so many of the triples and pairs");
    app.add_flag("--print", options.print);
    CLI11_PARSE(app, count, arguments);
    return heddle::exact::run(options);
}
