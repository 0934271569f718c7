// Every kernel of the corpus, at every size: LLVM's code, gcc's of our C, and the naive interpreter agree.
#include <gtest/gtest.h>

#include "../c/gcc_kernels.h"
#include "backends/llvm/llvm_backend.h"
#include "helpers/narrow_host.h"
#include "target/target.h"

namespace heddle::backends {
namespace {

void expect_backends_agree(const Target& target) {
    const std::vector<LoadedKernel> all = load_kernels_and_rounds(target);
    ASSERT_FALSE(all.empty());
    TreeSet set(target);
    for (const LoadedKernel& l : all) set.add(l.prepared);
    LlvmBackend backend;
    auto compiled = backend.compile(set.trees(), target, 2);
    ASSERT_TRUE(compiled) << render(compiled.error());
    const GccKernels by_gcc(set);
    const Functions by_llvm = [&](const Tree& tree) { return (*compiled)->function(set.index(tree)); };
    for (const LoadedKernel& l : all) {
        auto a = random_buffers(l.prepared.kernel), b = random_buffers(l.prepared.kernel),
             c = random_buffers(l.prepared.kernel);
        schedules::reference::Interpreter interpreter(l.prepared.kernel, c);
        interpreter.run();
        const int32_t status = run(l.prepared, pointers_to(a), by_llvm);
        EXPECT_EQ(status, interpreter.failed() ? 1 : 0) << l.name;
        EXPECT_EQ(run(l.prepared, pointers_to(b), std::cref(by_gcc)), status) << l.name;
        if (interpreter.failed()) continue;
        expect_within_bounds(l, b, c, interpreter);
        expect_same(l, a, b);
    }
}

TEST(Kernels, BackendsAndInterpreterAgree) { expect_backends_agree(detect_host()); }

TEST(Kernels, BackendsAndInterpreterAgreeWithoutMaskRegisters) {
    if (!detect_host().has_mask_registers()) GTEST_SKIP() << "this machine has none: the test before is the same";
    expect_backends_agree(narrow_host());
}

// Of a CPU that no machine here may be. LLVM ends the process where it gets vectors of 64 bytes for one.
TEST(Kernels, AreCompiledForAvx10Of256Bits) {
    Target target;
    target.features = "+avx10.1-256";
    target.vector_bytes = 32;
    TreeSet set(target);
    const std::vector<LoadedKernel> all = load_kernels_and_rounds(target);
    for (const LoadedKernel& l : all) set.add(l.prepared);
    LlvmBackend backend;
    const auto objects = backend.objects(set.trees(), target, 2, nullptr, nullptr);
    EXPECT_TRUE(objects) << render(objects.error());
}

}  // namespace
}  // namespace heddle::backends
