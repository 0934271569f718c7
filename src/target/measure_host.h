// What no table of the system tells of the machine that we run on: how fast it is.
#pragma once

#include "target/target.h"

namespace heddle {

// Measures the fields that schema.h says are known by measurement, in some 30 ms, all cores busy for a part of it: loops of one kind of
// instruction, each figure the best of several short ones, so that what else runs disturbs it little. It is rounded,
// because equal machines should make equal choices. False, and nothing is set: we know no way on this CPU, or there is
// no memory.
bool measure_speed(Target& target);
// The same fields from a target that was measured before.
void copy_speed(const Target& measured, Target& target);
// Whether we know a way.
bool can_measure_speed(const Target& target);

}  // namespace heddle
