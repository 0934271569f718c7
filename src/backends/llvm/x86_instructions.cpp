#include "backends/llvm/x86_instructions.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace heddle::backends {
namespace {

using codegen::CodeOp;

// Of vectors of 128, 256 and 512 bits.
using Sizes = std::array<llvm::Intrinsic::ID, 3>;

#define SIZES(name)                                                                      \
    {llvm::Intrinsic::x86_avx512_##name##_128, llvm::Intrinsic::x86_avx512_##name##_256, \
     llvm::Intrinsic::x86_avx512_##name##_512}
const Sizes scale[] = {SIZES(mask_scalef_ps), SIZES(mask_scalef_pd)};
const Sizes exponent[] = {SIZES(mask_getexp_ps), SIZES(mask_getexp_pd)};
const Sizes significand[] = {SIZES(mask_getmant_ps), SIZES(mask_getmant_pd)};
const Sizes root_estimate[] = {SIZES(rsqrt14_ps), SIZES(rsqrt14_pd)};
#undef SIZES

constexpr int significand_from_three_quarters_nan_below_zero = 3 | 3 << 2;
constexpr int round_as_set = 4;

unsigned lanes_of(llvm::Value* vector) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
    return type ? type->getNumElements() : 1;
}

llvm::Value* lanes(llvm::IRBuilder<>& builder, llvm::Value* vector, unsigned first, unsigned count) {
    llvm::SmallVector<int> mask;
    const unsigned held = lanes_of(vector);
    for (unsigned i = first; i < first + count; i++) mask.push_back(i < held ? static_cast<int>(i) : -1);
    return builder.CreateShuffleVector(vector, mask);
}

// `made` of pieces of `least` .. `most` lanes; further lanes are of no value.
template <typename F>
llvm::Value* in_pieces(llvm::IRBuilder<>& builder, std::initializer_list<llvm::Value*> operands, unsigned least,
                       unsigned most, F made) {
    llvm::SmallVector<llvm::Value*> whole;
    for (llvm::Value* v : operands) {
        if (!v->getType()->isVectorTy()) v = builder.CreateVectorSplat(least, v);
        whole.push_back(v);
    }
    const bool is_scalar = !(*operands.begin())->getType()->isVectorTy();
    const unsigned width = lanes_of(whole[0]), piece = std::min(std::max(width, least), most);
    llvm::Value* result = nullptr;
    for (unsigned first = 0; first < width; first += piece) {
        llvm::SmallVector<llvm::Value*> part;
        for (llvm::Value* v : whole) part.push_back(piece == width ? v : lanes(builder, v, first, piece));
        llvm::Value* next = made(part);
        if (!result) {
            result = next;
            continue;
        }
        llvm::SmallVector<int> both;
        for (unsigned i = 0; i < first + piece; i++) both.push_back(static_cast<int>(i));
        result = builder.CreateShuffleVector(result, lanes(builder, next, 0, first), both);
    }
    if (is_scalar) return builder.CreateExtractElement(result, uint64_t{0});
    return lanes_of(result) == width ? result : lanes(builder, result, 0, width);
}

}  // namespace

llvm::Value* avx512_operation(llvm::IRBuilder<>& builder, CodeOp op, llvm::Value* a, llvm::Value* b) {
    const bool wide = a->getType()->getScalarType()->isDoubleTy();
    const unsigned least = wide ? 2 : 4;
    const auto one = [&](const llvm::SmallVector<llvm::Value*>& v) -> llvm::Value* {
        const unsigned width = lanes_of(v[0]);
        const size_t size = width == least ? 0 : width == 2 * least ? 1 : 2;
        llvm::Type* type = v[0]->getType();
        const Sizes* sizes = op == CodeOp::scale            ? scale
                             : op == CodeOp::exponent_of    ? exponent
                             : op == CodeOp::significand_of ? significand
                                                            : root_estimate;
        llvm::SmallVector<llvm::Value*> arguments(v.begin(), v.end());
        if (op == CodeOp::significand_of)
            arguments.push_back(builder.getInt32(significand_from_three_quarters_nan_below_zero));
        arguments.push_back(llvm::Constant::getNullValue(type));
        arguments.push_back(llvm::Constant::getAllOnesValue(builder.getIntNTy(std::max(width, 8U))));
        if (size == 2 && op != CodeOp::reciprocal_root_estimate) arguments.push_back(builder.getInt32(round_as_set));
        return builder.CreateIntrinsic(sizes[wide][size], {}, arguments);
    };
    if (op == CodeOp::scale) return in_pieces(builder, {a, b}, least, 4 * least, one);
    return in_pieces(builder, {a}, least, 4 * least, one);
}

static llvm::Value* look_up_of_bytes(llvm::IRBuilder<>& builder, llvm::Value* table, llvm::Value* index, int widest) {
    return in_pieces(builder, {index}, 16, static_cast<unsigned>(widest),
                     [&](const llvm::SmallVector<llvm::Value*>& v) -> llvm::Value* {
                         const unsigned width = lanes_of(v[0]);
                         const auto id = width == 64   ? llvm::Intrinsic::x86_avx512_pshuf_b_512
                                         : width == 32 ? llvm::Intrinsic::x86_avx2_pshuf_b
                                                       : llvm::Intrinsic::x86_ssse3_pshuf_b_128;
                         llvm::SmallVector<int> again;  // in each 16 lanes of the register
                         for (unsigned i = 0; i < width; i++) again.push_back(static_cast<int>(i % 16));
                         return builder.CreateIntrinsic(id, {}, {builder.CreateShuffleVector(table, again), v[0]});
                     });
}

