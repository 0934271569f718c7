// Boxes and arrows on pages: the layers of the graph are cut into columns where few arrows pass, each column is laid
// out by itself, and an arrow to another column is a number at both of its ends.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "pictures/draw_parts.h"

namespace heddle::pictures {
namespace {

constexpr double margin = 24, column_gap = 56, badge = 8, badge_step = 19;
constexpr double widest_layer = 1400, widest_page = 3000, tallest_column = 2200, least_column = 760;
constexpr double shape_of_page = 1.5;  // width to height, where one can choose
constexpr std::string_view badge_colour = "#4a5568";

class PageMaker {
public:
    explicit PageMaker(const Drawing& drawing) : drawing_(drawing) {
        for (const Box& box : drawing.boxes) {
            whole_.nodes.push_back({.width = box_width(box), .height = box_height(box), .frame = box.frame});
            microseconds_ += std::max(box.microseconds, 0.0);
        }
        for (const Arrow& arrow : drawing.arrows) whole_.edges.push_back({.from = arrow.from, .to = arrow.to});
    }

    std::vector<Picture> run() {
        choose_layers(whole_, widest_layer);
        measure_layers();
        // Higher columns where the page would be too wide.
        for (double wanted = wanted_height(); columns_.empty() || width_of_columns() > widest_page; wanted *= 1.15) {
            fill_columns(std::min(wanted, tallest_column));
            if (wanted >= tallest_column) break;
        }
        for (const Column& column : columns_) {
            for (size_t f = 0; f < column.layout.frames.size(); f++) parts_[f] += column.layout.frames[f].width > 0;
        }
        place_columns();
        for (const Column& column : columns_) draw(column, {column.left, top()});
        for (size_t i = 0; i < pages_.size() && pages_.size() > 1; i++)
            head(pages_[i], fmt::format("{} (page {} of {})", drawing_.title, i + 1, pages_.size()));
        if (pages_.size() == 1) head(pages_[0], drawing_.title);
        return std::move(pages_);
    }

    Picture inside() {
        choose_layers(whole_, widest_layer);
        measure_layers();
        columns_ = {{.first = 0, .end = heights_.size()}};
        column_of_.assign(heights_.size(), 0);
        fill(columns_[0]);
        pages_.resize(1);
        draw(columns_[0], {0, 0});
        pages_[0].width = columns_[0].layout.width;
        pages_[0].height = columns_[0].layout.height;
        return std::move(pages_[0]);
    }

private:
    struct Column {
        size_t first = 0, end = 0;   // layers
        std::vector<size_t> boxes;   // of the drawing
        std::vector<size_t> arrows;  // those that are lines
        Layout layout;
        size_t page = 0;
        double left = 0;  // on it
    };

    size_t layer_of(size_t box) const { return whole_.nodes[box].layer; }

    // ---- columns

    void measure_layers() {
        size_t layers = 0;
        for (const LayoutNode& node : whole_.nodes) layers = std::max(layers, node.layer + 1);
        heights_.assign(layers, 0);
        widths_.assign(layers, 0);
        frames_.assign(layers, no_frame);
        for (const LayoutNode& node : whole_.nodes) {
            heights_[node.layer] = std::max(heights_[node.layer], node.height + layer_gap);
            widths_[node.layer] += node.width + box_gap;
            if (node.frame != no_frame) frames_[node.layer] = node.frame;
        }
        for (size_t layer = 1; layer < layers; layer++) {
            if (frames_[layer] != frames_[layer - 1]) heights_[layer] += frame_head + frame_foot;
        }
        passing_ = passing_sources(layers);
    }

    double wanted_height() const {
        double area = 0;
        for (size_t layer = 0; layer < heights_.size(); layer++)
            area += heights_[layer] * (widths_[layer] + column_gap);
        return std::clamp(std::sqrt(area / shape_of_page), least_column, tallest_column);
    }

    double width_of_columns() const {
        double width = margin;
        for (const Column& column : columns_) width += column.layout.width + column_gap;
        return width;
    }

