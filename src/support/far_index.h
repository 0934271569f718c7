// The index that a read which takes another's place asks for where that one's is outside: far outside of all tensors,
// so that what is computed from it is outside, too. Messages do not show it: nobody gave it.
#pragma once

#include <cstdint>

namespace heddle {

inline constexpr int64_t far_index = -(int64_t{1} << 30);
// What is computed from it stays so near to it, and from an index that somebody gave so near to 0.
inline constexpr int64_t far_index_reach = -far_index / 4;

constexpr bool is_far_index(int64_t index) { return index < -far_index_reach || index > far_index_reach; }

}  // namespace heddle
