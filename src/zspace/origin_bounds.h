// What is known of a size when its names have any sizes of given ranges.
#pragma once

#include <map>
#include <string>

#include "zspace/interval.h"
#include "zspace/origin.h"

namespace heddle {

// Between which ends the value lies; of a name that is not there nothing is known.
Interval bounds_within(OriginPointer origin, const std::map<std::string, Interval>& names);

}  // namespace heddle
