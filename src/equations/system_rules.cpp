#include "equations/system_rules.h"

namespace heddle::equations {

Expr neutral(Arena& arena, Reducer reducer, DType dtype) {
    const NeutralTerm term = heddle::neutral(reducer, dtype);
    if (is_bool(dtype)) return arena.truth(term.integer != 0);
    return is_float(dtype) ? arena.real(dtype, term.real) : arena.literal(dtype, term.integer);
}

}  // namespace heddle::equations
