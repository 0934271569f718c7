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
    using Memory = schedules::Memory;

    LlvmCode(llvm::Module& module, const schedules::Tree& tree, const std::string& name, int widest);
    void finish();

    // codegen/code_operations.def says what they mean.
#define HEDDLE_CODE_OPERATION(RESULT, NAME, PARAMETERS) RESULT NAME PARAMETERS override;
#include "codegen/code_operations.def"
#undef HEDDLE_CODE_OPERATION
    codegen::Units units() const override {
        return widest_ >= 64 ? codegen::Units::parts_of_floats : codegen::Units::plain;
    }
    std::optional<int> look_up_cost() const override;
    CodeValue look_up(const codegen::LookUpTable& table, CodeValue index) override;
    CodeValue look_up(CodeValue table, CodeValue index) override;

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
