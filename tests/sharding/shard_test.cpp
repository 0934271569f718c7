// What shards are: applications with their regions, partial results, combinations; and what cannot be cut.
#include "sharded.h"

#include <algorithm>
#include <cmath>

#include "graph/verify.h"
#include "symbolic/body_nodes.h"

namespace heddle::sharding {
namespace {

constexpr DType f32 = DType::float32;

TensorData random_tensor(DType dtype, std::vector<int64_t> shape, uint32_t seed) {
    TensorData data(dtype, std::move(shape));
    for (int64_t i = 0; i < data.size(); ++i) {
        seed = seed * 1664525u + 1013904223u;
        auto value = static_cast<int64_t>(seed >> 24) % 7;
        is_float(dtype) ? data.set_real(i, static_cast<double>(value) / 2 - 1.5)
                        : data.set_integer(i, is_bool(dtype) ? value & 1 : value - 3);
    }
    return data;
}

void expect_whole(const Graph& graph, const Sharded& sharding, uint32_t seed = 1) {
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const TensorType& type = graph.tensor(id).type;
        feeds.push_back(random_tensor(type.dtype, type.extents(), seed++));
    }
    expect_same_values(graph, feeds, sharding);
}

std::string text(std::span<const Size> numbers) {
    std::string result;
    for (const Size& number : numbers) result += (result.empty() ? "" : ",") + number.text();
    return result;
}

// "x[0,0:2,5]" for each input, then each output
std::string regions(const Graph& graph, const Application& application) {
    std::string result;
    auto add = [&](const std::vector<Region>& list) {
        for (const Region& region : list)
            result += (result.empty() ? "" : " ") + graph.tensor(region.tensor).name + "[" + text(region.box.start) +
                      ":" + text(region.box.end) + "]";
    };
    add(application.inputs);
    result += " ->";
    add(application.outputs);
    return result;
}

const char* const operators = R"yaml(
product:
  inputs: {X: "$T[$m, $k]", W: "$T[$k, $n]"}
  index: "[$m, $n]"
  outputs: {y: "$T"}
  body: "y = sum(k < $k : X[@m, k] * W[k, @n])"
linear:
  inputs: {x: "$T[$batch, $inner]", w: "$T[$inner, $out]", b: "$T[$out]"}
  index: "[$batch, $out]"
  outputs: {y: "$T"}
  body: "y = sum(inner < $inner : x[@batch, inner] * w[inner, @out]) + b"
softmax:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "$T[$rows, $n]"}
  body: |
    let m = max(k < $n : x[@rows, k])
    let s = sum(k < $n : exp(x[@rows, k] - m))
    y[@rows, j] = exp(x[@rows, j] - m) / s
best:
  inputs: {x: "$T[$a, $h, $w]"}
  index: "[$a]"
  outputs: {value: "$T[$a]", position: "int64[$a]", least: "int64[$a]"}
  body: |
    value[@a] = max(h < $h, w < $w : x[@a, h, w])
    position[@a] = argmax(h < $h, w < $w : x[@a, h, w])
    least[@a] = argmin(h < $h, w < $w if x[@a, h, w] > -1 : x[@a, h, w])
tests:
  inputs: {x: "$T[$a, $n]"}
  index: "[$a]"
  outputs: {some: "bool[$a]", every: "bool[$a]", middle: "$T[$a]", many: "int64[$a]", times: "$T[$a]"}
  body: |
    some[@a] = any(k < $n : x[@a, k] > 1)
    every[@a] = all(k < $n : x[@a, k] < 1)
    middle[@a] = mean(k < $n : x[@a, k])
    many[@a] = count(k < $n : x[@a, k] > 0)
    times[@a] = prod(k < $n : x[@a, k] + 2)
