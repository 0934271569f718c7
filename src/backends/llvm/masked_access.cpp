#include "backends/llvm/masked_access.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/llvm/x86_instructions.h"

namespace heddle::backends {
namespace {

using llvm::Align;
using llvm::BasicBlock;
using llvm::Function;
using llvm::IRBuilder;
using llvm::Type;
using llvm::Value;

constexpr uint64_t page_bytes = 4096;  // the least of any machine of this kind

unsigned lanes_of(const Type* vector) { return llvm::cast<llvm::FixedVectorType>(vector)->getNumElements(); }
uint64_t bytes_of(const Type* vector) { return vector->getPrimitiveSizeInBits().getFixedValue() / 8; }

// Bit i of an int64 is lane i.
Value* bits_of(IRBuilder<>& builder, Value* mask) {
    Value* bits = builder.CreateBitCast(mask, builder.getIntNTy(lanes_of(mask->getType())));
    return builder.CreateZExtOrTrunc(bits, builder.getInt64Ty());
}

Value* element_at(IRBuilder<>& builder, Type* vector, Value* first, Value* lane) {
    return builder.CreateGEP(vector->getScalarType(), first, lane);
}

BasicBlock* new_block(IRBuilder<>& builder, const char* name) {
    return BasicBlock::Create(builder.getContext(), name, builder.GetInsertBlock()->getParent());
}

// Goes on in one of two blocks, of which the second is rare; the builder stands in the first.
std::pair<BasicBlock*, BasicBlock*> usually(IRBuilder<>& builder, Value* condition) {
    BasicBlock *usual = new_block(builder, "usual"), *rare = new_block(builder, "rare");
    builder.CreateCondBr(condition, usual, rare, llvm::MDBuilder(builder.getContext()).createLikelyBranchWeights());
    builder.SetInsertPoint(usual);
    return {usual, rare};
}

// Writes `body(lane)` once for each lane of `bits`, in a loop from the lowest one on.
template <typename F>
void for_lanes(IRBuilder<>& builder, Value* bits, F body) {
    BasicBlock *before = builder.GetInsertBlock(), *loop = new_block(builder, "lanes"),
               *after = new_block(builder, "after");
    Value* none = builder.getInt64(0);
    builder.CreateCondBr(builder.CreateICmpEQ(bits, none), after, loop);
    builder.SetInsertPoint(loop);
    llvm::PHINode* rest = builder.CreatePHI(builder.getInt64Ty(), 2);
    rest->addIncoming(bits, before);
    body(builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, rest, builder.getTrue()));
    Value* next = builder.CreateAnd(rest, builder.CreateSub(rest, builder.getInt64(1)));
    rest->addIncoming(next, loop);
    builder.CreateCondBr(builder.CreateICmpEQ(next, none), after, loop);
    builder.SetInsertPoint(after);
}

// The module's function of this purpose for this vector; `body` writes it, and gives its result or none.
template <typename F>
Function* function_for(IRBuilder<>& caller, const char* purpose, Type* vector, Type* result,
                       llvm::ArrayRef<Type*> parameters, F body) {
    llvm::Module& module = *caller.GetInsertBlock()->getModule();
    const Type* element = vector->getScalarType();
    const std::string name = fmt::format("{}_{}{}_x{}", purpose, element->isIntegerTy() ? "i" : "f",
                                         element->getPrimitiveSizeInBits().getFixedValue(), lanes_of(vector));
    if (Function* found = module.getFunction(name)) return found;
    Function* function =
        Function::Create(llvm::FunctionType::get(result, parameters, false), Function::InternalLinkage, name, module);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::NoInline);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "entry", function));
    if (Value* made = body(builder, *function))
        builder.CreateRet(made);
    else
        builder.CreateRetVoid();
    return function;
}

// A vector in memory, whose lanes are read or written by number.
Value* in_memory(IRBuilder<>& builder, Value* vector) {
    Value* place = builder.CreateAlloca(vector->getType());
    builder.CreateStore(vector, place);
    return place;
}

Value* copy_element(IRBuilder<>& builder, Type* vector, Value* from, Value* to) {
    Type* element = vector->getScalarType();
    return builder.CreateAlignedStore(builder.CreateAlignedLoad(element, from, Align(1)), to, Align(1));
}

