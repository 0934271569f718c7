// Statements and loops of a walk over a tree.
#include <algorithm>
#include <cassert>

#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {
namespace {

// The memories that a block stores to, inner blocks included.
void collect_stores(const Block& statements, std::set<MemoryId>& found) {
    for (const Statement& statement : statements) {
        std::visit(
            [&](const auto& node) {
                if constexpr (requires { node.body; })
                    collect_stores(node.body, found);
                else if constexpr (std::is_same_v<std::decay_t<decltype(node)>, Store>)
                    found.insert(node.address.memory);
            },
            statement.node);
    }
}

}  // namespace

Walker::Walker(const Tree& tree, Code& code)
    : tree_(tree), code_(code), varies_(varies(tree)), reaches_(reaches(tree)) {
    bindings_.resize(tree.variables.size());
    accumulators_.resize(tree.accumulators.size());
    for (const Expression& e : tree.expressions) few_.push_back(only_few(e, static_cast<ExpressionId>(few_.size())));
    for (const Expression& e : tree.expressions) {
        std::set<MemoryId> reads;
        const auto take = [&](ExpressionId operand) {
            reads.insert(reads_[static_cast<size_t>(operand)].begin(), reads_[static_cast<size_t>(operand)].end());
        };
        for (ExpressionId operand : e.operands) take(operand);
        for (const auto& [value, factor] : e.affine.values) take(value);
        for (const auto& [value, factor] : e.address.element.values) take(value);
        if (e.kind == Expression::Kind::load) reads.insert(e.address.memory);
        reads_.push_back(std::move(reads));
    }
}

bool Walker::share(MemoryId a, MemoryId b) const {
    if (a == b) return true;
    const Memory &x = tree_.memory(a), &y = tree_.memory(b);
    const bool arrays = x.kind == Memory::Kind::array && y.kind == Memory::Kind::array;
    return arrays ? x.offset == y.offset : x.may_alias && y.may_alias;
}

std::set<MemoryId> Walker::stored_in(const Block& statements) const {
    std::set<MemoryId> found;
    collect_stores(statements, found);
    return found;
}

void Walker::forget_reads_of(const std::set<MemoryId>& memories) {
    const auto stale = [&](const auto& entry) {
        for (MemoryId read : reads_[static_cast<size_t>(std::get<0>(entry.first))]) {
            for (MemoryId stored : memories) {
                if (share(read, stored)) return true;
            }
        }
        return false;
    };
    for (auto& scope : scopes_) std::erase_if(scope, stale);
}

void Walker::run() {
    open();
    code_.repeat(code_.task_begin(), code_.task_end(), 1, [&](CodeValue task) {
        open();
        task_ = task;
        for (const TaskAxis& axis : tree_.tasks) task_axis(axis, task);
        place_arrays();
        scoped(tree_.body);
        close();
    });
    close();
}

void Walker::task_axis(const TaskAxis& axis, CodeValue task) {
    const CodeValue step = number(axis.step);
    CodeValue position = integer_op(CodeOp::divide, task, number(axis.divisor));
    position = integer_op(CodeOp::remainder, position, number(axis.count));
    const CodeValue begin = integer_op(CodeOp::multiply, position, step);
    const CodeValue end = smaller(integer_op(CodeOp::add, begin, step), number(axis.extent));
    bindings_[static_cast<size_t>(axis.begin)] = Binding{begin, std::nullopt, {}, depth_};
    bindings_[static_cast<size_t>(axis.end)] = Binding{end, std::nullopt, {}, depth_++};
}

void Walker::place_arrays() {
    for (size_t i = 0; i < tree_.memories.size(); i++) {
        const Memory& memory = tree_.memories[i];
        if (memory.kind != Memory::Kind::array) continue;
        Affine origin;
        origin.terms = memory.origin;
        code_.place_array(MemoryId(i), number(memory.offset), whole(lanewise(origin, 0, 0, false).first));
    }
}

