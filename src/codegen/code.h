// What a backend must be able to write so that a tree can be walked into code (walk, below): typed registers,
// memory, control. The walk decides what is written, in which order; a backend decides only how its text spells it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/functions.h"
#include "schedules/tree.h"
#include "support/dtype.h"

namespace heddle::codegen {

using schedules::MemoryId;
using schedules::Tree;

// A value in a register: a scalar (width 1) or a vector. Booleans are truth values (a mask, if a vector). What is
// only stored (bfloat16, 8-bit floats, int4 in a byte) is nothing but its bits, and so is a float16 but in `convert`.
struct CodeValue {
    DType dtype = DType::float32;
    int width = 1;
    uintptr_t handle = 0;  // the backend's own
    bool operator==(const CodeValue&) const = default;
};

enum class CodeOp : uint8_t {
    // Two operands of one type. Integers wrap; integer division truncates, and its operands never overflow nor are
    // zero.
    add,
    subtract,
    multiply,
    divide,
    remainder,
    bit_and,
    bit_or,
    bit_xor,  // also booleans
    shift_left,
    shift_right,  // by less than the width; to the right by the type's signedness
    dot_pairs,    // of two int32: the sum of the products of their signed halves; wraps
    // To a boolean. Floats: all but not_equal are false on NaN.
    equal,
    not_equal,
    less,
    less_equal,
    // One float. round: half to even; negate: the sign alone, of a NaN too.
    negate,
    square_root,
    floor,
    ceil,
    round,
    truncate,
    count_bits,  // one unsigned integer
    // Primitive's of these names, where there are units for them.
    scale,
    exponent_of,
    significand_of,
    reciprocal_root_estimate,
};

// A changeable variable; readable within the block (then, loop body ...) in which it was made.
struct Cell {
    DType dtype = DType::float32;
    int width = 1;
    uintptr_t handle = 0;
};

// Variables of which one is chosen when the code runs; readable where a Cell would be, and without a value at first.
struct Cells {
    DType dtype = DType::float32;
    int width = 1;
    uintptr_t handle = 0;
};

// memory[index + moves + offset], in elements; `index` and the moves are scalar int64. Moves are added one after
// another behind what varies in loops, so that neighbours share pointers.
struct CodeAddress {
    MemoryId memory = no_id;
    CodeValue index;
    int64_t offset = 0;
    std::vector<CodeValue> moves = {};
    bool may_be_far = false;  // where a mask is empty, from all memory: to find that nothing is read there takes long
};

// How often the steps of a function run where it is called.
enum class Runs : uint8_t { always, rarely };

class Code {
public:
    using CodeValue = codegen::CodeValue;
    using CodeAddress = codegen::CodeAddress;
    using CodeOp = codegen::CodeOp;
    using Cell = codegen::Cell;
    using Cells = codegen::Cells;
    using Runs = codegen::Runs;
    using MemoryId = schedules::MemoryId;
    using Values = std::vector<CodeValue>;
    using Action = std::function<void()>;

    virtual ~Code() = default;

    // What every backend writes; its class declares the same list, with `override`.
#define HEDDLE_CODE_OPERATION(RESULT, NAME, PARAMETERS) virtual RESULT NAME PARAMETERS = 0;
#include "codegen/code_operations.def"
#undef HEDDLE_CODE_OPERATION

    // What a backend may write beyond.

    virtual Units units() const { return Units::plain; }
    // How many operations a look-up takes; none: it has no instruction for it.
    virtual std::optional<int> look_up_cost() const { return std::nullopt; }
    // Where it looks up: what the low four bits of an int32 say, of a table or of a vector of sixteen floats; or what
    // bytes below 16 say, of sixteen bytes.
    virtual CodeValue look_up(const LookUpTable&, CodeValue index) { return index; }
    virtual CodeValue look_up(CodeValue, CodeValue index) { return index; }
    // The same float, which a compiler that may rearrange sums cannot see through.
    virtual CodeValue pinned(CodeValue value) { return value; }
    // What the first lane has that is in the mask; of some lane where none is.
    virtual CodeValue first_where(CodeValue mask, CodeValue value);
    // A phase begins: what all lanes have stored before it, each of them reads in it.
    virtual void phase(const std::string& name) { comment("phase " + name); }
};

// Writes the whole kernel but its frame. The tree must pass `verify`.
void walk(const Tree& tree, Code& code);

}  // namespace heddle::codegen
