// Kernels as C, compiled by the C compiler of this machine and loaded into this process.
#pragma once

#include <map>
#include <string>

#include "backends/cc/compiler.h"
#include "codegen/backend.h"

namespace heddle::backends {

class CcBackend : public codegen::Backend {
public:
    // `optimise`: 0 to 3, as of -O.
    CcBackend(CCompiler compiler, int optimise) : compiler_(std::move(compiler)), optimise_(optimise) {}

    std::string name() const override { return "c"; }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override;
    // The C of each tree: what a cache keeps. It is compiled when it is linked.
    Result<std::vector<std::string>> objects(const std::vector<const codegen::Tree*>& trees, const Target& target,
                                             int threads, Progress* progress,
                                             std::shared_ptr<const void> owner) override;
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override;
    Result<std::string> source(const codegen::Tree& tree, const Target& target) override;

private:
    std::vector<std::string> flags() const;

    const CCompiler compiler_;
    const int optimise_;
};

}  // namespace heddle::backends