attention:
  inputs: {q: "$T[$i, $d]", k: "$T[$j, $d]", v: "$T[$j, $e]"}
  index: "[$i, $e]"
  outputs: {y: "$T"}
  body: |
    let m = max(j < $j : sum(d < $d : q[@i, d] * k[j, d]))
    let s = sum(j < $j : exp(sum(d < $d : q[@i, d] * k[j, d]) - m))
    y = sum(j < $j : exp(sum(d < $d : q[@i, d] * k[j, d]) - m) * v[j, @e]) / s
variance:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows, $n]"
  outputs: {y: "$T"}
  body: |
    let mean = mean(k < $n : x[@rows, k])
    let spread = mean(k < $n : (x[@rows, k] - mean) * (x[@rows, k] - mean))
    y = (x - mean) * rsqrt(spread + 1)
beyond:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = @n < $n - 2 ? sum(k < 3 : x[@n + k]) : 0"
gram:
  inputs: {x: "$T[$n, $d]"}
  let: |
    $i = $n
    $j = $n
  index: "[$i, $j]"
  outputs: {y: "$T"}
  body: "y = sum(d < $d : x[@i, d] * x[@j, d])"
table:
  inputs: {x: "$T[$n, $d]"}
  index: "[$n]"
  outputs: {y: "$T[$n]"}
  body: |
    let g[j < $d] = max(k < $n : x[k, j])
    y[@n] = sum(d < $d : x[@n, d] - g[$d - 1 - d])
rows:
  inputs: {x: "$T[$n, $c]"}
  index: "[$n]"
  outputs: {y: "$T[$n * $c]"}
  body: |
    for j < $c:
      y[@n * $c + j] = x[@n, j]
)yaml";

std::vector<Size> sizes(std::initializer_list<int64_t> list) { return {list.begin(), list.end()}; }

Graph example(const std::string& name, std::vector<std::vector<int64_t>> shapes, DType dtype = f32) {
    std::vector<std::pair<DType, std::vector<int64_t>>> types;
    for (auto& shape : shapes) types.emplace_back(dtype, std::move(shape));
    return graph_of(operators, name, types);
}

TEST(Shard, Metakernels9ApplicationsHaveTheProjectedRanges) {
    Graph graph = example("product", {{4, 6}, {6, 5}});
    Sharded rows = sharded(graph, {{"m", 2}});
    ASSERT_EQ(rows.applications.size(), 2u);
    EXPECT_EQ(regions(graph, rows.applications[0]), "X[0,0:2,6] W[0,0:6,5] -> y[0,0:2,5]");
    EXPECT_EQ(regions(graph, rows.applications[1]), "X[2,0:4,6] W[0,0:6,5] -> y[2,0:4,5]");
    EXPECT_EQ(text(rows.applications[1].index.start), "2,0,0");
    EXPECT_EQ(text(rows.applications[1].index.end), "4,5,6");
    expect_whole(graph, rows);
    // Uneven, and an empty part at the end: five in four parts are two, two, one and none.
    Sharded both = sharded(graph, {{"m", 2}, {"n", 4}});
    EXPECT_EQ(both.boxes.size(), 8u);
    ASSERT_EQ(both.applications.size(), 6u);
    EXPECT_EQ(regions(graph, both.applications[5]), "X[2,0:4,6] W[0,4:6,5] -> y[2,4:4,5]");
    expect_whole(graph, both);
    // Any boxes, not only a grid, where no reduction is cut.
    auto uneven =
        shard(graph, OperationId(0), {{{0, 0, 0}, {4, 2, 6}}, {{0, 2, 0}, {1, 5, 6}}, {{1, 2, 0}, {4, 5, 6}}});
    ASSERT_TRUE(uneven) << render(uneven.error());
    EXPECT_EQ(regions(graph, uneven->applications[2]), "X[1,0:4,6] W[0,2:6,5] -> y[1,2:4,5]");
    expect_whole(graph, *uneven);
}

