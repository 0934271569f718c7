#include "backends/llvm/llvm_code.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "backends/llvm/masked_access.h"
#include "backends/llvm/x86_instructions.h"
#include "codegen/code.h"

namespace heddle::backends {
namespace {

using codegen::Cell;
using codegen::Cells;
using codegen::CodeAddress;
using codegen::CodeOp;
using codegen::CodeValue;
using schedules::Memory;
using schedules::MemoryId;
using schedules::Tree;

class LlvmCode : public codegen::Code {
public:
    LlvmCode(llvm::Module& module, const Tree& tree, const std::string& name, int widest);
    void finish();

    Values function(const std::string& name, std::span<const CodeValue> arguments, codegen::Runs runs,
                    const std::function<Values(std::span<const CodeValue>)>& body) override;
    CodeValue integer(DType dtype, int64_t value) override;
    CodeValue real(DType dtype, double value) override;
    CodeValue number(int64_t index) override;
    CodeValue iota(DType dtype, int width) override;
    CodeValue broadcast(CodeValue scalar, int width) override;
    CodeValue lane(CodeValue vector, int lane) override;
    CodeValue shuffle(CodeValue a, CodeValue b, std::span<const int> lanes) override;
    CodeValue operation(CodeOp op, CodeValue a, CodeValue b) override;
    codegen::Units units() const override {
        return widest_ >= 64 ? codegen::Units::parts_of_floats : codegen::Units::plain;
    }
    std::optional<int> look_up_cost() const override { return backends::look_up_cost(widest_); }
    CodeValue look_up(const codegen::LookUpTable& table, CodeValue index) override {
        llvm::Value* held = llvm::ConstantDataVector::get(builder_.getContext(), llvm::ArrayRef<float>(table));
        return wrap(DType::float32, index.width, look_up_of_sixteen(builder_, held, value(index), widest_));
    }
    CodeValue look_up(CodeValue table, CodeValue index) override {
        return wrap(table.dtype, index.width, look_up_of_sixteen(builder_, value(table), value(index), widest_));
    }
    CodeValue multiply_add(CodeValue a, CodeValue b, CodeValue c) override;
    CodeValue select(CodeValue condition, CodeValue then, CodeValue otherwise) override;
    CodeValue convert(CodeValue value, DType dtype) override;
    CodeValue reinterpret(CodeValue value, DType dtype) override;
    CodeValue any(CodeValue mask) override;
    CodeValue again(CodeValue value) override;
    CodeValue load(const CodeAddress& address, int width, std::optional<CodeValue> mask) override;
    void store(const CodeAddress& address, CodeValue value, std::optional<CodeValue> mask, bool non_temporal) override;
    CodeValue gather(MemoryId memory, CodeValue indices, std::optional<CodeValue> mask) override;
    void scatter(MemoryId memory, CodeValue indices, CodeValue value, std::optional<CodeValue> mask) override;
    void store_compressed(const CodeAddress& address, CodeValue v, CodeValue mask, CodeValue filling,
                          CodeValue fits) override {
        llvm::Value *lanes = to_memory(v), *rest = to_memory(broadcast(filling, v.width));
        store_packed(builder_, lanes, pointer(address), value(mask), rest, value(fits), widest_, tags(address.memory));
    }
    CodeValue address_of(const CodeAddress& address) override;
    void prefetch(CodeValue address, int level) override;
    void place_array(MemoryId memory, CodeValue offset, CodeValue origin) override;
    void report(int position, CodeValue value) override;
    Cell cell(CodeValue initial) override;
    CodeValue get(const Cell& cell) override;
    void set(const Cell& cell, CodeValue value) override;
    Cells cells(DType dtype, int width, int64_t count) override;
    CodeValue get(const Cells& cells, CodeValue index) override;
    void set(const Cells& cells, CodeValue index, CodeValue value) override;
    void repeat(CodeValue first, CodeValue end, int64_t step, const std::function<void(CodeValue)>& body) override;
    void repeat_while(const std::function<CodeValue()>& condition, const Action& body) override;
    void branch(CodeValue condition, const Action& then, const Action& otherwise) override;
    void rarely(CodeValue condition, const Action& then) override;
    void stop(int status) override;
    void comment(const std::string&) override {}
    CodeValue task_begin() override { return wrap(DType::int64, 1, function_->getArg(2)); }
    CodeValue task_end() override { return wrap(DType::int64, 1, function_->getArg(3)); }

private:
    static CodeValue wrap(DType dtype, int width, llvm::Value* value) {
        return {dtype, width, reinterpret_cast<uintptr_t>(value)};
    }
    static llvm::Value* value(CodeValue v) { return reinterpret_cast<llvm::Value*>(v.handle); }
    llvm::Type* scalar_type(DType dtype);
    llvm::Type* memory_type(DType dtype) { return is_bool(dtype) ? builder_.getInt8Ty() : scalar_type(dtype); }
    llvm::Type* type(DType dtype, int width) { return vector(scalar_type(dtype), width); }
    static llvm::Type* vector(llvm::Type* element, int width) {
        return width == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
    }
    DType dtype_of(MemoryId memory) const { return tree_.memory(memory).dtype; }
    // Machines gather words of 32 bits: smaller elements come with what lies behind them.
    bool reads_words(MemoryId memory) const { return tree_.memory(memory).slack && bytes(dtype_of(memory)) < 4; }
    // Inputs and weights may lie at any address (a file has them wherever the bytes before end); the rest is ours.
    llvm::Align alignment(MemoryId memory) const {
        const Memory& m = tree_.memory(memory);
        const bool is_lent = m.kind == Memory::Kind::input && !m.aligned;
        return llvm::Align(is_lent ? 1 : static_cast<uint64_t>(bytes(m.dtype)));
    }
    llvm::Value* pointer(const CodeAddress& address);
    llvm::Value* pointer(const Cells& cells, CodeValue index);
    llvm::Value* from_memory(DType dtype, llvm::Value* raw);
    llvm::Value* to_memory(CodeValue v);
    llvm::Instruction* tag(MemoryId memory, llvm::Instruction* access);
    TagAccess tags(MemoryId memory) {
        return [this, memory](llvm::Instruction* access) { tag(memory, access); };
    }
    llvm::Value* full_mask(int width);
    llvm::Value* gathered(MemoryId memory, llvm::Type* loaded, llvm::Value* places, llvm::Align align,
                          std::optional<CodeValue> mask);
    void store_streaming(const CodeAddress& address, llvm::Value* raw);
    void make_alias_scopes();
    llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }
    void jump(llvm::BasicBlock* target) {
        if (!builder_.GetInsertBlock()->getTerminator()) builder_.CreateBr(target);
    }

