// DLPack's tensors as ours, in the same memory, and back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/heddle/c_api.h"
#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle::api {

// int4 and uint4 are packed there and a byte each here: they have a type, but no tensor is taken of it.
heddle_dtype dlpack_type(DType dtype);
std::optional<DType> dtype_of(heddle_dtype dtype);

// Whose tensor, for messages.
enum class Role : uint8_t { input, output };

// The same memory, borrowed without an owner. Where `needs_data` is false, one without memory may be given: then what
// is answered has none, either. Codes: api.device, api.dtype, api.shape (a negative rank or dimension, or too many
// elements), api.no_data, api.strides, api.alignment; each names the tensor.
Result<TensorData> borrow(const heddle_tensor& tensor, Role role, const std::string& name, bool needs_data);

// A tensor with its elements, for whoever calls its deleter. std::bad_alloc.
heddle_managed_tensor* lend(TensorData data);

// No output lies in the memory of an input or of another output. Code api.overlap.
struct NamedTensor {
    const std::string& name;
    const TensorData& data;
};
Result<void> check_apart(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs);

}  // namespace heddle::api
