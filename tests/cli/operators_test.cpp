// heddle operators, and what shells ask for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <set>

#include "command_test.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

using Json = nlohmann::json;
using OperatorsCommand = CommandTest;

TEST_F(OperatorsCommand, lists_all_and_finds_words) {
    const Json all = Json::parse(heddle({"operators", "--format", "json"}).output);
    std::set<std::string> names;
    for (const Json& one : all) {
        names.insert(one["name"].get<std::string>());
        EXPECT_FALSE(one["signature"].get<std::string>().empty()) << one["name"];
    }
    for (const char* name : {"softmax", "conv", "onnx:Gemm"}) EXPECT_TRUE(names.contains(name)) << name;
    const auto found = heddle({"operators", "softmax"});
    EXPECT_EQ(found.status, 0);
    EXPECT_CONTAINS(found.output, "softmax(x: $dtype[$outer...{$axis}, $n, $inner...], axis: axis($x) = -1)");
    EXPECT_TRUE(found.output.find("softmax") < found.output.find("attention"));  // names before descriptions
    const auto none = heddle({"operators", "sofmax"});
    EXPECT_EQ(none.status, 1);
    EXPECT_CONTAINS(none.errors, "error[cli.no_operator]");
    EXPECT_CONTAINS(none.errors, "did you mean softmax?");
}

TEST_F(OperatorsCommand, lists_those_of_your_own) {
    const auto mine = write("mine.yaml",
                            "swish:\n  doc: Times its sigmoid.\n  inputs: {x: \"float32[$n]\"}\n  index: \"[$n]\"\n"
                            "  outputs: {y: float32}\n  body: y = x / (1 + exp(-x))\n");
    EXPECT_CONTAINS(heddle({"operators", "swish", "--library", mine}).output, "Times its sigmoid.");
}

TEST_F(OperatorsCommand, the_page_of_operators_is_current) {
    EXPECT_EQ(file_text(in_source("docs/operators.md")), heddle({"operators", "--page"}).output)
        << "build/heddle operators --page > docs/operators.md";
}

TEST_F(OperatorsCommand, words_for_completion) {
    const auto words = [](std::vector<std::string> more) {
        more.insert(more.begin(), {"completion", "--words"});
        const auto outcome = heddle(more);
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        return "\n" + outcome.output;
    };
    EXPECT_CONTAINS(words({"operators"}), "\nsoftmax\n");
    EXPECT_CONTAINS(words({"operators"}), "\nonnx:Gemm\n");
    EXPECT_CONTAINS(words({"targets"}), "\nraspberry/pico\n");
    EXPECT_CONTAINS(words({"environments"}), "\nloom\n");
    EXPECT_EQ(words({"dimensions", "--of", write("model.onnx", perceptron())}), "\nbatch=\n");
    EXPECT_EQ(words({"dimensions", "--of", path("nowhere.onnx")}), "\n");
    EXPECT_CONTAINS(heddle({"completion", "bash"}).output, "completion --words operators");
    EXPECT_CONTAINS(heddle({"completion", "fish"}).output, "-l input-type");
}

}  // namespace
}  // namespace heddle
