// The C sources of trees, compiled by gcc. Tests only.
#pragma once

#include "../kernel_harness.h"
#include "backends/c/c_source.h"
#include "gcc_runner.h"

namespace heddle::backends {

class GccKernels {
public:
    explicit GccKernels(const TreeSet& set) : set_(set), library_(sources(set), "-O0") {
        EXPECT_TRUE(library_.function<KernelFunction>("kernel0")) << library_.error;
    }
    KernelFunction operator()(const Tree& tree) const {
        return library_.function<KernelFunction>("kernel" + std::to_string(set_.index(tree)));
    }

private:
    static std::string sources(const TreeSet& set) {
        std::string text;
        for (size_t i = 0; i < set.trees().size(); i++)
            text += c_source(*set.trees()[i], "kernel" + std::to_string(i), set.units());
        return text;
    }

    const TreeSet& set_;
    GccLibrary library_;
};

// Each element of the tensors that the kernel writes, within its own bound.
inline void expect_within_bounds(const LoadedKernel& loaded, std::vector<Buffer>& got, std::vector<Buffer>& wanted,
                                 const schedules::reference::Interpreter& interpreter) {
    const Kernel& kernel = loaded.prepared.kernel;
    int64_t elements = 0, undecided = 0;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::input || tensor.role == KernelTensor::Role::local) continue;
        schedules::reference::for_each_element(tensor, [&](int64_t element) {
            const auto x = schedules::reference::load(got[t], tensor.dtype, element);
            const auto y = schedules::reference::load(wanted[t], tensor.dtype, element);
            const double bound = interpreter.bound(t, element);
            elements++;
            undecided += std::isinf(bound);
            const bool same =
                x.integer == y.integer && (x.real == y.real || (std::isnan(x.real) && std::isnan(y.real)));
            const double apart = is_float(tensor.dtype) ? std::fabs(x.real - y.real)
                                                        : std::fabs(static_cast<double>(x.integer - y.integer));
            EXPECT_TRUE(same || std::isinf(bound) || apart <= 4 * bound)
                << loaded.name << " " << tensor.name << " at " << element << ": " << x.real << " for " << y.real << ", "
                << x.integer << " for " << y.integer << ", within " << bound;
        });
    }
    EXPECT_LE(4 * undecided, elements) << loaded.name << ": not much is compared";
}

inline void expect_same(const LoadedKernel& loaded, std::vector<Buffer>& got, std::vector<Buffer>& wanted) {
    const Kernel& kernel = loaded.prepared.kernel;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::input || tensor.role == KernelTensor::Role::local) continue;
        EXPECT_TRUE(same(tensor, got[t], wanted[t])) << loaded.name << " " << tensor.name;
    }
}

}  // namespace heddle::backends
