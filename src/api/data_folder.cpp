#include "api/data_folder.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace heddle::api {
namespace {

std::filesystem::path own_file() {
    Dl_info found = {};
    std::error_code problem;
    if (::dladdr(reinterpret_cast<const void*>(&own_file), &found) == 0 || !found.dli_fname) return {};
    auto file = std::filesystem::canonical(found.dli_fname, problem);  // links to a library lead to it
    return problem ? std::filesystem::path(found.dli_fname) : file;
}

}  // namespace

Result<std::filesystem::path> data_folder(const std::string& name) {
    const auto file = own_file();
    const auto folder = file.parent_path();
    std::error_code ignored;
    for (const auto& candidate : {folder.parent_path() / "share/heddle" / name,                // lib
                                  folder.parent_path().parent_path() / "share/heddle" / name,  // lib/x86_64-linux-gnu
                                  folder / name}) {
        if (std::filesystem::is_directory(candidate, ignored)) return candidate;
    }
    return fail({.code = "api.operators",
                 .summary = "the operator library is not beside this library",
                 .expected = fmt::format("a folder share/heddle/{0} beside the one that holds '{1}', or {0} beside it",
                                         name, file.string()),
                 .remedy = "give its place in the options of the runtime (`operators`)"});
}

}  // namespace heddle::api
