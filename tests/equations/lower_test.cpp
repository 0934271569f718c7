// Lowering: the equations of a graph compute what its bodies say.
#include <gtest/gtest.h>

#include <cmath>

#include "graph_builder.h"
#include "equations/passes.h"
#include "equations/system.h"
#include "equations/system_text.h"
#include "helpers/run_system.h"

namespace heddle::equations {
namespace {

using testing::BodyBuilder;
using testing::GraphBuilder;

System lowered(const Graph& graph) {
    auto system = lower(graph);
    EXPECT_TRUE(system.has_value()) << (system ? "" : render(system.error()));
    if (!system) return {};
    auto sound = verify(*system);
    EXPECT_TRUE(sound.has_value()) << (sound ? "" : render(sound.error())) << print(*system);
    // The text form means the same.
    const std::string text = print(*system);
    auto again = parse_system(std::make_shared<const SourceText>("lowered", text));
    EXPECT_TRUE(again.has_value()) << (again ? "" : render(again.error()));
    if (again) {
        EXPECT_EQ(print(*again), text);
    }
    return std::move(*system);
}

void expect_equal(const TensorData& found, const TensorData& wanted, double tolerance, const std::string& text) {
    ASSERT_EQ(found.dtype(), wanted.dtype());
    ASSERT_EQ(found.shape(), wanted.shape());
    for (int64_t i = 0; i < wanted.size(); i++) {
        if (!is_float(wanted.dtype())) {
            ASSERT_EQ(found.integer_at(i), wanted.integer_at(i)) << "element " << i << "\n" << text;
            continue;
        }
        const double a = found.real_at(i), b = wanted.real_at(i);
        if (std::isnan(b) || a == b) {
            ASSERT_EQ(std::isnan(a), std::isnan(b)) << text;
            ASSERT_EQ(std::signbit(a), std::signbit(b)) << text;
            continue;
        }
        ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b))) << "element " << i << "\n" << text;
    }
}

// run(lower(graph)) equals evaluate_graph; a tolerance of zero is bit for bit.
System expect_same(const GraphBuilder& builder, double tolerance = 0, int64_t integer_limit = 5, uint32_t seed = 1) {
    std::mt19937 random(seed);
    const Graph& graph = builder.graph;
    const std::vector<TensorData> feeds = testing::random_feeds(random, graph, integer_limit);
    auto wanted = evaluate_graph(graph, feeds, Precision::body);
    EXPECT_TRUE(wanted.has_value()) << (wanted ? "" : render(wanted.error())) << print(graph);
    System system = lowered(graph);
    auto found = run(system, feeds);
    EXPECT_TRUE(found.has_value()) << (found ? "" : render(found.error())) << print(system);
    if (!wanted || !found) return system;
    for (size_t i = 0; i < graph.outputs.size(); i++) {
        expect_equal((*found)[static_cast<size_t>(system.outputs[i])], (*wanted)[static_cast<size_t>(graph.outputs[i])],
                     tolerance, print(system));
    }
    return system;
}

size_t live_equations(const System& system) { return system.order().size(); }

// The equations of an output, a line each, without its own name.
std::string text_of(const System& system, size_t output) {
    const std::string text = print(system), tensor = equations::quoted(system.tensor(system.outputs[output]).name);
    std::string result;
    for (size_t at = 0; at < text.size();) {
        const size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        if (line.starts_with("    " + tensor + "[")) result += line.substr(4 + tensor.size()) + "\n";
        at = end + 1;
    }
    return result;
}

TEST(Lower, ElementwiseAndBroadcast) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {3, 4}), y = g.input("y", DType::float32, {4});
    g.output(g.unary(ScalarOp::exp, g.binary(ScalarOp::add, x, y)));
    const System system = expect_same(g);
    EXPECT_EQ(live_equations(system), 2u);
}

TEST(Lower, SoftmaxIsFourEquations) {
    GraphBuilder g;
    g.output(g.softmax(g.input("x", DType::float32, {4, 7})));
    const System system = expect_same(g, 1e-6);
    EXPECT_EQ(live_equations(system), 3u);  // max, sum, result; e gets its name by a pass
    EXPECT_NE(print(system).find("recip("), std::string::npos);
    EXPECT_NE(print(system).find("softmax.max"), std::string::npos);
}

