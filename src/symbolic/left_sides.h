// What the left sides of one output write: affine coordinates in any number of variables, with factors of any sign.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "graph/body.h"
#include "support/source_text.h"
#include "symbolic/body_nodes.h"
#include "symbolic/projection_range.h"
#include "zspace/box.h"
#include "zspace/linear_equation.h"

namespace heddle {

// One coordinate of a left side: least value + the sum of its digits, each of an extent above 1.
struct LeftCoordinate {
    RadixDigits<VariableId> digits;  // by the size of their factors, the least first; those of both signs
    Size low = 0, high = 0;          // its values
    bool is_run = false;             // it takes each of low .. high once
    bool is_unique = false;          // no value twice, and its digits follow from it by division, the greatest first
};

struct LeftSide {
    size_t equation = 0;
    std::vector<LeftCoordinate> coordinates;
    bool apart = true;  // no variable stands in two coordinates

    bool is_box() const;
    int64_t points() const;  // saturated
};

// That of an equation with points; nothing where a coordinate is not affine, leaves the output, or a variable is used
// by none: other errors.
std::optional<LeftSide> left_side(const Body& body, size_t equation, RangeEvaluator& ranges,
                                  std::span<const Size> extents);

// An element that two equations write (or one twice), or that none does.
struct LeftFault {
    std::vector<int64_t> element;
    std::vector<size_t> equations;  // none: a gap
};
struct LeftLimit {};  // too large to tell

// Whether each element of the output is written exactly once. Sides that are boxes are compared by their borders, others
// by all their values in each dimension, and where a variable stands in two coordinates by all their elements.
std::variant<std::monostate, LeftFault, LeftLimit> cover_fault(std::span<const LeftSide> sides,
                                                               std::span<const Size> extents);

// What may be said of a left side with gaps; empty if nothing.
std::string gap_remedy(const LeftSide& side);

}  // namespace heddle
