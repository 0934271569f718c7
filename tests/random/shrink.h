// Programs made smaller while they show the same finding.
#pragma once

#include "random/isolation.h"

namespace heddle::random {

struct Shrunk {
    Program program;
    Outcome outcome;
    int attempts = 0;
};

// From the choices of a program with this outcome; at most so many attempts.
Shrunk shrink(std::vector<uint32_t> choices, const Outcome& outcome, int attempts, const Limits& limits,
              Library& library);

}  // namespace heddle::random
