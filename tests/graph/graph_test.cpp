#include "graph/graph.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "../evaluate/body_builder.h"
#include "graph/verify.h"

namespace heddle {
namespace {

// y[i, j] = sum(k < 4 : x[i, k] * w[k, j]) with a guarded read and a local, so that every kind of node occurs.
Body sample_body() {
    BodyBuilder b;
    auto i = b.variable("i", 3), j = b.variable("j", 5), k = b.reduced("k", 4),
         l = b.variable("l", 5, Variable::Kind::parallel);
    auto vi = b.at(i), vj = b.at(j), vk = b.at(k), vl = b.at(l);
    auto bias = b.local("bias", {l}, b.cast(DType::float32, vl));
    auto x = b.guarded(0, DType::float32, {vi, b.minus(vk, b.integer(1))}, b.real(0));
    auto sum = b.reduce(Reducer::sum, {k}, b.times(x, b.read(1, DType::float32, {vk, vj})));
    auto positive = b.scalar(ScalarOp::less, {b.real(0), sum});
    b.equation(0, {i, j}, {vi, vj}, b.select(positive, b.plus(sum, b.local_read(bias, {vj})), b.real(0)));
    return b.body;
}

Graph sample_graph() {
    Graph graph;
    TensorId x = graph.add_tensor("x", {DType::float32, {3, 4}});
    graph.inputs = {x};
    TensorId w = graph.add_constant("w", TensorData(DType::float32, {4, 5}));
    TensorId y = graph.add_tensor("y", {DType::float32, {3, 5}});
    Operation operation;
    operation.name = "product";
    operation.operator_name = "matmul";
    operation.inputs = {x, w};
    operation.outputs = {y};
    operation.body = std::make_shared<const Body>(sample_body());
    graph.add_operation(operation);
    graph.outputs = {y};
    return graph;
}

std::string code_after(const std::function<void(Graph&, Body&)>& change) {
    Graph graph = sample_graph();
    Body body = *graph.operations[0].body;
    change(graph, body);
    if (!graph.operations.empty() && graph.operations[0].body)
        graph.operations[0].body = std::make_shared<const Body>(body);
    auto checked = verify(graph);
    return checked ? "fine" : checked.error()[0].code;
}

size_t find(const Body& body, Node::Kind kind) {
    for (size_t i = 0; i < body.nodes.size(); i++) {
        if (body.nodes[i].kind == kind) return i;
    }
    return 0;
}

TEST(Graph, AcceptsTheSample) {
    auto checked = verify(sample_graph());
    EXPECT_TRUE(checked) << render(checked.error());
}

TEST(Graph, NamesAreUnique) {
    Graph graph = sample_graph();
    TensorId again = graph.add_tensor("x", {DType::float32, {1}});
    EXPECT_NE(graph.tensor(again).name, "x");
    EXPECT_EQ(graph.tensor(TensorId(2)).producer, 0);
    EXPECT_EQ(graph.tensor(TensorId(1)).type.text(), "float32[4, 5]");
}

TEST(Graph, EveryCodeHasACase) {
    using Change = std::function<void(Graph&, Body&)>;
    const std::vector<std::pair<const char*, Change>> cases = {
        {"fine", [](Graph&, Body&) {}},
        {"graph.name", [](Graph& g, Body&) { g.tensors[1].name = "x"; }},
        {"graph.name",
         [](Graph& g, Body&) {
             g.operations.push_back(g.operations[0]);
             g.operations[1].outputs = {};
             g.operations[1].body = nullptr;
         }},
        {"graph.type", [](Graph& g, Body&) { g.tensors[1].type.dtype = DType::int32; }},
        {"graph.type", [](Graph& g, Body&) { g.tensors[0].type.dtype = DType::float16; }},
        {"graph.limit", [](Graph& g, Body&) { g.tensors[0].type.shape[0] = -1; }},
        {"graph.limit", [](Graph& g, Body&) { g.tensors[0].type.shape = {int64_t{1} << 40, int64_t{1} << 40}; }},
        {"graph.reference", [](Graph& g, Body&) { g.outputs = {TensorId(9)}; }},
        {"graph.reference", [](Graph& g, Body&) { g.inputs = {TensorId(0), TensorId(0)}; }},
        {"graph.reference", [](Graph& g, Body&) { g.operations[0].inputs[0] = no_id; }},
        {"graph.reference", [](Graph& g, Body&) { g.tensors[2].producer = no_id; }},
        {"graph.order", [](Graph& g, Body&) { g.inputs = {}; }},
        {"graph.order", [](Graph& g, Body&) { g.operations.clear(); }},
        {"graph.cover",
         [](Graph& g, Body&) {
             g.operations[0].outputs = {TensorId(0)};
             g.outputs = {TensorId(0)};
         }},
        {"graph.cover", [](Graph& g, Body&) { g.tensors[2].type.shape[1] = 6; }},
        {"graph.cover", [](Graph& g, Body&) { g.tensors[2].type.shape[1] = 4; }},
        {"graph.cover", [](Graph&, Body& b) { b.equations.push_back(b.equations[0]); }},
        {"graph.cover", [](Graph&, Body& b) { b.equations[0].left[1] = b.equations[0].left[0]; }},
        {"graph.arity", [](Graph& g, Body&) { g.operations[0].input_projections.resize(1); }},
        {"graph.arity", [](Graph& g, Body&) { g.operations[0].input_projections.resize(2); }},
        {"graph.arity", [](Graph&, Body& b) { b.equations[0].left.pop_back(); }},
        {"graph.arity", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::read)].operands.pop_back(); }},
        {"graph.order", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::scalar)].operands[0] = NodeId(1000); }},
        {"graph.order", [](Graph&, Body& b) { b.locals[0].value = last_id<NodeId>(b.nodes); }},
        {"graph.type",
         [](Graph&, Body& b) {
             b.nodes[find(b, Node::Kind::scalar)].op = ScalarOp::exp;
             b.nodes[find(b, Node::Kind::scalar)].operands.pop_back();
         }},
        {"graph.type", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::real)].dtype = DType::int8; }},
        {"graph.type", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::reduce)].reducer = Reducer::any; }},
        {"graph.type",
         [](Graph&, Body& b) {
             b.nodes[find(b, Node::Kind::integer)].dtype = DType::int8;
             b.nodes[find(b, Node::Kind::integer)].integer = 200;
         }},
        {"graph.scope", [](Graph&, Body& b) { b.equations[0].variables.pop_back(); }},
        {"graph.scope", [](Graph&, Body& b) { b.equations[0].variables.push_back(VariableId(0)); }},
        {"graph.scope", [](Graph&, Body& b) { b.equations[0].variables.push_back(VariableId(2)); }},
        {"graph.scope", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::reduce)].variables.clear(); }},
        {"graph.scope", [](Graph&, Body& b) { b.variables[0].kind = static_cast<Variable::Kind>(99); }},
        {"graph.scope", [](Graph&, Body& b) { b.locals[0].initial = NodeId(0); }},  // a state without its ordered axis
        {"graph.reference", [](Graph&, Body& b) { b.locals[0].initial = NodeId(1000); }},
        {"graph.reference", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::local)].kind = Node::Kind::previous; }},
        {"graph.limit", [](Graph&, Body& b) { b.variables[2].extent = -1; }},
        {"graph.limit", [](Graph&, Body& b) { b.variables.resize(maximum_body_variables + 1); }},
        {"graph.reference", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::read)].index = 2; }},
        {"graph.reference", [](Graph&, Body& b) { b.nodes[find(b, Node::Kind::variable)].index = 77; }},
        {"graph.reference", [](Graph&, Body& b) { b.locals[0].dtype = static_cast<DType>(99); }},
        {"graph.reference", [](Graph&, Body& b) { b.nodes[0].kind = static_cast<Node::Kind>(99); }},
    };
    for (size_t i = 0; i < cases.size(); i++) EXPECT_EQ(code_after(cases[i].second), cases[i].first) << "case " << i;
}

