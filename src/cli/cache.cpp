// heddle cache
#include <ctime>
#include <nlohmann/json.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cache/folder.h"
#include "cli/support.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

struct Sum {
    int64_t files = 0, bytes = 0;
};

std::map<cache::Kind, Sum> sums_of(const std::vector<cache::Kept>& kept) {
    std::map<cache::Kind, Sum> sums;
    for (const cache::Kept& file : kept) {
        sums[file.kind].files++;
        sums[file.kind].bytes += file.bytes;
    }
    return sums;
}

void print_folder_text(const cache::Folder& folder, const std::vector<cache::Kept>& kept,
                       const CacheCommandOptions& options, int64_t freed) {
    if (options.clear) fmt::print("removed {:.1f} MB\n", megabytes(freed));
    int64_t bytes = 0;
    for (const cache::Kept& file : kept) bytes += file.bytes;
    fmt::print("{}: {:.1f} MB of at most {:.1f} MB\n", folder.path(), megabytes(bytes), megabytes(folder.limit()));
    for (const auto& [kind, sum] : sums_of(kept))
        fmt::print("  {:8} {:6} files {:10.3f} MB\n", cache::name(kind), sum.files, megabytes(sum.bytes));
    if (!options.list) return;
    for (const cache::Kept& file : kept)
        fmt::print("{:%Y-%m-%d %H:%M:%S}  {:8} {:10.3f} MB  {}\n", fmt::localtime(static_cast<time_t>(file.last_used)),
                   cache::name(file.kind), megabytes(file.bytes), file.label);
}

void print_folder_json(const cache::Folder& folder, const std::vector<cache::Kept>& kept,
                       const CacheCommandOptions& options, int64_t freed) {
    Json json = {{"folder", folder.path()}, {"bytes", 0}, {"limit", folder.limit()}};
    int64_t bytes = 0;
    for (const auto& [kind, sum] : sums_of(kept)) {
        json[std::string(cache::name(kind))] = {{"files", sum.files}, {"bytes", sum.bytes}};
        bytes += sum.bytes;
    }
    json["bytes"] = bytes;
    if (options.clear) json["removed"] = freed;
    if (options.list) {
        json["files"] = Json::array();
        for (const cache::Kept& file : kept)
            json["files"].push_back({{"kind", cache::name(file.kind)},
                                     {"label", file.label},
                                     {"bytes", file.bytes},
                                     {"last_used", file.last_used}});
    }
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

Result<void> show_folder(const CacheCommandOptions& options) {
    auto folder = cache::Folder::open(options.cache.folder.empty() ? cache::default_path() : options.cache.folder);
    if (!folder) return fail(std::move(folder.error()));
    if (options.limit >= 0) {
        if (auto set = (*folder)->set_limit(options.limit); !set) return set;
    }
    const int64_t freed = options.clear ? (*folder)->clear() : 0;
    const auto print = options.common.json ? print_folder_json : print_folder_text;
    print(**folder, (*folder)->list(), options, freed);
    return {};
}

}  // namespace

int show_cache(const CacheCommandOptions& options) {
    auto done = show_folder(options);
    return done ? 0 : report(done.error(), options.common);
}

}  // namespace heddle::cli
