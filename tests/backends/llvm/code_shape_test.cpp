// The innermost loops of the patterns that matter.
#include "code_shape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/llvm/llvm_backend.h"
#include "../kernel_harness.h"
#include "helpers/source_folder.h"

namespace heddle::backends {
namespace {

Target avx512() {
    Target target;
    target.cpu = "x86-64-v4";
    return target;
}

Target avx2() {
    Target target;
    target.cpu = "x86-64-v3";
    target.vector_bytes = 32;
    target.vector_registers = 16;
    return target;
}

std::string assembly(const std::string& name, const Target& target = avx512()) {
    for (const auto& c : schedules::testing::load_kernel_cases(in_source())) {
        if (c.name != name) continue;
        auto kernel = schedules::parse_kernel(
            std::make_shared<SourceText>(c.name, schedules::testing::with_sizes(c.text, c.sizes[0])));
        EXPECT_TRUE(kernel);
        auto scheduled = schedules::schedule(*kernel, target);
        EXPECT_TRUE(scheduled);
        auto text = LlvmBackend().source(scheduled->tree, target);
        EXPECT_TRUE(text) << (text ? "" : render(text.error()));
        return text.value_or("");
    }
    ADD_FAILURE() << "no kernel " << name;
    return "";
}

LoopShape loop_with_most(const std::string& text, int LoopShape::* what) {
    LoopShape best;
    for (const LoopShape& loop : innermost_loops(text)) {
        if (loop.*what > best.*what) best = loop;
    }
    return best;
}

// The loop that is multiply-adds for its greatest part: a loop over row tiles may come out of the reader with its
// epilogue's polynomials only, where code generation moved the loop inside out of line.
LoopShape densest_loop(const std::string& text) {
    LoopShape best;
    const auto density = [](const LoopShape& l) {
        return l.instructions ? double(l.fused_multiply_adds) / l.instructions : 0;
    };
    for (const LoopShape& loop : innermost_loops(text)) {
        if (density(loop) > density(best)) best = loop;
    }
    return best;
}

TEST(CodeShape, ContractionHasNothingButItsTile) {
    for (const char* name : {"matmul_gelu", "conv"}) {
        const std::string text = assembly(name);
        const LoopShape loop = densest_loop(text);
        EXPECT_EQ(loop.fused_multiply_adds, 24) << name;
        EXPECT_EQ(loop.vector_loads, 4) << name;
        EXPECT_EQ(loop.broadcasts, 6) << name;
        EXPECT_EQ(loop.stack_accesses, 0) << name;
        EXPECT_EQ(loop.branches, 0) << name;
        EXPECT_EQ(loop.gathers, 0) << name;
        EXPECT_LE(loop.instructions, 60) << name;
        EXPECT_EQ(calls(text), 0) << name;
    }
}

// What is nothing in some lanes is added under their mask, of which no numbers are made.
TEST(CodeShape, CountsUnderMasks) {
    const std::string text = assembly("count_below");
    EXPECT_NE(text.find("vcmpltps"), std::string::npos);
    EXPECT_EQ(text.find("vpmovm2"), std::string::npos);
    EXPECT_EQ(text.find("{z}, %zmm"), std::string::npos);
}

int count(const std::string& text, const std::string& word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) found++;
    return found;
}

// Without mask registers: what comparisons of lanes say has the lanes' width, and is not narrowed and widened again.
TEST(CodeShape, JoinedComparisonsKeepTheirWidth) {
    const std::string text = assembly("middle_of_nine", avx2());
    EXPECT_NE(text.find("vcmpordps"), std::string::npos);
    EXPECT_NE(text.find("vblendvps"), std::string::npos);
    EXPECT_EQ(text.find("vpmovzxwd"), std::string::npos);
}

TEST(CodeShape, AMaximumThatTakesNaNIsTheMachinesOwn) {
    for (const Target& target : {avx512(), avx2()}) {
        const std::string text = assembly("update_two", target);
        EXPECT_GT(count(text, "vmaxps"), 0);
        EXPECT_EQ(count(text, "vcmp"), count(text, "vmaxps"));
    }
}

TEST(CodeShape, AFloatIsChosenWithoutABranch) {
    const std::string text = assembly("update_least", avx2());
    EXPECT_GT(count(text, "vcmpunords"), 0);
    EXPECT_EQ(count(text, "vblendvps"), count(text, "vcmpunords"));
}

// One for the indices of each vector that are checked.
TEST(CodeShape, GathersUnderMasksHaveNoBranchForEachLane) {
    for (const LoopShape& loop : innermost_loops(assembly("gather_lanes", avx2()))) EXPECT_LE(loop.branches, 4);
}

TEST(CodeShape, WhatIsTakenGoesToTheFrontByVectors) {
    for (const char* name : {"update_front", "update_front_behind", "update_rest"})
        EXPECT_NE(assembly(name).find("vcompressps"), std::string::npos) << name;
    for (const char* name : {"update_elsewhere", "update_wrapped", "update_by_states"})
        EXPECT_EQ(assembly(name).find("vcompressps"), std::string::npos) << name;
}

TEST(CodeShape, PlacesThatDataBeginAreNeighbours) {
    for (const LoopShape& loop : innermost_loops(assembly("moved_rows"))) EXPECT_EQ(loop.gathers, 0);
}

TEST(CodeShape, ElementwiseChain) {
    const std::string text = assembly("chain");
    const LoopShape loop = loop_with_most(text, &LoopShape::vector_stores);
    EXPECT_EQ(loop.vector_stores, 4);
    EXPECT_LE(loop.vector_loads, 8);
    EXPECT_EQ(loop.gathers + loop.divisions + loop.stack_accesses + loop.branches, 0);
    EXPECT_EQ(calls(text), 0);
}

// What is taken is put side by side in a register, and stored whole; the end of the row is a function.
TEST(CodeShape, WhatIsTakenIsPackedInRegisters) {
    const std::string wide = assembly("update_front"), narrow = assembly("update_front", avx2());
    EXPECT_NE(wide.find("vcompressps"), std::string::npos);
    EXPECT_NE(narrow.find("vpermd"), std::string::npos);
    EXPECT_NE(narrow.find("packing_orders_8x1"), std::string::npos);
    for (const std::string& text : {wide, narrow}) EXPECT_NE(text.find("masked_store_f32"), std::string::npos);
}

TEST(CodeShape, SmallMatricesAreTransposedInRegisters) {
    for (const Target& target : {avx512(), avx2()}) {
        const std::string text = assembly("triple_products", target);
        const LoopShape loop = loop_with_most(text, &LoopShape::vector_stores);
        EXPECT_EQ(loop.vector_stores, 4);
        EXPECT_EQ(loop.gathers + loop.branches, 0);
        EXPECT_NE(text.find("vunpcklps"), std::string::npos);
    }
}

// AVX2 has no masks of bytes: the last vector begins earlier. Where masks must be, they are a function that is written
// once, not a branch for each lane.
TEST(CodeShape, BytesWithoutMaskRegisters) {
    const std::string text = assembly("mirrored", avx2());
    const LoopShape loop = loop_with_most(text, &LoopShape::vector_stores);
    EXPECT_EQ(loop.vector_stores, 4);
    EXPECT_EQ(loop.calls + loop.branches + loop.stack_accesses, 0);
    EXPECT_EQ(calls(text), 0);
    EXPECT_LE(std::ranges::count(text, '\n'), 600);
    const std::string masked = assembly("bytes_of_a_table", avx2());
    EXPECT_NE(masked.find("masked_store_i8_x8:"), std::string::npos);
    EXPECT_LE(std::ranges::count(masked, '\n'), 1000);
}

TEST(CodeShape, RowReduction) {
    const std::string text = assembly("sum_last");
    const LoopShape loop = loop_with_most(text, &LoopShape::vector_loads);
    EXPECT_EQ(loop.vector_loads, 8);
    EXPECT_EQ(loop.vector_stores + loop.gathers + loop.stack_accesses + loop.branches, 0);
}

TEST(CodeShape, TransposeShufflesInRegisters) {
    const std::string text = assembly("transpose");
    int gathers = 0;
    for (const LoopShape& loop : innermost_loops(text)) gathers += loop.gathers;
    EXPECT_EQ(gathers, 0);
    EXPECT_GE(loop_with_most(text, &LoopShape::shuffles).shuffles, 32);
    EXPECT_EQ(calls(text), 0);
}

TEST(CodeShape, WhatIsMadeOfFourBitsIsNotConverted) {
    const std::string text = assembly("matvec_of_few_bits");
    EXPECT_NE(text.find("vperm"), std::string::npos);
    EXPECT_EQ(text.find("cvtdq2ps"), std::string::npos);
}

TEST(CodeShape, AByteIsShiftedByATable) {
    const std::string text = assembly("bits_of_a_rule");
    EXPECT_NE(text.find("vpshufb"), std::string::npos) << text;
    EXPECT_EQ(text.find("vpsrlvw\t%zmm"), std::string::npos) << text;  // sixteen are made for the table
}

TEST(CodeShape, ReaderCounts) {
    const std::string text =
        "f:\n\tmovq %rax, %rbx\n.L1:\n\tvmovups (%rax), %zmm1\n\tvaddps 64(%rax), %zmm1, %zmm1\n"
        "\tvbroadcastss (%rbx), %zmm2\n\tvfmadd231ps %zmm1, %zmm2, %zmm3 # a comment (%rsp)\n\tvmovups %zmm3, "
        "64(%rsp)\n"
        "\tvdivps %zmm1, %zmm2, %zmm2\n\tcallq expf\n\tje .L2\n.L2:\n\taddq $64, %rax\n\tjne .L1\n\tjmp "
        ".L3\n.L3:\n\tretq\n";
    const auto loops = innermost_loops(text);
    ASSERT_EQ(loops.size(), 1u);
    EXPECT_EQ(loops[0].vector_loads, 2);
    EXPECT_EQ(loops[0].broadcasts, 1);
    EXPECT_EQ(loops[0].fused_multiply_adds, 1);
    EXPECT_EQ(loops[0].vector_stores, 1);
    EXPECT_EQ(loops[0].stack_accesses, 1);
    EXPECT_EQ(loops[0].divisions, 1);
    EXPECT_EQ(loops[0].calls, 1);
    EXPECT_EQ(loops[0].branches, 1);
    EXPECT_EQ(loops[0].instructions, 10);
}

}  // namespace
}  // namespace heddle::backends
