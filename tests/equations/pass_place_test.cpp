// What is worked out once for each place that data, or several axes, choose.
#include <gtest/gtest.h>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "sound.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

TensorIndex bytes_of(SystemBuilder& b, std::vector<int64_t> shape) {
    const TensorIndex x = b.input(std::move(shape), "place");
    b.system.tensor(x).dtype = DType::uint8;
    return x;
}

// exp(table[x[i]]), or with what `beside` gives for the point.
System looked_up(int64_t elements, const std::function<Expr(SystemBuilder&, const Coordinates&)>& beside) {
    SystemBuilder b;
    const TensorIndex x = bytes_of(b, {1024}), table = b.input({elements});
    b.output(b.pointwise({1024}, [&](const Coordinates& i) {
        Expr place = b.arena().cast(DType::int64, b.arena().read(x, DType::uint8, i));
        return b.apply(ScalarOp::exp, {b.plus(b.read(table, {place}), beside(b, i))});
    }));
    hoist_expensive(b.system);
    expect_sound(b.system);
    return b.system;
}

TEST(PassPlace, WhatIsMadeOfATableIsMadeOfItsElements) {
    const System system = looked_up(256, [](SystemBuilder& b, const Coordinates&) { return b.number(1); });
    ASSERT_EQ(system.order().size(), 2u);
    EXPECT_EQ(system.equation(system.order().front()).points(*system.arena), 256);
    EXPECT_EQ(system.equation(system.order().back()).right->kind, Kind::read);
}

TEST(PassPlace, ALongTableStaysAndWhatElseIsReadToo) {
    EXPECT_EQ(looked_up(512, [](SystemBuilder& b, const Coordinates&) { return b.number(1); }).order().size(), 1u);
    const auto other = [](SystemBuilder& b, const Coordinates& i) { return b.read(b.input({1024}, "other"), i); };
    EXPECT_EQ(looked_up(256, other).order().size(), 1u);
}

TEST(PassPlace, ACastConstantIsPreparedInTheSmallerType) {
    SystemBuilder b;
    const TensorIndex x = b.input({64, 8}), weights = b.weights({8});
    b.system.tensor(weights).dtype = DType::float64;
    b.system.tensor(weights).constant = TensorData(DType::float64, {8});
    const auto weight = [&](const Coordinates& i) {
        return b.arena().cast(DType::float32, b.arena().read(weights, DType::float64, {i[1]}));
    };
    b.output(b.pointwise({64, 8}, [&](const Coordinates& i) { return b.times(b.read(x, i), weight(i)); }));
    b.output(b.pointwise({64, 8}, [&](const Coordinates& i) { return b.plus(b.read(x, i), weight(i)); }));
    hoist_expensive(b.system);
    expect_sound(b.system);
    ASSERT_EQ(b.system.order().size(), 3u);  // one table for both
    const SystemTensor& made = b.system.tensors.back();
    EXPECT_TRUE(made.prepared);
    EXPECT_EQ(made.dtype, DType::float32);
}

// sum(k : x[row(i, a), 4 j + k]) for a row that two axes choose.
size_t equations_of_rows(int64_t rows) {
    SystemBuilder b;
    const TensorIndex x = b.input({rows, 64}), first = b.indices(std::vector<int64_t>(64, 3));
    Arena& arena = b.arena();
    const TensorIndex sums = b.reduce({64, 4, 16}, Reducer::sum, {64}, [&](const Coordinates& i, const Coordinates& k) {
        const Expr row = arena.add(arena.read(first, DType::int64, {i[0]}), i[1]);
        const Expr inside = arena.minimum(arena.maximum(row, arena.integer(0)), arena.integer(rows - 1));
        return b.times(b.read(x, {inside, k[0]}), b.read(x, {i[2], k[0]}));
    });
    b.output(b.unary(sums, ScalarOp::exp));
    separate_windows(b.system);
    expect_sound(b.system);
    return b.system.order().size();
}

TEST(PassPlace, AReductionIsDoneOnceForARowThatAxesChoose) {
    EXPECT_EQ(equations_of_rows(100), 3u);
    EXPECT_EQ(equations_of_rows(200), 2u);
}

}  // namespace
}  // namespace heddle::equations::testing
