// The state of one walk over a tree (code.h). walk.cpp has statements and loops, walk_values.cpp values and addresses,
// walk_extremes.cpp minima and maxima of floats, walk_folds.cpp lanes that become one value, walk_tables.cpp look-ups,
// walk_interleaved.cpp lanes that lie between others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/code.h"
#include "codegen/interleaved_reach.h"

namespace heddle::codegen {

using namespace schedules;  // the nodes of the tree that is walked

class Walker {
public:
    Walker(const Tree& tree, Code& code);
    void run();

private:
    // What a variable stands for now.
    struct Binding {
        CodeValue base;                   // int64: of row 0, of the block's first lane
        std::optional<int64_t> constant;  // where it is written out
        std::vector<CodeValue> rows;      // fused rows: of each row
        int depth = 0;                    // binding order: outer variables have smaller ones
    };
    // The value of an integer expression: constant + scalar + what moves from row to row.
    struct Index {
        std::optional<CodeValue> value;
        int64_t constant = 0;
        std::vector<CodeValue> moves = {};
    };
    // An affine as a scalar for (i, j, lane 0), and how it moves from lane to lane.
    struct Lanewise {
        Index first;
        std::vector<CodeValue> vectors;                   // int64, already times their numbers
        std::vector<std::pair<int64_t, Number>> strides;  // scale * number a lane
    };
    using Key = std::tuple<ExpressionId, int, int>;
    struct AccumulatorTile {
        std::vector<Cell> cells, indices;  // [row * vectors + vector]
        std::vector<CodeValue> results;    // after Finish; one a row if lanes were reduced
        std::vector<CodeValue> carried;    // running: into each vector
    };

    // Results of a tile, for the loop over its rows.
    struct Kept {
        AccumulatorId accumulator;
        int vectors;  // a row
        Cells cells;  // [row * vectors + vector]
    };

    // Statements.
    void block(const Block& statements);
    void scoped(const Block& statements);
    bool is_short(const Block& statements) const;
    void repeat(CodeValue first, CodeValue end, int64_t step, const std::vector<AccumulatorId>& until,
                const std::function<void(CodeValue)>& body);
    CodeValue is_settled(AccumulatorId id);
    CodeValue points_together(CodeValue first, CodeValue end, const std::function<void(CodeValue)>& point);
    void statement(const Phase& node);
    void statement(const For& node);
    void statement(const Rows& node);
    void statement(const Lanes& node);
    void statement(const Start& node);
    void statement(const Update& node);
    void statement(const Finish& node);
    void statement(const EachRow& node);
    void statement(const Define& node);
    void statement(const Store& node);
    void statement(const PrefetchStart& node);
    void statement(const Prefetch& node);
    void prefetch_lanes(const Prefetch& node);
    void task_axis(const TaskAxis& axis, CodeValue task);
    void place_arrays();
    void balanced_rows(const Rows& node, CodeValue first, CodeValue end);
    CodeValue wanted_rows(const Rows& node, CodeValue left);
    void keep_results(const Rows& node);
    void walk_rows(const Rows& node, CodeValue begin, CodeValue end, const std::vector<CodeValue>& digits);
    void transposed_rows(const Rows& node, CodeValue first, CodeValue end);
    void tile(const Rows& node, int rows, CodeValue position, const std::vector<CodeValue>& digits);
    std::vector<CodeValue> digits_of(const Rows& node, CodeValue position);
    std::vector<CodeValue> next_digits(const Rows& node, std::vector<CodeValue> digits);
    void bind_row(const Rows& node, CodeValue position, const std::vector<CodeValue>& digits);
    void lanes_block(const Lanes& node, int vectors, int width, CodeValue base, std::optional<CodeValue> end);
    CodeValue whole_blocks(const Lanes& node, int vectors, CodeValue first, CodeValue begin, CodeValue end);
    void shifted_lanes(const Lanes& node, CodeValue first, CodeValue end);
    void update_running(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile);
    void fold_lanes(const Accumulator& accumulator, AccumulatorTile& tile);
    std::optional<CodeValue> added_under_mask(const Update& node, const Accumulator& accumulator, CodeValue old, int i,
                                              int j);
    void update_argument(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile, int i, int j);
    bool finds_nan_apart(const Update& node, const Accumulator& accumulator, int terms) const;
    class NanSearch;
    CodeValue value_of_numbers(ExpressionId id, int i, int j, NanSearch& search);
    std::optional<CodeValue> divided_by_power_of_two(const Expression& e, int i, int j);
    CodeValue extreme_of_numbers(const Expression& e, int i, int j, NanSearch& search);
    std::optional<CodeValue> extreme_of_many(ExpressionId id, int i, int j);
    void update_extreme(const Update& node, const Accumulator& accumulator, AccumulatorTile& tile);
    void store_element(const Store& node, int i, int j);
    void add_to_holds(ExpressionId condition);
    void store_value(const Store& node, CodeValue value, int i, int j, std::optional<CodeValue> active);
    void preload(const Update& node);
    std::pair<CodeValue, CodeValue> range(const Range& range);
    CodeValue bound(const Bound& bound);

