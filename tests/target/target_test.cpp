#include "reading.h"
#include "target/measure_host.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle {
namespace {

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
    EXPECT_EQ(code_of(load_target("/no/such/file.json")), "target.unreadable");
}

TEST(Target, all_errors_of_a_text_come_at_once) {
    EXPECT_EQ(parse(R"({"l2_bytes": 0, "lanes": 3, "cores": "two"})").error().size(), 3u);
}

TEST(Target, each_field_has_a_meaning_and_is_written_as_it_is_read) {
    const Target target = detect_host();
    for (const auto& field : target_fields()) {
        EXPECT_STRNE(field.meaning, "") << field.name;
        if (std::holds_alternative<std::shared_ptr<const Target> Target::*>(field.member)) continue;
        const std::string value = value_text(target, field);
        const bool empty = value == "\"\"" || value == "0" || value == "0.0" || value == "{}" || value == "[]";
        if (empty) continue;
        const Target again = read("{\"" + std::string(field.name) + "\": " + value + "}");
        EXPECT_EQ(value_text(again, field), value) << field.name;
    }
}

TEST(Target, what_was_detected_says_who_knows_it) {
    const Target target = detect_host();
    EXPECT_EQ(origin_text(target.origins.at("cores")), "system");
    EXPECT_EQ(origin_text(target.origins.at("vector_bytes")), "CPU flags");
    EXPECT_EQ(origin_of(target, *find_target_field("bandwidth")).kind, TargetOrigin::Kind::assumed);
    EXPECT_TRUE(is_same(read(print(target, TargetText::expanded)), target));
}

// Bounds that no machine leaves, however busy it is.
TEST(Target, speeds_are_measured) {
    Target target = detect_host();
    if (!can_measure_speed(target)) GTEST_SKIP() << "no way is known on this CPU";
    const Target before = target;
    ASSERT_TRUE(measure_speed(target));
    for (const auto& field : target_fields()) {
        if (std::string_view(field.from) == "measurement")
            EXPECT_EQ(origin_text(target.origins.at(field.name)), "measured") << field.name;
        else
            EXPECT_EQ(value_text(target, field), value_text(before, field)) << field.name;
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
