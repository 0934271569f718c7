#include "helpers/codes.h"
#include "target/measure_host.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle {
namespace {

Result<Target> parse(const std::string& text) { return parse_target(std::make_shared<SourceText>("t.json", text)); }

TEST(Target, prints_and_parses_back) {
    Target target = detect_host();
    auto again = parse(print(target));
    ASSERT_TRUE(again);
    EXPECT_EQ(print(*again), print(target));
}

TEST(Target, a_left_out_field_keeps_its_default) {
    auto target = parse(R"({"l2_bytes": 2097152})");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->l2_bytes, 2 << 20);
    EXPECT_EQ(target->vector_bytes, Target{}.vector_bytes);
}

TEST(Target, wrong_texts_are_refused) {
    EXPECT_EQ(code_of(parse("{")), "target.syntax");
    EXPECT_EQ(code_of(parse("[1]")), "target.syntax");
    EXPECT_EQ(code_of(parse(R"({"l2_bytes": "big"})")), "target.value");
    EXPECT_EQ(code_of(parse(R"({"l2_bytes": -1})")), "target.value");
    EXPECT_EQ(code_of(parse(R"({"l2_byte": 1})")), "target.unknown_key");
    EXPECT_NE(render(parse(R"({"l2_byte": 1})").error()).find("did you mean 'l2_bytes'"), std::string::npos);
    EXPECT_EQ(code_of(load_target("/no/such/file.json")), "target.unreadable");
}

TEST(Target, all_errors_of_a_text_come_at_once) {
    EXPECT_EQ(parse(R"({"l2_bytes": 0, "lanes": 3, "cores": "two"})").error().size(), 3u);
}

TEST(Target, fields_are_those_of_the_text) {
    const Target target = detect_host();
    auto again = parse(print(target));
    ASSERT_TRUE(again);
    std::string text = "{";
    for (const TargetField& field : fields_of(target)) {
        EXPECT_FALSE(field.meaning.empty()) << field.name;
        text += (text.size() > 1 ? ", \"" : "\"") + field.name + "\": " + field.value;
    }
    again = parse(text + "}");
    ASSERT_TRUE(again);
    EXPECT_EQ(print(*again), print(target));
}

// Bounds that no machine leaves, however busy it is.
TEST(Target, speeds_are_measured) {
    Target target = detect_host();
    if (!can_measure_speed(target)) GTEST_SKIP() << "no way is known on this CPU";
    const auto before = fields_of(target);
    ASSERT_TRUE(measure_speed(target));
    for (const TargetField& field : fields_of(target)) {
        const auto other = std::ranges::find(before, field.name, &TargetField::name)->value;
        if (field.source != FieldSource::speed) {
            EXPECT_EQ(field.value, other) << field.name;
        }
    }
    EXPECT_GE(target.fma_per_cycle, 0.5);
    EXPECT_LE(target.fma_per_cycle, 4);
    EXPECT_LE(target.loads_per_cycle, 8);
    EXPECT_GE(target.fma_latency, 2);
    EXPECT_GE(target.bandwidth, target.bandwidth_one_core);
    EXPECT_GT(target.operations, 1e8);
    EXPECT_LT(target.launch_seconds, 1);
    EXPECT_TRUE(parse(print(target)));
}

TEST(Target, speeds_are_not_measured_where_no_way_is_known) {
    Target target;
    target.features = "+sse4.2";
    target.vector_bytes = 16;
    const std::string before = print(target);
    EXPECT_FALSE(can_measure_speed(target));
    EXPECT_FALSE(measure_speed(target));
    EXPECT_EQ(print(target), before);
}

}  // namespace
}  // namespace heddle