TEST(Lower, ReductionsOfEveryKind) {
    for (Reducer reducer : {Reducer::sum, Reducer::product, Reducer::minimum, Reducer::maximum,
                            Reducer::argument_minimum, Reducer::argument_maximum}) {
        for (size_t axis : {0, 1, 2}) {
            GraphBuilder g;
            g.output(g.reduce(reducer, g.input("x", DType::float32, {3, 1, 5}), axis));
            const System system = expect_same(g, 1e-6);
            EXPECT_EQ(live_equations(system), 1u);
        }
    }
    for (Reducer reducer : {Reducer::any, Reducer::all}) {
        GraphBuilder g;
        g.output(g.reduce(reducer, g.input("x", DType::boolean, {6, 2}), 1));
        expect_same(g);
    }
}

TEST(Lower, EmptyReductionsAndTensors) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {3, 0});
    g.output(g.reduce(Reducer::sum, x, 1));
    g.output(g.reduce(Reducer::maximum, x, 1));
    g.output(g.unary(ScalarOp::exp, x));
    expect_same(g);
}

TEST(Lower, MovementIsExactAndClean) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {2, 6, 4});
    const TensorId r = g.reshape(x, {2, 2, 3, 4});
    g.output(r);
    g.output(g.reshape(g.transpose(r, {0, 2, 1, 3}), {12, 4}));
    g.output(g.pad(g.slice(x, 1, 1, 2, 2), 2, 1, 2, -7));
    g.output(g.concat({x, g.slice(x, 1, 0, 3)}, 1));
    const System system = expect_same(g);
    // Equal prefixes of both shapes: a head split needs no division.
    EXPECT_EQ(text_of(system, 0), "[i0, i1, i2, i3] = x[i0, (3 * i1 + i2), i3]\n");
    EXPECT_EQ(text_of(system, 3), "[i0, i1, i2] = x[i0, i1, i2]\n[i0, (i1 + 6), i2] = slice_6[i0, i1, i2]\n");
}

TEST(Lower, MatmulConvolutionAndGuards) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {2, 4, 5, 6}), w = g.input("w", DType::float32, {6, 2, 3, 3});
    g.output(g.conv(x, w, 2, 1, 2));
    g.output(g.matmul(g.input("a", DType::float32, {2, 3, 4}), g.input("b", DType::float32, {4, 5})));
    const System system = expect_same(g, 1e-5);
    const std::string text = text_of(system, 0);
    EXPECT_NE(text.find("?? 0.0"), std::string::npos) << text;
    EXPECT_EQ(live_equations(system), 2u);
}

TEST(Lower, GatherByDataAndByAProgression) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {5, 3});
    g.output(g.gather(x, g.input("ids", DType::int64, {2, 2}), 0));
    g.output(g.gather(x, g.input("small", DType::int32, {4}), 0));
    g.output(g.gather(x, g.integers("even", {3}, {0, 2, 4}), 0));
    g.output(g.gather(x, g.integers("odd", {3}, {0, -1, 2}), 0));
    const System system = expect_same(g, 0, 3);
    EXPECT_EQ(text_of(system, 2), "[i0, i1] = x[(2 * i0), i1]\n");
    EXPECT_NE(text_of(system, 3).find("odd[i0]"), std::string::npos);
}

// In a coordinate too, a comparison of data with zero is right for the least integer, whose negation wraps.
TEST(Lower, ChoicesInCoordinatesCompareAllData) {
    for (ScalarOp op : {ScalarOp::less, ScalarOp::less_equal, ScalarOp::greater, ScalarOp::greater_equal,
                        ScalarOp::equal, ScalarOp::not_equal}) {
        GraphBuilder g;
        const TensorId x = g.integers("x", {2}, {7, 8}), y = g.tensor("y", DType::int64, {4});
        const TensorId ids = g.integers("ids", {4}, {INT64_MIN, 0, 1, INT64_MAX});
        BodyBuilder b;
        const std::vector<VariableId> variables = b.variables({4});
        const NodeId at = b.value_of(variables[0]);
        const NodeId holds = b.scalar(op, {b.read(1, DType::int64, {at}), b.integer(0)});
        const NodeId row = b.select(holds, b.integer(1), b.integer(0));
        b.equation(variables, {at}, b.read(0, DType::int64, {row}));
        g.operation("choice", {x, ids}, {y}, b);
        g.output(y);
        expect_same(g);
    }
}

