// Which neighbours of a lane's element may be read with it.
#pragma once

#include <optional>
#include <vector>

#include "schedules/tree.h"

namespace heddle::codegen {

// Elements beside one another, as literal offsets of addresses that are alike but for these.
struct Reach {
    int64_t first = 0, last = 0;
};

// Of each load whose lanes are several elements apart, by expression: from the first to the last element that loads of
// its nest read for the same lane. What lies between is in the same buffer, whoever wants it.
std::vector<Reach> reaches(const schedules::Tree& tree);

}  // namespace heddle::codegen
