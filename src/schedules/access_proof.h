// Whether a tree's accesses lie inside of its memories, for all sizes: from what its text says and from expressions of sizes,
// without a number.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedules/tree.h"
#include "zspace/premises.h"

namespace heddle::schedules {

// What a tree may touch of a memory, in bytes: of a buffer before coordinate zero and from there on; of an array from its
// place on.
struct Room {
    Size before = 0, behind = 0;
};

struct AccessProof {
    int64_t statements = 0;
    std::vector<std::string> unproved;  // "t0[b*$8 + a], above: ..."
};

// Of each load and store, that what it touches lies inside of the memory's room, wherever it is done. What vectors load beside
// the lanes' elements is not looked at: `slack` says that it is there. The launch's numbers, and the rooms of all memories in
// their order. The premises say what is known of the sizes, and get what an index and a size have made.
AccessProof prove_accesses(const Tree& tree, const std::vector<Size>& numbers, const std::vector<Room>& rooms, Premises& premises);

}  // namespace heddle::schedules
