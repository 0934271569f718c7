#include "artefact/workshop.h"

#include <cstdlib>

#include <fmt/format.h>

#include "cache/hash.h"
#include "support/file.h"

namespace heddle::artefact {
namespace {

namespace fs = std::filesystem;

std::unexpected<Diagnostics> bad_folder(const std::string& folder, std::string reason) {
    return fail({.code = "artefact.folder",
                 .summary = fmt::format("cannot write to the folder '{}'", folder),
                 .reason = std::move(reason)});
}

}  // namespace

Workshop::~Workshop() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
    if (!made_.empty() && fs::is_empty(made_, ignored)) fs::remove(made_, ignored);
}

Result<void> Workshop::open(const fs::path& folder) {
    std::error_code problem;
    folder_ = folder;
    if (fs::create_directories(folder, problem)) made_ = folder;
    if (problem) return bad_folder(folder.string(), problem.message());
    std::string name = (folder / ".compile-XXXXXX").string();
    if (!mkdtemp(name.data())) return bad_folder(folder.string(), "no folder can be made in it");
    path_ = name;
    return {};
}

Result<std::string> Workshop::digest_of(const std::vector<std::string>& names) const {
    std::string all;
    for (const std::string& name : names) {
        auto mapped = map_file(file(name));
        if (!mapped) return fail(std::move(mapped.error()));
        all += fmt::format("{} {}\n", name, cache::digest(mapped->bytes, mapped->owner));
    }
    return cache::digest(all);
}

WrittenFile Workshop::written(const std::string& name) const {
    std::error_code problem;
    return {(folder_ / name).string(), static_cast<int64_t>(fs::file_size(file(name), problem))};
}

Result<void> Workshop::move_all(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
        std::error_code problem;
        fs::rename(file(name), folder_ / name, problem);
        if (!problem) continue;
        for (const std::string& other : names) {
            std::error_code ignored;
            fs::remove(folder_ / other, ignored);
        }
        return bad_folder(folder_.string(), problem.message());
    }
    return {};
}

}  // namespace heddle::artefact
