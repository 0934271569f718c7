// Projections and the footprint proof against enumeration, on random bodies.
#include <gtest/gtest.h>

#include <random>

#include "symbolic/body_nodes.h"
#include "symbolic/projection.h"

namespace heddle {
namespace {

class RandomBody {
public:
    explicit RandomBody(uint32_t seed) : random_(seed), nodes_(body) {}

    int64_t below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
    NodeId number(int64_t value) { return nodes_.integer(value, DType::int64, true); }

    void make_variables() {
        for (int64_t i = 0, count = 1 + below(3); i < count; ++i)
            index.push_back(nodes_.add_variable("i" + std::to_string(i), Variable::Kind::index, 1 + below(4)));
        for (int64_t i = 0, count = below(3); i < count; ++i)
            reduced.push_back(nodes_.add_variable("k" + std::to_string(i), Variable::Kind::reduction, 1 + below(3)));
        variables = index;
        variables.insert(variables.end(), reduced.begin(), reduced.end());
    }

    // constant + sum coefficient * variable
    NodeId affine(const std::vector<int64_t>& coefficients, int64_t constant) {
        NodeId sum = number(constant);
        for (size_t i = 0; i < variables.size(); ++i)
            sum = nodes_.scalar(
                ScalarOp::add,
                {sum, nodes_.scalar(ScalarOp::multiply, {nodes_.variable(variables[i]), number(coefficients[i])})});
        return sum;
    }

    NodeId expression(int depth) {
        int64_t kind = depth == 0 ? below(2) : below(9);
        if (kind == 0) return number(below(9) - 4);
        if (kind == 1)
            return nodes_.variable(variables[static_cast<size_t>(below(static_cast<int64_t>(variables.size())))]);
        NodeId a = expression(depth - 1);
        switch (kind) {
        case 2: return nodes_.scalar(ScalarOp::add, {a, expression(depth - 1)});
        case 3: return nodes_.scalar(ScalarOp::subtract, {a, expression(depth - 1)});
        case 4: return nodes_.scalar(ScalarOp::multiply, {a, number(below(7) - 3)});
        case 5: return nodes_.scalar(below(2) ? ScalarOp::floor_divide : ScalarOp::modulo, {a, number(1 + below(4))});
        case 6: return nodes_.scalar(below(2) ? ScalarOp::minimum : ScalarOp::maximum, {a, expression(depth - 1)});
        case 7: return nodes_.scalar(ScalarOp::absolute, {a});
        default: {
            ScalarOp compare = below(2) ? ScalarOp::less : below(2) ? ScalarOp::equal : ScalarOp::greater_equal;
            NodeId condition = nodes_.scalar(compare, {a, number(below(5) - 1)});
            return nodes_.select(condition, expression(depth - 1), expression(depth - 1));
        }
        }
    }

    // y[i...] = sum of the reads over the reduced variables
    void finish(const std::vector<std::vector<NodeId>>& reads) {
        NodeId value = -1;
        for (const auto& coordinates : reads) {
            NodeId one = nodes_.read(0, DType::float32, coordinates);
            value = value < 0 ? one : nodes_.scalar(ScalarOp::add, {value, one});
        }
        if (!reduced.empty()) value = nodes_.reduce(Reducer::sum, DType::float32, reduced, value, -1);
        BodyEquation equation;
        equation.variables = index;
        for (VariableId id : index) equation.left.push_back(nodes_.variable(id));
        equation.value = value;
        body.equations.push_back(std::move(equation));
    }

    // Calls visit(point) for every point of `over`, the other variables as in `point`.
    template <typename Visit>
    void each_point(const std::vector<VariableId>& over, std::vector<int64_t> point, const Visit& visit) const {
        for (VariableId id : over) point[static_cast<size_t>(id)] = 0;
        while (true) {
            visit(point);
            size_t i = over.size();
            while (i-- > 0) {
                int64_t& digit = point[static_cast<size_t>(over[i])];
                if (++digit < body.variable(over[i]).extent.value) break;
                digit = 0;
                if (i == 0) return;
            }
            if (over.empty()) return;
        }
    }
    std::vector<int64_t> origin() const { return std::vector<int64_t>(body.variables.size()); }

    Body body;
    std::vector<VariableId> index, reduced, variables;

private:
    std::mt19937 random_;
    BodyNodes nodes_;
};

TEST(ProjectionProperty, TheDerivedBoxOfAnAffineBodyIsThatOfEnumeration) {
    for (uint32_t seed = 0; seed < 2'000; ++seed) {
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
        std::vector<int64_t> extents;
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
        auto failures = accesses.failures({extents});
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

TEST(ProjectionProperty, RangesHoldEveryValueAndTheProofAgreesWithEnumeration) {
    int proved = 0, refused = 0;
    for (uint32_t seed = 0; seed < 2'000; ++seed) {
        RandomBody random(seed + 10'000);
        random.make_variables();
        NodeId coordinate = random.expression(4);
        random.finish({{coordinate}});
        int64_t extent = 1 + random.below(12);
        BodyAccesses accesses(random.body);
        const Access& access = accesses.accesses()[0];
        ValueInterval interval = accesses.range(access, 0).interval;
        bool outside = false;
        random.each_point(random.variables, random.origin(), [&](const std::vector<int64_t>& point) {
            int64_t value = *value_at(random.body, coordinate, point);
            ASSERT_GE(value, interval.low) << "seed " << seed;
            ASSERT_LE(value, interval.high) << "seed " << seed;
            outside = outside || value < 0 || value >= extent;
        });
        ASSERT_EQ(!accesses.failures({{extent}}).empty(), outside) << "seed " << seed;
        (outside ? refused : proved)++;
    }
    EXPECT_GT(proved, 200);
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace heddle
