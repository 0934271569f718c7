// Applications in a session: operations, constants, origins of sizes, compositions, programs, and what must fail.
#include "session_test_support.h"

#include <set>

#include "evaluate/evaluate.h"
#include "symbolic/program.h"

namespace heddle {
namespace {

using session_test::find;
using session_test::integers;
using session_test::shape_text;
using session_test::type;

const char* const operators = R"yaml(
let: |
  wrap(i, n) = i < 0 ? i + n : i
add2:
  inputs: {a: "$dtype[~$shape...]", b: "$dtype[~$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$dtype"}
  body: "y = a + b"
relu:
  inputs: {x: "$dtype[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$dtype"}
  body: "y = max(x, 0)"
matmul:
  inputs: {X: "$dtype[$batch..., $row, $inner]", W: "$dtype[$batch..., $inner, $col]"}
  constraints: {dtype: [float32, int64]}
  index: "[$batch..., $row, $col]"
  outputs: {y: "$dtype"}
  body: "y = sum(k < $inner : X[@batch..., @row, k] * W[@batch..., k, @col])"
shape_of:
  inputs: {x: "$dtype[$shape...]"}
  index: "[n = len($shape)]"
  outputs: {y: int64}
  body: "y = $shape[@n]"
gather:
  params: {axis: "axis($table) = 0"}
  inputs: {table: "$dtype[$outer...{$axis}, $n, $inner...]", ids: "$itype[$ids_shape...]"}
  index: "[$outer..., $ids_shape..., $inner...]"
  outputs: {y: "$dtype"}
  body: "y = table[@outer..., wrap(ids[@ids_shape...], $n), @inner...]"
concat:
  params: {axis: "axis($tensors[0])"}
  inputs: {tensors: "$dtype[$outer...{$axis}, $extent[$i], $inner...]*"}
  each: "$i < len($tensors)"
  index: "[$outer..., part = $extent[$i], $inner...]"
  outputs: {result: "$dtype[$outer..., sum($extent), $inner...]"}
  body: "result[@outer..., @part + sum($extent[:$i]), @inner...] = tensors[$i][@outer..., @part, @inner...]"
split:
  params: {chunk: "int", axis: "axis($x) = 0"}
  inputs: {x: "$dtype[$outer...{$axis}, $n, $inner...]"}
  each: "$i < max(1, ceildiv($n, $chunk))"
  index: "[$outer..., part = min($chunk, $n - $i * $chunk), $inner...]"
  outputs: {parts: "$dtype*"}
  body: "parts[$i] = x[@outer..., @part + $i * $chunk, @inner...]"
reshape:
  inputs:
    x: "$dtype[$in...]"
    shape: {shape: "[$rank]", dtype: int64, flavour: concrete}
  let: |
    $known = prod([v for v in $shape.value if v != -1])
    $out = [v == -1 ? prod($in) / $known : v for v in $shape.value]
  constraints: {require: [["prod($out) == prod($in)", "the element counts differ"]]}
  index: "[$out...]"
  outputs: {y: "$dtype"}
  body: "y = x[unflatten(flatten(@, $out), $in)...]"
extremes:
  inputs: {x: "$dtype[$n]"}
  index: "[]"
  outputs: {low: "$dtype", high: "$dtype?"}
  body: |
    low = min(k < $n : x[k])
    high = max(k < $n : x[k])
open_product:
  inputs: {X: "$dtype[$row, $inner]", W: "$dtype[$inner, $col]"}
  outputs: {y: "$dtype[_, $col]"}
  graph: "y = matmul(X, W)"
open_wrongly:
  inputs: {X: "$dtype[$row, $inner]", W: "$dtype[$inner, $col]"}
  outputs: {y: "$dtype[_, $inner, _]"}
  graph: "y = matmul(X, W)"
linear:
  inputs: {x: "$dtype[$batch..., $features]", A: "$dtype[$features, $out]", b: "$dtype[$out]?"}
  outputs: {y: "$dtype[$batch..., $out]"}
  graph: |
    z = matmul(x, A)
    y = has(b) ? add2(z, b) : z
halves:
  inputs: {x: "$dtype[$n]"}
  outputs: {y: "$dtype[$n]"}
  graph: |
    a, b = split(x, chunk: $n / 2)
    y = concat([b, a], axis: 0)
spread:
  inputs: {x: "$dtype[$n]"}
  outputs: {y: "$dtype[]"}
  graph: "y = add2(extremes(x)[1], 1)"
wrong_shape:
  inputs: {x: "$dtype[$n]"}
  outputs: {y: "$dtype[$n + 1]"}
  graph: "y = relu(x)"
three_of_two:
  inputs: {x: "$dtype[$n]"}
  outputs: {y: "$dtype[$n]"}
  graph: "y, b, c = split(x, chunk: $n / 2)"
negative:
  inputs: {x: "$dtype[$n]"}
  index: "[m = $n - 10]"
  outputs: {y: "$dtype"}
  body: "y = x[@m]"
many:
  inputs: {x: "$dtype[$n]"}
  each: "$i < 20000"
  index: "[m = 1]"
  outputs: {parts: "$dtype*"}
  body: "parts[$i] = x[0]"
long_index:
  inputs: {x: "$dtype[$n]"}
  index: "[ones(40)..., ones(40)...]"
  outputs: {y: "$dtype"}
  body: "y = x[0]"
long_shape:
  inputs: {x: "$dtype[$n]"}
  index: "[]"
  outputs: {y: "$dtype[ones(65)...]"}
  kernels: ["(Host, (Tensor) -> Tensor) => [runtime] => reshaped"]
found:
  inputs: {x: "$dtype[$n]"}
  index: "[]"
  outputs: {y: "int64[?count]"}
  kernels: ["(Host, (Tensor) -> Tensor) => [runtime] => found"]
)yaml";

struct Sessions : testing::Test {
    Library library = library_of(operators);
    Session session{library};
    Result<std::vector<TensorId>> apply(const std::string& name, const std::vector<Argument>& inputs,
                                        const std::map<std::string, StaticValue>& parameters = {},
                                        ApplyOptions options = {}) {
        return session.apply(find(library, name), inputs, parameters, options);
    }
    std::string types(const std::string& name, const std::vector<Argument>& inputs,
                      const std::map<std::string, StaticValue>& parameters = {}) {
        return shape_text(session, apply(name, inputs, parameters));
    }
};

TEST_F(Sessions, OutputTypesAndOperations) {
    TensorId x = session.add_input("x", type({named_size("batch", 2), 3}));
    TensorId row = session.add_input("row", type({3}));
    TensorId w = session.add_input("w", type({3, 5}));
    EXPECT_EQ(types("add2", {x, row}), "float32[batch, 3]");
    EXPECT_EQ(types("matmul", {x, w}), "float32[batch, 5]");
    EXPECT_EQ(types("concat", {x, x}, {{"axis", StaticValue::of(1)}}), "float32[batch, 6]");
    EXPECT_EQ(types("split", {w}, {{"chunk", StaticValue::of(2)}, {"axis", StaticValue::of(-1)}}),
              "float32[3, 2] float32[3, 2] float32[3, 1]");
    const Graph& graph = session.graph();
    ASSERT_EQ(graph.operations.size(), 7u);  // one an `each` value
    EXPECT_EQ(graph.operations[2].outputs, graph.operations[3].outputs);
    EXPECT_EQ(graph.operations[4].inputs.size(), 1u);
    EXPECT_EQ(graph.operations[0].name, "add2");
}

TEST_F(Sessions, EqualApplicationsShareTheirBody) {
    TensorId x = session.add_input("x", type({4}));
    auto first = apply("relu", {x}), second = apply("relu", {(*first)[0]});
    EXPECT_EQ(session.graph().operations[0].body, session.graph().operations[1].body);
    EXPECT_NE(session.graph().operations[0].name, session.graph().operations[1].name);
    auto other = apply("relu", {session.add_input("other", type({named_size("n", 4)}))});
    EXPECT_EQ(shape_text(session, other), "float32[n]");
}

TEST_F(Sessions, ValuesAgreeWithALoop) {
    TensorId x = session.add_input("x", type({2, 3})), w = session.add_input("w", type({3, 2}));
    auto product = apply("matmul", {x, w});
    ASSERT_TRUE(product) << render(product.error());
    Graph graph = session.finish(*product);
    ASSERT_TRUE(verify(graph));
    TensorData a(DType::float32, {2, 3}), b(DType::float32, {3, 2});
    for (int i = 0; i < 6; ++i) a.set_real(i, i + 1), b.set_real(i, 2 * i - 3);
    auto values = evaluate_graph(graph, {a, b}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& result = (*values)[static_cast<size_t>(graph.outputs[0])];
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            double sum = 0;
            for (int k = 0; k < 3; ++k) sum += a.real_at(i * 3 + k) * b.real_at(k * 2 + j);
            EXPECT_EQ(result.real_at(i * 2 + j), sum);
        }
    }
}

