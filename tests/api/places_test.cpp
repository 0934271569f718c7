// Models of programs that embed Heddle, cut over threads as places.
#include <gtest/gtest.h>

#include <cmath>

#include "helpers.h"
#include "heddle/machines.h"
#include "models.h"

namespace heddle::tests {
namespace {

TEST(Places, AModelOverThreadsIsTheModel) {
    const Perceptron model = perceptron();
    for (const std::vector<std::string>& cuts :
         std::vector<std::vector<std::string>>{{"2"}, {"2,2"}, {"batch=4"}, {"k=3"}, {"row0=2"}}) {
        const v1::Runtime runtime = tests::runtime();
        ASSERT_TRUE(v1::shard(runtime, cuts));
        const v1::Model cut = parsed(runtime, model.bytes);
        for (int64_t rows : {8, 1, 8}) {
            const auto x = numbers(static_cast<size_t>(rows) * Perceptron::inputs);
            auto results = cut.run({v1::Tensor::of(x.data(), {rows, Perceptron::inputs})});
            ASSERT_TRUE(results) << results.error().text();
            const auto expected = model.expected(x);
            for (size_t i = 0; i < expected.size(); i++)
                EXPECT_NEAR(results.value()[0].as<float>()[i], expected[i], 1e-5);
        }
    }
}

TEST(Places, WhatIsRefused) {
    const v1::Runtime runtime = tests::runtime();
    EXPECT_EQ(code_of(v1::shard(runtime, {"batch"})), "placing.cut_syntax");
    EXPECT_EQ(code_of(v1::shard(runtime, {"a=2", "b=3"})), "placing.cut_mesh");
    ASSERT_TRUE(v1::shard(runtime, {"nowhere=2"}));
    const v1::Model model = parsed(runtime, perceptron().bytes);
    const auto x = numbers(Perceptron::inputs);
    const v1::Tensor input = v1::Tensor::of(x.data(), {1, Perceptron::inputs});
    EXPECT_EQ(code_of(model.run({input})), "placing.cut_name");
    EXPECT_EQ(code_of(model.compile({input})), "api.places");
    const v1::Machines alone = v1::Machines::mpi(1).value();  // no launcher has started this process
    EXPECT_EQ(alone.size(), 1);
    ASSERT_TRUE(v1::shard(runtime, {}, &alone));
    ASSERT_TRUE(model.run({input}));
    alone.fail("enough");
    const v1::Model other = parsed(runtime, perceptron().bytes);
    const auto after = other.run({input});
    EXPECT_EQ(code_of(after), "transport.failed");
    EXPECT_NE(after.error().text().find("api.failed"), std::string::npos);
    EXPECT_EQ(code_of(v1::Machines::hosts("no such file", 0, 1)), "support.file_open");
}

}  // namespace
}  // namespace heddle::tests
