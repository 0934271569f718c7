// Pictures of graphs and plans: boxes with lines of text, edges between them, a legend.
#pragma once

#include <string>
#include <vector>

#include "cli/draw_layout.h"
#include "cli/explain_projection.h"
#include "cli/svg.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace heddle::cli {

struct Box {
    enum class Kind : uint8_t { work, layout, edge_of_graph };  // edge_of_graph: an input or an output
    Kind kind = Kind::work;
    OperationClass what = OperationClass::elementwise;
    std::string title;               // bold
    std::vector<std::string> lines;  // below
    std::string tooltip;
};

struct Arrow {
    size_t from = 0, to = 0;  // boxes, earlier to later
    std::string label;        // beside its end; may be empty
    std::string tooltip;
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

// "1.5 MB"
std::string bytes_text(int64_t bytes);

// The two pictures of `heddle graph`.
Picture draw_operations(const std::string& title, const Graph& graph);
Result<Picture> draw_plan(const std::string& title, const Graph& graph);

}  // namespace heddle::cli
