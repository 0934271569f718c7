// Pages of boxes: what they say fits, nothing lies on anything else, and what was folded is all there.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "picture_reader.h"
#include "pictures/draw_parts.h"

namespace heddle::pictures {
namespace {

Box box(const std::string& title, const std::string& name, const std::string& line = "float32[1, 64]") {
    return {.title = title,
            .lines = {line},
            .tooltip = name + " " + title + "\n" + line,
            .name = name,
            .says = title + "\n" + line};
}

// An input, `layers` layers of five boxes with a residual arrow, an output.
Drawing layered(size_t layers) {
    Drawing drawing{.title = "layers"};
    auto add = [&](Box added, const std::vector<size_t>& from) {
        for (size_t f : from) drawing.arrows.push_back({.from = f, .to = drawing.boxes.size(), .tooltip = "arrow"});
        drawing.boxes.push_back(std::move(added));
        return drawing.boxes.size() - 1;
    };
    size_t last = add(box("input", "x"), {});
    for (size_t layer = 0; layer < layers; layer++) {
        auto named = [&](const char* name) { return fmt::format("layer {} {}", layer, name); };
        const size_t a = add(box("matmul", named("a")), {last}), b = add(box("matmul", named("b")), {last});
        const size_t c = add(box("softmax", named("c")), {a, b});
        const size_t d = add(box("matmul", named("d")), {c});
        last = add(box("add", named("e")), {d, last});
    }
    add(box("output", "y"), {last});
    return drawing;
}

// Boxes with long texts, several arrows each, some over many layers.
Drawing random_drawing(std::mt19937& random, size_t count) {
    const std::string letters = "abc, MWi[0] lj/._ é→";
    Drawing drawing{.title = "random <title> & more", .subtitle = "below it"};
    for (size_t i = 0; i < count; i++) {
        auto text = [&](size_t most) {
            std::string made;
            for (size_t l = random() % most; l > 0; l--) made += letters[random() % 17];
            return made + "é";
        };
        Box added = box(text(90), fmt::format("box {}", i), text(80));
        if (random() % 4 == 0) added.microseconds = static_cast<double>(random() % 100000) / 7;
        if (random() % 4 == 0) added.note = text(20);
        if (random() % 5 == 0) added.kind = Box::Kind::edge_of_graph;
        for (size_t e = i == 0 ? 0 : random() % 3; e > 0; e--) {
            const size_t back = random() % 4 == 0 ? 1 + random() % i : 1 + random() % std::min<size_t>(i, 3);
            drawing.arrows.push_back({.from = i - back, .to = i, .tooltip = "arrow"});
        }
        drawing.boxes.push_back(std::move(added));
    }
    return drawing;
}

TEST(Pages, a_picture_within_a_box) {
    Drawing inner{.boxes = {box("iteration", "i"), box("stage", "s"), box("goes on", "o")},
                  .arrows = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 0, .to = 2, .against = true}}};
    Drawing outer{.title = "loops", .boxes = {box("inputs", "x"), box("loop", "l"), box("outputs", "y")}};
    outer.boxes[1].inside = draw_inside(inner);
    outer.arrows = {{.from = 0, .to = 1, .label = "true"}, {.from = 1, .to = 2}};
    EXPECT_GE(box_width(outer.boxes[1]), outer.boxes[1].inside->width);
    EXPECT_GE(box_height(outer.boxes[1]), outer.boxes[1].inside->height + box_height(outer.boxes[0]));
    const std::vector<Picture> pages = draw_pages(outer);
    ASSERT_EQ(pages.size(), 1u);
    const SeenPage page = read_page(pages[0].text());
    ASSERT_EQ(page.boxes.size(), 6u);  // those within have places of their own
    EXPECT_GT(page.boxes[5].y, page.boxes[1].y + page.boxes[1].height);
    EXPECT_EQ(page.lines.size(), 5u);
    EXPECT_NE(pages[0].text().find(">true<"), std::string::npos);
}

// Whether a line goes through the inside of a box.
bool crosses(Point a, Point b, const SeenBox& box) {
    constexpr double inside = 1;
    double from = 0, to = 1;
    const double d[2] = {b.x - a.x, b.y - a.y}, at[2] = {a.x, a.y};
    const double low[2] = {box.x + inside, box.y + inside};
    const double high[2] = {box.x + box.width - inside, box.y + box.height - inside};
    for (int axis = 0; axis < 2; axis++) {
        if (std::abs(d[axis]) < 1e-9) {
            if (at[axis] <= low[axis] || at[axis] >= high[axis]) return false;
            continue;
        }
        const double t0 = (low[axis] - at[axis]) / d[axis], t1 = (high[axis] - at[axis]) / d[axis];
        from = std::max(from, std::min(t0, t1));
        to = std::min(to, std::max(t0, t1));
    }
    return from < to;
}

