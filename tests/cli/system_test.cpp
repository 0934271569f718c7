// heddle run and heddle explain on a system of devices.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "command_test.h"
#include "helpers/running.h"
#include "target/facts.h"
#include "target/target.h"

namespace heddle {
namespace {

class SystemCommand : public CommandTest {
protected:
    SystemCommand() {
        const TensorData x = random_tensor({8, 16}, 3);
        EXPECT_TRUE(write_npy(path("x.npy"), x));
    }
    const std::string system_ = write("system.json", R"({"devices": {
        "cpu0": {"target": {"kind": "cpu"}},
        "c0": {"target": {"kind": "c"}, "scopes": {"global": {"bytes": 1000000}, "fast": {"bytes": 65536}}},
        "ref0": {"target": {"kind": "reference"}},
        "cc": {"target": {"kind": "library", "library": "cc", "options": {"optimise": "2"}}, "host": "cpu0"}},
      "links": [{"from": "cpu0", "to": "c0", "bandwidth": 1e10, "latency": 1e-6},
                {"from": "cpu0", "to": "ref0", "bandwidth": 1e10, "latency": 1e-6}]})");

    CommandOutcome run(std::vector<std::string> more) const {
        std::vector<std::string> words = {
            "run",       "--call", "h = exp(x); s = softmax(h, axis: 1); y = tanh(s)", "--input", "x=" + path("x.npy"),
            "--no-cache"};
        words.insert(words.end(), more.begin(), more.end());
        return heddle(words);
    }
};

TEST_F(SystemCommand, runs_on_several_kinds_of_device_as_on_one) {
    ASSERT_EQ(run({"--output-dir", path("one")}).status, 0);
    for (const char* device : {"c0", "c0:fast", "ref0", "cc"}) {
        const auto outcome =
            run({"--output-dir", path("several"), "--system", system_, "--place", std::string("s=") + device});
        ASSERT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_CONTAINS(outcome.output, std::string("1 functions on other devices, ") +
                                            (device == std::string("cc") ? "0" : "2") + " copies");
        EXPECT_EQ(outcome.output.find("; 0 launches"), std::string::npos) << outcome.output;
        const auto one = read_npy(path("one/output_0.npy")), several = read_npy(path("several/output_0.npy"));
        ASSERT_TRUE(one && several);
        for (int64_t i = 0; i < one->size(); i++) EXPECT_NEAR(several->real_at(i), one->real_at(i), 1e-6);
    }
}

TEST_F(SystemCommand, says_where_all_is_and_why) {
    const auto text = run({"--system", system_, "--place", "s=c0", "--placement"});
    ASSERT_EQ(text.status, 0) << text.errors;
    EXPECT_CONTAINS(text.output, "'program.s' is annotated");
    EXPECT_CONTAINS(text.output, "copy program.h");
    EXPECT_CONTAINS(text.output,
                    "device function main@c0(program.h: float32[8, 16]) -> (program.s: float32[8, 16]) for c");
    const auto outcome = run({"--system", system_, "--place", "s=c0", "--format", "json"});
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(json["placement"]["operations"][1]["device"], "c0");
    EXPECT_EQ(json["placement"]["copies"].size(), 2u);
    EXPECT_EQ(json["placement"]["functions"].size(), 2u);
    EXPECT_EQ(json["placement"]["run"]["copies"], 2);
    EXPECT_EQ(json["placement"]["run"]["device_launches"], 1);
    EXPECT_GE(json["launches"].get<int>(), 2);  // of both functions
}

TEST_F(SystemCommand, runs_where_the_system_names_the_cpu_that_this_is) {
    for (const std::string& cpu : cpus_within(detect_host().arch, features_of(detect_host()))) {
        const auto one =
            write("one.json", R"({"kind": "machine", "devices": {"a": {"target": {"cpu": ")" + cpu + R"("}}}})");
        const auto outcome = run({"--system", one});
        EXPECT_EQ(outcome.status, 0) << cpu << outcome.errors;
        EXPECT_EQ(outcome.output.find("; 0 launches"), std::string::npos) << outcome.output;
    }
}

