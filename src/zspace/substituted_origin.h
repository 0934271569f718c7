// An expression over other names.
#pragma once

#include <map>
#include <string>

#include "zspace/origin.h"

namespace heddle {

// With these expressions for names; other names stay.
OriginPointer substituted(OriginPointer origin, const std::map<std::string, OriginPointer>& names);

}  // namespace heddle
