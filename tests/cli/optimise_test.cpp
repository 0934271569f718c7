// heddle optimise: what it prints and writes, what it refuses, and that it can be ended.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_test.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class OptimiseCommand : public CommandTest {
protected:
    CommandOutcome optimise(std::vector<std::string> more) const {
        std::vector<std::string> words = {"optimise",
                                          "--call",
                                          "h = matmul(x, w); y = relu(h)",
                                          "--input-type",
                                          "x=float32[512, 256]",
                                          "--input-type",
                                          "w=float32[256, 512]"};
        words.insert(words.end(), more.begin(), more.end());
        return heddle(words);
    }
};

TEST_F(OptimiseCommand, prints_the_same_front_for_the_same_seed) {
    const auto first = optimise({"--machines", "4", "--format", "json", "--seed", "3"});
    ASSERT_EQ(first.status, 0) << first.errors;
    const auto second = optimise({"--machines", "4", "--format", "json", "--seed", "3", "--threads", "1"});
    const Json one = Json::parse(first.output), two = Json::parse(second.output);
    EXPECT_EQ(one["front"], two["front"]);
    ASSERT_GE(one["front"].size(), 2u);
    EXPECT_FALSE(one["interrupted"].get<bool>());
    const auto seconds = [](const Json& way) { return way["seconds"].get<double>(); };
    for (size_t i = 1; i < one["front"].size(); i++) EXPECT_GE(seconds(one["front"][i]), seconds(one["front"][i - 1]));
    EXPECT_EQ(one["front"][0]["cuts"].size(), 2u);
}

