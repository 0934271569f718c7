#include "cli/front_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"
#include "pictures/svg.h"

namespace heddle::cli {
namespace {

using pictures::Point;
using placing::FrontPoint;

constexpr double left = 96, top = 92, width = 640, height = 360, margin = 24, row = 18;
constexpr std::string_view dark = "#222", grey = "#666", grid = "#e4e4e4";
struct Colour {
    std::string_view strong, pale;
};
constexpr std::array<Colour, 7> colours = {{{"#4477aa", "#c7d6e6"},
                                            {"#ee6677", "#fad1d6"},
                                            {"#228833", "#bddbc2"},
                                            {"#aa7711", "#e6d6b8"},
                                            {"#3399bb", "#c2e1eb"},
                                            {"#aa3377", "#e6c2d6"},
                                            {"#777777", "#d9d9d9"}}};

// From the least to the most of some figures with some room around; by logarithms where they are far apart.
class Axis {
public:
    Axis(double least, double most) : logarithmic_(most > 4 * least) {
        const double low = scaled(least), high = scaled(most);
        const double room = high > low ? 0.08 * (high - low) : 0.1 * std::max(std::abs(low), 1e-12);
        low_ = low - room, high_ = high + room;
    }

    double part(double value) const { return (scaled(value) - low_) / (high_ - low_); }

    std::vector<double> ticks() const {
        std::vector<double> list;
        if (!logarithmic_) {
            const double step = round_number((high_ - low_) / 6);
            for (double n = std::ceil(low_ / step); n * step <= high_; n++) list.push_back(n * step);
            return list;
        }
        const bool few = high_ - low_ < 2.5;  // decades
        for (double decade = std::floor(low_); decade <= high_; decade++)
            for (const double digit : {1.0, 2.0, 5.0})
                if (digit == 1 || few) list.push_back(digit * std::pow(10, decade));
        std::erase_if(list, [&](double value) { return scaled(value) < low_ || scaled(value) > high_; });
        return list;
    }

private:
    double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }
    static double round_number(double value) {
        const double decade = std::pow(10, std::floor(std::log10(value)));
        for (const double digit : {1.0, 2.0, 5.0})
            if (value <= digit * decade) return digit * decade;
        return 10 * decade;
    }

    bool logarithmic_;
    double low_, high_;
};

double time_of(const FrontPoint& point) { return std::max(1e3 * point.costs.seconds(), 1e-9); }
double memory_of(const FrontPoint& point) { return static_cast<double>(std::max<int64_t>(point.costs.peak_bytes, 1)); }

template <typename Figure>
Axis axis_of(const std::vector<FrontPoint>& front, const Figure& figure) {
    const auto [least, most] = std::ranges::minmax_element(front, {}, figure);
    return {figure(*least), figure(*most)};
}

struct Area {
    double left = 0, top = 0, right = 0, bottom = 0;
    bool meets(const Area& other) const {
        return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
};

class FrontPicture {
public:
    explicit FrontPicture(const std::vector<FrontPoint>& front)
        : front_(front), time_(axis_of(front, time_of)), memory_(axis_of(front, memory_of)), is_best_(front.size()) {
        for (const FrontPoint& point : front) places_.insert(point.places());
        double least = 2 * memory_of(front.front());
        for (size_t i = 0; i < front.size(); i++) {
            if (memory_of(front[i]) >= least) continue;
            least = memory_of(front[i]);
            is_best_[i] = true;
        }
    }

    std::string draw() {
        draw_head();
        draw_axes();
        draw_line();
        draw_points();
        draw_labels();
        draw_places();
        const double bottom = draw_table(top + height + 76);
        return svg_.finish(all_width(), bottom + margin);
    }

private:
    static double all_width() { return left + width + margin + 120; }
    Point at(const FrontPoint& point) const {
        return {left + width * time_.part(time_of(point)), top + height * (1 - memory_.part(memory_of(point)))};
    }
    const Colour& colour(int64_t places) const {
        return colours[static_cast<size_t>(std::distance(places_.begin(), places_.find(places))) % colours.size()];
    }