TEST(Lower, ScalarConstantsAreLiteralsFromData) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {4});
    g.output(g.binary(ScalarOp::multiply, x, g.floats("scale", {1}, {0.25})));
    g.output(g.binary(ScalarOp::multiply, x, g.floats("one", {}, {1})));
    const System system = expect_same(g);
    EXPECT_EQ(text_of(system, 0), "[i0] = (x[i0] * data(0.25))\n");
    EXPECT_NE(print(system).find("data(1.0)"), std::string::npos);
}

TEST(Lower, TransposedConvolutionSolvesItsFilter) {
    for (int64_t stride : {1, 2, 3}) {
        for (int64_t window : {2, 3, 4}) {
            for (int64_t dilation : {1, 2}) {
                const int64_t in = 4, padding = 1, out = (in - 1) * stride + dilation * (window - 1) + 1 - 2 * padding;
                GraphBuilder g;
                const TensorId x = g.input("x", DType::float32, {2, in}), w = g.input("w", DType::float32, {2, window});
                g.output(g.map("conv_transpose", {x, w}, DType::float32, {out}, [&](BodyBuilder& b, const auto& at) {
                    const VariableId c = b.reduction("c", 2), k = b.reduction("k", window);
                    const NodeId reach =
                        b.minus(b.plus(at[0], b.integer(padding)), b.times(b.value_of(k), b.integer(dilation)));
                    const NodeId hit = b.scalar(ScalarOp::equal,
                                                {b.scalar(ScalarOp::modulo, {reach, b.integer(stride)}), b.integer(0)});
                    const NodeId from = b.scalar(ScalarOp::floor_divide, {reach, b.integer(stride)});
                    const NodeId value = b.guarded_read(0, DType::float32, {b.value_of(c), from}, b.real(0));
                    const NodeId weight = b.read(1, DType::float32, {b.value_of(c), b.value_of(k)});
                    return b.reduce_if(Reducer::sum, {c, k}, b.times(value, weight), hit);
                }));
                const System system = expect_same(g, 1e-6);
                if (std::gcd(dilation, stride) == 1 && stride > 1) {
                    const Equation& equation = system.equation(system.order()[0]);
                    const int64_t steps = (window + stride - 1) / stride;
                    EXPECT_EQ(equation.points(*system.arena), out * 2 * steps);
                    if (window % stride == 0) {
                        EXPECT_EQ(print(system).find("< 0) ?"), std::string::npos) << print(system);
                    }
                }
            }
        }
    }
}

// One term at most: data say which. The filter of a scatter asks for an axis that is not reduced, and stays.
TEST(Lower, AFilterThatChoosesByDataBecomesAGather) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {4, 3}), ids = g.input("ids", DType::int64, {6});
    for (Reducer reducer : {Reducer::sum, Reducer::maximum}) {
        g.output(g.map("chosen", {x, ids}, DType::float32, {6, 3}, [&](BodyBuilder& b, const auto& at) {
            const VariableId n = b.reduction("n", 4);
            const NodeId hit = b.scalar(ScalarOp::equal, {b.read(1, DType::int64, {at[0]}), b.value_of(n)});
            return b.reduce_if(reducer, {n}, b.read(0, DType::float32, {b.value_of(n), at[1]}), hit);
        }));
    }
    const TensorId updates = g.input("updates", DType::float32, {6});
    g.output(g.map("scattered", {updates, ids}, DType::float32, {4}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 6);
        const NodeId hit = b.scalar(ScalarOp::equal, {b.read(1, DType::int64, {b.value_of(k)}), at[0]});
        return b.reduce_if(Reducer::sum, {k}, b.read(0, DType::float32, {b.value_of(k)}), hit);
    }));
    const System system = expect_same(g);  // ids of -5 to 5: some choose nothing
    for (size_t output : {0, 1}) {
        EXPECT_TRUE(system.equation(system.order()[output]).reduced.empty()) << print(system);
    }
    EXPECT_EQ(system.equation(system.order()[2]).reduced.size(), 1u) << print(system);
}

