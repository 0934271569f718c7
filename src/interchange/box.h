// Boxes of integers: what a document says of tensors and indices, and whether boxes cover another exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interchange/document.h"

namespace heddle::interchange {

std::optional<std::vector<int64_t>> extents(const DocumentRange& box);  // nothing: beyond 64 bits

// The hull of the boxes that the points of `index` project to; an empty index projects to an empty box. The columns are
// the index's dimensions. Nothing: beyond 64 bits.
std::optional<DocumentRange> projected(const DocumentProjection& projection, const DocumentRange& index);

// Where `boxes` leave cells of `region` out, or share cells. All have one rank. Splits the region at the boxes' borders
// until each part is in or out of every box, as long as `budget` lasts (a unit a box looked at).
struct Cover {
    struct Overlap {
        size_t first = 0, second = 0;  // numbers of boxes
        DocumentRange shared;          // a part of what they share
    };
    std::vector<DocumentRange> gaps;  // disjoint; together all that is left out, unless there are more than a few
    std::vector<Overlap> overlaps;    // each pair once, unless there are more than a few
    bool complete = true;             // false: the budget was used up, or too much was found
};
Cover cover(const DocumentRange& region, const std::vector<DocumentRange>& boxes, int64_t& budget);

// Two points of `index` whose boxes share a cell, if there are such: the map is not injective. `complete` is false
// where nothing was found and the budget was used up (a unit a number looked at). Asked only where `projected` gives a
// box.
struct Collision {
    std::optional<std::pair<Corner, Corner>> points;
    bool complete = true;
};
Collision collision(const DocumentProjection& projection, const DocumentRange& index, int64_t& budget);

// Whether the disjoint boxes of the points of `index` fill `hull`. Nothing: the numbers are too large to say.
std::optional<bool> fills(const DocumentProjection& projection, const DocumentRange& index, const DocumentRange& hull);

}  // namespace heddle::interchange
