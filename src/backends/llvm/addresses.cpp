#include "backends/llvm/addresses.h"

#include <vector>

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace heddle::backends {

llvm::PreservedAnalyses AddressesByParts::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    std::vector<llvm::GetElementPtrInst*> open;
    for (llvm::Instruction& one : llvm::instructions(function)) {
        if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&one)) open.push_back(address);
    }
    while (!open.empty()) {
        llvm::GetElementPtrInst* address = open.back();
        open.pop_back();
        if (address->getNumIndices() != 1) continue;
        auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(address->getOperand(1));
        if (!sum || sum->getOpcode() != llvm::Instruction::Add || !sum->hasOneUse()) continue;
        auto* first = llvm::GetElementPtrInst::Create(address->getSourceElementType(), address->getPointerOperand(),
                                                      {sum->getOperand(0)}, "", address->getIterator());
        address->setOperand(0, first);
        address->setOperand(1, sum->getOperand(1));
        address->setNoWrapFlags(llvm::GEPNoWrapFlags::none());
        sum->eraseFromParent();
        open.insert(open.end(), {first, address});
    }
    auto kept = llvm::PreservedAnalyses::none();
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
}

}  // namespace heddle::backends
