// Places for the boxes of an acyclic graph, from top to bottom (after Sugiyama, Tagawa and Toda 1981): layers by
// longest path, long edges through places of their own in every layer between, order within layers by barycentres, and
// positions by least squares under the order.
#pragma once

#include <cstddef>
#include <vector>

#include "pictures/svg.h"

namespace heddle::pictures {

struct LayoutNode {
    double width = 0, height = 0;
    Point corner;  // the answer: top left
};

struct LayoutEdge {
    size_t from = 0, to = 0;    // nodes; `from` comes before `to`
    std::vector<Point> points;  // the answer
};

struct Layout {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;
    double width = 0, height = 0;  // the answer
};

// `layer_gap`: pixels between layers. Positions begin at zero.
void lay_out(Layout& layout, double layer_gap);

}  // namespace heddle::pictures