    llvm::LLVMContext& context_;
    llvm::Module& module_;
    const Tree& tree_;
    const int widest_;
    llvm::Function* function_;
    llvm::IRBuilder<> builder_;
    llvm::BasicBlock* entry_;
    llvm::Instruction* cells_end_ = nullptr;  // allocas stand before it
    llvm::Value* scratch_ = nullptr;
    llvm::GlobalVariable* zeros_ = nullptr;  // what a load that is not to happen reads
    std::vector<llvm::Value*> memories_;
    std::vector<llvm::MDNode*> scopes_, others_;  // of each memory
    std::map<int64_t, llvm::Value*> numbers_;
    struct Written {
        llvm::Function* function = nullptr;
        Values results;  // of its own body: their types
    };
    Written write_function(const std::string& name, std::span<const CodeValue> arguments,
                           const std::function<Values(std::span<const CodeValue>)>& body);
    std::map<std::string, Written> functions_;
    bool streams_ = false;
};

LlvmCode::LlvmCode(llvm::Module& module, const Tree& tree, const std::string& name, int widest)
    : context_(module.getContext()), module_(module), tree_(tree), widest_(widest), builder_(context_) {
    llvm::Type* pointer_type = builder_.getPtrTy();
    llvm::Type* int64 = builder_.getInt64Ty();
    auto* signature = llvm::FunctionType::get(builder_.getInt32Ty(), {pointer_type, pointer_type, int64, int64}, false);
    function_ = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr("prefer-vector-width", "512");
    for (unsigned i = 0; i < 2; i++) {  // the tables of buffers and numbers are never written to
        function_->addParamAttr(i, llvm::Attribute::NoAlias);
        function_->addParamAttr(i, llvm::Attribute::ReadOnly);
    }
    entry_ = new_block("entry");
    builder_.SetInsertPoint(entry_);
    make_alias_scopes();
    const size_t buffers = tree.buffers();
    const auto buffer = [&](size_t i) {
        return builder_.CreateLoad(pointer_type, builder_.CreateConstGEP1_64(pointer_type, function_->getArg(0), i));
    };
    memories_.resize(tree.memories.size());
    for (size_t i = 0; i < buffers; i++) memories_[i] = buffer(i);
    scratch_ = buffer(buffers);
    for (size_t i = 0; i < tree.numbers.size(); i++) {
        numbers_[static_cast<int64_t>(i)] =
            builder_.CreateLoad(int64, builder_.CreateConstGEP1_64(int64, function_->getArg(1), i));
    }
    llvm::BasicBlock* start = new_block("start");
    cells_end_ = builder_.CreateBr(start);
    builder_.SetInsertPoint(start);
    auto* zero_type = llvm::ArrayType::get(builder_.getInt8Ty(), 64);
    zeros_ = new llvm::GlobalVariable(module, zero_type, true, llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantAggregateZero::get(zero_type), "zeros");
    zeros_->setAlignment(llvm::Align(64));
}

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

void LlvmCode::finish() {
    // Streaming stores are not ordered by what the runtime does to publish results.
    if (streams_) builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    builder_.CreateRet(builder_.getInt32(0));
}

llvm::Type* LlvmCode::scalar_type(DType dtype) {
    switch (dtype) {
    case DType::boolean: return builder_.getInt1Ty();
    case DType::float16: return builder_.getHalfTy();
    case DType::float32: return builder_.getFloatTy();
    case DType::float64: return builder_.getDoubleTy();
    default: return builder_.getIntNTy(static_cast<unsigned>(bytes(dtype) * 8));
    }
}

LlvmCode::Written LlvmCode::write_function(const std::string& name, std::span<const CodeValue> arguments,
                                           const std::function<Values(std::span<const CodeValue>)>& body) {
    llvm::SmallVector<llvm::Type*> taken, given;
    for (const CodeValue& argument : arguments) taken.push_back(value(argument)->getType());
    const llvm::IRBuilderBase::InsertPointGuard place(builder_);
    llvm::Function* const caller = function_;
    llvm::Instruction* const cells_end = cells_end_;
    // The types of the results are known when the body is written: it is moved then.
    auto* draft = llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), taken, false),
                                         llvm::Function::InternalLinkage, name, module_);
    function_ = draft;
    llvm::BasicBlock *entry = new_block("entry"), *start = new_block("start");
    builder_.SetInsertPoint(entry);
    cells_end_ = builder_.CreateBr(start);
    builder_.SetInsertPoint(start);
    Values parameters;
    for (size_t i = 0; i < arguments.size(); i++)
        parameters.push_back(wrap(arguments[i].dtype, arguments[i].width, draft->getArg(static_cast<unsigned>(i))));
    Written written{nullptr, body(parameters)};
    for (const CodeValue& result : written.results) given.push_back(value(result)->getType());
    auto* results = llvm::StructType::get(context_, given);
    written.function = llvm::Function::Create(llvm::FunctionType::get(results, taken, false),
                                              llvm::Function::InternalLinkage, "", module_);
    llvm::Value* all = llvm::PoisonValue::get(results);
    for (unsigned i = 0; i < written.results.size(); i++)
        all = builder_.CreateInsertValue(all, value(written.results[i]), i);
    builder_.CreateRet(all);
    written.function->splice(written.function->begin(), draft);
    for (size_t i = 0; i < arguments.size(); i++)
        draft->getArg(static_cast<unsigned>(i))->replaceAllUsesWith(written.function->getArg(static_cast<unsigned>(i)));
    written.function->takeName(draft);
    draft->eraseFromParent();
    for (const llvm::Attribute::AttrKind kind : {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline})
        written.function->addFnAttr(kind);
    written.function->addFnAttr("prefer-vector-width", "512");
    written.function->setDoesNotAccessMemory();
    function_ = caller;
    cells_end_ = cells_end;
    return written;
}

