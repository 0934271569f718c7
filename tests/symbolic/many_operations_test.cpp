// Graphs of ten thousand operations: right, and without work that was done before. How long they take is for bench/.
#include <set>

#include "helpers/library.h"
#include "session_test_support.h"
#include "symbolic/node_map.h"

namespace heddle {
namespace {

using session_test::find;
using session_test::type;

// Two layers of other sizes in every block, whose last operation is a diamond: left and right of what comes before.
std::vector<TensorId> add_blocks(Session& session, int64_t blocks, int64_t first_rows) {
    const Library& library = session.library();
    auto apply = [&](const char* name, std::vector<Argument> inputs) {
        auto made = session.apply(find(library, name), inputs);
        EXPECT_TRUE(made) << (made ? "" : render(made.error()));
        return made ? (*made)[0] : TensorId{0};
    };
    std::vector<TensorId> ends;
    for (int64_t block = 0; block < blocks; ++block) {
        Size rows = first_rows + block, columns = 3 + block % 5;
        TensorId x = session.add_input("x", type({rows, columns}));
        TensorId product = apply("matmul", {x, session.add_input("w", type({columns, columns + 1}))});
        TensorId left = apply("relu", {product}), right = apply("softmax", {product});
        ends.push_back(apply("add2", {left, right}));
    }
    return ends;
}

TEST(Metakernels21, TenThousandOperationsApplyAndVerify) {
    Session session(library());
    constexpr int64_t blocks = 2'500;
    std::vector<TensorId> ends = add_blocks(session, blocks, 2);
    for (int64_t block = 0; block < blocks; block += 499) {
        std::vector<int64_t> extents = {2 + block, 4 + block % 5};
        EXPECT_EQ(session.graph().tensor(ends[static_cast<size_t>(block)]).type.extents(), extents);
    }
    Graph graph = session.finish(ends);
    EXPECT_EQ(graph.operations.size(), 4 * blocks);
    auto sound = verify(graph);
    EXPECT_TRUE(sound) << render(sound.error());
    const IndexProjection& rows = graph.operations[4 * 700].input_projections[0];  // of a product, at any place
    EXPECT_EQ(rows.augmented_matrix(),
              IndexProjection({{{1, 0}, {0, 0}}, {0, 0}, {1, 3}, {false, false}}).augmented_matrix());
}

// The same operators on the same types: nothing is built a second time, and all that people and documents see is there.
TEST(Metakernels21, RepeatedApplicationsShareTheirBodies) {
    Session session(library());
    add_blocks(session, 20, 2);
    add_blocks(session, 20, 2);
    std::set<const Body*> bodies;
    const auto& operations = session.graph().operations;
    ASSERT_EQ(operations.size(), 160u);
    for (size_t i = 0; i < 80; ++i) {
        const Operation &first = operations[i], &again = operations[80 + i];
        bodies.insert(first.body.get());
        EXPECT_EQ(first.body, again.body);
        EXPECT_EQ(first.input_projections, again.input_projections);
        EXPECT_EQ(first.output_projections, again.output_projections);
        EXPECT_FALSE(again.output_projections.empty());
        EXPECT_EQ(first.index.size(), again.index.size());
        EXPECT_NE(first.outputs, again.outputs);
    }
    EXPECT_EQ(bodies.size(), 80u);
}

// What an error takes back is not what a later application of the same types is made of.
TEST(Metakernels21, RepeatedApplicationsAfterAnError) {
    Library library = library_of(R"yaml(
twice:
  inputs: {x: "$dtype[$shape...]"}
  outputs: {y: "$dtype[$shape...]"}
  body: "y = x + x"
narrow:
  inputs: {x: "$dtype[$n, 3]"}
  outputs: {y: "$dtype[$n, 3]"}
  body: "y = x * x"
both:
  inputs: {x: "$dtype[$shape...]"}
  outputs: {y: "$dtype[$shape...]"}
  graph: |
    y = narrow(twice(x))
)yaml");
    Session session(library);
    TensorId x = session.add_input("x", type({5, 4}));
    ASSERT_FALSE(session.apply(find(library, "both"), {x}));
    EXPECT_TRUE(session.graph().operations.empty());
    for (int time = 0; time < 2; ++time) {
        auto made = session.apply(find(library, "twice"), {x});
        ASSERT_TRUE(made) << render(made.error());
        const Operation& operation = session.graph().operations.back();
        ASSERT_EQ(operation.input_projections.size(), 1u);
        EXPECT_EQ(operation.input_projections[0].augmented_matrix(),
                  operation.output_projections[0].augmented_matrix());
    }
}

// An environment is used again by the next application of its template: of other ranks, inputs, parameters, after errors.
TEST(Metakernels21, ApplicationsKnowNothingOfEachOther) {
    Library library = library_of(R"yaml(
scaled:
  inputs: {x: "$dtype[$batch..., $n]", by: "$dtype[$n]?", all: "$dtype[$n]*"}
  params: {add: "float = 0.0"}
  let: |
    $rank = len($batch)
  constraints: {require: [["$n < 100", "n is small"]]}
  index: "[$batch..., $n]"
  outputs: {y: "$dtype"}
  body: |
    let own = has(by) ? x * by[@n] : x
    y = own + sum(i < len($all) : all[i][@n]) + $add + $rank
)yaml");
    struct Use {
        std::vector<int64_t> shape;
        bool by;
        size_t all;
        double add;
    };
    const std::vector<Use> uses = {{{2, 3, 4}, true, 2, 1.5}, {{5}, false, 0, 0},   {{2, 200}, true, 1, 2},
                                   {{3, 4}, false, 3, 0},     {{6, 5}, true, 0, 3}, {{2, 3, 4}, false, 1, 0}};
    auto applied = [&](Session& session, const Use& use) -> std::string {
        TensorType row{DType::float32, {use.shape.back()}};
        std::vector<Argument> inputs = {session.add_input("x", {DType::float32, {use.shape.begin(), use.shape.end()}})};
        inputs.push_back(use.by ? Argument(session.add_input("by", row)) : Argument());
        for (size_t i = 0; i < use.all; ++i) inputs.emplace_back(session.add_input("each", row));
        std::map<std::string, StaticValue> parameters;
        if (use.add != 0) parameters.emplace("add", StaticValue::of(use.add));
        auto made = session.apply(find(library, "scaled"), inputs, parameters);
        if (!made) return made.error()[0].code;
        const Operation& operation = session.graph().operations.back();
        std::string text = print(*operation.body, {"a", "b", "c", "d", "e"}, {"y"});
        for (const auto& projection : operation.input_projections) text += projection.augmented_matrix();
        for (const auto& [name, value] : operation.params) text += name + value;
        return text;
    };
    Session session(library);
    for (const Use& use : uses) {
        Session fresh(library);
        EXPECT_EQ(applied(session, use), applied(fresh, use));
    }
}

TEST(NodeMap, KeepsWhatWasInserted) {
    NodeMap<int64_t> map;
    EXPECT_EQ(map.find(NodeId(0)), nullptr);
    const int64_t& first = map.insert(NodeId(7), 70);
    for (int id = 1'000; id < 3'000; id += 3) map.insert(NodeId(id), 10 * id);
    EXPECT_EQ(first, 70);
    EXPECT_EQ(map.find(NodeId(7)), &first);
    for (int id = 1'000; id < 3'000; id += 3) {
        ASSERT_NE(map.find(NodeId(id)), nullptr);
        EXPECT_EQ(*map.find(NodeId(id)), 10 * id);
        EXPECT_EQ(map.find(NodeId(id + 1)), nullptr);
    }
}

}  // namespace
}  // namespace heddle
