#include "pictures/draw_parts.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace heddle::pictures {
namespace {

constexpr double margin = 24;
constexpr double title_size = 12, line_size = 10, line_height = 14;
constexpr double widest_box = 340;
constexpr double layer_gap = 32;

struct Colours {
    std::string_view fill, stroke;
};

Colours colours_of(OperationClass c) {
    switch (c) {
    case OperationClass::movement: return {"#e3f1f7", "#4d94b5"};
    case OperationClass::elementwise: return {"#e6f4e3", "#5aa350"};
    case OperationClass::reduction: return {"#fdf0d5", "#d09a2c"};
    case OperationClass::contraction: return {"#fbe0dc", "#cc5f4e"};
    case OperationClass::indirect: return {"#efe3f7", "#9367b5"};
    case OperationClass::scan: return {"#f9e4f0", "#b8488f"};
    case OperationClass::opaque: break;
    }
    return {"#ffffff", "#333333"};
}

Colours colours_of(const Box& box) {
    if (box.kind == Box::Kind::layout) return {"#e4e4e4", "#999999"};
    if (box.kind == Box::Kind::edge_of_graph || box.kind == Box::Kind::tensor) return {"#ffffff", "#555555"};
    if (box.kind == Box::Kind::operation) return {"#eef0f4", "#4a5568"};
    if (box.kind == Box::Kind::application) return {"#ffffff", box.colour};
    return colours_of(box.what);
}

double box_width(const Box& box) {
    double width = text_width(box.title, title_size) * 1.08;
    for (const std::string& line : box.lines) width = std::max(width, text_width(line, line_size));
    width = std::max(width, box.picture_width);
    return std::clamp(width + 20, 60.0, widest_box);
}

double box_height(const Box& box) {
    double height = 24 + line_height * static_cast<double>(box.lines.size());
    return box.regions.empty() ? height : height + box.picture_height + 12;
}

// The tensor's cells, and on them the regions, which may overlap.
void draw_regions(Svg& svg, const Box& box, Point corner) {
    double width = box.picture_width, height = box.picture_height;
    svg.rectangle(corner, width, height, "#f7f7f7", "#999999", 0);
    for (const Region& region : box.regions) {
        svg.rectangle({corner.x + region.left * width, corner.y + region.top * height},
                      (region.right - region.left) * width, (region.bottom - region.top) * height, region.colour,
                      region.colour, 0, region.tooltip, 0.4);
    }
}

double draw_legend(Svg& svg, double y, bool layout) {
    double x = margin;
    auto entry = [&](Colours colours, std::string_view name) {
        svg.rectangle({x, y - 9}, 12, 12, colours.fill, colours.stroke, 2);
        svg.text({x + 18, y + 1}, name, {.size = line_size});
        x += 30 + text_width(name, line_size);
    };
    for (auto c : {OperationClass::movement, OperationClass::elementwise, OperationClass::reduction,
                   OperationClass::contraction, OperationClass::indirect, OperationClass::scan}) {
        entry(colours_of(c), name(c));
    }
    if (layout) entry({"#e4e4e4", "#999999"}, "layout");
    return x;
}

void draw_box(Svg& svg, const Box& box, const LayoutNode& node, Point origin) {
    Colours colours = colours_of(box);
    Point corner{origin.x + node.corner.x, origin.y + node.corner.y};
    double radius = box.kind == Box::Kind::edge_of_graph ? node.height / 2 : box.kind == Box::Kind::operation ? 8 : 3;
    svg.rectangle(corner, node.width, node.height, colours.fill, colours.stroke, radius, box.tooltip);
    double middle = corner.x + node.width / 2, room = node.width - 14;
    svg.text({middle, corner.y + 16}, fitted(box.title, title_size * 1.05, room),
             {.size = title_size, .anchor = "middle", .bold = true});
    double y = corner.y + 16;
    for (const std::string& line : box.lines) {
        y += line_height;
        svg.text({middle, y}, fitted(line, line_size, room), {.size = line_size, .colour = "#444", .anchor = "middle"});
    }
    if (!box.regions.empty()) draw_regions(svg, box, {middle - box.picture_width / 2, y + 10});
}

}  // namespace

std::string bytes_text(int64_t bytes) {
    auto size = static_cast<double>(bytes);
    if (bytes < 1000) return fmt::format("{} B", bytes);
    if (bytes < 1'000'000) return fmt::format("{:.3g} kB", size / 1e3);
    if (bytes < 1'000'000'000) return fmt::format("{:.3g} MB", size / 1e6);
    if (bytes < 1'000'000'000'000) return fmt::format("{:.3g} GB", size / 1e9);
    return fmt::format("{:.3g} TB", size / 1e12);
}

void draw_boxes(Picture& picture, const std::string& title, const std::vector<Box>& boxes,
                const std::vector<Arrow>& arrows) {
    double top = picture.height + margin + 8;
    picture.svg.text({margin, top}, title, {.size = 15, .bold = true});
    bool document =
        std::any_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.kind == Box::Kind::tensor; });
    bool layout_boxes =
        std::any_of(boxes.begin(), boxes.end(), [](const Box& box) { return box.kind == Box::Kind::layout; });
    double legend = document ? margin : draw_legend(picture.svg, top + 22, layout_boxes);
    Layout layout;
    for (const Box& box : boxes)
        layout.nodes.push_back({.width = box_width(box), .height = box_height(box), .corner = {}});
    for (const Arrow& arrow : arrows) layout.edges.push_back({.from = arrow.from, .to = arrow.to, .points = {}});
    bool labels = std::any_of(arrows.begin(), arrows.end(), [](const Arrow& arrow) { return !arrow.label.empty(); });
    lay_out(layout, labels ? layer_gap + 20 : layer_gap);
    Point origin{margin, top + 48};
    for (size_t i = 0; i < arrows.size(); i++) {
        std::vector<Point> points;
        for (const Point& point : layout.edges[i].points) points.push_back({point.x + origin.x, point.y + origin.y});
        if (arrows[i].against) std::reverse(points.begin(), points.end());
        picture.svg.line(points, arrows[i].against ? "#c0392b" : "#777", arrows[i].against ? 2 : 1.2, true,
                         arrows[i].tooltip);
    }
    for (size_t i = 0; i < boxes.size(); i++) draw_box(picture.svg, boxes[i], layout.nodes[i], origin);
    // Labels stand above what the arrow reaches, one below the other where several come.
    std::vector<int> labelled(boxes.size(), 0);
    double right = layout.width;
    for (size_t i = 0; i < arrows.size(); i++) {
        if (arrows[i].label.empty()) continue;
        const LayoutNode& to = layout.nodes[arrows[i].to];
        Point at{origin.x + to.corner.x + to.width / 2 + 24,
                 origin.y + to.corner.y - 6 - 11 * labelled[arrows[i].to]++};
        picture.svg.text(at, arrows[i].label, {.size = 9, .colour = "#666", .halo = true});
        right = std::max(right, at.x - origin.x + text_width(arrows[i].label, 9));
    }
    double title_width = text_width(title, 16);
    picture.width = std::max({picture.width, right + 2 * margin, legend + margin, title_width + 2 * margin});
    picture.height = origin.y + layout.height + margin;
}

