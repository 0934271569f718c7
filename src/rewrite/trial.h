// Operators tried on made-up tensors, for what is wrong whatever they are applied to.
#pragma once

#include "language/library.h"

namespace heddle::rewrite {

// The mistakes of a template's body that every application to dimensions of two and more meets: of many random instances
// none succeeds, and those that get as far as the body fail there (symbolic.footprint, symbolic.cover and others that do
// not depend on dtypes).
// Empty where one succeeds, where none gets so far, and for what has no body.
Diagnostics mistakes_of_every_use(const Template& metakernel, const Library& library);

}  // namespace heddle::rewrite
