// The choice behind placement, without graphs: units that each take one of some locations, and nets that cost a copy
// for each other memory in which they are read.
#pragma once

#include <cstdint>
#include <vector>

#include "placing/devices.h"

namespace heddle::placing {

// A tensor: made by a unit or lying in a memory, read by units and in memories.
struct Net {
    int32_t unit = -1;  // that makes it; below zero: it comes from `home`
    MemoryId home = no_id;
    std::vector<int32_t> readers;                  // units, without the one that makes it; each once
    std::vector<MemoryId> read_in;                 // and memories; each once
    const std::vector<double>* seconds = nullptr;  // of a copy from a memory to another, row by row
};

struct Choice {
    std::vector<Location> locations;           // what each number below stands for
    std::vector<std::vector<double>> seconds;  // by unit and location; infinite: it cannot be there
    std::vector<Net> nets;
    size_t memories = 0;

    double copy_seconds(const Net& net, const std::vector<int32_t>& taken) const;
    // Of all units and nets, where unit u takes location taken[u].
    double total(const std::vector<int32_t>& taken) const;
    bool may_take(int32_t unit, int32_t location) const;
};

// The cheapest of two locations, exactly: a cut. Of more, what no exchange of two locations among any set of units makes
// cheaper, the best from several beginnings (Boykov, Veksler, Zabih, "Fast approximate energy minimization via graph
// cuts", 2001: swap moves). Each unit may be somewhere. Where it makes no difference, a location that comes before.
std::vector<int32_t> choose(const Choice& choice);

}  // namespace heddle::placing
