// heddle --version
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cli/commands.h"
#include "inference/build_info.h"

namespace heddle::cli {

int print_version(const CommonOptions& options) {
    const inference::BuildInfo info = inference::build_info();
    if (options.json) {
        const nlohmann::ordered_json json = {
            {"version", info.version},
            {"commit", info.commit},
            {"llvm", info.llvm},
            {"target", {{"triple", info.triple}, {"cpu", info.cpu}, {"features", info.features}}}};
        fmt::print("{}\n", json.dump(2));
        return 0;
    }
    fmt::print("heddle {} (commit {})\nLLVM {}\ntarget {}, {}\nlicence Apache-2.0\n", info.version, info.commit,
               info.llvm, info.triple, info.cpu);
    return 0;
}

}  // namespace heddle::cli