// What always runs is written in place: a call would cost the registers around it.
codegen::Code::Values LlvmCode::function(const std::string& name, std::span<const CodeValue> arguments,
                                         codegen::Runs runs,
                                         const std::function<Values(std::span<const CodeValue>)>& body) {
    if (runs == codegen::Runs::always) return body(arguments);
    const std::string key = fmt::format("{}_{}_x{}", name, heddle::name(arguments[0].dtype), arguments[0].width);
    auto found = functions_.find(key);
    if (found == functions_.end()) found = functions_.emplace(key, write_function(key, arguments, body)).first;
    llvm::SmallVector<llvm::Value*> given;
    for (const CodeValue& argument : arguments) given.push_back(value(argument));
    llvm::Value* made = builder_.CreateCall(found->second.function, given);
    Values results;
    for (const CodeValue& result : found->second.results) {
        results.push_back(
            wrap(result.dtype, result.width, builder_.CreateExtractValue(made, static_cast<unsigned>(results.size()))));
    }
    return results;
}

CodeValue LlvmCode::integer(DType dtype, int64_t value) {
    return wrap(dtype, 1, llvm::ConstantInt::get(scalar_type(dtype), static_cast<uint64_t>(value), true));
}
CodeValue LlvmCode::real(DType dtype, double value) {
    return wrap(dtype, 1, llvm::ConstantFP::get(scalar_type(dtype), value));
}
CodeValue LlvmCode::number(int64_t index) { return wrap(DType::int64, 1, numbers_.at(index)); }