TEST_F(Sessions, KnownValuesAreFolded) {
    TensorId a = session.add_constant("a", integers({1, 2, 3})), b = session.add_constant("b", integers({10, 20}));
    auto joined = apply("concat", {a, b}, {{"axis", StaticValue::of(0)}});
    ASSERT_TRUE(joined) << render(joined.error());
    EXPECT_TRUE(session.graph().operations.empty());
    const TensorData* value = session.known_value((*joined)[0]);
    ASSERT_TRUE(value);
    EXPECT_EQ(value->integer_at(2), 3);
    EXPECT_EQ(value->integer_at(4), 20);
    TensorId large = session.add_constant("large", TensorData(DType::float32, {5000}));
    auto kept = apply("relu", {large});
    EXPECT_FALSE(session.known_value((*kept)[0]));
    EXPECT_EQ(session.graph().operations.size(), 1u);
}

TEST_F(Sessions, SizesKeepTheirOriginThroughShapeArithmetic) {
    TensorId x = session.add_input("x", type({named_size("batch", 2), named_size("seq", 3), 8}));
    auto shape = apply("shape_of", {x});
    ASSERT_TRUE(shape) << render(shape.error());
    auto first = apply("gather", {(*shape)[0], session.add_constant("zero", integers({0}))});
    ASSERT_TRUE(first) << render(first.error());
    auto both = apply("add2", {(*first)[0], (*first)[0]});
    auto wanted =
        apply("concat", {(*both)[0], session.add_constant("rest", integers({-1}))}, {{"axis", StaticValue::of(0)}});
    ASSERT_TRUE(wanted) << render(wanted.error());
    ASSERT_TRUE(session.known_sizes((*wanted)[0]));
    EXPECT_EQ(session.known_sizes((*wanted)[0])->front().text(), "2 * batch");
    EXPECT_TRUE(session.graph().operations.empty());
    auto same =
        apply("concat", {(*first)[0], session.add_constant("minus", integers({-1}))}, {{"axis", StaticValue::of(0)}});
    auto reshaped = apply("reshape", {x, (*same)[0]});
    ASSERT_TRUE(reshaped) << render(reshaped.error());
    EXPECT_EQ(shape_text(session, reshaped), "float32[batch, 8 * seq]");
}

