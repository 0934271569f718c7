// Projections and the footprint proof against enumeration, on random bodies.
#include <gtest/gtest.h>

#include "random_body.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

TEST(Metakernels12, TheDerivedBoxOfAnAffineBodyIsThatOfEnumeration) {
    for (uint32_t seed = 0; seed < 10'000; ++seed) {
        RandomBody random(seed);
        random.make_variables();
        size_t rank = static_cast<size_t>(1 + random.below(3));
        std::vector<std::vector<int64_t>> shared(rank);
        for (auto& row : shared)
            for (size_t v = 0; v < random.variables.size(); ++v) row.push_back(random.below(6) - 2);
        std::vector<std::vector<NodeId>> reads(static_cast<size_t>(1 + random.below(3)));
        for (auto& coordinates : reads)
            for (auto row : shared) {
                // Reads share the coefficients of the index; those of reduced variables are their own.
                for (size_t v = random.index.size(); v < row.size(); ++v) row[v] = random.below(6) - 2;
                coordinates.push_back(random.affine(row, random.below(9) - 4));
            }
        random.finish(reads);
        BodyAccesses accesses(random.body);
        std::vector<Size> extents;
        for (size_t d = 0; d < rank; ++d) extents.push_back(1 + random.below(20));
        IndexProjection projection = derived_projection(accesses, 0, extents);
        bool outside = false;
        random.each_point(random.index, random.origin(), [&](const std::vector<int64_t>& at) {
            for (size_t d = 0; d < rank; ++d) {
                int64_t low = INT64_MAX, high = INT64_MIN;
                random.each_point(random.reduced, at, [&](const std::vector<int64_t>& point) {
                    for (const auto& coordinates : reads) {
                        int64_t value = *value_at(random.body, coordinates[d], point);
                        low = std::min(low, value);
                        high = std::max(high, value);
                    }
                });
                outside = outside || low < 0 || high >= extents[d];
                int64_t start = projection.offset[d];
                for (size_t axis = 0; axis < random.index.size(); ++axis)
                    start += projection.projection[d][axis] * at[static_cast<size_t>(random.index[axis])];
                ASSERT_FALSE(projection.whole[d]) << "seed " << seed;
                ASSERT_EQ(start, low) << "seed " << seed << " dimension " << d;
                ASSERT_EQ(start + projection.shape[d] - 1, high) << "seed " << seed << " dimension " << d;
            }
        });
        std::span<const Size> whole = extents;
        auto failures = accesses.failures({&whole, 1});
        ASSERT_EQ(!failures.empty(), outside) << "seed " << seed;
        for (const FootprintFailure& failure : failures) {
            std::vector<int64_t> point = random.origin();
            for (const auto& [variable, value] : failure.point) point[static_cast<size_t>(variable)] = value;
            ASSERT_EQ(value_at(random.body, failure.access.coordinates[failure.dimension], point), failure.coordinate)
                << "seed " << seed;
            ASSERT_TRUE(failure.coordinate < 0 || failure.coordinate >= failure.extent) << "seed " << seed;
        }
    }
}

TEST(Metakernels12, ConditionsOfSeveralVariablesBoundWhatTheyGuard) {
    int proved = 0, refused = 0, narrower = 0;
    for (uint32_t seed = 0; seed < 10'000; ++seed) {
        RandomBody random(seed + 20'000);
        random.make_variables();
        std::vector<int64_t> coefficients;
        for (size_t v = 0; v < random.variables.size(); ++v) coefficients.push_back(random.below(5) - 2);
        const NodeId coordinate = random.affine(coefficients, random.below(5) - 2);
        const NodeId filter = random.condition();
        random.finish({{coordinate}}, false, filter);
        const Size extent = 1 + random.below(8);
        BodyAccesses accesses(random.body);
        bool outside = false, reached = false;
        int64_t low = INT64_MAX, high = INT64_MIN;
        random.each_point(random.variables, random.origin(), [&](const std::vector<int64_t>& point) {
            if (*value_at(random.body, filter, point) == 0) return;
            const int64_t value = *value_at(random.body, coordinate, point);
            reached = true;
            low = std::min(low, value);
            high = std::max(high, value);
            outside = outside || value < 0 || value >= extent;
        });
        if (accesses.accesses().empty()) {
            ASSERT_FALSE(reached) << "seed " << seed;
            continue;
        }
        const Interval interval = accesses.range(accesses.accesses()[0], 0).interval;
        if (reached) {
            ASSERT_LE(interval.low, low) << "seed " << seed;
            ASSERT_GE(interval.high, high) << "seed " << seed;
            const Interval everywhere = accesses.everywhere().of(coordinate).interval;
            narrower += interval.low > everywhere.low || interval.high < everywhere.high;
        }
        std::span<const Size> whole(&extent, 1);
        ASSERT_EQ(!accesses.failures({&whole, 1}).empty(), outside) << "seed " << seed;
        (outside ? refused : proved)++;
    }
    EXPECT_GT(proved, 1'000);
    EXPECT_GT(refused, 1'000);
    EXPECT_GT(narrower, 1'000);
}

TEST(Metakernels12, RangesHoldEveryValueAndTheProofAgreesWithEnumeration) {
    int proved = 0, refused = 0;
    for (uint32_t seed = 0; seed < 10'000; ++seed) {
        RandomBody random(seed + 10'000);
        random.make_variables();
        NodeId coordinate = random.expression(4);
        random.finish({{coordinate}});
        const Size extent = 1 + random.below(12);
        BodyAccesses accesses(random.body);
        const Access& access = accesses.accesses()[0];
        Interval interval = accesses.range(access, 0).interval;
        bool outside = false;
        random.each_point(random.variables, random.origin(), [&](const std::vector<int64_t>& point) {
            int64_t value = *value_at(random.body, coordinate, point);
            ASSERT_GE(value, interval.low) << "seed " << seed;
            ASSERT_LE(value, interval.high) << "seed " << seed;
            outside = outside || value < 0 || value >= extent;
        });
        std::span<const Size> whole(&extent, 1);
        ASSERT_EQ(!accesses.failures({&whole, 1}).empty(), outside) << "seed " << seed;
        (outside ? refused : proved)++;
    }
    EXPECT_GT(proved, 200);
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace heddle
