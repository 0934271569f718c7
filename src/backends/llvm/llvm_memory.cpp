// What LlvmCode does with memories: their aliases, addresses, loads and stores.
#include <llvm/IR/MDBuilder.h>

#include "backends/llvm/llvm_code.h"
#include "backends/llvm/x86_instructions.h"

namespace heddle::backends {

using codegen::CodeAddress;
using codegen::CodeValue;
using schedules::Memory;
using schedules::MemoryId;

// Memories that may share bytes are one scope; an access belongs to its scope and excludes all others.
void LlvmCode::make_alias_scopes() {
    llvm::MDBuilder metadata(context_);
    llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("memories");
    const size_t count = tree_.memories.size();
    std::vector<llvm::MDNode*> own(count, nullptr);
    const auto share = [&](const Memory& a, const Memory& b) {
        const bool arrays = a.kind == Memory::Kind::array && b.kind == Memory::Kind::array;
        return arrays ? a.offset == b.offset : a.may_alias && b.may_alias;
    };
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i && !own[i]; j++) {
            if (share(tree_.memories[i], tree_.memories[j])) own[i] = own[j];
        }
        if (!own[i]) own[i] = metadata.createAnonymousAliasScope(domain, "memory");
    }
    for (size_t i = 0; i < count; i++) {
        llvm::SmallVector<llvm::Metadata*> other;
        for (size_t j = 0; j < count; j++) {
            if (own[j] != own[i]) other.push_back(own[j]);
        }
        scopes_.push_back(llvm::MDNode::get(context_, {own[i]}));
        others_.push_back(other.empty() ? nullptr : llvm::MDNode::get(context_, other));
    }
}

llvm::Instruction* LlvmCode::tag(MemoryId memory, llvm::Instruction* access) {
    const size_t m = static_cast<size_t>(memory);
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, scopes_[m]);
    if (others_[m]) access->setMetadata(llvm::LLVMContext::MD_noalias, others_[m]);
    return access;
}

llvm::Value* LlvmCode::pointer(const CodeAddress& address) {
    llvm::Type* element = memory_type(dtype_of(address.memory));
    llvm::Value* base = memories_[static_cast<size_t>(address.memory)];
    base = builder_.CreateGEP(element, base, value(address.index));
    for (CodeValue move : address.moves) base = builder_.CreateGEP(element, base, value(move));
    return address.offset == 0 ? base
                               : builder_.CreateConstGEP1_64(element, base, static_cast<uint64_t>(address.offset));
}

llvm::Value* LlvmCode::from_memory(DType dtype, llvm::Value* raw) {
    return is_bool(dtype) ? builder_.CreateIsNotNull(raw) : raw;
}
llvm::Value* LlvmCode::to_memory(CodeValue v) {
    if (!is_bool(v.dtype)) return value(v);
    return builder_.CreateZExt(value(v), vector(builder_.getInt8Ty(), v.width));
}
llvm::Value* LlvmCode::full_mask(int width) { return llvm::ConstantInt::getTrue(vector(builder_.getInt1Ty(), width)); }

CodeValue LlvmCode::load(const CodeAddress& address, int width, std::optional<CodeValue> mask) {
    const DType dtype = dtype_of(address.memory);
    llvm::Type* loaded = vector(memory_type(dtype), width);
    const llvm::Align align = alignment(address.memory);
    llvm::Value* place = pointer(address);
    llvm::Instruction* raw = nullptr;
    if (mask && width > 1 && !has_masked_access(loaded, widest_)) {
        llvm::Value* found = masked_load(builder_, loaded, place, value(*mask), tags(address.memory));
        return wrap(dtype, width, from_memory(dtype, found));
    }
    if (mask && width > 1) {
        if (address.may_be_far) place = builder_.CreateSelect(value(any(*mask)), place, zeros_);
        raw = builder_.CreateMaskedLoad(loaded, place, align, value(*mask), llvm::Constant::getNullValue(loaded));
    } else {
        if (mask) place = builder_.CreateSelect(value(*mask), place, zeros_);
        raw = builder_.CreateAlignedLoad(loaded, place, align);
    }
    return wrap(dtype, width, from_memory(dtype, tag(address.memory, raw)));
}

// Past the caches where the address allows it.
void LlvmCode::store_streaming(const CodeAddress& address, llvm::Value* raw) {
    const uint64_t size = module_.getDataLayout().getTypeStoreSize(raw->getType()).getFixedValue();
    llvm::Value* place = pointer(address);
    llvm::Value* low = builder_.CreateAnd(builder_.CreatePtrToInt(place, builder_.getInt64Ty()), size - 1);
    llvm::BasicBlock *aligned = new_block("aligned"), *plain = new_block("plain"), *after = new_block("stored");
    builder_.CreateCondBr(builder_.CreateIsNull(low), aligned, plain);
    builder_.SetInsertPoint(aligned);
    llvm::Instruction* streaming = tag(address.memory, builder_.CreateAlignedStore(raw, place, llvm::Align(size)));
    llvm::Metadata* one = llvm::ConstantAsMetadata::get(builder_.getInt32(1));
    streaming->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, {one}));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(plain);
    tag(address.memory, builder_.CreateAlignedStore(raw, place, alignment(address.memory)));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    streams_ = true;
}