void Walker::block(const Block& statements) {
    for (const Statement& s : statements) {
        std::visit([&](const auto& node) { statement(node); }, s.node);
    }
}

void Walker::scoped(const Block& statements) {
    open();
    block(statements);
    close();
}

void Walker::statement(const Phase& node) {
    code_.phase(node.name);
    scoped(node.body);
}

CodeValue Walker::bound(const Bound& bound) {
    const CodeValue value = whole(lanewise(bound.affine, 0, 0, false).first);
    if (bound.divisor.is(1)) return value;
    // ceil(v / d) = floor((v + d - 1) / d)
    const CodeValue divisor = number(bound.divisor);
    const CodeValue raised = integer_op(CodeOp::add, value, integer_op(CodeOp::subtract, divisor, integer(1)));
    const CodeValue operands[] = {raised, divisor};
    return apply(code_, ScalarOp::floor_divide, operands);
}

std::pair<CodeValue, CodeValue> Walker::range(const Range& range) {
    CodeValue lower = bound(range.lower[0]), upper = bound(range.upper[0]);
    for (size_t i = 1; i < range.lower.size(); i++) lower = larger(lower, bound(range.lower[i]));
    for (size_t i = 1; i < range.upper.size(); i++) upper = smaller(upper, bound(range.upper[i]));
    return {lower, upper};
}

// Few stores, point after point: mostly the loop's own counter and branch.
bool Walker::is_short(const Block& statements) const {
    constexpr int long_terms = 16;
    int operations = 0;
    const auto count = [&](const auto& self, ExpressionId id) -> void {
        const Expression& e = tree_.expression(id);
        if (++operations > long_terms) return;
        for (ExpressionId operand : e.operands) self(self, operand);
        for (const auto& [value, factor] : e.affine.values) self(self, value);
        for (const auto& [value, factor] : e.address.element.values) self(self, value);
    };
    for (const Statement& statement : statements) {
        if (const auto* store = std::get_if<Store>(&statement.node))
            count(count, store->value);
        else if (const auto* define = std::get_if<Define>(&statement.node))
            count(count, tree_.let(define->let).value);
        else
            return false;
    }
    return operations <= long_terms;
}

// Four points a turn; returns where the last ones begin.
CodeValue Walker::points_together(CodeValue first, CodeValue end, const std::function<void(CodeValue)>& point) {
    constexpr int64_t together = 4;
    const CodeValue count = larger(integer_op(CodeOp::subtract, end, first), integer(0));
    const CodeValue whole = integer_op(CodeOp::bit_and, count, integer(-together));
    const CodeValue rest = integer_op(CodeOp::add, first, whole);
    code_.repeat(first, rest, together, [&](CodeValue value) {
        for (int64_t k = 0; k < together; k++) point(integer_op(CodeOp::add, value, integer(k)));
    });
    return rest;
}

// for (value = first; value < end; value += step), until what `until` names is settled.
void Walker::repeat(CodeValue first, CodeValue end, int64_t step, const std::vector<AccumulatorId>& until,
                    const std::function<void(CodeValue)>& body) {
    if (until.empty()) return code_.repeat(first, end, step, body);
    const Cell at = code_.cell(first), goes_on = code_.cell(code_.integer(DType::boolean, 1));
    const auto condition = [&] {
        return code_.operation(CodeOp::bit_and, code_.get(goes_on), integer_op(CodeOp::less, code_.get(at), end));
    };
    code_.repeat_while(condition, [&] {
        const CodeValue value = code_.get(at);
        body(value);
        CodeValue settled = is_settled(until[0]);
        for (size_t k = 1; k < until.size(); k++)
            settled = code_.operation(CodeOp::bit_and, settled, is_settled(until[k]));
        code_.set(goes_on, opposite(settled));
        code_.set(at, integer_op(CodeOp::add, value, integer(step)));
    });
}

