#include "artefact/sizes.h"

#include <gtest/gtest.h>

#include "artefact/artefact.h"
#include "artefact/weight_pool.h"
#include "helpers/codes.h"

namespace heddle::artefact {
namespace {

TEST(Sizes, AreReadAsTheyAreWritten) {
    auto dimensions = parse_dimensions({"batch=4,x=y=1:64", "height=32:320:32,width=8:30:5"});
    ASSERT_TRUE(dimensions) << render(dimensions.error());
    EXPECT_EQ(*dimensions, (std::vector<Dimension>{
                               {"batch", 4, 4, 1}, {"x=y", 1, 64, 1}, {"height", 32, 320, 32}, {"width", 8, 28, 5}}));
    EXPECT_EQ((*dimensions)[3].count(), 5);
    dimensions = parse_dimensions({"batch=1:,width=32::32,rows=2000000:"});
    ASSERT_TRUE(dimensions) << render(dimensions.error());
    EXPECT_EQ(*dimensions, (std::vector<Dimension>{{"batch", 1, 1'048'575, 1, true},
                                                   {"width", 32, 1'048'544, 32, true},
                                                   {"rows", 2'000'000, 2'000'000, 1, true}}));
}

TEST(Sizes, WhatIsNoRangeIsRefused) {
    for (const char* text : {"batch", "=4", "batch=", "batch=x", "batch=:4", "batch=4:2:", "batch=4::", "batch=4:2",
                             "batch=1:4:0", "batch=-1:4",
                             "batch=1:2:3:4", "batch=1:99999999999", "batch=1.5", "a=1,,b=2"})
        EXPECT_EQ(codes(parse_dimensions({text})), Codes{"artefact.range"}) << text;
}

TEST(Sizes, OnesBesideAnyNumber) {
    const Dimension dimension{"a", 8, 38, 5};
    EXPECT_EQ(dimension.below(17), 13);
    EXPECT_EQ(dimension.below(18), 18);
    EXPECT_EQ(dimension.above(19), 23);
    EXPECT_EQ(dimension.above(8), 8);
    EXPECT_TRUE(dimension.has(38));
    for (int64_t other : {3, 9, 43}) EXPECT_FALSE(dimension.has(other)) << other;
}

TEST(Weights, EqualContentsLieThereOnce) {
    const auto one = std::make_shared<std::vector<std::byte>>(100, std::byte{1});
    const auto two = std::make_shared<std::vector<std::byte>>(*one);
    const auto other = std::make_shared<std::vector<std::byte>>(3, std::byte{2});
    WeightPool pool;
    EXPECT_EQ(pool.add(*one, one), 0);
    EXPECT_EQ(pool.add(*other, other), 128);
    EXPECT_EQ(pool.add(*two, two), 0);
    std::vector<std::byte> all;
    pool.write([&](std::span<const std::byte> part) { all.insert(all.end(), part.begin(), part.end()); });
    ASSERT_EQ(static_cast<int64_t>(all.size()), pool.bytes());
    EXPECT_EQ(pool.bytes(), 128 + 64 + 64);
    EXPECT_EQ(all[99], std::byte{1});
    EXPECT_EQ(all[100], std::byte{0});
    EXPECT_EQ(all[130], std::byte{2});
}

TEST(Names, AreIdentifiersOfC) {
    EXPECT_EQ(identifier_of("PP-OCR v4.onnx"), "pp_ocr_v4_onnx");
    EXPECT_EQ(identifier_of("9lives"), "program_9lives");
    EXPECT_EQ(identifier_of("--"), "program_");
    EXPECT_EQ(identifier_of("größe"), "gr_e");
}

}  // namespace
}  // namespace heddle::artefact
