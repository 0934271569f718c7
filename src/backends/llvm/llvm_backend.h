// Machine code for CPUs through LLVM: IR from scheduled trees, a short pipeline, code generation, and loading into this
// process. Compiling is thread-safe; each worker has a context and a target machine of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "schedules/tree.h"

namespace heddle::backends {

// Diagnostics: "backends.unknown_cpu" (Target::cpu is none of LLVM's), "backends.unknown_feature", "backends.internal"
// (LLVM refused the code: our fault, with LLVM's words), "backends.link" (object code that does not link).
class LlvmBackend : public codegen::Backend {
public:
    std::string name() const override { return "llvm"; }
    // Images (image.h): position-independent code that refers to nothing but itself.
    Result<std::vector<std::string>> objects(const std::vector<const schedules::Tree*>& trees, const Target& target,
                                             int threads) override;
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override;
    // The assembly text.
    Result<std::string> source(const schedules::Tree& tree, const Target& target) override;
};

}  // namespace heddle::backends
