// Values and addresses of a walk over a tree.
#include <algorithm>
#include <array>
#include <bit>

#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {

std::optional<CodeValue> Walker::remembered(ExpressionId id, int i, int j) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const auto found = scope->find({id, i, j}); found != scope->end()) return found->second;
    }
    return std::nullopt;
}

CodeValue Walker::smaller(CodeValue a, CodeValue b) { return code_.select(integer_op(CodeOp::less, a, b), a, b); }
CodeValue Walker::larger(CodeValue a, CodeValue b) { return code_.select(integer_op(CodeOp::less, a, b), b, a); }

CodeValue Walker::number(const Number& number) {
    return number.launch ? code_.number(number.value) : integer(number.value);
}

CodeValue Walker::scaled(CodeValue value, int64_t scale, const Number& number) {
    if (number.launch)
        value = integer_op(CodeOp::multiply, value, code_.number(number.value));
    else
        scale = static_cast<int64_t>(static_cast<uint64_t>(scale) * static_cast<uint64_t>(number.value));
    return scale == 1 ? value : integer_op(CodeOp::multiply, value, integer(scale));
}

void Walker::add(Index& sum, CodeValue value) {
    sum.value = sum.value ? integer_op(CodeOp::add, *sum.value, value) : value;
}

CodeValue Walker::whole(const Index& index) {
    Index sum = index;
    for (CodeValue move : index.moves) add(sum, move);
    if (!sum.value) return integer(sum.constant);
    return sum.constant == 0 ? *sum.value : integer_op(CodeOp::add, *sum.value, integer(sum.constant));
}

// By a stride that is known at launch only. Three rows share a pointer, from which machines reach one and two strides
// on; and the pointers of a tile's rows move together in the loops inside.
void Walker::move_rows(Index& sum, int64_t rows, const Term& term) {
    constexpr int64_t reached = 3;
    const int64_t near = rows % reached;
    for (int64_t part : {rows - near, near}) {
        if (part != 0) sum.moves.push_back(scaled(integer(part), term.scale, term.number));
    }
}

// A row moves a row variable by one, a vector moves a lane variable by `width_`; literal movements stay constants, so
// that the addresses of neighbours share their base.
void Walker::add_term(Lanewise& sum, const Term& term, int i, int j, bool packed) {
    const Binding& binding = *bindings_[static_cast<size_t>(term.variable)];
    int64_t moved = 0;  // by this many units of the variable
    CodeValue base = binding.base;
    if (!binding.rows.empty())
        base = binding.rows[static_cast<size_t>(i)];
    else if (term.variable == row_variable_)
        moved = i;
    if (term.variable == lane_variable_) {
        if (packed) {
            sum.first.constant += int64_t{j} * width_;
        } else {
            moved = int64_t{j} * width_;
            sum.strides.push_back({term.scale, term.number});
        }
    }
    if (binding.constant)
        moved = *binding.constant;
    else
        add(sum.first, scaled(base, term.scale, term.number));
    if (moved == 0) return;
    if (!term.number.launch)
        sum.first.constant += moved * term.scale * term.number.value;
    else if (term.variable == row_variable_)
        move_rows(sum.first, moved, term);
    else
        add(sum.first, scaled(integer(moved), term.scale, term.number));
}

// Outer variables first: what does not move in an inner loop is one sum that can leave it.
Walker::Lanewise Walker::lanewise(const Affine& affine, int i, int j, bool packed) {
    Lanewise sum;
    if (affine.constant.launch)
        sum.first.value = code_.number(affine.constant.value);
    else
        sum.first.constant = affine.constant.value;
    std::vector<const Term*> terms;
    for (const Term& term : affine.terms) terms.push_back(&term);
    std::stable_sort(terms.begin(), terms.end(), [&](const Term* a, const Term* b) {
        return bindings_[static_cast<size_t>(a->variable)]->depth < bindings_[static_cast<size_t>(b->variable)]->depth;
    });
    for (const Term* term : terms) add_term(sum, *term, i, j, packed);
    for (const auto& [id, factor] : affine.values) {
        CodeValue value = cast(code_, evaluate(id, i, j), DType::int64);
        if (!factor.is(1)) {
            value = integer_op(CodeOp::multiply, value, widened(code_, number(factor), value.width));
        }
        if (value.width == 1)
            add(sum.first, value);
        else
            sum.vectors.push_back(value);
    }
    return sum;
}

