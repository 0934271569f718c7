// Derived graphs as compiled code.
#pragma once

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"

namespace heddle::gradient {

// Its results are those of the interpreter, within their bounds.
inline void expect_compiled(const Graph& graph, const std::vector<TensorData>& feeds) {
    auto expected = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(expected) << render(expected.error());
    auto pool = std::make_shared<ThreadPool>(2);
    auto found = runtime::Session(compiled(plan_of(graph)), pool).run(feeds);
    ASSERT_TRUE(found) << render(found.error());
    for (size_t i = 0; i < found->size(); ++i) {
        auto comparison = compare_bounded((*found)[i], (*expected)[static_cast<size_t>(graph.outputs[i])]);
        EXPECT_TRUE(comparison.equal) << comparison.text() << print(graph);
    }
}

}  // namespace heddle::gradient
