// The C compiler of this machine keeps the promises of a backend. A part of the operators: it takes its time.
#include <gtest/gtest.h>

#include "backends/cc/cc_backend.h"
#include "conformance/conformance.h"
#include "helpers/library.h"

namespace heddle::conformance {
namespace {

TEST(Conformance, TheCCompilerPasses) {
    const auto compiler = backends::CCompiler::find();
    ASSERT_TRUE(compiler) << "scripts/setup installs one";
    const auto checks = check_backend(std::make_shared<backends::CcBackend>(*compiler, 1), library(),
                                      {.seed = 3,
                                       .threads = 2,
                                       .only = {"config", "code", "memory", "index", "operator conv", "operator softmax",
                                                "operator gather", "gradient softmax"},
                                       .told = {}});
    EXPECT_GE(checks.size(), 7u);
    for (const Check& check : checks) EXPECT_TRUE(check.passed()) << text_of(check);
}

TEST(Conformance, TextThatIsNoCIsRefused) {
    const auto compiler = backends::CCompiler::find();
    ASSERT_TRUE(compiler);
    const auto made = compiler->compile("this is no C", {});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().front().code, "backends.c_compiler");
    EXPECT_NE(made.error().front().found.find("error"), std::string::npos);
    EXPECT_EQ(backends::CCompiler{"/nowhere/gcc"}.compile("", {}).error().front().code, "backends.c_compiler");
}

}  // namespace
}  // namespace heddle::conformance