// Nothing changes it any more (tree.h, `until`).
CodeValue Walker::is_settled(AccumulatorId id) {
    const Accumulator& accumulator = tree_.accumulator(id);
    const std::vector<Cell>& cells = accumulators_[static_cast<size_t>(id)].cells;
    const auto holds = [&](const Cell& cell) {
        const CodeValue value = code_.get(cell);
        if (accumulator.state || accumulator.reducer == Reducer::any) return value;
        if (accumulator.reducer == Reducer::all) return opposite(value);
        return code_.operation(CodeOp::not_equal, value,
                               widened(code_, neutral(code_, accumulator.reducer, accumulator.dtype), value.width));
    };
    std::optional<CodeValue> open;  // lanes, or rows, that are not settled
    const auto leave_open = [&](CodeValue part) { open = open ? code_.operation(CodeOp::bit_or, *open, part) : part; };
    const size_t vectors = static_cast<size_t>(accumulator.vectors);
    for (size_t row = 0; row < cells.size(); row += vectors) {
        std::optional<CodeValue> some;
        for (size_t j = 0; j < vectors; j++) {
            const CodeValue held = holds(cells[row + j]);
            if (accumulator.state)
                leave_open(*both(opposite(held), lane_mask(static_cast<int>(j)), held.width));
            else
                some = some ? code_.operation(CodeOp::bit_or, *some, held) : held;
        }
        if (some) leave_open(opposite(some->width > 1 ? code_.any(*some) : *some));
    }
    return opposite(open->width > 1 ? code_.any(*open) : *open);
}

void Walker::statement(const For& node) {
    auto& binding = bindings_[static_cast<size_t>(node.variable)];
    depth_++;
    if (node.unrolled > 0) {
        unrolled_++;
        for (int64_t k = 0; k < node.unrolled; k++) {
            binding = Binding{integer(k), k, {}, depth_};
            scoped(node.body);
        }
        unrolled_--;
    } else {
        auto [first, end] = range(node.range);
        forget_reads_of(stored_in(node.body));
        const auto point = [&](CodeValue value) {
            binding = Binding{value, std::nullopt, {}, depth_};
            scoped(node.body);
        };
        if (lane_variable_ == no_id && node.until.empty() && is_short(node.body))
            first = points_together(first, end, point);
        repeat(first, end, 1, node.until, point);
    }
    depth_--;
    binding.reset();
}

void Walker::lanes_block(const Lanes& node, int vectors, int width, CodeValue base, std::optional<CodeValue> end) {
    bindings_[static_cast<size_t>(node.variable)] = Binding{base, std::nullopt, {}, depth_};
    lane_variable_ = node.variable;
    vectors_ = vectors;
    width_ = width;
    lanes_reduced_ = node.reduced;
    masks_.clear();
    last_lane_.reset();
    if (end) {
        last_lane_ = integer_op(CodeOp::subtract, *end, integer(1));
        const int block_lanes = vectors * width;
        const CodeValue left = smaller(integer_op(CodeOp::subtract, *end, base), integer(block_lanes));
        for (int j = 0; j < vectors; j++) {
            const CodeValue left_here = integer_op(CodeOp::subtract, left, integer(j * width));
            const bool fits = vectors == 1 || width < 32;  // whatever integers the lanes are compared in
            masks_.push_back(fits ? lanes_below(left_here, width_) : first_lanes(left_here));
        }
    }
    scoped(node.body);
    masks_.clear();
    lane_variable_ = no_id;
    vectors_ = width_ = 1;
    lanes_reduced_ = false;
}

