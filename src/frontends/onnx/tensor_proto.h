// TensorProto: the one message with many ways to say the same.
#pragma once

#include <memory>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/model.h"

namespace heddle::onnx {

struct FileContext {
    std::string path;
    std::shared_ptr<const void> owner;
};

// Views of the file, or of files beside it, wherever elements lie there as they do in memory. What is wrong with
// another file, `external` tells.
Result<OnnxTensor> read_tensor(const FileContext& file, ExternalData& external, Bytes message);

std::unexpected<Diagnostics> truncated(const FileContext& file, const std::string& where);

}  // namespace heddle::onnx
