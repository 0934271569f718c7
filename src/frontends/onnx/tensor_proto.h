// TensorProto: the one message with many ways to say the same.
#pragma once

#include <memory>

#include "frontends/onnx/model.h"

namespace heddle::onnx {

struct FileContext {
    std::string path;
    std::shared_ptr<const void> owner;
};

Result<OnnxTensor> read_tensor(const FileContext& file, Bytes message);

std::unexpected<Diagnostics> truncated(const FileContext& file, const std::string& where);

}  // namespace heddle::onnx