TEST(Shard, Metakernels9AnOperationWithoutABodyIsCutByItsDeclaredProjections) {
    Graph graph = graph_of(R"yaml(
outside:
  inputs:
    X: {shape: "[$batch, $inner]", dtype: "$T", ipf: "[@batch, *]"}
    W: {shape: "[$inner, $out]", dtype: "$T", ipf: "[*, @out]"}
  index: "[$batch, $out]"
  outputs: {y: {shape: "[$batch, $out]", dtype: "$T", ipf: "[@batch, @out]"}}
)yaml",
                           "outside", {{f32, {4, 3}}, {f32, {3, 6}}});
    Sharded sharding = sharded(graph, {{"batch", 2}, {"out", 3}});
    ASSERT_EQ(sharding.applications.size(), 6u);
    EXPECT_EQ(regions(graph, sharding.applications[4]), "X[2,0:4,3] W[0,2:3,4] -> y[2,2:4,4]");
    EXPECT_TRUE(verify(sharding.graph));
}

TEST(Shard, Metakernels10LinearIsCutOverBatchOutAndIn) {
    Graph graph = example("linear", {{4, 6}, {6, 5}, {5}});
    expect_whole(graph, sharded(graph, {{"batch", 3}}));
    expect_whole(graph, sharded(graph, {{"out", 2}}));
    Sharded inner = sharded(graph, {{"inner", 3}});
    ASSERT_EQ(inner.combinations.size(), 1u);
    EXPECT_EQ(inner.combinations[0].combiner, "sum");
    EXPECT_EQ(inner.combinations[0].part, "sum over inner");
    // Three partial products of [4, 5], their sum, and the bias once.
    EXPECT_EQ(inner.graph.tensor(inner.combinations[0].partial[0]).type.extents(), (std::vector<int64_t>{3, 4, 5}));
    ASSERT_EQ(inner.applications.size(), 4u);
    EXPECT_EQ(regions(inner.graph, inner.applications[1]), "x[0,2:4,4] w[2,0:4,5] -> linear sum[1,0,0:2,4,5]");
    EXPECT_EQ(inner.applications[3].part, "result");
    expect_whole(graph, inner);
    expect_whole(graph, sharded(graph, {{"batch", 2}, {"inner", 2}, {"out", 2}}));
    // Integers add up to the same bits in any order.
    Graph integers = example("linear", {{4, 6}, {6, 5}, {5}}, DType::int8);
    expect_whole(integers, sharded(integers, {{"inner", 4}, {"batch", 4}}));
    // Where the result is the sum and nothing else, the combination writes it.
    Graph product = example("product", {{4, 6}, {6, 5}});
    Sharded direct = sharded(product, {{"k", 2}});
    EXPECT_EQ(direct.applications.size(), 2u);
    EXPECT_EQ(direct.combinations[0].result, product.outputs[0]);
    expect_whole(product, direct);
}

TEST(Shard, Metakernels10SoftmaxIsOneAxisInTwoRounds) {
    Graph graph = example("softmax", {{3, 10}});
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    ASSERT_EQ(axes.size(), 2u);
    EXPECT_EQ(axes[1].variables.size(), 3u);
    EXPECT_EQ(axes[1].reductions.size(), 2u);
    EXPECT_TRUE(axes[1].passed);
    Sharded sharding = sharded(graph, {{axes[1].name, 3}});
    ASSERT_EQ(sharding.applications.size(), 9u);
    for (const Application& application : sharding.applications) {
        // No shard reads another's part of x.
        EXPECT_EQ(application.inputs[0].box.start[1], application.shard * 4);
        EXPECT_EQ(application.round, application.part == "result" ? 2 : application.part.starts_with("max") ? 0 : 1);
    }
    ASSERT_EQ(sharding.combinations.size(), 2u);
    EXPECT_EQ(sharding.combinations[0].combiner, "max");
    EXPECT_EQ(sharding.combinations[1].combiner, "sum");
    expect_whole(graph, sharding);
}

