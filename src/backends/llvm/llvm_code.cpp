#include "backends/llvm/llvm_code.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include <fmt/format.h>

#include "backends/llvm/x86_instructions.h"

namespace heddle::backends {

using codegen::Cell;
using codegen::Cells;
using codegen::CodeOp;
using codegen::CodeValue;
using schedules::Tree;

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

void LlvmCode::finish() {
    // Streaming stores are not ordered by what the runtime does to publish results.
    if (streams_ && widest_ > 0) builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
    if (streams_ && widest_ == 0) builder_.CreateFence(llvm::AtomicOrdering::Release);
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

// What is compared with itself: whether it is a NaN (uno), or a number (ord).
static llvm::Value* compared_with_itself(llvm::Value* question, llvm::CmpInst::Predicate by) {
    auto* compared = llvm::dyn_cast<llvm::FCmpInst>(question);
    const bool asks = compared && compared->getPredicate() == by && compared->getOperand(0) == compared->getOperand(1);
    return asks ? compared->getOperand(0) : nullptr;
}
// Whether there is a NaN in either (or), or in none (and): one comparison asks of both, also where the first question has been
// joined with others.
static llvm::Value* joined(llvm::IRBuilder<>& builder, llvm::Instruction::BinaryOps by, llvm::Value* x,
                           llvm::Value* y) {
    const bool of_nan = by == llvm::Instruction::Or;
    const auto asked = of_nan ? llvm::CmpInst::FCMP_UNO : llvm::CmpInst::FCMP_ORD;
    llvm::Value *others = nullptr, *last = x, *second = compared_with_itself(y, asked);
    auto* before = llvm::dyn_cast<llvm::BinaryOperator>(x);
    if (before && before->getOpcode() == by) others = before->getOperand(0), last = before->getOperand(1);
    llvm::Value* const first = second ? compared_with_itself(last, asked) : nullptr;
    if (!first || first->getType() != second->getType()) return builder.CreateBinOp(by, x, y);
    llvm::Value* both = builder.CreateFCmp(asked, first, second);
    return others ? builder.CreateBinOp(by, others, both) : both;
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
    case CodeOp::bit_and: return result(joined(builder_, llvm::Instruction::And, x, y));
    case CodeOp::bit_or: return result(joined(builder_, llvm::Instruction::Or, x, y));
    case CodeOp::bit_xor: return result(builder_.CreateXor(x, y));
    case CodeOp::shift_left: return result(builder_.CreateShl(x, y));
    case CodeOp::shift_right: return result(is_signed ? builder_.CreateAShr(x, y) : builder_.CreateLShr(x, y));
    case CodeOp::equal:
        if (real && x == y) return truth(builder_.CreateFCmpORD(x, y));
        return truth(real ? builder_.CreateFCmpOEQ(x, y) : builder_.CreateICmpEQ(x, y));
    case CodeOp::not_equal:
        if (real && x == y) return truth(builder_.CreateFCmpUNO(x, y));
        return truth(real ? builder_.CreateFCmpUNE(x, y) : builder_.CreateICmpNE(x, y));
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

std::optional<int> LlvmCode::look_up_cost() const { return backends::look_up_cost(widest_); }
CodeValue LlvmCode::look_up(const codegen::LookUpTable& table, CodeValue index) {
    llvm::Value* held = llvm::ConstantDataVector::get(builder_.getContext(), llvm::ArrayRef<float>(table));
    return wrap(DType::float32, index.width, look_up_of_sixteen(builder_, held, value(index), widest_));
}
CodeValue LlvmCode::look_up(CodeValue table, CodeValue index) {
    return wrap(table.dtype, index.width, look_up_of_sixteen(builder_, value(table), value(index), widest_));
}

CodeValue LlvmCode::multiply_add(CodeValue a, CodeValue b, CodeValue c) {
    return wrap(
        a.dtype, a.width,
        builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type(a.dtype, a.width)}, {value(a), value(b), value(c)}));
}

// One or zero is the condition itself, as count_under_masks looks for it.
CodeValue LlvmCode::select(CodeValue condition, CodeValue then, CodeValue otherwise) {
    using namespace llvm::PatternMatch;
    if (is_integer(then.dtype) && match(value(then), m_One()) && match(value(otherwise), m_ZeroInt()) &&
        value(condition)->getType()->isVectorTy() == value(then)->getType()->isVectorTy())
        return wrap(then.dtype, then.width, builder_.CreateZExt(value(condition), value(then)->getType()));
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
void LlvmCode::comment(const std::string&) {}

CodeValue LlvmCode::task_begin() { return wrap(DType::int64, 1, function_->getArg(2)); }
CodeValue LlvmCode::task_end() { return wrap(DType::int64, 1, function_->getArg(3)); }

std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const Tree& tree,
                                           const std::string& function_name, int widest) {
    auto module = std::make_unique<llvm::Module>(function_name, context);
    LlvmCode code(*module, tree, function_name, widest);
    codegen::walk(tree, code);
    code.finish();
    return module;
}

}  // namespace heddle::backends
