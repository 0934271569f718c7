// What an expression makes of four bits is a table of sixteen, and so are the ways to shift a byte: made once, and kept
// in a register.
#include <utility>

#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {
namespace {

constexpr int64_t entries = 16;

bool is_literal(const Expression& e) { return e.kind == Expression::Kind::integer || e.kind == Expression::Kind::real; }

// The upper four bits of a byte, or fewer.
bool is_upper_half(const Expression& e, const Tree& tree) {
    if (e.kind != Expression::Kind::scalar || e.op != ScalarOp::shift_right || e.dtype != DType::uint8) return false;
    const Expression& by = tree.expression(e.operands[1]);
    return by.kind == Expression::Kind::integer && by.integer >= 4;
}

// Without a division, so that every entry can be made, asked for or not; whole numbers of floats might not be in range.
bool is_for_any(const Expression& e, const Tree& tree) {
    if (e.kind == Expression::Kind::select) return true;
    if (e.kind == Expression::Kind::cast) return is_float(e.dtype) || !is_float(tree.expression(e.operands[0]).dtype);
    const bool divides = e.op == ScalarOp::divide || e.op == ScalarOp::floor_divide || e.op == ScalarOp::modulo ||
                         e.op == ScalarOp::truncate_divide || e.op == ScalarOp::truncate_remainder;
    return e.kind == Expression::Kind::scalar && (!divides || is_float(e.dtype));
}

}  // namespace

// The integer whose low four bits say all that `e`, the expression `id`, depends on; what it takes to make `e` of it.
Walker::FewBits Walker::only_few(const Expression& e, ExpressionId id) const {
    if (e.kind == Expression::Kind::scalar && e.op == ScalarOp::bit_and) {
        for (size_t at : {size_t{0}, size_t{1}}) {
            const Expression& bits = tree_.expression(e.operands[at]);
            const bool is_few = bits.kind == Expression::Kind::integer && !is_bool(e.dtype);
            if (is_few && bits.integer >= 0 && bits.integer < entries) return {e.operands[1 - at], 1};
        }
    }
    if (is_upper_half(e, tree_)) return {id, 0};
    if (!is_for_any(e, tree_)) return {};
    FewBits found = {no_id, e.kind == Expression::Kind::scalar ? info(e.op).cost : 1};
    for (ExpressionId operand : e.operands) {
        if (is_literal(tree_.expression(operand))) continue;
        const FewBits& few = few_[static_cast<size_t>(operand)];
        if (few.of == no_id || (found.of != no_id && few.of != found.of)) return {};
        found = {few.of, found.operations + few.operations};
    }
    return found;
}

// As an int32 in which the low four bits are right. Bits of a narrow integer are moved in a wide one, as machines do.
CodeValue Walker::low_bits(ExpressionId id, int i, int j) {
    const Expression& e = tree_.expression(id);
    const bool moves = e.kind == Expression::Kind::scalar && e.op == ScalarOp::shift_right;
    if (!moves || (e.dtype != DType::uint8 && e.dtype != DType::uint16))
        return cast(code_, evaluate(id, i, j), DType::int32);
    const CodeValue wide[] = {cast(code_, evaluate(e.operands[0], i, j), DType::int32),
                              cast(code_, evaluate(e.operands[1], i, j), DType::int32)};
    return apply(code_, e.op, wide);
}

std::optional<CodeValue> Walker::looked_up(ExpressionId id, int i, int j) {
    const Expression& e = tree_.expression(id);
    const auto [few, operations] = few_[static_cast<size_t>(id)];
    const bool in_lanes = varies_[static_cast<size_t>(id)].lanes && width_ > 1;
    if (few == no_id || e.dtype != DType::float32 || makes_table_ || !in_lanes) return std::nullopt;
    if (const auto cost = code_.look_up_cost(); !cost || operations < *cost) return std::nullopt;
    auto scopes = std::exchange(scopes_, {{}});
    const Varies& varies = varies_[static_cast<size_t>(few)];
    remember(few, varies.rows ? i : 0, varies.lanes ? j : 0, code_.iota(tree_.expression(few).dtype, entries));
    makes_table_ = true;
    const CodeValue table = evaluate(id, i, j);
    makes_table_ = false;
    scopes_ = std::move(scopes);
    return code_.look_up(table, low_bits(few, i, j));
}

// One byte for all lanes, moved by as many bits as each lane says: what comes of it are few bytes, of which the last
// stands for all further ones.
std::optional<CodeValue> Walker::shifted_byte(const Expression& e, int i, int j) {
    if (e.dtype != DType::uint8 || (e.op != ScalarOp::shift_left && e.op != ScalarOp::shift_right)) return std::nullopt;
    const auto in_lanes = [&](ExpressionId operand) { return varies_[static_cast<size_t>(operand)].lanes; };
    if (in_lanes(e.operands[0]) || !in_lanes(e.operands[1]) || width_ < entries || !code_.look_up_cost())
        return std::nullopt;
    const CodeValue moved[] = {evaluate(e.operands[0], i, j), code_.iota(DType::uint8, entries)};
    const CodeValue bits = evaluate(e.operands[1], i, j);
    const CodeValue place[] = {bits, code_.integer(DType::uint8, entries - 1)};
    return code_.look_up(apply(code_, e.op, moved), apply(code_, ScalarOp::minimum, place));
}

}  // namespace heddle::codegen
