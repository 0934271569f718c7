// The scheduled form of one kernel (docs/schedules.md): tasks, phases, loops, register tiles, addresses, masks and
// prefetches, all decided. A backend walks it and decides nothing. What is not printed does not exist.
//
// The register tile. Inside Rows and Lanes every statement stands for all (i, j): row i of the tile, vector j of the
// block, `width` lanes each. A row variable's value at i is its base + i, a lane variable's at (j, l) is base + j *
// width + l.
// A value that depends on no row variable is one for all i; one that depends on no lane variable is a scalar.
// Outside of Rows the tile has one row; outside of Lanes all values are scalars.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "expr/scalar_op.h"
#include "support/diagnostic.h"
#include "zspace/size.h"
#include "support/dtype.h"
#include "support/strong_id.h"
#include "target/target.h"

namespace heddle::schedules {

using VariableId = StrongId<struct VariableTag>;        // of Tree::variables
using MemoryId = StrongId<struct MemoryTag>;            // of Tree::memories
using ExpressionId = StrongId<struct ExpressionTag>;    // of Tree::expressions
using AccumulatorId = StrongId<struct AccumulatorTag>;  // of Tree::accumulators
using LetId = StrongId<struct LetTag>;                  // of Tree::lets

// An integer in the text, or the launch number of that index.
struct Number {
    bool launch = false;
    int64_t value = 0;
    bool operator==(const Number&) const = default;
    bool is(int64_t literal) const { return !launch && value == literal; }
};

struct Variable {
    enum class Kind : uint8_t {
        task_begin,
        task_end,   // of a task axis: the task's part of it
        loop,       // of For, the same for the whole tile
        row,        // of Rows: base + i
        fused_row,  // of Rows with fused axes: row i's digit, a value of its own for each i
        lane,       // of Lanes: base + j * width + l
    };
    std::string name;  // unique in the tree
    Kind kind = Kind::loop;
};

// scale * number * variable. `scale` is not 0; strides that are facts stand there, so that equal addresses of
// neighbouring windows can be seen to be equal.
struct Term {
    VariableId variable = no_id;
    int64_t scale = 1;
    Number number{false, 1};
    bool operator==(const Term&) const = default;
};

// constant + sum of terms + sum of (integer expression * number)
struct Affine {
    Number constant;
    std::vector<Term> terms;
    std::vector<std::pair<ExpressionId, Number>> values;
    bool operator==(const Affine&) const = default;
};

// ceil(affine / divisor); the divisor is positive.
struct Bound {
    Affine affine;
    Number divisor{false, 1};
    bool operator==(const Bound&) const = default;
};

inline Bound bound(Affine affine, Number divisor = {false, 1}) { return {std::move(affine), divisor}; }
inline Bound bound(Number constant) { return {{constant, {}, {}}, {false, 1}}; }
inline Bound bound(VariableId variable) { return {{{}, {{variable, 1, {false, 1}}}, {}}, {false, 1}}; }

// max(lower) <= v < min(upper); empty where that holds for none. Neither list is empty.
struct Range {
    std::vector<Bound> lower, upper;
    bool operator==(const Range&) const = default;
};

// What an address points into: the function's buffers first, in order, then arrays of the task in this thread's
// scratch.
struct Memory {
    enum class Kind : uint8_t { input, output, in_out, array };
    std::string name;
    Kind kind = Kind::input;
    DType dtype = DType::float32;
    bool aligned = false;    // buffers: the base is at 64 bytes
    bool slack = false;      // buffers: 64 readable bytes behind the last element
    bool may_alias = false;  // shares memory with another of the tree: not `noalias`
    // Arrays: first byte in scratch (a multiple of 64), and what is subtracted from every address, in elements, once a
    // task (begins of task axes times strides). Arrays that share memory have the same offset.
    Number offset;
    std::vector<Term> origin;
};

// How the lanes of a load or store lie in memory. Addresses are in elements.
enum class Access : uint8_t {
    uniform,      // no lane variable in the address: one element (loads are broadcast where a vector is wanted)
    contiguous,   // the lane variable's coefficient is 1
    packed,       // contiguous; the lane variable's coefficient counts for the block's first lane (i.e. its base) only.
                  // Vector j lies at j * width behind it. Loaded whole, never masked: the last panel is padded
    interleaved,  // the lane variable's coefficient is -1, 2, 3, 4, 6 or 8, in the text: neighbours, permuted. Only
                  // what lanes want is written, and read with what lies between
    strided,      // any coefficient of the lane variable: gather or scatter
    indexed,      // an expression in the address depends on lanes: gather or scatter
    consecutive,  // of a load: such an expression, which grows by one from lane to lane where it is inside; lane 0 says
                  // where
    compressed,   // of a store: from where lane 0 says, the values of the lanes that are stored side by side
    // The row variable's coefficient is 1 or -1, the lane variable's any: loads of a Rows of mode transpose. Lane l's
    // rows are one contiguous vector; the tile is transposed in registers. A guard must not depend on rows. Rows beyond
    // the row count and masked lanes are neither read nor checked.
    transposed,
};

// Coefficients of the lane variable that are served by permutes: pairs of three or four are six and eight.
constexpr bool is_interleaving(int64_t coefficient) {
    return coefficient == -1 || (coefficient >= 2 && coefficient <= 4) || coefficient == 6 || coefficient == 8;
}

inline bool is_interleaving(const Size& coefficient) {
    return !coefficient.named() && is_interleaving(coefficient.number());
}

// Other coefficients that the text says: a lane's neighbours are loaded as they lie, four at once, and transposed,
// where the nest reads at least four. The matrices of a list, a few columns of a table.
constexpr int64_t farthest_neighbour = 64;
constexpr bool is_row_of_neighbours(int64_t coefficient) {
    return coefficient >= 4 && coefficient <= farthest_neighbour && !is_interleaving(coefficient);
}
inline bool is_row_of_neighbours(const Size& coefficient) {
    return !coefficient.named() && is_row_of_neighbours(coefficient.number());
}

struct Address {
    MemoryId memory = no_id;
    Affine element;
    Access access = Access::uniform;
    bool operator==(const Address&) const = default;
};

// A node of the right sides, operands before users; equal nodes are one. Arithmetic is never in a half type: those are
// only loaded, cast and stored. Selects are eager: loads that may be out of bounds carry their condition as a guard.
struct Expression {
    enum class Kind : uint8_t {
        integer,  // literal, of any dtype but floats
        real,     // literal
        number,   // a launch number; a float one is a double's bits
        index,    // the value of `affine`, of an integer dtype
        scalar,   // op(operands)
        cast,     // operands[0] to dtype, by language.md's rules (float to integer truncates, saturating; NaN gives 0)
        select,   // operands: condition, then, else
        inside,   // bool: 0 <= operands[0] < number
        check,    // operands[0], an integer; where it is not in 0 <= . < number, in an active lane and where the guard
                  // operands[1] (if there) holds, the kernel stops with status 1 and stores as int64 in scratch:
                  // `tag` (the memory that is indexed), the value, the bound, the task. Where inactive the value is 0
        load,     // `address`; where the guard operands[0] (if there) does not hold, or in masked lanes: 0, not read
        accumulator,  // its value after Finish: a scalar a row if its lanes were reduced, else a vector a (i, j). Of a
                      // running one after Update: what each lane's step makes
        before,       // of a running accumulator, after Update: what the step before each lane's made. Of a state: what
                      // it is, until its Update
        carried,      // of a running accumulator, behind its Lanes: what the last step made
        let,          // the value of that Let
    };
    Kind kind = Kind::integer;
    DType dtype = DType::float32;
    ScalarOp op = ScalarOp::add;
    int64_t integer = 0;  // literal; check: tag
    double real = 0;
    Number number;  // number, inside, check
    std::vector<ExpressionId> operands;
    Affine affine;        // index
    Address address;      // load
    int32_t target = -1;  // of what is of an accumulator, or a let: see below
    AccumulatorId accumulator_id() const { return AccumulatorId(target); }
    bool is_of_accumulator() const {
        return kind == Kind::accumulator || kind == Kind::before || kind == Kind::carried;
    }
    LetId let_id() const { return LetId(target); }
    bool operator==(const Expression&) const = default;
};

struct Accumulator {
    std::string name;
    Reducer reducer = Reducer::sum;
    DType dtype = DType::float32;  // of the terms; `any` and `all`: boolean
    DType index_dtype =
        DType::int32;            // argmin, argmax: of the index, which is the accumulator's value. Ties: the least
    int vectors = 1;             // vectors a row; with reduced lanes those of its Lanes
    int width = 1;               // lanes a vector; 1: a scalar
    bool reduced_lanes = false;  // Finish folds vectors, then lanes
    bool running = false;        // each lane takes in those before it, and what was carried from the blocks before
    bool state = false;          // holds what the last step made; the reducer says nothing
};

struct Let {
    std::string name;
    ExpressionId value = no_id;
};

struct Statement;
using Block = std::vector<Statement>;

// Equations over one nest. Phases of a task run in order.
struct Phase {
    std::string name;
    Block body;
};

// `until`, of a loop: it ends behind an iteration after which each of these accumulators is settled. Nothing that is left
// would change what the loop makes. `any`, `all`: settled where a lane says true, or false. minimum: where a lane has a
// term at all, for later ones are not less. A state of truth values: where it holds in all lanes; the loop then makes
// states alone, which stay as they are from there on.
struct For {
    VariableId variable = no_id;
    Range range;
    int64_t unrolled = 0;  // > 0: the range is 0..unrolled, every iteration written out
    std::vector<AccumulatorId> until;
    Block body;
};

// Tiles of rows of one variable.
//   balanced    while rows are left: c = ceil(left / sizes[0]); r = ceil(left / c); the tile has the largest compiled
//               size <= r. `sizes` falls strictly and ends with 1
//   transpose   tiles of sizes[0] == width rows; the last one has fewer, which are neither read nor stored
// With `fused` axes, the variable counts row-major over all of them; row 0's digits come by division, each next row's
// by adding one to the last digit, with carry.
struct Rows {
    enum class Mode : uint8_t { balanced, transpose };
    struct Digit {
        VariableId variable = no_id;
        Number extent;
    };
    VariableId variable = no_id;
    Range range;
    Mode mode = Mode::balanced;
    std::vector<int> sizes;
    std::vector<Digit> fused;  // outermost first, or empty
    Block body;
};

// Blocks of vectors * width lanes. The tail, where fewer lanes are left:
//   edge     full blocks run without masks; the tail is one block under masks
//   tail     full blocks run without masks; then one vector at a time (j = 0) under a mask
//   last     full blocks and then whole vectors (j = 0) run without masks; the last one, of fewer lanes, under a mask
//   shifted  full blocks and then whole vectors, of which the last begins earlier and does lanes again; where all are
//            fewer than a vector's, one by one. Nothing is read that the body stores; accesses are plain
//   always   every block runs under its masks (the code exists once)
// Reduced lanes have a tail or a last vector: its updates go to vector 0, and an inactive lane's accumulator keeps its
// value. Other lanes that hold accumulators have none. Stores and loads (but packed ones) of a masked block are masked.
struct Lanes {
    enum class Mask : uint8_t { edge, tail, last, shifted, always };
    VariableId variable = no_id;
    Range range;
    int vectors = 1;
    int width = 1;
    Mask mask = Mask::edge;
    bool reduced = false;
    std::vector<AccumulatorId> until;  // of reduced lanes
    Block body;
};

// The accumulator's tile starts at its neutral element (minimum, maximum: +inf, -inf or the integer type's ends;
// argument reductions: value like those, index 0; any: false, all: true). A running one, around its Lanes, starts at
// `value`, a scalar; a state, for each of its vectors, at `value`.
struct Start {
    AccumulatorId accumulator = no_id;
    ExpressionId value = no_id;
};

// acc = combine(acc, value). fused: `value` is a float multiplication, acc = fma(a, b, acc), rounded once. minimum and
// maximum: a NaN wins. Argument reductions take `value` where it is strictly better or a first NaN, with `index`.
// running: in each vector v, for d = 1, 2, 4 ... below the width, lane l becomes combine(v[l - d], v[l]), where l >= d;
// then each lane l becomes combine(carried, v[l]), and what the last active lane has is carried to the next vector. No
// Finish. With a factor, lanes combine (f', v') with (f, v) to (f' f, v' f joined with v): where f is a bool, what is
// before stays or becomes neutral; else, of sums, it is multiplied.
// state: becomes the value.
struct Update {
    AccumulatorId accumulator = no_id;
    ExpressionId value = no_id;
    ExpressionId index = no_id;
    ExpressionId factor = no_id;
    bool fused = false;
};

// With reduced lanes, in this order in every backend: while v vectors are left, h = ceil(v / 2): vector q takes in
// vector q + h for q + h < v; then the same over lanes (widths are powers of two). Else nothing but the end of the
// accumulation.
struct Finish {
    AccumulatorId accumulator = no_id;
};

// The let's value is computed here, for each (i, j).
struct Define {
    LetId let = no_id;
};

struct Store {
    Address address;
    ExpressionId value = no_id;        // of the memory's dtype
    ExpressionId guard = no_id;        // bool: stores where it holds only. -1: everywhere
    bool non_temporal = false;         // where the address is aligned to the vector; else plain
    std::vector<ExpressionId> beside;  // interleaved: what goes to the next elements, up to the next lane's; else none
    // compressed: what all elements behind those of the lanes hold, as far as a whole vector goes from lane 0's place,
    // if that `fits` (bool, lane 0 says) what may be written
    ExpressionId filling = no_id, fits = no_id;
};

// The rows of the tile one after another, in a loop that exists once for all row sizes: what follows a long reduction.
// The last statement of a balanced Rows, whose finished accumulators it reads; it holds Define and Store alone.
struct EachRow {
    Block body;
};

// A running pointer into a buffer, at `element` with i = j = l = 0, for Prefetch to move.
struct PrefetchStart {
    MemoryId memory = no_id;
    Affine element;
    bool operator==(const PrefetchStart&) const = default;
};

// `running`: the line under the pointer of the PrefetchStart before into L2, then moves it by `step` bytes. Else, into
// L1: the lines `ahead` elements behind `address` (at i = 0, each j), or, where that is transposed, those of the lanes
// `ahead` lanes further; with a `row`, a loop's variable, those where it is one more. Stands before the loads of its
// loop's body.
struct Prefetch {
    bool running = false;
    Number step;
    Address address;
    int64_t ahead = 0;
    VariableId row = no_id;
};

struct Statement {
    std::variant<Phase, For, Rows, Lanes, Start, Update, Finish, Define, Store, EachRow, PrefetchStart, Prefetch> node;
};

// begin = (task / divisor) % count * step, end = min(begin + step, extent); outermost first. `rounds`: its points run
// in order; tasks that differ in others alone are independent. There is one such axis at most, the outermost.
struct TaskAxis {
    std::string name;
    VariableId begin = no_id, end = no_id;
    Number extent, step, count, divisor;
    bool rounds = false;
};

struct LaunchNumberInfo {
    std::string what;            // for people: "stride 1 of x", "step of a"
    DType dtype = DType::int64;  // float64: passed as its bits
};

struct Tree {
    std::string name;
    std::vector<std::string> facts;  // what the text bakes in, "extent d = 3"
    std::vector<LaunchNumberInfo> numbers;
    std::vector<Memory> memories;  // buffers, then arrays
    std::vector<Variable> variables;
    std::vector<Accumulator> accumulators;
    std::vector<Let> lets;
    std::vector<Expression> expressions;
    std::vector<TaskAxis> tasks;
    Block body;

