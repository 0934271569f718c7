#include "symbolic/wavefront.h"

#include <algorithm>

#include "zspace/checked.h"

namespace heddle {

bool leads_before(const CellOffset& offset) {
    const auto first = std::ranges::find_if(offset, [](int64_t distance) { return distance != 0; });
    return first != offset.end() && *first > 0;
}

bool WaveReach::covers(const CellOffset& offset) const {
    for (size_t axis = 0; axis < offset.size(); ++axis)
        if (offset[axis] > below[axis] || -offset[axis] > above[axis]) return false;
    return waves_back(offset) > 0;
}

void WaveReach::add_border(const CellOffset& offset) {
    for (size_t axis = 0; axis < offset.size(); ++axis) {
        below[axis] = std::max(below[axis], offset[axis]);
        above[axis] = std::max(above[axis], -offset[axis]);
    }
}

int64_t WaveReach::waves_back(const CellOffset& offset) const {
    int64_t waves = 0;
    for (size_t axis = 0; axis < offset.size(); ++axis) waves += slopes[axis] * offset[axis];
    return waves;
}

WaveReach reach_of(size_t axes, std::span<const CellOffset> offsets) {
    WaveReach reach{CellOffset(axes, 1), CellOffset(axes, 0), CellOffset(axes, 1)};
    for (const CellOffset& offset : offsets) reach.add_border(offset);
    // From the inside out: a read that goes back along an axis may go on along those inside it, which its slope pays.
    for (size_t axis = axes - 1; axis-- > 0;) {
        for (const CellOffset& offset : offsets) {
            const auto first = std::ranges::find_if(offset, [](int64_t distance) { return distance != 0; });
            if (first - offset.begin() != static_cast<std::ptrdiff_t>(axis)) continue;
            const int64_t others = reach.waves_back(offset) - reach.slopes[axis] * offset[axis];
            reach.slopes[axis] = std::max(reach.slopes[axis], ceil_divide(1 - others, offset[axis]));
        }
    }
    return reach;
}

}  // namespace heddle
