// Executed shard by shard, every operator gives what it gives as a whole.
#include <algorithm>
#include <random>

#include "sharded.h"

namespace heddle::sharding {
namespace {

using body_test::Case;
using body_test::Given;

// All combinations of random parts of some axes, empty ones at the end among them.
std::vector<Box> random_grid(const std::vector<Axis>& axes, const std::vector<bool>& cut, std::mt19937& random) {
    std::vector<Box> boxes(1);
    for (size_t axis = 0; axis < axes.size(); ++axis) {
        int64_t extent = axes[axis].extent.value();
        std::vector<int64_t> ends{0, extent};
        for (size_t n = cut[axis] ? 1 + random() % 3 : 0; n > 0; --n)
            ends.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(extent + 1)));
        std::ranges::sort(ends);
        ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
        if (cut[axis] && random() % 3 == 0) ends.push_back(extent);
        std::vector<Box> longer;
        for (const Box& box : boxes) {
            for (size_t part = 0; part + 1 < ends.size() || (part == 0 && extent == 0); ++part) {
                longer.push_back(box);
                longer.back().start.push_back(ends[part]);
                longer.back().end.push_back(extent == 0 ? 0 : ends[part + 1]);
            }
        }
        boxes = std::move(longer);
    }
    return boxes;
}

struct Counts {
    int shardings = 0, partial = 0, refused = 0;
};

void shard_every_axis(const Graph& graph, const std::vector<TensorData>& feeds, std::mt19937& random, Counts& counts) {
    for (size_t o = 0; o < graph.operations.size(); ++o) {
        const Operation& operation = graph.operations[o];
        std::vector<Axis> axes = axes_of(graph, operation);
        auto try_boxes = [&](const std::vector<Box>& boxes) {
            auto result = shard(graph, OperationId(o), boxes, counts.shardings % 2 == 1);
            ASSERT_TRUE(result) << render(result.error());
            counts.shardings++;
            counts.partial += !result->combinations.empty();
            expect_same_values(graph, feeds, *result);
        };
        std::vector<bool> can;
        for (const Axis& axis : axes) {
            can.push_back(!axis.refusal && axis.extent.value() > 0);
            if (!can.back()) {
                counts.refused++;
                continue;
            }
            SCOPED_TRACE(operation.name + " by " + axis.name);
            for (int64_t parts : {int64_t{2}, int64_t{3}, axis.extent.value() + 1}) {
                auto boxes = boxes_by(operation, axes, {{axis.name, parts}});
                ASSERT_TRUE(boxes) << render(boxes.error());
                try_boxes(*boxes);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
        for (int n = 0; n < 3; ++n) {
            std::vector<bool> cut;
            for (bool possible : can) cut.push_back(possible && random() % 2 == 0);
            try_boxes(random_grid(axes, cut, random));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(ShardValues, Metakernels10EveryAxisOfEveryAcceptanceTemplateGivesTheWhole) {
    Library library = library_of(file_text("tests/language/acceptance/templates.yaml"));
    std::mt19937 random(1);
    Counts counts;
    for (Case& one : body_test::cases()) {
        SCOPED_TRACE(one.name);
        auto metakernel = library.find(one.name);
        ASSERT_TRUE(metakernel);
        std::vector<Given> inputs;
        for (size_t i = 0; i < one.inputs.size(); ++i) {
            one.inputs[i].second.list = (*metakernel)->inputs[i].variadic;
            inputs.push_back(one.inputs[i].second);
        }
        auto outcome = body_test::apply(library, one.name, inputs, one.parameters);
        ASSERT_TRUE(outcome) << render(outcome.error());
        shard_every_axis(outcome->graph, outcome->feeds, random, counts);
    }
    EXPECT_GT(counts.shardings, 500);
    EXPECT_GT(counts.partial, 100);
    RecordProperty("shardings", counts.shardings);
}

}  // namespace
}  // namespace heddle::sharding
