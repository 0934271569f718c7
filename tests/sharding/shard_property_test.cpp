// Random bodies cut at random: regions and what is unread in them are those of enumeration, and the parts give the
// whole.
#include <algorithm>
#include <set>

#include "../symbolic/random_body.h"
#include "sharded.h"

namespace heddle::sharding {
namespace {

// The elements of the input that a box of the extended index reads; axes are the body's variables in their order.
std::set<std::vector<int64_t>> elements_read(const RandomBody& random, const std::vector<std::vector<NodeId>>& reads,
                                             const Box& box, const std::vector<int64_t>& extents) {
    std::set<std::vector<int64_t>> result;
    random.each_point(random.variables, random.origin(), [&](const std::vector<int64_t>& point) {
        for (size_t v = 0; v < point.size(); ++v)
            if (point[v] < box.start[v] || point[v] >= box.end[v]) return;
        for (const auto& coordinates : reads) {
            std::vector<int64_t> element;
            for (NodeId id : coordinates) element.push_back(*value_at(random.body, id, point));
            bool inside = true;
            for (size_t d = 0; d < element.size(); ++d) inside = inside && element[d] >= 0 && element[d] < extents[d];
            if (inside) result.insert(element);
        }
    });
    return result;
}

// The least box that holds what each read's coordinates take within the tensor, each by itself.
Box projected_box(const RandomBody& random, const std::vector<std::vector<NodeId>>& reads, const Box& box,
                  const std::vector<int64_t>& extents) {
    Box result{std::vector<int64_t>(extents.size()), std::vector<int64_t>(extents.size())};
    bool first = true;
    for (const auto& coordinates : reads) {
        Box own = Box::whole(extents);
        bool empty = false;
        for (size_t d = 0; d < extents.size(); ++d) {
            int64_t low = INT64_MAX, high = INT64_MIN;
            random.each_point(random.variables, random.origin(), [&](const std::vector<int64_t>& point) {
                for (size_t v = 0; v < point.size(); ++v)
                    if (point[v] < box.start[v] || point[v] >= box.end[v]) return;
                int64_t value = *value_at(random.body, coordinates[d], point);
                if (value < 0 || value >= extents[d]) return;
                low = std::min(low, value);
                high = std::max(high, value);
            });
            empty = empty || low > high;
            own.start[d] = low;
            own.end[d] = empty ? low : high + 1;
        }
        if (empty) continue;
        for (size_t d = 0; d < extents.size(); ++d) {
            result.start[d] = first ? own.start[d] : std::min(result.start[d], own.start[d]);
            result.end[d] = first ? own.end[d] : std::max(result.end[d], own.end[d]);
        }
        first = false;
    }
    return result;
}

std::vector<Box> random_grid(RandomBody& random, const std::vector<Axis>& axes) {
    std::vector<Box> boxes(1);
    for (const Axis& axis : axes) {
        int64_t extent = axis.extent.value(), middle = random.below(extent + 1);
        std::vector<std::pair<int64_t, int64_t>> parts{{0, middle}, {middle, extent}};
        if (random.below(2) == 0) parts = {{0, extent}};
        std::vector<Box> longer;
        for (const Box& box : boxes) {
            for (auto [begin, end] : parts) {
                longer.push_back(box);
                longer.back().start.push_back(begin);
                longer.back().end.push_back(end);
            }
        }
        boxes = std::move(longer);
    }
    return boxes;
}

TEST(ShardProperty, Metakernels11RegionsOfRandomBodiesAreThoseOfEnumeration) {
    int applications = 0, surplus = 0;
    for (uint32_t seed = 0; seed < 1'000; ++seed) {
        SCOPED_TRACE(seed);
        RandomBody random(seed + 50'000);
        random.make_variables();
        size_t rank = static_cast<size_t>(1 + random.below(2));
        std::vector<std::vector<NodeId>> reads(static_cast<size_t>(1 + random.below(2)));
        bool affine = random.below(4) != 0;
        for (auto& coordinates : reads) {
            for (size_t d = 0; d < rank; ++d) {
                std::vector<int64_t> row;
                for (size_t v = 0; v < random.variables.size(); ++v) row.push_back(random.below(5) - 1);
                coordinates.push_back(affine ? random.affine(row, random.below(7) - 3) : random.expression(3));
            }
        }
        random.finish(reads, true);
        Graph graph;
        std::vector<int64_t> extents;
        for (size_t d = 0; d < rank; ++d) extents.push_back(4 + random.below(16));
        graph.inputs = {graph.add_tensor("x", {DType::float32, {extents.begin(), extents.end()}})};
        std::vector<Size> shape;
        for (VariableId id : random.index) shape.push_back(random.body.variable(id).extent);
        graph.outputs = {graph.add_tensor("y", {DType::float32, shape})};
        graph.add_operation({.name = "random",
                             .operator_name = "random",
                             .inputs = graph.inputs,
                             .outputs = graph.outputs,
                             .index = {},
                             .input_projections = {},
                             .output_projections = {},
                             .body = std::make_shared<const Body>(random.body),
                             .params = {}});
        std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
        ASSERT_EQ(axes.size(), random.variables.size());
        auto result = shard(graph, OperationId(0), random_grid(random, axes));
        ASSERT_TRUE(result) << render(result.error());
        TensorData x(DType::float32, extents);
        for (int64_t i = 0; i < x.size(); ++i) x.set_real(i, static_cast<double>(i * i % 11));
        expect_same_values(graph, {x}, *result);
        if (testing::Test::HasFatalFailure()) return;
        for (const Application& application : result->applications) {
            for (const Region& region : application.inputs) {
                if (region.tensor != graph.inputs[0]) continue;
                auto elements = elements_read(random, reads, application.index, extents);
                applications++;
                Box expected = projected_box(random, reads, application.index, extents);
                for (size_t d = 0; d < rank && expected.volume() > 0; ++d) {
                    if (affine) {
                        EXPECT_EQ(region.box.start[d], expected.start[d]);
                        EXPECT_EQ(region.box.end[d], expected.end[d]);
                    } else {
                        EXPECT_LE(region.box.start[d], expected.start[d]);
                        EXPECT_GE(region.box.end[d], expected.end[d]);
                    }
                }
                ASSERT_TRUE(region.unread);
                EXPECT_EQ(*region.unread, region.box.volume() - static_cast<int64_t>(elements.size()));
                surplus += *region.unread > 0;
            }
        }
    }
    EXPECT_GT(applications, 1'000);
    EXPECT_GT(surplus, 100);
}

}  // namespace
}  // namespace heddle::sharding