void Walker::statement(const Lanes& node) {
    depth_++;
    const auto [first, end] = range(node.range);
    forget_reads_of(stored_in(node.body));
    const int64_t block_lanes = int64_t{node.vectors} * node.width;
    if (node.mask == Lanes::Mask::always) {
        repeat(first, end, block_lanes, node.until,
               [&](CodeValue base) { lanes_block(node, node.vectors, node.width, base, end); });
    } else if (node.mask == Lanes::Mask::shifted) {
        shifted_lanes(node, first, end);
    } else {
        const CodeValue full = whole_blocks(node, node.vectors, first, first, end);
        CodeValue left = full;
        if (node.mask == Lanes::Mask::last && node.vectors > 1) left = whole_blocks(node, 1, first, full, end);
        if (node.mask == Lanes::Mask::tail) {
            repeat(full, end, node.width, node.until,
                   [&](CodeValue base) { lanes_block(node, 1, node.width, base, end); });
        } else {
            const int vectors = node.mask == Lanes::Mask::last ? 1 : node.vectors;
            code_.branch(
                integer_op(CodeOp::less, left, end), [&] { lanes_block(node, vectors, node.width, left, end); }, [] {});
        }
    }
    depth_--;
    bindings_[static_cast<size_t>(node.variable)].reset();
}

// Blocks of so many vectors, counted from `first`, from `begin` on; where they end.
CodeValue Walker::whole_blocks(const Lanes& node, int vectors, CodeValue first, CodeValue begin, CodeValue end) {
    const CodeValue lanes = integer(int64_t{vectors} * node.width);
    const CodeValue extent = larger(integer_op(CodeOp::subtract, end, first), integer(0));
    const CodeValue blocks = integer_op(CodeOp::divide, extent, lanes);
    const CodeValue whole = integer_op(CodeOp::add, first, integer_op(CodeOp::multiply, blocks, lanes));
    repeat(begin, whole, int64_t{vectors} * node.width, node.until,
           [&](CodeValue base) { lanes_block(node, vectors, node.width, base, std::nullopt); });
    return whole;
}

void Walker::shifted_lanes(const Lanes& node, CodeValue first, CodeValue end) {
    const CodeValue last = integer_op(CodeOp::subtract, end, integer(node.width));
    code_.branch(
        integer_op(CodeOp::less, last, first),
        [&] { code_.repeat(first, end, 1, [&](CodeValue base) { lanes_block(node, 1, 1, base, std::nullopt); }); },
        [&] {
            const CodeValue begin = node.vectors > 1 ? whole_blocks(node, node.vectors, first, first, end) : first;
            code_.repeat(begin, end, node.width,
                         [&](CodeValue base) { lanes_block(node, 1, node.width, smaller(base, last), std::nullopt); });
        });
}

void Walker::statement(const Start& node) {
    const Accumulator& accumulator = tree_.accumulator(node.accumulator);
    AccumulatorTile& tile = accumulators_[static_cast<size_t>(node.accumulator)];
    tile = {};
    if (accumulator.state) {
        for (int k = 0; k < rows_ * accumulator.vectors; k++) {
            const CodeValue first = evaluate(node.value, k / accumulator.vectors, k % accumulator.vectors);
            tile.cells.push_back(code_.cell(widened(code_, first, accumulator.width)));
        }
        return;
    }
    const CodeValue first =
        node.value >= 0 ? evaluate(node.value, 0, 0) : neutral(code_, accumulator.reducer, accumulator.dtype);
    const CodeValue initial = widened(code_, first, accumulator.width);
    const CodeValue zero = widened(code_, code_.integer(accumulator.index_dtype, 0), accumulator.width);
    for (int k = 0; k < rows_ * accumulator.vectors; k++) {
        tile.cells.push_back(code_.cell(initial));
        if (is_argument(accumulator.reducer)) tile.indices.push_back(code_.cell(zero));
    }
}

