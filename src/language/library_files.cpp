#include "language/library_files.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "language/yaml_document.h"

namespace heddle {

namespace fs = std::filesystem;

Diagnostic complaint(std::string code, std::string summary, Place place, std::string remedy) {
    return {
        .code = std::move(code), .summary = std::move(summary), .place = std::move(place), .remedy = std::move(remedy)};
}

Result<std::shared_ptr<const SourceText>> read_text(const fs::path& path, const Place& place) {
    std::error_code status;
    const bool regular = fs::is_regular_file(path, status);  // to open a pipe waits for who writes
    auto size = regular ? fs::file_size(path, status) : 0;
    std::ifstream stream;
    if (regular) stream.open(path, std::ios::binary);
    if (status || !regular || !stream) {
        return fail(complaint("language.file", fmt::format("`{}` cannot be read", path.string()), place,
                              "check the path and the permissions"));
    }
    if (size > yaml_text_limit) {
        return fail(complaint("language.too_large",
                              fmt::format("`{}` has more than {} bytes", path.string(), yaml_text_limit), place,
                              "split the file"));
    }
    std::ostringstream text;
    text << stream.rdbuf();
    return std::make_shared<const SourceText>(path.string(), text.str());
}

Result<std::vector<fs::path>> template_files(const fs::path& folder) {
    std::error_code status;
    std::vector<fs::path> paths;
    for (fs::directory_iterator entry(folder, status), end; !status && entry != end; entry.increment(status)) {
        if (entry->path().extension() == ".yaml" && entry->is_regular_file()) paths.push_back(entry->path());
    }
    if (status) {
        return fail(complaint("language.file", fmt::format("the folder `{}` cannot be read", folder.string()), {},
                              "check the path and the permissions"));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

Result<std::shared_ptr<const SourceText>> read_beside(const std::string& name, const Place& place) {
    fs::path path(name);
    bool inside =
        path.is_relative() && std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
    if (!inside) {
        return fail(complaint("language.import", fmt::format("`{}` lies outside the folder of the file", name), place,
                              "import files beside this one, or below it"));
    }
    return read_text(fs::path(place.source->name()).parent_path() / path, place);
}

}  // namespace heddle