TEST_F(SystemCommand, a_device_without_a_host_gets_that_of_its_kind) {
    const auto outcome = run({"--system", R"({"kind": "cuda", "arch": "sm_90"})"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "running.missing_kind");
    EXPECT_EQ(outcome.errors.find("give the target a host"), std::string::npos) << outcome.errors;
    const auto explained = heddle({"targets", R"({"kind": "cuda", "arch": "sm_90"})", "--explain"});
    EXPECT_CONTAINS(explained.output, "default of kind cuda");
}

TEST_F(SystemCommand, says_which_host_was_taken_and_why) {
    const std::string card = R"({"kind": "cuda", "arch": "sm_90"})";
    const std::string by_kind = "host: cpu x86_64: kind cuda chooses it, since none is given";
    const auto one = heddle({"targets", card});
    EXPECT_CONTAINS(one.output, by_kind);
    EXPECT_CONTAINS(
        nlohmann::json::parse(heddle({"targets", card, "--format", "json"}).output)["host"].get<std::string>(),
        "kind cuda chooses it");
    EXPECT_CONTAINS(heddle({"targets", "nvidia/jetson-nano:cuda"}).output,
                    "host: cpu aarch64 cortex-a57: the tag nvidia/jetson-nano:cuda says so");
    EXPECT_EQ(heddle({"targets", "aws/c5"}).output.find("host:"), std::string::npos);
    const std::vector<std::string> matmul = {"explain", "matmul", "X=float32[8, 8]", "W=float32[8, 8]", "--system"};
    auto words = matmul;
    words.push_back(card);
    EXPECT_CONTAINS(heddle(words).output, by_kind);
    words.insert(words.end(), {"--format", "json"});
    EXPECT_CONTAINS(nlohmann::json::parse(heddle(words).output)["placement"]["host"].get<std::string>(), "kind cuda");
    const auto compiled = heddle(
        {"compile", "--call", "y = exp(x)", "--input-type", "x=float32[8, 8]", "--system", card, "-o", path("out")});
    EXPECT_EQ(compiled.status, 0) << compiled.errors;
    EXPECT_CONTAINS(compiled.output, by_kind);
    // Where it runs, this machine is the host: of a library, which is not compiled for alone.
    const std::string library = R"({"kind": "library", "library": "cc"})";
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--placement"}}) {
        auto options = more;
        options.insert(options.end(), {"--system", library, "--place", "s=library"});
        const auto outcome = run(options);
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_CONTAINS(outcome.output, ": this machine, since none is given");
        EXPECT_CONTAINS(outcome.output, "1 functions on other devices");
    }
    // Machines name theirs.
    EXPECT_EQ(run({"--system", system_, "--placement"}).output.find("host:"), std::string::npos);
}