    void draw_head() {
        svg_.text({margin, 28},
                  fmt::format("Ways to cut the program over up to {} place{}", *places_.rbegin(),
                              *places_.rbegin() == 1 ? "" : "s"),
                  {.size = 15, .bold = true});
        const auto pale = std::ranges::count(is_best_, false);
        const std::string more = pale == 0 ? "" : "; pale: what sends less, or needs fewer places or operations";
        svg_.text({margin, 48}, "line: what takes the least memory for its time" + more, {.colour = grey});
    }

    void draw_axes() {
        for (const double tick : time_.ticks()) {
            const double x = left + width * time_.part(tick);
            svg_.line({{x, top}, {x, top + height}}, grid);
            svg_.text({x, top + height + 18}, fmt::format("{:.4g}", tick), {.anchor = "middle"});
        }
        for (const double tick : memory_.ticks()) {
            const double y = top + height * (1 - memory_.part(tick));
            svg_.line({{left, y}, {left + width, y}}, grid);
            svg_.text({left - 8, y + 4}, pictures::bytes_text(std::llround(tick)), {.anchor = "end"});
        }
        svg_.rectangle({left, top}, width, height, "none", "#999", 0);
        svg_.text({left + width / 2, top + height + 42}, "modelled time, ms", {.size = 12, .anchor = "middle"});
        svg_.text({margin, top - 10}, "most memory of a place", {.size = 12});
    }

    // Steps: less memory is had only from the next point's time on.
    void draw_line() {
        std::vector<Point> steps;
        for (size_t i = 0; i < front_.size(); i++) {
            if (!is_best_[i]) continue;
            if (!steps.empty()) steps.push_back({at(front_[i]).x, steps.back().y});
            steps.push_back(at(front_[i]));
        }
        if (steps.size() > 1) svg_.line(steps, "#999", 1.5);
    }

    void draw_points() {
        for (const bool strong : {false, true}) {
            for (size_t i = 0; i < front_.size(); i++) {
                if (is_best_[i] != strong) continue;
                const FrontPoint& point = front_[i];
                svg_.begin(fmt::format("{}: {:.4g} ms, {} sent, {} a place, {} operations; {}", mesh_text(point.mesh),
                                       time_of(point), pictures::bytes_text(point.costs.bytes),
                                       pictures::bytes_text(point.costs.peak_bytes), point.costs.launches,
                                       cuts_text(point.axes)));
                if (i == 0) svg_.circle(at(point), 10, "none", dark);
                draw_dot(at(point), i);
                svg_.end();
            }
        }
    }

    void draw_dot(Point centre, size_t i) {
        const Colour& own = colour(front_[i].places());
        const bool strong = is_best_[i];
        svg_.circle(centre, strong ? 5.5 : 4.5, strong ? own.strong : own.pale, strong ? dark : own.strong);
    }

    // The number in the table, and of a point of the line its mesh, where there is room beside it.
    void draw_labels() {
        std::vector<Area> taken;
        for (const FrontPoint& point : front_) {
            const Point centre = at(point);
            taken.push_back({centre.x - 7, centre.y - 7, centre.x + 7, centre.y + 7});
        }
        for (const bool strong : {true, false}) {
            for (size_t i = 0; i < std::min(front_.size(), most_rows); i++) {
                if (is_best_[i] != strong) continue;
                std::string text = std::to_string(i + 1);
                if (strong)
                    text += fmt::format(": mesh {}{}", mesh_text(front_[i].mesh), i == 0 ? ", the fastest" : "");
                const pictures::TextStyle style{
                    .size = strong ? 11.0 : 9.0, .colour = strong ? dark : grey, .bold = i == 0, .halo = true};
                const Point centre = at(front_[i]);
                const auto place = free_area(centre, pictures::text_width(text, style), strong ? 90 : 24, taken);
                if (!place) continue;
                taken.push_back(*place);
                const Point near = {std::clamp(centre.x, place->left, place->right),
                                    std::clamp(centre.y, place->top, place->bottom)};
                if (std::hypot(near.x - centre.x, near.y - centre.y) > 14) svg_.line({centre, near}, "#999", 0.7);
                svg_.text({place->left, place->bottom - 3}, text, style);
            }
        }
    }