void Walker::update_argument(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile, int i, int j) {
    const size_t k = static_cast<size_t>(i * accumulator.vectors + j);
    const CodeValue old = code_.get(tile.cells[k]), old_index = code_.get(tile.indices[k]);
    const CodeValue value = widened(code_, evaluate(node.value, i, j), accumulator.width);
    const CodeValue index =
        widened(code_, cast(code_, evaluate(node.index, i, j), accumulator.index_dtype), accumulator.width);
    CodeValue taken = is_better(code_, accumulator.reducer, old, value);
    if (lanes_reduced_) taken = *both(taken, lane_mask(j), accumulator.width);
    code_.set(tile.cells[k], code_.select(taken, value, old));
    code_.set(tile.indices[k], code_.select(taken, index, old_index));
}

// What all rows share is loaded before the first row's broadcasts.
void Walker::preload(const Update& node) {
    const Expression& value = tree_.expression(node.value);
    for (int j = 0; j < vectors_; j++) {
        for (ExpressionId operand : value.operands) {
            const Varies& varies = varies_[static_cast<size_t>(operand)];
            if (varies.lanes && !varies.rows) evaluate(operand, 0, j);
        }
    }
}

// A float that is nothing in some lanes is added under a mask, by one instruction: x + 0 is x (a sum is never -0.0).
std::optional<CodeValue> Walker::added_under_mask(const Update& node, const Accumulator& accumulator, CodeValue old,
                                                  int i, int j) {
    const Expression& term = tree_.expression(node.value);
    const bool adds_floats = accumulator.reducer == Reducer::sum && is_float(accumulator.dtype);
    if (code_.units() == Units::plain || !adds_floats || term.kind != Expression::Kind::select) return std::nullopt;
    const Expression& otherwise = tree_.expression(term.operands[2]);
    if (otherwise.kind != Expression::Kind::real || otherwise.real != 0) return std::nullopt;
    const CodeValue mask = evaluate(term.operands[0], i, j);
    if (mask.width == 1) return std::nullopt;
    const CodeValue added = widened(code_, evaluate(term.operands[1], i, j), old.width);
    return code_.select(mask, combine(code_, accumulator.reducer, old, added), old);
}

void Walker::statement(const Update& node) {
    const Accumulator& accumulator = tree_.accumulator(node.accumulator);
    AccumulatorTile& tile = accumulators_[static_cast<size_t>(node.accumulator)];
    const int vectors = accumulator.reduced_lanes ? vectors_ : accumulator.vectors;
    if (accumulator.running) return update_running(node, accumulator, tile);
    if (rows_ > 1) preload(node);
    if (!accumulator.state && finds_nan_apart(node, accumulator, rows_ * vectors))
        return update_extreme(node, accumulator, tile);
    for (int i = 0; i < rows_; i++) {
        for (int j = 0; j < vectors; j++) {
            if (is_argument(accumulator.reducer)) {
                update_argument(node, accumulator, tile, i, j);
                continue;
            }
            const Cell& cell = tile.cells[static_cast<size_t>(i * accumulator.vectors + j)];
            const CodeValue old = code_.get(cell);
            CodeValue next;
            if (accumulator.state) {
                next = widened(code_, evaluate(node.value, i, j), accumulator.width);
            } else if (node.fused) {
                const Expression& product = tree_.expression(node.value);
                const CodeValue a = widened(code_, evaluate(product.operands[0], i, j), accumulator.width);
                const CodeValue b = widened(code_, evaluate(product.operands[1], i, j), accumulator.width);
                next = code_.multiply_add(a, b, old);
            } else if (const auto added = added_under_mask(node, accumulator, old, i, j)) {
                next = *added;
            } else {
                next = combine(code_, accumulator.reducer, old,
                               widened(code_, evaluate(node.value, i, j), accumulator.width));
            }
            if (lanes_reduced_ && !masks_.empty()) next = code_.select(*lane_mask(j), next, old);
            code_.set(cell, next);
        }
    }
}

