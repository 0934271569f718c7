// Decisions, launch batches, the text of a partition.
#include <gtest/gtest.h>

#include "equations/passes.h"
#include "equations/system_text.h"
#include "helpers/run_system.h"
#include "partition_checker.h"
#include "system_builder.h"

namespace heddle::equations::testing {
namespace {

SystemBuilder block(int64_t rows) {
    SystemBuilder b;
    const TensorIndex x = b.input({rows, 64});
    const TensorIndex y = b.unary(b.matmul(x, b.weights({64, 256})), ScalarOp::tanh);
    const TensorIndex z = b.matmul(y, b.weights({256, 64}));
    b.output(b.softmax(b.binary(z, x, ScalarOp::add)));
    optimise(b.system);
    return b;
}

TEST(FusionDecisions, TellTheGainOrTheReason) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({1, 64, 56, 56}), ScalarOp::tanh);
    const TensorIndex y = b.convolution(x, b.weights({64, 64, 3, 3}), 1);
    b.output(b.unary(y, ScalarOp::tanh));
    optimise(b.system);
    const Partition partition = fuse(b.system, Target(), {});
    ASSERT_EQ(partition.decisions.size(), 2u);
    EXPECT_FALSE(partition.decisions[0].joined);
    EXPECT_EQ(partition.decisions[0].reason, "a guarded read of a local: locals have no margins");
    EXPECT_TRUE(partition.decisions[1].joined);
    EXPECT_GT(partition.decisions[1].gain, 0);
}

// Rows that are made for a product share its rows alone: one launch less, and fewer tasks. That waits, but is not refused.
TEST(FusionDecisions, ALaunchIsSavedInTheEnd) {
    for (double bandwidth : {20e9, 40e9, 77e9, 150e9}) {
        Target target;
        target.bandwidth = bandwidth;
        target.bandwidth_one_core = bandwidth / 2;
        SystemBuilder b;
        const TensorIndex x = b.input({64, 256});
        const TensorIndex rows = b.divided_by_statistic(b.unary(x, ScalarOp::sqrt), b.mean_last(x));
        b.output(b.unary(b.matmul(rows, b.weights({256, 128})), ScalarOp::tanh));
        optimise(b.system);
        EXPECT_EQ(fuse(b.system, target, {}).kernels.size(), 1u) << bandwidth;
    }
}

TEST(FusionBatches, IndependentKernelsShareALaunch) {
    SystemBuilder b;
    const TensorIndex x = b.input({512, 512});
    for (int k = 0; k < 3; k++) b.output(b.matmul(x, b.weights({512, 512})));
    optimise(b.system);
    const Partition partition = fuse(b.system, Target(), {});
    EXPECT_EQ(partition.kernels.size(), 3u);
    EXPECT_EQ(partition.batches.size(), 1u);
    EXPECT_NE(print(b.system, partition).find("launch 0: 0 1 2"), std::string::npos);
}

// Streams of the same elements are read once, and their axes are common; of other elements they stay apart.
TEST(Fusion, StreamsOfOneInputAreOneKernel) {
    SystemBuilder b;
    const TensorIndex x = b.input({512, 512});
    for (ScalarOp op : {ScalarOp::tanh, ScalarOp::exp, ScalarOp::sqrt}) b.output(b.unary(x, op));
    b.output(b.unary(b.input({512, 512}), ScalarOp::tanh));
    optimise(b.system);
    const Partition partition = fuse(b.system, Target(), {});
    ASSERT_EQ(partition.kernels.size(), 2u);
    EXPECT_EQ(partition.kernels[0].equations.size(), 3u);
    EXPECT_EQ(partition.kernels[0].common.size(), 2u);
}

TEST(FusionBatches, TheCheckerRefusesABatchThatReadsWhatItWrites) {
    SystemBuilder b;
    const TensorIndex x = b.unary(b.input({8, 8}), ScalarOp::tanh);
    b.output(b.matmul(x, b.input({8, 8})));
    optimise(b.system);
    FusionOptions options;
    options.fuse = false;
    Partition partition = fuse(b.system, Target(), options);
    ASSERT_EQ(partition.kernels.size(), 2u);
    const std::vector<TensorData> feeds(2, TensorData(DType::float32, {8, 8}));
    ASSERT_TRUE(run_partition(b.system, partition, feeds, 1));
    partition.batches = {{0, 1}};
    const auto refused = run_partition(b.system, partition, feeds, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error()[0].code, "test.batch_conflict");
}

TEST(FusionUnfused, EveryEquationIsAKernel) {
    SystemBuilder b = block(16);
    FusionOptions options;
    options.fuse = false;
    EXPECT_EQ(fuse(b.system, Target(), options).kernels.size(), b.system.order().size());
}

// c leads to z through r, whose kernel begins before z, and through s behind it.
TEST(Fusion, NoKernelWaitsForItselfThroughOthers) {
    const char* const text = R"(
system 'crossing'
  in x: float64[1000]
  in y: float64[1000]
  local c: float64[1000]
  local r: float32[1000]
  out z: float32[1000]
  local s: float32[1000]
  local d: float32[1000]
  out e: float32[1000]
  out f: float32[1000]
  for i < 1000: c[i] = exp(x[i])
  for i < 1000: r[i] = float32(exp(y[i]))
  for i < 1000: z[i] = value.add(float32(c[i]), r[i])
  for i < 1000: s[i] = float32(c[(i - 1)] ?? float64(0.0))
  for i < 1000: d[i] = value.add(value.add(s[(i - 1)] ?? 0.0, r[i]), float32(y[i]))
  for i < 1000: e[i] = exp(d[(i - 1)] ?? 0.0)
  for i < 1000: f[i] = exp(r[(i - 1)] ?? 0.0)
  outputs z, e, f
)";
    auto system = parse_system(std::make_shared<const SourceText>("crossing", text));
    ASSERT_TRUE(system) << render(system.error());
    const Partition partition = fuse(*system, Target(), {});
    std::vector<TensorData> feeds(2, TensorData(DType::float64, {1000}));
    for (TensorData& feed : feeds) {
        for (int64_t i = 0; i < feed.size(); i++) feed.set_real(i, static_cast<double>(i % 7) / 7);
    }
    const auto found = run_partition(*system, partition, feeds, 1);
    ASSERT_TRUE(found) << render(found.error()) << print(*system, partition);
    const auto wanted = run(*system, feeds);
    ASSERT_TRUE(wanted);
    for (TensorIndex output : system->outputs) {
        const TensorData &a = (*found)[static_cast<size_t>(output)], &b = (*wanted)[static_cast<size_t>(output)];
        for (int64_t i = 0; i < b.size(); i++) ASSERT_EQ(a.real_at(i), b.real_at(i)) << system->tensor(output).name;
    }
}

TEST(Fusion, IsDeterministic) {
    SystemBuilder a = block(100), b = block(100);
    const Partition p = fuse(a.system, Target(), {}), q = fuse(b.system, Target(), {});
    EXPECT_EQ(print(a.system) + print(a.system, p), print(b.system) + print(b.system, q));
}

}  // namespace
}  // namespace heddle::equations::testing
