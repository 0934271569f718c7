// Every shipped operator where one of its sizes is 0: it says why it cannot be, or compiled code gives what the
// interpreter gives.
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "helpers/shipped.h"
#include "rewrite/made_up.h"

namespace heddle::rewrite {
namespace {

constexpr int most_uses = 60;

// The first use that works.
std::optional<MadeUpUse> use_of(const Template& metakernel) {
    MadeUpUses uses(metakernel, library(), true);
    for (int i = 0; i < most_uses; ++i) {
        const auto use = uses.next();
        if (!use) return std::nullopt;
        AppliedUse applied(metakernel, library(), *use);
        if (applied.graph()) return use;
        uses.failed(applied.failure());
    }
    return std::nullopt;
}

void expect_equal(const Graph& graph) {
    std::mt19937_64 random(3);
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const Tensor& input = graph.tensor(id);
        feeds.push_back(input.constant ? *input.constant : made_up(input.type, random, 1));
    }
    auto expected = evaluate_graph_bounded(graph, feeds);
    auto found = runtime::Session(compiled(plan_of(graph)), std::make_shared<ThreadPool>(1)).run(feeds);
    if (!expected) {  // an index asks for an element, and there is none
        EXPECT_EQ(expected.error().front().code, "evaluate.out_of_range") << render(expected.error());
        ASSERT_FALSE(found) << print(graph);
        EXPECT_EQ(found.error().front().code, "runtime.index_out_of_range") << render(found.error());
        return;
    }
    ASSERT_TRUE(found) << render(found.error()) << print(graph);
    for (size_t i = 0; i < found->size(); ++i) {
        auto comparison = compare_bounded((*found)[i], (*expected)[static_cast<size_t>(graph.outputs[i])]);
        EXPECT_TRUE(comparison.equal) << comparison.text() << print(graph);
    }
}

int expect_empty_sizes(const Template& metakernel) {
    const auto use = use_of(metakernel);
    if (!use) return 0;
    std::set<std::string> names;
    for (const auto& [name, place] : use->named) names.insert(name);
    int worked = 0;
    for (const std::string& name : names) {
        SCOPED_TRACE(metakernel.name + " with " + name + " = 0");
        MadeUpUse empty = *use;
        const auto [first, last] = empty.named.equal_range(name);
        bool known = false;
        for (auto place = first; place != last; ++place) {
            const auto& [input, tensor, dimension] = place->second;
            TensorType& type = empty.tensors.at(input)[tensor];
            type.shape[dimension] = Size(0);
            known |= empty.values.contains(input);
        }
        if (known) continue;  // the values would have to be others
        AppliedUse applied(metakernel, library(), empty);
        if (const auto graph = applied.graph()) {
            expect_equal(*graph);
            ++worked;
        } else {
            EXPECT_FALSE(applied.failure().empty());
        }
    }
    return worked;
}

TEST(EmptySizes, OfShippedOperators) {
    int worked = 0;
    for (const std::string& name : library().names()) worked += expect_empty_sizes(**library().find(name));
    EXPECT_GE(worked, 250);
}

TEST(EmptySizes, OfOperatorsOfOnnx) {
    int worked = 0;
    for (const std::string& name : library().onnx_names()) {
        const auto found = find_onnx(library(), name, 25);
        if (found) worked += expect_empty_sizes(**found);
    }
    EXPECT_GE(worked, 200);
}

}  // namespace
}  // namespace heddle::rewrite
