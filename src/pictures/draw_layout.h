// Places for the boxes of an acyclic graph, from top to bottom (after Sugiyama, Tagawa and Toda 1981): layers by
// longest path, long edges through places of their own in every layer between, order within layers by barycentres, and
// positions by least squares under the order. Frames around some of the boxes have layers of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pictures/svg.h"

namespace heddle::pictures {

inline constexpr size_t no_frame = SIZE_MAX;

struct LayoutNode {
    double width = 0, height = 0;
    size_t frame = no_frame;  // boxes of one frame are side by side in the list
    size_t layer = 0;
    Point corner;  // the answer: top left
};

struct LayoutEdge {
    size_t from = 0, to = 0;    // nodes; `from` comes before `to`
    std::vector<Point> points;  // the answer
};

struct LayoutFrame {
    double least_width = 0;
    Point corner;  // the answer
    double width = 0, height = 0;
};

struct Layout {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    std::vector<LayoutFrame> frames;  // by number
    double width = 0, height = 0;     // the answer
};

// Pixels between boxes side by side, and between layers; of a frame above and below its boxes, and beside them.
inline constexpr double box_gap = 28, layer_gap = 34, frame_head = 36, frame_foot = 12, frame_side = 14;

// Gives every node a layer. Boxes of one layer are together at most `widest`, if there are several. A frame's layers
// are its own: what comes before it in the list is above, what comes after is below.
void choose_layers(Layout& layout, double widest);

// Places nodes by their layers. Positions begin at zero. A frame that has no nodes has no size.
void lay_out(Layout& layout);

}  // namespace heddle::pictures
