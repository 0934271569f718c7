// NumPy's .npy files, versions 1 and 2: little-endian elements in C order. Format: numpy.lib.format.
#pragma once

#include <span>
#include <string>

#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle {

// Codes: support.npy_format (not such a file, or a broken header), support.npy_dtype (elements that we have not),
// support.npy_order (Fortran order), support.npy_size (more elements than bytes). `name` is for messages.
// The bytes are copied.
Result<TensorData> parse_npy(std::span<const std::byte> bytes, const std::string& name);
Result<TensorData> read_npy(const std::string& path);

// Of a type that NumPy has not (bfloat16, 8-bit floats, 4-bit integers) its bytes, `<V1` or `<V2`, as NumPy writes
// arrays of ml_dtypes; such a file does not say which type, and is not read.
std::string npy_bytes(const TensorData& data);
Result<void> write_npy(const std::string& path, const TensorData& data);

}  // namespace heddle
