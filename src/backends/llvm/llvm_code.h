// codegen::Code as LLVM IR, already vectorised: nothing of it is left to LLVM's own vectorisers.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/llvm/masked_access.h"
#include "codegen/code.h"

namespace heddle::backends {

class LlvmCode : public codegen::Code {
public:
    using CodeValue = codegen::CodeValue;
    using Cell = codegen::Cell;
    using Cells = codegen::Cells;
    using CodeAddress = codegen::CodeAddress;
    using Memory = schedules::Memory;
    using MemoryId = schedules::MemoryId;

    LlvmCode(llvm::Module& module, const schedules::Tree& tree, const std::string& name, int widest);
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
    CodeValue operation(codegen::CodeOp op, CodeValue a, CodeValue b) override;
    codegen::Units units() const override {
        return widest_ >= 64 ? codegen::Units::parts_of_floats : codegen::Units::plain;
    }
    std::optional<int> look_up_cost() const override;
    CodeValue look_up(const codegen::LookUpTable& table, CodeValue index) override;
    CodeValue look_up(CodeValue table, CodeValue index) override;
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
                          CodeValue fits) override;
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
    const schedules::Tree& tree_;
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

// A module with the one function `function_name`, of the signature of codegen::KernelFunction. The tree must pass
// schedules::verify. `widest`: the bytes of the widest vectors for which there are instructions on 16-bit integers; 0: of
// another machine than x86-64.
std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const schedules::Tree& tree,
                                           const std::string& function_name, int widest);

}  // namespace heddle::backends
