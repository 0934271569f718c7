// What a drawn page says: boxes and frames with their texts and tooltips, lines, numbers in circles. Reads the elements
// that Svg writes, as they are.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "pictures/svg.h"

namespace heddle::pictures {

struct SeenText {
    double x = 0, y = 0, size = 0;
    bool bold = false, middle = false;
    std::string text;
};

struct SeenBox {
    double x = 0, y = 0, width = 0, height = 0;
    std::string fill, tooltip;
    std::vector<SeenText> texts;

    bool holds(double px, double py) const { return px >= x && px <= x + width && py >= y && py <= y + height; }
    bool overlaps(const SeenBox& other) const {
        return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height;
    }
};

struct SeenPage {
    double width = 0, height = 0, shown_width = 0, shown_height = 0;
    std::vector<SeenBox> boxes, frames, labels, circles;
    std::vector<std::vector<Point>> lines;
};

inline std::string attribute(const std::string& element, const std::string& name) {
    const size_t at = element.find(" " + name + "=\"");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 3;
    return element.substr(begin, element.find('"', begin) - begin);
}

inline double number(const std::string& element, const std::string& name) {
    const std::string text = attribute(element, name);
    return text.empty() ? 0 : std::stod(text);
}

inline std::string unescaped(std::string text) {
    for (const auto& [from, to] :
         {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&quot;", "\""), std::pair("&amp;", "&")}) {
        for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at++)
            text.replace(at, std::string(from).size(), to);
    }
    return text;
}

inline SeenPage read_page(const std::string& svg) {
    SeenPage page;
    page.shown_width = number(svg, "width");
    page.shown_height = number(svg, "height");
    const std::string view = attribute(svg, "viewBox");
    page.width = std::stod(view.substr(4));
    page.height = std::stod(view.substr(view.rfind(' ')));
    SeenBox* group = nullptr;  // what is between <g> and </g>
    SeenBox read;
    bool circle = false;
    for (size_t at = 0; (at = svg.find('<', at)) != std::string::npos;) {
        const size_t end = svg.find('>', at);
        const std::string element = svg.substr(at, end - at);
        auto content = [&] { return unescaped(svg.substr(end + 1, svg.find('<', end) - end - 1)); };
        if (element == "<g") {
            read = {};
            group = &read;
            circle = false;
        } else if (element == "</g" && group) {
            (circle                   ? page.circles
             : read.width == 0        ? page.labels
             : read.fill == "#fafaf6" ? page.frames
                                      : page.boxes)
                .push_back(read);
            group = nullptr;
        } else if (element == "<title" && group && group->tooltip.empty()) {
            group->tooltip = content();
        } else if (element.starts_with("<rect") && group && group->width == 0) {
            group->x = number(element, "x");
            group->y = number(element, "y");
            group->width = number(element, "width");
            group->height = number(element, "height");
            group->fill = attribute(element, "fill");
        } else if (element.starts_with("<circle") && group) {
            circle = true;
            group->width = group->height = 2 * number(element, "r");
            group->x = number(element, "cx") - group->width / 2;
            group->y = number(element, "cy") - group->height / 2;
        } else if (element.starts_with("<text") && group) {
            group->texts.push_back({.x = number(element, "x"),
                                    .y = number(element, "y"),
                                    .size = number(element, "font-size"),
                                    .bold = element.find("font-weight") != std::string::npos,
                                    .middle = attribute(element, "text-anchor") == "middle",
                                    .text = content()});
        } else if (element.starts_with("<polyline")) {
            std::vector<Point> points;
            const std::string text = attribute(element, "points");
            static const std::regex point("([-0-9.]+),([-0-9.]+)");
            for (auto it = std::sregex_iterator(text.begin(), text.end(), point); it != std::sregex_iterator(); ++it)
                points.push_back({std::stod((*it)[1]), std::stod((*it)[2])});
            page.lines.push_back(std::move(points));
        }
        at = end;
    }
    return page;
}

}  // namespace heddle::pictures
