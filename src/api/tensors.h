// DLPack's tensors as ours, in the same memory, and back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/heddle/c_api.h"
#include "runtime/growing_memory.h"
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

// The result that grows which it is, or a begin of it, as it was handed out; nothing: it is none.
std::optional<runtime::Growing> growing_of(const heddle_tensor& tensor);

// A tensor with its elements, for whoever calls its deleter. std::bad_alloc.
heddle_managed_tensor* lend(TensorData data);
// With strides that leave room behind.
heddle_managed_tensor* lend(runtime::Growing growing);

// No output lies in the memory of an input or of another output. Code api.overlap.
struct NamedTensor {
    const std::string& name;
    const TensorData& data;
};
Result<void> check_apart(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs);

}  // namespace heddle::api
