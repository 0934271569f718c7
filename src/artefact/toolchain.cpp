#include "artefact/toolchain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/run_program.h"

namespace heddle::artefact {

Result<void> run_tool(const std::vector<std::string>& command) {
    const ProgramEnd end = run_program(command);
    if (end.succeeded()) return {};
    return fail(
        {.code = "artefact.compiler",
         .summary = fmt::format("'{}' did not do its work", command[0]),
         .reason = !end.problem.empty() ? end.problem : fmt::format("{}\nof: {}", end.said, fmt::join(command, " ")),
         .remedy = "install a C compiler, or name one: --cc PROGRAM; or write C: --emit c",
         .params = {{"tool", command[0]}}});
}

}  // namespace heddle::artefact
