// Weights in files beside the model: which files may be opened, and where in them a tensor lies. All is untrusted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/file.h"

namespace heddle::onnx {

struct DataFile {
    MappedFile mapped;
    std::string path;  // without links
};
// Maps a file by the path that a tensor names. Codes: onnx.external_path, onnx.external_file.
using OpenDataFile = std::function<Result<DataFile>(const std::string& location)>;

// Files in the folder of a model, and below it. Links are followed as long as they end there, or in the folder where
// the model itself lies if its path is a link: caches of downloaded models are full of them. Refused are absolute
// paths, `..` and links that lead elsewhere.
OpenDataFile data_files_beside(const std::string& model);

// What a tensor says of its place, as it is written.
struct DataPlace {
    std::string location, offset, length;
};

// The files of one model.
class ExternalData {
public:
    explicit ExternalData(OpenDataFile open) : open_(std::move(open)) {}  // null: nobody knows the model's folder

    // The bytes of a tensor that needs so many; nothing if something is wrong, which `problems` tells.
    std::optional<MappedFile> find(const std::string& tensor, const DataPlace& place, int64_t needed);

    // All that is wrong, one for each kind of mistake. Tensors may have the same bytes, but not some of each other's.
    // Codes: onnx.external_data (no folder), onnx.external_path, onnx.external_file, onnx.external_range, onnx.tensor
    // (a length that does not fit the shape), onnx.external_overlap.
    Diagnostics problems() const;

    // Of the files that were opened.
    std::vector<std::string> paths() const;

private:
    struct Region {
        int64_t begin = 0, end = 0;
        std::string tensor;
    };
    struct UsedFile {
        Result<DataFile> opened;
        std::vector<Region> regions;
    };
    // The first tensor that has it, how many more do, and in which files.
    struct Fault {
        Diagnostic first;
        int64_t others = 0;
        std::set<std::string> files;
    };
    using Faults = std::map<std::string, Fault>;  // by code

    static void note(Faults& faults, const std::string& location, Diagnostic problem);
    static void note_overlaps(Faults& faults, const std::string& location, std::vector<Region> regions);
    UsedFile& file(const std::string& location);

    OpenDataFile open_;
    std::map<std::string, UsedFile> files_;  // by location
    Faults faults_;
};

}  // namespace heddle::onnx
