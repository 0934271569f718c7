// Size classes: partition and schedules are chosen for one size of a named dimension, and hold for all sizes of its class.
#pragma once

#include <cstdint>

namespace heddle {

// [1, 4), [4, 16), and from there each ends at sixteen times where it begins: a cache that grows meets few of them, and
// choices differ most among small sizes. A size that is not positive is alone in its class.
struct SizeClass {
    int64_t least = 0, most = 0;
    int64_t representative = 0;  // costs are those of this size
};

SizeClass size_class(int64_t size);

inline int64_t class_representative(int64_t size) { return size_class(size).representative; }

}  // namespace heddle
