// heddle conformance
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/support.h"
#include "conformance/conformance.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const std::string& backend, const std::vector<conformance::Check>& checks) {
    Json json = {{"backend", backend}, {"passed", conformance::all_passed(checks)}, {"checks", Json::array()}};
    for (const conformance::Check& check : checks) {
        json["checks"].push_back({{"name", check.name},
                                  {"passed", check.passed()},
                                  {"seconds", check.seconds},
                                  {"errors", Json::parse(render_json(check.problems))}});
    }
    fmt::print("{}\n", json.dump(2));
}

Result<bool> check(const ConformanceOptions& options) {
    auto library = open_libraries(options.common);
    if (!library) return fail(std::move(library.error()));
    auto backend = open_backend({}, options.plugin);
    if (!backend) return fail(std::move(backend.error()));
    conformance::Options passed{
        .seed = static_cast<uint64_t>(options.seed), .threads = options.threads, .only = options.only, .told = {}};
    if (!options.common.json)
        passed.told = [](const conformance::Check& check) { fmt::print("{}", conformance::text_of(check)); };
    const auto checks = conformance::check_backend(*backend, *library, passed);
    if (options.common.json)
        print_json((*backend)->name(), checks);
    else
        fmt::print("{}: {}", (*backend)->name(), conformance::summary_of(checks));
    return conformance::all_passed(checks) && !checks.empty();
}

}  // namespace

int check_conformance(const ConformanceOptions& options) {
    const auto passed = check(options);
    if (!passed) return report(passed.error(), options.common);
    return *passed ? 0 : 1;
}

}  // namespace heddle::cli
