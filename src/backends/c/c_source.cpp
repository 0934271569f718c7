#include "backends/c/c_source.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "backends/c/c_code.h"

namespace heddle::backends {

using schedules::Memory;
using schedules::Tree;

namespace {

std::string kernel_text(const Tree& tree, const std::string& declared, codegen::Units units) {
    CCode code(tree, units);
    codegen::walk(tree, code);
    std::string text = fmt::format("// {}\n", tree.name);
    text += code.type_definitions() + code.functions();
    text += fmt::format("{}(void* const* buffers, const int64_t* numbers, int64_t begin, int64_t end) {{\n", declared);
    const size_t buffers = tree.buffers();
    for (size_t i = 0; i < tree.memories.size(); i++) {
        const Memory& memory = tree.memories[i];
        const std::string type = code.memory_type(static_cast<schedules::MemoryId>(i));
        const std::string name = code.memory_name(static_cast<schedules::MemoryId>(i));
        const char* const alone = memory.may_alias ? "" : "restrict ";
        text += memory.kind == Memory::Kind::array
                    ? fmt::format("    {}* {} = 0;\n", type, name)
                    : fmt::format("    {}* {}const {} = ({}*)buffers[{}];\n", type, alone, name, type, i);
    }
    // Stores cannot change what has no address.
    for (const int64_t n : code.numbers()) text += fmt::format("    const int64_t n{0} = numbers[{0}];\n", n);
    text +=
        fmt::format("    char* const scratch = (char*)buffers[{}];\n    (void)scratch;\n    (void)numbers;\n", buffers);
    return text + code.body() + "    return 0;\n}\n";
}

}  // namespace

namespace {

// Functions by which kernels do what C has no operator for.
std::string c_prelude() {
    std::string text = R"(#include <stdint.h>
#if defined(__FMA__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
/* What is rounded twice is not to be rounded once. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif
)";
    for (const char* name : {"fma", "sqrt", "floor", "ceil", "rint", "trunc"})
        text += fmt::format("#define heddle_{0}f __builtin_{0}f\n#define heddle_{0} __builtin_{0}\n", name);
    return text;
}

}  // namespace

std::string c_source(const Tree& tree, const std::string& function_name, codegen::Units units) {
    return c_prelude() + kernel_text(tree, "int32_t " + function_name, units);
}

std::string c_source_of_several(const Tree& tree, const std::string& function_name) {
    return kernel_text(tree, "static int32_t " + function_name, codegen::Units::plain);
}

}  // namespace heddle::backends
