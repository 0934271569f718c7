#include "helpers/codes.h"
#include "target/target.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace heddle
