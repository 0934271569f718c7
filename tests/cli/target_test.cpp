// heddle target
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_test.h"
#include "target/measure_host.h"

namespace heddle {
namespace {

using TargetCommand = CommandTest;

TEST_F(TargetCommand, says_where_each_figure_is_from) {
    const CommandOutcome text = heddle({"target"});
    ASSERT_EQ(text.status, 0) << text.errors;
    const CommandOutcome outcome = heddle({"target", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const auto json = nlohmann::json::parse(outcome.output);
    for (const TargetField& field : fields_of(detect_host())) {
        EXPECT_CONTAINS(text.output, field.name);
        ASSERT_TRUE(json.contains(field.name)) << field.name;
        EXPECT_FALSE(json[field.name]["meaning"].get<std::string>().empty());
    }
    EXPECT_EQ(json["cores"]["origin"], "system");
    EXPECT_EQ(json["vector_bytes"]["origin"], "CPU flags");
    EXPECT_EQ(json["fma_per_cycle"]["origin"], can_measure_speed(detect_host()) ? "measured" : "assumed");
}

TEST_F(TargetCommand, measures_anew_and_keeps_it) {
    if (!can_measure_speed(detect_host())) GTEST_SKIP() << "no way is known on this CPU";
    const auto kept = [&] { return heddle({"cache", "--list"}).output; };
    ASSERT_EQ(heddle({"target", "--measure", "--no-cache"}).status, 0);
    EXPECT_EQ(kept().find("speeds of this machine"), std::string::npos);
    ASSERT_EQ(heddle({"target", "--measure"}).status, 0);
    EXPECT_CONTAINS(kept(), "speeds of this machine");
}

}  // namespace
}  // namespace heddle
