// A kernel's code as bytes that run wherever they lie: an object file's sections, laid out once. What a cache keeps of
// a kernel, and all that another process needs of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/backend.h"

namespace heddle::backends {

// Of an ELF object file for x86-64 in which `function` stands. The object may refer to itself alone, by relative
// addresses (as position-independent code that calls nothing does). Code backends.link.
Result<std::string> image_of(std::string_view object, const std::string& function);

// Copies images into executable memory. Code backends.link: not an image, or the system gives no such memory.
Result<std::shared_ptr<codegen::CompiledKernels>> load_images(const std::vector<std::string_view>& images);

}  // namespace heddle::backends
