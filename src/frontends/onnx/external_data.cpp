#include "frontends/onnx/external_data.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::onnx {

namespace fs = std::filesystem;

namespace {

std::unexpected<Diagnostics> outside(const std::string& location, std::string reason) {
    return fail({.code = "onnx.external_path",
                 .summary = fmt::format("the path '{}' leads out of the model's folder", location),
                 .expected = "a path below the folder of the model",
                 .reason = std::move(reason),
                 .remedy = "save the model again, with its weights beside it",
                 .params = {{"location", location}}});
}

std::unexpected<Diagnostics> cannot_open(const std::string& location, const fs::path& path, std::string reason) {
    return fail({.code = "onnx.external_file",
                 .summary = fmt::format("the file '{}', which holds weights of the model, cannot be opened", location),
                 .reason = std::move(reason),
                 .remedy = fmt::format("fetch this file too, as '{}'", path.string()),
                 .params = {{"location", location}}});
}

bool is_below(const fs::path& path, const fs::path& folder) {
    return std::ranges::mismatch(folder, path).in1 == folder.end();
}

Result<DataFile> open_below(const fs::path& model, const std::string& location) {
    const fs::path path(location);
    if (location.empty()) return outside(location, "it is empty");
    if (location.find('\0') != std::string::npos) return outside(location, "it holds a character of code 0");
    if (path.is_absolute()) return outside(location, "it is absolute");
    if (std::ranges::find(path, "..") != path.end()) return outside(location, "it holds '..'");
    std::error_code problem;
    const fs::path folder = model.has_parent_path() ? model.parent_path() : ".";
    const fs::path real = fs::canonical(folder / path, problem);
    if (problem) return cannot_open(location, folder / path, problem.message());
    bool inside = false;
    for (const fs::path& home : {fs::canonical(folder, problem), fs::canonical(model, problem).parent_path()})
        inside = inside || (!home.empty() && is_below(real, home));
    if (!inside) return outside(location, fmt::format("a link leads to '{}'", real.string()));
    auto mapped = map_file(real);
    if (mapped) return DataFile{std::move(*mapped), real};
    const Diagnostic& why = mapped.error().front();
    return cannot_open(location, folder / path, why.reason.empty() ? why.summary : why.reason);
}

// Nothing if it is no such number; a text that is not there is `otherwise`.
std::optional<int64_t> number_of(const std::string& text, int64_t otherwise) {
    if (text.empty()) return otherwise;
    int64_t value = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fine = problem == std::errc() && stop == text.data() + text.size() && value >= 0;
    return fine ? std::optional(value) : std::nullopt;
}

}  // namespace

OpenDataFile data_files_beside(const std::string& model) {
    return [path = fs::path(model)](const std::string& location) { return open_below(path, location); };
}

ExternalData::UsedFile& ExternalData::file(const std::string& location) {
    auto found = files_.find(location);
    if (found != files_.end()) return found->second;
    return files_.emplace(location, UsedFile{open_(location), {}}).first->second;
}

