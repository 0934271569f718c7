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
    virtual ~Code() = default;

    using Values = std::vector<CodeValue>;
    // What `body` makes of the arguments, by arithmetic alone. A backend may write it once, as a function that the name
    // and the arguments' types tell from others, or each time in place; what runs rarely is such a function.
    virtual Values function(const std::string& name, std::span<const CodeValue> arguments, Runs runs,
                            const std::function<Values(std::span<const CodeValue>)>& body) = 0;

    virtual CodeValue integer(DType dtype, int64_t value) = 0;  // booleans too
    virtual CodeValue real(DType dtype, double value) = 0;
    virtual CodeValue number(int64_t index) = 0;         // launch number, int64
    virtual CodeValue iota(DType dtype, int width) = 0;  // 0, 1, 2 ...
    virtual CodeValue broadcast(CodeValue scalar, int width) = 0;
    virtual CodeValue lane(CodeValue vector, int lane) = 0;
    // Element k is element lanes[k] of a followed by b.
    virtual CodeValue shuffle(CodeValue a, CodeValue b, std::span<const int> lanes) = 0;

    virtual CodeValue operation(CodeOp op, CodeValue a, CodeValue b = {}) = 0;
    virtual Units units() const { return Units::plain; }
    // How many operations a look-up takes; none: it has no instruction for it.
    virtual std::optional<int> look_up_cost() const { return std::nullopt; }
    // Where it looks up: what the low four bits of an int32 say, of a table or of a vector of sixteen floats; or what
    // bytes below 16 say, of sixteen bytes.
    virtual CodeValue look_up(const LookUpTable&, CodeValue index) { return index; }
    virtual CodeValue look_up(CodeValue, CodeValue index) { return index; }
    // The same float, which a compiler that may rearrange sums cannot see through.
    virtual CodeValue pinned(CodeValue value) { return value; }
    virtual CodeValue multiply_add(CodeValue a, CodeValue b, CodeValue c) = 0;  // fused
    // The condition is a scalar or has the operands' width.
    virtual CodeValue select(CodeValue condition, CodeValue then, CodeValue otherwise) = 0;
    // Numbers between integers (wraps), integers and floats (in range), floats; float16 from and to float32 only.
    virtual CodeValue convert(CodeValue value, DType dtype) = 0;
    virtual CodeValue reinterpret(CodeValue value, DType dtype) = 0;  // the same bits, of the same width
    virtual CodeValue any(CodeValue mask) = 0;
    // What the first lane has that is in the mask; of some lane where none is.
    virtual CodeValue first_where(CodeValue mask, CodeValue value);
    // The same scalar int64, of which nothing is known: what is computed from it is computed again, so that values of a
    // rare branch do not occupy registers before it.
    virtual CodeValue again(CodeValue value) = 0;

    // `mask`: lanes that are not in it are not read and give 0; of width 1 for a scalar.
    virtual CodeValue load(const CodeAddress& address, int width, std::optional<CodeValue> mask) = 0;
    virtual void store(const CodeAddress& address, CodeValue value, std::optional<CodeValue> mask,
                       bool non_temporal) = 0;
    virtual CodeValue gather(MemoryId memory, CodeValue indices, std::optional<CodeValue> mask) = 0;  // int64 vector
    virtual void scatter(MemoryId memory, CodeValue indices, CodeValue value, std::optional<CodeValue> mask) = 0;
    // The lanes of the mask, side by side from the address on. What lies behind holds `filling`, a scalar: it may be
    // written with it, as far as a vector goes, where that fits.
    virtual void store_compressed(const CodeAddress& address, CodeValue value, CodeValue mask, CodeValue filling,
                                  CodeValue fits) = 0;
    virtual CodeValue address_of(const CodeAddress& address) = 0;  // as int64
    virtual void prefetch(CodeValue address, int level) = 0;
    // Sets where an array lies in this task: scratch + offset bytes, minus `origin` elements.
    virtual void place_array(MemoryId memory, CodeValue offset, CodeValue origin) = 0;
    // An int64 into the first bytes of scratch, for a failing kernel.
    virtual void report(int position, CodeValue value) = 0;

    virtual Cell cell(CodeValue initial) = 0;
    virtual CodeValue get(const Cell& cell) = 0;
    virtual void set(const Cell& cell, CodeValue value) = 0;
    virtual Cells cells(DType dtype, int width, int64_t count) = 0;
    virtual CodeValue get(const Cells& cells, CodeValue index) = 0;  // an int64
    virtual void set(const Cells& cells, CodeValue index, CodeValue value) = 0;

    using Action = std::function<void()>;
    // for (variable = first; variable < end; variable += step)
    virtual void repeat(CodeValue first, CodeValue end, int64_t step, const std::function<void(CodeValue)>& body) = 0;
    virtual void repeat_while(const std::function<CodeValue()>& condition, const Action& body) = 0;
    virtual void branch(CodeValue condition, const Action& then, const Action& otherwise) = 0;
    // A branch that is hardly ever taken: its code may lie out of the way.
    virtual void rarely(CodeValue condition, const Action& then) = 0;
    virtual void stop(int status) = 0;  // the kernel returns
    virtual void comment(const std::string& text) = 0;
    // A phase begins: what all lanes have stored before it, each of them reads in it.
    virtual void phase(const std::string& name) { comment("phase " + name); }

    virtual CodeValue task_begin() = 0;
    virtual CodeValue task_end() = 0;
};

// Writes the whole kernel but its frame. The tree must pass `verify`.
void walk(const Tree& tree, Code& code);

}  // namespace heddle::codegen
