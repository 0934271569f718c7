#include "backends/llvm/lane_masks.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <map>
#include <optional>

namespace heddle::backends {
namespace {

namespace intrinsics = llvm::Intrinsic;
using llvm::FixedVectorType;
using llvm::Value;

// What a vector of so many bits has, by the bits of its lanes.
struct Instructions {
    unsigned lane, whole;
    intrinsics::ID compare, choose, signs;
};
constexpr Instructions sizes[] = {
    {32, 128, intrinsics::x86_sse_cmp_ps, intrinsics::x86_sse41_blendvps, intrinsics::x86_sse_movmsk_ps},
    {32, 256, intrinsics::x86_avx_cmp_ps_256, intrinsics::x86_avx_blendv_ps_256, intrinsics::x86_avx_movmsk_ps_256},
    {64, 128, intrinsics::x86_sse2_cmp_pd, intrinsics::x86_sse41_blendvpd, intrinsics::x86_sse2_movmsk_pd},
    {64, 256, intrinsics::x86_avx_cmp_pd_256, intrinsics::x86_avx_blendv_pd_256, intrinsics::x86_avx_movmsk_pd_256},
};
const Instructions* instructions_of(const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<FixedVectorType>(type);
    if (!vector) return nullptr;
    const unsigned lane = vector->getScalarSizeInBits();
    for (const Instructions& size : sizes) {
        if (size.lane == lane && size.whole == lane * vector->getNumElements()) return &size;
    }
    return nullptr;
}

// The vector that a float stands in.
llvm::Type* register_of(llvm::Type* type) {
    if (type->isFloatTy() || type->isDoubleTy()) return FixedVectorType::get(type, type->isFloatTy() ? 4 : 2);
    return type;
}
unsigned lane_count(const llvm::Type* type) {
    const auto* vector = llvm::dyn_cast<FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
}

// Two masks that are one, by a bitwise operation or by a choice between one of them and a constant.
struct Joined {
    llvm::Instruction::BinaryOps by;
    Value *a, *b;
};
std::optional<Joined> joined(Value* mask) {
    using namespace llvm::PatternMatch;
    Value *a, *b;
    if (match(mask, m_LogicalAnd(m_Value(a), m_Value(b)))) return Joined{llvm::Instruction::And, a, b};
    if (match(mask, m_LogicalOr(m_Value(a), m_Value(b)))) return Joined{llvm::Instruction::Or, a, b};
    if (match(mask, m_Xor(m_Value(a), m_Value(b)))) return Joined{llvm::Instruction::Xor, a, b};
    return std::nullopt;
}
// Those that the mask is joined of.
llvm::SmallVector<llvm::CmpInst*> comparisons(Value* mask) {
    llvm::SmallVector<llvm::CmpInst*> found;
    llvm::SmallSetVector<Value*, 16> parts;
    parts.insert(mask);
    for (size_t i = 0; i < parts.size(); i++) {
        if (const auto both = joined(parts[i])) {
            parts.insert(both->a);
            parts.insert(both->b);
        } else if (auto* compared = llvm::dyn_cast<llvm::CmpInst>(parts[i])) {
            found.push_back(compared);
        }
    }
    return found;
}

// The immediate operand of vcmpps; that of the comparisons that say nothing is none.
int condition_of(llvm::CmpInst::Predicate predicate) {
    switch (predicate) {
    case llvm::CmpInst::FCMP_OEQ: return 0x00;
    case llvm::CmpInst::FCMP_UNO: return 0x03;
    case llvm::CmpInst::FCMP_UNE: return 0x04;
    case llvm::CmpInst::FCMP_ORD: return 0x07;
    case llvm::CmpInst::FCMP_UEQ: return 0x08;
    case llvm::CmpInst::FCMP_ONE: return 0x0C;
    case llvm::CmpInst::FCMP_OLT: return 0x11;
    case llvm::CmpInst::FCMP_OLE: return 0x12;
    case llvm::CmpInst::FCMP_UGE: return 0x15;
    case llvm::CmpInst::FCMP_UGT: return 0x16;
    case llvm::CmpInst::FCMP_ULT: return 0x19;
    case llvm::CmpInst::FCMP_ULE: return 0x1A;
    case llvm::CmpInst::FCMP_OGE: return 0x1D;
    case llvm::CmpInst::FCMP_OGT: return 0x1E;
    default: return -1;
    }
}

class MaskWidener {
public:
    explicit MaskWidener(llvm::Function& function) : function_(function) {}

    void run() {
        llvm::SmallVector<llvm::Instruction*> found;
        for (llvm::Instruction& instruction : llvm::instructions(function_)) found.push_back(&instruction);
        for (llvm::Instruction* instruction : found) replace(instruction);
        for (llvm::WeakTrackingVH& mask : left_) {
            if (mask) llvm::RecursivelyDeleteTriviallyDeadInstructions(mask);
        }
    }

private:
    void replace(llvm::Instruction* user) {
        if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(user)) return replace_choice(choice);
        Value* mask = nullptr;
        using namespace llvm::PatternMatch;
        if (match(user, m_Intrinsic<intrinsics::vector_reduce_or>(m_Value(mask)))) replace_question(user, mask);
    }