// What lanes before the first would be, and lanes that are not there, is nothing. Adding -0.0 keeps the sign of zero.
void Walker::update_running(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile) {
    const int width = accumulator.width;
    const bool adds_floats = accumulator.reducer == Reducer::sum && is_float(accumulator.dtype);
    const CodeValue none =
        adds_floats ? code_.real(accumulator.dtype, -0.0) : neutral(code_, accumulator.reducer, accumulator.dtype);
    const CodeValue nothing = widened(code_, none, width);
    CodeValue sums = widened(code_, evaluate(node.value, 0, 0), width), factor, all;
    const bool has_factor = node.factor >= 0, keeps = has_factor && is_bool(tree_.expression(node.factor).dtype);
    const Reducer joins = keeps ? Reducer::all : Reducer::product;
    if (has_factor) {
        factor = widened(code_, evaluate(node.factor, 0, 0), width);
        all = widened(code_, neutral(code_, joins, keeps ? DType::boolean : accumulator.dtype), width);
    }
    if (const auto active = lane_mask(0)) {
        sums = code_.select(*active, sums, nothing);
        if (has_factor) factor = code_.select(*active, factor, all);
    }
    const auto joined = [&](CodeValue before, CodeValue part, CodeValue own) {
        if (has_factor && !keeps && is_float(accumulator.dtype)) return code_.multiply_add(before, part, own);
        if (has_factor) before = keeps ? code_.select(part, before, nothing) : combine(code_, joins, before, part);
        return combine(code_, accumulator.reducer, before, own);
    };
    for (int apart = 1; apart < width; apart *= 2) {
        std::vector<int> moved;
        for (int lane = 0; lane < width; lane++) moved.push_back(width - apart + lane);
        sums = joined(code_.shuffle(nothing, sums, moved), factor, sums);
        if (!has_factor) continue;
        factor = combine(code_, joins, code_.shuffle(all, factor, moved), factor);
    }
    const CodeValue carried = code_.get(tile.cells[0]);
    const std::vector<int> last(static_cast<size_t>(width), width - 1);
    const CodeValue whole = code_.shuffle(sums, sums, last);
    code_.set(tile.cells[0], joined(carried, has_factor ? code_.shuffle(factor, factor, last) : factor, whole));
    tile.carried = {carried};
    tile.results = {joined(carried, factor, sums)};
}

void Walker::statement(const Finish& node) {
    const Accumulator& accumulator = tree_.accumulator(node.accumulator);
    AccumulatorTile& tile = accumulators_[static_cast<size_t>(node.accumulator)];
    tile.results.clear();
    if (accumulator.reduced_lanes) {
        return fold_lanes(accumulator, tile);
    }
    for (const Cell& cell : is_argument(accumulator.reducer) ? tile.indices : tile.cells) {
        tile.results.push_back(code_.get(cell));
    }
}

void Walker::statement(const Define& node) {
    const ExpressionId value = tree_.let(node.let).value;
    const Varies& varies = varies_[static_cast<size_t>(value)];
    for (int i = 0; i < (varies.rows ? rows_ : 1); i++) {
        for (int j = 0; j < (varies.lanes ? vectors_ : 1); j++) lets_[{node.let, i, j}] = evaluate(value, i, j);
    }
}

// Under a scalar guard the store is a branch's, in which the guard holds; a guard of lanes joins the mask.
void Walker::store_element(const Store& node, int i, int j) {
    if (node.guard < 0) return store_value(node, evaluate(node.value, i, j), i, j, lane_mask(j));
    const CodeValue guard = evaluate(node.guard, i, j);
    if (guard.width > 1) {
        const CodeValue value = evaluate(node.value, i, j);
        return store_value(node, value, i, j, both(lane_mask(j), guard, width_));
    }
    code_.branch(
        guard,
        [&] {
            open();
            const std::set<ExpressionId> outside = holds_;
            add_to_holds(node.guard);
            store_value(node, evaluate(node.value, i, j), i, j, lane_mask(j));
            holds_ = outside;
            close();
        },
        [] {});
}

