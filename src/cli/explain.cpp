// heddle explain
#include <fmt/format.h>

#include "cli/support.h"
#include "explain/explanation.h"
#include "flavours/kernel_matrix.h"
#include "support/file.h"

namespace heddle::cli {
namespace {

Result<explain::Explanation> explained(const ExplainOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    const auto target = [&] { return open_scheduled_target(options.target); };
    std::shared_ptr<const Target> system;
    if (!options.system.empty()) {
        auto opened = open_system(options.system);
        if (!opened) return fail(std::move(opened.error()));
        system = std::make_shared<const Target>(std::move(*opened));
    }
    auto choices = storing_choices(options.choices);
    if (!choices) return fail(std::move(choices.error()));
    auto explanation = explain::explain(*library, options.operator_name, options.arguments, target,
                                        {.notations = options.notations,
                                         .gradient = options.gradient,
                                         .equations = !options.equations.empty(),
                                         .pass = options.equations == "true" ? "" : options.equations,
                                         .storing = std::move(*choices),
                                         .schedule = options.schedule,
                                         .source = options.source,
                                         .shards = options.shards,
                                         .one_round = options.one_round,
                                         .picture = !options.svg.empty(),
                                         .system = std::move(system),
                                         .place = options.place});
    if (!explanation) return explanation;
    warn(explanation->notes);
    if (!explanation->svg.empty()) {
        if (auto written = write_file(options.svg, explanation->svg); !written) return fail(std::move(written.error()));
    }
    return explanation;
}

Result<std::string> kernel_document(const ExplainOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    flavours::Registry registry;
    flavours::KernelMatrix matrix(*library, registry);
    std::vector<std::string> operators = {options.operator_name};
    if (options.operator_name.empty()) {
        operators = library->names();
        std::erase_if(operators, [&](const std::string& name) { return !library->find(name); });  // ambiguous ones
    }
    Diagnostics problems = matrix.check(operators);
    if (!problems.empty()) return fail(std::move(problems));
    return options.common.json ? matrix.json(operators) : matrix.markdown(operators);
}

}  // namespace

int explain_operator(const ExplainOptions& options) {
    if (options.kernels) {
        auto text = kernel_document(options);
        if (!text) return report(text.error(), options.common);
        fmt::print("{}", *text);
        return 0;
    }
    auto explanation = explained(options);
    if (!explanation) return report(explanation.error(), options.common);
    fmt::print("{}", options.common.json ? explanation->json() + "\n" : explanation->text());
    return 0;
}

}  // namespace heddle::cli
