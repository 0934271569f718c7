// What goes between places, as what it is together: all parts of a tensor to all, partial results to who combines them.
// It is seen from boxes alone, whatever operator made them and whatever combines them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/shard.h"

namespace heddle::placing {

// All that is brought of one tensor for one operation of the program (or for who gets outputs).
struct Collective {
    enum class Kind : uint8_t {
        broadcast,       // what one place has, to several
        scatter,         // of what one place has to each of several another part
        gather,          // all parts to one place
        all_gather,      // all parts to all that take part
        all_to_all,      // parts of one cut to parts of another
        halo,            // to each place, beside its own part, margins of parts beside it
        reduce,          // all partial results to one place, which combines them
        reduce_scatter,  // each place combines another share
        all_reduce,  // each place gets the whole result: in one round all partial results, or shares and then results
        messages,    // none of these
    };
    Kind kind = Kind::messages;
    std::string tensor;                                  // of the program; of partial results what they become
    std::string combiner, part;                          // of partial results: "max", "max over k"
    std::vector<std::vector<sharding::PlaceId>> groups;  // places that take part, ascending; each group is on its own
    int64_t bytes = 0, busiest = 0;  // in all; that the place sends or receives that sends or receives most
};

std::string_view name(Collective::Kind kind);  // "all-reduce"
std::string text(
    const Collective& collective);  // "all-reduce of y: sum over k, 4 places, 2560 bytes, 640 at the busiest place"

// In the order in which they begin. Their bytes are in all those of `placed.brought`.
std::vector<Collective> collectives_of(const sharding::PlacedGraph& placed);

}  // namespace heddle::placing
