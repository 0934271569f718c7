// Files: whole, mapped, and written so that no partial output is ever left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace heddle {

// Codes: support.file_open (or it cannot be read), support.file_too_large, support.file_write; each names the path.
Result<std::string> read_file(const std::string& path, int64_t maximum_bytes);

// A file mapped read-only. Whoever keeps `owner` keeps the bytes; TensorData borrows with it. The file must not be cut
// short while it is mapped. A file that is mapped already, and has not changed since, has the same owner and addresses.
struct MappedFile {
    std::shared_ptr<const void> owner;
    std::span<const std::byte> bytes;
};
Result<MappedFile> map_file(const std::string& path);

// Writes a temporary file beside `path`, then renames it over `path`: either all of `bytes` is there, or what was there
// before. What is no file (a device, a pipe) is written to.
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace heddle