std::optional<MappedFile> ExternalData::find(const std::string& tensor, const DataPlace& place, int64_t needed) {
    const std::string& location = place.location;
    auto wrong = [&](Diagnostic problem) {
        problem.params.insert(problem.params.end(), {{"tensor", tensor}, {"location", location}});
        note(faults_, location, std::move(problem));
        return std::nullopt;
    };
    if (!open_) {
        return wrong({.code = "onnx.external_data",
                      .summary = fmt::format("the data of tensor '{}' lie in another file, '{}'", tensor, location),
                      .reason = "the model is given as bytes, so its folder is not known",
                      .remedy = "give the path of the model, or save it with its weights inside"});
    }
    UsedFile& used = file(location);
    if (!used.opened) {
        Diagnostic problem = used.opened.error().front();
        std::erase_if(problem.params, [](const auto& param) { return param.first == "location"; });
        return wrong(std::move(problem));
    }
    const MappedFile& mapped = used.opened->mapped;
    const auto offset = number_of(place.offset, 0), length = number_of(place.length, needed);
    if (!offset || !length) {
        return wrong({.code = "onnx.external_range",
                      .summary = fmt::format("the data of tensor '{}' have no place in '{}'", tensor, location),
                      .expected = "an offset and a length in bytes",
                      .found = fmt::format("offset '{}', length '{}'", place.offset, place.length),
                      .remedy = "the model is damaged: fetch or export it again"});
    }
    if (*length != needed) {
        return wrong({.code = "onnx.tensor",
                      .summary = fmt::format("the data of tensor '{}' in '{}' do not fit its shape", tensor, location),
                      .expected = fmt::format("{} bytes", needed),
                      .found = fmt::format("{} bytes", *length)});
    }
    const auto size = static_cast<int64_t>(mapped.bytes.size());
    if (*offset > size || needed > size - *offset) {
        return wrong({.code = "onnx.external_range",
                      .summary = fmt::format("the data of tensor '{}' lie behind the end of '{}'", tensor, location),
                      .expected = fmt::format("{} bytes from byte {} on", needed, *offset),
                      .found = fmt::format("a file of {} bytes", size),
                      .remedy = "the file is cut short, or belongs to another model: fetch it again"});
    }
    if (needed > 0) used.regions.push_back({*offset, *offset + needed, tensor});
    return MappedFile{mapped.owner, mapped.bytes.subspan(static_cast<size_t>(*offset), static_cast<size_t>(needed))};
}

void ExternalData::note(Faults& faults, const std::string& location, Diagnostic problem) {
    const std::string code = problem.code;
    auto [fault, is_first] = faults.try_emplace(code, Fault{std::move(problem)});
    if (!is_first) fault->second.others++;
    fault->second.files.insert(location);
}

void ExternalData::note_overlaps(Faults& faults, const std::string& location, std::vector<Region> regions) {
    std::ranges::sort(regions, {}, [](const Region& region) { return std::pair(region.begin, region.end); });
    const Region* last = nullptr;  // of those so far, the one that ends last
    for (const Region& region : regions) {
        const bool same = last && region.begin == last->begin && region.end == last->end;
        if (last && !same && region.begin < last->end) {
            note(
                faults, location,
                {.code = "onnx.external_overlap",
                 .summary = fmt::format("the data of tensors '{}' and '{}' overlap in '{}'", last->tensor,
                                        region.tensor, location),
                 .found = fmt::format("bytes {} to {}, and {} to {}", last->begin, last->end, region.begin, region.end),
                 .remedy = "the model is damaged: fetch or export it again",
                 .params = {{"tensor", region.tensor}, {"location", location}}});
        }
        if (!last || region.end > last->end) last = &region;
    }
}

std::vector<std::string> ExternalData::paths() const {
    std::vector<std::string> paths;
    for (const auto& [location, used] : files_) {
        if (used.opened) paths.push_back(used.opened->path);
    }
    return paths;
}

Diagnostics ExternalData::problems() const {
    Faults faults = faults_;
    for (const auto& [location, used] : files_) note_overlaps(faults, location, used.regions);
    Diagnostics problems;
    for (auto& [code, fault] : faults) {
        constexpr size_t listed = 6;
        std::vector<std::string> files(fault.files.begin(), fault.files.end());
        const size_t count = files.size();
        files.resize(std::min(count, listed));
        if (fault.others > 0) {
            fault.first.reason += fmt::format(
                "{}so it is with {} more tensor{}{}", fault.first.reason.empty() ? "" : "; ", fault.others,
                fault.others == 1 ? "" : "s",
                count == 1 ? ""
                           : fmt::format(": '{}'{}", fmt::join(files, "', '"),
                                         count > listed ? fmt::format(" and {} more files", count - listed) : ""));
        }
        problems.push_back(std::move(fault.first));
    }
    return problems;
}

}  // namespace heddle::onnx
