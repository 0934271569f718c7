// Runs a program of calls on the toy machine; with arguments, the checks of the conformance kit whose names begin so.
#include <heddle/conformance/conformance.h>
#include <heddle/inference/engine.h>
#include <heddle/symbolic/program.h>

#include <cstdio>

#include "toy_backend.h"

namespace {

using namespace heddle;

int report(const Diagnostics& problems) {
    std::fputs(render(problems).c_str(), stderr);
    return 1;
}

int check(const Library& library, const std::vector<std::string>& names) {
    conformance::Options options;
    options.only = names;
    options.told = [](const conformance::Check& check) { std::fputs(conformance::text_of(check).c_str(), stdout); };
    const auto checks = conformance::check_backend(std::make_shared<toy::Backend>(), library, options);
    std::fputs(conformance::summary_of(checks).c_str(), stdout);
    return conformance::all_passed(checks) ? 0 : 1;
}

int run(const Library& library) {
    const auto program = std::make_shared<SourceText>("program", "y = softmax(relu(x), axis: 1)");
    const std::vector<ProgramInput> inputs = {{"x", {DType::float32, {Size(2), Size(3)}}}};
    const auto graph = build_program(program, library, inputs);
    if (!graph) return report(graph.error());

    const auto backend = std::make_shared<toy::Backend>();
    const auto engine = inference::make_engine(1, inference::make_kernel_cache(nullptr, backend));
    const auto job = compile_job_for(
        *backend, {.target = engine->target, .program = std::string(program->text()), .derivation = {}});
    if (!job) return report(job.error());
    const auto executable = inference::compile(*graph, *engine);
    if (!executable) return report(executable.error());
    runtime::Session session(*executable, engine->pool);
    session.expect(job->config);  // what was asked for is what was compiled

    TensorData x(DType::float32, {2, 3});
    for (int64_t i = 0; i < x.size(); i++) x.set_real(i, static_cast<double>(i) - 2);
    const auto y = session.run({x});
    if (!y) return report(y.error());
    std::printf("%s:", job->config.backend.c_str());
    for (int64_t i = 0; i < y->front().size(); i++) std::printf(" %.4f", y->front().real_at(i));
    std::printf("\n");
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const auto library = open_library(OPERATORS);
    if (!library) return report(library.error());
    return count > 1 ? check(*library, {arguments + 1, arguments + count}) : run(*library);
}