// ---- memory

namespace {

// 1, 2 or 5 times a power of ten, so that at most `count` steps fit.
double nice_step(double extent, double count) {
    double step = std::pow(10, std::floor(std::log10(std::max(extent / count, 1.0))));
    for (double factor : {1.0, 2.0, 5.0, 10.0}) {
        if (extent / (step * factor) <= count) return step * factor;
    }
    return step * 10;
}

}  // namespace

void draw_grid(Svg& svg, Point corner, double width, double height, int64_t rows, int64_t columns, int64_t most) {
    for (int64_t i = 1; columns <= most && i < columns; ++i) {
        double x = corner.x + width * static_cast<double>(i) / static_cast<double>(columns);
        svg.line({{x, corner.y}, {x, corner.y + height}}, "#bbb", 0.4);
    }
    for (int64_t i = 1; rows <= most && i < rows; ++i) {
        double y = corner.y + height * static_cast<double>(i) / static_cast<double>(rows);
        svg.line({{corner.x, y}, {corner.x + width, y}}, "#bbb", 0.4);
    }
}

void draw_memory(Picture& picture, const plan::Plan& plan) {
    constexpr std::string_view fills[] = {"#cfe3ee", "#d5ead0", "#f8e3b8", "#f5cfc9",
                                          "#e1d0ee", "#d3d9f2", "#e9e3c8", "#c9e8e0"};
    double left = margin + 60, top = picture.height + margin + 12;
    std::string title = fmt::format("Memory of a session: {} (at least {} live at once)",
                                    bytes_text(plan.workspace_bytes), bytes_text(plan.most_live_bytes()));
    picture.svg.text({margin, top}, title, {.size = 15, .bold = true});
    picture.svg.text({margin, top + 20}, "launches to the right, addresses downwards",
                     {.size = line_size, .colour = "#666"});
    top += 40;
    auto steps = static_cast<double>(std::max<size_t>(plan.run.size(), 1));
    double width = std::clamp(steps * 18, 320.0, 2400.0), height = 360;
    double per_step = width / steps,
           per_byte = height / static_cast<double>(std::max<int64_t>(plan.workspace_bytes, 1));
    picture.svg.rectangle({left, top}, width, height, "#fafafa", "#bbbbbb", 0);
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const plan::Buffer& buffer = plan.buffers[b];
        bool margins = buffer.kind == plan::Buffer::Kind::margins;
        if (buffer.first < 0 || (!margins && buffer.kind != plan::Buffer::Kind::workspace)) continue;
        Point corner{left + buffer.first * per_step, top + static_cast<double>(buffer.offset) * per_byte};
        double box = (buffer.last - buffer.first + 1) * per_step, tall = static_cast<double>(buffer.bytes) * per_byte;
        picture.svg.rectangle(corner, box, tall, fills[b % std::size(fills)], margins ? "#333333" : "#888888", 0,
                              fmt::format("{}: {} at {}, launches {} to {}{}", buffer.name, bytes_text(buffer.bytes),
                                          buffer.offset, buffer.first, buffer.last, margins ? ", with a margin" : ""));
        if (tall >= 11 && box >= 40)
            picture.svg.text({corner.x + 4, corner.y + tall / 2 + 3}, fitted(buffer.name, 9, box - 8), {.size = 9});
    }
    auto bytes = static_cast<double>(plan.workspace_bytes);
    for (double at = 0, step = nice_step(bytes, 8); at <= bytes; at += step) {
        double y = top + at * per_byte;
        picture.svg.line({{left - 4, y}, {left, y}}, "#666");
        picture.svg.text({left - 7, y + 3}, bytes_text(static_cast<int64_t>(at)),
                         {.size = 9, .colour = "#666", .anchor = "end"});
    }
    for (double at = 0, step = std::max(nice_step(steps, width / 40), 1.0); at < steps; at += step) {
        double x = left + (at + 0.5) * per_step;
        picture.svg.text({x, top + height + 13}, fmt::format("{:.0f}", at),
                         {.size = 9, .colour = "#666", .anchor = "middle"});
    }
    picture.width = std::max({picture.width, left + width + margin, text_width(title, 16) + 2 * margin});
    picture.height = top + height + 24 + margin;
}

}  // namespace heddle::pictures