CodeValue LlvmCode::iota(DType dtype, int width) {
    llvm::SmallVector<llvm::Constant*> lanes;
    for (int l = 0; l < width; l++) {
        lanes.push_back(is_float(dtype) ? llvm::ConstantFP::get(scalar_type(dtype), l)
                                        : llvm::ConstantInt::get(scalar_type(dtype), static_cast<uint64_t>(l)));
    }
    return wrap(dtype, width, width == 1 ? lanes[0] : llvm::ConstantVector::get(lanes));
}

CodeValue LlvmCode::broadcast(CodeValue scalar, int width) {
    if (width == 1) return scalar;
    return wrap(scalar.dtype, width, builder_.CreateVectorSplat(static_cast<unsigned>(width), value(scalar)));
}
CodeValue LlvmCode::lane(CodeValue vector, int lane) {
    if (vector.width == 1) return vector;
    return wrap(vector.dtype, 1, builder_.CreateExtractElement(value(vector), static_cast<uint64_t>(lane)));
}
CodeValue LlvmCode::shuffle(CodeValue a, CodeValue b, std::span<const int> lanes) {
    const llvm::SmallVector<int> mask(lanes.begin(), lanes.end());
    return wrap(a.dtype, static_cast<int>(lanes.size()), builder_.CreateShuffleVector(value(a), value(b), mask));
}