TEST(Shard, Metakernels10EveryReducerCombines) {
    for (DType dtype : {f32, DType::int32, DType::float64}) {
        Graph best = example("best", {{2, 5, 7}}, dtype);
        for (int64_t parts : {2, 3, 5, 8}) {
            expect_whole(best, sharded(best, {{"h", parts}}), 3);
            expect_whole(best, sharded(best, {{"w", parts}}), 4);
            expect_whole(best, sharded(best, {{"h", parts}, {"w", 2}, {"a", 2}}), 5);
        }
    }
    Graph tests = example("tests", {{3, 9}});
    for (int64_t parts : {2, 4, 9, 10}) expect_whole(tests, sharded(tests, {{"k", parts}}), 6);
}

TEST(Shard, Metakernels10OfEqualValuesTheFirstWinsHoweverTheAxesAreCut) {
    Graph graph = example("best", {{1, 2, 4}});
    TensorData x(f32, {1, 2, 4});
    x.set_real(3, 5);  // (0, 3)
    x.set_real(4, 5);  // (1, 0): in the first part of w, but later
    for (const char* axis : {"h", "w"}) {
        Sharded sharding = sharded(graph, {{axis, 2}});
        expect_same_values(graph, {x}, sharding);
        auto values = evaluate_graph(sharding.graph, {x}, Precision::body);
        ASSERT_TRUE(values);
        EXPECT_EQ((*values)[static_cast<size_t>(graph.outputs[1])].integer_at(0), 3);
    }
    x.set_real(6, NAN);
    expect_same_values(graph, {x}, sharded(graph, {{"w", 2}}));
}

TEST(Shard, NoTermAtAllIsNoPlaceInParts) {
    Graph graph = example("best", {{1, 2, 4}});
    TensorData x(f32, {1, 2, 4});
    for (int64_t i = 0; i < 8; ++i) x.set_real(i, -5);  // none passes the filter of `least`
    const Graph parts = sharded(graph, {{"w", 2}}).graph;
    const auto whole = evaluate_graph(graph, {x}, Precision::body);
    const auto in_parts = evaluate_graph(parts, {x}, Precision::body);
    ASSERT_TRUE(whole && in_parts);
    bool none = false;
    for (size_t o = 0; o < graph.outputs.size(); ++o) {
        const TensorData& expected = (*whole)[static_cast<size_t>(graph.outputs[o])];
        const TensorData& found = (*in_parts)[static_cast<size_t>(parts.outputs[o])];
        for (int64_t i = 0; i < expected.size(); ++i) {
            EXPECT_EQ(found.real_at(i), expected.real_at(i)) << o << " " << i;
            none = none || (expected.dtype() == DType::int64 && expected.integer_at(i) == -1);
        }
    }
    EXPECT_TRUE(none);
}

TEST(Shard, ReductionsOfReductions) {
    Graph attention = example("attention", {{4, 3}, {6, 3}, {6, 5}});
    for (const char* axis : {"i", "e", "j", "d"}) {
        SCOPED_TRACE(axis);
        expect_whole(attention, sharded(attention, {{axis, 2}}));
    }
    Sharded all = sharded(attention, {{"i", 2}, {"e", 2}, {"j", 3}, {"d", 2}});
    expect_whole(attention, all);
    // The maximum does not depend on e: it is computed once for both parts of it.
    Sharded some = sharded(attention, {{"e", 2}, {"j", 3}});
    EXPECT_EQ(std::ranges::count(some.applications, "max over j", &Application::part), 3);
    EXPECT_EQ(std::ranges::count(some.applications, "sum over j", &Application::part), 3 + 6);

    Graph variance = example("variance", {{3, 8}});
    ASSERT_EQ(axes_of(variance, variance.operations[0]).size(), 2u);
    Sharded columns = sharded(variance, {{"n", 3}});
    EXPECT_EQ(columns.combinations.size(), 2u);
    expect_whole(variance, columns);

    Graph table = example("table", {{6, 4}});
    for (const Axis& axis : axes_of(table, table.operations[0])) expect_whole(table, sharded(table, {{axis.name, 3}}));
}

