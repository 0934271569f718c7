// What an operation reads of a dimension at least and greatest ones of coordinates, as in x[clamp(@n + d, 0, $n - 1)]:
// the window of each point, where the projection, which is affine, says the whole dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/verify.h"

namespace heddle::explain {

// An affine form of index variables, or the least or greatest of several.
struct Bound {
    enum class Kind : uint8_t { affine, minimum, maximum };
    Kind kind = Kind::affine;
    AffineForm form;
    std::vector<Bound> parts;
};

// The first and the last element.
struct Window {
    Bound first, last;
};

// Of dimension `dimension` of input `input`; nothing where that is no such window, or the whole dimension.
std::optional<Window> clamped_window(const Operation& operation, size_t input, size_t dimension, int64_t extent);

// "max(@n - 2, 0) .. min(@n + 2, 99)", with what the dimension begins at added.
std::string window_text(const Window& window, const Body& body, int64_t start);
// The elements at a point of the index: from the first to behind the last.
std::pair<int64_t, int64_t> window_at(const Window& window, const Body& body, std::span<const int64_t> point);

}  // namespace heddle::explain
