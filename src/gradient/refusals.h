// Why a body has no adjoint.
#pragma once

#include <cstddef>

#include "expr/scalar_op.h"
#include "support/diagnostic.h"

namespace heddle::gradient {

// Code gradient.unknown.
Diagnostic unknown_derivative(ScalarOp op);
// Code gradient.limit: of a body with so many nodes.
Diagnostic too_large(size_t nodes);

}  // namespace heddle::gradient