TEST(Lower, FiltersTakeTheNeutralElement) {
    for (Reducer reducer : {Reducer::sum, Reducer::product, Reducer::minimum, Reducer::maximum}) {
        for (DType dtype : {DType::float32, DType::int32, DType::int64, DType::uint8}) {
            GraphBuilder g;
            const TensorId x = g.input("x", dtype, {3, 5});
            g.output(g.map("filtered", {x}, dtype, {3, 5}, [&](BodyBuilder& b, const auto& at) {
                const VariableId k = b.reduction("k", 5);
                const NodeId condition = b.scalar(ScalarOp::less, {b.value_of(k), at[1]});  // none for the first
                return b.reduce_if(reducer, {k}, b.read(0, dtype, {at[0], b.value_of(k)}), condition);
            }));
            expect_same(g, 1e-6);
        }
    }
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {5});
    g.output(g.map("diagonal", {x}, DType::float32, {5}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 3);
        return b.reduce_if(Reducer::sum, {k}, b.read(0, DType::float32, {b.value_of(k)}),
                           b.scalar(ScalarOp::equal, {b.value_of(k), at[0]}));
    }));
    const System system = expect_same(g);
    EXPECT_TRUE(system.equations[0].reduced.empty());
}

TEST(Lower, BranchesKeepReadsOfReductionsUnderTheirCondition) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {6}), c = g.input("c", DType::boolean, {6});
    // Only the first three windows lie inside; and an index that only some elements have.
    g.output(g.map("window", {x}, DType::float32, {6}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 4);
        const NodeId total = b.reduce(Reducer::sum, {k}, b.read(0, DType::float32, {b.plus(at[0], b.value_of(k))}));
        return b.select(b.scalar(ScalarOp::less, {at[0], b.integer(3)}), b.scalar(ScalarOp::exp, {total}), b.real(0));
    }));
    g.output(g.map("chosen", {x, c}, DType::float32, {6}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 4);
        const NodeId start = b.select(b.read(1, DType::boolean, at), b.integer(2), b.integer(100));
        const NodeId total = b.reduce(Reducer::sum, {k}, b.read(0, DType::float32, {b.plus(start, b.value_of(k))}));
        return b.select(b.read(1, DType::boolean, at), b.scalar(ScalarOp::exp, {total}), b.real(0));
    }));
    expect_same(g, 1e-6);
}

// Of what must hold where it is asked for, a reduction's equation asks what its reads need: it gets no axes from the rest.
TEST(Lower, AReductionHasNoAxesOfTheConditionsAroundIt) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {6}), ids = g.input("ids", DType::int64, {7});
    g.output(g.map("windows", {x, ids}, DType::float32, {6, 7}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 4);
        const NodeId read = b.read(0, DType::float32, {b.plus(at[0], b.value_of(k))});
        const NodeId total = b.reduce(Reducer::sum, {k}, b.scalar(ScalarOp::exp, {read}));
        const NodeId inside = b.scalar(ScalarOp::less, {at[0], b.integer(3)});
        const NodeId chosen = b.scalar(ScalarOp::equal, {b.read(1, DType::int64, {at[1]}), at[0]});
        return b.select(b.scalar(ScalarOp::logical_and, {chosen, inside}), total, b.real(0));
    }));
    const System system = expect_same(g, 1e-6);
    EXPECT_NE(print(system).find("local 'windows.sum': float32[6]\n"), std::string::npos) << print(system);
}

