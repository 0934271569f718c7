// Minima and maxima of floats over a tile of terms, in a walk over a tree.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "codegen/arithmetic.h"
#include "codegen/walker.h"

namespace heddle::codegen {
namespace {

bool is_extreme(const Expression& e) {
    const bool extreme = e.op == ScalarOp::minimum || e.op == ScalarOp::maximum;
    return e.kind == Expression::Kind::scalar && extreme && is_float(e.dtype);
}

}  // namespace

// A minimum or maximum of floats takes NaN, which a machine's instruction leaves out where it is the term. A tile of
// terms is asked at once, two terms by one comparison, instead of each by itself. The rare branch computes them again,
// so they are cheap; and where a loop is written out, there would be many such branches.
bool Walker::finds_nan_apart(const Update& node, const Accumulator& accumulator, int terms) const {
    constexpr int least_terms = 4, most_nodes = 8;
    const bool extreme = accumulator.reducer == Reducer::minimum || accumulator.reducer == Reducer::maximum;
    if (!extreme || !is_float(accumulator.dtype) || accumulator.width == 1 || terms < least_terms || unrolled_ > 0)
        return false;
    int nodes = 0;
    const std::function<void(ExpressionId)> count = [&](ExpressionId id) {
        if (nodes++ >= most_nodes) return;
        for (ExpressionId operand : tree_.expression(id).operands) count(operand);
    };
    count(node.value);
    return nodes <= most_nodes;
}

// Asks of values whether one of them is not a number: of two by one comparison, and as soon as they are there, so that
// they need not stay in registers. What is one for all lanes is asked apart: before a loop over lanes.
class Walker::NanSearch {
public:
    NanSearch(Walker& walker, int width) : walker_(walker), width_(width) {}

    std::map<Key, CodeValue> made;  // minima and maxima of what is asked

    void add(CodeValue value) {
        if (std::ranges::find(asked_, value) != asked_.end()) return;
        asked_.push_back(value);
        const bool is_scalar = value.width == 1;
        value = walker_.code_.operation(CodeOp::equal, value, value);
        if (is_scalar) {
            scalars_ = walker_.both(scalars_, value, 1);
            return;
        }
        if (one_) numbers_ = walker_.both(numbers_, walker_.both(one_, value, width_), width_);
        one_ = one_ ? std::nullopt : std::optional(value);
    }
    CodeValue found() {
        Code& code = walker_.code_;
        if (!numbers_ && !one_ && !scalars_) return code.integer(DType::boolean, 0);
        const CodeValue one = widened(code, code.integer(DType::boolean, 1), width_);
        return code.any(code.operation(CodeOp::bit_xor, numbers(), one));
    }
    // The lanes of which all are.
    CodeValue numbers() { return *walker_.both(walker_.both(numbers_, one_, width_), scalars_, width_); }

private:
    Walker& walker_;
    int width_;
    std::vector<CodeValue> asked_;
    std::optional<CodeValue> numbers_, one_, scalars_;
};

// The value where there are but numbers: there a minimum or maximum is one instruction, also inside the term.
CodeValue Walker::value_of_numbers(ExpressionId id, int i, int j, NanSearch& search) {
    const Expression& e = tree_.expression(id);
    if (is_extreme(e)) {
        const auto [known, is_new] = search.made.try_emplace({id, i, j});
        if (is_new) known->second = extreme_of_numbers(e, i, j, search);
        return known->second;
    }
    const CodeValue value = evaluate(id, i, j);
    if (e.kind != Expression::Kind::real || std::isnan(e.real)) search.add(value);
    return value;
}

CodeValue Walker::extreme_of_numbers(const Expression& e, int i, int j, NanSearch& search) {
    const bool smallest = e.op == ScalarOp::minimum;
    CodeValue a = value_of_numbers(e.operands[0], i, j, search), b = value_of_numbers(e.operands[1], i, j, search);
    const int width = std::max(a.width, b.width);
    a = widened(code_, a, width), b = widened(code_, b, width);
    return code_.select(smallest ? code_.operation(CodeOp::less, b, a) : code_.operation(CodeOp::less, a, b), b, a);
}

// Minima and maxima of minima and maxima: NaN if one of the values at their leaves is, however they are joined. So
// these are asked, two by one comparison, and every node is one instruction; where nodes are more than half of the
// leaves.
std::optional<CodeValue> Walker::extreme_of_many(ExpressionId id, int i, int j) {
    const bool varies = width_ > 1 && varies_[static_cast<size_t>(id)].lanes;
    if (!varies || !is_extreme(tree_.expression(id))) return std::nullopt;
    std::set<ExpressionId> nodes, leaves;
    const std::function<void(ExpressionId)> count = [&](ExpressionId part) {
        const Expression& e = tree_.expression(part);
        if (!is_extreme(e)) {
            if (e.kind != Expression::Kind::real) leaves.insert(part);
        } else if (nodes.insert(part).second) {
            for (ExpressionId operand : e.operands) count(operand);
        }
    };
    count(id);
    constexpr size_t apart = 2, whole = 2;  // instructions more: of one node by itself, and of all at once
    if (leaves.empty() || nodes.size() * apart <= (leaves.size() + 1) / 2 + whole) return std::nullopt;
    NanSearch search(*this, width_);
    const CodeValue value = widened(code_, value_of_numbers(id, i, j, search), width_);
    const CodeValue nan = code_.real(value.dtype, std::numeric_limits<double>::quiet_NaN());
    return code_.select(search.numbers(), value, widened(code_, nan, width_));
}

void Walker::update_extreme(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile) {
    const int vectors = accumulator.reduced_lanes ? vectors_ : accumulator.vectors;
    const auto cell = [&](int i, int j) { return tile.cells[static_cast<size_t>(i * accumulator.vectors + j)]; };
    const auto take = [&](int i, int j, CodeValue better, CodeValue value) {
        if (lanes_reduced_ && !masks_.empty()) better = *both(better, lane_mask(j), accumulator.width);
        code_.set(cell(i, j), code_.select(better, value, code_.get(cell(i, j))));
    };
    NanSearch search(*this, accumulator.width);
    for (int i = 0; i < rows_; i++) {
        for (int j = 0; j < vectors; j++) {
            const CodeValue value = widened(code_, value_of_numbers(node.value, i, j, search), accumulator.width);
            const CodeValue old = code_.get(cell(i, j));
            const bool smallest = accumulator.reducer == Reducer::minimum;
            take(i, j, smallest ? code_.operation(CodeOp::less, value, old) : code_.operation(CodeOp::less, old, value),
                 value);
        }
    }
    code_.rarely(search.found(), [&] {
        std::vector<std::map<Key, CodeValue>> before;
        before.swap(scopes_);
        open();
        reads_again_ = true;
        for (int i = 0; i < rows_; i++) {
            for (int j = 0; j < vectors; j++) {
                const CodeValue value = widened(code_, evaluate(node.value, i, j), accumulator.width);
                take(i, j, code_.operation(CodeOp::not_equal, value, value), value);
            }
        }
        reads_again_ = false;
        scopes_.swap(before);
    });
}

}  // namespace heddle::codegen
