#include "sharding/shares.h"

#include <algorithm>

namespace heddle::sharding {

std::vector<std::map<VariableId, Range>> shares_of(const std::map<VariableId, Range>& ranges, int64_t element_bytes,
                                                   size_t places, double round_bytes) {
    VariableId longest = no_id;
    auto bytes = static_cast<double>(element_bytes);
    for (const auto& [id, range] : ranges) {
        bytes *= static_cast<double>(range.length());
        if (longest == no_id || range.length() > ranges.at(longest).length()) longest = id;
    }
    // Each place sends bytes to all others; or that divided by places, twice, and waits a round more.
    const auto count = static_cast<double>(places);
    const double more = bytes * (count - 1) * (1 - 2 / count);
    if (longest == no_id || more <= round_bytes) return std::vector(places, ranges);
    std::vector<std::map<VariableId, Range>> shares;
    const Range all = ranges.at(longest);
    const auto parts = static_cast<int64_t>(places);
    const int64_t length = (all.length() + parts - 1) / parts;  // more than none: there are bytes
    for (int64_t begin = all.begin; begin < all.end; begin += length) {
        shares.push_back(ranges);
        shares.back()[longest] = {begin, std::min(begin + length, all.end)};
    }
    return shares;
}

}  // namespace heddle::sharding
