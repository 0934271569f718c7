// Machine code for CPUs through LLVM: IR from scheduled trees, a short pipeline, code generation, and loading into this
// process. Compiling is thread-safe; each worker has a context and a target machine of its own.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "codegen/backend.h"
#include "schedules/tree.h"

namespace heddle::backends {

// Diagnostics: "backends.unknown_cpu" (Target::cpu is none of LLVM's), "backends.unknown_feature", "backends.internal"
// (LLVM refused the code: our fault, with LLVM's words), "backends.link" (object code that does not link).
class LlvmBackend : public codegen::Backend {
public:
    std::string name() const override { return "llvm"; }
    // The CPU, features and vectors of the target; LLVM's options that we set; our build, and LLVM's.
    Result<CompileConfig> compile_config(const CompileRequest& request) const override;
    // Images (image.h): position-independent code that refers to nothing but itself. If it is cancelled, LLVM stops
    // between two of its passes, which may be long ones: with an `owner` nobody waits for it.
    Result<std::vector<std::string>> objects(const std::vector<const schedules::Tree*>& trees, const Target& target,
                                             int threads, Progress* progress = nullptr,
                                             std::shared_ptr<const void> owner = nullptr) override;
    std::unique_ptr<codegen::KernelWork> begin(const Target& target, int threads) override;
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override;
    // The assembly text.
    Result<std::string> source(const schedules::Tree& tree, const Target& target) override;
    void settle() override;
    // LLVM's own code, tens of megabytes, leaves memory; it comes back from its file when it is called.
    void rest() override;
    ~LlvmBackend() override { settle(); }

private:
    class ComingWork;
    void leave(std::vector<std::thread>& workers);

    std::mutex mutex_;
    std::vector<std::thread> leaving_;  // at work on what was cancelled
};

// Object files for a linker, by tree: each has one function that others see, of the tree's name, and calls nothing.
// Codes of the backend, support.cancelled.
Result<std::vector<std::string>> object_files(const std::vector<const schedules::Tree*>& trees,
                                              const std::vector<std::string>& names, const Target& target, int threads,
                                              Progress* progress = nullptr);

}  // namespace heddle::backends