// Its elements would else be worked out for each point that reads them under a condition.
TEST(Lower, AnArrayIsWorkedOutWholeUnderAnyCondition) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {6}), ids = g.input("ids", DType::int64, {6});
    g.output(g.map("array", {x, ids}, DType::float32, {6}, [&](BodyBuilder& b, const auto& at) {
        const VariableId j = b.variable("j", 6, Variable::Kind::parallel);
        const NodeId id = b.scalar(ScalarOp::modulo, {b.read(1, DType::int64, {b.value_of(j)}), b.integer(6)});
        const int32_t local = b.local("g", {j}, b.scalar(ScalarOp::exp, {b.read(0, DType::float32, {id})}));
        const NodeId asked = b.scalar(ScalarOp::less, {b.real(0), b.read(0, DType::float32, at)});
        return b.select(asked, b.local_at(local, {at[0]}), b.real(0));
    }));
    const System system = expect_same(g, 1e-6);
    EXPECT_NE(print(system).find("local 'array.g': float32[6]\n"), std::string::npos) << print(system);
}

TEST(Lower, AStrongerConditionNeedsNoOtherEquation) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {6});
    g.output(g.map("window", {x}, DType::float32, {6}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 4);
        const NodeId total = b.reduce(Reducer::sum, {k}, b.read(0, DType::float32, {b.plus(at[0], b.value_of(k))}));
        const NodeId positive = b.scalar(ScalarOp::less, {b.real(0), total});
        const NodeId inside = b.select(positive, b.scalar(ScalarOp::exp, {total}), b.real(0));
        return b.select(b.scalar(ScalarOp::less, {at[0], b.integer(3)}), inside, b.real(0));
    }));
    const System system = expect_same(g, 1e-6);
    EXPECT_EQ(live_equations(system), 2u) << print(system);
}

TEST(Lower, LocalsAreNamedEquations) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {3, 4});
    g.output(g.map("local", {x}, DType::float32, {3, 4}, [&](BodyBuilder& b, const auto& at) {
        const VariableId j = b.variable("j", 5, Variable::Kind::parallel), k = b.reduction("k", 5);
        const NodeId cell = b.scalar(ScalarOp::modulo, {b.value_of(j), b.integer(4)});
        const int32_t local = b.local("g", {j}, b.scalar(ScalarOp::exp, {b.read(0, DType::float32, {at[0], cell})}));
        return b.plus(b.local_at(local, {at[1]}), b.reduce(Reducer::sum, {k}, b.local_at(local, {b.value_of(k)})));
    }));
    const System system = expect_same(g, 1e-6);
    EXPECT_EQ(live_equations(system), 3u);
    EXPECT_NE(print(system).find("local 'local.g': float32[3, 5]"), std::string::npos) << print(system);
}

TEST(Lower, InterpolationBecomesTables) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {2, 5});
    g.output(g.map("resize", {x}, DType::float32, {2, 12}, [&](BodyBuilder& b, const auto& at) {
        const DType wide = DType::float64;
        const VariableId c = b.reduction("c", 2);
        const NodeId place =
            b.minus(b.scalar(ScalarOp::divide, {b.plus(b.cast(wide, at[1]), b.real(0.5, wide)), b.real(2.4, wide)}),
                    b.real(0.5, wide));
        const NodeId low = b.scalar(ScalarOp::floor, {place}), part = b.cast(DType::float32, b.minus(place, low));
        const NodeId shifted = b.plus(b.cast(DType::int64, low), b.value_of(c));
        const NodeId cell =
            b.scalar(ScalarOp::maximum, {b.integer(0), b.scalar(ScalarOp::minimum, {shifted, b.integer(4)})});
        const NodeId first = b.scalar(ScalarOp::equal, {b.value_of(c), b.integer(0)});
        const NodeId weight = b.select(first, b.minus(b.real(1), part), part);
        return b.reduce(Reducer::sum, {c}, b.times(b.read(0, DType::float32, {at[0], cell}), weight));
    }));
    const System system = expect_same(g, 1e-6);
    EXPECT_NE(print(system).find("const table"), std::string::npos);
    EXPECT_EQ(print(system).find("floor("), std::string::npos) << print(system);
}

