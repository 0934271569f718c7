#include "support/place_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace heddle {
namespace {

// Against a list that is searched from end to end. Few different hashes, so that what is erased stands between others.
TEST(PlaceTable, RandomInsertsAndErasures) {
    std::mt19937 random(1);
    for (size_t hashes : {1u, 3u, 50u, 100'000u}) {
        PlaceTable table;
        std::vector<std::pair<size_t, bool>> things;  // the hash of each place, and whether it is there
        auto find = [&](size_t hash, int32_t place) {
            return table.find(hash, [&](int32_t other) { return other == place; });
        };
        size_t there = 0;
        for (int step = 0; step < 3'000; ++step) {
            size_t chosen = random() % (things.size() + 1);
            if (chosen < things.size() && things[chosen].second && random() % 2) {
                table.erase(things[chosen].first, static_cast<int32_t>(chosen));
                things[chosen].second = false;
                --there;
            } else {
                // The upper half counts too.
                size_t hash = (random() % hashes) << (step % 2 ? 32 : 0);
                table.insert(hash, static_cast<int32_t>(things.size()));
                things.emplace_back(hash, true);
                ++there;
            }
            ASSERT_EQ(table.size(), there);
            if (step % 100) continue;
            for (size_t place = 0; place < things.size(); ++place) {
                int32_t found = find(things[place].first, static_cast<int32_t>(place));
                ASSERT_EQ(found, things[place].second ? static_cast<int32_t>(place) : -1);
            }
        }
        table.clear();
        EXPECT_EQ(table.size(), 0u);
        EXPECT_EQ(find(0, 0), -1);
    }
}

}  // namespace
}  // namespace heddle