TEST_F(Sessions, Compositions) {
    TensorId x = session.add_input("x", type({2, 3})), w = session.add_input("w", type({3, 5})),
             b = session.add_input("b", type({5}));
    EXPECT_EQ(types("linear", {x, w}), "float32[2, 5]");
    EXPECT_EQ(session.graph().operations.size(), 1u);
    EXPECT_EQ(types("linear", {x, w, b}), "float32[2, 5]");
    EXPECT_EQ(session.graph().operations.size(), 3u);
    EXPECT_EQ(types("open_product", {x, w}), "float32[2, 5]");
    EXPECT_EQ(types("open_wrongly", {x, w}), "symbolic.composition");
    TensorId v = session.add_input("v", type({4}));
    EXPECT_EQ(types("halves", {v}), "float32[4]");
    EXPECT_EQ(types("spread", {v}), "float32[]");
    auto swapped = apply("halves", {session.add_constant("c", integers({1, 2, 3, 4}))});
    EXPECT_EQ(session.known_value((*swapped)[0])->integer_at(0), 3);
    auto top = apply("spread", {session.add_constant("d", integers({7, 9, 8}))});
    EXPECT_EQ(session.known_value((*top)[0])->integer_at(0), 10);
}

TEST_F(Sessions, OutputsThatNobodyWants) {
    TensorId x = session.add_input("x", type({4}));
    EXPECT_EQ(shape_text(session, apply("extremes", {x}, {}, {"node", {false, true}, {"", "top"}})), "- float32[]");
    EXPECT_EQ(session.graph().tensors.back().name, "top");
    EXPECT_EQ(types("extremes", {x}), "float32[] float32[]");
}

