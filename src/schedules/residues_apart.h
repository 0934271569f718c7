// Arrays that the lanes of a scan's steps would read at every second, third ... element.
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// A local that no step of a scan changes, and that its streams read at s i + r for the axis i of their results, is laid out
// once more before the scan, by residues: element j at [j % s, j // s]. So lanes along i read neighbours, i + r // s, in
// every step: one load in place of several and a permute. Nothing if nothing is read so.
std::optional<Kernel> with_residues_apart(const Kernel& kernel);

}  // namespace heddle::schedules
