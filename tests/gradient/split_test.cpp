// Tapes: what is kept, and that it is the least. That both programs give the gradient is asked with every gradient
// (differences.h).
#include <random>

#include "differences.h"
#include "gradient/outlined.h"
#include "helpers/codes.h"

namespace heddle::gradient {
namespace {

using Kind = TapePolicy::Kind;

Split split_of(const Case& one, TapePolicy policy, bool overwritten = false) {
    const Graph graph = program(one, DType::float32);
    auto made =
        split(graph, {float_inputs(graph), overwritten ? graph.inputs : std::vector<TensorId>(), std::move(policy)});
    EXPECT_TRUE(made) << render(made.error());
    return made ? std::move(*made) : Split{};
}

TEST(CompileJobs13, ATapeIsEmptyWhereInputsAndResultsAreEnough) {
    const Given x{"x", {4, 6}}, y{"y", {4, 6}};
    for (const Case& one :
         {Case{"z = add2(x, y)", {x, y}}, Case{"z = mul(x, y)", {x, y}}, Case{"z = transpose(x)", {x}},
          Case{"z = numpy_matmul(x, y)", {x, {"y", {6, 3}}}}, Case{"z = exp(x)", {x}}, Case{"z = tanh(x)", {x}},
          Case{"z = conv(x, w)", {{"x", {1, 2, 9}}, {"w", {3, 2, 3}}}}}) {
        SCOPED_TRACE(one.text);
        const Split made = split_of(one, {.kind = Kind::save_all});
        EXPECT_TRUE(made.tape.entries.empty());
        EXPECT_EQ(made.tape.bytes_text(), "0");
        EXPECT_EQ(print(made.forward), print(program(one, DType::float32)));
    }
    // Its adjoint reads the result alone.
    const Split of_exp = split_of({"z = exp(x)", {x}}, {.kind = Kind::save_all}, true);
    EXPECT_TRUE(of_exp.tape.entries.empty());
}

TEST(CompileJobs11, ATapeSaysWhatIsKeptAndWhy) {
    const Case one = {"h = tanh(numpy_matmul(x, w)); y = softmax(numpy_matmul(h, v))",
                      {{"x", {5, 4}}, {"w", {4, 8}}, {"v", {8, 3}}}};
    const Split all = split_of(one, {.kind = Kind::save_all});
    ASSERT_FALSE(all.tape.entries.empty());
    for (const TapeEntry& entry : all.tape.entries) {
        EXPECT_NE(entry.reason, "") << entry.name;
        EXPECT_EQ(entry.bytes, entry.type.byte_size());
    }
    EXPECT_NE(std::ranges::find(all.tape.entries, "program.h", &TapeEntry::name), all.tape.entries.end());
    EXPECT_EQ(split_of(one, {.kind = Kind::recompute_all}).tape.bytes, 0);
    TapePolicy named{.kind = Kind::chosen};
    named.keeps = [](const TapeCandidate& value) { return value.name == "program.h"; };
    const Split chosen = split_of(one, named);
    ASSERT_EQ(chosen.tape.entries.size(), 1u);
    EXPECT_EQ(chosen.tape.entries[0].name, "program.h");
    EXPECT_EQ(chosen.tape.bytes, 192);  // 5 * 8 * 4, aligned
}

// A product over a long axis takes more than its elements; what an activation computes on the way does not.
TEST(Tape, IsBalancedUnlessItIsAskedFor) {
    const Case one = {"h = gelu(numpy_matmul(x, w)); y = numpy_matmul(h, v)",
                      {{"x", {16, 512}}, {"w", {512, 64}}, {"v", {64, 8}}}};
    const Split made = split_of(one, {});
    ASSERT_EQ(made.tape.entries.size(), 1u);
    EXPECT_EQ(made.tape.entries[0].name, "program.numpy_matmul");
    EXPECT_EQ(split_of({"y = gelu(x)", {{"x", {64}}}}, {}).tape.bytes, 0);
}

TEST(CompileJobs16, BytesAreAnExpressionOfNamedSizes) {
    std::vector<ProgramInput> inputs = {{"x", {DType::float32, {named_size("batch", 6), 4}}}};
    auto graph =
        build_program(std::make_shared<SourceText>("case", "y = sin(exp(x)); z = mul(y, y)"), library(), inputs);
    ASSERT_TRUE(graph) << render(graph.error());
    graph->dimension_names = {{"batch", 6}};
    auto made = split(*graph, {graph->inputs, {}, {.kind = Kind::save_all}});
    ASSERT_TRUE(made) << render(made.error());
    ASSERT_EQ(made->tape.entries.size(), 2u);  // exp(x) and y
    EXPECT_NE(made->tape.bytes_text().find("batch"), std::string::npos) << made->tape.bytes_text();
    EXPECT_EQ(made->forward.dimension_names, graph->dimension_names);
    EXPECT_EQ(made->reverse.dimension_names, graph->dimension_names);
}

// More bytes, less work; too few are refused.
TEST(CompileJobs15, ATapeIsWithinItsBudget) {
    Case one = {"a = exp(x); b = sin(a); c = exp(b); d = sin(c); y = mul(d, d)", {{"x", {64}}}};
    int64_t work = INT64_MAX;
    for (int64_t bytes : {0, 256, 512, 768, 4096}) {
        const Split made = split_of(one, {.kind = Kind::budget, .bytes = bytes});
        EXPECT_LE(made.tape.bytes, bytes);
        const auto operations = static_cast<int64_t>(made.reverse.operations.size());
        EXPECT_LE(operations, work) << bytes;
        work = operations;
    }
    const Graph graph = program(one, DType::float32);
    auto refused = split(graph, {graph.inputs, graph.inputs, {.kind = Kind::budget, .bytes = 100}});
    EXPECT_EQ(codes(refused), Codes{"gradient.tape_budget"});
}

// One step of a lattice Boltzmann method on 19 velocities, its populations overwritten. Enzyme's paper on gradients of
// GPU kernels (Moses et al. 2021) has 80 bytes a cell for all that is kept, and 20 behind the minimum cut.
TEST(CompileJobs14, OfALatticeBoltzmannStepItIsFourNumbersACell) {
    const Library own = library_with(R"yaml(
collide:
  params: {omega: "float = 1.2"}
  inputs: {f: "$T[19, $cells]"}
  index: "[$cells]"
  outputs: {y: "$T[19, $cells]"}
  let: |
    $cx = [0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0]
    $cy = [0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1]
    $cz = [0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1]
    $w = [1.0/3, 1.0/18, 1.0/18, 1.0/18, 1.0/18, 1.0/18, 1.0/18, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36, 1.0/36]
  body: |
    let rho = sum(q < 19 : f[q, @cells])
    let ux = sum(q < 19 : $cx[q] * f[q, @cells]) / rho
    let uy = sum(q < 19 : $cy[q] * f[q, @cells]) / rho
    let uz = sum(q < 19 : $cz[q] * f[q, @cells]) / rho
    let square = 1.5 * (ux * ux + uy * uy + uz * uz)
    for q < 19:
      let along = 3 * ($cx[q] * ux + $cy[q] * uy + $cz[q] * uz)
      y[q, @cells] = f[q, @cells] - $omega * (f[q, @cells] - $w[q] * rho * (1 + along + 0.5 * along * along - square))
)yaml");
    auto graph = build_program(std::make_shared<SourceText>("case", "y = collide(f)"), own,
                               {{"f", {DType::float32, {19, named_size("cells", 64)}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    auto least = split(*graph, {graph->inputs, graph->inputs, {.kind = Kind::fewest_bytes}});
    ASSERT_TRUE(least) << render(least.error());
    EXPECT_EQ(least->tape.bytes_text(), "16 * cells");
    auto inputs = split(*graph, {graph->inputs, graph->inputs, {.kind = Kind::recompute_all}});
    ASSERT_TRUE(inputs);
    EXPECT_EQ(inputs->tape.bytes_text(), "76 * cells");
}

// Operations may have any names, also those that derived ones would have.
TEST(Outlined, NamesAreNoOtherOperations) {
    Graph graph = program({"a = gelu(x); b = gelu(a); c = gelu(b); d = gelu(c)", {{"x", {4}}}}, DType::float64);
    const char* names[] = {"g", "g.value", "g.value_2", "g.d_x"};
    for (size_t i = 0; i < 4; ++i) graph.operations[i].name = names[i];
    std::mt19937 random(6);
    EXPECT_EQ(difference(graph, {spread(random, DType::float64, {4}, -1, 1)}, random), "");
}

// A value that is read inside under a condition alone is not worked out by itself.
TEST(Outlined, OnlyWhatReadsInsideEverywhere) {
    const Library own = library_with(R"yaml(
back: {inputs: {x: "$T[$n]"}, index: "[$n]", outputs: {y: "$T"}, body: "y = @n > 0 ? exp(x[@n - 1] * x[@n - 1]) * x[@n] : x[@n] * x[@n] * x[@n]"}
)yaml");
    auto graph =
        build_program(std::make_shared<SourceText>("case", "y = back(x)"), own, {{"x", {DType::float64, {5}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    std::mt19937 random(4);
    const std::vector<TensorData> feeds = {spread(random, DType::float64, {5}, 0.5, 1)};
    EXPECT_EQ(outlined(*graph).operations.size(), 3u);  // both products of the present element, and the rest
    EXPECT_EQ(difference(*graph, feeds, random), "");
}

}  // namespace
}  // namespace heddle::gradient