// By two permutes of eight, of which the fourth bit chooses.
static llvm::Value* look_up_of_halves(llvm::IRBuilder<>& builder, llvm::Value* table, llvm::Value* index) {
    return in_pieces(builder, {index}, 8, 8, [&](const llvm::SmallVector<llvm::Value*>& v) -> llvm::Value* {
        const auto half = [&](unsigned first) {
            return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {},
                                           {lanes(builder, table, first, 8), v[0]});
        };
        llvm::Value* is_upper =
            builder.CreateICmpSLT(builder.CreateShl(v[0], 28), llvm::Constant::getNullValue(v[0]->getType()));
        return builder.CreateSelect(is_upper, half(8), half(0));
    });
}

llvm::Value* look_up_of_sixteen(llvm::IRBuilder<>& builder, llvm::Value* table, llvm::Value* index, int widest) {
    if (table->getType()->getScalarType()->isIntegerTy(8)) return look_up_of_bytes(builder, table, index, widest);
    if (widest < 64) return look_up_of_halves(builder, table, index);
    return in_pieces(builder, {index}, 16, 16, [&](const llvm::SmallVector<llvm::Value*>& v) -> llvm::Value* {
        return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table, v[0]});
    });
}

llvm::Value* dot_pairs(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, int widest) {
    const unsigned width = lanes_of(a);
    const auto id = width == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                    : width == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                 : llvm::Intrinsic::x86_sse2_pmadd_wd;
    if ((width == 4 && widest >= 16) || (width == 8 && widest >= 32) || (width == 16 && widest >= 64)) {
        llvm::Type* halves = llvm::FixedVectorType::get(builder.getInt16Ty(), 2 * width);
        return builder.CreateIntrinsic(id, {}, {builder.CreateBitCast(a, halves), builder.CreateBitCast(b, halves)});
    }
    const auto low = [&](llvm::Value* x) { return builder.CreateAShr(builder.CreateShl(x, 16), 16); };
    const auto high = [&](llvm::Value* x) { return builder.CreateAShr(x, 16); };
    return builder.CreateAdd(builder.CreateMul(low(a), low(b)), builder.CreateMul(high(a), high(b)));
}

// Of each mask of so many lanes, which lane comes to which place: first those of the mask, then the others. A lane is
// `words` words of 32 bits.
static llvm::Constant* packing_orders(llvm::IRBuilder<>& builder, unsigned width, unsigned words) {
    llvm::Module& module = *builder.GetInsertBlock()->getModule();
    const std::string name = fmt::format("packing_orders_{}x{}", width, words);
    if (llvm::Constant* found = module.getNamedGlobal(name)) return found;
    std::vector<uint8_t> orders;
    for (unsigned mask = 0; mask < 1U << width; mask++) {
        for (const bool of_mask : {true, false}) {
            for (unsigned lane = 0; lane < width; lane++) {
                if ((mask >> lane & 1) != of_mask) continue;
                for (unsigned word = 0; word < words; word++)
                    orders.push_back(static_cast<uint8_t>(lane * words + word));
            }
        }
        orders.resize((mask + 1) * 8);  // a vector of 8 words; what lies behind is not used
    }
    llvm::Constant* held = llvm::ConstantDataArray::get(builder.getContext(), orders);
    auto* global =
        new llvm::GlobalVariable(module, held->getType(), true, llvm::GlobalValue::PrivateLinkage, held, name);
    global->setAlignment(llvm::Align(64));
    return global;
}

// A vector of 8 words by a permute, whose order is a look-up: some machines are slow at pext.
static llvm::Value* packed_by_table(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* mask) {
    llvm::Type* type = value->getType();
    const unsigned width = lanes_of(value), words = type->getScalarSizeInBits() / 32;
    llvm::Type *narrow = llvm::FixedVectorType::get(builder.getInt8Ty(), 8),
               *wide = llvm::FixedVectorType::get(builder.getInt32Ty(), 8);
    llvm::Value* bits = builder.CreateZExt(builder.CreateBitCast(mask, builder.getIntNTy(width)), builder.getInt64Ty());
    llvm::Value* place = builder.CreateGEP(narrow, packing_orders(builder, width, words), bits);
    llvm::Value* order = builder.CreateZExt(builder.CreateAlignedLoad(narrow, place, llvm::Align(8)), wide);
    llvm::Value* given = builder.CreateBitCast(value, llvm::FixedVectorType::get(builder.getInt32Ty(), width * words));
    llvm::Value* all = width * words == 8 ? given : lanes(builder, given, 0, 8);
    llvm::Value* permuted = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {all, order});
    if (width * words != 8) permuted = lanes(builder, permuted, 0, width * words);
    return builder.CreateBitCast(permuted, type);
}

llvm::Value* packed_lanes(llvm::IRBuilder<>& builder, llvm::Value* value, llvm::Value* mask, llvm::Value* filling,
                          int widest) {
    if (widest >= 64)
        return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {value->getType()},
                                       {value, filling, mask});
    return packed_by_table(builder, builder.CreateSelect(mask, value, filling), mask);
}

void count_under_masks(llvm::Function& function) {
    using namespace llvm::PatternMatch;
    for (llvm::Instruction& found : llvm::make_early_inc_range(llvm::instructions(function))) {
        llvm::Value *sum, *mask;
        if (!match(&found, m_c_Add(m_Value(sum), m_OneUse(m_ZExt(m_Value(mask)))))) continue;
        const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
        if (!type || !type->getElementType()->isIntegerTy(1)) continue;
        llvm::IRBuilder<> builder(&found);
        llvm::Value* next = builder.CreateAdd(sum, llvm::ConstantInt::get(sum->getType(), 1));
        found.replaceAllUsesWith(builder.CreateSelect(mask, next, sum));
        found.eraseFromParent();
    }
}

}  // namespace heddle::backends
