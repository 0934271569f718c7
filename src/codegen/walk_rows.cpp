// Rows of tiles: tiles as equal as can be, several row axes in one, rows that are finished one after another.
#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {

// By division.
std::vector<CodeValue> Walker::digits_of(const Rows& node, CodeValue position) {
    std::vector<CodeValue> digits(node.fused.size());
    for (size_t d = node.fused.size(); d-- > 0;) {
        const CodeValue extent = number(node.fused[d].extent);
        digits[d] = d == 0 ? position : integer_op(CodeOp::remainder, position, extent);
        if (d > 0) position = integer_op(CodeOp::divide, position, extent);
    }
    return digits;
}

// Those of the next row: one more, with carry.
std::vector<CodeValue> Walker::next_digits(const Rows& node, std::vector<CodeValue> digits) {
    CodeValue carry = integer(1);
    for (size_t d = digits.size(); d-- > 0;) {
        CodeValue next = integer_op(CodeOp::add, digits[d], carry);
        if (d > 0) {
            const CodeValue full = integer_op(CodeOp::equal, next, number(node.fused[d].extent));
            next = code_.select(full, integer(0), next);
            carry = code_.select(full, integer(1), integer(0));
        }
        digits[d] = next;
    }
    return digits;
}

// The tile begins at this row.
void Walker::bind_row(const Rows& node, CodeValue position, const std::vector<CodeValue>& digits) {
    bindings_[static_cast<size_t>(node.variable)] = Binding{position, std::nullopt, {}, depth_};
    row_variable_ = node.variable;
    for (size_t d = 0; d < digits.size(); d++) {
        bindings_[static_cast<size_t>(node.fused[d].variable)] = Binding{digits[d], std::nullopt, {digits[d]}, depth_};
    }
}

void Walker::tile(const Rows& node, int rows, CodeValue position, const std::vector<CodeValue>& digits) {
    rows_ = rows;
    open();
    bind_row(node, position, digits);
    std::vector<CodeValue> row = digits;
    for (int i = 1; i < rows && !digits.empty(); i++) {
        row = next_digits(node, std::move(row));
        for (size_t d = 0; d < row.size(); d++) {
            bindings_[static_cast<size_t>(node.fused[d].variable)]->rows.push_back(row[d]);
        }
    }
    block(node.body);
    close();
    rows_ = 1;
    row_variable_ = no_id;
}

// Of tiles as equal as can be.
CodeValue Walker::wanted_rows(const Rows& node, CodeValue left) {
    const auto rounded_up = [&](CodeValue divisor) {
        const CodeValue raised = integer_op(CodeOp::add, left, integer_op(CodeOp::subtract, divisor, integer(1)));
        return integer_op(CodeOp::divide, raised, divisor);
    };
    return rounded_up(rounded_up(integer(node.sizes[0])));
}

void Walker::balanced_rows(const Rows& node, CodeValue first, CodeValue end) {
    if (node.sizes.size() == 1) {
        code_.repeat(first, end, 1, [&](CodeValue row) { tile(node, 1, row, digits_of(node, row)); });
        return;
    }
    if (each_row(node)) keep_results(node);
    const Cell position = code_.cell(first);
    const auto another = [&] { return integer_op(CodeOp::less, code_.get(position), end); };
    code_.repeat_while(another, [&] {
        const CodeValue begin = code_.get(position);
        const CodeValue wanted = wanted_rows(node, integer_op(CodeOp::subtract, end, begin));
        const std::vector<CodeValue> digits = digits_of(node, begin);
        const std::function<void(size_t)> choose = [&](size_t k) {
            const auto compiled = [&] {
                tile(node, node.sizes[k], begin, digits);
                code_.set(position, integer_op(CodeOp::add, begin, integer(node.sizes[k])));
            };
            if (k + 1 == node.sizes.size()) return compiled();
            const CodeValue fits = integer_op(CodeOp::less_equal, integer(node.sizes[k]), wanted);
            code_.branch(fits, compiled, [&] { choose(k + 1); });
        };
        choose(0);
        if (each_row(node)) walk_rows(node, begin, code_.get(position), digits);
    });
    kept_.clear();
}

void Walker::keep_results(const Rows& node) {
    for (const Statement& statement : node.body) {
        const auto* start = std::get_if<Start>(&statement.node);
        if (!start) continue;
        const Accumulator& accumulator = tree_.accumulator(start->accumulator);
        const DType dtype = is_argument(accumulator.reducer) ? accumulator.index_dtype : accumulator.dtype;
        const bool one = accumulator.reduced_lanes;
        const Cells cells =
            code_.cells(dtype, one ? 1 : accumulator.width, int64_t{node.sizes[0]} * (one ? 1 : accumulator.vectors));
        kept_.push_back({start->accumulator, one ? 1 : accumulator.vectors, cells});
    }
}

// At the end of a tile. Where there is but one size, of one row, nothing is kept.
void Walker::statement(const EachRow& node) {
    if (kept_.empty()) return block(node.body);
    for (const Kept& kept : kept_) {
        const std::vector<CodeValue>& results = accumulators_[static_cast<size_t>(kept.accumulator)].results;
        for (size_t k = 0; k < results.size(); k++) code_.set(kept.cells, integer(static_cast<int64_t>(k)), results[k]);
    }
}

void Walker::walk_rows(const Rows& node, CodeValue begin, CodeValue end, const std::vector<CodeValue>& digits) {
    std::vector<Cell> cells;
    for (CodeValue digit : digits) cells.push_back(code_.cell(digit));
    code_.repeat(begin, end, 1, [&](CodeValue row) {
        open();
        std::vector<CodeValue> own;
        for (const Cell& cell : cells) own.push_back(code_.get(cell));
        bind_row(node, row, own);
        const CodeValue i = integer_op(CodeOp::subtract, row, begin);
        for (const Kept& kept : kept_) {
            const CodeValue first = integer_op(CodeOp::multiply, i, integer(kept.vectors));
            std::vector<CodeValue>& results = accumulators_[static_cast<size_t>(kept.accumulator)].results;
            results.clear();
            for (int j = 0; j < kept.vectors; j++)
                results.push_back(code_.get(kept.cells, integer_op(CodeOp::add, first, integer(j))));
        }
        block(each_row(node)->body);
        close();
        own = next_digits(node, std::move(own));
        for (size_t d = 0; d < own.size(); d++) code_.set(cells[d], own[d]);
    });
    row_variable_ = no_id;
}

// The last tile has fewer rows.
void Walker::transposed_rows(const Rows& node, CodeValue first, CodeValue end) {
    code_.repeat(first, end, node.sizes[0], [&](CodeValue position) {
        row_count_ = integer_op(CodeOp::subtract, end, position);
        tile(node, node.sizes[0], position, {});
        row_count_.reset();
    });
}

void Walker::statement(const Rows& node) {
    depth_++;
    const auto [first, end] = range(node.range);
    forget_reads_of(stored_in(node.body));
    if (node.mode == Rows::Mode::transpose)
        transposed_rows(node, first, end);
    else
        balanced_rows(node, first, end);
    depth_--;
    bindings_[static_cast<size_t>(node.variable)].reset();
    for (const Rows::Digit& digit : node.fused) bindings_[static_cast<size_t>(digit.variable)].reset();
}

}  // namespace heddle::codegen
