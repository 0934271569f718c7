// What a scalar operation's operands get of the adjoint of its result: the shares in the table of operations.
#pragma once

#include <optional>

#include "symbolic/body_nodes.h"

namespace heddle::gradient {

// What one operand gets, where `condition` holds (-1: everywhere).
struct Share {
    NodeId value = no_id;
    NodeId condition = no_id;
};

// Nothing for operations whose derivative is zero wherever there is one: floor, sign, comparisons ...
bool has_derivative(ScalarOp op);

// `node` is an operation on floats; `adjoint` is of its type, and so is `result`, which is its value.
Share share_of(BodyNodes& nodes, NodeId node, size_t operand, NodeId adjoint, NodeId result);

}  // namespace heddle::gradient
