// A picture as SVG text. Lengths are in pixels, y grows downwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::pictures {

struct Point {
    double x = 0, y = 0;
};

struct TextStyle {
    double size = 11;
    std::string_view colour = "#222";
    std::string_view anchor = "start";  // start, middle, end
    bool bold = false;
    bool mono = false;  // all letters of one width
    bool halo = false;  // white around the letters, for text on lines
};

class Svg {
public:
    // Any text may come from a file that is not trusted: markup is escaped, bytes that are no UTF-8 and control
    // characters become '?'. `tooltip` is shown when the mouse rests on the shape.
    // What is drawn until `end` has this tooltip together.
    void begin(std::string_view tooltip);
    void end();
    void circle(Point centre, double radius, std::string_view fill, std::string_view stroke);
    void rectangle(Point corner, double width, double height, std::string_view fill, std::string_view stroke,
                   double radius = 3, std::string_view tooltip = {}, double opacity = 1);
    void line(const std::vector<Point>& points, std::string_view colour, double width = 1, bool arrow = false,
              std::string_view tooltip = {});
    void text(Point at, std::string_view text, const TextStyle& style = {});
    // Another picture, with its corner here.
    void add(const Svg& other, Point corner);

    // Of a picture that is larger than a page (most_pixels), all is drawn smaller.
    std::string finish(double width, double height) const;

private:
    std::string body_;
};

// Of a side of a page.
inline constexpr double most_pixels = 4000;

// The width of a text in the font that pictures ask for (DejaVu Sans; Verdana is as wide). Letters that are not ASCII
// count as wide ones.
double text_width(std::string_view text, const TextStyle& style);
double text_width(std::string_view text, double size, bool bold = false);
// The text, cut with an ellipsis where it is wider.
std::string fitted(std::string_view text, double size, double width, bool bold = false);

}  // namespace heddle::pictures
