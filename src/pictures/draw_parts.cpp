#include "pictures/draw_parts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::pictures {
namespace {

constexpr double title_size = 12, line_size = 10, note_size = 9, title_height = 15, line_height = 14;
constexpr double widest_box = 300, box_padding = 20;
constexpr size_t most_title_lines = 3;
constexpr double inside_side = 12, inside_gap = 10;
constexpr std::string_view widest_time = "999 × 99.9 ms, under 0.1 %";
constexpr std::string_view number_note = "a number in a circle: the arrow goes on where the same number is";

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
    if (box.kind == Box::Kind::stage) return {"#e8eef7", "#4a6a9a"};
    if (box.kind == Box::Kind::decision) return {"#fff6d8", "#b7791f"};
    if (box.kind == Box::Kind::loop) return {"#fafaf6", "#8a8f98"};
    return colours_of(box.what);
}

// The title, cut at spaces where it is wide.
std::vector<std::string> title_lines(const Box& box) {
    const double room = widest_box - box_padding;
    std::vector<std::string> lines = {""};
    for (size_t begin = 0; begin < box.title.size();) {
        const size_t end = std::min(box.title.find(' ', begin), box.title.size());
        const std::string word = box.title.substr(begin, end - begin);
        std::string& line = lines.back();
        const bool fits = text_width(line + " " + word, title_size, true) <= room;
        if (line.empty())
            line = word;
        else if (fits || lines.size() == most_title_lines)
            line += " " + word;
        else
            lines.push_back(word);
        begin = end + 1;
    }
    for (std::string& line : lines) line = fitted(line, title_size, room, true);
    return lines;
}

std::string time_text(double microseconds) {
    if (microseconds < 999.5) return fmt::format("{:.3g} us", microseconds);
    if (microseconds < 999.5e3) return fmt::format("{:.3g} ms", microseconds / 1e3);
    return fmt::format("{:.2f} s", microseconds / 1e6);
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

}  // namespace

std::string bytes_text(int64_t bytes) {
    auto size = static_cast<double>(bytes);
    if (bytes < 1000) return fmt::format("{} B", bytes);
    if (bytes < 1'000'000) return fmt::format("{:.3g} kB", size / 1e3);
    if (bytes < 1'000'000'000) return fmt::format("{:.3g} MB", size / 1e6);
    if (bytes < 1'000'000'000'000) return fmt::format("{:.3g} GB", size / 1e9);
    return fmt::format("{:.3g} TB", size / 1e12);
}

std::string short_type(DType dtype, const std::vector<Size>& sizes) {
    std::vector<int64_t> numbers;
    for (const Size& size : sizes) numbers.push_back(size.value());
    return fmt::format("{}[{}]", name(dtype), fmt::join(numbers, ", "));
}

std::string long_type(DType dtype, const std::vector<Size>& sizes) {
    const std::string numbers = short_type(dtype, sizes), full = TensorType{dtype, sizes}.text();
    return numbers == full ? numbers : fmt::format("{} = {}", numbers, full);
}

double box_width(const Box& box) {
    double width = std::max(box.picture_width, text_width(box.note, note_size));
    for (const std::string& line : title_lines(box)) width = std::max(width, text_width(line, title_size, true));
    for (const std::string& line : box.lines) width = std::max(width, text_width(line, line_size));
    if (box.microseconds >= 0) width = std::max(width, text_width(widest_time, line_size, true));
    const double inside = box.inside ? box.inside->width + 2 * inside_side : 0;
    return std::max(std::clamp(width + box_padding, 60.0, widest_box), inside);
}

double box_height(const Box& box) {
    const size_t lines = box.lines.size() + (box.note.empty() ? 0 : 1) + (box.microseconds < 0 ? 0 : 1);
    double height =
        9 + title_height * static_cast<double>(title_lines(box).size()) + line_height * static_cast<double>(lines);
    if (box.inside) height += inside_gap + box.inside->height + inside_side;
    return box.regions.empty() ? height : height + box.picture_height + 12;
}

void draw_box(Svg& svg, const Box& box, Point corner, double width, size_t count, double all_microseconds) {
    const Colours colours = colours_of(box);
    const double height = box_height(box), middle = corner.x + width / 2, room = width - 14;
    const bool is_round = box.kind == Box::Kind::edge_of_graph || box.kind == Box::Kind::decision;
    const bool is_soft = box.kind == Box::Kind::operation || box.kind == Box::Kind::loop;
    const double radius = is_round ? std::min(height / 2, 18.0) : is_soft ? 8 : 3;
    svg.begin(box.tooltip);
    svg.rectangle(corner, width, height, colours.fill, colours.stroke, radius);
    double y = corner.y + 1;
    for (const std::string& line : title_lines(box))
        svg.text({middle, y += title_height}, fitted(line, title_size, room, true),
                 {.size = title_size, .anchor = "middle", .bold = true});
    auto line = [&](const std::string& text, TextStyle style) {
        style.anchor = "middle";
        svg.text({middle, y += line_height}, fitted(text, style.size, room, style.bold), style);
    };
    if (box.microseconds >= 0) {
        const std::string each = count > 1 ? fmt::format("{} × ", count) : "";
        const double share = 100 * box.microseconds / std::max(all_microseconds, 1e-9);
        line(fmt::format("{}{}, {} %", each, time_text(box.microseconds / static_cast<double>(count)),
                         share < 0.05 ? "under 0.1" : fmt::format("{:.1f}", share)),
             {.size = line_size, .colour = "#a3341f", .bold = true});
    }
    for (const std::string& text : box.lines) line(text, {.size = line_size, .colour = "#444"});
    if (!box.note.empty()) line(box.note, {.size = note_size, .colour = "#777"});
    if (!box.regions.empty()) draw_regions(svg, box, {middle - box.picture_width / 2, y + 10});
    svg.end();
    if (box.inside) svg.add(box.inside->svg, {middle - box.inside->width / 2, y + inside_gap});
}

double draw_legend(Svg& svg, Point at, const Drawing& drawing, bool numbers) {
    auto entry = [&](Colours colours, std::string_view name) {
        svg.rectangle({at.x, at.y - 9}, 12, 12, colours.fill, colours.stroke, 2);
        svg.text({at.x + 18, at.y + 1}, name, {.size = line_size});
        at.x += 34 + text_width(name, line_size);
    };
    auto has = [&](auto property) { return std::ranges::any_of(drawing.boxes, property); };
    for (auto c : {OperationClass::movement, OperationClass::elementwise, OperationClass::reduction,
                   OperationClass::contraction, OperationClass::indirect, OperationClass::scan}) {
        if (has([&](const Box& box) { return box.kind == Box::Kind::work && box.what == c; }))
            entry(colours_of(c), name(c));
    }
    if (has([](const Box& box) { return box.kind == Box::Kind::layout; }))
        entry({"#e4e4e4", "#999999"}, "layout of memory");
    if (numbers) {
        svg.text({at.x, at.y + 1}, number_note, {.size = line_size});
        at.x += text_width(number_note, line_size);
    }
    return at.x;
}

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

}  // namespace heddle::pictures
