#include "pictures/svg.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/utf8.h"

namespace heddle::pictures {
namespace {

// Bytes of the UTF-8 character at `begin`; 0 if there is none, or XML knows no such character.
size_t character_length(std::string_view text, size_t begin) {
    const bool is_none = text.substr(begin, 3) == "\xEF\xBF\xBE" || text.substr(begin, 3) == "\xEF\xBF\xBF";
    return is_none ? 0 : utf8_length(text, begin);
}

std::string escaped(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size();) {
        size_t length = character_length(text, i);
        char c = text[i];
        if (length == 0)
            result += '?';
        else if (c == '&')
            result += "&amp;";
        else if (c == '<')
            result += "&lt;";
        else if (c == '>')
            result += "&gt;";
        else if (c == '"')
            result += "&quot;";
        else if (length == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n')
            result += '?';
        else
            result += text.substr(i, length);
        i += std::max<size_t>(length, 1);
    }
    return result;
}

// Widths of ' ' to '~' in thousandths of the size.
constexpr short widths[] = {318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
                            636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
                            1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
                            603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
                            500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
                            635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
constexpr double wide = 1.0, mono = 0.602, bold_factor = 1.14;

std::string closing(const char* element, std::string_view tooltip) {
    return tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></{}>\n", escaped(tooltip), element);
}

}  // namespace

void Svg::rectangle(Point corner, double width, double height, std::string_view fill, std::string_view stroke,
                    double radius, std::string_view tooltip, double opacity) {
    body_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\" fill=\"{}\" "
        "stroke=\"{}\"{}{}",
        corner.x, corner.y, width, height, radius, fill, stroke,
        opacity < 1 ? fmt::format(" fill-opacity=\"{}\"", opacity) : "", closing("rect", tooltip));
}

void Svg::line(const std::vector<Point>& points, std::string_view colour, double width, bool arrow,
               std::string_view tooltip) {
    std::string path;
    for (const Point& point : points) path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", point.x, point.y);
    body_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}{}", path,
        colour, width, arrow ? " marker-end=\"url(#arrow)\"" : "", closing("polyline", tooltip));
}

void Svg::text(Point at, std::string_view text, const TextStyle& style) {
    body_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}{}{}>{}</text>\n",
                    at.x, at.y, style.size, style.colour, style.anchor, style.bold ? " font-weight=\"bold\"" : "",
                    style.mono ? " font-family=\"DejaVu Sans Mono, monospace\" xml:space=\"preserve\"" : "",
                    style.halo ? " stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"" : "", escaped(text));
}

void Svg::begin(std::string_view tooltip) { body_ += fmt::format("<g><title>{}</title>\n", escaped(tooltip)); }

void Svg::end() { body_ += "</g>\n"; }

void Svg::circle(Point centre, double radius, std::string_view fill, std::string_view stroke) {
    body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"{}\"/>\n", centre.x,
                         centre.y, radius, fill, stroke);
}

void Svg::add(const Svg& other, Point corner) {
    body_ += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", corner.x, corner.y, other.body_);
}

std::string Svg::finish(double width, double height) const {
    const double scale = std::min(1.0, most_pixels / std::max({width, height, 1.0}));
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {2:.0f} "
        "{3:.0f}\" "
        "font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\">"
        "<path d=\"M0,1 L7,4 L0,7 z\" fill=\"#777\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{4}</svg>\n",
        width * scale, height * scale, width, height, body_);
}

double text_width(std::string_view text, const TextStyle& style) {
    double width = 0;
    for (const char c : text) {
        const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
        if (!continues) width += style.mono ? mono : c >= ' ' && c <= '~' ? widths[c - ' '] / 1000.0 : wide;
    }
    return width * style.size * (style.bold ? bold_factor : 1);
}

double text_width(std::string_view text, double size, bool bold) {
    return text_width(text, TextStyle{.size = size, .bold = bold});
}

std::string fitted(std::string_view text, double size, double width, bool bold) {
    if (text_width(text, size, bold) <= width) return std::string(text);
    // A letter, with its continuing bytes, after the other.
    size_t end = 0;
    for (size_t next = 0; next < text.size(); end = next) {
        next++;
        while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) next++;
        if (text_width(text.substr(0, next), size, bold) + text_width("…", size, bold) > width) break;
    }
    return std::string(text.substr(0, end)) + "…";
}

}  // namespace heddle::pictures