    void fill_columns(double wanted) {
        const size_t layers = heights_.size();
        columns_.clear();
        for (const auto& [first, end] : cut(wanted)) columns_.push_back({.first = first, .end = end});
        column_of_.assign(layers, 0);
        for (size_t c = 0; c < columns_.size(); c++) {
            for (size_t layer = columns_[c].first; layer < columns_[c].end; layer++) column_of_[layer] = c;
        }
        number_arrows();
        for (Column& column : columns_) fill(column);
    }

    // Layers of columns about so high, cut where few arrows pass, and rather not in a frame.
    std::vector<std::pair<size_t, size_t>> cut(double wanted) const {
        const size_t layers = heights_.size();
        const double all = std::accumulate(heights_.begin(), heights_.end(), 0.0);
        // The cheapest cuts: best[end] is the cost of all columns before `end`, the last of which begins at from[end].
        std::vector<double> best(layers + 1, HUGE_VAL);
        std::vector<size_t> from(layers + 1, 0);
        best[0] = 0;
        for (size_t end = 1; end <= layers; end++) {
            double tall = 0;
            for (size_t begin = end; begin-- > 0;) {
                tall += heights_[begin];
                if (tall > tallest_column && begin + 1 < end) break;
                double off = all < 1.5 * least_column ? 0 : (tall - wanted) / wanted;
                if (end == layers && off < 0) off /= 3;  // the last one may be short
                const bool in_frame = end < layers && frames_[end] != no_frame && frames_[end] == frames_[end - 1];
                const double cost = best[begin] + off * off + (end < layers ? 0.1 : 0) + (in_frame ? 0.25 : 0) +
                                    0.12 * static_cast<double>(passing_[end]);
                if (cost >= best[end]) continue;
                best[end] = cost;
                from[end] = begin;
            }
        }
        std::vector<std::pair<size_t, size_t>> cuts;
        for (size_t end = layers; end > 0; end = from[end]) cuts.emplace_back(from[end], end);
        std::ranges::reverse(cuts);
        return cuts;
    }

    // Of each layer and the end: how many boxes above it have arrows to it or below.
    std::vector<size_t> passing_sources(size_t layers) const {
        std::vector<size_t> last(whole_.nodes.size(), 0);
        for (const LayoutEdge& edge : whole_.edges) last[edge.from] = std::max(last[edge.from], layer_of(edge.to));
        std::vector<int64_t> change(layers + 2, 0);
        for (size_t box = 0; box < last.size(); box++) {
            if (last[box] <= layer_of(box)) continue;
            change[layer_of(box) + 1]++;
            change[last[box] + 1]--;
        }
        std::vector<size_t> passing(layers + 1, 0);
        int64_t count = 0;
        for (size_t layer = 0; layer < layers; layer++) passing[layer] = static_cast<size_t>(count += change[layer]);
        return passing;
    }

    size_t column_of(size_t box) const { return column_of_[layer_of(box)]; }

    // ---- arrows that are numbers

    void number_arrows() {
        leaving_.clear();
        entering_.clear();
        for (const Arrow& arrow : drawing_.arrows) {
            if (column_of(arrow.from) == column_of(arrow.to)) continue;
            auto& entering = entering_[arrow.to];
            if (std::ranges::find(entering, arrow.from) != entering.end()) continue;
            entering.push_back(arrow.from);
            leaving_[arrow.from].to.push_back(arrow.to);
        }
        size_t number = 0;
        for (auto& [box, leaving] : leaving_) leaving.number = ++number;
    }

    // Numbers of arriving arrows stand on the left half of the upper edge.
    size_t badges_drawn(size_t box, double width) const {
        auto found = entering_.find(box);
        const auto room = static_cast<size_t>(std::max(width / 2, badge_step) / badge_step);
        return found == entering_.end() ? 0 : std::min(found->second.size(), room);
    }

    double width_with_badges(size_t box) const {
        auto found = entering_.find(box);
        const double width = whole_.nodes[box].width;
        if (found == entering_.end()) return width;
        const double wanted = 2 * badge_step * static_cast<double>(found->second.size());
        return std::max(width, std::min(wanted, 300.0));
    }

    // ---- one column

