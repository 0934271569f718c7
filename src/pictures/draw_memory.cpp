// The memory of a session as a chart: launches to the right, addresses downwards.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pictures/draw_parts.h"
#include "plan/stack.h"

namespace heddle::pictures {

namespace {

constexpr double chart_margin = 24, tick_size = 9, chart_title_size = 15;
// 1, 2 or 5 times a power of ten, so that at most `count` steps fit.
double nice_step(double extent, double count) {
    double step = std::pow(10, std::floor(std::log10(std::max(extent / count, 1.0))));
    for (double factor : {1.0, 2.0, 5.0, 10.0}) {
        if (extent / (step * factor) <= count) return step * factor;
    }
    return step * 10;
}

}  // namespace

void draw_memory(Picture& picture, const plan::Plan& plan) {
    constexpr std::string_view fills[] = {"#cfe3ee", "#d5ead0", "#f8e3b8", "#f5cfc9",
                                          "#e1d0ee", "#d3d9f2", "#e9e3c8", "#c9e8e0"};
    double left = chart_margin + 60, top = picture.height + chart_margin + 12;
    std::string title = fmt::format("Memory of a session: {} (at least {} live at once)",
                                    bytes_text(plan.workspace_bytes), bytes_text(plan.most_live_bytes()));
    picture.svg.text({chart_margin, top}, title, {.size = chart_title_size, .bold = true});
    if (plan.workspace_bytes == 0) {
        picture.height = top + chart_margin;
        return;
    }
    const std::string expression = plan::workspace_text(plan);
    const std::string caption = "launches to the right, addresses downwards" +
                                (expression.empty() ? "" : "; bytes for any sizes of the plan: " + expression);
    picture.svg.text({chart_margin, top + 20}, caption,
                     {.size = 10, .colour = "#666"});
    top += 40;
    auto steps = static_cast<double>(std::max<size_t>(plan.run.size(), 1));
    double width = std::clamp(steps * 18, 320.0, 2400.0), height = 360;
    double per_step = width / steps,
           per_byte = height / static_cast<double>(std::max<int64_t>(plan.workspace_bytes, 1));
    picture.svg.rectangle({left, top}, width, height, "#fafafa", "#bbbbbb", 0);
    for (size_t b = 0; b < plan.buffers.size(); b++) {
        const plan::Buffer& buffer = plan.buffers[b];
        if (buffer.first < 0 || buffer.kind != plan::Buffer::Kind::workspace) continue;
        const bool margins = buffer.is_filled();
        Point corner{left + buffer.first * per_step, top + static_cast<double>(buffer.offset) * per_byte};
        double box = (buffer.last - buffer.first + 1) * per_step, tall = static_cast<double>(buffer.bytes) * per_byte;
        picture.svg.rectangle(corner, box, tall, fills[b % std::size(fills)], margins ? "#333333" : "#888888", 0,
                              fmt::format("{}: {} at {}, launches {} to {}{}", buffer.name, bytes_text(buffer.bytes),
                                          buffer.offset, buffer.first, buffer.last, margins ? ", with a margin" : ""));
        if (tall >= 11 && box >= 40)
            picture.svg.text({corner.x + 4, corner.y + tall / 2 + 3}, fitted(buffer.name, tick_size, box - 8),
                             {.size = tick_size});
    }
    auto bytes = static_cast<double>(plan.workspace_bytes);
    for (double at = 0, step = nice_step(bytes, 8); at <= bytes; at += step) {
        double y = top + at * per_byte;
        picture.svg.line({{left - 4, y}, {left, y}}, "#666");
        picture.svg.text({left - 7, y + 3}, bytes_text(static_cast<int64_t>(at)),
                         {.size = tick_size, .colour = "#666", .anchor = "end"});
    }
    for (double at = 0, step = std::max(nice_step(steps, width / 40), 1.0); at < steps; at += step) {
        double x = left + (at + 0.5) * per_step;
        picture.svg.text({x, top + height + 13}, fmt::format("{:.0f}", at),
                         {.size = tick_size, .colour = "#666", .anchor = "middle"});
    }
    picture.width = std::max(
        {picture.width, left + width + chart_margin, text_width(title, chart_title_size, true) + 2 * chart_margin,
         text_width(caption, 10) + 2 * chart_margin});
    picture.height = top + height + 24 + chart_margin;
}

}  // namespace heddle::pictures
