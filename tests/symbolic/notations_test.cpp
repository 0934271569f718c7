// Published notations of projections and of kernels' rows (docs/notations.md), and projections without bodies.
#include <fmt/format.h>

#include "body_session.h"
#include "graph/verify.h"

namespace heddle::body_test {
namespace {

struct Applied {
    Graph graph;
    std::string code;
};

Applied applied(const std::string& text, const std::vector<std::vector<Size>>& shapes, bool list = false) {
    const Library library = library_of(text);
    Session session(library);
    std::vector<TensorId> ids;
    for (const auto& shape : shapes)
        ids.push_back(session.add_input(fmt::format("x{}", ids.size()), {DType::float32, shape}));
    auto made = session.apply(**library.find("t"), {list ? Argument(ids) : Argument(ids[0])}, {});
    if (!made) return {{}, made.error()[0].code};
    return {session.finish(*made), ""};
}

std::string with(const std::string& ipf, const std::string& index) {
    return "t:\n  params: {axis: \"int = 1\"}\n  inputs: {x: {shape: \"[$batch..., $m, $inner]\", dtype: \"$T\", ipf: " +
           ipf + "}}\n  index: \"" + index + "\"\n  outputs: {y: {dtype: \"$T\"}}\n";
}

std::string matrix(const std::string& ipf, const std::string& index) {
    const Applied made = applied(with(ipf, index), {{2, 3, 5}});
    return made.code.empty() ? made.graph.operations[0].input_projections[0].augmented_matrix() : made.code;
}

TEST(Notations, MapsAreTheSameAsDiagonals) {
    const std::string index = "[$batch..., $m, n = 4]";
    const std::string wanted = matrix("\"[..., 1, 0] :> [..., 1, $inner]\"", index);
    EXPECT_NE(wanted.find("5"), std::string::npos) << wanted;
    EXPECT_EQ(matrix("{map: \"[..., 1, 0]\", shape: \"[..., 1, $inner]\"}", index), wanted);
    EXPECT_EQ(matrix("{map: \"[ones($index.size - 2)..., 1, 0]\", shape: \"[..., 1, $inner]\"}", index), wanted);
    EXPECT_EQ(matrix("{map: [[1, 0, 0], [0, 1, 0], [0, 0, 0]], shape: [1, 1, 5]}", index), wanted);
}

TEST(Notations, PartsOfFills) {
    const std::string index = "[$batch..., $m, $inner]";
    const std::string wanted = matrix("\"[1, 0, 1] :> [...]\"", index);
    EXPECT_EQ(matrix("\"[1...[:$axis]..., 0, 1...[$axis + 1:]...] :> [...]\"", index), wanted);
    EXPECT_EQ(matrix("\"[...[:$axis], 0, ...[$axis + 1:]] :> [...]\"", index), wanted);
    EXPECT_EQ(matrix("\"[...[:$axis], ...]\"", index), matrix("\"[...]\"", index));
}

TEST(Notations, WithoutABodyBoxesLieInside) {
    EXPECT_EQ(matrix("\"[@batch0, @m + 1, *]\"", "[batch0 = 2, $m]"), "symbolic.ipf");
    EXPECT_EQ(matrix("\"[@batch0, @m :> 2, *]\"", "[batch0 = 2, $m]"), "symbolic.ipf");
    EXPECT_EQ(matrix("{affineMap: {projection: [[1, 0], [0, 1], [0, 0]], offset: [0, -1, 0]}, shape: [1, 3, 5]}",
                     "[b = 2, $m]"),
              "symbolic.ipf");
    EXPECT_NE(matrix("{affineMap: {projection: [[1, 0], [0, 1], [0, 0]], offset: [0, -1, 0]}, shape: [1, 3, 5], "
                     "clip: [2, 3, 5]}",
                     "[b = 2, $m]"),
              "symbolic.ipf");
}

// One operation a tensor, which reads it alone and writes a part of its own.
TEST(Notations, PartsOfAnOpaqueConcatenation) {
    const auto text = [](const std::string& offset) {
        return "t:\n  inputs: {parts: {shape: \"[$n[$i]]\", dtype: \"$T\", variadic: true, reads: \"$i\", ipf: \"[@k]\"}}\n"
               "  each: \"$i < len($n)\"\n  index: \"[k = $n[$i]]\"\n"
               "  outputs: {y: {shape: \"[sum($n)]\", dtype: \"$T\", ipf: \"[@k + " +
               offset + "]\"}}\n";
    };
    const Applied made = applied(text("sum($n[:$i])"), {{2}, {3}}, true);
    ASSERT_EQ(made.code, "");
    ASSERT_EQ(made.graph.operations.size(), 2U);
    for (const Operation& operation : made.graph.operations) EXPECT_EQ(operation.inputs.size(), 1U);
    EXPECT_EQ(made.graph.operations[1].output_projections[0].offset[0], 2);
    EXPECT_TRUE(verify(made.graph));
    const Applied twice = applied(text("$i"), {{2}, {3}}, true);
    ASSERT_EQ(twice.code, "");
    EXPECT_FALSE(verify(twice.graph));
}

TEST(Notations, RowsOfKernelsWithOneBracket) {
    const auto rows = [](const std::string& row) {
        const Library library =
            library_of("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  kernels: [\"" + row + "\"]\n");
        return (*library.find("t"))->kernels;
    };
    const auto ours = rows("(Host, (HostTensor) -> HostTensor) => [concrete -> transparent] => first => second");
    const auto published = rows("(Host, (HostTensor) -> HostTensor => [concrete -> transparent] => first => Self::second)");
    ASSERT_EQ(published.size(), 1U);
    EXPECT_EQ(published[0].placement, ours[0].placement);
    EXPECT_EQ(published[0].results, ours[0].results);
    EXPECT_EQ(published[0].argument_flavours, ours[0].argument_flavours);
    EXPECT_EQ(published[0].stages, ours[0].stages);
}

}  // namespace
}  // namespace heddle::body_test