    void replace_choice(llvm::SelectInst* choice) {
        llvm::Type* const type = register_of(choice->getType());
        const Instructions* size = instructions_of(type);
        const bool is_vector = choice->getCondition()->getType()->isVectorTy();
        if (!size || !joined(choice->getCondition()) || is_vector != choice->getType()->isVectorTy()) return;
        // One float is chosen by a branch, which is guessed wrong where data decide.
        const auto compares_floats = [](llvm::CmpInst* part) { return llvm::isa<llvm::FCmpInst>(part); };
        if (!is_vector && llvm::none_of(comparisons(choice->getCondition()), compares_floats)) return;
        Value* mask = wide(choice->getCondition(), *size);
        llvm::IRBuilder<> builder(choice);
        const auto lanes = [&](Value* v) { return as_floats(builder, in_register(builder, v), *size); };
        Value* chosen = builder.CreateIntrinsic(
            size->choose, {}, {lanes(choice->getFalseValue()), lanes(choice->getTrueValue()), lanes(mask)});
        chosen = builder.CreateBitCast(chosen, type);
        if (!is_vector) chosen = builder.CreateExtractElement(chosen, uint64_t{0});
        substitute(choice, choice->getCondition(), chosen);
    }

    // Whether any lane is set; the lanes are as wide as those that are compared.
    void replace_question(llvm::Instruction* question, Value* mask) {
        unsigned bits = 1;
        for (llvm::CmpInst* part : comparisons(mask))
            bits = std::max(bits, part->getOperand(0)->getType()->getScalarSizeInBits());
        if (!joined(mask)) return;
        llvm::Type* lane = llvm::IntegerType::get(question->getContext(), bits);
        const Instructions* size = instructions_of(FixedVectorType::get(lane, lane_count(mask->getType())));
        if (!size) return;
        Value* lanes = wide(mask, *size);
        llvm::IRBuilder<> builder(question);
        Value* signs = builder.CreateIntrinsic(size->signs, {}, {as_floats(builder, lanes, *size)});
        substitute(question, mask, builder.CreateIsNotNull(signs));
    }

    void substitute(llvm::Instruction* old, Value* mask, Value* made) {
        left_.emplace_back(mask);
        old->replaceAllUsesWith(made);
        old->eraseFromParent();
    }

    static Value* as_floats(llvm::IRBuilder<>& builder, Value* v, const Instructions& size) {
        llvm::Type* element = size.lane == 32 ? builder.getFloatTy() : builder.getDoubleTy();
        return builder.CreateBitCast(v, FixedVectorType::get(element, size.whole / size.lane));
    }
    static Value* in_register(llvm::IRBuilder<>& builder, Value* v) {
        llvm::Type* type = register_of(v->getType());
        if (type == v->getType()) return v;
        return builder.CreateInsertElement(llvm::PoisonValue::get(type), v, uint64_t{0});
    }

    // The mask as integers, 0 or -1; made where the mask is. That of one float is lane 0.
    Value* wide(Value* mask, const Instructions& size) {
        Value*& made = wide_[{mask, &size}];
        if (!made) made = make_wide(mask, size);
        return made;
    }

    Value* make_wide(Value* mask, const Instructions& size) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(mask);
        llvm::IRBuilder<> builder(&*function_.getEntryBlock().getFirstInsertionPt());
        llvm::Type* lane = builder.getIntNTy(size.lane);
        llvm::Type* type = FixedVectorType::get(lane, size.whole / size.lane);
        const auto widened = [&]() -> Value* {
            if (mask->getType()->isVectorTy()) return builder.CreateSExt(mask, type);
            Value* one = builder.CreateSExt(mask, lane);
            return builder.CreateInsertElement(llvm::PoisonValue::get(type), one, uint64_t{0});
        };
        if (!instruction) return widened();
        if (const auto both = joined(mask)) {
            Value *a = wide(both->a, size), *b = wide(both->b, size);
            builder.SetInsertPoint(instruction);
            return builder.CreateBinOp(both->by, a, b);
        }
        builder.SetInsertPoint(*instruction->getInsertionPointAfterDef());
        const auto* compared = llvm::dyn_cast<llvm::FCmpInst>(mask);
        const int condition = compared ? condition_of(compared->getPredicate()) : -1;
        if (condition < 0 || instructions_of(register_of(compared->getOperand(0)->getType())) != &size)
            return widened();
        Value* lanes = builder.CreateIntrinsic(
            size.compare, {},
            {in_register(builder, compared->getOperand(0)), in_register(builder, compared->getOperand(1)),
             builder.getInt8(static_cast<uint8_t>(condition))});
        return builder.CreateBitCast(lanes, type);
    }

    llvm::Function& function_;
    std::map<std::pair<Value*, const Instructions*>, Value*> wide_;
    llvm::SmallVector<llvm::WeakTrackingVH> left_;
};

}  // namespace

void widen_joined_masks(llvm::Function& function) {
    if (!function.isDeclaration()) MaskWidener(function).run();
}

}  // namespace heddle::backends
