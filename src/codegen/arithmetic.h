// Scalar operations, casts and combiners spelled in the few operations of code.h, by the rules of docs/language.md,
// "Bodies": for all backends alike. Operands are scalars or vectors; a scalar next to a vector is broadcast.
#pragma once

#include <span>

#include "codegen/code.h"

namespace heddle::codegen {

CodeValue widened(Code& code, CodeValue value, int width);
CodeValue apply(Code& code, ScalarOp op, std::span<const CodeValue> operands);
CodeValue cast(Code& code, CodeValue value, DType dtype);
// acc = combine(acc, term); not for argument reductions.
CodeValue combine(Code& code, Reducer reducer, CodeValue accumulator, CodeValue term);
// Where `b` with index `b_index` is to be taken instead of `a`: strictly better, or a first NaN. With `ties`, also
// where the values are equally good and b's index is the smaller one.
CodeValue is_better(Code& code, Reducer reducer, CodeValue a, CodeValue b);
CodeValue is_better_or_first(Code& code, Reducer reducer, CodeValue a, CodeValue a_index, CodeValue b,
                             CodeValue b_index);
// The neutral element of the reducer, of the argument reductions that of minimum and maximum; a scalar.
CodeValue neutral(Code& code, Reducer reducer, DType dtype);

}  // namespace heddle::codegen
