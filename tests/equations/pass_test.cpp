// The substitution passes one by one, on small systems.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "equations/common_axes.h"
#include "equations/fusion.h"
#include "equations/passes.h"
#include "equations/kept_steps.h"
#include "equations/pass_support.h"
#include "sound.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

TEST(PassNames, SoftmaxExponentialIsNamedOnce) {
    SystemBuilder b;
    const TensorIndex x = b.input({4, 8});
    const TensorIndex maximum = b.reduce_last(x, Reducer::maximum);
    const auto power = [&](const Coordinates& at) {
        return b.apply(ScalarOp::exp, {b.minus(b.read(x, at), b.read_broadcast(maximum, at))});
    };
    const TensorIndex sum = b.reduce({4, 1}, Reducer::sum, {8},
                                     [&](const Coordinates& i, const Coordinates& k) { return power({i[0], k[0]}); });
    b.output(b.pointwise({4, 8}, [&](const Coordinates& i) {
        return b.times(power(i), b.apply(ScalarOp::reciprocal, {b.read_broadcast(sum, i)}));
    }));
    name_common_subexpressions(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 4u);
    int exponentials = 0;
    for (int32_t index : b.system.order()) {
        for (Expr node : walk(b.system.equation(index).right))
            exponentials += node->kind == Kind::scalar && node->op == ScalarOp::exp;
    }
    EXPECT_EQ(exponentials, 1);
}

