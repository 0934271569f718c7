// heddle targets
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_test.h"
#include "target/measure_host.h"
#include "target/schema.h"
#include "target/tags.h"

namespace heddle {
namespace {

using Json = nlohmann::json;
using TargetsCommand = CommandTest;

TEST_F(TargetsCommand, lists_all_tags) {
    const CommandOutcome text = heddle({"targets"});
    ASSERT_EQ(text.status, 0) << text.errors;
    EXPECT_CONTAINS(text.output, "nvidia/jetson-nano[:cpu|cuda]");
    const CommandOutcome outcome = heddle({"targets", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const Json json = Json::parse(outcome.output);
    EXPECT_EQ(json.size(), TargetTags::built_in().all().size());
    EXPECT_EQ(json["nvidia/jetson-nano"]["parts"], Json({"cpu", "cuda"}));
    EXPECT_EQ(json["aws/c5"]["level"], "device");
}

TEST_F(TargetsCommand, says_for_what_code_is_made_and_looks_for_words) {
    const std::string text = heddle({"targets"}).output;
    const size_t code = text.find("Machine code and C"), none = text.find("No code yet"),
                 systems = text.find("Machines and");
    EXPECT_LT(code, text.find("  aws/c5 "));
    EXPECT_LT(text.find("  aws/c5 "), systems);
    EXPECT_LT(none, text.find("  nvidia/t4 "));
    const Json json = Json::parse(heddle({"targets", "--format", "json"}).output);
    for (const auto& [name, reach] : {std::pair("aws/c5", "machine code"), std::pair("nvidia/t4", "none"),
                                      std::pair("webgpu/default", "page"), std::pair("apple/m1", "its processors")})
        EXPECT_EQ(json[name]["code"], reach) << name;
    const auto found = heddle({"targets", "raspberry"});
    EXPECT_EQ(found.status, 0) << found.errors;
    EXPECT_CONTAINS(found.output, "arm/rasp5");
    EXPECT_CONTAINS(found.output, "raspberry/pico2");
    EXPECT_EQ(found.output.find("aws/"), std::string::npos);
    const auto one = Json::parse(heddle({"targets", "beaglebone", "--format", "json"}).output);
    EXPECT_EQ(one.size(), 1u);
    EXPECT_EQ(heddle({"targets", "nosuchthing"}).status, 1);
    EXPECT_EQ(heddle({"targets", "raspberry", "--explain"}).status, 1);
}

TEST_F(TargetsCommand, a_foreign_target_names_its_compiler) {
    const std::string model = write("model.onnx", perceptron()), old = std::getenv("PATH");
    ASSERT_EQ(setenv("PATH", path("empty").c_str(), 1), 0);
    const auto compile = [&](const char* target) {
        return heddle(
                   {"compile", model, "--bind", "batch=1", "--target", target, "--emit", "object", "-o", path("out")})
            .errors;
    };
    const std::pair<const char*, const char*> rows[] = {{"aarch64", "aarch64-linux-gnu"},
                                                        {"armv7-neon", "arm-linux-gnueabihf"},
                                                        {"riscv64-gc", "riscv64-linux-gnu"},
                                                        {"st/nucleo-f446re", "arm-none-eabi"}};
    for (const auto& [target, compiler] : rows) {
        const std::string said = compile(target);
        EXPECT_CONTAINS(said, "error[cli.cross_compiler]");
        EXPECT_CONTAINS(said, "--cc " + std::string(compiler) + "-gcc");
        EXPECT_CONTAINS(said, "Debian's package gcc-" + std::string(compiler));
        EXPECT_CONTAINS(said, "--emit c");
    }
    // One that is there is taken.
    std::filesystem::create_directories(path("bin"));
    write("bin/aarch64-linux-gnu-gcc", "#!/bin/sh\necho no compiler at all; exit 3\n");
    std::filesystem::permissions(path("bin/aarch64-linux-gnu-gcc"), std::filesystem::perms::owner_all);
    ASSERT_EQ(setenv("PATH", path("bin").c_str(), 1), 0);
    EXPECT_CONTAINS(compile("aarch64"), "'aarch64-linux-gnu-gcc' did not make");
    ASSERT_EQ(setenv("PATH", old.c_str(), 1), 0);
}

TEST_F(TargetsCommand, describes_one_and_says_who_says_what) {
    const CommandOutcome one = heddle({"targets", "nvidia/jetson-nano:cuda"});
    ASSERT_EQ(one.status, 0) << one.errors;
    EXPECT_CONTAINS(one.output, "$.host.cpu");
    const Json json = Json::parse(heddle({"targets", "aws/c5", "--format", "json"}).output);
    EXPECT_EQ(json["target"]["tag"], "aws/c5");
    EXPECT_EQ(json["expanded"]["vector_bytes"], 64);
    EXPECT_EQ(json["triple"], "x86_64-unknown-linux-gnu");
    const Json rows =
        Json::parse(heddle({"targets", R"({"tag": "aws/c5", "cores": 4})", "--explain", "--format", "json"}).output);
    EXPECT_EQ(rows["$.cores"]["origin"], "override");
    EXPECT_EQ(rows["$.cpu"]["origin"], "tag aws/c5");
    EXPECT_EQ(rows["$.l2_bytes"]["origin"], "from cpu skylake-avx512");
    EXPECT_EQ(rows["$.launch_seconds"]["origin"], "assumed");
    EXPECT_EQ(heddle({"targets", "aws/c5", "--ask", "vector_bytes"}).output, "64\n");
    const CommandOutcome missing = heddle({"targets", "skylake-avx512", "--ask", "cores"});
    EXPECT_EQ(missing.status, 1);
    EXPECT_CONTAINS(missing.errors, "add {\"cores\": ...}");
}

TEST_F(TargetsCommand, compares_two) {
    const CommandOutcome text = heddle({"targets", "aws/c5", "--diff", "aws/c5.large"});
    ASSERT_EQ(text.status, 0) << text.errors;
    EXPECT_CONTAINS(text.output, "$.cores");
    EXPECT_EQ(text.output.find("$.cpu"), std::string::npos);
    const Json json = Json::parse(heddle({"targets", "aws/c5", "--diff", "aws/c5.large", "--format", "json"}).output);
    EXPECT_EQ(json["$.cores"], Json({36, 1}));
    EXPECT_EQ(heddle({"targets", "aws/c5", "--diff", "aws/c5"}).output, "no facts differ\n");
}

TEST_F(TargetsCommand, lists_the_places_of_a_cluster_and_the_links_between) {
    const CommandOutcome text = heddle({"targets", "nvidia/superpod-h100", "--places"});
    ASSERT_EQ(text.status, 0) << text.errors;
    EXPECT_CONTAINS(text.output, "256 places");
    EXPECT_CONTAINS(text.output, "node1/gpu7  cuda sm_90, host cpu x86_64 sapphirerapids, 85.9 GB");
    EXPECT_CONTAINS(text.output, "and 240 more, to 255 node31/gpu7");
    EXPECT_CONTAINS(text.output, "450 GB/s        3 us        1792 pairs, as node0/gpu0 -> node0/gpu1");
    const CommandOutcome outcome =
        heddle({"targets", R"({"machines": {"n": {"target": "nvidia/jetson-nano", "count": 2}}})", "--places",
                "--place-kind", "cpu", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const Json json = Json::parse(outcome.output);
    EXPECT_EQ(json["places"], Json({"n0/cpu", "n1/cpu"}));
    EXPECT_EQ(json["groups"][0]["machines"], 2);
    EXPECT_EQ(json["links"][0]["assumed"], true);
    EXPECT_EQ(json["links"][0]["pairs"], 2);
    EXPECT_CONTAINS(heddle({"targets", R"({"machines": {"n": {"target": "aws/c5", "count": 2}}})", "--places"}).output,
                    "n0/cpu -> n1/cpu: assumed, the target says no way");
    EXPECT_CONTAINS(heddle({"targets", "aws/c5-cluster", "--places", "--place-kind", "cuda"}).errors,
                    "error[placing.places]");
    EXPECT_EQ(heddle({"targets", "--places"}).status, 2);
    EXPECT_CONTAINS(heddle({"targets", "raspberry", "--places"}).errors, "target.unknown_tag");
}

TEST_F(TargetsCommand, shows_this_machine_as_processes) {
    const CommandOutcome places = heddle({"targets", "--host", "--processes", "3", "--places"});
    ASSERT_EQ(places.status, 0) << places.errors;
    EXPECT_CONTAINS(places.output, "3 places");
    EXPECT_CONTAINS(places.output, "process2/cpu");
    EXPECT_CONTAINS(places.output, "6 pairs, as process0/cpu -> process1/cpu");
    // As a target it can be kept, and given where one is read.
    const CommandOutcome whole = heddle({"targets", "aws/c5", "--processes", "4", "--format", "json"});
    ASSERT_EQ(whole.status, 0) << whole.errors;
    const Json json = Json::parse(whole.output);
    EXPECT_EQ(json["level"], "cluster");
    EXPECT_EQ(json["target"]["machines"]["process"]["count"], 4);
    const std::string file = write("four.json", json["target"].dump());
    EXPECT_CONTAINS(heddle({"targets", file, "--places"}).output, "4 places");
    EXPECT_CONTAINS(heddle({"targets", "nvidia/t4", "--processes", "2"}).errors, "error[target.value]");
    EXPECT_EQ(heddle({"targets", "aws/c5", "--processes", "0"}).status, 2);
}

TEST_F(TargetsCommand, takes_the_users_folders) {
    const std::string folder = path("tags");
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/mine.json")
        << R"({"schema": 1, "tags": {"mine/box": {"target": {"tag": "aws/c5", "cores": 3}}}})";
    ASSERT_EQ(setenv("HEDDLE_TARGETS", folder.c_str(), 1), 0);
    const CommandOutcome mine = heddle({"targets", "mine/box", "--ask", "cores"});
    const CommandOutcome explained = heddle({"explain", "relu", "x=float32[8]", "--schedule", "--target", "mine/box"});
    ASSERT_EQ(setenv("HEDDLE_TARGETS", "/no/such/folder", 1), 0);
    const CommandOutcome absent = heddle({"targets"});
    ASSERT_EQ(unsetenv("HEDDLE_TARGETS"), 0);
    EXPECT_EQ(mine.output, "3\n") << mine.errors;
    EXPECT_EQ(explained.status, 0) << explained.errors;
    EXPECT_EQ(absent.status, 1);
    EXPECT_CONTAINS(absent.errors, "target.unreadable");
    EXPECT_CONTAINS(heddle({"targets", "mine/box"}).errors, "target.unknown_tag");
}

TEST_F(TargetsCommand, explain_chooses_for_a_tag_or_a_part_that_is_a_processor) {
    EXPECT_EQ(heddle({"explain", "relu", "x=float32[8]", "--schedule", "--target", "nvidia/jetson-nano:cpu"}).status,
              0);
    const CommandOutcome whole =
        heddle({"explain", "relu", "x=float32[8]", "--schedule", "--target", "nvidia/jetson-nano"});
    EXPECT_EQ(whole.status, 1);
    EXPECT_CONTAINS(whole.errors, "cli.target");
    EXPECT_CONTAINS(whole.errors, "'nvidia/jetson-nano:cpu'");
    EXPECT_CONTAINS(heddle({"explain", "relu", "x=float32[8]", "--target", "aws/c55"}).errors,
                    "the nearest is 'aws/c5'");
}

TEST_F(TargetsCommand, pages_and_libraries_are_compiled_for_what_their_kind_can) {
    const auto compile = [&](const char* target, const char* folder) {
        return heddle({"compile", "--call", "y = relu(x)", "--input-type", "x=float32[8]", "--target", target, "-o",
                       path(folder)});
    };
    const CommandOutcome page = compile(R"({"tag": "webgpu/default", "maximum_workgroups_axis": 1000})", "page");
    EXPECT_EQ(page.status, 0) << page.errors;
    EXPECT_CONTAINS(compile(R"({"kind": "webgpu", "arch": "core", "vector_bytes": 128})", "narrow").errors,
                    "cli.compile_target");
    EXPECT_CONTAINS(compile(R"({"kind": "hexagon", "arch": "v68"})", "hexagon").errors, "cli.target");
    EXPECT_CONTAINS(compile("nvidia/t4", "gpu").errors, "cli.target");
    EXPECT_CONTAINS(compile("webgpu/defualt", "typo").errors, "the nearest is 'webgpu/default'");
}

TEST_F(TargetsCommand, says_where_each_figure_of_this_machine_is_from) {
    const CommandOutcome outcome = heddle({"targets", "--host", "--explain", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const Json json = Json::parse(outcome.output);
    for (const auto& field : target_fields()) {
        if (!is_known(detect_host(), field)) continue;
        ASSERT_TRUE(json.contains("$." + std::string(field.name))) << field.name;
        EXPECT_FALSE(json["$." + std::string(field.name)]["meaning"].get<std::string>().empty());
    }
    EXPECT_EQ(json["$.cores"]["origin"], "system");
    EXPECT_EQ(json["$.vector_bytes"]["origin"], "CPU flags");
    EXPECT_EQ(json["$.fma_per_cycle"]["origin"], can_measure_speed(detect_host()) ? "measured" : "assumed");
    EXPECT_EQ(json["$.maximum_rows"]["origin"], "assumed");
}

TEST_F(TargetsCommand, measures_anew_and_keeps_it) {
    if (!can_measure_speed(detect_host())) GTEST_SKIP() << "no way is known on this CPU";
    const auto kept = [&] { return heddle({"cache", "--list"}).output; };
    ASSERT_EQ(heddle({"targets", "--host", "--measure", "--no-cache"}).status, 0);
    EXPECT_EQ(kept().find("speeds of this machine"), std::string::npos);
    ASSERT_EQ(heddle({"targets", "--host", "--measure"}).status, 0);
    EXPECT_CONTAINS(kept(), "speeds of this machine");
    // Kept speeds are still measured ones.
    EXPECT_CONTAINS(heddle({"targets", "--host", "--explain"}).output, "measured");
}

}  // namespace
}  // namespace heddle