CodeAddress Walker::address(const Address& address, int i, int j) {
    return this->address(address.memory, lanewise(address.element, i, j, address.access == Access::packed).first);
}

CodeAddress Walker::address(MemoryId memory, const Index& index) {
    const CodeValue first = index.value ? *index.value : integer(0);
    return {memory, reads_again_ ? code_.again(first) : first, index.constant, index.moves};
}

// Where lane 0 says, though it may not be active: what is checked is taken as it is.
CodeAddress Walker::address_of_first(const Address& address, int i, int j) {
    Lanewise places = lanewise(address.element, i, j, false);
    places.vectors.clear();
    for (auto [id, factor] : address.element.values) {
        if (!varies_[static_cast<size_t>(id)].lanes) continue;
        if (tree_.expression(id).kind == Expression::Kind::check) id = tree_.expression(id).operands[0];
        const CodeValue first = cast(code_, code_.lane(evaluate(id, i, j), 0), DType::int64);
        add(places.first, scaled(first, 1, factor));
    }
    return this->address(address.memory, places.first);
}

CodeValue Walker::lane_indices(const Address& address, int i, int j) {
    const Lanewise sum = lanewise(address.element, i, j, false);
    const CodeValue first = whole(sum.first);
    CodeValue indices = code_.broadcast(reads_again_ ? code_.again(first) : first, width_);
    for (const auto& [scale, factor] : sum.strides) {
        const CodeValue stride = scaled(integer(1), scale, factor);
        const CodeValue moved =
            integer_op(CodeOp::multiply, code_.iota(DType::int64, width_), code_.broadcast(stride, width_));
        indices = integer_op(CodeOp::add, indices, moved);
    }
    for (const CodeValue& vector : sum.vectors) indices = integer_op(CodeOp::add, indices, vector);
    return indices;
}

CodeValue Walker::index_value(const Expression& e, int i, int j) {
    const Lanewise sum = lanewise(e.affine, i, j, false);
    CodeValue value = cast(code_, whole(sum.first), e.dtype);
    if (sum.strides.empty() && sum.vectors.empty()) return value;
    value = code_.broadcast(value, width_);
    for (const auto& [scale, factor] : sum.strides) {
        CodeValue moved = code_.iota(e.dtype, width_);
        if (scale != 1 || !factor.is(1)) {
            const CodeValue stride = cast(code_, scaled(integer(1), scale, factor), e.dtype);
            moved = integer_op(CodeOp::multiply, moved, code_.broadcast(stride, width_));
        }
        value = integer_op(CodeOp::add, value, moved);
    }
    for (const CodeValue& vector : sum.vectors) value = integer_op(CodeOp::add, value, cast(code_, vector, e.dtype));
    return value;
}

// 0 <= value < bound, in 64 bits: without a sign, values below zero are above every bound.
CodeValue Walker::inside(CodeValue value, CodeValue bound) {
    value = code_.reinterpret(cast(code_, value, DType::int64), DType::uint64);
    return code_.operation(CodeOp::less, value, widened(code_, code_.reinterpret(bound, DType::uint64), value.width));
}

// The int32 that the integer of 64 bits is and nothing else.
std::optional<ExpressionId> Walker::in_32_bits(ExpressionId id) const {
    const Expression& e = tree_.expression(id);
    if (e.kind != Expression::Kind::index || !e.affine.terms.empty() || e.affine.values.size() != 1)
        return std::nullopt;
    const auto& [part, factor] = e.affine.values[0];
    const Expression& value = tree_.expression(part);
    const bool is_cast = value.kind == Expression::Kind::cast && value.dtype == DType::int64;
    const bool alone = factor.is(1) && e.affine.constant.is(0);
    if (!is_cast || !alone || tree_.expression(value.operands[0]).dtype != DType::int32) return std::nullopt;
    return value.operands[0];
}