// The first `count` lanes, fewer than all: by their binary digits.
void store_first(IRBuilder<>& builder, Type* vector, Value* lanes, Value* place, Value* count) {
    for (uint64_t piece = lanes_of(vector) / 2; piece > 0; piece /= 2) {
        BasicBlock *some = new_block(builder, "some"), *next = new_block(builder, "next");
        builder.CreateCondBr(builder.CreateIsNotNull(builder.CreateAnd(count, piece)), some, next);
        builder.SetInsertPoint(some);
        Value* first = builder.CreateAnd(count, ~(2 * piece - 1));
        Type* part = llvm::FixedVectorType::get(vector->getScalarType(), static_cast<unsigned>(piece));
        Value* held = builder.CreateAlignedLoad(part, element_at(builder, vector, lanes, first), Align(1));
        builder.CreateAlignedStore(held, element_at(builder, vector, place, first), Align(1));
        builder.CreateBr(next);
        builder.SetInsertPoint(next);
    }
}

Function* lanes_loaded(IRBuilder<>& caller, Type* vector) {
    Type *pointer = caller.getPtrTy(), *bits = caller.getInt64Ty();
    return function_for(caller, "masked_load", vector, vector, {pointer, bits},
                        [&](IRBuilder<>& builder, Function& function) -> Value* {
                            Value* lanes = in_memory(builder, llvm::Constant::getNullValue(vector));
                            for_lanes(builder, function.getArg(1), [&](Value* lane) {
                                copy_element(builder, vector, element_at(builder, vector, function.getArg(0), lane),
                                             element_at(builder, vector, lanes, lane));
                            });
                            return builder.CreateLoad(vector, lanes);
                        });
}

Function* lanes_stored(IRBuilder<>& caller, Type* vector) {
    Type *pointer = caller.getPtrTy(), *bits_type = caller.getInt64Ty();
    return function_for(
        caller, "masked_store", vector, caller.getVoidTy(), {vector, pointer, bits_type},
        [&](IRBuilder<>& builder, Function& function) -> Value* {
            Value *place = function.getArg(1), *bits = function.getArg(2);
            Value* lanes = in_memory(builder, function.getArg(0));
            BasicBlock *first = new_block(builder, "first"), *others = new_block(builder, "others");
            Value* has_gap =
                builder.CreateIsNotNull(builder.CreateAnd(bits, builder.CreateAdd(bits, builder.getInt64(1))));
            builder.CreateCondBr(has_gap, others, first);
            builder.SetInsertPoint(first);
            store_first(builder, vector, lanes, place, builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits));
            builder.CreateRetVoid();
            builder.SetInsertPoint(others);
            for_lanes(builder, bits, [&](Value* lane) {
                copy_element(builder, vector, element_at(builder, vector, lanes, lane),
                             element_at(builder, vector, place, lane));
            });
            return nullptr;
        });
}

// Lanes of `places`, one by one.
template <typename F>
void for_places(IRBuilder<>& builder, Value* places, Value* bits, F body) {
    Value* held = in_memory(builder, places);
    for_lanes(builder, bits, [&](Value* lane) {
        body(builder.CreateLoad(builder.getPtrTy(), builder.CreateGEP(builder.getPtrTy(), held, lane)), lane);
    });
}

// Where no permute brings lanes side by side.
Function* lanes_packed(IRBuilder<>& caller, Type* vector) {
    Type *pointer = caller.getPtrTy(), *bits = caller.getInt64Ty();
    return function_for(caller, "packed_store", vector, caller.getVoidTy(), {vector, pointer, bits},
                        [&](IRBuilder<>& builder, Function& function) -> Value* {
                            Value* lanes = in_memory(builder, function.getArg(0));
                            Value* count = in_memory(builder, builder.getInt64(0));
                            for_lanes(builder, function.getArg(2), [&](Value* lane) {
                                Value* at = builder.CreateLoad(builder.getInt64Ty(), count);
                                copy_element(builder, vector, element_at(builder, vector, lanes, lane),
                                             element_at(builder, vector, function.getArg(1), at));
                                builder.CreateStore(builder.CreateAdd(at, builder.getInt64(1)), count);
                            });
                            return nullptr;
                        });
}

}  // namespace

bool has_masked_access(const Type* vector, int widest) {
    return widest >= 64 || (widest >= 32 && vector->getScalarSizeInBits() >= 32);
}

Value* masked_load(IRBuilder<>& builder, Type* vector, Value* place, Value* mask, const TagAccess& tag) {
    Value* bits = bits_of(builder, mask);
    Value* in_page = builder.CreateAnd(builder.CreatePtrToInt(place, builder.getInt64Ty()), page_bytes - 1);
    Value* is_there = builder.CreateAnd(builder.CreateICmpULE(in_page, builder.getInt64(page_bytes - bytes_of(vector))),
                                        builder.CreateIsNotNull(bits));
    const auto [usual, rare] = usually(builder, is_there);
    BasicBlock* after = new_block(builder, "loaded");
    llvm::LoadInst* whole = builder.CreateAlignedLoad(vector, place, Align(1));
    tag(whole);
    Value* zero = llvm::Constant::getNullValue(vector);
    Value* wanted = builder.CreateSelect(mask, whole, zero);
    builder.CreateBr(after);
    builder.SetInsertPoint(rare);
    llvm::CallInst* by_lanes = builder.CreateCall(lanes_loaded(builder, vector), {place, bits});
    tag(by_lanes);
    builder.CreateBr(after);
    builder.SetInsertPoint(after);
    llvm::PHINode* loaded = builder.CreatePHI(vector, 2);
    loaded->addIncoming(wanted, usual);
    loaded->addIncoming(by_lanes, rare);
    return loaded;
}