TEST(Lower, HalvesKeepTheirRounding) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float16, {4, 3});
    const TensorId y = g.map("scale", {x}, DType::float16, {4, 3}, [&](BodyBuilder& b, const auto& at) {
        return b.cast(DType::float16, b.times(b.cast(DType::float32, b.read(0, DType::float16, at)), b.real(1.1)));
    });
    g.output(g.map("total", {y}, DType::float16, {4}, [&](BodyBuilder& b, const auto& at) {
        const VariableId k = b.reduction("k", 3);
        const NodeId term = b.cast(DType::float32, b.read(0, DType::float16, {at[0], b.value_of(k)}));
        return b.cast(DType::float16, b.reduce(Reducer::sum, {k}, term));
    }));
    expect_same(g);
}

TEST(Lower, NamedSizesBecomeNamedAxes) {
    GraphBuilder g;
    const Size batch = named_size("batch", 1), width = named_size("length", 3) * Size(4);
    g.output(g.unary(ScalarOp::exp, g.input("x", DType::float32, {batch, width, 1})));
    g.graph.dimension_names = {{"batch", 1}, {"length", 3}};
    const System system = expect_same(g);
    const Equation& equation = system.equation(0);
    ASSERT_EQ(equation.axes.size(), 2u);
    EXPECT_TRUE(system.arena->axis(equation.axes[0]).named);
    EXPECT_EQ(system.arena->axis(equation.axes[1]).factor, 4);
    EXPECT_EQ(system.arena->axis(equation.axes[0]).most, 3);
    EXPECT_EQ(system.arena->axis(equation.axes[1]).most, 12);
    EXPECT_NE(print(system).find("< 12 named 4"), std::string::npos);
}

// Of 65 to 255 elements without 64 there are up to 191, and at the representative, 128, only 64.
// How a count over n - 64 of elements above zero is made, for n = 70 and other sizes of its class.
DType type_of_count(DType element) {
    GraphBuilder g;
    const Size all = named_size("n", 70), rest = all - Size(64);
    const TensorId x = g.input("x", element, {all});
    g.output(g.map("count", {x}, DType::int64, {}, [&](BodyBuilder& b, const auto&) {
        const VariableId k = b.reduction("k", rest);
        const NodeId zero = is_float(element) ? b.real(0) : b.integer(0, element);
        const NodeId above = b.scalar(ScalarOp::less, {zero, b.read(0, element, {b.value_of(k)})});
        return b.reduce(Reducer::sum, {k}, b.cast(DType::int64, above));
    }));
    g.graph.dimension_names = {{"n", 70}};
    System system = expect_same(g);
    narrow_integers(system);
    return system.equation(system.order().front()).right->dtype;
}

TEST(Lower, ACountOverADifferenceOfSizesHoldsAllOfItsClass) { EXPECT_EQ(type_of_count(DType::int8), DType::uint8); }

TEST(Lower, ACountIsNoNarrowerThanWhatItCompares) { EXPECT_EQ(type_of_count(DType::float32), DType::int32); }

TEST(Lower, OpaqueOperationsKeepTheirInputs) {
    GraphBuilder g;
    const TensorId x = g.input("x", DType::float32, {4});
    const TensorId a = g.unary(ScalarOp::exp, x), o = g.tensor("o", DType::float32, {4});
    Operation opaque;
    opaque.name = "external";
    opaque.inputs = {a};
    opaque.outputs = {o};
    g.graph.add_operation(opaque);
    g.output(g.unary(ScalarOp::log, o));
    const System system = lowered(g.graph);
    ASSERT_EQ(system.tensors.size(), 4u);
    EXPECT_EQ(live_equations(system), 2u);
    const auto made =
        std::find_if(system.tensors.begin(), system.tensors.end(), [](const SystemTensor& t) { return t.name == "o"; });
    ASSERT_NE(made, system.tensors.end());
    EXPECT_EQ(made->kind, SystemTensor::Kind::opaque);
    ASSERT_EQ(made->opaque_inputs.size(), 1u);
    EXPECT_TRUE(system.tensor(made->opaque_inputs[0]).is_output);
}

}  // namespace
}  // namespace heddle::equations