    static std::optional<Area> free_area(Point centre, double text, double farthest, const std::vector<Area>& taken) {
        constexpr double line = 13;
        for (double away = 10; away < farthest; away += 8) {
            for (const auto& [x, y] : {std::pair(1, -1), {1, 0}, {1, 1}, {-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}}) {
                const double from = x > 0 ? centre.x + away : x < 0 ? centre.x - away - text : centre.x - text / 2;
                const double middle = centre.y + y * (away + line / 2) * (x == 0 ? 1 : 0.8);
                const Area area{from, middle - line / 2, from + text, middle + line / 2};
                const bool inside = area.left > left + 2 && area.right < left + width - 2 && area.top > top + 2 &&
                                    area.bottom < top + height - 2;
                if (inside && std::ranges::none_of(taken, [&](const Area& other) { return area.meets(other); }))
                    return area;
            }
        }
        return std::nullopt;
    }

    void draw_places() {
        double y = top + 14;
        for (const int64_t count : places_) {
            svg_.circle({left + width + margin, y - 4}, 5.5, colour(count).strong, dark);
            svg_.text({left + width + margin + 14, y}, fmt::format("{} place{}", count, count == 1 ? "" : "s"));
            y += 20;
        }
    }

    double draw_table(double y) {
        constexpr std::array<std::string_view, 7> names = {"no.",  "mesh",       "time",     "memory",
                                                           "sent", "operations", "cut along"};
        for (size_t c = 0; c < names.size(); c++) put(c, y, names[c], grey, false);
        y += 6;
        svg_.line({{margin, y}, {all_width() - margin, y}}, "#bbb");
        y += row - 2;
        for (size_t n = 0; n < std::min(front_.size(), most_rows); n++, y += row) {
            const FrontPoint& point = front_[n];
            draw_dot({margin + 5, y - 4}, n);
            const std::array<std::string, 7> cells = {std::to_string(n + 1),
                                                      mesh_text(point.mesh),
                                                      fmt::format("{:.4g} ms", time_of(point)),
                                                      pictures::bytes_text(point.costs.peak_bytes),
                                                      pictures::bytes_text(point.costs.bytes),
                                                      std::to_string(point.costs.launches),
                                                      cuts_text(point.axes)};
            for (size_t c = 0; c < cells.size(); c++) put(c, y, cells[c], dark, n == 0);
        }
        if (front_.size() > most_rows) put(1, y, fmt::format("and {} more", front_.size() - most_rows), grey, false);
        return y;
    }

    // Figures end where their column does; the last column takes what is left.
    void put(size_t column, double y, std::string_view text, std::string_view colour, bool bold) {
        constexpr std::array<double, 7> at = {margin + 36, margin + 48, 210, 290, 370, 450, 474};
        const bool is_figure = column != 1 && column != 6;
        const double room = column == 6 ? all_width() - margin - at[6] : 90;
        svg_.text({at[column], y}, is_figure ? std::string(text) : pictures::fitted(text, 11, room, bold),
                  {.colour = colour, .anchor = is_figure ? "end" : "start", .bold = bold});
    }

    static constexpr size_t most_rows = 24;
    const std::vector<FrontPoint>& front_;
    Axis time_, memory_;
    std::set<int64_t> places_;
    std::vector<bool> is_best_;  // no other takes less time and less memory
    pictures::Svg svg_;
};

}  // namespace

std::string mesh_text(const placing::Mesh& mesh) { return fmt::format("{}", fmt::join(mesh, " x ")); }

std::string cuts_text(const std::vector<std::vector<std::string>>& axes) {
    std::map<std::string, int> counts;
    for (const auto& own : axes) {
        std::vector<std::string> names;
        for (const std::string& axis : own) names.push_back(axis.empty() ? "none" : axis);
        counts[fmt::format("{}", fmt::join(names, " x "))]++;
    }
    std::vector<std::pair<int, std::string>> list;
    for (const auto& [text, count] : counts) list.emplace_back(-count, text);
    std::ranges::sort(list);
    constexpr size_t most = 6;
    std::vector<std::string> texts;
    for (size_t i = 0; i < std::min(list.size(), most); i++)
        texts.push_back(fmt::format("{} ({})", list[i].second, -list[i].first));
    if (list.size() > most) texts.push_back("...");
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string draw_front(const std::vector<FrontPoint>& front) { return FrontPicture(front).draw(); }

}  // namespace heddle::cli
