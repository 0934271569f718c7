// Pictures of graphs and plans: boxes with lines of text, arrows between them, frames around what repeats, a legend.
#pragma once

#include <memory>
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

// A picture's size and text so far.
struct Picture {
    Svg svg;
    double width = 0, height = 0;

    std::string text() const { return svg.finish(width, height); }
};

struct Box {
    // edge_of_graph: an input or an output. Then come nodes of a document, and what stands between graphs.
    enum class Kind : uint8_t { work, layout, edge_of_graph, tensor, operation, application, stage, decision, loop };
    Kind kind = Kind::work;
    OperationClass what = OperationClass::elementwise;
    std::string title;               // bold, in up to three lines
    std::vector<std::string> lines;  // below
    std::string note;                // below them, small
    std::string tooltip;
    std::string name;          // in the lists of what was folded
    std::string says;          // boxes that are folded together say the same here; empty: it stays as it is
    double microseconds = -1;  // below zero: not measured; of a folded box: of all together
    size_t frame = no_frame;
    std::string_view colour = {};                  // of an application
    double picture_width = 0, picture_height = 0;  // below the lines, if there are regions
    std::vector<Region> regions = {};
    std::shared_ptr<const Picture> inside = nullptr;  // below all
};

struct Arrow {
    size_t from = 0, to = 0;  // boxes, earlier to later
    std::string tooltip;
    bool against = false;  // it really points from the later box to the earlier: part of a cycle
    std::string label = {};  // beside its end
};

// Around boxes that stand for `count` copies of themselves; these boxes are side by side in the list.
struct Frame {
    size_t count = 1;
    std::string how;      // beside the count
    std::string tooltip;  // which ones
};

struct Drawing {
    std::string title, subtitle;  // the second may be empty
    std::vector<Box> boxes;       // what an arrow comes from before what it goes to
    std::vector<Arrow> arrows;
    std::vector<Frame> frames;
};

// What repeats (find_repeats.h) is drawn once, in a frame.
void fold(Drawing& drawing);

// One page, or several where it is large. Long graphs go on in further columns; an arrow from column to column is a
// number at both of its ends.
std::vector<Picture> draw_pages(const Drawing& drawing);
// Without a head, in one column: what lies inside of a box.
std::shared_ptr<const Picture> draw_inside(const Drawing& drawing);
// One below the other.
Picture stacked(const std::vector<Picture>& pages);
// Adds the buffers of the session's memory: time to the right, addresses downwards.
void draw_memory(Picture& picture, const plan::Plan& plan);

// Of a box on a page.
double box_width(const Box& box);
double box_height(const Box& box);
// `all_microseconds`: of the whole run; `count`: copies that the box stands for.
void draw_box(Svg& svg, const Box& box, Point corner, double width, size_t count, double all_microseconds);
// The colours of what there is; answers its right edge.
double draw_legend(Svg& svg, Point at, const Drawing& drawing, bool numbers);

// Adds the lines between the elements of a box; none between rows, or columns, that are more than `most`.
void draw_grid(Svg& svg, Point corner, double width, double height, int64_t rows, int64_t columns, int64_t most);

// "1.5 MB"
std::string bytes_text(int64_t bytes);

// "float32[1, 64, 56, 56]": numbers alone, whatever names they came from.
std::string short_type(DType dtype, const std::vector<Size>& sizes);
// "float32[1, 64] = float32[batch, width * 2]" where sizes have names.
std::string long_type(DType dtype, const std::vector<Size>& sizes);

// Whether two operations that follow one another are parts of one use of an operator: people see it as one.
bool same_use(const Operation& before, const Operation& after);

// The pictures of `heddle graph`. `unfold`: what repeats is drawn as often as it is there.
Drawing operations_of(const std::string& title, const Graph& graph);
std::vector<Picture> draw_operations(const std::string& title, const Graph& graph, bool unfold = false);

// Of each launch of a plan's run, in order; empty: nothing was measured.
struct Times {
    std::vector<double> microseconds;
    std::string how;  // they were measured
};
Result<std::vector<Picture>> draw_plan(const std::string& title, const Graph& graph, const plan::Plan& plan,
                                       const Times& times, bool unfold = false);
// Code cli.graph: of more than 2000 nodes.
Result<std::vector<Picture>> draw_document(const std::string& title, const interchange::GraphDocument& document);

}  // namespace heddle::pictures