TEST(Shard, Metakernels10SoftmaxInOneRoundRescalesWhenCombining) {
    Graph graph = example("softmax", {{3, 10}});
    Sharded sharding = sharded(graph, {{"j", 3}}, OperationId(0), true);
    for (const Application& application : sharding.applications)
        EXPECT_EQ(application.round, application.part == "result" ? 1 : 0);
    // A part of the sum needs its part of x, and nothing of the others' maxima.
    EXPECT_EQ(regions(sharding.graph, sharding.applications[4]),
              "x[0,4:3,8] -> softmax rescaled sum[1,0:2,3] softmax shift[1,0:2,3]");
    expect_whole(graph, sharding);
    // Parts without anything above -inf, rows of nothing but it, infinities and NaN: as in the whole.
    TensorData x(f32, {3, 10});
    for (int64_t i = 0; i < 30; ++i) x.set_real(i, i < 4 || i >= 10 ? -INFINITY : -500.0 * static_cast<double>(i));
    x.set_real(25, INFINITY);
    x.set_real(29, 2);
    expect_same_values(graph, {x}, sharding);
    x.set_real(28, NAN);
    expect_same_values(graph, {x}, sharding);

    Graph attention = example("attention", {{4, 3}, {6, 3}, {6, 5}});
    Sharded online = sharded(attention, {{"j", 3}, {"e", 2}}, OperationId(0), true);
    EXPECT_EQ(online.applications.back().round, 1);
    expect_whole(attention, online);
    // With a maximum that is clamped from below, and a local array of scores.
    Graph library = graph_of(file_text("operators/attention.yaml"), "attention",
                             {{f32, {1, 2, 3, 4}}, {f32, {1, 2, 6, 4}}, {f32, {1, 2, 6, 5}}});
    for (const Axis& axis : axes_of(library, library.operations[0])) {
        if (axis.reductions.size() != 3) continue;
        Sharded flash = sharded(library, {{axis.name, 3}}, OperationId(0), true);
        EXPECT_EQ(flash.applications.back().round, 1);
        expect_whole(library, flash);
    }
    // A variance is no such sum: two rounds.
    Graph variance = example("variance", {{3, 8}});
    Sharded two = sharded(variance, {{"n", 3}}, OperationId(0), true);
    EXPECT_EQ(two.applications.back().round, 2);
    expect_whole(variance, two);
}

TEST(Shard, ALocalArrayGoesWithTheAxisThatReadsIt) {
    std::string library = file_text("operators/attention.yaml");
    Graph graph = graph_of(library, "attention", {{f32, {1, 2, 3, 4}}, {f32, {1, 2, 6, 4}}, {f32, {1, 2, 6, 5}}});
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    auto keys = std::ranges::find_if(axes, [](const Axis& axis) { return axis.reductions.size() == 3; });
    ASSERT_NE(keys, axes.end());
    Sharded sharding = sharded(graph, {{keys->name, 3}});
    // No shard reads another's keys or values.
    for (const Application& application : sharding.applications) {
        for (const Region& region : application.inputs) {
            if (region.tensor != graph.inputs[1] && region.tensor != graph.inputs[2]) continue;
            EXPECT_EQ(region.box.end[2] - region.box.start[2], 2);
        }
    }
    expect_whole(graph, sharding);
    for (const Axis& axis : axes) {
        SCOPED_TRACE(axis.name);
        expect_whole(graph, sharded(graph, {{axis.name, 2}}));
    }
}

TEST(Shard, AConditionAroundAReductionGoesWithIt) {
    Graph graph = example("beyond", {{7}});
    expect_whole(graph, sharded(graph, {{"k", 2}}));
    expect_whole(graph, sharded(graph, {{"k", 3}, {"n", 3}}));
}

