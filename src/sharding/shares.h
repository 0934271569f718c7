// How places divide the combining of partial results among them.
#pragma once

#include <map>
#include <vector>

#include "sharding/body_copy.h"

namespace heddle::sharding {

// What each of so many places combines of a result with elements of so many bytes, for variables in `ranges`: its share of the
// longest range; or all of it, where sending whole partial results to all takes no longer than sending shares of them and then
// of the result. `round_bytes`: as of Cut. Shares without points are left out.
std::vector<std::map<VariableId, Range>> shares_of(const std::map<VariableId, Range>& ranges, int64_t element_bytes,
                                                   size_t places, double round_bytes);

}  // namespace heddle::sharding
