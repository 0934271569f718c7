// Backends of plugins on the command line. What a whole one computes: tests/package.
#include "command_test.h"

namespace heddle {
namespace {

class PluginCommand : public CommandTest {
protected:
    static std::string plugin(const std::string& name) {
        return std::string(HEDDLE_TEST_PLUGINS) + "/libplugin_" + name + ".so";
    }
    CommandOutcome run(std::vector<std::string> more) {
        write_npy(path("x.npy"), TensorData(DType::float32, {2, 3}));
        std::vector<std::string> words = {"run",       "--call", "y = relu(x)", "--input", "x=" + path("x.npy"),
                                          "--no-cache"};
        words.insert(words.end(), more.begin(), more.end());
        return heddle(words);
    }
    static void expect_refused(const CommandOutcome& outcome, const std::string& code) {
        EXPECT_EQ(outcome.status, 1);
        EXPECT_CONTAINS(outcome.errors, "error[" + code + "]");
    }
};

TEST_F(PluginCommand, RunRefusesWhatCannotBeUsed) {
    expect_refused(run({"--plugin", path("no.so")}), "plugins.no_file");
    expect_refused(run({"--plugin", plugin("version")}), "plugins.version");
    expect_refused(run({"--plugin", plugin("no_open"), "--backend", "toy"}), "plugins.no_symbol");
    const auto other = run({"--plugin", plugin("plain"), "--backend", "toy"});
    expect_refused(other, "cli.backend");
    EXPECT_CONTAINS(other.errors, "cpu, reference, wrong");
    expect_refused(run({"--plugin", plugin("plain")}), "backends.no_compile_config");
    expect_refused(run({"--plugin", plugin("plain"), "--backend", "wrong"}), "backends.no_compile_config");
    expect_refused(run({"--plugin", plugin("config")}), "plugins.failed");
    expect_refused(run({"--plugin", plugin("compile_throws")}), "plugins.threw");
}

TEST_F(PluginCommand, RunWithoutThePluginsBackend) {
    EXPECT_EQ(run({"--plugin", plugin("plain"), "--backend", "cpu"}).status, 0);
    EXPECT_EQ(run({"--plugin", plugin("plain"), "--backend", "reference"}).status, 0);
}

TEST_F(PluginCommand, CompareRefusesWhatCannotBeUsed) {
    const std::string model = write("m.onnx", perceptron());
    for (const auto& [file, code] :
         {std::pair{path("no.so"), "plugins.no_file"}, std::pair{plugin("plain"), "backends.no_compile_config"}}) {
        expect_refused(heddle({"compare", model, "--with", "reference", "--random", "1", "--bind", "batch=2",
                               "--no-cache", "--plugin", file}),
                       code);
    }
}

TEST_F(PluginCommand, ConformanceSaysWhatFails) {
    const auto outcome =
        heddle({"conformance", "--plugin", plugin("plain"), "--only", "config", "--only", "operator relu"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.output, "FAILED config");
    EXPECT_CONTAINS(outcome.output, "backends.no_compile_config");
    EXPECT_CONTAINS(outcome.output, "wrong: 0 of 2 checks passed");
    const auto json = heddle({"conformance", "--plugin", plugin("plain"), "--only", "config", "--format", "json"});
    EXPECT_EQ(json.status, 1);
    EXPECT_CONTAINS(json.output, "\"passed\": false");
    EXPECT_EQ(heddle({"conformance", "--plugin", plugin("plain"), "--only", "nothing"}).status, 1)
        << "nothing was checked";
    expect_refused(heddle({"conformance", "--plugin", path("no.so")}), "plugins.no_file");
    EXPECT_EQ(heddle({"conformance"}).status, 2);
}

}  // namespace
}  // namespace heddle
