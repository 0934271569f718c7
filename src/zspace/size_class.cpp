#include "zspace/size_class.h"

#include <limits>

namespace heddle {

SizeClass size_class(int64_t size) {
    if (size <= 0) return {size, size, size};
    constexpr int64_t last = std::numeric_limits<int64_t>::max();
    const auto times = [](int64_t least) { return least < 16 ? 4 : 16; };  // as far as the next class
    const auto is_last = [&](int64_t least) { return least > last / times(least); };
    int64_t least = 1;
    while (!is_last(least) && size >= least * times(least)) least *= times(least);
    return {least, is_last(least) ? last : least * times(least) - 1, 2 * least};
}

}  // namespace heddle