    const Expression& expression(ExpressionId i) const { return expressions[i]; }
    const Variable& variable(VariableId i) const { return variables[i]; }
    const Memory& memory(MemoryId i) const { return memories[i]; }
    const Accumulator& accumulator(AccumulatorId i) const { return accumulators[i]; }
    const Let& let(LetId i) const { return lets[i]; }
    size_t buffers() const;  // memories that are not arrays
};

// The last statement of the rows' body where it is one.
const EachRow* each_row(const Rows& rows);

// What each expression depends on, in order: what a backend must keep a value for.
struct Varies {
    bool rows = false;   // differs from row to row
    bool lanes = false;  // a vector
};
std::vector<Varies> varies(const Tree& tree);

std::string print(const Tree& tree);
// The choices alone: tasks, arrays, nests, tiles and how memory is touched, with this launch's extents and steps.
std::string summary(const Tree& tree, const std::vector<Size>& numbers);
Result<std::shared_ptr<Tree>> parse_tree(std::shared_ptr<const SourceText> text);
// Ids in range and in scope, operand types, accesses that agree with their addresses, row sizes, masks.
Result<void> verify(const Tree& tree);
// What a launch gives a verified tree: its numbers are as many as the tree asks for, its tasks cover every axis, and
// lanes over a packed operand begin at whole panels. Code schedules.launch.
Result<void> verify(const Tree& tree, const std::vector<Size>& numbers, const Size& tasks, const Size& rounds = 1);

// 128 bits of the printed tree and the target, in hexadecimal: what compiled code is looked up by. The name is not in
// it.
std::string key(const Tree& tree, const Target& target);

}  // namespace heddle::schedules