    void fill(Column& column) {
        std::map<size_t, size_t> node_of;  // by box
        for (size_t box = 0; box < whole_.nodes.size(); box++) {
            if (layer_of(box) < column.first || layer_of(box) >= column.end) continue;
            node_of[box] = column.boxes.size();
            column.boxes.push_back(box);
            LayoutNode node = whole_.nodes[box];
            node.width = width_with_badges(box);
            node.layer -= column.first;
            column.layout.nodes.push_back(node);
        }
        for (size_t a = 0; a < drawing_.arrows.size(); a++) {
            auto from = node_of.find(drawing_.arrows[a].from), to = node_of.find(drawing_.arrows[a].to);
            if (from == node_of.end() || to == node_of.end()) continue;
            column.arrows.push_back(a);
            column.layout.edges.push_back({.from = from->second, .to = to->second});
        }
        for (const Frame& frame : drawing_.frames)
            column.layout.frames.push_back({.least_width = text_width(label(frame), 11) + 24});
        lay_out(column.layout);
    }

    static std::string label(const Frame& frame) {
        return fmt::format("× {} {} (part 9 of 9)", frame.count, frame.how);
    }

    // ---- drawing

    void place_columns() {
        double left = margin;
        size_t page = 0;
        for (Column& column : columns_) {
            if (left > margin && left + column.layout.width + margin > widest_page) {
                left = margin;
                page++;
            }
            column.page = page;
            column.left = left;
            left += column.layout.width + column_gap;
        }
        pages_.resize(page + 1);
    }

    void head(Picture& page, const std::string& title) {
        const TextStyle style{.size = 15, .bold = true};
        page.svg.text({margin, margin + 8}, title, style);
        double right = margin + text_width(title, style), y = margin + 28;
        if (!drawing_.subtitle.empty()) {
            page.svg.text({margin, y}, drawing_.subtitle, {.size = 10, .colour = "#666"});
            right = std::max(right, margin + text_width(drawing_.subtitle, 10));
            y += 18;
        }
        right = std::max(right, draw_legend(page.svg, {margin, y}, drawing_, !leaving_.empty()));
        page.width = std::max(page.width, right + margin);
        page.height = std::max(page.height, y + margin);
    }

    double top() const { return margin + (drawing_.subtitle.empty() ? 46 : 64) + badge; }

    void draw(const Column& column, Point origin) {
        Picture& page = pages_[column.page];
        draw_frames(page.svg, column.layout, origin, false);
        for (size_t i = 0; i < column.arrows.size(); i++) {
            const Arrow& arrow = drawing_.arrows[column.arrows[i]];
            std::vector<Point> points;
            for (const Point& point : column.layout.edges[i].points)
                points.push_back({point.x + origin.x, point.y + origin.y});
            if (arrow.against) std::reverse(points.begin(), points.end());
            page.svg.line(points, arrow.against ? "#c0392b" : "#777", arrow.against ? 2 : 1.2, true, arrow.tooltip);
            if (arrow.label.empty()) continue;
            page.svg.text({points.back().x + 5, points.back().y - 7}, arrow.label,
                          {.size = 10, .colour = "#7a5310", .halo = true});
        }
        draw_frames(page.svg, column.layout, origin, true);
        for (size_t i = 0; i < column.boxes.size(); i++) {
            const LayoutNode& node = column.layout.nodes[i];
            const Box& box = drawing_.boxes[column.boxes[i]];
            const Point corner{origin.x + node.corner.x, origin.y + node.corner.y};
            const size_t count = box.frame == no_frame ? 1 : drawing_.frames[box.frame].count;
            draw_box(page.svg, box, corner, node.width, count, microseconds_);
            draw_numbers(page.svg, column.boxes[i], corner, node);
        }
        page.width = std::max(page.width, column.left + column.layout.width + margin);
        page.height = std::max(page.height, origin.y + column.layout.height + 2 * badge + margin);
    }

