// For which sizes a plan holds: a class of each name (zspace/size_class.h), whose representative costs are of, and facts.
#pragma once

#include <map>
#include <string>

#include "plan/plan.h"

namespace heddle::plan {

// That the names are of the classes that they have now, and those of these facts that do not follow from it.
SizeFacts without_class_facts(const SizeFacts& facts, const std::map<std::string, int64_t>& names);

// For people, the first of many: "16 <= n <= 255, n % 4 == 0"; of a plan without facts "".
std::string validity_text(const Plan& plan);

}  // namespace heddle::plan
