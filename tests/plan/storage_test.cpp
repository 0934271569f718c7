// Storage maps: where an element lies, and how a map is told.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "equations/fusion.h"
#include "equations/kept_steps.h"
#include "plan/storage.h"

namespace heddle::plan {
namespace {

TEST(Storage, row_major) {
    StorageMap map = StorageMap::row_major({2, 3, 4});
    EXPECT_TRUE(map.is_row_major());
    EXPECT_FALSE(map.has_margins());
    EXPECT_EQ(map.strides(), (std::vector<Size>{12, 4, 1}));
    EXPECT_EQ(map.offset(), 0);
    EXPECT_EQ(map.elements(), 24);
    EXPECT_EQ(map.text(), "row-major");
}

TEST(Storage, a_scalar_has_one_element) {
    StorageMap map = StorageMap::row_major({});
    EXPECT_EQ(map.elements(), 1);
    EXPECT_EQ(map.offset(), 0);
    EXPECT_TRUE(map.is_row_major());
}

TEST(Storage, no_elements) {
    StorageMap map = StorageMap::row_major({3, 0, 2});
    EXPECT_EQ(map.elements(), 0);
}

TEST(Storage, channels_last) {
    StorageMap map = StorageMap::row_major({2, 3, 5, 7});
    map.order = {0, 2, 3, 1};
    EXPECT_FALSE(map.is_row_major());
    EXPECT_EQ(map.strides(), (std::vector<Size>{105, 1, 21, 3}));
    EXPECT_EQ(map.text(), "order 0 2 3 1");
    EXPECT_EQ(map.elements(), 210);
}

TEST(Storage, an_order_that_moves_only_ones_is_row_major) {
    StorageMap map = StorageMap::row_major({2, 1, 5});
    map.order = {0, 2, 1};
    EXPECT_TRUE(map.is_row_major());
    map.extent = {2, 2, 5};
    EXPECT_FALSE(map.is_row_major());
}

TEST(Storage, margins) {
    StorageMap map = StorageMap::row_major({1, 4, 6, 8});
    map.order = {0, 2, 3, 1};
    map.margin_before = {0, 0, 1, 2};
    map.margin_after = {0, 0, 1, 3};
    map.filling = -1.5;
    EXPECT_TRUE(map.has_margins());
    EXPECT_FALSE(map.is_row_major());
    // Rows of 2 + 8 + 3 places of 4 channels; one row and two places before coordinate zero.
    EXPECT_EQ(map.strides(), (std::vector<Size>{8 * 13 * 4, 1, 13 * 4, 4}));
    EXPECT_EQ(map.offset(), 13 * 4 + 2 * 4);
    EXPECT_EQ(map.elements(), 8 * 13 * 4);
    EXPECT_EQ(map.text(), "order 0 2 3 1 margins 2: 1 1, 3: 2 3 filling -1.5");
}

// Every coordinate, margins included, has an element of its own inside the buffer.
TEST(Storage, every_element_has_one_place) {
    std::mt19937 random(4);
    for (int round = 0; round < 200; round++) {
        size_t rank = 1 + random() % 4;
        std::vector<Size> shape;
        for (size_t d = 0; d < rank; d++) shape.push_back(1 + random() % 4);
        StorageMap map = StorageMap::row_major(shape);
        std::shuffle(map.order.begin(), map.order.end(), random);
        for (size_t d = 0; d < rank; d++) {
            map.margin_before[d] = random() % 3;
            map.margin_after[d] = random() % 3;
        }
        auto strides = map.strides();
        std::set<int64_t> places;
        std::vector<int64_t> point(rank);
        for (size_t d = 0; d < rank; d++) point[d] = -map.margin_before[d];
        for (bool more = true; more;) {
            int64_t place = map.offset();
            for (size_t d = 0; d < rank; d++) place += point[d] * strides[d];
            EXPECT_TRUE(place >= 0 && place < map.elements()) << map.text();
            EXPECT_TRUE(places.insert(place).second) << map.text();
            more = false;
            for (size_t d = rank; d-- > 0 && !more;) {
                more = ++point[d] < shape[d] + map.margin_after[d];
                if (!more) point[d] = -map.margin_before[d];
            }
        }
        EXPECT_EQ(static_cast<int64_t>(places.size()), map.elements());
    }
}

// The map of x[256, 4096], of which y is made.
std::string map_of(const std::string& right) {
    auto system = equations::parse_system(
        std::make_shared<SourceText>("system",
                                     "system s\n in x: float32[256, 4096]\n in z: float32[256, 4096]\n"
                                     " out y: float32[256, 4077]\n for i < 256, j < 4077: y[i, j] = sum(k < 20 : " +
                                         right + ")\n outputs y\n"));
    EXPECT_TRUE(system) << (system ? "" : render(system.error()));
    if (!system) return "";
    const equations::Partition partition = equations::fuse(*system, Target{}, {});
    const auto maps = choose_storage(*system, partition, equations::kept_steps(*system));
    return maps.at(0) ? maps[0]->text() : "none";
}

// A value of each point is no weight of its row.
TEST(Storage, windows_slide_along_rows_beside_values_of_their_points) {
    EXPECT_EQ(map_of("x[i, j + k]"), "row-major");
    EXPECT_EQ(map_of("x[i, j + k] * z[i, j]"), "row-major");
}

}  // namespace
}  // namespace heddle::plan
