// Instructions of these machines for which LLVM has no general operation. Vectors of any power of two of lanes; a
// scalar is a lane of one.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>

#include "codegen/code.h"

namespace heddle::backends {

// scale, exponent_of, significand_of and reciprocal_root_estimate of float32 and float64. `b` of scale alone.
llvm::Value* avx512_operation(llvm::IRBuilder<>& builder, codegen::CodeOp op, llvm::Value* a, llvm::Value* b);
// Of two 16-bit halves a lane of 32 bits: the sum of their products. By the instruction where a register of at most
// `widest` bytes holds the vector; LLVM takes it together with an addition behind it.
llvm::Value* dot_pairs(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, int widest);
// Of sixteen floats, in operations; with AVX2 two permutes, a shift and a choice.
inline std::optional<int> look_up_cost(int widest) {
    return widest >= 64 ? std::optional(1) : widest >= 32 ? std::optional(4) : std::nullopt;
}
// Of sixteen floats by the low four bits of an int32, or of sixteen bytes by bytes below 16. From AVX2 on.
llvm::Value* look_up_of_sixteen(llvm::IRBuilder<>& builder, llvm::Value* table, llvm::Value* index, int widest);

// The lanes of the mask side by side, of 32 or 64 bits each, and behind them `filling`'s; of one register at most, from
// AVX2 on. By a permute: some machines with AVX-512 are slow at it in memory.
llvm::Value* packed_lanes(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* mask, llvm::Value* filling,
                          int widest);
// Integers that are zeros and ones by a mask are added under it: in each lane x + 1 or x, which is one instruction.
void count_under_masks(llvm::Function& function);

}  // namespace heddle::backends