TEST(Shard, RowsThatMeetInOneValueAreTwoAxes) {
    Graph graph = example("gram", {{5, 4}});
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    ASSERT_EQ(axes.size(), 3u);
    expect_whole(graph, sharded(graph, {{axes[0].name, 2}, {axes[1].name, 3}, {axes[2].name, 2}}));
}

// ---- halos

const char* const convolution = R"yaml(
conv:
  params: {stride: "int = 1", dilation: "int = 1", pad: "int = 0"}
  inputs: {x: "$T[$batch, $ci, $h]", w: "$T[$co, $ci, $k]"}
  let: "$oh = ($h + 2 * $pad - $dilation * ($k - 1) - 1) // $stride + 1"
  index: "[$batch, $co, $oh]"
  outputs: {y: "$T[$batch, $co, $oh]"}
  body: "y = sum(c < $ci, k < $k : (x[@batch, c, @oh * $stride + k * $dilation - $pad] ?? 0) * w[@co, c, k])"
)yaml";

TEST(Shard, Metakernels11HalosOfAConvolution) {
    auto conv = [](int64_t stride, int64_t dilation, int64_t pad, int64_t width) {
        return graph_of(convolution, "conv", {{f32, {2, 3, width}}, {f32, {4, 3, 3}}},
                        {{"stride", StaticValue::of(stride)},
                         {"dilation", StaticValue::of(dilation)},
                         {"pad", StaticValue::of(pad)}});
    };
    Graph plain = conv(1, 1, 1, 10);
    const Axis* oh = nullptr;
    std::vector<Axis> axes = axes_of(plain, plain.operations[0]);
    oh = axis_named(axes, "oh");
    ASSERT_TRUE(oh);
    ASSERT_EQ(oh->inputs[0].size(), 1u);
    EXPECT_EQ(oh->inputs[0][0], (Movement{2, 1, 3}));
    EXPECT_EQ(oh->inputs[0][0].halo(), 2);
    EXPECT_TRUE(oh->inputs[1].empty());
    Sharded halves = sharded(plain, {{"oh", 2}});
    // Of x with a margin of one at each end; what lies outside is never read.
    EXPECT_EQ(regions(plain, halves.applications[0]), "x[0,0,0:2,3,6] w[0,0,0:4,3,3] -> y[0,0,0:2,4,5]");
    EXPECT_EQ(regions(plain, halves.applications[1]), "x[0,0,4:2,3,10] w[0,0,0:4,3,3] -> y[0,0,5:2,4,10]");
    expect_whole(plain, halves);
    for (const Axis& axis : axes) expect_whole(plain, sharded(plain, {{axis.name, 2}}));

    // Stride three, window of three spread over five: of every box of 3 n + 2 columns the gaps between are not read.
    Graph strided = conv(4, 1, 0, 19);
    Sharded parts = sharded(strided, {{"oh", 2}});
    EXPECT_EQ(regions(strided, parts.applications[0]), "x[0,0,0:2,3,11] w[0,0,0:4,3,3] -> y[0,0,0:2,4,3]");
    EXPECT_EQ(parts.applications[0].inputs[0].unread, 2 * 3 * 2);  // columns 3 and 7
    EXPECT_EQ(parts.applications[0].inputs[1].unread, 0);
    expect_whole(strided, parts);
    expect_whole(strided, sharded(strided, {{"oh", 2}, {"k", 2}, {"c", 3}}));

    Graph dilated = conv(1, 4, 2, 12);
    Sharded one = sharded(dilated, {{"oh", 8}});
    EXPECT_EQ(regions(dilated, one.applications[3]), "x[0,0,1:2,3,10] w[0,0,0:4,3,3] -> y[0,0,3:2,4,4]");
    EXPECT_EQ(one.applications[3].inputs[0].unread, 2 * 3 * 6);
    expect_whole(dilated, one);
}

// ---- what cannot be

