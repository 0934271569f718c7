// Whether boxes cover another exactly, and where not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zspace/box.h"

namespace heddle {

// Where `boxes` leave cells of `region` out, or share cells. All have one rank. Splits the region at the boxes' borders
// until each part is in or out of every box, as long as `budget` lasts (a unit a box looked at).
struct Cover {
    struct Overlap {
        size_t first = 0, second = 0;  // numbers of boxes
        Box shared;                    // a part of what they share
    };
    std::vector<Box> gaps;          // disjoint; together all that is left out, unless there are more than a few
    std::vector<Overlap> overlaps;  // each pair once, unless there are more than a few
    bool complete = true;           // false: the budget was used up, or too much was found
};
Cover cover(const Box& region, std::span<const Box> boxes, int64_t& budget);

}  // namespace heddle
