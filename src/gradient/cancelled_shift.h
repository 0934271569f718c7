// Extremes that are only there for the range of numbers: softmax subtracts the greatest term before `exp`, and divides by
// a sum of the same, so that its value does not depend on what was subtracted.
#pragma once

#include "graph/body.h"

namespace heddle::gradient {

// The nodes of a body that take the least or the greatest of several values, or limit such a one, and on whose value no
// equation of it depends: nothing has an adjoint or a tangent through them. It is proved by what each node becomes where t is added to
// the extreme: v + a * t, or v * exp(a * t), with a number `a` that is known.
NodeList cancelled_shifts(const Body& body);

}  // namespace heddle::gradient