TEST(PassNames, WhatASelectionKeepsInBoundsIsNotComputedEverywhere) {
    SystemBuilder b;
    const TensorIndex x = b.input({4});
    const auto half = [&](const Coordinates& i) {
        Expr behind = b.apply(ScalarOp::exp, {b.read(x, {b.arena().add(i[0], b.arena().integer(2))})});
        return b.arena().select(b.arena().less(i[0], b.arena().integer(2)), behind, b.number(0));
    };
    b.output(b.pointwise({4}, half));
    b.output(b.pointwise({4}, [&](const Coordinates& i) { return b.plus(half(i), b.number(1)); }));
    name_common_subexpressions(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

TEST(PassMerge, WhatTwoOperationsMakeAlikeIsMadeOnce) {
    SystemBuilder b;
    const TensorIndex x = b.input({4, 8});
    const auto squares = [&] {
        return b.reduce({4, 1}, Reducer::sum, {8}, [&](const Coordinates& i, const Coordinates& k) {
            return b.times(b.read(x, {i[0], k[0]}), b.read(x, {i[0], k[0]}));
        });
    };
    const TensorIndex first = squares(), second = squares();
    const TensorIndex other = b.reduce_last(x, Reducer::maximum);
    b.output(b.pointwise({4, 8}, [&](const Coordinates& i) {
        return b.plus(b.read_broadcast(first, i), b.plus(b.read_broadcast(second, i), b.read_broadcast(other, i)));
    }));
    merge_equal(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 3u);
}

TEST(PassMerge, AnOutputStays) {
    SystemBuilder b;
    const TensorIndex x = b.input({4});
    for (int i = 0; i < 2; i++) b.output(b.unary(x, ScalarOp::negate));
    merge_equal(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

TEST(PassHoist, WhatAnOuterAxisRepeatsIsDoneOnce) {
    SystemBuilder b;
    const TensorIndex x = b.input({64, 1024}), angle = b.input({1024}), scale = b.input({64});
    b.output(b.pointwise({64, 1024}, [&](const Coordinates& i) {
        return b.times(b.read(x, i), b.apply(ScalarOp::sin, {b.read(angle, {i[1]})}));
    }));
    // For an inner axis a kernel does it once anyhow.
    b.output(b.pointwise({64, 1024}, [&](const Coordinates& i) {
        return b.times(b.read(x, i), b.apply(ScalarOp::exp, {b.read(scale, {i[0]})}));
    }));
    hoist_expensive(b.system);
    expect_sound(b.system);
    ASSERT_EQ(live(b.system), 3u);
    const Equation& hoisted = b.system.equations.back();
    EXPECT_EQ(hoisted.points(b.arena()), 1024);
    EXPECT_EQ(hoisted.right->op, ScalarOp::sin);
}

// A factor of a row and a term, beside columns of another one: a polynomial of so many steps.
size_t live_with_factor(int steps, int64_t columns) {
    SystemBuilder b;
    const TensorIndex x = b.input({64, 128}), y = b.input({64, 128}), w = b.input({128, columns});
    b.output(b.reduce({64, columns}, Reducer::sum, {128}, [&](const Coordinates& i, const Coordinates& k) {
        Expr factor = b.read(x, {i[0], k[0]});
        for (int step = 0; step < steps; step++)
            factor = b.plus(b.times(factor, b.read(y, {i[0], k[0]})), b.read(x, {i[0], k[0]}));
        return b.times(factor, b.read(w, {k[0], i[1]}));
    }));
    hoist_expensive(b.system);
    expect_sound(b.system);
    return live(b.system);
}

TEST(PassHoist, ALongFactorBesideManyColumnsIsWorkedOutOnce) {
    EXPECT_EQ(live_with_factor(4, 64), 2u);
    EXPECT_EQ(live_with_factor(1, 64), 1u);  // a row's own loads take longer
    EXPECT_EQ(live_with_factor(4, 8), 1u);   // one vector of columns
}

TEST(PassHoist, WhatASelectionKeepsInBoundsStays) {
    SystemBuilder b;
    const TensorIndex x = b.input({64, 1024}), angle = b.input({512});
    b.output(b.pointwise({64, 1024}, [&](const Coordinates& i) {
        Expr value = b.apply(ScalarOp::sin, {b.read(angle, {i[1]})});
        return b.arena().select(b.arena().less(i[1], b.arena().integer(512)), value, b.read(x, i));
    }));
    hoist_expensive(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 1u);
}

TEST(PassFactor, AnEmptyAxisCutsNothing) {
    SystemBuilder b;
    const TensorIndex made = b.unary(b.input({4, 9}), ScalarOp::negate);
    b.output(b.reduce({4}, Reducer::sum, {0},
                      [&](const Coordinates& i, const Coordinates& k) { return b.read(made, {i[0], k[0]}); }));
    factor_axes(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

TEST(PassViews, CleanReshapesVanishAndUncleanOnesStay) {
    SystemBuilder clean;
    clean.output(clean.unary(clean.reshape(clean.input({6, 4}), {4, 6}), ScalarOp::negate));
    compose_views(clean.system);
    expect_sound(clean.system);
    EXPECT_EQ(live(clean.system), 1u);
    // [4, 6] transposed to [6, 4] and read as [3, 8]: 8 and 4 cut no chain that fits 6 columns.
    SystemBuilder unclean;
    const TensorIndex turned = unclean.transpose(unclean.input({4, 9}), {1, 0});
    unclean.output(unclean.unary(unclean.reshape(turned, {2, 18}), ScalarOp::negate));
    compose_views(unclean.system);
    expect_sound(unclean.system);
    EXPECT_EQ(live(unclean.system), 2u);
}

TEST(PassViews, AGuardPassesAWholeTranspose) {
    SystemBuilder b;
    const TensorIndex turned = b.transpose(b.input({4, 9}), {1, 0});
    b.output(b.pointwise({11, 4}, [&](const Coordinates& i) {
        return b.arena().guarded_read(turned, DType::float32, {b.arena().add(i[0], b.arena().integer(-1)), i[1]},
                                      b.number(0), {9, 4});
    }));
    compose_views(b.system);
    expect_sound(b.system);
    ASSERT_EQ(live(b.system), 1u);
    EXPECT_EQ(b.system.equation(b.system.order()[0]).right->kind, Kind::guarded_read);
}

TEST(PassPointwise, AReductionDoesNotRepeatWork) {
    // exp(x) is read by a product at more points: it keeps its name.
    SystemBuilder b;
    const TensorIndex power = b.unary(b.input({16, 32}), ScalarOp::exp);
    b.output(b.matmul(power, b.input({32, 8})));
    optimise(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

TEST(PassPointwise, AComputedProducerUnderAGuardKeepsItsName) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({1, 3, 8, 8}), ScalarOp::negate);
    b.output(b.convolution(x, b.weights({4, 3, 3, 3}), 1));
    optimise(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

Expr padded(SystemBuilder& b, TensorIndex x, const Coordinates& at) {
    return b.arena().guarded_read(x, DType::float32, at, b.number(0), b.system.tensor(x).shape);
}

TEST(PassPointwise, WhatIsComputedAndThenPaddedIsOneEquation) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({3, 8}), ScalarOp::exp);
    b.output(b.pointwise({6, 8}, [&](const Coordinates& i) {
        return padded(b, x, {b.arena().add(i[0], b.arena().integer(-2)), i[1]});
    }));
    optimise(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 1u);
}

TEST(PassPointwise, WhatAPaddingRepeatsIsStored) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({3}), ScalarOp::exp);
    b.output(b.pointwise({6, 8}, [&](const Coordinates& i) {
        return padded(b, x, {b.arena().add(i[0], b.arena().integer(-2))});
    }));
    optimise(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 2u);
}

TEST(PassDistribute, AnElementwiseReaderOfAConcatIsWrittenInPieces) {
    SystemBuilder b;
    const TensorIndex joined = b.concatenate({b.matmul(b.input({4, 8}), b.input({8, 16})), b.input({4, 3})}, 1);
    const TensorIndex y = b.unary(joined, ScalarOp::sigmoid);
    b.output(y);
    optimise(b.system);
    expect_sound(b.system);
    EXPECT_EQ(b.system.tensor(y).equations.size(), 2u);
    EXPECT_TRUE(b.system.tensor(joined).dead);
}

TEST(PassFactor, HeadsBecomeAxes) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({10, 32}), ScalarOp::tanh);
    const TensorIndex heads = b.transpose(b.reshape(x, {10, 4, 8}), {1, 0, 2});
    b.output(b.matmul(heads, b.transpose(heads, {0, 2, 1})));
    optimise(b.system);
    expect_sound(b.system);
    for (int32_t index : b.system.order()) {
        for (Expr node : walk(b.system.equation(index).right)) {
            EXPECT_NE(node->kind, Kind::floor_divide);
            EXPECT_NE(node->kind, Kind::modulo);
        }
        if (b.system.equation(index).tensor == x) {
            EXPECT_EQ(b.system.equation(index).axes.size(), 3u);
        }
    }
}

TEST(PassPullOut, TheSoftmaxDivisionLeavesTheProduct) {
    SystemBuilder b;
    const TensorIndex scores = b.input({64, 48});
    b.output(b.matmul(b.softmax(scores), b.input({48, 16})));
    optimise(b.system);
    expect_sound(b.system);
    for (int32_t index : b.system.order()) {
        const Equation& equation = b.system.equation(index);
        for (Expr node : walk(equation.right)) {
            const bool division = node->kind == Kind::scalar && node->op == ScalarOp::reciprocal;
            if (division) {
                EXPECT_FALSE(equation.reducer.has_value());
            }
        }
    }
    EXPECT_EQ(live(b.system), 5u);  // max, exp, sum, product, product times 1 / sum
}

// Sixty squares of squares have 2^60 factors in sixty nodes.
TEST(PassPullOut, SquaresOfSquaresAreNotOpened) {
    SystemBuilder b;
    const TensorIndex x = b.input({4, 8});
    b.output(b.reduce({4}, Reducer::sum, {8}, [&](const Coordinates& i, const Coordinates& k) {
        Expr value = b.read(x, {i[0], k[0]});
        for (int n = 0; n < 60; ++n) value = b.times(value, value);
        return value;
    }));
    pull_out_factors(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 1u);
}

// The squares of x / max x are in its type where those of x are not.
TEST(PassPullOut, AScaleOfSquaresStays) {
    for (const bool twice : {false, true}) {
        SystemBuilder b;
        const TensorIndex x = b.input({4, 800});
        const TensorIndex most = b.reduce({4}, Reducer::maximum, {800}, [&](const Coordinates& i, const Coordinates& k) {
            return b.read(x, {i[0], k[0]});
        });
        b.output(b.reduce({4}, Reducer::sum, {800}, [&](const Coordinates& i, const Coordinates& k) {
            const Expr value = b.read(x, {i[0], k[0]}), scale = b.read(most, {i[0]});
            return b.times(b.times(value, scale), twice ? b.times(value, scale) : value);
        }));
        pull_out_factors(b.system);
        expect_sound(b.system);
        EXPECT_EQ(live(b.system), twice ? 2u : 3u);
    }
}

// The type that the sum of the terms is accumulated in, and those of all right sides.
std::string types_after_narrowing(const std::string& text) {
    auto system = parse_system(std::make_shared<SourceText>("system", text));
    EXPECT_TRUE(system) << (system ? "" : render(system.error()));
    if (!system) return "";
    narrow_integers(*system);
    expect_sound(*system);
    std::string types;
    for (int32_t index : system->order()) types += std::string(name(system->equation(index).right->dtype)) + " ";
    return types;
}

TEST(PassNarrow, ASumOfSmallIntegersIsSmall) {
    const auto sum = [](const std::string& term, int64_t terms, const std::string& dtype = "int64") {
        return types_after_narrowing(
            fmt::format("system s\n in x: uint8[9, 3000]\n out y: {0}[9]\n"
                        " for i < 9: y[i] = sum(k < {1} : {2})\n outputs y\n",
                        dtype, terms, term));
    };
    EXPECT_EQ(sum("(value.less(x[i, k], uint8(3)) ? 1 : 0)", 127), "int8 int64 ");
    EXPECT_EQ(sum("(value.less(x[i, k], uint8(3)) ? 1 : 0)", 128), "uint8 int64 ");
    EXPECT_EQ(sum("(value.less(x[i, k], uint8(3)) ? 1 : -1)", 127), "int8 int64 ");
    EXPECT_EQ(sum("(value.less(x[i, k], uint8(3)) ? 1 : -1)", 128), "int16 int64 ");
    EXPECT_EQ(sum("int64(x[i, k])", 257), "uint16 int64 ");
    EXPECT_EQ(sum("int64(x[i, k])", 258), "int32 int64 ");
    EXPECT_EQ(sum("int32(x[i, k])", 258, "int32"), "int32 ");
    EXPECT_EQ(sum("x[i, k]", 258, "uint8"), "uint8 ");  // it may wrap, and does so all the same
}

// The sum of 5 x 7 elements, of which `moved` says at which row.
TensorIndex window(SystemBuilder& b, TensorIndex x, const std::function<Expr(Expr, Expr)>& moved) {
    return b.reduce({16, 10}, Reducer::sum, {5, 7}, [&, moved](const Coordinates& i, const Coordinates& k) {
        return b.read(x, {moved(i[0], k[0]), b.arena().add(i[1], k[1])});
    });
}

TEST(PassSeparate, AWindowIsOneAxisAfterTheOther) {
    SystemBuilder b;
    const TensorIndex x = b.input({20, 16});
    b.output(window(b, x, [&](Expr i, Expr k) { return b.arena().add(i, k); }));
    separate_windows(b.system);
    expect_sound(b.system);
    ASSERT_EQ(live(b.system), 2u);
    std::vector<size_t> terms;
    for (int32_t index : b.system.order()) {
        EXPECT_FALSE(b.system.equation(index).reducer);
        terms.push_back(reads(b.system.equation(index)).size());
    }
    EXPECT_EQ(terms, (std::vector<size_t>{5, 7}));
}

TEST(PassSeparate, AGuardedWindowIsOneAxisAfterTheOther) {
    SystemBuilder b;
    Arena& arena = b.arena();
    const TensorIndex x = b.input({20, 16});
    b.output(b.reduce({20, 16}, Reducer::maximum, {5, 5}, [&](const Coordinates& i, const Coordinates& k) {
        const auto moved = [&](size_t d) { return arena.add(arena.add(i[d], k[d]), arena.integer(-2)); };
        return arena.guarded_read(x, DType::float32, {moved(0), moved(1)}, b.number(0.5), {20, 16});
    }));
    separate_windows(b.system);
    expect_sound(b.system);
    ASSERT_EQ(live(b.system), 2u);
    for (int32_t index : b.system.order()) EXPECT_EQ(reads(b.system.equation(index)).size(), 5u);
}

TEST(PassSeparate, AWindowWhoseColumnsFollowItsRowsStays) {
    SystemBuilder b;
    const TensorIndex x = b.input({20, 16});
    b.output(b.reduce({16, 6}, Reducer::sum, {5, 5}, [&](const Coordinates& i, const Coordinates& k) {
        const Expr column = b.arena().add(b.arena().add(i[1], k[1]), k[0]);
        return b.read(x, {b.arena().add(i[0], k[0]), column});
    }));
    separate_windows(b.system);
    EXPECT_EQ(live(b.system), 1u);
}

TEST(PassNarrow, StepsOnTheWayToBytesAreSmall) {
    SystemBuilder b;
    const TensorIndex x = b.input({40});
    b.system.tensor(x).dtype = DType::uint8;
    Arena& arena = b.arena();
    const auto element = [&](const Coordinates& i) { return arena.cast(DType::int32, arena.read(x, DType::uint8, i)); };
    const TensorIndex y = b.pointwise({40}, [&](const Coordinates& i) {
        const Expr sum = arena.scalar(ScalarOp::add, DType::int32, {element(i), element(i)});
        return arena.cast(DType::uint8,
                          arena.scalar(ScalarOp::floor_divide, DType::int32, {sum, arena.literal(DType::int32, 2)}));
    });
    b.system.tensor(y).dtype = DType::uint8;
    b.output(y);
    narrow_steps(b.system);
    expect_sound(b.system);
    for (Expr node : walk(b.system.equation(b.system.order().front()).right)) EXPECT_NE(node->dtype, DType::int32);
}

// The type of state c of n steps.
DType type_of_counter(int64_t steps, const std::string& next, const std::string& first = "0") {
    auto system = parse_system(std::make_shared<SourceText>(
        "system", fmt::format("system s\n in x: int32[9]\n local c: int64[{3}]\n out y: int64[9]\n c[0] = {2}\n"
                              " for t < {0} ordered 0: c[(t + 1)] = {1}\n"
                              " for i < 9: y[i] = value.add(c[i], int64(x[i]))\n outputs y\n",
                              steps, next, first, steps + 1)));
    EXPECT_TRUE(system) << (system ? "" : render(system.error()));
    if (!system) return DType::boolean;
    narrow_integers(*system);
    expect_sound(*system);
    for (const SystemTensor& tensor : system->tensors) {
        if (tensor.name == "c") return tensor.dtype;
    }
    return DType::boolean;
}

TEST(PassNarrow, ACounterOfAScanIsOf32Bits) {
    const std::string one = "(value.less(x[(t % 9)], int32(3)) ? 1 : 0)";
    EXPECT_EQ(type_of_counter(1000, "value.add(c[t], " + one + ")"), DType::int32);
    EXPECT_EQ(type_of_counter(1000, "value.add(c[t], " + one + ")", "int64(x[0])"), DType::int64);
    EXPECT_EQ(type_of_counter(1000, "value.sub(c[t], " + one + ")", "5"), DType::int32);
    EXPECT_EQ(type_of_counter(1000, "(value.less(c[t], 7) ? value.add(c[t], 2) : 0)"), DType::int32);
    EXPECT_EQ(type_of_counter(1000, "value.max(c[t], value.add(4, c[t]))"), DType::int32);
    EXPECT_EQ(type_of_counter(int64_t{1} << 31, "value.add(c[t], " + one + ")"), DType::int64);
    EXPECT_EQ(type_of_counter(1000, "value.add(c[t], int64(x[0]))"), DType::int64);
    EXPECT_EQ(type_of_counter(1000, "value.add(c[t], c[t])"), DType::int64);
    EXPECT_EQ(type_of_counter(1000, "value.mul(c[t], 2)"), DType::int64);
}

TEST(PassPrepare, WhatIsMadeOfConstantsIsPrepared) {
    SystemBuilder b;
    const TensorIndex scaled = b.unary(b.weights({8, 8}), ScalarOp::exp);
    b.output(b.matmul(b.input({4, 8}), scaled));
    optimise(b.system);
    EXPECT_TRUE(b.system.tensor(scaled).prepared);
    const Partition partition = fuse(b.system, Target(), {});
    ASSERT_EQ(partition.kernels.size(), 2u);
    EXPECT_TRUE(partition.prepared[0]);
    EXPECT_FALSE(partition.prepared[1]);
    EXPECT_EQ(partition.batches.size(), 1u);
}

// One number for all elements of a large tensor is read where it is, and not spread first; for a small one it is.
TEST(PassPrepare, WhatIsSpreadIsWorkedOutWhereItIsRead) {
    for (int64_t rows : {8, 1024}) {
        SystemBuilder b;
        const TensorIndex one = b.weights({1}), x = b.input({rows, 64});
        const TensorIndex spread = b.pointwise({rows, 64}, [&](const auto&) {
            return b.apply(ScalarOp::divide, {b.read(one, {b.system.arena->integer(0)}), b.number(7)});
        });
        b.output(b.binary(b.binary(x, spread, ScalarOp::multiply), spread, ScalarOp::add));
        optimise(b.system);
        EXPECT_EQ(b.system.tensor(spread).equations.empty(), rows == 1024);
    }
}

// How many bins get the terms of `terms` indices.
System histogram(int64_t terms, int64_t bins, bool named) {
    SystemBuilder b;
    const TensorIndex place = b.input({terms}, "place");
    b.system.tensor(place).dtype = DType::int64;
    b.output(b.reduce({bins}, Reducer::sum, {terms}, [&](const Coordinates& i, const Coordinates& k) {
        Expr chosen = b.arena().scalar(ScalarOp::equal, DType::boolean, {b.read(place, {k[0]}), i[0]});
        return b.arena().select(chosen, b.number(1), b.number(0));
    }));
    if (named) {
        System& system = b.system;
        Equation& equation = system.equation(0);
        const AxisId axis = b.arena().add_axis({.name = "k", .extent = terms, .named = true, .factor = 1});
        equation.right = b.arena().substitute(equation.right, {{equation.reduced[0], b.arena().axis_value(axis)}});
        equation.reduced = {axis};
    }
    return b.system;
}

TEST(PassSplitScatters, ManyTermsOfFewElementsArePartsThatAreTasks) {
    System even = histogram(1 << 20, 100, false);
    optimise(even);
    expect_sound(even);
    ASSERT_EQ(live(even), 2u);  // the copies, and their sum
    const Partition partition = fuse(even, Target(), {});
    ASSERT_EQ(partition.kernels.size(), 2u);
    ASSERT_EQ(partition.kernels[0].common.size(), 1u);
    EXPECT_EQ(partition.kernels[0].common[0].extent, 16);
}

TEST(PassSplitScatters, WhatIsLeftIsAddedBehindTheParts) {
    System odd = histogram((1 << 20) + 3, 100, false), named = histogram(1 << 20, 100, true);
    for (System* system : {&odd, &named}) {
        optimise(*system);
        expect_sound(*system);
        EXPECT_EQ(live(*system), 4u);
    }
}

TEST(PassSplitScatters, NothingIsSplitThatIsShortOrMakesMuch) {
    System little = histogram(1 << 12, 100, false), wide = histogram(1 << 20, 1 << 18, false);
    for (System* system : {&little, &wide}) {
        optimise(*system);
        EXPECT_EQ(live(*system), 1u);
    }
}

TEST(PassSplitScatters, NothingOfAScanIsSplit) {
    auto system = parse_system(std::make_shared<const SourceText>(
        "scan.txt",
        "system s\n in x: float32[100]\n in to: int64[1000000]\n local h: float32[6, 100]\n local f: float32[5, 100]\n"
        " out y: float32[100]\n for i < 100: h[0, i] = x[i]\n"
        " for t < 5 named 1 ordered 0, i < 100: f[t, i] = sum(k < 1000000 : (i == to[k]) ? h[t, i] : 0.0)\n"
        " for t < 5 named 1 ordered 0, i < 100: h[t + 1, i] = f[t, i]\n for i < 100: y[i] = h[5, i]\n outputs y\n"));
    ASSERT_TRUE(system) << render(system.error());
    optimise(*system);
    expect_sound(*system);
    for (const Equation& equation : system->equations) {
        const bool reduces = equation.reducer.has_value();
        EXPECT_TRUE(!reduces || system->arena->extent(equation.reduced[0]) == 1000000);
    }
    EXPECT_FALSE(kept_steps(*system).empty());
}

std::vector<int64_t> extents(const CommonAxes& common) {
    std::vector<int64_t> result;
    for (const auto& axis : common.axes) result.push_back(axis.extent);
    return result;
}

// y walks the steps and joins, and z, which reads them from the end, the other way round; w needs all of them
// elsewhere.
TEST(PassScans, ReadersThatWalkTheStepsJoin) {
    auto system = parse_system(std::make_shared<const SourceText>(
        "scan.txt",
        "system s\n in x: float32[5, 2]\n local h: float32[6, 2]\n local m: float32[2]\n out y: float32[5, 2]\n"
        " out z: float32[5, 2]\n out w: float32[5, 2]\n for b < 2: h[0, b] = 0.0\n"
        " for t < 5 named 1 ordered 0, b < 2: h[t + 1, b] = h[t, b] * 0.5 + x[t, b]\n"
        " for b < 2: m[b] = max(t < 6 : h[t, b])\n for s < 5, b < 2: y[s, b] = h[s + 1, b] - h[s, b]\n"
        " for s < 5, b < 2: z[s, b] = h[5 - s, b]\n for s < 5, b < 2: w[s, b] = h[s + 1, b] * m[b]\n"
        " outputs y, z, w"));
    ASSERT_TRUE(system) << render(system.error());
    expect_sound(*system);
    join_scans(*system);
    expect_sound(*system);
    for (const Equation& equation : system->equations) {
        const std::string& name = system->tensor(equation.tensor).name;
        const bool joins = name == "y" || name == "z" || (name == "h" && equation.piece == 1);
        EXPECT_EQ(equation.scan, joins ? 0 : -1) << name;
    }
}

CommonAxes common_axes(const System& system) {
    const FusionGraph graph(system);
    CommonAxesFinder finder(graph);
    std::vector<int32_t> all(graph.nodes.size());
    std::iota(all.begin(), all.end(), 0);
    return equations::common_axes(graph, finder, all);
}

TEST(CommonAxes, OfTheCasesOfTheDocumentation) {
    {
        SystemBuilder b;
        b.output(b.softmax(b.input({5, 7})));
        optimise(b.system);
        EXPECT_EQ(extents(common_axes(b.system)), (std::vector<int64_t>{5}));
    }
    {
        SystemBuilder b;
        b.output(b.binary(b.matmul(b.input({5, 7}), b.input({7, 9})), b.input({9}), ScalarOp::add));
        optimise(b.system);
        EXPECT_EQ(extents(common_axes(b.system)), (std::vector<int64_t>{5, 9}));
    }
    {  // x + transpose(x), x made in the kernel: one class would hold two axes of one equation.
        SystemBuilder b;
        const TensorIndex x = b.reduce_last(b.input({6, 6, 9}), Reducer::sum);
        const TensorIndex square = b.reshape(x, {6, 6});
        b.output(b.binary(square, b.transpose(square, {1, 0}), ScalarOp::add));
        optimise(b.system);
        EXPECT_TRUE(common_axes(b.system).axes.empty());
    }
}

TEST(CommonAxes, ALightStatisticMayLackThem) {
    // One mean for the whole row of a wide product: each task of the product computes it again.
    SystemBuilder b;
    const TensorIndex x = b.input({1, 64});
    const TensorIndex mean = b.mean_last(x);
    const TensorIndex y = b.matmul(b.input({256, 64}), b.input({64, 256}));
    b.output(b.binary(y, b.reshape(mean, {1}), ScalarOp::add));
    optimise(b.system);
    const CommonAxes common = common_axes(b.system);
    EXPECT_EQ(extents(common), (std::vector<int64_t>{256, 256}));
    EXPECT_FALSE(common.light.empty());
}

}  // namespace
}  // namespace heddle::equations::testing
