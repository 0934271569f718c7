// Pictures of graphs and plans: boxes with lines of text, edges between them, a legend.
#pragma once

#include <string>
#include <vector>

#include "pictures/draw_layout.h"
#include "pictures/notation.h"
#include "pictures/svg.h"
#include "graph/graph.h"
#include "interchange/document.h"
#include "plan/plan.h"

namespace heddle::pictures {

// A part of a tensor's picture, in its width and height.
struct Region {
    double left = 0, top = 0, right = 1, bottom = 1;
    std::string_view colour;
    std::string tooltip;
};

struct Box {
    // edge_of_graph: an input or an output. The last three are nodes of a document.
    enum class Kind : uint8_t { work, layout, edge_of_graph, tensor, operation, application };
    Kind kind = Kind::work;
    OperationClass what = OperationClass::elementwise;
    std::string title;               // bold
    std::vector<std::string> lines;  // below
    std::string tooltip;
    std::string_view colour = {};                  // of an application
    double picture_width = 0, picture_height = 0;  // below the lines, if there are regions
    std::vector<Region> regions = {};
};

struct Arrow {
    size_t from = 0, to = 0;  // boxes, earlier to later
    std::string label;        // beside its end; may be empty
    std::string tooltip;
    bool against = false;  // it really points from the later box to the earlier: part of a cycle
};

// A picture's size and text so far.
struct Picture {
    Svg svg;
    double width = 0, height = 0;
};

// Adds a title, the legend, and the boxes and arrows below what is there.
void draw_boxes(Picture& picture, const std::string& title, const std::vector<Box>& boxes,
                const std::vector<Arrow>& arrows);
// Adds the buffers of the session's memory: time to the right, addresses downwards.
void draw_memory(Picture& picture, const plan::Plan& plan);

// Adds the lines between the elements of a box; none between rows, or columns, that are more than `most`.
void draw_grid(Svg& svg, Point corner, double width, double height, int64_t rows, int64_t columns, int64_t most);

// "1.5 MB"
std::string bytes_text(int64_t bytes);

// The pictures of `heddle graph`.
Picture draw_operations(const std::string& title, const Graph& graph);
Result<Picture> draw_plan(const std::string& title, const Graph& graph);
Picture draw_document(const std::string& title, const interchange::GraphDocument& document);

}  // namespace heddle::pictures