CodeValue LlvmCode::operation(CodeOp op, CodeValue a, CodeValue b) {
    const bool real = is_float(a.dtype);
    const bool is_signed = info(a.dtype).kind == DTypeClass::signed_integer;
    llvm::Value *x = value(a), *y = value(b);
    const auto result = [&](llvm::Value* v) { return wrap(a.dtype, a.width, v); };
    const auto truth = [&](llvm::Value* v) { return wrap(DType::boolean, a.width, v); };
    const auto unary = [&](llvm::Intrinsic::ID id) { return result(builder_.CreateUnaryIntrinsic(id, x)); };
    switch (op) {
    case CodeOp::add: return result(real ? builder_.CreateFAdd(x, y) : builder_.CreateAdd(x, y));
    case CodeOp::subtract: return result(real ? builder_.CreateFSub(x, y) : builder_.CreateSub(x, y));
    case CodeOp::multiply: return result(real ? builder_.CreateFMul(x, y) : builder_.CreateMul(x, y));
    case CodeOp::divide:
        if (real) return result(builder_.CreateFDiv(x, y));
        return result(is_signed ? builder_.CreateSDiv(x, y) : builder_.CreateUDiv(x, y));
    case CodeOp::remainder: return result(is_signed ? builder_.CreateSRem(x, y) : builder_.CreateURem(x, y));
    case CodeOp::bit_and: return result(builder_.CreateAnd(x, y));
    case CodeOp::bit_or: return result(builder_.CreateOr(x, y));
    case CodeOp::bit_xor: return result(builder_.CreateXor(x, y));
    case CodeOp::shift_left: return result(builder_.CreateShl(x, y));
    case CodeOp::shift_right: return result(is_signed ? builder_.CreateAShr(x, y) : builder_.CreateLShr(x, y));
    case CodeOp::equal: return truth(real ? builder_.CreateFCmpOEQ(x, y) : builder_.CreateICmpEQ(x, y));
    case CodeOp::not_equal: return truth(real ? builder_.CreateFCmpUNE(x, y) : builder_.CreateICmpNE(x, y));
    case CodeOp::less:
        if (real) return truth(builder_.CreateFCmpOLT(x, y));
        return truth(is_signed ? builder_.CreateICmpSLT(x, y) : builder_.CreateICmpULT(x, y));
    case CodeOp::less_equal:
        if (real) return truth(builder_.CreateFCmpOLE(x, y));
        return truth(is_signed ? builder_.CreateICmpSLE(x, y) : builder_.CreateICmpULE(x, y));
    case CodeOp::negate: return result(builder_.CreateFNeg(x));
    case CodeOp::square_root: return unary(llvm::Intrinsic::sqrt);
    case CodeOp::floor: return unary(llvm::Intrinsic::floor);
    case CodeOp::ceil: return unary(llvm::Intrinsic::ceil);
    case CodeOp::round: return unary(llvm::Intrinsic::roundeven);
    case CodeOp::truncate: return unary(llvm::Intrinsic::trunc);
    case CodeOp::count_bits: return unary(llvm::Intrinsic::ctpop);
    case CodeOp::dot_pairs: return result(dot_pairs(builder_, x, y, widest_));
    case CodeOp::scale:
    case CodeOp::exponent_of:
    case CodeOp::significand_of:
    case CodeOp::reciprocal_root_estimate: return result(avx512_operation(builder_, op, x, y));
    }
    return a;
}

CodeValue LlvmCode::multiply_add(CodeValue a, CodeValue b, CodeValue c) {
    return wrap(
        a.dtype, a.width,
        builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type(a.dtype, a.width)}, {value(a), value(b), value(c)}));
}

CodeValue LlvmCode::select(CodeValue condition, CodeValue then, CodeValue otherwise) {
    return wrap(then.dtype, then.width, builder_.CreateSelect(value(condition), value(then), value(otherwise)));
}

CodeValue LlvmCode::convert(CodeValue v, DType dtype) {
    llvm::Type* to = type(dtype, v.width);
    const bool from_signed = info(v.dtype).kind == DTypeClass::signed_integer;
    const bool to_signed = info(dtype).kind == DTypeClass::signed_integer;
    llvm::Value* x = value(v);
    if (is_float(v.dtype) && is_float(dtype)) return wrap(dtype, v.width, builder_.CreateFPCast(x, to));
    if (is_float(v.dtype)) {
        return wrap(dtype, v.width, to_signed ? builder_.CreateFPToSI(x, to) : builder_.CreateFPToUI(x, to));
    }
    if (is_float(dtype)) {
        return wrap(dtype, v.width, from_signed ? builder_.CreateSIToFP(x, to) : builder_.CreateUIToFP(x, to));
    }
    return wrap(dtype, v.width, builder_.CreateIntCast(x, to, from_signed));
}

CodeValue LlvmCode::reinterpret(CodeValue v, DType dtype) {
    return wrap(dtype, v.width, builder_.CreateBitCast(value(v), type(dtype, v.width)));
}

CodeValue LlvmCode::any(CodeValue mask) {
    if (mask.width == 1) return mask;
    return wrap(DType::boolean, 1, builder_.CreateOrReduce(value(mask)));
}

