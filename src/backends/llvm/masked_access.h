// Accesses under masks that the machine has no instruction for: without AVX-512 those of 8 and 16 bits, and scatters.
// LLVM would write a branch and an access for each lane, in place. Here the usual case stands in place, and the rest is
// a function of the module, written once, which goes over the lanes of the mask. Nothing but the lanes of the mask is
// written: what lies between may be another thread's.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>

namespace heddle::backends {

// Told of each access to the memory: its aliases.
using TagAccess = std::function<void(llvm::Instruction*)>;

// `widest`: bytes of the machine's widest vectors of 16-bit integers. Whether it accesses such lanes under a mask.
bool has_masked_access(const llvm::Type* vector, int widest);

// 0 in lanes outside of the mask. `place` may have any alignment. Bytes beside what is wanted are read, and dropped,
// where they lie in a page in which a lane is wanted.
llvm::Value* masked_load(llvm::IRBuilder<>& builder, llvm::Type* vector, llvm::Value* place, llvm::Value* mask,
                         const TagAccess& tag);
void masked_store(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* place, llvm::Value* mask,
                  const TagAccess& tag);
// Lanes of the mask, of 32 or 64 bits each, side by side from `place` on; behind them `filling`'s, as many lanes as
// there are, if these `fits`, which is usual.
void store_packed(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* place, llvm::Value* mask,
                  llvm::Value* filling, llvm::Value* fits, int widest, const TagAccess& tag);
// Lane i from or to places[i], one after another.
llvm::Value* masked_gather(llvm::IRBuilder<>& builder, llvm::Type* vector, llvm::Value* places, llvm::Value* mask,
                           const TagAccess& tag);
void masked_scatter(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* places, llvm::Value* mask,
                    const TagAccess& tag);

}  // namespace heddle::backends
