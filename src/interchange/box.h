// Boxes of integers: what a document says of tensors and indices, as projections move them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interchange/document.h"
#include "zspace/cover.h"

namespace heddle::interchange {

std::optional<std::vector<int64_t>> extents(const DocumentRange& box);  // nothing: beyond 64 bits

// The hull of the boxes that the points of `index` project to; an empty index projects to an empty box. The columns are
// the index's dimensions. Nothing: beyond 64 bits.
std::optional<DocumentRange> projected(const DocumentProjection& projection, const DocumentRange& index);

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