CodeValue LlvmCode::again(CodeValue v) {
    llvm::Type* int64 = builder_.getInt64Ty();
    auto* same = llvm::InlineAsm::get(llvm::FunctionType::get(int64, {int64}, false), "", "=r,0", false);
    return wrap(v.dtype, 1, builder_.CreateCall(same, {value(v)}));
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

Cell LlvmCode::cell(CodeValue initial) {
    llvm::IRBuilder<> at_entry(cells_end_);
    llvm::Value* place = at_entry.CreateAlloca(type(initial.dtype, initial.width));
    builder_.CreateStore(value(initial), place);
    return {initial.dtype, initial.width, reinterpret_cast<uintptr_t>(place)};
}
CodeValue LlvmCode::get(const Cell& cell) {
    return wrap(cell.dtype, cell.width,
                builder_.CreateLoad(type(cell.dtype, cell.width), reinterpret_cast<llvm::Value*>(cell.handle)));
}
void LlvmCode::set(const Cell& cell, CodeValue v) {
    builder_.CreateStore(value(v), reinterpret_cast<llvm::Value*>(cell.handle));
}

Cells LlvmCode::cells(DType dtype, int width, int64_t count) {
    llvm::IRBuilder<> at_entry(cells_end_);
    llvm::Value* place = at_entry.CreateAlloca(type(dtype, width), at_entry.getInt64(static_cast<uint64_t>(count)));
    return {dtype, width, reinterpret_cast<uintptr_t>(place)};
}
llvm::Value* LlvmCode::pointer(const Cells& cells, CodeValue index) {
    return builder_.CreateGEP(type(cells.dtype, cells.width), reinterpret_cast<llvm::Value*>(cells.handle),
                              value(index));
}
CodeValue LlvmCode::get(const Cells& cells, CodeValue index) {
    return wrap(cells.dtype, cells.width, builder_.CreateLoad(type(cells.dtype, cells.width), pointer(cells, index)));
}
void LlvmCode::set(const Cells& cells, CodeValue index, CodeValue v) {
    builder_.CreateStore(value(v), pointer(cells, index));
}

// Rotated at once: a guard, then a loop that tests at its end.
void LlvmCode::repeat(CodeValue first, CodeValue end, int64_t step, const std::function<void(CodeValue)>& body) {
    llvm::BasicBlock *before = new_block("before"), *loop = new_block("loop"), *after = new_block("after");
    builder_.CreateCondBr(builder_.CreateICmpSLT(value(first), value(end)), before, after);
    builder_.SetInsertPoint(before);
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* variable = builder_.CreatePHI(builder_.getInt64Ty(), 2);
    variable->addIncoming(value(first), before);
    body(wrap(DType::int64, 1, variable));
    llvm::Value* next = builder_.CreateNSWAdd(variable, builder_.getInt64(static_cast<uint64_t>(step)));
    variable->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpSLT(next, value(end)), loop, after);
    builder_.SetInsertPoint(after);
}

void LlvmCode::repeat_while(const std::function<CodeValue()>& condition, const Action& body) {
    llvm::BasicBlock *head = new_block("while"), *inside = new_block("do"), *after = new_block("done");
    builder_.CreateBr(head);
    builder_.SetInsertPoint(head);
    builder_.CreateCondBr(value(condition()), inside, after);
    builder_.SetInsertPoint(inside);
    body();
    jump(head);
    builder_.SetInsertPoint(after);
}

void LlvmCode::branch(CodeValue condition, const Action& then, const Action& otherwise) {
    llvm::BasicBlock *yes = new_block("then"), *no = new_block("else"), *after = new_block("join");
    builder_.CreateCondBr(value(condition), yes, no);
    builder_.SetInsertPoint(yes);
    then();
    jump(after);
    builder_.SetInsertPoint(no);
    otherwise();
    jump(after);
    builder_.SetInsertPoint(after);
}

void LlvmCode::rarely(CodeValue condition, const Action& then) {
    llvm::BasicBlock *yes = new_block("rare"), *after = new_block("usual");
    builder_.CreateCondBr(value(condition), yes, after, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    builder_.SetInsertPoint(yes);
    then();
    jump(after);
    builder_.SetInsertPoint(after);
}

void LlvmCode::stop(int status) { builder_.CreateRet(builder_.getInt32(static_cast<uint32_t>(status))); }

}  // namespace

std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const Tree& tree,
                                           const std::string& function_name, int widest) {
    auto module = std::make_unique<llvm::Module>(function_name, context);
    LlvmCode code(*module, tree, function_name, widest);
    codegen::walk(tree, code);
    code.finish();
    return module;
}

}  // namespace heddle::backends