TEST_F(OptimiseCommand, what_it_writes_is_what_run_takes) {
    const auto outcome = optimise({"--machines", "4", "--svg", path("front.svg"), "-o", path("cuts.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_NE(outcome.output.find("cut along"), std::string::npos) << outcome.output;
    for (const char* said : {"<svg", "modelled time, ms", "most memory of a place", ", the fastest", "cut along"})
        EXPECT_NE(read("front.svg").find(said), std::string::npos) << said;
    const std::vector<std::string> words = {"run",
                                            "--call",
                                            "h = matmul(x, w); y = relu(h)",
                                            "--input-type",
                                            "x=float32[512, 256]",
                                            "--input-type",
                                            "w=float32[256, 512]",
                                            "--random",
                                            "1",
                                            "--no-cache"};
    std::vector<std::string> cut = words;
    cut.insert(cut.end(), {"--shard", path("cuts.json")});
    const auto run = heddle(cut);
    ASSERT_EQ(run.status, 0) << run.errors;
    const auto whole = heddle(words);
    EXPECT_EQ(run.output.substr(0, run.output.find("\nload")).find("y: float32[512, 512]"), 0u) << run.output;
    EXPECT_EQ(whole.status, 0);
}

TEST_F(OptimiseCommand, limits_hold) {
    const auto few = optimise({"--machines", "4", "--limit", "places=2", "--format", "json"});
    ASSERT_EQ(few.status, 0) << few.errors;
    for (const Json& way : Json::parse(few.output)["front"]) EXPECT_LE(way["places"].get<int>(), 2);
    const auto none = optimise({"--machines", "4", "--limit", "memory=10"});
    EXPECT_EQ(none.status, 1);
    EXPECT_NE(none.errors.find("cli.limit_unmet"), std::string::npos) << none.errors;
    for (const char* limit : {"memory", "memory=", "memory=x", "size=1", "memory=1 ", "memory=nan", "memory=-1"}) {
        const auto wrong = optimise({"--machines", "4", "--limit", limit});
        EXPECT_EQ(wrong.status, 1) << limit;
        EXPECT_NE(wrong.errors.find("cli.limit]"), std::string::npos) << wrong.errors;
    }
}

TEST_F(OptimiseCommand, machines_are_refused_that_cannot_be_used) {
    for (const char* machines : {"0", "-1", "65", "99999999999999999999"})
        EXPECT_EQ(optimise({"--machines", machines}).status, 1) << machines;
    EXPECT_NE(optimise({"--machines", "65"}).errors.find("cli.machines"), std::string::npos);
    const std::string cluster = write("cluster.json", R"({"machines": {
        "a": {"target": {"devices": {"cpu0": {"target": {"kind": "cpu"}}}}},
        "b": {"target": {"devices": {"cpu0": {"target": {"kind": "cpu", "bandwidth": 1e9}}}}}},
        "links": [{"from": "a/cpu0", "to": "b/cpu0", "bandwidth": 1e9, "latency": 1e-5}]})");
    const auto unlike = optimise({"--machines", cluster});
    EXPECT_EQ(unlike.status, 1) << unlike.output;
}

TEST_F(OptimiseCommand, rules_take_part) {
    const auto outcome = optimise({"--machines", "2", "--rule", "split_inner(chunk: 128)"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(outcome.output.find("rewritten by split_inner 1 time"), 0u) << outcome.output;
}

TEST_F(OptimiseCommand, a_rewritten_program_is_run_as_it_was_searched) {
    // Of many rows of x, the product of the small matrices first is half of the work.
    const std::string rules = write("rules.yaml", R"yaml(
doc: A rule.
rewrites:
  small_first:
    doc: Products of matrices may be taken in any order.
    match: "matmul(matmul(X, A), B)"
    replace: "matmul(X, matmul(A, B))"
)yaml");
    const std::string twice = "h = matmul(x, w); y = matmul(h, w)";
    const auto with = [&](const std::string& program, std::vector<std::string> words) {
        words.insert(words.end(), {"--library", rules, "--call", program, "--input-type", "x=float32[8192, 256]",
                                   "--input-type", "w=float32[256, 256]", "--format", "json"});
        return heddle(words);
    };
    const auto found = with(twice, {"optimise", "--machines", "2", "--rule", "small_first", "--rule",
                                    "transpose_of_nothing", "-o", path("cuts.json")});
    ASSERT_EQ(found.status, 0) << found.errors;
    const Json cuts = Json::parse(read("cuts.json"));
    EXPECT_EQ(cuts["rules"].size(), 2u);
    EXPECT_EQ(cuts["cuts"].size(), 2u);
    const std::vector<std::string> cut = {"run", "--random", "1", "--no-cache", "--shard", path("cuts.json")};
    const auto run = with(twice, cut);
    ASSERT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(Json::parse(run.output)["shards"]["cuts"], cuts["cuts"]);
    EXPECT_FALSE(Json::parse(run.output)["rewrites"].empty());
    // Another program, and this one by other rules.
    EXPECT_NE(with("h = relu(x); y = matmul(h, w)", cut).output.find("placing.cut_program"), std::string::npos);
    std::vector<std::string> otherwise = cut;
    otherwise.insert(otherwise.end(), {"--rule", "transpose_of_nothing"});
    EXPECT_NE(with(twice, otherwise).output.find("placing.cut_program"), std::string::npos);
}

TEST_F(OptimiseCommand, after_its_time_there_is_a_way_still) {
    const auto outcome = optimise({"--machines", "16", "--time", "0.001", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_GE(Json::parse(outcome.output)["front"].size(), 1u);
}

TEST_F(OptimiseCommand, simulates_what_many_places_cost) {
    const auto outcome =
        heddle({"optimise", "--call", "h = relu(numpy_matmul(x, w)); y = numpy_matmul(h, v)", "--input-type",
                "x=float16[batch, 256]", "--input-type", "w=float16[256, 512]", "--input-type", "v=float16[512, 256]",
                "--machines", R"({"tag": "nvidia/superpod-h100", "machines": {"node": {"count": 512}}})", "--simulate",
                "8,4096", "--grow", "batch=64", "--shard", "batch=2", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const Json points = Json::parse(outcome.output)["points"];
    ASSERT_EQ(points.size(), 2u);
    EXPECT_EQ(points[0]["bandwidth"], 450e9);
    EXPECT_EQ(points[1]["bandwidth"], 50e9);
    for (const Json& point : points) {
        EXPECT_EQ(point["bytes"], 0);
        EXPECT_NEAR(point["efficiency"].get<double>(), 1, 0.02);  // what is fused depends on sizes
        const int64_t places = point["places"];
        EXPECT_EQ(point["result_bytes"], (places - 1) * 64 * 256 * 2);
        // Its weights, its rows of x, h and relu's or of y.
        EXPECT_EQ(point["memory"], points[0]["memory"]);
    }
}

// Gradients of weights are sums over the batch, which places add up.
TEST_F(OptimiseCommand, simulates_a_step_of_training) {
    const auto outcome = heddle({"optimise",
                                 "--call",
                                 "y = relu(numpy_matmul(x, w))",
                                 "--input-type",
                                 "x=float32[batch, 256]",
                                 "--input-type",
                                 "w=float32[256, 512]",
                                 "--loss",
                                 "reduce_mean(y)",
                                 "--wrt",
                                 "w",
                                 "--machines",
                                 "nvidia/superpod-h100",
                                 "--simulate",
                                 "8,64",
                                 "--grow",
                                 "batch=64",
                                 "--shard",
                                 "batch=2",
                                 "--format",
                                 "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    const Json points = Json::parse(outcome.output)["points"];
    ASSERT_EQ(points.size(), 2u);
    for (const Json& point : points) {
        // Each place receives the shares of all others' gradients that it adds up; the sums stay where they are.
        const double places = point["places"], gradient = 256 * 512 * 4;
        EXPECT_NEAR(point["bytes"].get<double>() / ((places - 1) * gradient), 1, 0.01) << point;
        EXPECT_LT(point["efficiency"], 1.0);
    }
    EXPECT_EQ(points[0]["places_of_machine"], 1);
    EXPECT_EQ(points[1]["places_of_machine"], 8);
    EXPECT_EQ(points[1]["bandwidth_in_machine"], 450e9);
}

TEST_F(OptimiseCommand, of_nothing_to_do_nothing_is_lost) {
    const auto outcome = heddle({"optimise", "--call", "y = relu(x)", "--input-type", "x=float32[0, 4]", "--machines",
                                 "nvidia/superpod-h100", "--simulate", "8", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(Json::parse(outcome.output)["points"][0]["efficiency"], 1.0);
}

TEST_F(OptimiseCommand, what_cannot_be_simulated_is_refused) {
    const std::string tag = "nvidia/superpod-h100";
    for (const char* counts : {"0", "-1", "x", "8,", ",8", "8,,9", "65537", "99999999999999999999", "8 ", "257"}) {
        const auto wrong = optimise({"--machines", tag, "--simulate", counts});
        EXPECT_EQ(wrong.status, 1) << counts;
        EXPECT_NE(wrong.errors.find("cli.simulate]"), std::string::npos) << counts << wrong.errors;
    }
    const auto refused = [&](std::vector<std::string> more) {
        std::vector<std::string> words = {"--machines", tag, "--simulate", "8"};
        words.insert(words.end(), more.begin(), more.end());
        const auto outcome = optimise(words);
        return outcome.status == 1 && outcome.errors.find("cli.simulate]") != std::string::npos;
    };
    EXPECT_TRUE(refused({"--grow", "batch"}));
    EXPECT_TRUE(refused({"--grow", "batch=0"}));
    EXPECT_TRUE(refused({"--grow", "=2"}));
    EXPECT_TRUE(refused({"--shard", "stages=2"}));
    EXPECT_TRUE(refused({"--shard", "h.k=2,y.1=3"}));
    EXPECT_TRUE(refused({"--shard", "batch/2"}));
    EXPECT_NE(optimise({"--machines", "4", "--simulate", "2"}).errors.find("cli.simulate]"), std::string::npos);
    EXPECT_NE(optimise({"--machines", tag, "--simulate", ""}).status, 0);
    EXPECT_NE(optimise({"--machines", tag, "--simulate", "8", "--limit", "places=2"}).status, 0);
    EXPECT_NE(optimise({"--machines", tag, "--shard", "2"}).status, 0);
}

}  // namespace
}  // namespace heddle
