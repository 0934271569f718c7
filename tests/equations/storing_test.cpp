// What is asked to become of a value: it does, or that is refused; and values stay the same.
#include "equations/storing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "equations/fusion.h"
#include "equations/passes.h"
#include "equations/storing_alternatives.h"
#include "helpers/codes.h"
#include "helpers/run_system.h"
#include "partition_checker.h"
#include "random_system.h"

namespace heddle::equations::testing {
namespace {

bool is_written(const Partition& partition, TensorIndex tensor) {
    return std::ranges::any_of(partition.kernels, [&](const Kernel& kernel) {
        return std::ranges::find(kernel.outputs, tensor) != kernel.outputs.end();
    });
}

// Of each value whether it can be had so; what the outputs are then, kernel by kernel.
bool choose_one(const RandomSystem& random, TensorIndex tensor, Storing storing,
                const std::vector<TensorData>& expected) {
    System system = random.system;
    EXPECT_TRUE(choose_storing(system, {{system.tensor(tensor).name, storing}}));
    optimise(system);
    if (!check_storing(system)) return false;
    const Partition partition = fuse(system, Target(), {});
    EXPECT_EQ(is_written(partition, tensor), storing == Storing::stored);
    EXPECT_EQ(system.tensor(tensor).dead, storing == Storing::inlined);
    const auto values = run_partition(system, partition, random.feeds, 1);
    EXPECT_TRUE(values) << render(values.error());
    for (size_t o = 0; values && o < system.outputs.size(); o++) {
        const TensorData& found = (*values)[static_cast<size_t>(system.outputs[o])];
        EXPECT_EQ(std::memcmp(found.data(), expected[o].data(), static_cast<size_t>(found.byte_size())), 0);
    }
    return true;
}

TEST(Storing, EitherChoiceHasTheSameValues) {
    int stored = 0, inlined = 0, values = 0;
    for (uint64_t seed = 60000; seed < 60040; seed++) {
        SCOPED_TRACE(seed);
        const RandomSystem random = random_system(seed, 8, true);
        const auto plain = run(random.system, random.feeds);
        ASSERT_TRUE(plain) << render(plain.error());
        std::vector<TensorData> expected;
        for (TensorIndex output : random.system.outputs) expected.push_back((*plain)[static_cast<size_t>(output)]);
        for (size_t t = 0; t < random.system.tensors.size(); t++) {
            if (!has_storing_choice(random.system, random.system.tensors[t])) continue;
            const auto tensor = static_cast<TensorIndex>(t);
            values++;
            stored += choose_one(random, tensor, Storing::stored, expected);
            inlined += choose_one(random, tensor, Storing::inlined, expected);
        }
    }
    EXPECT_GT(values, 80);
    EXPECT_GT(10 * stored, 8 * values) << stored << " of " << values;
    EXPECT_GT(10 * inlined, 5 * values) << inlined << " of " << values;
}

TEST(Storing, TheTextSaysWhatWasAskedFor) {
    SystemBuilder b;
    const TensorIndex h = b.unary(b.input({4}), ScalarOp::exp);
    b.output(b.unary(h, ScalarOp::sin));
    for (const auto& [word, storing] : {std::pair("stored", Storing::stored), std::pair("inlined", Storing::inlined)}) {
        ASSERT_TRUE(choose_storing(b.system, {{b.system.tensor(h).name, storing}}));
        const std::string text = print(b.system);
        EXPECT_NE(text.find(word), std::string::npos) << text;
        const auto again = parse_system(std::make_shared<SourceText>("again", text));
        ASSERT_TRUE(again) << render(again.error());
        EXPECT_EQ(print(*again), text);
    }
}

TEST(Storing, WhatCannotBeIsRefused) {
    SystemBuilder b;
    const TensorIndex x = b.input({4, 8});
    const TensorIndex sum = b.reduce_last(x, Reducer::sum);
    b.output(b.binary(x, sum, ScalarOp::subtract));
    const Codes choice{"equations.choice"};
    for (const char* text : {"h", "h=", "h=kept", "=stored"}) EXPECT_EQ(codes(parse_storing_choice(text)), choice) << text;
    EXPECT_EQ(codes(choose_storing(b.system, {{"nothing", Storing::stored}})), choice);
    EXPECT_EQ(codes(choose_storing(b.system, {{b.system.tensor(x).name, Storing::stored}})), choice) << "an input";
    ASSERT_TRUE(choose_storing(b.system, {{b.system.tensor(sum).name, Storing::inlined}}));
    optimise(b.system);
    EXPECT_EQ(codes(check_storing(b.system)), choice) << "a reduction";
}

}  // namespace
}  // namespace heddle::equations::testing