// 0 <= value < bound: a vector of 32 bits is compared as it is.
CodeValue Walker::inside(ExpressionId id, CodeValue bound, int i, int j) {
    const auto small = in_32_bits(id);
    if (!small || !varies_[static_cast<size_t>(id)].lanes) return inside(evaluate(id, i, j), bound);
    const CodeValue value = code_.reinterpret(evaluate(*small, i, j), DType::uint32);
    bound = code_.convert(smaller(bound, integer(int64_t{1} << 31)), DType::uint32);
    return code_.operation(CodeOp::less, value, widened(code_, bound, value.width));
}

// Lanes 0 .. bound - 1, compared in integers so small that they are one vector of 64 bytes; the bound is one of them.
CodeValue Walker::lanes_below(CodeValue bound, int width) {
    const DType small = width >= 64 ? DType::int8 : width >= 32 ? DType::int16 : DType::int32;
    return code_.operation(CodeOp::less, code_.iota(small, width), widened(code_, cast(code_, bound, small), width));
}

CodeValue Walker::first_lanes(CodeValue count, int width) {
    return lanes_below(larger(smaller(count, integer(width)), integer(0)), width);
}
CodeValue Walker::first_lanes(CodeValue count) { return first_lanes(count, width_); }

// What lane 0 has of a place that grows by `step` from lane to lane. Nothing if it does not, or if one vector of 32
// bits has all lanes: places are compared as they are then.
std::optional<CodeValue> Walker::first_of_lanes(ExpressionId id, int64_t step, int i, int j) {
    const Expression& place = tree_.expression(id);
    if (place.kind != Expression::Kind::index || width_ < 32) return std::nullopt;
    const Lanewise sum = lanewise(place.affine, i, j, false);
    const bool steps =
        sum.strides.size() == 1 && sum.vectors.empty() && sum.strides[0] == std::pair(step, Number{false, 1});
    return steps ? std::optional(whole(sum.first)) : std::nullopt;
}

CodeValue Walker::opposite(CodeValue mask) {
    return code_.operation(CodeOp::bit_xor, mask, widened(code_, code_.integer(DType::boolean, 1), mask.width));
}

// Of a condition i < 0, where i grows or falls by one from lane to lane: lanes before a place, or behind it. Nothing if
// it is no such condition.
std::optional<CodeValue> Walker::lanes_below_zero(const Expression& e, int i, int j) {
    if (e.op != ScalarOp::less) return std::nullopt;
    const Expression& zero = tree_.expression(e.operands[1]);
    if (zero.kind != Expression::Kind::integer || zero.integer != 0) return std::nullopt;
    if (const auto first = first_of_lanes(e.operands[0], 1, i, j))
        return first_lanes(integer_op(CodeOp::subtract, integer(0), *first));
    const auto first = first_of_lanes(e.operands[0], -1, i, j);
    if (!first) return std::nullopt;
    return opposite(first_lanes(integer_op(CodeOp::add, *first, integer(1))));
}

// 0 <= i < bound: lanes from one place to another.
CodeValue Walker::inside(const Expression& e, int i, int j) {
    const CodeValue bound = number(e.number);
    const auto first = first_of_lanes(e.operands[0], 1, i, j);
    if (!first) return inside(e.operands[0], bound, i, j);
    const CodeValue before = first_lanes(integer_op(CodeOp::subtract, integer(0), *first));
    const CodeValue below = first_lanes(integer_op(CodeOp::subtract, bound, *first));
    return code_.operation(CodeOp::bit_and, below, opposite(before));
}

