// heddle schema: what editors know of template files.
#include <nlohmann/json.hpp>

#include <set>

#include "command_test.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class Metakernels18 : public CommandTest {
protected:
    static Json schema() {
        auto outcome = heddle({"schema"});
        EXPECT_EQ(outcome.status, 0);
        return Json::parse(outcome.output, nullptr, false);
    }
};

std::set<std::string> keys_of(const Json& properties) {
    std::set<std::string> keys;
    for (const auto& [key, value] : properties.items()) keys.insert(key);
    return keys;
}

TEST_F(Metakernels18, EveryKeyHasACompletionWithItsMeaning) {
    Json found = schema();
    EXPECT_CONTAINS(found["$schema"].get<std::string>(), "json-schema.org");
    const Json& metakernel = found["definitions"]["metakernel"];
    for (const char* key : {"doc", "params", "inputs", "outputs", "constraints", "let", "index", "each", "body",
                            "graph", "kernels", "reduces", "grad", "family", "onnx"}) {
        ASSERT_TRUE(metakernel["properties"].contains(key)) << key;
        EXPECT_GT(metakernel["properties"][key].value("description", "").size(), 10u) << key;
    }
    // Unknown keys are marked, and what has to be there is asked for.
    EXPECT_EQ(metakernel["additionalProperties"], false);
    for (const char* key : {"doc", "import", "let", "rewrites"}) EXPECT_TRUE(found["properties"].contains(key)) << key;
}

// One table: what the schema offers, the reader takes, and what it does not, the reader refuses.
TEST_F(Metakernels18, TheReaderRefusesWhatTheSchemaDoesNotOffer) {
    Json metakernel = schema()["definitions"]["metakernel"];
    std::string wrong = write("wrong.yaml",
                              "t:\n  inputs: {x: \"$T[$n]\"}\n  outputs: {y: \"$T[$n]\"}\n  shape: \"[$n]\"\n"
                              "  body: \"y = x\"\n");
    auto outcome = heddle({"check", wrong, "--format", "json"});
    EXPECT_EQ(outcome.status, 1);
    Json problem = Json::parse(outcome.output)["errors"][0];
    EXPECT_EQ(problem["type"], "language.unknown_key");
    std::string expected;
    for (const std::string& context : {problem.dump()}) expected += context;
    for (const std::string& key : keys_of(metakernel["properties"])) EXPECT_CONTAINS(expected, key);
}

}  // namespace
}  // namespace heddle