TEST(ShardErrors, ReasonsAreSaid) {
    Graph rows = example("rows", {{4, 3}});
    std::vector<Axis> axes = axes_of(rows, rows.operations[0]);
    ASSERT_EQ(axes.size(), 2u);
    EXPECT_FALSE(axes[0].refusal);
    ASSERT_TRUE(axes[1].refusal);
    EXPECT_EQ(axes[1].refusal->code, "sharding.output_box");
    expect_whole(rows, sharded(rows, {{"n", 3}}));
    auto code = [&](const Graph& graph, const std::vector<std::pair<std::string, int64_t>>& parts) {
        auto boxes = boxes_by(graph.operations[0], axes_of(graph, graph.operations[0]), parts);
        return boxes ? "" : boxes.error()[0].code;
    };
    EXPECT_EQ(code(rows, {{"j", 3}}), "sharding.output_box");
    EXPECT_EQ(code(rows, {{"j", 1}}), "");
    EXPECT_EQ(code(rows, {{"m", 2}}), "sharding.axis");
    EXPECT_EQ(code(rows, {{"n", 2}, {"n", 2}}), "sharding.axis");
    EXPECT_EQ(code(rows, {{"n", 0}}), "sharding.parts");
    EXPECT_EQ(code(rows, {{"n", 5'000}}), "sharding.limit");
    Graph product = example("product", {{4, 6}, {6, 5}});
    EXPECT_EQ(code(product, {{"m", 100}, {"n", 100}}), "sharding.limit");
    auto shard_code = [&](const Graph& graph, const std::vector<Box>& boxes) {
        auto result = shard(graph, OperationId(0), boxes);
        return result ? "" : result.error()[0].code;
    };
    EXPECT_EQ(shard_code(rows, {{{0, 0}, {4, 2}}, {{0, 2}, {4, 3}}}), "sharding.output_box");
    EXPECT_EQ(shard_code(product, {}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {4, 5}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {4, 5, 7}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {3, 5, 6}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {4, 5, 3}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {3, 5, 6}}, {{2, 0, 0}, {4, 5, 6}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {4, 5, 6}}, {{0, 0, 0}, {4, 5, 6}}}), "sharding.cover");
    EXPECT_EQ(shard_code(product, std::vector<Box>(5'000, {{0, 0, 0}, {0, 5, 6}})), "sharding.limit");
    // Pieces of k that differ from column to column.
    EXPECT_EQ(shard_code(product, {{{0, 0, 0}, {4, 2, 6}}, {{0, 2, 0}, {4, 5, 3}}, {{0, 2, 3}, {4, 5, 6}}}),
              "sharding.grid");
}

TEST(Shard, AnOrderedAxisWithoutStatesIsCutAsAnyOther) {
    Body body;
    BodyNodes nodes(body);
    VariableId t = nodes.add_variable("t", Variable::Kind::ordered, 4);
    VariableId i = nodes.add_variable("i", Variable::Kind::index, 3);
    std::vector<NodeId> at{nodes.variable(t), nodes.variable(i)};
    body.equations.push_back({0, {i, t}, at, nodes.read(TensorIndex(0), f32, at)});
    Graph graph;
    graph.inputs = {graph.add_tensor("x", {f32, sizes({4, 3})})};
    graph.outputs = {graph.add_tensor("y", {f32, sizes({4, 3})})};
    graph.add_operation({.name = "running",
                         .operator_name = "running",
                         .inputs = graph.inputs,
                         .outputs = graph.outputs,
                         .index = {},
                         .input_projections = {},
                         .output_projections = {},
                         .body = std::make_shared<const Body>(body),
                         .params = {}});
    std::vector<Axis> axes = axes_of(graph, graph.operations[0]);
    ASSERT_EQ(axes.size(), 2u);
    EXPECT_TRUE(axes[1].ordered && !axes[1].refusal);
    expect_whole(graph, sharded(graph, {{"t", 3}}));
    expect_whole(graph, sharded(graph, {{"t", 2}, {"i", 2}}));
    expect_whole(graph, sharded(graph, {{"i", 2}}));
}

}  // namespace
}  // namespace heddle::sharding