std::optional<CodeValue> Walker::lane_mask(int j) const {
    if (masks_.empty()) return std::nullopt;
    return masks_[static_cast<size_t>(j)];
}

// Whether row i is in the tile, for what differs from row to row; nothing where it is or need not be.
std::optional<CodeValue> Walker::row_exists(ExpressionId id, int i) const {
    if (!row_count_ || !varies_[static_cast<size_t>(id)].rows) return std::nullopt;
    return code_.operation(CodeOp::less, code_.integer(DType::int64, i), *row_count_);
}

std::optional<CodeValue> Walker::both(std::optional<CodeValue> a, std::optional<CodeValue> b, int width) {
    if (a) a = widened(code_, *a, width);
    if (b) b = widened(code_, *b, width);
    if (a && b) return code_.operation(CodeOp::bit_and, *a, *b);
    return a ? a : b;
}

// Where it fails, the kernel stops: tag, value, bound, task of the first failing lane.
CodeValue Walker::check(const Expression& e, int i, int j) {
    const CodeValue value = evaluate(e.operands[0], i, j);
    const CodeValue bound = number(e.number);
    std::optional<CodeValue> active;
    if (e.operands.size() > 1) active = evaluate(e.operands[1], i, j);
    // Rows and lanes that are not there ask for nothing: neither for an index of their own, nor for one that all share.
    if (active && active->width > value.width) active = code_.any(*both(active, lane_mask(j), active->width));
    for (ExpressionId operand : e.operands) active = both(active, row_exists(operand, i), value.width);
    if (value.width > 1) active = both(active, lane_mask(j), value.width);
    const CodeValue within = inside(e.operands[0], bound, i, j);
    const CodeValue one = widened(code_, code_.integer(DType::boolean, 1), value.width);
    CodeValue bad = code_.operation(CodeOp::bit_xor, within, one);
    if (active) bad = code_.operation(CodeOp::bit_and, bad, *active);
    const CodeValue found = value.width > 1 ? code_.any(bad) : bad;
    code_.rarely(found, [&] {
        const CodeValue first = value.width > 1 ? code_.first_where(bad, value) : value;
        code_.report(0, integer(e.integer));
        code_.report(1, cast(code_, first, DType::int64));
        code_.report(2, bound);
        code_.report(3, task_);
        code_.stop(1);
    });
    if (!active) return value;
    return code_.select(*active, value, widened(code_, code_.integer(value.dtype, 0), value.width));
}

CodeValue Walker::load_uniform(const Expression& e, int i, int j, std::optional<CodeValue> guard) {
    const CodeAddress place = address(e.address, i, j);
    if (!guard || guard->width == 1) return code_.load(place, 1, guard);
    const CodeValue value = code_.load(place, 1, code_.any(*both(guard, lane_mask(j), guard->width)));
    const CodeValue zero = is_float(e.dtype) && !is_narrow(e.dtype)
                               ? code_.real(e.dtype, 0)
                               : cast(code_, code_.integer(DType::int32, 0), e.dtype);
    return code_.select(*guard, code_.broadcast(value, guard->width), code_.broadcast(zero, guard->width));
}

Walker::Index Walker::of_lane(const Lanewise& sum, CodeValue lane) {
    Index index = sum.first;
    for (const auto& [scale, factor] : sum.strides) index.moves.push_back(scaled(lane, scale, factor));
    return index;
}

