// Addresses by parts: what they come to, and what is left alone.
#include "backends/llvm/addresses.h"

#include <gtest/gtest.h>

#include <string>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

namespace heddle::backends {
namespace {

// The body of a function of a pointer and three numbers, behind the pass.
std::string behind(const std::string& body) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    const auto module = llvm::parseAssemblyString(
        "define float @f(ptr %p, i64 %a, i64 %b, i64 %c) {\n" + body + "}\n", problem, context);
    if (!module) return "syntax: " + problem.getMessage().str();
    llvm::FunctionAnalysisManager analyses;
    llvm::Function& function = *module->getFunction("f");
    AddressesByParts().run(function, analyses);
    if (llvm::verifyFunction(function)) return "broken";
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.getEntryBlock().print(stream);
    return text;
}

TEST(AddressesByParts, SumsOfSumsAreAddedOneByOne) {
    EXPECT_EQ(behind(R"(
        %s = add i64 %a, %b
        %t = add i64 %s, %c
        %q = getelementptr inbounds float, ptr %p, i64 %t
        %v = load float, ptr %q
        ret float %v
)"),
              R"(
  %1 = getelementptr float, ptr %p, i64 %a
  %2 = getelementptr float, ptr %1, i64 %b
  %q = getelementptr float, ptr %2, i64 %c
  %v = load float, ptr %q, align 4
  ret float %v
)");
}

TEST(AddressesByParts, ASumWithAnotherUseStays) {
    const std::string text = behind(R"(
        %s = add i64 %a, %b
        %q = getelementptr inbounds float, ptr %p, i64 %s
        %r = getelementptr inbounds float, ptr %q, i64 %s
        %v = load float, ptr %r
        ret float %v
)");
    EXPECT_NE(text.find("%q = getelementptr inbounds float, ptr %p, i64 %s"), std::string::npos) << text;
}

TEST(AddressesByParts, OtherArithmeticStays) {
    const std::string text = behind(R"(
        %s = mul i64 %a, %b
        %q = getelementptr inbounds float, ptr %p, i64 %s
        %v = load float, ptr %q
        ret float %v
)");
    EXPECT_NE(text.find("getelementptr inbounds float, ptr %p, i64 %s"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::backends
