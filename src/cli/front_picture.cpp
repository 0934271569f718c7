#include "cli/front_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pictures/draw_parts.h"
#include "pictures/svg.h"

namespace heddle::cli {
namespace {

using placing::FrontPoint;

constexpr double left = 80, top = 30, width = 520, height = 340, margin = 24;
constexpr std::array colours = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777"};

// Of figures that are more than zero: by their logarithms, with some room around.
class Scale {
public:
    void add(double value) {
        low_ = std::min(low_, std::log10(std::max(value, least)));
        high_ = std::max(high_, std::log10(std::max(value, least)));
    }
    double part(double value) const {
        const double room = std::max(0.1 * (high_ - low_), 0.02);
        return (std::log10(std::max(value, least)) - low_ + room) / (high_ - low_ + 2 * room);
    }
    double low() const { return std::pow(10, low_); }
    double high() const { return std::pow(10, high_); }

private:
    static constexpr double least = 1e-12;
    double low_ = 1e9, high_ = -1e9;
};

std::string tooltip(const FrontPoint& point) {
    return fmt::format("{}: {:.4g} ms, {} sent, {} a place, {} operations", mesh_text(point.mesh),
                       1e3 * point.costs.seconds(), pictures::bytes_text(point.costs.bytes),
                       pictures::bytes_text(point.costs.peak_bytes), point.costs.launches);
}

}  // namespace

std::string mesh_text(const placing::Mesh& mesh) { return fmt::format("{}", fmt::join(mesh, " x ")); }

std::string draw_front(const std::vector<FrontPoint>& front) {
    pictures::Svg svg;
    Scale time, memory;
    std::set<int64_t> places;
    for (const FrontPoint& point : front) {
        time.add(point.costs.seconds());
        memory.add(static_cast<double>(point.costs.peak_bytes));
        places.insert(point.places());
    }
    const auto colour = [&](int64_t count) {
        return colours[static_cast<size_t>(std::distance(places.begin(), places.find(count))) % colours.size()];
    };
    svg.rectangle({left, top}, width, height, "#fff", "#999", 0);
    svg.text({left + width / 2, top + height + 40}, "modelled time, ms", {.anchor = "middle"});
    svg.text({left, top - 10}, "most memory of a place", {});
    for (const double value : {time.low(), time.high()})
        svg.text({left + width * time.part(value), top + height + 18}, fmt::format("{:.3g}", 1e3 * value),
                 {.anchor = "middle"});
    for (const double value : {memory.low(), memory.high()})
        svg.text({left - 6, top + height * (1 - memory.part(value)) + 4}, pictures::bytes_text(std::llround(value)),
                 {.anchor = "end"});
    for (const FrontPoint& point : front) {
        svg.begin(tooltip(point));
        svg.circle({left + width * time.part(point.costs.seconds()),
                    top + height * (1 - memory.part(static_cast<double>(point.costs.peak_bytes)))},
                   6, colour(point.places()), "#333");
        svg.end();
    }
    double y = top + 20;
    for (const int64_t count : places) {
        svg.circle({left + width + margin, y - 4}, 6, colour(count), "#333");
        svg.text({left + width + margin + 12, y}, fmt::format("{} place{}", count, count == 1 ? "" : "s"));
        y += 20;
    }
    return svg.finish(left + width + margin + 110, top + height + 60);
}

}  // namespace heddle::cli
