// A package as files: WGSL, one JSON, weights, a page with its loader (docs/webgpu.md).
#pragma once

#include <string>
#include <vector>

#include "evaluate/evaluate.h"
#include "webgpu/package.h"

namespace heddle::webgpu {

// A run to compare with: what the page feeds, and what the interpreter makes of it, with its bounds.
struct Check {
    std::vector<TensorData> inputs;
    std::vector<BoundedTensor> outputs;
};

struct WrittenFile {
    std::string path;
    int64_t bytes = 0;
};

// model.json, kernel_0.wgsl ..., weights.bin, check.bin (if there are checks), index.html, check.js, heddle.js. The
// folder is made if it is not there. All files or none of those that are new: codes of write_file, webgpu.folder.
Result<std::vector<WrittenFile>> write_package(const Package& package, const std::vector<Check>& checks,
                                               const std::string& name, const std::string& folder);

}  // namespace heddle::webgpu