TEST_F(SystemCommand, a_gpu_is_refused_with_what_is_on_it_and_what_to_do) {
    const std::string cards = R"({"devices": {"cpu": {"target": {"kind": "cpu"}}, "gpu": {"target": "nvidia/t4"}},
                                  "links": [{"from": "cpu", "to": "gpu", "bandwidth": 1e10}]})";
    const auto outcome = heddle({"compile", "--call", "s = exp(x); y = tanh(s)", "--input-type", "x=float32[8, 8]",
                                 "--system", cards, "--place", "s=gpu", "-o", path("out")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[artefact.kind]: 'y' is computed on 'gpu'");
    EXPECT_CONTAINS(outcome.errors, "--place y=cpu");
    EXPECT_CONTAINS(outcome.errors, "--target webgpu");
    const auto page = heddle({"compile", "--call", "y = exp(x)", "--input-type", "x=float32[8, 8]", "--target",
                              "nvidia/t4", "-o", path("out")});
    EXPECT_CONTAINS(page.errors, "error[cli.target]");
    EXPECT_CONTAINS(page.errors, "--target webgpu");
    // A processor of another machine names its compiler, as without a system.
    const std::string old = std::getenv("PATH");
    ASSERT_EQ(setenv("PATH", path("empty").c_str(), 1), 0);
    const auto foreign = heddle({"compile", "--call", "y = exp(x)", "--input-type", "x=float32[8, 8]", "--system",
                                 "nvidia/jetson-nano:cuda", "-o", path("out")});
    ASSERT_EQ(setenv("PATH", old.c_str(), 1), 0);
    EXPECT_CONTAINS(foreign.errors, "error[cli.cross_compiler]");
    EXPECT_CONTAINS(foreign.errors, "--cc aarch64-linux-gnu-gcc");
}

TEST_F(SystemCommand, explains_where_an_operator_is_placed) {
    const auto outcome = heddle({"explain", "matmul", "X=float32[rows=64, 64]", "W=float32[64, 64]", "--system",
                                 system_, "--place", "result=ref0", "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors << outcome.output;
    const auto json = nlohmann::json::parse(outcome.output);
    EXPECT_EQ(json["placement"]["copies"].size(), 2u);
    const auto& functions = json["placement"]["functions"];
    EXPECT_EQ(functions.back()["steps"].back()["extents"][0][0], "rows");
}

TEST_F(SystemCommand, compiles_one_artefact_for_several_targets) {
    const std::vector<std::string> words = {"compile",
                                            "--call",
                                            "s = softmax(x, axis: 1); y = tanh(s)",
                                            "--input-type",
                                            "x=float32[rows, 16]",
                                            "--bind",
                                            "rows=1:8",
                                            "--name",
                                            "rows",
                                            "--system",
                                            system_,
                                            "--place",
                                            "s=c0",
                                            "-o",
                                            path("out")};
    const auto outcome = heddle(words);
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "launch rows@c0(x@c0) over [rows, 16]");
    for (const char* file : {"librows.so", "rows.c", "rows.h", "rows_part0.c", "rows_part1.o"})
        EXPECT_TRUE(std::filesystem::exists(path("out/" + std::string(file)))) << file;
    const auto json = nlohmann::json::parse(read("out/rows.json"));
    EXPECT_EQ(json["parts"].size(), 2u);
    EXPECT_EQ(json["functions"].size(), 2u);
    auto more = words;
    more.insert(more.end(), {"--emit", "c"});
    EXPECT_CONTAINS(heddle(more).errors, "error[cli.usage]");
    auto other = words;
    *std::ranges::find(other, "s=c0") = "s=ref0";
    EXPECT_CONTAINS(heddle(other).errors, "error[artefact.kind]");
}

TEST_F(SystemCommand, refuses_what_cannot_be) {
    const auto refusal = [&](const std::vector<std::string>& more) {
        const auto outcome = run(more);
        EXPECT_EQ(outcome.status, 1);
        EXPECT_EQ(outcome.output, "");
        return outcome.errors;
    };
    EXPECT_CONTAINS(refusal({"--system", system_, "--place", "s=c1"}), "error[placing.unknown_device]");
    EXPECT_CONTAINS(refusal({"--system", system_, "--place", "q=c0"}), "error[placing.unknown_name]");
    const std::string card = write("card.json", R"({"kind": "cuda", "arch": "sm_90", "host": {"kind": "cpu"}})");
    EXPECT_CONTAINS(refusal({"--system", card}), "error[running.missing_kind]");
    const std::string large = write("large.json", R"({"kind": "cpu", "memory_bytes": 9000000000000000})");
    EXPECT_CONTAINS(refusal({"--system", large}), "error[running.missing_memory]");
    EXPECT_CONTAINS(refusal({"--system", path("nothing.json")}), "nothing.json");
    EXPECT_NE(run({"--place", "s=c0"}).status, 0);
}

}  // namespace
}  // namespace heddle