TEST_F(Sessions, WhatMustFail) {
    TensorId x = session.add_input("x", type({2, 3})), v = session.add_input("v", type({4}));
    TensorId n = session.add_input("n", type({2}, DType::int64)),
             half = session.add_input("h", type({2, 2}, DType::float16));
    size_t tensors = session.graph().tensors.size();
    EXPECT_EQ(types("add2", {x}), "symbolic.missing_input");
    EXPECT_EQ(types("add2", {x, x, x}), "symbolic.too_many_inputs");
    EXPECT_EQ(types("add2", {x, std::vector<TensorId>{x}}), "symbolic.not_a_list");
    EXPECT_EQ(types("add2", {x, TensorId(99)}), "symbolic.unknown_tensor");
    EXPECT_EQ(types("add2", {x, n}), "symbolic.dtype_conflict");
    EXPECT_EQ(types("add2", {x, v}), "symbolic.broadcast");
    EXPECT_EQ(types("matmul", {half, half}), "symbolic.dtype_set");
    EXPECT_EQ(types("matmul", {x, x}), "symbolic.shape_conflict");
    EXPECT_EQ(types("reshape", {x, n}), "symbolic.not_concrete");
    EXPECT_EQ(types("reshape", {x, session.add_constant("f", TensorData(DType::float32, {1}))}),
              "symbolic.input_dtype");
    EXPECT_EQ(types("reshape", {x, session.add_constant("s", integers({7}))}), "symbolic.requirement");
    EXPECT_EQ(types("negative", {v}), "symbolic.extent");
    EXPECT_EQ(types("many", {v}), "symbolic.limit");
    EXPECT_EQ(types("long_index", {v}), "symbolic.limit");
    EXPECT_EQ(types("long_shape", {v}), "symbolic.limit");
    EXPECT_EQ(types("found", {v}), "symbolic.data_extent");
    EXPECT_EQ(types("wrong_shape", {v}), "symbolic.composition");
    EXPECT_EQ(types("three_of_two", {v}), "symbolic.results");
    EXPECT_EQ(session.graph().tensors.size(), tensors + 2);  // an error leaves nothing behind
    EXPECT_TRUE(session.graph().operations.empty());
}

TEST_F(Sessions, NamesOfWhatFailedAreFreeAgain) {
    TensorId x = session.add_input("x", type({2, 3})), w = session.add_input("w", type({3, 5})),
             wrong = session.add_input("wrong", type({4}));
    auto names = [&] {
        std::vector<std::string> result;
        for (const Operation& operation : session.graph().operations) result.push_back(operation.name);
        for (const Tensor& tensor : session.graph().tensors) result.push_back(tensor.name);
        return result;
    };
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(apply("linear", {x, w}, {}, {"layer", {}, {}}));
        const auto before = names();
        // Its product is made, its sum is not.
        ASSERT_FALSE(apply("linear", {x, w, wrong}, {}, {"layer", {}, {}}));
        EXPECT_EQ(names(), before);
    }
    std::set<std::string> operation_names, tensor_names;
    for (const Operation& operation : session.graph().operations) operation_names.insert(operation.name);
    for (const Tensor& tensor : session.graph().tensors) tensor_names.insert(tensor.name);
    EXPECT_EQ(operation_names.size(), session.graph().operations.size());
    EXPECT_EQ(tensor_names.size(), session.graph().tensors.size());
    ASSERT_FALSE(apply("linear", {x, w, wrong}, {}, {"layer_of_its_own", {}, {}}));
    ASSERT_TRUE(apply("linear", {x, w}, {}, {"layer_of_its_own", {}, {}}));
    EXPECT_EQ(session.graph().tensors.back().name, "layer_of_its_own.z");
}

TEST_F(Sessions, RanksHaveALimit) {
    EXPECT_TRUE(apply("relu", {session.add_input("most", type(std::vector<Size>(64, 1)))}));
    EXPECT_EQ(types("relu", {session.add_input("more", type(std::vector<Size>(65, 1)))}), "symbolic.limit");
}

