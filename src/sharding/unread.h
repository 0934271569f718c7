// Parts of a placed graph that nothing asks for.
#pragma once

#include "sharding/shard.h"

namespace heddle::sharding {

// Boxes of a tensor that no later operation reads are not made.
void drop_unread(PlacedGraph& placed);

}  // namespace heddle::sharding