// Lane l's rows are one contiguous vector; all rows of vector j are made at once. In place of a masked lane the last
// one is read again.
void Walker::load_transposed(ExpressionId id, int j) {
    const Expression& e = tree_.expression(id);
    const auto falls = [&](const Term& term) {
        return tree_.variable(term.variable).kind == Variable::Kind::row && term.scale < 0;
    };
    const bool backwards = std::ranges::any_of(e.address.element.terms, falls);  // the last row lies first
    const CodeValue row_mask =
        backwards ? opposite(first_lanes(integer_op(CodeOp::subtract, integer(rows_), *row_count_), rows_))
                  : first_lanes(*row_count_, rows_);
    std::optional<CodeValue> lanes_read;
    if (!e.operands.empty()) lanes_read = both(lane_mask(j), evaluate(e.operands[0], 0, j), width_);
    const Lanewise sum = lanewise(e.address.element, 0, j, false);
    const CodeValue here =
        integer_op(CodeOp::add, bindings_[static_cast<size_t>(lane_variable_)]->base, integer(int64_t{j} * width_));
    std::vector<CodeValue> columns;
    for (int lane = 0; lane < width_; lane++) {
        CodeValue moved = integer(lane);
        if (last_lane_) moved = smaller(moved, integer_op(CodeOp::subtract, *last_lane_, here));
        const Index index = of_lane(sum, moved);
        std::optional<CodeValue> mask = row_mask;
        if (lanes_read) mask = both(mask, code_.lane(*lanes_read, lane), rows_);
        CodeAddress place = address(e.address.memory, index);
        if (backwards) place.offset -= rows_ - 1;
        columns.push_back(code_.load(place, rows_, mask));
    }
    // log2(n) times: element k of pair i goes to 2 k and 2 k + 1 of what vectors i and i + n/2 make.
    const size_t n = columns.size();
    std::vector<int> low, high;
    for (size_t k = 0; k < n; k++) {
        const int from = static_cast<int>(k / 2 + (k % 2) * n);
        low.push_back(from);
        high.push_back(from + static_cast<int>(n / 2));
    }
    for (size_t stage = 1; stage < n; stage *= 2) {
        std::vector<CodeValue> next;
        for (size_t k = 0; k < n / 2; k++) {
            next.push_back(code_.shuffle(columns[k], columns[k + n / 2], low));
            next.push_back(code_.shuffle(columns[k], columns[k + n / 2], high));
        }
        columns = std::move(next);
    }
    for (int i = 0; i < rows_; i++) remember(id, i, j, columns[static_cast<size_t>(backwards ? rows_ - 1 - i : i)]);
}

CodeValue Walker::load(ExpressionId id, int i, int j) {
    const Expression& e = tree_.expression(id);
    if (e.address.access == Access::transposed) {
        load_transposed(id, j);
        return *remembered(id, i, j);
    }
    std::optional<CodeValue> guard;
    if (!e.operands.empty() && !holds_.contains(e.operands[0])) guard = evaluate(e.operands[0], i, j);
    guard = both(guard, row_exists(id, i), guard ? guard->width : 1);
    if (e.address.access == Access::uniform) return load_uniform(e, i, j, guard);
    if (e.address.access != Access::packed)
        guard = both(guard, lane_mask(j), width_);
    else if (guard)
        guard = widened(code_, *guard, width_);
    if (e.address.access == Access::interleaved) return load_interleaved(id, i, j, guard);
    if (e.address.access == Access::consecutive) return code_.load(address_of_first(e.address, i, j), width_, guard);
    if (e.address.access == Access::strided && !guard) {
        if (const auto column = load_column(id, i, j)) return *column;
    }
    if (e.address.access == Access::strided || e.address.access == Access::indexed) {
        return code_.gather(e.address.memory, lane_indices(e.address, i, j), guard);
    }
    CodeAddress place = address(e.address, i, j);
    place.may_be_far = !e.operands.empty();
    return code_.load(place, width_, guard);
}

// Of integers with a sign: a shift, or the low bits.
std::optional<CodeValue> Walker::divided_by_power_of_two(const Expression& e, int i, int j) {
    if (e.op != ScalarOp::floor_divide && e.op != ScalarOp::modulo) return std::nullopt;
    const Expression& divisor = tree_.expression(e.operands[1]);
    const bool is_signed = info(e.dtype).kind == DTypeClass::signed_integer;
    if (!is_signed || divisor.kind != Expression::Kind::integer || divisor.integer < 1) return std::nullopt;
    const auto power = static_cast<uint64_t>(divisor.integer);
    if (!std::has_single_bit(power)) return std::nullopt;
    const CodeValue divided = evaluate(e.operands[0], i, j);
    const bool quotient = e.op == ScalarOp::floor_divide;
    const CodeValue by = code_.integer(e.dtype, quotient ? std::countr_zero(power) : divisor.integer - 1);
    return code_.operation(quotient ? CodeOp::shift_right : CodeOp::bit_and, divided,
                           widened(code_, by, divided.width));
}

