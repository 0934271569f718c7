// Repeated parts of a graph: runs of nodes that follow one another and are alike in what they say and in what feeds
// them. Nothing is known of models: a layer is what repeats.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heddle::pictures {

// Nodes [begin, begin + length * count): `count` copies of `length` nodes, each after the other.
struct Repeat {
    size_t begin = 0, length = 0, count = 0;
    bool chained = false;  // a copy is fed by the one before; else all stand side by side

    size_t end() const { return begin + length * count; }
};

// `says`: of each node what copies of it must say as well; nodes that say nothing are never part of a copy. `feeds`: of
// each node the nodes before it that feed it, in order. Answers runs that do not overlap, in order; those come first
// that save the most nodes.
//
// A node of a later copy is fed, place by place, by the node that corresponds to what feeds the copy before, or by the
// same node in front of the run; where the first copy is fed from in front of the run, the second may be fed by the
// first. Copies but the last feed nodes behind the run only where all of them feed the same.
std::vector<Repeat> find_repeats(const std::vector<std::string>& says, const std::vector<std::vector<size_t>>& feeds);

}  // namespace heddle::pictures
