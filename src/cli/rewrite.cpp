// heddle rewrite
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/support.h"
#include "explain/rewriting.h"

namespace heddle::cli {
namespace {

Result<explain::Rewritten> rewritten(const RewriteOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    const auto limit = options.steps < 0 ? std::nullopt : std::optional<int64_t>(options.steps);
    return explain::rewrite_program(std::make_shared<SourceText>("--call", options.call), *library, options.arguments,
                                    options.rules, limit);
}

void print_program(const std::string& text) {
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        fmt::print("  {}\n", text.substr(at, end - at));
        at = end + 1;
    }
}

}  // namespace

int rewrite_program(const RewriteOptions& options) {
    auto result = rewritten(options);
    if (!result) return report(result.error(), options.common);
    if (options.common.json) {
        nlohmann::ordered_json json = {{"before", result->before}, {"after", result->after}, {"steps", result->steps}};
        fmt::print("{}\n", json.dump(2));
        return 0;
    }
    fmt::print("before\n");
    print_program(result->before);
    fmt::print("after {} step{}{}{}\n", result->steps.size(), result->steps.size() == 1 ? "" : "s",
               result->steps.empty() ? "" : ": ", fmt::join(result->steps, ", "));
    print_program(result->after);
    return 0;
}

}  // namespace heddle::cli
