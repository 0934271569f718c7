// What goes between places, known as collectives: small programs whose messages are counted by hand.
#include "placing/collectives.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "alike_processes.h"
#include "helpers/library.h"
#include "placing/sharded.h"
#include "symbolic/program.h"

namespace heddle::placing {
namespace {

using sharding::PlaceId;

// Combined by a body of its own: no reducer's name tells what it is.
constexpr const char* own_operators = R"yaml(
log_add:
  inputs: {a: "$T[$shape...]", b: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: |
    let m = max(a, b)
    y = m + log(exp(a - m) + exp(b - m))
log_total:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "$T"}
  reduces: {n: log_add}
  body: |
    let m = max(k < $n : x[@rows, k])
    y = m + log(sum(k < $n : exp(x[@rows, k] - m)))
best:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "int64[$rows]"}
  body: "y = argmax(k < $n : x[@rows, k])"
max_plus:
  inputs: {a: "$T[$m, $inner]", b: "$T[$inner, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = max(k < $inner : a[@m, k] + b[k, @n])"
)yaml";

const Library& own_library() {
    static const Library library = library_with(own_operators);
    return library;
}

struct Program {
    std::string calls;
    std::vector<std::string> cuts;
    std::vector<std::vector<int64_t>> inputs;  // x, w, v
    double latency = 0;                        // where links answer late, partial results are combined in one round
    size_t readers = 1;                        // of all outputs
};

// One line each, and the bytes of all messages.
std::string lines(const Program& of) {
    std::vector<ProgramInput> inputs;
    for (size_t i = 0; i < of.inputs.size(); i++)
        inputs.push_back({std::string(1, "xwv"[i]), {DType::float32, {of.inputs[i].begin(), of.inputs[i].end()}}});
    const auto graph = build_program(std::make_shared<SourceText>("program", of.calls), own_library(), inputs);
    if (!graph) return render(graph.error());
    const auto said = parse_cuts(of.cuts);
    if (!said) return render(said.error());
    std::vector<PlaceId> readers;
    for (size_t r = 0; r < of.readers; r++) readers.emplace_back(r);
    const auto system = alike_processes({}, static_cast<int32_t>(place_count(said->mesh)), 1e9, of.latency);
    const auto made = sharded(*graph, *said, system, readers);
    if (!made) return render(made.error());
    std::string text;
    int64_t bytes = 0;
    for (const Collective& collective : made->collectives) {
        text += heddle::placing::text(collective) + "\n";
        bytes += collective.bytes;
    }
    EXPECT_EQ(bytes, made->cutting.bytes) << text;
    return text;
}

TEST(Collectives, AllPartsToOneAndToAll) {
    EXPECT_EQ(lines({"y = matmul(x, w)", {"y.in_row=4"}, {{16, 16}, {16, 16}}}),
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    EXPECT_EQ(
        lines({.calls = "y = matmul(x, w)", .cuts = {"y.in_row=4"}, .inputs = {{16, 16}, {16, 16}}, .readers = 4}),
        "all-gather of y: 4 places, 3072 bytes, 768 at the busiest place\n");
    // Rows, then columns: each needs all rows.
    EXPECT_EQ(lines({"h = matmul(x, w); y = matmul(h, v)",
                     {"program.h.in_row=4", "y.out_col=4"},
                     {{16, 16}, {16, 16}, {16, 16}}}),
              "all-gather of program.h: 4 places, 3072 bytes, 768 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    // The columns that one product makes are the terms of the other's sum: nothing goes in between.
    EXPECT_EQ(
        lines({"h = matmul(x, w); y = matmul(h, v)", {"program.h.out_col=2", "y.k=2"}, {{8, 8}, {8, 8}, {8, 8}}, 1}),
        "reduce of y: sum over k, 2 places, 256 bytes, 256 at the busiest place\n");
}

TEST(Collectives, PartsOfOneCutToPartsOfAnother) {
    EXPECT_EQ(lines({"h = relu(x); y = transpose(h, perm: [1, 0])", {"program.h.shape0=4", "y.out0=4"}, {{16, 16}}}),
              "all-to-all of program.h: 4 places, 768 bytes, 192 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    // Two places, and parts of other lengths.
    EXPECT_EQ(lines({"h = relu(x); y = transpose(h, perm: [1, 0])", {"program.h.shape0=2", "y.out0=2"}, {{7, 7}}}),
              "all-to-all of program.h: 2 places, 96 bytes, 48 at the busiest place\n"
              "gather of y: 2 places, 84 bytes, 84 at the busiest place\n");
    // In each row of a mesh.
    EXPECT_EQ(lines({"h = relu(x); y = matmul(h, w)",
                     {"program.h.shape0=2,program.h.shape1=2", "y.in_row=2,y.out_col=2"},
                     {{8, 8}, {8, 8}}}),
              "all-gather of program.h: 2 groups of 2 places, 256 bytes, 64 at the busiest place\n"
              "gather of y: 4 places, 192 bytes, 192 at the busiest place\n");
}

TEST(Collectives, OneToSeveral) {
    // What one place has made.
    EXPECT_EQ(lines({"h = relu(x); y = matmul(h, w)", {"program.h.@0=4", "y.out_col=4"}, {{16, 16}, {16, 16}}}),
              "broadcast of program.h: 4 places, 3072 bytes, 3072 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    EXPECT_EQ(lines({"h = relu(x); y = matmul(h, w)", {"program.h.@0=4", "y.in_row=4"}, {{16, 16}, {16, 16}}}),
              "scatter of program.h: 4 places, 768 bytes, 768 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    // From one stage to the next.
    EXPECT_EQ(lines({"h = relu(x); y = matmul(h, w)", {"program.h.@1=2", "y.@0=2"}, {{16, 16}, {16, 16}}}),
              "messages of program.h: 2 places, 1024 bytes, 1024 at the busiest place\n");
}

TEST(Collectives, MarginsToNeighbours) {
    EXPECT_EQ(lines({"h = relu(x); y = conv(h, w, pads: [1, 1, 1, 1])",
                     {"program.h.shape2=4", "y.out0=4"},
                     {{1, 2, 16, 8}, {2, 2, 3, 3}}}),
              "halo of program.h: 4 places, 384 bytes, 128 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    // Parts of one row.
    EXPECT_EQ(lines({"h = relu(x); y = conv(h, w, pads: [1, 1, 1, 1])",
                     {"program.h.shape2=4", "y.out0=4"},
                     {{1, 1, 4, 4}, {1, 1, 3, 3}}}),
              "halo of program.h: 4 places, 96 bytes, 32 at the busiest place\n"
              "gather of y: 4 places, 48 bytes, 48 at the busiest place\n");
    // Windows that do not begin in all rows, and leave out the last column.
    EXPECT_EQ(lines({"h = relu(x); y = conv(h, w, strides: [2, 2])",
                     {"program.h.shape2=2", "y.out0=2"},
                     {{1, 1, 9, 8}, {1, 1, 3, 3}}}),
              "halo of program.h: 2 places, 28 bytes, 28 at the busiest place\n"
              "gather of y: 2 places, 24 bytes, 24 at the busiest place\n");
}

TEST(Collectives, PartialResultsWhateverCombinesThem) {
    const std::vector<std::vector<int64_t>> squares = {{16, 16}, {16, 16}};
    EXPECT_EQ(lines({"y = matmul(x, w)", {"y.k=4"}, squares}),
              "reduce-scatter of y: sum over k, 4 places, 3072 bytes, 768 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    EXPECT_EQ(lines({.calls = "y = matmul(x, w)", .cuts = {"y.k=4"}, .inputs = squares, .readers = 4}),
              "all-reduce of y: sum over k, 4 places, 6144 bytes, 1536 at the busiest place\n");
    EXPECT_EQ(lines({"y = matmul(x, w)", {"y.k=4"}, squares, 1, 4}),
              "all-reduce of y: sum over k, 4 places, 12288 bytes, 3072 at the busiest place\n");
    EXPECT_EQ(lines({.calls = "y = max_plus(x, w)", .cuts = {"y.k=4"}, .inputs = squares, .readers = 4}),
              "all-reduce of y: max over k, 4 places, 6144 bytes, 1536 at the busiest place\n");
    // Of each part the best value, and its number.
    EXPECT_EQ(lines({"y = best(x)", {"y.k=4"}, {{16, 16}}, 1}),
              "reduce of y: argmax over k, 4 places, 576 bytes, 576 at the busiest place\n");
    EXPECT_EQ(lines({"y = log_total(x)", {"y.n=4"}, {{16, 16}}}),
              "reduce of y: log_add over n, 4 places, 192 bytes, 192 at the busiest place\n");
    EXPECT_EQ(lines({"y = softmax(x, axis: 1)", {"y.j=4"}, {{16, 16}}, 1}),
              "all-reduce of y: max over j, 4 places, 768 bytes, 192 at the busiest place\n"
              "all-reduce of y: sum over j, 4 places, 768 bytes, 192 at the busiest place\n"
              "gather of y: 4 places, 768 bytes, 768 at the busiest place\n");
    // Rows and terms of a mesh: each row combines its own.
    EXPECT_EQ(lines({"y = matmul(x, w)", {"y.in_row=2,y.k=2"}, squares, 1, 4}),
              "all-reduce of y: sum over k, 2 groups of 2 places, 2048 bytes, 512 at the busiest place\n"
              "all-gather of y: 4 places, 2048 bytes, 1024 at the busiest place\n");
}

}  // namespace
}  // namespace heddle::placing
