// Boxes against the points that they hold.
#include "zspace/cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace heddle {
namespace {

using Point = Corner;

std::set<Point> points_of(const Box& box) {
    std::set<Point> points;
    if (box.is_empty()) return points;
    Point point = box.start;
    for (;;) {
        points.insert(point);
        size_t d = point.size();
        while (d > 0 && ++point[d - 1] == box.end[d - 1]) d--, point[d] = box.start[d];
        if (d == 0) return points;
    }
}

Box random_box(std::mt19937& random, size_t rank, int64_t extent) {
    Box box;
    for (size_t d = 0; d < rank; ++d) {
        const auto start = static_cast<int64_t>(random() % static_cast<uint64_t>(extent));
        box.start.push_back(start);
        box.end.push_back(start + static_cast<int64_t>(random() % static_cast<uint64_t>(extent - start + 1)));
    }
    return box;
}

TEST(Box, IsTheSetOfItsPoints) {
    std::mt19937 random(1);
    for (int round = 0; round < 4'000; ++round) {
        const size_t rank = random() % 4;
        const Box a = random_box(random, rank, 5), b = random_box(random, rank, 5);
        const auto of_a = points_of(a), of_b = points_of(b), shared = points_of(intersection(a, b));
        EXPECT_EQ(a.volume(), static_cast<int64_t>(of_a.size()));
        EXPECT_EQ(a.is_empty(), of_a.empty());
        EXPECT_EQ(contains(a, b), std::includes(of_a.begin(), of_a.end(), of_b.begin(), of_b.end()))
            << text(a) << text(b);
        std::set<Point> both;
        std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::inserter(both, both.end()));
        EXPECT_EQ(shared, both) << text(a) << text(b);
        if (!of_a.empty() && !of_b.empty()) {
            EXPECT_EQ(overlap(a, b), !both.empty()) << text(a) << text(b);
            EXPECT_TRUE(contains(hull(a, b), a) && contains(hull(a, b), b));
        }
    }
}

// Random boxes, and tilings: a box cut in two again and again, with a piece missing or doubled.
TEST(Box, TilingsHaveNoGapAndNoOverlap) {
    std::mt19937 random(2);
    int gaps = 0, overlaps = 0;
    for (int round = 0; round < 3'000; ++round) {
        const size_t rank = 1 + random() % 3;
        const Box whole = Box::whole(Point(rank, 6));
        std::vector<Box> boxes = {whole};
        for (int cut = 0; cut < 6; ++cut) {
            const size_t which = random() % boxes.size(), d = random() % rank;
            const int64_t length = boxes[which].end[d] - boxes[which].start[d];
            if (length < 2) continue;
            const int64_t at = boxes[which].start[d] + 1 + static_cast<int64_t>(random()) % (length - 1);
            boxes.push_back(boxes[which]);
            boxes.back().start[d] = boxes[which].end[d] = at;
        }
        if (random() % 3 == 0) boxes.erase(boxes.begin() + static_cast<int64_t>(random() % boxes.size()));
        if (Box other = random_box(random, rank, 6); random() % 3 == 0 && !other.is_empty()) boxes.push_back(other);
        std::multiset<Point> held;
        for (const Box& box : boxes) {
            for (const Point& point : points_of(box)) held.insert(point);
        }
        const std::set<Point> distinct(held.begin(), held.end());
        const auto pair = overlapping(boxes);
        ASSERT_EQ(pair.has_value(), distinct.size() != held.size());
        if (pair) {
            EXPECT_TRUE(pair->first != pair->second && overlap(boxes[pair->first], boxes[pair->second]));
            ++overlaps;
        }
        int64_t budget = 1'000'000;
        const Cover found = cover(whole, boxes, budget);
        ASSERT_EQ(!found.gaps.empty(), distinct.size() != points_of(whole).size());
        if (!found.gaps.empty()) {
            const Point& gap = found.gaps[0].start;
            EXPECT_TRUE(points_of(whole).contains(gap) && !distinct.contains(gap));
            ++gaps;
        }
        EXPECT_EQ(total_volume(boxes), static_cast<int64_t>(held.size()));
    }
    EXPECT_GT(gaps, 500);
    EXPECT_GT(overlaps, 500);
}

TEST(Box, SaturatesWhatLeavesTheType) {
    const Box huge{{INT64_MIN, 0}, {INT64_MAX, 2}};
    EXPECT_EQ(huge.shape()[0], INT64_MAX);
    EXPECT_EQ(huge.volume(), INT64_MAX);
    EXPECT_EQ(total_volume(std::vector{huge, huge}), INT64_MAX);
    EXPECT_EQ((Box{{5, 0}, {5, INT64_MAX}}).volume(), 0);
    EXPECT_EQ((Box{}).volume(), 1);
    EXPECT_EQ(text(Box{{0, 5}, {10, 8}}), "[0:10, 5:8]");
}

}  // namespace
}  // namespace heddle
