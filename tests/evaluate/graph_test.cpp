// Whole graphs, errors, comparisons, and bodies broken at random.
#include <random>

#include <gtest/gtest.h>

#include "body_builder.h"
#include "evaluate/compare.h"
#include "graph/verify.h"

namespace heddle {
namespace {

Body gather_body(int64_t count) {
    BodyBuilder b;
    auto i = b.variable("i", count);
    b.equation(0, {i}, {b.at(i)}, b.read(0, DType::float32, {b.read(1, DType::int64, {b.at(i)})}));
    return b.body;
}

TEST(Errors, ReadOutsideNamesThePoint) {
    TensorData table(DType::float32, {4}), ids(DType::int64, {300});
    ids.set_integer(270, 4);
    std::vector<TensorData> outputs = {TensorData(DType::float32, {300})};
    auto done = evaluate_body(gather_body(300), {table, ids}, outputs, Precision::body);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error()[0].code, "evaluate.out_of_range");
    EXPECT_NE(done.error()[0].summary.find("i = 270"), std::string::npos) << render(done.error());
    ids.set_integer(270, 3);
    EXPECT_TRUE(evaluate_body(gather_body(300), {table, ids}, outputs, Precision::body));
}

TEST(Errors, MismatchAndSize) {
    std::vector<TensorData> outputs = {TensorData(DType::float32, {3})};
    TensorData wrong(DType::float32, {3});
    EXPECT_EQ(evaluate_body(gather_body(3), {wrong, wrong}, outputs, Precision::body).error()[0].code, "graph.type");
    float memory[3] = {};
    std::vector<TensorData> borrowed = {
        TensorData(DType::float32, {3}, nullptr, reinterpret_cast<const std::byte*>(memory))};
    EXPECT_EQ(evaluate_body(gather_body(3), {wrong, TensorData(DType::int64, {3})}, borrowed, Precision::body)
                  .error()[0]
                  .code,
              "evaluate.mismatch");
    BodyBuilder b;
    auto l = b.variable("l", int64_t{1} << 40, Variable::Kind::parallel);
    auto local = b.local("g", {l}, b.real(1));
    b.equation(0, {}, {}, b.local_read(local, {b.integer(5)}));
    std::vector<TensorData> scalar = {TensorData(DType::float32, {})};
    EXPECT_EQ(evaluate_body(b.body, {}, scalar, Precision::body).error()[0].code, "evaluate.too_large");
}

Graph two_writers() {
    Graph graph;
    TensorId a = graph.add_tensor("a", {DType::float32, {2}}), c = graph.add_tensor("b", {DType::float32, {3}});
    graph.inputs = {a, c};
    TensorId y = graph.add_tensor("y", {DType::float32, {5}}), z = graph.add_tensor("z", {DType::float32, {5}});
    for (int part = 0; part < 2; part++) {
        BodyBuilder b;
        auto i = b.variable("i", part ? 3 : 2);
        b.equation(0, {i}, {b.plus(b.at(i), b.integer(part ? 2 : 0))}, b.read(0, DType::float32, {b.at(i)}));
        Operation operation;
        operation.name = "part" + std::to_string(part);
        operation.inputs = {part ? c : a};
        operation.outputs = {y};
        operation.body = std::make_shared<const Body>(b.body);
        graph.add_operation(operation);
    }
    BodyBuilder b;
    auto i = b.variable("i", 5);
    auto x = b.read(0, DType::float32, {b.at(i)});
    b.equation(0, {i}, {b.at(i)}, b.times(x, b.real(0.1)));
    Operation operation;
    operation.name = "scale";
    operation.inputs = {y};
    operation.outputs = {z};
    operation.body = std::make_shared<const Body>(b.body);
    graph.add_operation(operation);
    graph.outputs = {z};
    return graph;
}

TEST(EvaluateGraph, SeveralOperationsWriteOneTensor) {
    Graph graph = two_writers();
    TensorData a(DType::float32, {2}), b(DType::float32, {3});
    for (int i = 0; i < 2; i++) a.set_real(i, i + 1);
    for (int i = 0; i < 3; i++) b.set_real(i, i + 3);
    auto values = evaluate_graph(graph, {a, b}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    auto exact = evaluate_graph(graph, {a, b}, Precision::exact);
    auto bounded = evaluate_graph_bounded(graph, {a, b});
    ASSERT_TRUE(exact && bounded);
    EXPECT_EQ((*exact)[3].dtype(), DType::float64);
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ((*values)[3].real_at(i), static_cast<float>(i + 1) * 0.1f);
        EXPECT_EQ((*exact)[3].real_at(i), (i + 1) * static_cast<double>(0.1f));
        EXPECT_LE((*bounded)[3].bound.real_at(i), 1e-7 * (i + 1));
        EXPECT_EQ((*bounded)[2].bound.real_at(i), 0);  // movement is exact
    }
    EXPECT_TRUE(compare_bounded((*values)[3], (*bounded)[3]).equal);
}

TEST(EvaluateGraph, Refuses) {
    Graph graph = two_writers();
    TensorData a(DType::float32, {2}), b(DType::float32, {3});
    EXPECT_EQ(evaluate_graph(graph, {a}, Precision::body).error()[0].code, "evaluate.mismatch");
    EXPECT_EQ(evaluate_graph(graph, {b, a}, Precision::body).error()[0].code, "evaluate.mismatch");
    graph.operations[2].body = nullptr;
    EXPECT_EQ(evaluate_graph(graph, {a, b}, Precision::body).error()[0].code, "evaluate.opaque");
    graph.operations[2].inputs = {TensorId(99)};
    EXPECT_EQ(evaluate_graph(graph, {a, b}, Precision::body).error()[0].code, "graph.reference");
}

TensorData tensor(std::vector<double> values, DType dtype = DType::float32) {
    TensorData data(dtype, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_real(static_cast<int64_t>(i), values[i]);
    return data;
}

TEST(Compare, Bounded) {
    BoundedTensor expected{tensor({1, 2, 3}, DType::float64), tensor({1e-3, 0, HUGE_VAL}, DType::float64)};
    auto near = compare_bounded(tensor({1.0039, 2, 99}), expected);
    EXPECT_TRUE(near.equal);
    EXPECT_EQ(near.undecided, 1);
    EXPECT_NEAR(near.worst_ratio, 3.9, 0.01);
    EXPECT_FALSE(compare_bounded(tensor({1.0041, 2, 3}), expected).equal);
    EXPECT_FALSE(compare_bounded(tensor({1, 2.000001, 3}), expected).equal);  // exact where the bound is zero
    EXPECT_FALSE(compare_bounded(tensor({NAN, 2, 3}), expected).equal);
    EXPECT_FALSE(compare_bounded(tensor({1, 2}), expected).equal);
    EXPECT_FALSE(compare_bounded(tensor({1, 2, 3}, DType::int32), expected).equal);
}

TEST(Compare, Models) {
    TensorData reference = tensor({100, 99, -3});
    EXPECT_TRUE(compare_model(tensor({100.0009, 99, -3}), reference).equal);
    auto far = compare_model(tensor({100.003, 99, -3}), reference);
    EXPECT_FALSE(far.equal);
    EXPECT_NEAR(far.relative_maximum, 3e-5, 1e-7);
    EXPECT_FALSE(compare_model(tensor({99, 100, -3}), reference, {1, 1}).argmax_differences >
                 0);  // tolerated: within the tolerance
    EXPECT_EQ(compare_model(tensor({99, 100, -3}), reference).argmax_differences, 1);
    EXPECT_FALSE(compare_model(tensor({NAN, 99, -3}), reference).equal);
    EXPECT_FALSE(compare_model(tensor({1, 2}), reference).equal);
    EXPECT_TRUE(compare_model(tensor({0, 0}), tensor({0, 0})).equal);
    EXPECT_FALSE(compare_model(tensor({1, 2}, DType::int32), tensor({1, 3}, DType::int32)).equal);
    // Large everywhere but small differences in every place: the L2 bar.
    std::vector<double> ones(1000, 1), shifted(1000, 1 + 1.5e-5);
    EXPECT_FALSE(compare_model(tensor(shifted), tensor(ones)).equal);
}

TEST(Depth, DeepChainsAndManyNodes) {
    BodyBuilder b;
    auto i = b.variable("i", 3);
    NodeId value = b.read(0, DType::float32, {b.at(i)});
    for (int step = 0; step < 50000; step++) value = b.plus(value, b.real(1));
    for (int step = 0; step < 100; step++) {
        auto k = b.reduced("k", 2);
        value =
            b.plus(b.reduce(Reducer::sum, {k}, b.plus(b.times(value, b.real(0.5)), b.cast(DType::float32, b.at(k)))),
                   b.real(-1));
    }
    b.equation(0, {i}, {b.at(i)}, value);
    std::vector<TensorData> outputs = {TensorData(DType::float32, {3})};
    auto done = evaluate_body(b.body, {TensorData(DType::float32, {3})}, outputs, Precision::body);
    ASSERT_TRUE(done) << render(done.error());
    EXPECT_EQ(outputs[0].real_at(1), 50000);
    (void)print(b.body, {"x"}, {"y"});
}

// Broken bodies are rejected, or evaluated without harm (run under ASan and UBSan too).
TEST(Mutation, BrokenBodiesAreRejectedOrHarmless) {
    std::mt19937 random(7);
    auto pick = [&](size_t n) { return static_cast<int64_t>(random() % std::max<size_t>(n, 1)); };
    int accepted = 0, rejected = 0;
    for (int round = 0; round < 6000; round++) {
        BodyBuilder b;
        auto i = b.variable("i", 6), j = b.variable("j", 5), k = b.reduced("k", 7),
             l = b.variable("l", 5, Variable::Kind::parallel);
        auto vi = b.at(i), vj = b.at(j), vk = b.at(k), vl = b.at(l);
        auto g = b.local("g", {l}, b.plus(b.read(0, DType::float32, {vi, vl}), b.cast(DType::float32, vl)));
        auto c = b.minus(b.times(vi, b.integer(2)), vk);
        auto x = b.guarded(0, DType::float32, {c, vj}, b.local_read(g, {vj}));
        auto id = b.read(1, DType::int64, {vj});
        auto s = b.reduce(Reducer::sum, {k}, x, b.scalar(ScalarOp::less, {c, id}));
        auto m = b.reduce(Reducer::argument_maximum, {k}, b.guarded(0, DType::float32, {vk, vj}, b.real(0)));
        b.equation(0, {i, j}, {vi, vj},
                   b.select(b.scalar(ScalarOp::equal, {m, vj}), s, b.read(0, DType::float32, {id, vj})));
        for (int64_t n = pick(3) + 1; n > 0; n--) {
            Body& body = b.body;
            Node& node = body.nodes[static_cast<size_t>(pick(body.nodes.size()))];
            switch (pick(12)) {
            case 0: node.kind = static_cast<Node::Kind>(pick(11)); break;
            case 1: node.op = static_cast<ScalarOp>(pick(62)); break;
            case 2: node.dtype = static_cast<DType>(pick(14)); break;
            case 3: node.index = static_cast<int32_t>(pick(6)) - 1; break;
            case 4: node.integer = pick(2) ? pick(20) - 10 : static_cast<int64_t>(random()) << 31; break;
            case 5:
                if (!node.operands.empty())
                    node.operands[static_cast<size_t>(pick(node.operands.size()))] = NodeId(pick(body.nodes.size()));
                break;
            case 6:
                if (!node.operands.empty()) node.operands.pop_back();
                break;
            case 7: node.operands.push_back(NodeId(pick(body.nodes.size()))); break;
            case 8: body.variables[static_cast<size_t>(pick(4))].extent = pick(12) - 1; break;
            case 9: node.reducer = static_cast<Reducer>(pick(9)); break;
            case 10: body.locals[0].value = NodeId(pick(body.nodes.size())); break;
            default: node.variables.push_back(VariableId(pick(5)));
            }
        }
        std::vector<TensorData> inputs = {TensorData(DType::float32, {6, 5}), TensorData(DType::int64, {5})};
        for (int64_t n = 0; n < 5; n++) inputs[1].set_integer(n, n);
        std::vector<TensorData> outputs = {TensorData(DType::float32, {6, 5})};
        bool fine =
            verify(b.body, {{DType::float32, {6, 5}}, {DType::int64, {5}}}, {{DType::float32, {6, 5}}}).has_value();
        auto done = evaluate_body(b.body, inputs, outputs, Precision::body);
        ASSERT_TRUE(fine || !done);
        (fine ? accepted : rejected)++;
        if (!fine) continue;
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {6, 5}), TensorData(DType::float64, {6, 5})}};
        auto bounds = evaluate_body_bounded(b.body, {{inputs[0], {}}, {inputs[1], {}}}, bounded);
        ASSERT_EQ(bounds.has_value(), done.has_value());
        (void)print(b.body, {"x", "ids"}, {"y"});
    }
    EXPECT_GT(accepted, 500);
    EXPECT_GT(rejected, 500);
}

}  // namespace
}  // namespace heddle
