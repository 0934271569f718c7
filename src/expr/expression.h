// One expression, for bodies, equations and kernels: a node of an acyclic graph whose operands are other nodes by
// number, in the list of the body or in the arena that it belongs to. Bodies hold it as its author wrote it
// (graph/body.h), equations and kernels in linear form (expr/arena.h). What a stage does not have, its check refuses
// (expr/check.h).
#pragma once

#include <cstdint>

#include "expr/scalar_op.h"
#include "support/dtype.h"
#include "support/inline_vector.h"
#include "support/strong_id.h"
#include "zspace/size.h"

namespace heddle::expr {

using ExpressionId = StrongId<struct ExpressionTag>;  // of a body's list, or of an arena
using VariableId = StrongId<struct VariableTag>;      // of a body
using AxisId = StrongId<struct AxisTag>;              // of an arena
using TensorIndex = StrongId<struct TensorTag>;       // an input of a body's operation, a tensor of a system or kernel
using LocalId = StrongId<struct LocalTag>;            // of a body

enum class Kind : uint8_t {
    // Coordinates and integers (int64)
    integer,   // literal; also of other integers and bool (0 or 1)
    variable,  // the value of variable `index`
    // Coordinates in linear form, in arenas only
    linear,        // integer + sum coefficients[i] * operands[i]
    floor_divide,  // operands[0] // integer, integer > 0
    modulo,        // operands[0] % integer, integer > 0
    minimum,       // of two coordinates
    maximum,
    // Conditions (bool) on coordinates, in arenas only
    negative,     // operands[0] < 0
    conjunction,  // of two conditions
    // Values
    real,          // literal of a float dtype
    scalar,        // ScalarOp `op` on operands of the types that its table row asks for
    cast,          // to `dtype`, by the rules of language.md, "Bodies"
    select,        // operands: condition, then, else. Lazy: the branch not taken may read out of bounds
    read,          // tensor `index` at coordinates (int64 operands)
    guarded_read,  // read; where a coordinate lies outside the tensor, the last operand instead (in arenas a literal).
                   // Lazy in the read
    inside,        // bool: 0 <= operands[0] < integer, a coordinate, in kernels only; else two conditions
    // In bodies only: lowering gives them names
    local,     // local `index` at coordinates; a state's first is its step plus one
    previous,  // state `index` at the step before its scan's present one, at coordinates without the step
    reduce,    // `reducer` over `variables` of operands[0], where operands[1] (bool), if present, holds
};

struct Expression {
    using Kind = expr::Kind;

    Kind kind = Kind::integer;
    DType dtype = DType::float32;  // of the value. argmin and argmax: int64, row-major over `variables`
    ScalarOp op = ScalarOp::add;
    Reducer reducer = Reducer::sum;
    int32_t index = 0;    // variable, axis, tensor or local: see below
    Size integer = 0;     // literal, constant term, divisor
    double real = 0;      // literal
    InlineVector<ExpressionId, 4> operands;
    InlineVector<VariableId, 4> variables;  // reduce: outermost first
    bool from_template = true;  // a literal that a template wrote stays in a kernel's text; one from data leaves it

    bool is_literal() const { return kind == Kind::integer || kind == Kind::real; }
    bool is_coordinate() const { return kind <= Kind::maximum; }
    bool is_read() const { return kind == Kind::read || kind == Kind::guarded_read; }

    VariableId variable() const { return VariableId(index); }  // of a body's `variable`
    AxisId axis() const { return AxisId(index); }              // of an arena's
    TensorIndex tensor() const { return TensorIndex(index); }  // of a read
    LocalId local() const { return LocalId(index); }           // of `local` and `previous`
};

// Equal but for operands and variables, of which there are as many.
bool same_head(const Expression& a, const Expression& b);
bool same(const Expression& a, const Expression& b);
size_t hash_of(const Expression& expression);

}  // namespace heddle::expr
