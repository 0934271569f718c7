// Every kernel of the corpus, at every size: LLVM's code, gcc's of our C, and the naive interpreter agree.
#include <gtest/gtest.h>

#include "../c/gcc_runner.h"
#include "backends/c/c_source.h"
#include "backends/llvm/llvm_backend.h"
#include "kernel_corpus.h"
#include "kernel_harness.h"
#include "target/target.h"

namespace heddle::backends {
namespace {

struct Loaded {
    std::string name, sizes;
    Prepared prepared;
};

std::vector<Loaded> load_corpus(const Target& target) {
    std::vector<Loaded> loaded;
    for (const corpus::Case& c : corpus::read_cases(HEDDLE_SOURCE_DIR "/tests/schedules/kernels")) {
        auto kernel = schedules::parse_kernel(std::make_shared<SourceText>(c.name, c.text));
        EXPECT_TRUE(kernel) << c.name << c.sizes << "\n" << (kernel ? "" : render(kernel.error()));
        if (!kernel) continue;
        auto prepared = prepare(*kernel, target);
        EXPECT_TRUE(prepared) << c.name << c.sizes << "\n" << (prepared ? "" : render(prepared.error()));
        if (prepared) loaded.push_back({c.name, c.sizes, std::move(*prepared)});
    }
    return loaded;
}

std::string all_sources(const std::vector<const Tree*>& trees) {
    std::string text;
    for (size_t i = 0; i < trees.size(); i++) text += c_source(*trees[i], "kernel" + std::to_string(i));
    return text;
}

// Differences of the outputs: exact between two backends, since they compute the same steps.
void compare(const Loaded& l, std::vector<Buffer>& got, std::vector<Buffer>& wanted, double tolerance,
             const char* what) {
    const Kernel& kernel = l.prepared.kernel;
    for (size_t t = 0; t < kernel.tensors.size(); t++) {
        const KernelTensor& tensor = kernel.tensors[t];
        if (tensor.role == KernelTensor::Role::input || tensor.role == KernelTensor::Role::local) continue;
        const double allowed = is_half(tensor.dtype) ? std::max(tolerance * 100, tolerance) : tolerance;
        EXPECT_LE(difference(tensor, got[t], wanted[t]), allowed)
            << l.name << l.sizes << " " << tensor.name << ": " << what;
    }
}

TEST(Kernels, BackendsAndInterpreterAgree) {
    const Target target = detect_host();
    const std::vector<Loaded> all = load_corpus(target);
    ASSERT_FALSE(all.empty());
    TreeSet set(target);
    for (const Loaded& l : all) set.add(l.prepared);
    LlvmBackend backend;
    auto compiled = backend.compile(set.trees(), target, 2);
    ASSERT_TRUE(compiled) << render(compiled.error());
    const GccLibrary library(all_sources(set.trees()), "-O0");
    ASSERT_TRUE(library.function<KernelFunction>("kernel0")) << library.error;
    const Functions by_llvm = [&](const Tree& tree) { return (*compiled)->function(set.index(tree)); };
    const Functions by_gcc = [&](const Tree& tree) {
        return library.function<KernelFunction>("kernel" + std::to_string(set.index(tree)));
    };
    for (const Loaded& l : all) {
        auto a = random_buffers(l.prepared.kernel), b = random_buffers(l.prepared.kernel),
             c = random_buffers(l.prepared.kernel);
        schedules::reference::Interpreter interpreter(l.prepared.kernel, c);
        interpreter.run();
        const int32_t status = run(l.prepared, pointers_to(a), by_llvm);
        EXPECT_EQ(status, interpreter.failed() ? 1 : 0) << l.name << l.sizes;
        EXPECT_EQ(run(l.prepared, pointers_to(b), by_gcc), status) << l.name << l.sizes;
        if (interpreter.failed()) continue;
        compare(l, b, c, 1e-5, "C against the interpreter");
        compare(l, a, b, 0, "LLVM against C");
    }
}

}  // namespace
}  // namespace heddle::backends
