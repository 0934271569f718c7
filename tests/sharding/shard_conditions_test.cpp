// Reductions that a condition keeps from reading outside of a tensor, cut: each part is an operation of its own, and is
// computed where the body asks for it and nowhere else.
#include "helpers/library.h"
#include "sharded.h"

namespace heddle::sharding {
namespace {

constexpr DType f64 = DType::float64;

const char* const operators = R"yaml(
by_itself:
  doc: The condition needs the sum, which is asked for only where the first half of it holds.
  inputs: {x: "$T[$n, $m]", like: "$T[$p]"}
  index: "[$p]"
  outputs: {y: "$T[$p]"}
  body: |
    let s = sum(k < $m : x[@p, k])
    y[@p] = (@p < $n ? s > 0 : false) ? s * 2 : like[@p]
in_turn:
  doc: The second condition may be asked only where the first holds.
  inputs: {x: "$T[$n, $m]"}
  index: "[$n]"
  outputs: {y: "$T[$n]"}
  body: |
    y[@n] = @n >= 1 ? (x[@n - 1, 0] > 0 ? sum(k < $m : x[@n - 1, k] * x[@n, k]) : 1) : 2
in_turn_of_terms:
  doc: The same within the terms of another reduction.
  inputs: {x: "$T[$n, $m]", like: "$T[$p]"}
  index: "[$p]"
  outputs: {y: "$T[$p]"}
  body: |
    y[@p] = sum(i < $p if i >= 2 : i % 2 == 1 ? (x[(i - 1) // 2, 0] > 0 ? sum(k < $m : x[(i - 1) // 2, k] * like[@p]) : 0) : 0)
two_scopes:
  doc: One sum under conditions of variables that the other does not have.
  inputs: {x: "$T[$n, $m]", at: "int64[$n]"}
  index: "[$n]"
  outputs: {y: "$T[$n]"}
  body: |
    let s = sum(k < $m : x[min(max(at[@n], 0), $n - 1), k])
    y[@n] = max(i < 3 if i < at[@n] : s) + max(j < 2 if j > at[@n] : s)
in_a_state:
  doc: The reads of a step that is not the first.
  inputs: {x: "$T[$n, $m]", w: "$T[$m]"}
  params: {ones: "int = 1"}
  let: "$one = $ones"
  index: "[$one]"
  outputs: {y: "$T[$one, $n]"}
  body: |
    scan t < $n:
      g[t] = x[t, 0] + 0.5 * g[t - 1] from 0
      h[t] = t >= 1 ? (g[t - 1] > 0 ? sum(k < $m : x[t - 1, k] * w[k]) + h[t - 1] : h[t - 1]) : 1 from 0
      y[@one, t] = h[t]
of_its_own_state:
  doc: Which row a step reads is asked for by what the step before has made of another.
  inputs: {x: "$T[$n, $m]", at: "int64[$n]"}
  params: {ones: "int = 1"}
  let: "$one = $ones"
  index: "[$one]"
  outputs: {y: "$T[$one, $n]"}
  body: |
    scan t < $n:
      h[t] = h[t - 1] > 0 ? sum(k < $m : x[at[t], k]) : 0 - h[t - 1] from 1
      y[@one, t] = h[t]
)yaml";

using Types = std::vector<std::pair<DType, std::vector<int64_t>>>;

std::map<std::string, std::string> refusals(const std::string& name, const Types& types) {
    std::mt19937 random(3);
    return cut_all(graph_of(operators, name, types), random);
}

TEST(ShardConditions, AConditionThatNeedsTheReductionItself) {
    EXPECT_EQ(refusals("by_itself", {{f64, {4, 5}}, {f64, {7}}}).size(), 0u);
}

TEST(ShardConditions, ConditionsAreAskedInTheirOrder) {
    EXPECT_EQ(refusals("in_turn", {{f64, {6, 5}}}).size(), 0u);
    EXPECT_EQ(refusals("in_turn_of_terms", {{f64, {4, 5}}, {f64, {7}}}).size(), 0u);
}

TEST(ShardConditions, ConditionsInTwoScopes) {
    EXPECT_EQ(refusals("two_scopes", {{f64, {6, 5}}, {DType::int64, {6}}}).count("k"), 0u);
}

TEST(ShardConditions, OfSteps) {
    auto refused = refusals("in_a_state", {{f64, {6, 5}}, {f64, {5}}});
    EXPECT_EQ(refused.size(), 0u);
    refused = refusals("of_its_own_state", {{f64, {6, 5}}, {DType::int64, {6}}});
    EXPECT_EQ(refused["k"].substr(0, 18), "sharding.condition");
}

// An array reads rows that there may not be, and only the sum asks for it, where there are. A template may not say this, but an
// adjoint is so.
TEST(ShardConditions, ByWayOfAnArray) {
    Body body;
    BodyNodes nodes(body);
    const VariableId p = nodes.add_variable("p", Variable::Kind::index, 9);
    const VariableId j = nodes.add_variable("j", Variable::Kind::parallel, 5);
    const VariableId k = nodes.add_variable("k", Variable::Kind::reduction, 5);
    const auto whole = [&](int64_t value) { return nodes.integer(value, DType::int64, true); };
    const NodeId row = nodes.scalar(ScalarOp::subtract, {nodes.variable(p), whole(2)});
    const LocalId rows = nodes.add_local({.name = "g",
                                          .dtype = f64,
                                          .variables = {j},
                                          .value = nodes.read(TensorIndex(0), f64, {row, nodes.variable(j)})});
    const NodeId sum = nodes.reduce(Reducer::sum, f64, {k}, nodes.local(rows, f64, {nodes.variable(k)}), no_id);
    const NodeId from = nodes.scalar(ScalarOp::greater_equal, {row, whole(0)}),
                 to = nodes.scalar(ScalarOp::less, {row, whole(4)});
    const NodeId there = nodes.scalar(ScalarOp::logical_and, {from, to});
    body.equations.push_back({0, {p}, {nodes.variable(p)}, nodes.select(there, sum, nodes.real(3, f64, true))});
    Graph graph;
    graph.inputs = {graph.add_tensor("x", {f64, {4, 5}})};
    graph.outputs = {graph.add_tensor("y", {f64, {9}})};
    graph.add_operation({.name = "y",
                         .operator_name = "rows",
                         .inputs = graph.inputs,
                         .outputs = graph.outputs,
                         .index = {{"p", 9}},
                         .body = std::make_shared<const Body>(std::move(body))});
    std::mt19937 random(3);
    EXPECT_EQ(cut_all(graph, random).size(), 0u);
}

// Of each condition both branches read what is under the one before: twice as many cases each time. A template's body may not
// be so, but what is derived of one may.
TEST(ShardConditions, ABodyTooLargeToLookAtIsNotCut) {
    Body body;
    BodyNodes nodes(body);
    const VariableId n = nodes.add_variable("n", Variable::Kind::index, 12);
    const auto whole = [&](int64_t value) { return nodes.integer(value, DType::int64, true); };
    NodeId value = nodes.read(TensorIndex(0), f64, {nodes.variable(n)});
    for (int64_t i = 1; i <= 17; i++) {
        const NodeId moved = nodes.scalar(ScalarOp::add, {nodes.variable(n), whole(i)});
        const NodeId holds =
            nodes.scalar(ScalarOp::equal, {nodes.scalar(ScalarOp::modulo, {moved, whole(3)}), whole(1)});
        value =
            nodes.select(holds, nodes.scalar(ScalarOp::add, {value, value}), nodes.scalar(ScalarOp::negate, {value}));
    }
    body.equations.push_back({0, {n}, {nodes.variable(n)}, value});
    Graph graph;
    graph.inputs = {graph.add_tensor("x", {f64, {12}})};
    graph.outputs = {graph.add_tensor("y", {f64, {12}})};
    graph.add_operation({.name = "y",
                         .operator_name = "large",
                         .inputs = graph.inputs,
                         .outputs = graph.outputs,
                         .index = {{"n", 12}},
                         .body = std::make_shared<const Body>(std::move(body))});
    const auto axes = axes_of(graph, graph.operations[0]);
    ASSERT_EQ(axes.size(), 1u);
    ASSERT_TRUE(axes[0].refusal);
    EXPECT_EQ(axes[0].refusal->code, "sharding.reads");
}

}  // namespace
}  // namespace heddle::sharding
