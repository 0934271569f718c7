// Complex numbers in parts.
#include "helpers/library.h"
#include "sharded.h"

namespace heddle::sharding {
namespace {

TEST(ShardComplex, PartsOfAProductAreTheWhole) {
    std::mt19937 random(5);
    const Graph graph = graph_of(library(), "matmul", {{DType::complex64, {6, 10}}, {DType::complex64, {10, 4}}});
    const std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    std::vector<TensorData> feeds = random_feeds(graph, random, 1, 5);
    for (const auto& parts : std::vector<std::vector<std::pair<std::string, int64_t>>>{
             {{"in_row", 2}}, {{"k", 3}}, {{"in_row", 3}, {"out_col", 2}, {"k", 2}}}) {
        auto boxes = boxes_by(graph.operations[0], axes, parts);
        ASSERT_TRUE(boxes) << render(boxes.error());
        auto sharding = shard(graph, OperationId(0), *boxes);
        ASSERT_TRUE(sharding) << render(sharding.error());
        expect_same_values(graph, feeds, *sharding);
    }
}

}  // namespace
}  // namespace heddle::sharding
