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
        lay_out(layout, 40);
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
    lay_out(layout, 40);
    for (const auto& edge : layout.edges) EXPECT_NEAR(edge.points.front().x, edge.points.back().x, 0.01);
}

}  // namespace
}  // namespace heddle::pictures
