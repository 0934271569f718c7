// Places that a scan's updates read in each step, asked for once before it (schedules/checks_ahead.h): the same values, and
// the same errors, as where each step checks them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "evaluate/evaluate.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::runtime {
namespace {

constexpr const char* templates = R"(
relax:
  params: {n: int, steps: int}
  inputs: {source: "int32[$edges]", target: "int32[$edges]", length: "$T[$edges]"}
  index: "[]"
  outputs: {shortest: "$T[$n]"}
  body: |
    scan t < $steps:
      let found[i < $n] = min(e < $edges if target[e] == i : d[t - 1, source[e]] + length[e])
      d[t, i < $n] = min(d[t - 1, i], found[i]) from i == 0 ? 0 : inf
    shortest[i] = d[$steps - 1, i]

relax_some:
  params: {steps: int}
  inputs: {source: "int32[$edges]", target: "int32[$edges]", taken: "bool[$edges]", x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $steps:
      let found[i < $n] = sum(e < $edges if target[e] == i && taken[e] : d[t - 1, source[e]])
      d[t, i < $n] = 0.5 * d[t - 1, i] + 0.25 * found[i] from x[i]
    y[i] = d[$steps - 1, i]
)";

constexpr int64_t nodes = 20, edges = 300, steps = 6;

struct Edges {
    TensorData source{DType::int32, {edges}}, target{DType::int32, {edges}}, taken{DType::boolean, {edges}};

    Edges() {
        for (int64_t e = 0; e < edges; e++) {
            source.set_integer(e, e * 7 % nodes);
            target.set_integer(e, (e * 11 + e / nodes) % nodes);
            taken.set_integer(e, e % 3 != 0);
        }
    }
};

Graph graph_of(const std::string& call, const std::vector<ProgramInput>& inputs) {
    static const Library library = library_with(templates);
    auto graph = build_program(std::make_shared<SourceText>("program", call), library, inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

ProgramInput input(const std::string& name, DType dtype, std::vector<int64_t> shape) {
    return {name, {dtype, {shape.begin(), shape.end()}}};
}

Graph relax() {
    return graph_of("y = relax(source, target, length, n: 20, steps: 6)",
                    {input("source", DType::int32, {edges}), input("target", DType::int32, {edges}),
                     input("length", DType::float32, {edges})});
}

Graph relax_some() {
    return graph_of("y = relax_some(source, target, taken, x, steps: 6)",
                    {input("source", DType::int32, {edges}), input("target", DType::int32, {edges}),
                     input("taken", DType::boolean, {edges}), input("x", DType::float32, {nodes})});
}

// As the interpreter says: the same values, or an index outside. With one thread in one task, and in rounds.
void expect_as_interpreted(const Graph& graph, const std::vector<TensorData>& feeds, bool fails) {
    auto expected = evaluate_graph(graph, feeds, Precision::body);
    ASSERT_EQ(!expected, fails) << (expected ? "" : render(expected.error()));
    for (const bool in_rounds : {false, true}) {
        Target target = detect_host();
        target.cores = in_rounds ? 3 : 1;
        target.launch_seconds = 1e-12;
        auto plan = plan::make_plan(graph, target);
        ASSERT_TRUE(plan) << render(plan.error());
        EXPECT_NE(print(*plan).find("update 0 with select(and(inside("), std::string::npos) << print(*plan);
        auto executable = compiled(std::move(*plan));
        ASSERT_TRUE(executable);
        auto found = Session(executable, std::make_shared<ThreadPool>(in_rounds ? 3 : 1)).run(feeds);
        ASSERT_EQ(!found, fails) << (found ? "" : render(found.error()));
        if (fails) {
            EXPECT_EQ(found.error().front().code, "runtime.index_out_of_range");
            continue;
        }
        const TensorData& wanted = (*expected)[static_cast<size_t>(graph.outputs.front())];
        for (int64_t i = 0; i < wanted.size(); i++) {
            if (std::isinf(wanted.real_at(i)))
                EXPECT_EQ(found->front().real_at(i), wanted.real_at(i)) << i;
            else
                EXPECT_NEAR(found->front().real_at(i), wanted.real_at(i), 1e-5 * (1 + std::abs(wanted.real_at(i))))
                    << i;
        }
    }
}

TEST(ChecksAhead, ValuesWhereAllIsInside) {
    const Edges edges_inside;
    const TensorData length = random_tensor({edges}, 3);
    expect_as_interpreted(relax(), {edges_inside.source, edges_inside.target, length}, false);
    expect_as_interpreted(
        relax_some(), {edges_inside.source, edges_inside.target, edges_inside.taken, random_tensor({nodes}, 4)}, false);
}

TEST(ChecksAhead, AnErrorWhereAReadIsOutside) {
    for (int64_t e : {int64_t{1}, edges - 1}) {
        for (int64_t outside : {int64_t{-1}, nodes, int64_t{1} << 30}) {
            Edges some;
            some.source.set_integer(e, outside);
            expect_as_interpreted(relax(), {some.source, some.target, random_tensor({edges}, 3)}, true);
        }
    }
}

// An edge to no node is no edge, and one that is not taken is not read: wherever it comes from.
TEST(ChecksAhead, NoErrorWhereNothingIsRead) {
    for (int64_t outside : {int64_t{-1}, nodes, int64_t{1} << 30}) {
        Edges some;
        some.target.set_integer(7, outside);
        expect_as_interpreted(relax(), {some.source, some.target, random_tensor({edges}, 3)}, false);
        some.source.set_integer(7, outside);
        expect_as_interpreted(relax(), {some.source, some.target, random_tensor({edges}, 3)}, false);
        Edges others;
        others.source.set_integer(9, outside);  // not taken
        const TensorData x = random_tensor({nodes}, 4);
        expect_as_interpreted(relax_some(), {others.source, others.target, others.taken, x}, false);
        others.source.set_integer(10, outside);
        expect_as_interpreted(relax_some(), {others.source, others.target, others.taken, x}, true);
    }
}

}  // namespace
}  // namespace heddle::runtime