SeenPage expect_readable(const Picture& picture) {
    const SeenPage page = read_page(picture.text());
    EXPECT_LE(page.shown_width, most_pixels);
    EXPECT_LE(page.shown_height, most_pixels);
    for (const SeenBox& own : page.boxes) {
        EXPECT_GE(own.x, 0);
        EXPECT_GE(own.y, 0);
        EXPECT_LE(own.x + own.width, page.width);
        EXPECT_LE(own.y + own.height, page.height);
        for (const SeenText& text : own.texts) {
            const double wide = text_width(text.text, text.size, text.bold);
            const double left = text.middle ? text.x - wide / 2 : text.x;
            EXPECT_GE(left, own.x - 0.1) << text.text;
            EXPECT_LE(left + wide, own.x + own.width + 0.1) << text.text;
            EXPECT_GE(text.y - text.size, own.y - 0.1) << text.text;
            EXPECT_LE(text.y, own.y + own.height - 1) << text.text;
            // Only what is too wide for any box is cut, and then it is in the tooltip. A cut text ends within a letter of
            // the widest box, of 300 pixels.
            const size_t cut = text.text.find("…");
            EXPECT_TRUE(cut == std::string::npos || own.width >= 300 - text_width("W", text.size, text.bold))
                << text.text;
            if (cut != std::string::npos) {
                EXPECT_NE(own.tooltip.find(text.text.substr(0, cut)), std::string::npos) << text.text;
            }
        }
        for (size_t i = 1; i < own.texts.size(); i++)
            EXPECT_GE(own.texts[i].y - own.texts[i - 1].y, own.texts[i].size) << "lines of one box";
        for (const SeenBox& other : page.boxes)
            EXPECT_TRUE(&own == &other || !own.overlaps(other)) << own.tooltip << " and " << other.tooltip;
        for (const SeenBox& frame : page.frames) {
            const bool inside = frame.holds(own.x, own.y) && frame.holds(own.x + own.width, own.y + own.height);
            EXPECT_TRUE(inside || !frame.overlaps(own)) << own.tooltip;
        }
        for (const auto& line : page.lines) {
            for (size_t i = 1; i < line.size(); i++) EXPECT_FALSE(crosses(line[i - 1], line[i], own)) << own.tooltip;
        }
    }
    return page;
}

// Copies that a page's frames say, for its boxes.
size_t count_of(const SeenPage& page, const SeenBox& box) {
    for (size_t f = 0; f < page.frames.size(); f++) {
        if (page.frames[f].holds(box.x, box.y)) return std::stoul(page.labels[f].texts.at(0).text.substr(3));
    }
    return 1;
}

TEST(Pages, layers_are_folded_and_all_are_counted) {
    for (size_t layers : {1, 2, 3, 12, 48}) {
        Drawing drawing = layered(layers);
        const size_t all = drawing.boxes.size();
        fold(drawing);
        EXPECT_EQ(drawing.boxes.size(), 7u) << layers;
        const auto pages = draw_pages(drawing);
        ASSERT_EQ(pages.size(), 1u);
        const SeenPage page = expect_readable(pages[0]);
        EXPECT_EQ(page.frames.size(), layers > 1 ? 1u : 0u);
        size_t counted = 0;
        for (const SeenBox& own : page.boxes) counted += count_of(page, own);
        EXPECT_EQ(counted, all);
        if (layers == 1) continue;
        // The tooltips say which ones.
        for (size_t layer = 0; layer < layers; layer++) {
            for (const char* name : {"a", "b", "c", "d", "e"}) {
                const std::string wanted = fmt::format("layer {} {}", layer, name);
                EXPECT_TRUE(std::ranges::any_of(page.boxes, [&](const SeenBox& own) {
                    return (own.tooltip + "\n").find(wanted + (layer == 0 ? " " : "\n")) != std::string::npos;
                })) << wanted;
            }
            EXPECT_NE(
                page.frames[0].tooltip.find(fmt::format("{}: from layer {} a to layer {} e", layer + 1, layer, layer)),
                std::string::npos)
                << page.frames[0].tooltip;
        }
        EXPECT_EQ(page.labels[0].texts.at(1).text, "each from the one before");
    }
}

