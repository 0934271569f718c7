// The keys of template files: one table for what reads them and for their JSON Schema (`heddle schema`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct FileKey {
    std::string_view name;
    std::string_view form;  // the schema's definition that its value follows
    std::string_view says;
};

// What has keys. Other keys of a file are metakernels, other keys of constraints dtype variables.
enum class KeyOwner : uint8_t {
    file,
    metakernel,
    input,
    output,
    parameter,
    constraints,
    projection,
    affine_map,
    onnx,
    rule
};

std::span<const FileKey> keys_of(KeyOwner owner);
std::vector<std::string> key_names(KeyOwner owner);

}  // namespace heddle
