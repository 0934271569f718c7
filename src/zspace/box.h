// Boxes of integer points, half open, and whether they tile another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/inline_vector.h"
#include "zspace/size.h"

namespace heddle {

using Corner = InlineVector<Size, 6>;  // a coordinate a dimension

// start <= point < end in each dimension; one of no dimensions is one point.
struct Box {
    Corner start, end;

    static Box whole(Corner extents);
    size_t rank() const { return start.size(); }
    bool is_empty() const;
    Size extent(size_t dimension) const;  // saturated, as these are
    Corner shape() const;
    Size volume() const;
    bool operator==(const Box&) const = default;
    bool operator<(const Box& other) const;  // by their numbers here: some order
};

// Of one rank.
bool contains(const Box& outer, const Box& inner);  // an empty box is in every other
bool overlap(const Box& a, const Box& b);           // they share a point, if none of them is empty
Box intersection(const Box& a, const Box& b);       // may be empty
Box hull(const Box& a, const Box& b);               // of an empty one: the other
std::vector<Box> difference(const Box& a, const Box& b);  // disjoint boxes: of `a` what is not in `b`, which lies in it
std::string text(const Box& box);                   // "[0:10, 5:8]"

// Two of the boxes, none of them empty, that share a point: a sweep along the dimension in which they differ most.
std::optional<std::pair<size_t, size_t>> overlapping(std::span<const Box> boxes);
// The sum of the volumes, saturated. Disjoint boxes inside of another fill it if it is that one's volume.
Size total_volume(std::span<const Box> boxes);

}  // namespace heddle
