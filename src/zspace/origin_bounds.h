// What is known of a size when its names have any sizes of given ranges.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "zspace/interval.h"
#include "zspace/origin.h"
#include "zspace/size_facts.h"

namespace heddle {

// Between which ends the value lies; of a name that is not there nothing is known.
Interval bounds_within(OriginPointer origin, const std::map<std::string, Interval>& names);

// Whether the relation holds of any number within these bounds, or of none; nothing: of some, or that is not known.
std::optional<bool> known_within(SizeFact::Relation relation, const Interval& bounds);

// Whether it is, where each name has any size of the class of its representative (zspace/size_class.h).
bool is_never_negative(OriginPointer origin, const std::map<std::string, int64_t>& representatives);

}  // namespace heddle
