// Covers and collisions against enumeration.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "interchange/box.h"

namespace heddle::interchange {
namespace {

using Point = std::vector<int64_t>;

std::vector<Point> points_of(const DocumentRange& box) {
    std::vector<Point> points = {{}};
    for (size_t i = 0; i < box.start.size(); i++) {
        std::vector<Point> next;
        for (const Point& point : points) {
            for (int64_t x = box.start[i]; x < box.end[i]; x++) {
                next.push_back(point);
                next.back().push_back(x);
            }
        }
        points = std::move(next);
    }
    return points;
}

DocumentRange random_box(std::mt19937& random, size_t rank, int64_t size) {
    DocumentRange box;
    for (size_t i = 0; i < rank; i++) {
        int64_t a = static_cast<int64_t>(random() % static_cast<unsigned>(size + 1)) - 2;
        int64_t b = static_cast<int64_t>(random() % static_cast<unsigned>(size + 1)) - 2;
        box.start.push_back(std::min(a, b));
        box.end.push_back(std::max(a, b) + (random() % 4 > 0));
    }
    return box;
}

TEST(Boxes, CoversAreThoseOfEnumeration) {
    std::mt19937 random(5);
    for (int round = 0; round < 500; round++) {
        size_t rank = random() % 4;
        DocumentRange region = random_box(random, rank, 7);
        std::vector<DocumentRange> boxes;
        for (size_t i = random() % 5; i > 0; i--) boxes.push_back(random_box(random, rank, 7));
        std::map<Point, int> count;
        for (const Point& point : points_of(region)) count[point] = 0;
        std::set<std::pair<size_t, size_t>> pairs;
        std::map<Point, std::vector<size_t>> owners;
        for (size_t b = 0; b < boxes.size(); b++) {
            for (const Point& point : points_of(boxes[b])) {
                if (!count.contains(point)) continue;
                count[point]++;
                owners[point].push_back(b);
            }
        }
        std::set<Point> missing;
        bool shared = false;
        for (const auto& [point, n] : count) {
            if (n == 0) missing.insert(point);
            shared = shared || n > 1;
        }
        int64_t budget = 1'000'000;
        Cover found = cover(region, boxes, budget);
        std::set<Point> gaps;
        size_t cells = 0;
        for (const DocumentRange& gap : found.gaps) {
            for (const Point& point : points_of(gap)) {
                gaps.insert(point);
                cells++;
            }
        }
        if (found.complete) {
            EXPECT_EQ(gaps, missing) << "round " << round;
            EXPECT_EQ(cells, missing.size()) << "round " << round;
        }
        EXPECT_EQ(shared, !found.overlaps.empty()) << "round " << round;
        for (const auto& overlap : found.overlaps) {
            ASSERT_FALSE(overlap.shared.is_empty());
            for (const Point& point : points_of(overlap.shared)) {
                EXPECT_EQ(std::ranges::count(owners[point], overlap.first), 1);
                EXPECT_EQ(std::ranges::count(owners[point], overlap.second), 1);
            }
        }
    }
}

TEST(Boxes, ManyShardsAreCheckedSoon) {
    std::vector<DocumentRange> grid;
    for (int64_t i = 0; i < 100; i++) {
        for (int64_t j = 0; j < 100; j++) grid.push_back({{i * 10, j * 10}, {i * 10 + 10, j * 10 + 10}});
    }
    int64_t budget = 30'000'000;
    Cover found = cover({{0, 0}, {1000, 1000}}, grid, budget);
    EXPECT_TRUE(found.complete && found.gaps.empty() && found.overlaps.empty());
    --grid[5050].end[1];
    found = cover({{0, 0}, {1000, 1000}}, grid, budget);
    ASSERT_EQ(found.gaps.size(), 1u);
    EXPECT_EQ(text(found.gaps[0]), "[500:510, 509:510]");
    budget = 100;
    EXPECT_FALSE(cover({{0, 0}, {1000, 1000}}, grid, budget).complete);
}

TEST(Boxes, CollisionsAreThoseOfEnumeration) {
    std::mt19937 random(6);
    int collided = 0, disjoint = 0;
    for (int round = 0; round < 2000; round++) {
        size_t rows = random() % 3, columns = random() % 4;
        DocumentProjection map;
        DocumentRange index;
        for (size_t r = 0; r < rows; r++) {
            auto& row = map.projection.emplace_back();
            for (size_t c = 0; c < columns; c++)
                row.push_back(random() % 2 ? 0 : static_cast<int64_t>(random() % 13) - 6);
            map.offset.push_back(static_cast<int64_t>(random() % 9) - 4);
            map.shape.push_back(random() % 8 ? 1 + static_cast<int64_t>(random() % 2) : 0);
        }
        for (size_t c = 0; c < columns; c++) {
            index.start.push_back(static_cast<int64_t>(random() % 7) - 3);
            index.end.push_back(index.start.back() + static_cast<int64_t>(random() % 5));
        }
        std::set<Point> written;
        size_t writes = 0;
        for (const Point& point : points_of(index)) {
            DocumentRange one{point, point};
            for (Size& end : one.end) ++end;
            for (const Point& cell : points_of(*projected(map, one))) {
                written.insert(cell);
                writes++;
            }
        }
        int64_t budget = 10'000'000;
        Collision found = collision(map, index, budget);
        ASSERT_TRUE(found.complete);
        EXPECT_EQ(found.points.has_value(), writes != written.size()) << "round " << round;
        DocumentRange hull = *projected(map, index);
        if (!found.points) {
            disjoint++;
            EXPECT_EQ(fills(map, index, hull), points_of(hull).size() == written.size()) << "round " << round;
            continue;
        }
        collided++;
        auto box = [&](const Corner& point) {
            DocumentRange one{point, point};
            for (Size& end : one.end) ++end;
            EXPECT_TRUE(contains(index, one));
            return *projected(map, one);
        };
        EXPECT_NE(found.points->first, found.points->second);
        EXPECT_FALSE(intersection(box(found.points->first), box(found.points->second)).is_empty());
    }
    EXPECT_GT(collided, 100);
    EXPECT_GT(disjoint, 100);
}

TEST(Boxes, ASearchEndsWithItsBudget) {
    // Injective, but no column outweighs the others: all differences would have to be looked at.
    DocumentProjection map{{{1000003, 999983, 1000033}, {999979, 1000037, 999961}}, {0, 0}, {1, 1}};
    DocumentRange index{{0, 0, 0}, {100000, 100000, 100000}};
    int64_t budget = 100'000;
    EXPECT_FALSE(collision(map, index, budget).complete);
}

}  // namespace
}  // namespace heddle::interchange
