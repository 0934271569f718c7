// Short axes that choose from lists are written out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "equations/passes.h"
#include "equations/pass_support.h"
#include "sound.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

TEST(PassWriteOut, GroupsOfBytesAreSumsOfReads) {
    const auto stays = [](const std::string& dtype, int64_t group, int64_t terms) {
        auto system = parse_system(std::make_shared<SourceText>(
            "system",
            fmt::format("system s\n in x: {0}[900]\n out y: {0}[99]\n"
                        " for i < 99: y[i] = sum(k < {2} : value.mul(x[{1} * i + k], x[{1} * i + k]))\n outputs y\n",
                        dtype, group, terms)));
        EXPECT_TRUE(system) << (system ? "" : render(system.error()));
        if (!system) return false;
        unroll_axes(*system);
        expect_sound(*system);
        return system->equation(system->order().front()).reducer.has_value();
    };
    EXPECT_FALSE(stays("uint8", 8, 8));
    EXPECT_FALSE(stays("uint8", 6, 5));
    EXPECT_TRUE(stays("uint8", 8, 9));  // not groups: they overlap
    EXPECT_TRUE(stays("uint8", 9, 8));
    EXPECT_TRUE(stays("int32", 8, 8));
}

// A weight for each of three neighbours, as a list: a chain of selections.
Expr weight(SystemBuilder& b, Expr k) {
    Arena& arena = b.arena();
    return arena.select(arena.less(k, arena.integer(1)), b.number(0.25),
                        arena.select(arena.less(k, arena.integer(2)), b.number(0.5), b.number(0.125)));
}

TEST(PassWriteOut, AWindowWithAListIsASumOfReads) {
    SystemBuilder b;
    const TensorIndex x = b.input({10});
    b.output(b.reduce({8}, Reducer::sum, {3}, [&](const Coordinates& i, const Coordinates& k) {
        return b.times(weight(b, k[0]), b.read(x, {b.arena().add(i[0], k[0])}));
    }));
    unroll_axes(b.system);
    expect_sound(b.system);
    const Equation& e = b.system.equation(b.system.order().front());
    EXPECT_FALSE(e.reducer);
    EXPECT_EQ(reads(e).size(), 3u);
    for (Expr node : walk(e.right)) EXPECT_NE(node->kind, Kind::select);
}

TEST(PassWriteOut, WhatReadsAWrittenAxisIsWrittenWithIt) {
    SystemBuilder b;
    const TensorIndex x = b.input({3, 8});
    const TensorIndex scaled =
        b.pointwise({3, 8}, [&](const Coordinates& i) { return b.times(weight(b, i[0]), b.read(x, {i[0], i[1]})); });
    b.output(b.reduce({8}, Reducer::sum, {3},
                      [&](const Coordinates& i, const Coordinates& k) { return b.read(scaled, {k[0], i[0]}); }));
    b.output(b.pointwise({3, 8}, [&](const Coordinates& i) { return b.read(scaled, i); }));
    unroll_axes(b.system);
    expect_sound(b.system);
    EXPECT_EQ(live(b.system), 7u);  // three of each, and the sum
}

// Its first steps backwards, from a table of lengths: at each point one branch is taken, and the other one reads outside.
TEST(PassWriteOut, BranchesThatNumbersDecideAreTaken) {
    auto system = parse_system(std::make_shared<SourceText>(
        "system",
        "system s\n in x: float32[3]\n out y: float32[1]\n const lengths: int64[3] = [3, 2, 1]\n"
        " for i < 1: y[i] = sum(k < 3 : x[(value.less(k, lengths[k]) ? lengths[k] - 1 - k : k)])\n outputs y\n"));
    ASSERT_TRUE(system) << render(system.error());
    unroll_axes(*system);
    expect_sound(*system);
    const Equation& e = system->equation(system->order().front());
    EXPECT_FALSE(e.reducer);
    for (Expr node : walk(e.right)) EXPECT_NE(node->kind, Kind::select);
}

TEST(PassWriteOut, AProductStaysOne) {
    SystemBuilder b;
    const TensorIndex x = b.input({3, 8}), w = b.input({3, 40});
    b.output(b.reduce({40, 8}, Reducer::sum, {3}, [&](const Coordinates& i, const Coordinates& k) {
        return b.times(b.times(weight(b, k[0]), b.read(x, {k[0], i[1]})), b.read(w, {k[0], i[0]}));
    }));
    unroll_axes(b.system);
    EXPECT_TRUE(b.system.equation(b.system.order().front()).reducer);
}

TEST(PassWriteOut, AnInnermostAxisOfAnOutputStays) {
    SystemBuilder b;
    const TensorIndex x = b.input({8, 3});
    b.output(b.pointwise({8, 3}, [&](const Coordinates& i) { return b.times(weight(b, i[1]), b.read(x, i)); }));
    unroll_axes(b.system);
    EXPECT_EQ(live(b.system), 1u);
}

// The sum of two neighbours of each pixel, of that many channels.
System halved_pixels(int64_t channels) {
    SystemBuilder b;
    const TensorIndex x = b.input({16, channels});
    b.output(b.reduce({8, channels}, Reducer::sum, {2}, [&](const Coordinates& i, const Coordinates& k) {
        return b.read(x, {b.arena().add(k[0], i[0], 2), i[1]});
    }));
    unroll_axes(b.system);
    expect_sound(b.system);
    return b.system;
}

TEST(PassWriteOut, AWindowOverPixelsIsASumOfReads) {
    const System few = halved_pixels(3), many = halved_pixels(32);
    EXPECT_FALSE(few.equation(few.order().front()).reducer);
    EXPECT_TRUE(many.equation(many.order().front()).reducer);
}

}  // namespace
}  // namespace heddle::equations::testing
