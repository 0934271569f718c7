// Which values to keep and which to work out again, at least cost: a minimum cut.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::gradient {

struct CutValue {
    std::vector<size_t> inputs;  // what it is worked out of: values before it
    int64_t keep = 0;            // what keeping it costs; `never`
    int64_t again = 0;           // what working it out again costs; `never`
    bool needed = false;         // somebody asks for it
};

inline constexpr int64_t never = int64_t{1} << 58;

// By value: whether it is kept. Each needed value is kept, or worked out again of values that are kept or worked out
// again. The sum of costs is the least; of choices that cost the same, that which works out the least. It is below
// `never` if any choice is.
//
// Flow goes from what is needed, over an edge of capacity `keep`, to the value worked out again, from there over one of
// capacity `again` to the sink, and without limit to the inputs (Picard, 1976: closures as minimum cuts). The flow is
// found by shortest augmenting paths in levels (Dinic, 1970).
std::vector<bool> cheapest_to_keep(const std::vector<CutValue>& values);

}  // namespace heddle::gradient
