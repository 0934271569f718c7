// Which element types a scalar operation takes: what the parser and the verifier of systems both ask.
#pragma once

#include "graph/scalar_op.h"
#include "support/dtype.h"

namespace heddle::equations {

bool accepts(ScalarOp op, DType operand);
DType result_type(ScalarOp op, DType operand);  // of operands that it accepts
bool accepts(Reducer reducer, DType term);

}  // namespace heddle::equations
