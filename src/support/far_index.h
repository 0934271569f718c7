// The index that a read which takes another's place asks for where that one's is outside: far outside of all tensors,
// so that what is computed from it is outside, too. Messages do not show it: nobody gave it.
#pragma once

#include <cstdint>

namespace heddle {

inline constexpr int64_t far_index = -(int64_t{1} << 30);
// What is computed from it stays so near to it, and from an index that somebody gave so near to 0.
inline constexpr int64_t far_index_reach = -far_index / 4;

// Near a multiple of it, of those that strides make.
constexpr bool is_far_index(int64_t index) {
    constexpr int64_t most = -far_index << 20;
    if (index < -most || index > most) return false;
    const int64_t multiple = (index + (index < 0 ? far_index : -far_index) / 2) / far_index * far_index;
    return multiple != 0 && index - multiple >= -far_index_reach && index - multiple <= far_index_reach;
}
static_assert(is_far_index(far_index + 7) && is_far_index(-3 * far_index - 7) && !is_far_index(far_index_reach) &&
              !is_far_index(INT64_MAX) && !is_far_index(INT64_MIN));

}  // namespace heddle
