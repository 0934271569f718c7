// Pinned launch counts of the small cases of docs/equations.md: fusion is what these say, on no clock.
#include <gtest/gtest.h>

#include "equations/fusion.h"
#include "equations/passes.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

size_t kernels(SystemBuilder& builder, bool one_contraction = true) {
    optimise(builder.system);
    auto sound = verify(builder.system);
    EXPECT_TRUE(sound) << (sound ? "" : render(sound.error()));
    const Target target;
    FusionOptions options;
    options.one_contraction = one_contraction;
    const Partition partition = fuse(builder.system, target, options);
    size_t run = 0;
    for (bool prepared : partition.prepared) run += !prepared;
    return run;
}

TEST(FusionCounts, SoftmaxFromPrimitives) {
    SystemBuilder b;
    b.output(b.softmax(b.input({256, 1000})));
    EXPECT_EQ(kernels(b), 1u);
}

TEST(FusionCounts, LayerNormFromPrimitives) {
    SystemBuilder b;
    const TensorIndex x = b.input({128, 768});
    const TensorIndex centred = b.binary(x, b.mean_last(x), ScalarOp::subtract);
    const TensorIndex variance = b.mean_last(b.binary(centred, centred, ScalarOp::multiply));
    const TensorIndex deviation = b.unary(b.shifted(variance, 1e-5), ScalarOp::sqrt);
    const TensorIndex normal = b.divided_by_statistic(centred, deviation);
    const TensorIndex scaled = b.binary(normal, b.weights({768}), ScalarOp::multiply);
    b.output(b.binary(scaled, b.weights({768}), ScalarOp::add));
    EXPECT_EQ(kernels(b), 1u);
}

TEST(FusionCounts, RmsNormFromPrimitives) {
    SystemBuilder b;
    const TensorIndex x = b.input({128, 768});
    const TensorIndex square = b.mean_last(b.binary(x, x, ScalarOp::multiply));
    const TensorIndex root = b.unary(b.shifted(square, 1e-5), ScalarOp::sqrt);
    b.output(b.binary(b.divided_by_statistic(x, root), b.weights({768}), ScalarOp::multiply));
    EXPECT_EQ(kernels(b), 1u);
}

TEST(FusionCounts, GeluFromPrimitives) {
    SystemBuilder b;
    const TensorIndex x = b.input({128, 3072});
    const TensorIndex erf = b.unary(b.scaled(x, 0.70710678), ScalarOp::erf);
    const TensorIndex half = b.scaled(b.shifted(erf, 1), 0.5);
    b.output(b.binary(x, half, ScalarOp::multiply));
    EXPECT_EQ(kernels(b), 1u);
}

TEST(FusionCounts, MatmulBiasRelu) {
    SystemBuilder b;
    const TensorIndex x = b.input({128, 384});
    const TensorIndex y = b.binary(b.matmul(x, b.weights({384, 1536})), b.weights({1536}), ScalarOp::add);
    b.output(b.pointwise(
        b.shape(y), [&](const Coordinates& i) { return b.apply(ScalarOp::maximum, {b.read(y, i), b.number(0)}); }));
    EXPECT_EQ(kernels(b), 1u);
}

TEST(FusionCounts, PaddedConvolutionBiasRelu) {
    SystemBuilder b;
    const TensorIndex x = b.input({1, 64, 56, 56});
    const TensorIndex y = b.convolution(x, b.weights({64, 64, 3, 3}), 1);
    const TensorIndex biased = b.binary(y, b.weights({64, 1, 1}), ScalarOp::add);
    b.output(b.pointwise(b.shape(y), [&](const Coordinates& i) {
        return b.apply(ScalarOp::maximum, {b.read(biased, i), b.number(0)});
    }));
    EXPECT_EQ(kernels(b), 1u);
}

// Heads split off and merged by reshapes and transposes.
TensorIndex attention(SystemBuilder& b, int64_t tokens, int64_t heads, int64_t width, bool causal) {
    const auto split = [&](TensorIndex x) {
        return b.transpose(b.reshape(x, {1, tokens, heads, width}), {0, 2, 1, 3});
    };
    const std::vector<int64_t> whole = {1, tokens, heads * width};
    const TensorIndex q = split(b.input(whole, "q")), k = split(b.input(whole, "k")), v = split(b.input(whole, "v"));
    TensorIndex scores = b.scaled(b.matmul(q, b.transpose(k, {0, 1, 3, 2})), 0.125);
    if (causal) {
        const TensorIndex unmasked = scores;
        scores = b.pointwise(b.shape(unmasked), [&](const Coordinates& i) {
            return b.arena().select(b.arena().less(i[2], i[3]), b.number(-1e9), b.read(unmasked, i));
        });
    }
    const TensorIndex mixed = b.matmul(b.softmax(scores), v);
    return b.reshape(b.transpose(mixed, {0, 2, 1, 3}), whole);
}

TEST(FusionCounts, AttentionFromPrimitives) {
    for (bool causal : {false, true}) {
        SystemBuilder two, one;
        two.output(attention(two, 128, 12, 64, causal));
        EXPECT_EQ(kernels(two, true), 2u);
        one.output(attention(one, 128, 12, 64, causal));
        EXPECT_EQ(kernels(one, false), 1u);
    }
}

}  // namespace
}  // namespace heddle::equations::testing