    // The frames below the arrows, or what they say, above them.
    void draw_frames(Svg& svg, const Layout& layout, Point origin, bool labels) {
        for (size_t f = 0; f < layout.frames.size(); f++) {
            const LayoutFrame& place = layout.frames[f];
            if (place.width == 0) continue;
            const Point corner{origin.x + place.corner.x, origin.y + place.corner.y};
            svg.begin(drawing_.frames[f].tooltip);
            if (labels)
                draw_label(svg, f, {corner.x + 10, corner.y + 17});
            else
                svg.rectangle(corner, place.width, place.height, "#fafaf6", "#8a8f98", 8);
            svg.end();
        }
    }

    void draw_label(Svg& svg, size_t f, Point at) {
        const Frame& frame = drawing_.frames[f];
        const std::string count = fmt::format("× {}", frame.count);
        svg.text(at, count, {.size = 13, .bold = true, .halo = true});
        at.x += text_width(count, 13, true) + 8;
        const std::string part = parts_[f] > 1 ? fmt::format(" (part {} of {})", ++part_[f], parts_[f]) : "";
        svg.text(at, frame.how + part, {.size = 10, .colour = "#555", .halo = true});
    }

    void draw_numbers(Svg& svg, size_t box, Point corner, const LayoutNode& node) const {
        auto draw = [&](Point at, const std::string& text, const std::string& tooltip) {
            svg.begin(tooltip);
            svg.circle(at, badge, "#ffffff", badge_colour);
            svg.text({at.x, at.y + 3}, text, {.size = 8.5, .colour = badge_colour, .anchor = "middle", .bold = true});
            svg.end();
        };
        // "3: to conv, on page 2"
        auto line = [&](size_t number, const char* way, size_t other) {
            const size_t own = columns_[column_of(box)].page, page = columns_[column_of(other)].page;
            return fmt::format("{}: {} {}{}", number, way, drawing_.boxes[other].title,
                               page == own ? "" : fmt::format(", on page {}", page + 1));
        };
        if (auto found = entering_.find(box); found != entering_.end()) {
            const size_t drawn = badges_drawn(box, node.width), count = found->second.size();
            for (size_t i = 0; i < drawn; i++) {
                const bool more = i + 1 == drawn && drawn < count;
                std::string tooltip;
                for (size_t e = i; e < (more ? count : i + 1); e++) {
                    const size_t from = found->second[e];
                    tooltip += (e > i ? "\n" : "") + line(leaving_.at(from).number, "from", from);
                }
                draw({corner.x + badge_step * static_cast<double>(i), corner.y - 3},
                     more ? "…" : std::to_string(leaving_.at(found->second[i]).number), tooltip);
            }
        }
        if (auto found = leaving_.find(box); found != leaving_.end()) {
            const auto& [number, to] = found->second;
            std::string tooltip;
            for (size_t other : to) tooltip += (tooltip.empty() ? "" : "\n") + line(number, "to", other);
            draw({corner.x + node.width, corner.y + node.height + 3}, std::to_string(number), tooltip);
        }
    }

    struct Leaving {
        size_t number = 0;
        std::vector<size_t> to;
    };

    const Drawing& drawing_;
    Layout whole_;
    double microseconds_ = 0;
    std::vector<double> heights_, widths_;  // by layer, with the gaps behind
    std::vector<size_t> frames_, passing_;  // by layer
    std::vector<size_t> column_of_;         // by layer
    std::vector<Column> columns_;
    std::map<size_t, Leaving> leaving_;               // by box with arrows to other columns
    std::map<size_t, std::vector<size_t>> entering_;  // by box: whose numbers it has
    std::map<size_t, size_t> parts_, part_;           // by frame: columns that it is in; drawn so far
    std::vector<Picture> pages_;
};

}  // namespace

std::vector<Picture> draw_pages(const Drawing& drawing) { return PageMaker(drawing).run(); }

std::shared_ptr<const Picture> draw_inside(const Drawing& drawing) {
    return std::make_shared<const Picture>(PageMaker(drawing).inside());
}

Picture stacked(const std::vector<Picture>& pages) {
    Picture all;
    for (const Picture& page : pages) {
        all.svg.add(page.svg, {0, all.height});
        all.width = std::max(all.width, page.width);
        all.height += page.height;
    }
    return all;
}

}  // namespace heddle::pictures