TEST(Graph, TooManyReductionsInOneAnother) {
    BodyBuilder nested;
    std::vector<VariableId> variables;
    NodeId sum = nested.real(0);
    for (int depth = 0; depth <= maximum_reduction_nesting; depth++) {
        variables.push_back(nested.reduced("k", 1));
        sum = nested.plus(sum, nested.cast(DType::float32, nested.at(variables.back())));
    }
    for (VariableId variable : variables) sum = nested.reduce(Reducer::sum, {variable}, sum);
    nested.equation(0, {}, {}, sum);
    auto checked = verify(nested.body, {}, {{DType::float32, {}}});
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error()[0].code, "graph.limit");
}

TEST(Graph, PruneDropsWhatNoOutputNeeds) {
    Graph graph = sample_graph();
    Operation extra = graph.operations[0];
    extra.name = "unused";
    extra.outputs = {graph.add_tensor("z", {DType::float32, {3, 5}})};
    graph.add_operation(extra);
    graph.add_constant("unread", TensorData(DType::float32, {2}));
    ASSERT_TRUE(verify(graph));
    Graph pruned = prune(graph);
    EXPECT_TRUE(verify(pruned));
    EXPECT_EQ(pruned.operations.size(), 1u);
    EXPECT_EQ(pruned.tensors.size(), 3u);
    EXPECT_EQ(print(pruned), print(sample_graph()));
}

TEST(Graph, Prints) {
    EXPECT_EQ(print(sample_graph()),
              "graph\n"
              "  in  x: float32[3, 4]\n"
              "  constant w: float32[4, 5]\n"
              "  tensor y: float32[3, 5]\n"
              "  y = matmul(x, w)  # product\n"
              "    let bias[l < 5]: float32 = float32(l)\n"
              "    let v11: float32 = sum(k < 4 : (x[@i, k - 1] ?? 0.0) * w[k, @j])\n"
              "    for @i < 3, @j < 5: y[@i, @j] = 0.0 < v11 ? v11 + bias[@j] : 0.0\n"
              "  out y\n");
}

TEST(Graph, PrintsProjections) {
    IndexProjection projection{{{1, 0}, {0, 0}, {0, -2}}, {0, 0, 10}, {1, 7, 3}, {false, true, false}};
    EXPECT_EQ(projection.augmented_matrix(),
              "( 1  0 |  0 | 1 )\n"
              "( *  * |  * | 7 )\n"
              "( 0 -2 | 10 | 3 )\n");
}

TEST(WrittenBoxes, MixedRadix) {
    BodyBuilder b;
    auto i = b.variable("i", 3), j = b.variable("j", 4);
    auto left = b.plus(b.plus(b.times(b.at(i), b.integer(4)), b.at(j)), b.integer(2));
    b.equation(0, {i, j}, {left}, b.real(1));
    ASSERT_TRUE(verify(b.body, {}, {{DType::float32, {14}}}));
    auto boxes = written_boxes(b.body);
    ASSERT_EQ(boxes.size(), 1u);
    EXPECT_EQ(boxes[0].box, (Box{{2}, {14}}));
    EXPECT_EQ(verify(b.body, {}, {{DType::float32, {13}}}).error()[0].code, "graph.cover");
}

}  // namespace
}  // namespace heddle
