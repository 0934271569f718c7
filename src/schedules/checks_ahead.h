// Places that data choose, where a scan reads them again in each step: whether all are inside is asked once, before it.
#pragma once

#include <optional>

#include "schedules/kernel.h"

namespace heddle::schedules {

// An update in a scan that reads at places which inputs say and no step moves, `d[t, source[e]]`, becomes two: where a
// local, made before the scan, says that all of them are inside, nothing is checked; else everything is, as ever, since a
// place outside is an error only where it is read. Nothing if no update is such.
std::optional<Kernel> with_checks_ahead(const Kernel& kernel);

}  // namespace heddle::schedules