CodeValue Walker::compute(const Expression& e, int i, int j) {
    switch (e.kind) {
    case Expression::Kind::integer: return code_.integer(e.dtype, e.integer);
    case Expression::Kind::real: return code_.real(e.dtype, e.real);
    case Expression::Kind::number: {
        const CodeValue value = number(e.number);
        if (!is_float(e.dtype)) return cast(code_, value, e.dtype);
        return cast(code_, code_.reinterpret(value, DType::float64), e.dtype);
    }
    case Expression::Kind::index: return index_value(e, i, j);
    case Expression::Kind::scalar: {
        if (const auto shifted = divided_by_power_of_two(e, i, j)) return *shifted;
        if (const auto lanes = lanes_below_zero(e, i, j)) return *lanes;
        if (const auto shifted = shifted_byte(e, i, j)) return *shifted;
        std::vector<CodeValue> operands;
        for (ExpressionId operand : e.operands) operands.push_back(evaluate(operand, i, j));
        return apply(code_, e.op, operands);
    }
    case Expression::Kind::cast: return cast(code_, evaluate(e.operands[0], i, j), e.dtype);
    case Expression::Kind::select: {
        const CodeValue condition = evaluate(e.operands[0], i, j);
        CodeValue then = evaluate(e.operands[1], i, j), otherwise = evaluate(e.operands[2], i, j);
        const int width = std::max({condition.width, then.width, otherwise.width});
        return code_.select(condition, widened(code_, then, width), widened(code_, otherwise, width));
    }
    case Expression::Kind::inside: return inside(e, i, j);
    case Expression::Kind::check: return check(e, i, j);
    case Expression::Kind::accumulator: {
        const AccumulatorTile& tile = accumulators_[e.accumulator_id()];
        const Accumulator& accumulator = tree_.accumulator(e.accumulator_id());
        const size_t row = static_cast<size_t>(i);
        if (accumulator.reduced_lanes) return tile.results[row];
        return tile.results[row * static_cast<size_t>(accumulator.vectors) + static_cast<size_t>(j)];
    }
    case Expression::Kind::before: {
        const AccumulatorTile& tile = accumulators_[e.accumulator_id()];
        const Accumulator& accumulator = tree_.accumulator(e.accumulator_id());
        if (accumulator.state) return code_.get(tile.cells[static_cast<size_t>(i * accumulator.vectors + j)]);
        std::vector<int> lanes;
        for (int lane = 0; lane < width_; lane++) lanes.push_back(width_ - 1 + lane);
        return code_.shuffle(tile.carried[0], tile.results[0], lanes);
    }
    case Expression::Kind::carried: return code_.lane(code_.get(accumulators_[e.accumulator_id()].cells[0]), 0);
    case Expression::Kind::let: return lets_.at({e.let_id(), i, j});
    case Expression::Kind::load: break;
    }
    return {};
}

CodeValue Walker::evaluate(ExpressionId id, int i, int j) {
    const Varies& varies = varies_[static_cast<size_t>(id)];
    if (!varies.rows) i = 0;
    if (!varies.lanes) j = 0;
    if (const auto known = remembered(id, i, j)) return *known;
    const Expression& e = tree_.expression(id);
    auto found = looked_up(id, i, j);
    if (!found) found = extreme_of_many(id, i, j);
    const CodeValue value = found ? *found : e.kind == Expression::Kind::load ? load(id, i, j) : compute(e, i, j);
    remember(id, i, j, value);
    return value;
}

}  // namespace heddle::codegen
