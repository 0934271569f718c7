#include "artefact/c_compiler.h"

#include <fmt/format.h>

#include "support/child_process.h"

namespace heddle::artefact {

Result<void> run_c_compiler(const std::vector<std::string>& command, const std::string& made) {
    const FinishedProcess finished = run_to_end(command);
    if (finished.status == 0) return {};
    return fail({.code = "artefact.compiler",
                 .summary = fmt::format("'{}' did not make {}", command.front(), made),
                 .reason = finished.words,
                 .remedy = "install a C compiler, or name one: --cc PROGRAM; or write C: --emit c",
                 .params = {{"tool", command.front()}}});
}

}  // namespace heddle::artefact
