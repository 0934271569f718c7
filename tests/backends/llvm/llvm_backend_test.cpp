// What LlvmBackend refuses, and that its results do not depend on the number of threads.
#include "backends/llvm/llvm_backend.h"

#include <gtest/gtest.h>

#include "../kernel_harness.h"

namespace heddle::backends {
namespace {

Prepared small_kernel() {
    const std::string text =
        "kernel twice\n  axis a = 40 hint 40 named\n  input x: float32 [40]\n  output y: float32 [40]\n  common a\n"
        "  y[a] over [a] = add(x[a], x[a])\n";
    auto kernel = schedules::parse_kernel(std::make_shared<SourceText>("twice", text));
    EXPECT_TRUE(kernel);
    return std::move(*prepare(*kernel, Target{}));
}

std::string code_of(const auto& result) { return result ? "" : result.error()[0].code; }

TEST(LlvmBackend, RefusesUnknownCpu) {
    const Prepared p = small_kernel();
    Target target;
    target.cpu = "abacus";
    EXPECT_EQ(code_of(LlvmBackend().compile({&p.scheduled->tree}, target, 2)), "backends.unknown_cpu");
    EXPECT_EQ(code_of(LlvmBackend().source(p.scheduled->tree, target)), "backends.unknown_cpu");
}

TEST(LlvmBackend, RefusesUnknownFeature) {
    const Prepared p = small_kernel();
    Target target;
    for (const char* features : {"+avx512f,+beads", "avx512f", "+"}) {
        target.features = features;
        EXPECT_EQ(code_of(LlvmBackend().compile({&p.scheduled->tree}, target, 1)), "backends.unknown_feature")
            << features;
    }
}

TEST(LlvmBackend, RefusesObjectsThatDoNotLink) {
    EXPECT_EQ(code_of(LlvmBackend().link({"no object at all"})), "backends.link");
    const Prepared p = small_kernel();
    auto object = LlvmBackend().objects({&p.scheduled->tree}, Target{}, 1);
    ASSERT_TRUE(object);
    const std::string_view image = (*object)[0];
    EXPECT_TRUE(LlvmBackend().link({image}));
    EXPECT_EQ(code_of(LlvmBackend().link({image.substr(0, image.size() / 2)})), "backends.link");
    EXPECT_EQ(code_of(LlvmBackend().link({image, image.substr(0, 10)})), "backends.link");
}

TEST(LlvmBackend, ObjectsAreTheSameOnAnyNumberOfThreads) {
    const Prepared p = small_kernel(), q = small_kernel();
    LlvmBackend backend;
    const auto one = backend.objects({&p.scheduled->tree, &q.scheduled->tree}, Target{}, 1);
    const auto two = backend.objects({&p.scheduled->tree, &q.scheduled->tree}, Target{}, 2);
    ASSERT_TRUE(one && two);
    EXPECT_EQ(*one, *two);
    EXPECT_EQ((*one)[0], (*one)[1]);
}

}  // namespace
}  // namespace heddle::backends