TEST(Pages, unfolded_layers_go_on_in_columns_and_on_pages) {
    const Drawing drawing = layered(100);
    const auto pages = draw_pages(drawing);
    EXPECT_GT(pages.size(), 1u);
    size_t boxes = 0, arrows = 0;
    std::map<std::string, size_t> leaving, arriving;  // by number
    for (const Picture& picture : pages) {
        const SeenPage page = expect_readable(picture);
        boxes += page.boxes.size();
        arrows += page.lines.size();
        for (const SeenBox& circle : page.circles) {
            const bool leaves = circle.tooltip.find(": to ") != std::string::npos;
            (leaves ? leaving : arriving)[circle.texts.at(0).text]++;
        }
    }
    EXPECT_EQ(boxes, drawing.boxes.size());
    // Every arrow is a line, or a number at both of its ends.
    size_t numbered = 0;
    for (const auto& [number, count] : arriving) {
        EXPECT_EQ(leaving[number], 1u) << number;
        numbered += count;
    }
    EXPECT_EQ(leaving.size(), arriving.size());
    EXPECT_EQ(arrows + numbered, drawing.arrows.size());
}

TEST(Pages, random_graphs_are_readable) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 30; trial++) {
        Drawing drawing = random_drawing(random, 1 + random() % 120);
        const size_t count = drawing.boxes.size();
        size_t boxes = 0;
        for (const Picture& page : draw_pages(drawing)) boxes += expect_readable(page).boxes.size();
        EXPECT_EQ(boxes, count);
    }
}

// One that all read, one that reads all, boxes without arrows, no boxes.
TEST(Pages, odd_graphs) {
    Drawing star{.title = "star"};
    star.boxes.push_back(box("input", "x"));
    for (size_t i = 1; i <= 300; i++) {
        star.boxes.push_back(box(fmt::format("branch {}", i), "b"));
        star.arrows.push_back({.from = 0, .to = i, .tooltip = ""});
        star.arrows.push_back({.from = i, .to = 301, .tooltip = ""});
    }
    star.boxes.push_back(box("concat", "y"));
    size_t boxes = 0;
    for (const Picture& page : draw_pages(star)) boxes += expect_readable(page).boxes.size();
    EXPECT_EQ(boxes, star.boxes.size());
    Drawing apart{.title = "apart"};
    for (size_t i = 0; i < 50; i++) apart.boxes.push_back(box(fmt::format("alone {}", i), "b"));
    for (const Picture& page : draw_pages(apart)) expect_readable(page);
    EXPECT_EQ(draw_pages({.title = "nothing"}).size(), 1u);
}

// Of a size that nobody looks at: an answer in time.
TEST(Pages, large_graphs) {
    Drawing drawing = layered(3000);
    const auto pages = draw_pages(drawing);
    EXPECT_GT(pages.size(), 50u);
    for (size_t page : {size_t{0}, pages.size() / 2, pages.size() - 1}) expect_readable(pages[page]);
    EXPECT_NE(pages[0].text().find(", on page 2"), std::string::npos);
    fold(drawing);
    EXPECT_EQ(drawing.boxes.size(), 7u);
}

TEST(Pages, times_are_shares_of_the_whole) {
    Drawing drawing = layered(4);
    for (Box& own : drawing.boxes) own.microseconds = own.title == "matmul" ? 1500 : 0;
    fold(drawing);
    const SeenPage page = expect_readable(draw_pages(drawing).at(0));
    const auto found = std::ranges::count_if(page.boxes, [](const SeenBox& own) {
        return std::ranges::any_of(own.texts, [](const SeenText& text) { return text.text == "4 × 1.5 ms, 33.3 %"; });
    });
    EXPECT_EQ(found, 3);
}

TEST(Pages, a_picture_beyond_the_limit_is_drawn_smaller) {
    Picture large;
    large.svg.rectangle({0, 0}, 40000, 10, "#fff", "#000");
    const SeenPage page = read_page([&] {
        large.width = 40000;
        large.height = 1000;
        return large.text();
    }());
    EXPECT_EQ(page.shown_width, most_pixels);
    EXPECT_EQ(page.shown_height, most_pixels / 40);
    EXPECT_EQ(page.width, 40000);
}

TEST(Pages, texts_are_cut_between_letters) {
    for (const std::string text : {"abcdef", "ééééé", "a→b→c→d", "WWWWWWW"}) {
        for (double width = 1; width < 120; width += 3) {
            const std::string cut = fitted(text, 10, width, true);
            if (cut == text) continue;
            EXPECT_TRUE(cut.ends_with("…"));
            EXPECT_TRUE(text.starts_with(cut.substr(0, cut.size() - std::string("…").size())));
            EXPECT_TRUE(text_width(cut, 10, true) <= width || cut == "…") << cut << " in " << width;
        }
    }
}

}  // namespace
}  // namespace heddle::pictures