TEST_F(Sessions, DiagnosticsNameTheNode) {
    TensorId x = session.add_input("x", type({2, 3}));
    auto failed = apply("linear", {x, x}, {}, {"encoder/linear_7", {}, {}});
    ASSERT_FALSE(failed);
    const Diagnostic& diagnostic = failed.error()[0];
    EXPECT_TRUE(diagnostic.place.source);
    EXPECT_NE(std::find(diagnostic.params.begin(), diagnostic.params.end(),
                        std::pair<std::string, std::string>("node", "encoder/linear_7")),
              diagnostic.params.end());
}

// ---- programs

Result<Graph> program(const Library& library, const std::string& text, const std::vector<ProgramInput>& inputs) {
    return build_program(std::make_shared<const SourceText>("program", text), library, inputs);
}

TEST(Programs, BuildGraphs) {
    Library library = library_of(operators);
    auto graph = program(library, "y = relu(x); z = add2(y, x)", {{"x", type({3})}});
    ASSERT_TRUE(graph) << render(graph.error());
    EXPECT_EQ(graph->operations.size(), 2u);
    EXPECT_EQ(graph->tensor(graph->outputs[0]).name, "z");
    auto single = program(library, "reshape(concat([x, x], axis: 0), [2, -1])", {{"x", type({3})}});
    ASSERT_TRUE(single) << render(single.error());
    EXPECT_EQ(single->tensor(single->outputs[0]).type.text(), "float32[2, 3]");
}

TEST(Programs, WholeGraphsAreAdded) {
    Library library = library_of(operators);
    auto part = program(library, "p = relu(x); q = concat([p, x], axis: 0)", {{"x", type({3})}});
    ASSERT_TRUE(part) << render(part.error());
    Session session(library);
    const TensorId x = session.add_input("x", type({3}));
    const TensorId p = session.apply(find(library, "relu"), {x}, {}, {.names = {"p"}})->front();
    std::vector<TensorId> known(part->tensors.size(), no_id);
    known[static_cast<size_t>(part->inputs[0])] = p;
    std::vector<TensorId> results;
    for (int copy = 0; copy < 2; copy++) results.push_back(session.add_graph(*part, known, "part.").front());
    EXPECT_EQ(session.graph().operations.size(), 1 + 2 * part->operations.size());
    EXPECT_EQ(session.graph().tensor(results[0]).name, "part.q");
    // What is there already is not computed again.
    known[static_cast<size_t>(part->inputs[0])] = x;
    known[static_cast<size_t>(part->operations[0].outputs[0])] = p;
    const size_t before = session.graph().operations.size();
    results.push_back(session.add_graph(*part, known, "part.").front());
    EXPECT_EQ(session.graph().operations.size(), before + part->operations.size() - 1);
    Graph graph = session.finish(results);
    ASSERT_TRUE(verify(graph)) << render(verify(graph).error());
    TensorData value(DType::float32, {3});
    for (int64_t i = 0; i < 3; i++) value.set_real(i, static_cast<double>(i) - 1);
    auto values = evaluate_graph(graph, {value}, Precision::body);
    ASSERT_TRUE(values) << render(values.error());
    const TensorData& doubled = (*values)[static_cast<size_t>(graph.outputs[0])];
    const TensorData& joined = (*values)[static_cast<size_t>(graph.outputs[2])];
    for (int64_t i = 0; i < 3; i++) {
        EXPECT_EQ(doubled.real_at(i), std::max(0.0, value.real_at(i)));
        EXPECT_EQ(doubled.real_at(i + 3), std::max(0.0, value.real_at(i)));
        EXPECT_EQ(joined.real_at(i + 3), value.real_at(i));
    }
}

TEST(Programs, ErrorsPointIntoTheText) {
    Library library = library_of(operators);
    auto unknown = program(library, "y = rellu(x)", {{"x", type({3})}});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error()[0].code, "language.unknown_operator");
    EXPECT_EQ(unknown.error()[0].place.offset, 4u);
    auto name = program(library, "y = relu(z)", {{"x", type({3})}});
    ASSERT_FALSE(name);
    EXPECT_EQ(name.error()[0].code, "symbolic.unknown_name");
    EXPECT_EQ(name.error()[0].place.offset, 9u);
    EXPECT_FALSE(program(library, "y = relu(", {{"x", type({3})}}));
    auto empty = program(library, "", {});
    ASSERT_FALSE(empty);
    auto twice = program(library, "relu(x)", {{"x", type({3})}, {"x", type({3})}});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error()[0].code, "symbolic.program");
}

}  // namespace
}  // namespace heddle