    // Values.
    CodeValue evaluate(ExpressionId id, int i, int j);
    CodeValue compute(const Expression& e, int i, int j);
    std::optional<CodeValue> looked_up(ExpressionId id, int i, int j);
    std::optional<CodeValue> shifted_byte(const Expression& e, int i, int j);
    CodeValue low_bits(ExpressionId id, int i, int j);
    // The integer of which an expression asks but four bits, if nothing else, and the operations between the two.
    struct FewBits {
        ExpressionId of = no_id;
        int operations = 0;
    };
    FewBits only_few(const Expression& e, ExpressionId id) const;
    CodeValue index_value(const Expression& e, int i, int j);
    std::optional<ExpressionId> in_32_bits(ExpressionId id) const;
    CodeValue inside(ExpressionId id, CodeValue bound, int i, int j);
    CodeValue inside(CodeValue value, CodeValue bound);
    CodeValue check(const Expression& e, int i, int j);
    CodeValue load(ExpressionId id, int i, int j);
    CodeValue load_uniform(const Expression& e, int i, int j, std::optional<CodeValue> guard);
    struct Piece;
    struct Interleaved;
    int lanes_of_widest(DType dtype) const;
    std::vector<Piece> pieces_of(DType dtype, int elements) const;
    Interleaved interleaved(const Address& address, int i, int j);
    int64_t literal_offset(const Affine& element) const;
    CodeValue first_of(CodeValue vector, int width);
    template <typename LaneOf>
    std::optional<CodeValue> mask_of(const Piece& piece, std::optional<CodeValue> active, LaneOf lane_of);
    CodeValue load_interleaved(ExpressionId id, int i, int j, std::optional<CodeValue> active);
    std::optional<CodeValue> load_column(ExpressionId id, int i, int j);
    CodeValue load_reversed(const Address& address, int i, int j, std::optional<CodeValue> active);
    void store_interleaved(const Address& address, const std::vector<CodeValue>& values, int i, int j,
                           std::optional<CodeValue> active);
    void store_reversed(const Address& address, CodeValue value, int i, int j, std::optional<CodeValue> active);
    Index of_lane(const Lanewise& sum, CodeValue lane);
    void load_transposed(ExpressionId id, int j);
    CodeValue lanes_below(CodeValue bound, int width);
    CodeValue first_lanes(CodeValue count, int width);
    CodeValue first_lanes(CodeValue count);
    std::optional<CodeValue> first_of_lanes(ExpressionId id, int64_t step, int i, int j);
    CodeValue opposite(CodeValue mask);
    CodeValue inside(const Expression& e, int i, int j);
    std::optional<CodeValue> lanes_below_zero(const Expression& e, int i, int j);
    std::optional<CodeValue> lane_mask(int j) const;
    std::optional<CodeValue> row_exists(ExpressionId id, int i) const;
    std::optional<CodeValue> both(std::optional<CodeValue> a, std::optional<CodeValue> b, int width);

    // Addresses and affine values.
    Lanewise lanewise(const Affine& affine, int i, int j, bool packed);
    void add_term(Lanewise& sum, const Term& term, int i, int j, bool packed);
    CodeAddress address(const Address& address, int i, int j);
    CodeAddress address_of_first(const Address& address, int i, int j);
    CodeAddress address(MemoryId memory, const Index& index);
    void move_rows(Index& sum, int64_t rows, const Term& term);
    CodeValue lane_indices(const Address& address, int i, int j);
    CodeValue scaled(CodeValue value, int64_t scale, const Number& number);
    CodeValue number(const Number& number);
    CodeValue whole(const Index& index);
    void add(Index& sum, CodeValue value);
    CodeValue integer(int64_t value) { return code_.integer(DType::int64, value); }
    CodeValue integer_op(CodeOp op, CodeValue a, CodeValue b) { return code_.operation(op, a, b); }
    CodeValue smaller(CodeValue a, CodeValue b);
    CodeValue larger(CodeValue a, CodeValue b);

    // Values that hold in the present block and those around it, by expression, row and vector.
    void remember(ExpressionId id, int i, int j, CodeValue value) { scopes_.back()[{id, i, j}] = value; }
    std::optional<CodeValue> remembered(ExpressionId id, int i, int j) const;
    void open() { scopes_.emplace_back(); }
    void close() { scopes_.pop_back(); }
    void forget_reads_of(const std::set<MemoryId>& memories);
    std::set<MemoryId> stored_in(const Block& statements) const;
    bool share(MemoryId a, MemoryId b) const;

    const Tree& tree_;
    Code& code_;
    std::vector<Varies> varies_;
    std::vector<FewBits> few_;               // of each expression
    std::vector<std::set<MemoryId>> reads_;  // of each expression, through its operands
    std::vector<Reach> reaches_;             // of each load whose lanes lie between others; empty without such loads
    std::vector<std::optional<Binding>> bindings_;
    std::vector<std::map<Key, CodeValue>> scopes_;
    std::set<ExpressionId> holds_;  // conditions of the branches that the present code stands in
    std::vector<AccumulatorTile> accumulators_;
    std::map<std::tuple<LetId, int, int>, CodeValue> lets_;
    std::optional<Cell> running_;  // the pointer of the last PrefetchStart
    std::vector<Kept> kept_;       // of the Rows around
    int unrolled_ = 0;             // loops around that are written out
    bool makes_table_ = false;     // for looked_up
    bool reads_again_ = false;     // no load takes the place of an earlier one
    CodeValue task_;
    int depth_ = 0;

    // The register tile.
    int rows_ = 1, vectors_ = 1, width_ = 1;
    VariableId lane_variable_ = no_id;
    VariableId row_variable_ = no_id;
    std::optional<CodeValue> row_count_;  // of a transposed tile's last rows
    std::vector<CodeValue> masks_;        // of each vector, or empty
    std::optional<CodeValue> last_lane_;  // under masks: of the lane variable
    bool lanes_reduced_ = false;
};

}  // namespace heddle::codegen