void LlvmCode::store(const CodeAddress& address, CodeValue v, std::optional<CodeValue> mask, bool non_temporal) {
    llvm::Value* raw = to_memory(v);
    if (non_temporal && !mask && v.width > 1) return store_streaming(address, raw);
    const llvm::Align align = alignment(address.memory);
    if (!mask) return void(tag(address.memory, builder_.CreateAlignedStore(raw, pointer(address), align)));
    if (!has_masked_access(raw->getType(), widest_))
        return masked_store(builder_, raw, pointer(address), value(*mask), tags(address.memory));
    tag(address.memory, builder_.CreateMaskedStore(raw, pointer(address), align, value(*mask)));
}

CodeValue LlvmCode::gather(MemoryId memory, CodeValue indices, std::optional<CodeValue> mask) {
    const DType dtype = dtype_of(memory);
    llvm::Type* element = memory_type(dtype);
    llvm::Type* loaded = vector(element, indices.width);
    llvm::Value* places = builder_.CreateGEP(element, memories_[static_cast<size_t>(memory)], value(indices));
    if (reads_words(memory)) {
        llvm::Type* words = vector(builder_.getInt32Ty(), indices.width);
        llvm::Value* whole = gathered(memory, words, places, llvm::Align(1), mask);
        llvm::Type* bits = vector(builder_.getIntNTy(element->getPrimitiveSizeInBits()), indices.width);
        llvm::Value* low = builder_.CreateBitCast(builder_.CreateTrunc(whole, bits), loaded);
        return wrap(dtype, indices.width, from_memory(dtype, low));
    }
    if (mask && indices.width > 1 && !has_masked_access(loaded, widest_)) {
        llvm::Value* found = masked_gather(builder_, loaded, places, value(*mask), tags(memory));
        return wrap(dtype, indices.width, from_memory(dtype, found));
    }
    llvm::Value* raw = gathered(memory, loaded, places, alignment(memory), mask);
    return wrap(dtype, indices.width, from_memory(dtype, raw));
}

// Without AVX-512, LLVM writes a branch a lane for what a mask leaves out. Here such lanes read zeros.
llvm::Value* LlvmCode::gathered(MemoryId memory, llvm::Type* loaded, llvm::Value* places, llvm::Align align,
                                std::optional<CodeValue> mask) {
    const auto lanes = llvm::cast<llvm::FixedVectorType>(loaded)->getNumElements();
    if (widest_ >= 64 || !mask) {
        llvm::Value* active = mask ? value(*mask) : full_mask(static_cast<int>(lanes));
        return tag(memory,
                   builder_.CreateMaskedGather(loaded, places, align, active, llvm::Constant::getNullValue(loaded)));
    }
    places = builder_.CreateSelect(value(*mask), places, builder_.CreateVectorSplat(lanes, zeros_));
    llvm::Value* result = llvm::PoisonValue::get(loaded);
    for (uint64_t lane = 0; lane < lanes; lane++) {
        llvm::Value* place = builder_.CreateExtractElement(places, lane);
        llvm::Instruction* one = builder_.CreateAlignedLoad(loaded->getScalarType(), place, align);
        result = builder_.CreateInsertElement(result, tag(memory, one), lane);
    }
    return result;
}

void LlvmCode::scatter(MemoryId memory, CodeValue indices, CodeValue v, std::optional<CodeValue> mask) {
    llvm::Value* places =
        builder_.CreateGEP(memory_type(v.dtype), memories_[static_cast<size_t>(memory)], value(indices));
    if (mask && widest_ < 64) return masked_scatter(builder_, to_memory(v), places, value(*mask), tags(memory));
    llvm::Value* active = mask ? value(*mask) : full_mask(indices.width);
    tag(memory, builder_.CreateMaskedScatter(to_memory(v), places, alignment(memory), active));
}

void LlvmCode::store_compressed(const CodeAddress& address, CodeValue v, CodeValue mask, CodeValue filling,
                                CodeValue fits) {
    llvm::Value *lanes = to_memory(v), *rest = to_memory(broadcast(filling, v.width));
    store_packed(builder_, lanes, pointer(address), value(mask), rest, value(fits), widest_, tags(address.memory));
}

CodeValue LlvmCode::address_of(const CodeAddress& address) {
    return wrap(DType::int64, 1, builder_.CreatePtrToInt(pointer(address), builder_.getInt64Ty()));
}

void LlvmCode::prefetch(CodeValue address, int level) {
    llvm::Value* place = builder_.CreateIntToPtr(value(address), builder_.getPtrTy());
    builder_.CreateIntrinsic(
        llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
        {place, builder_.getInt32(0), builder_.getInt32(level == 1 ? 3 : 2), builder_.getInt32(1)});
}

void LlvmCode::place_array(MemoryId memory, CodeValue offset, CodeValue origin) {
    llvm::Value* first = builder_.CreateGEP(builder_.getInt8Ty(), scratch_, value(offset));
    memories_[static_cast<size_t>(memory)] =
        builder_.CreateGEP(memory_type(dtype_of(memory)), first, builder_.CreateNeg(value(origin)));
}

void LlvmCode::report(int position, CodeValue v) {
    builder_.CreateStore(value(v),
                         builder_.CreateConstGEP1_64(builder_.getInt64Ty(), scratch_, static_cast<uint64_t>(position)));
}

}  // namespace heddle::backends
