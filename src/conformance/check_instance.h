// Programs on a backend beside the interpreter: what is computed wrongly, or refused; nothing: all is right.
#pragma once

#include "conformance/cases.h"
#include "inference/engine.h"

namespace heddle::conformance {

// Each kernel from what it read, then the outputs of two runs.
Diagnostics check_instance(const Result<Instance>& instance, inference::Engine& engine);
// The gradient in two programs with a tape between them, each as above, on kernels of the config that was asked for.
Diagnostics check_tape(const Instance& instance, uint64_t seed, inference::Engine& engine);

}  // namespace heddle::conformance