// All lanes, where that may be; else those of `bits()`, which is asked for there.
template <typename F>
static void store_all_or(IRBuilder<>& builder, Value* value, Value* place, Value* may_be, F bits,
                         const TagAccess& tag) {
    const auto [usual, rare] = usually(builder, may_be);
    BasicBlock* after = new_block(builder, "stored");
    tag(builder.CreateAlignedStore(value, place, Align(1)));
    builder.CreateBr(after);
    builder.SetInsertPoint(rare);
    tag(builder.CreateCall(lanes_stored(builder, value->getType()), {value, place, bits()}));
    builder.CreateBr(after);
    builder.SetInsertPoint(after);
}

void masked_store(IRBuilder<>& builder, Value* value, Value* place, Value* mask, const TagAccess& tag) {
    Value* bits = bits_of(builder, mask);
    const unsigned lanes = lanes_of(value->getType());
    Value* all = builder.getInt64(lanes == 64 ? ~uint64_t{0} : (uint64_t{1} << lanes) - 1);
    store_all_or(builder, value, place, builder.CreateICmpEQ(bits, all), [&] { return bits; }, tag);
}

void store_packed(IRBuilder<>& builder, Value* value, Value* place, Value* mask, Value* filling, Value* fits,
                  int widest, const TagAccess& tag) {
    const unsigned width = lanes_of(value->getType());
    if (widest < 32) {
        tag(builder.CreateCall(lanes_packed(builder, value->getType()), {value, place, bits_of(builder, mask)}));
        return;
    }
    const unsigned most = static_cast<unsigned>(widest) * 8 / value->getType()->getScalarSizeInBits();
    const unsigned piece = std::min(width, most);
    for (unsigned first = 0; first < width; first += piece) {
        llvm::SmallVector<int> numbers;
        for (unsigned i = first; i < first + piece; i++) numbers.push_back(static_cast<int>(i));
        const auto part = [&](Value* v) { return piece == width ? v : builder.CreateShuffleVector(v, numbers); };
        Value *some = part(mask), *packed = packed_lanes(builder, part(value), some, part(filling), widest);
        Value* count = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits_of(builder, some));
        const auto counted = [&] {
            return builder.CreateNot(builder.CreateShl(builder.getInt64(~uint64_t{0}), count));
        };
        store_all_or(builder, packed, place, fits, counted, tag);
        if (first + piece < width) place = element_at(builder, value->getType(), place, count);
    }
}

Value* masked_gather(IRBuilder<>& builder, Type* vector, Value* places, Value* mask, const TagAccess& tag) {
    Function* gather =
        function_for(builder, "masked_gather", vector, vector, {places->getType(), builder.getInt64Ty()},
                     [&](IRBuilder<>& inside, Function& function) -> Value* {
                         Value* lanes = in_memory(inside, llvm::Constant::getNullValue(vector));
                         for_places(inside, function.getArg(0), function.getArg(1), [&](Value* place, Value* lane) {
                             copy_element(inside, vector, place, element_at(inside, vector, lanes, lane));
                         });
                         return inside.CreateLoad(vector, lanes);
                     });
    llvm::CallInst* gathered = builder.CreateCall(gather, {places, bits_of(builder, mask)});
    tag(gathered);
    return gathered;
}

void masked_scatter(IRBuilder<>& builder, Value* value, Value* places, Value* mask, const TagAccess& tag) {
    Type* vector = value->getType();
    Function* scatter = function_for(
        builder, "masked_scatter", vector, builder.getVoidTy(), {vector, places->getType(), builder.getInt64Ty()},
        [&](IRBuilder<>& inside, Function& function) -> Value* {
            Value* lanes = in_memory(inside, function.getArg(0));
            for_places(inside, function.getArg(1), function.getArg(2), [&](Value* place, Value* lane) {
                copy_element(inside, vector, element_at(inside, vector, lanes, lane), place);
            });
            return nullptr;
        });
    tag(builder.CreateCall(scatter, {value, places, bits_of(builder, mask)}));
}

}  // namespace heddle::backends