void Walker::add_to_holds(ExpressionId condition) {
    const Expression& e = tree_.expression(condition);
    holds_.insert(condition);
    if (e.kind != Expression::Kind::scalar || e.op != ScalarOp::logical_and) return;
    for (ExpressionId part : e.operands) add_to_holds(part);
}

void Walker::store_value(const Store& node, CodeValue value, int i, int j, std::optional<CodeValue> active) {
    const Access access = node.address.access;
    if (access == Access::uniform) {
        code_.store(address(node.address, i, j), value, std::nullopt, false);
        return;
    }
    value = widened(code_, value, width_);
    if (access == Access::compressed) {
        const CodeValue all = widened(code_, code_.integer(DType::boolean, 1), width_);
        const CodeValue fits = evaluate(node.fits, i, j);
        code_.store_compressed(address_of_first(node.address, i, j), value, active.value_or(all),
                               evaluate(node.filling, i, j), fits.width > 1 ? code_.lane(fits, 0) : fits);
    } else if (access == Access::interleaved) {
        std::vector<CodeValue> values = {value};
        for (ExpressionId beside : node.beside) values.push_back(widened(code_, evaluate(beside, i, j), width_));
        store_interleaved(node.address, values, i, j, active);
    } else if (access == Access::strided || access == Access::indexed) {
        code_.scatter(node.address.memory, lane_indices(node.address, i, j), value, active);
    } else {
        const auto mask = access == Access::packed ? std::nullopt : active;
        code_.store(address(node.address, i, j), value, mask, node.non_temporal);
    }
}

void Walker::statement(const Store& node) {
    const int vectors = node.address.access == Access::uniform ? 1 : vectors_;
    for (int i = 0; i < rows_; i++) {
        const auto row = [&] {
            for (int j = 0; j < vectors; j++) store_element(node, i, j);
        };
        if (!row_count_) {
            row();
            continue;
        }
        for (int j = 0; j < vectors; j++) {
            evaluate(node.value, i, j);
            for (ExpressionId beside : node.beside) evaluate(beside, i, j);
        }
        code_.branch(
            integer_op(CodeOp::less, integer(i), *row_count_),
            [&] {
                open();
                row();
                close();
            },
            [] {});
    }
    forget_reads_of({node.address.memory});
}

void Walker::statement(const PrefetchStart& node) {
    const Index first = lanewise(node.element, 0, 0, true).first;
    running_ = code_.cell(code_.address_of({node.memory, first.value ? *first.value : integer(0), first.constant}));
}

void Walker::statement(const Prefetch& node) {
    if (node.running) {
        const CodeValue pointer = code_.get(*running_);
        code_.prefetch(pointer, 2);
        code_.set(*running_, integer_op(CodeOp::add, pointer, number(node.step)));
        return;
    }
    if (node.address.access == Access::transposed) return prefetch_lanes(node);
    for (int j = 0; j < vectors_; j++) {
        CodeAddress place = address(node.address, 0, j);
        place.offset += node.ahead;
        for (const Term& term : node.address.element.terms) {
            if (term.variable == node.row)
                place.index = integer_op(CodeOp::add, place.index, scaled(integer(1), term.scale, term.number));
        }
        code_.prefetch(code_.address_of(place), 1);
    }
}

void Walker::prefetch_lanes(const Prefetch& node) {
    const Lanewise sum = lanewise(node.address.element, 0, 0, false);
    for (int lane = 0; lane < width_; lane++) {
        const CodeAddress place = address(node.address.memory, of_lane(sum, integer(node.ahead + lane)));
        code_.prefetch(code_.address_of(place), 1);
    }
}

CodeValue Code::first_where(CodeValue mask, CodeValue value) {
    CodeValue first = this->lane(value, 0);
    for (int l = value.width - 1; l >= 0; l--) first = select(this->lane(mask, l), this->lane(value, l), first);
    return first;
}

void walk(const Tree& tree, Code& code) { Walker(tree, code).run(); }

}  // namespace heddle::codegen
