// Layouts: no box on another, edges from box to box.
#include "pictures/draw_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle::pictures {
namespace {

// Random graphs, some with long edges: boxes keep apart, edges run downwards from box to box.
TEST(Layout, boxes_keep_apart_and_edges_run_down) {
    std::mt19937 random(4);
    for (int trial = 0; trial < 40; trial++) {
        Layout layout;
        size_t count = 1 + random() % 200;
        for (size_t i = 0; i < count; i++) {
            layout.nodes.push_back({.width = 40.0 + static_cast<double>(random() % 200),
                                    .height = 20.0 + static_cast<double>(random() % 60),
                                    .corner = {}});
            for (size_t e = 0; i > 0 && e < 1 + random() % 2; e++) {
                size_t back = random() % 4 == 0 ? 1 + random() % i : 1 + random() % std::min<size_t>(i, 3);
                layout.edges.push_back({.from = i - back, .to = i, .points = {}});
            }
        }
        choose_layers(layout, 1000);
        lay_out(layout);
        for (size_t a = 0; a < count; a++) {
            const auto& first = layout.nodes[a];
            EXPECT_GE(first.corner.x, -0.01);
            EXPECT_LE(first.corner.x + first.width, layout.width + 0.01);
            EXPECT_LE(first.corner.y + first.height, layout.height + 0.01);
            for (size_t b = a + 1; b < count; b++) {
                const auto& second = layout.nodes[b];
                bool apart = first.corner.x + first.width <= second.corner.x ||
                             second.corner.x + second.width <= first.corner.x ||
                             first.corner.y + first.height <= second.corner.y ||
                             second.corner.y + second.height <= first.corner.y;
                ASSERT_TRUE(apart) << "trial " << trial << ": boxes " << a << " and " << b;
            }
        }
        for (const auto& edge : layout.edges) {
            const auto &from = layout.nodes[edge.from], &to = layout.nodes[edge.to];
            ASSERT_GE(edge.points.size(), 2u);
            EXPECT_DOUBLE_EQ(edge.points.front().y, from.corner.y + from.height);
            EXPECT_DOUBLE_EQ(edge.points.back().y, to.corner.y);
            EXPECT_GE(edge.points.back().x, to.corner.x);
            EXPECT_LE(edge.points.back().x, to.corner.x + to.width);
            for (size_t i = 1; i < edge.points.size(); i++) EXPECT_GE(edge.points[i].y, edge.points[i - 1].y);
        }
    }
}

TEST(Layout, a_chain_is_straight) {
    Layout layout;
    for (size_t i = 0; i < 50; i++) {
        layout.nodes.push_back({.width = 50 + 10.0 * static_cast<double>(i % 7), .height = 30, .corner = {}});
        if (i > 0) layout.edges.push_back({.from = i - 1, .to = i, .points = {}});
    }
    choose_layers(layout, 1000);
    lay_out(layout);
    for (const auto& edge : layout.edges) EXPECT_NEAR(edge.points.front().x, edge.points.back().x, 0.01);
}

// What no edge joins is about as wide side by side as one beside the other.
TEST(Layout, parts_keep_together) {
    std::mt19937 random(6);
    for (int trial = 0; trial < 40; trial++) {
        Layout together;
        double widths = -box_gap;
        for (size_t part = 0; part < 3; part++) {
            Layout alone;
            for (size_t i = 0, count = 4 + random() % 16; i < count; i++) {
                alone.nodes.push_back({.width = 40.0 + static_cast<double>(random() % 200), .height = 30});
                if (i > 0) alone.edges.push_back({.from = i - 1 - random() % std::min<size_t>(i, 3), .to = i});
            }
            const size_t first = together.nodes.size();
            for (const LayoutNode& node : alone.nodes) together.nodes.push_back(node);
            for (const LayoutEdge& edge : alone.edges)
                together.edges.push_back({.from = first + edge.from, .to = first + edge.to});
            choose_layers(alone, 4000);
            lay_out(alone);
            widths += alone.width + box_gap;
        }
        choose_layers(together, 4000);
        lay_out(together);
        EXPECT_LE(together.width, 1.02 * widths) << "trial " << trial;  // rows push one another
    }
}

// Frames hold their boxes and no others; edges that have nothing to do with them go around.
TEST(Layout, frames_are_for_their_boxes_alone) {
    std::mt19937 random(5);
    for (int trial = 0; trial < 40; trial++) {
        Layout layout;
        const size_t count = 20 + random() % 60;
        size_t frame = 0, left = 0;  // boxes of the present frame, or between two
        for (size_t i = 0; i < count; i++) {
            if (left == 0) {
                left = 2 + random() % 8;
                frame = frame == no_frame ? layout.frames.size() : no_frame;
                if (frame != no_frame)
                    layout.frames.push_back({.least_width = 40.0 + static_cast<double>(random() % 200)});
            }
            left--;
            layout.nodes.push_back({.width = 40.0 + static_cast<double>(random() % 100), .height = 30, .frame = frame});
            for (size_t e = 0; i > 0 && e < 1 + random() % 2; e++)
                layout.edges.push_back({.from = i - 1 - random() % std::min<size_t>(i, 20), .to = i});
        }
        choose_layers(layout, 600);
        lay_out(layout);
        for (size_t f = 0; f < layout.frames.size(); f++) {
            const LayoutFrame& own = layout.frames[f];
            EXPECT_GE(own.corner.x, -0.01);
            EXPECT_LE(own.corner.x + own.width, layout.width + 0.01);
            for (const LayoutNode& node : layout.nodes) {
                const bool beside =
                    node.corner.x + node.width <= own.corner.x || node.corner.x >= own.corner.x + own.width ||
                    node.corner.y + node.height <= own.corner.y || node.corner.y >= own.corner.y + own.height;
                const bool inside =
                    node.corner.x >= own.corner.x && node.corner.x + node.width <= own.corner.x + own.width &&
                    node.corner.y >= own.corner.y && node.corner.y + node.height <= own.corner.y + own.height;
                ASSERT_TRUE(node.frame == f ? inside : beside) << "trial " << trial;
            }
            for (const LayoutEdge& edge : layout.edges) {
                if (layout.nodes[edge.from].frame == f || layout.nodes[edge.to].frame == f) continue;
                for (size_t i = 1; i < edge.points.size(); i++) {
                    // Between two bends the line is straight: its ends and middle tell where it goes.
                    const Point a = edge.points[i - 1], b = edge.points[i];
                    for (double t = 0; t <= 1; t += 0.125) {
                        const double x = a.x + t * (b.x - a.x), y = a.y + t * (b.y - a.y);
                        const bool inside = x > own.corner.x && x < own.corner.x + own.width && y > own.corner.y &&
                                            y < own.corner.y + own.height;
                        ASSERT_FALSE(inside) << "trial " << trial;
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace heddle::pictures
