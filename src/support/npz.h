// NumPy's .npz files: a zip of .npy files, not compressed, by which numpy.load gives arrays by name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/diagnostic.h"
#include "support/tensor_data.h"

namespace heddle {

// Names may be any; one that would lead out of a folder ("../x", "/x"), or stands twice, is changed, so that nobody who
// unpacks the file writes elsewhere. Format: PKWARE's APPNOTE 6.3, with the records of zip64, so that sizes have no
// limit. Times are the oldest there are: the same tensors give the same bytes.
std::string npz_bytes(const std::vector<std::pair<std::string, const TensorData*>>& tensors);
// All arrays by their names. Codes support.npz_format (not such a file, broken, or compressed), those of parse_npy and files.
Result<std::map<std::string, TensorData>> parse_npz(std::span<const std::byte> bytes, const std::string& path);
Result<std::map<std::string, TensorData>> read_npz(const std::string& path);

// Code support.file_write.
Result<void> write_npz(const std::string& path, const std::vector<std::pair<std::string, const TensorData*>>& tensors);

}  // namespace heddle
