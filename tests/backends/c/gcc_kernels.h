// The C sources of trees, compiled by gcc. Tests only.
#pragma once

#include "../kernel_harness.h"
#include "backends/c/c_source.h"
#include "gcc_runner.h"

namespace heddle::backends {

class GccKernels {
public:
    explicit GccKernels(const TreeSet& set) : set_(set), library_(sources(set.trees()), "-O0") {
        EXPECT_TRUE(library_.function<KernelFunction>("kernel0")) << library_.error;
    }
    KernelFunction operator()(const Tree& tree) const {
        return library_.function<KernelFunction>("kernel" + std::to_string(set_.index(tree)));
    }

private:
    static std::string sources(const std::vector<const Tree*>& trees) {
        std::string text;
        for (size_t i = 0; i < trees.size(); i++) text += c_source(*trees[i], "kernel" + std::to_string(i));
        return text;
    }

    const TreeSet& set_;
    GccLibrary library_;
};

// The largest difference of the tensors that the kernel writes; types that are only stored may differ a hundred times
// as much.
inline void expect_near(const LoadedKernel& loaded, std::vector<Buffer>& got, std::vector<Buffer>& wanted,
                        double tolerance, const char* what) {
    const Kernel& kernel = loaded.prepared.kernel;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::input || tensor.role == KernelTensor::Role::local) continue;
        const double allowed = is_narrow(tensor.dtype) ? tolerance * 100 : tolerance;
        EXPECT_LE(difference(tensor, got[t], wanted[t]), allowed) << loaded.name << " " << tensor.name << ": " << what;
    }
}

}  // namespace heddle::backends
