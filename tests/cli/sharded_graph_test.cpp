// heddle graph with --shard: documents of graphs whose operations are cut, and their pictures.
#include <nlohmann/json.hpp>

#include <set>
#include <string_view>
#include <tuple>

#include "command_test.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

class ShardedGraphs : public CommandTest {
protected:
    CommandOutcome product(std::vector<std::string> more) {
        more.insert(more.begin(), {"graph", "--call", "linear(x, A, b)", "--input-type", "x=float32[10:14, 6]",
                                   "--input-type", "A=float32[6,5]", "--input-type", "b=float32[5]"});
        return heddle(more);
    }
    // The document without its first application of this kernel, or with it twice.
    std::string damaged(const std::string& file, const std::string& kernel, bool twice) {
        Json document = Json::parse(read(file));
        Json& nodes = document["nodes"];
        std::string operation;
        for (const Json& node : nodes)
            if (node["body"].value("kernel", "") == kernel) operation = node["id"];
        for (size_t i = 0; i < nodes.size(); i++) {
            if (operation.empty() || nodes[i]["body"].value("operationId", "") != operation) continue;
            Json copy = nodes[i];
            copy["id"] = "00000000-0000-8000-8000-000000000000";
            twice ? nodes.insert(nodes.begin(), copy) : nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
            return write("damaged.json", document.dump(2));
        }
        ADD_FAILURE() << "no application of " << kernel;
        return "";
    }
};

TEST_F(ShardedGraphs, applications_of_all_operations_that_are_cut) {
    auto outcome = product({"--shard", "row0=2", "--validate", "--json", path("rows.json"), "--svg", path("rows.svg")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "5 tensors, 2 operations, 4 applications");
    EXPECT_CONTAINS(outcome.output, "valid in the environment 'heddle'; 2 operators applied again");
    EXPECT_CONTAINS(read("rows.svg"), "</svg>");
    Json document = Json::parse(read("rows.json"));
    std::set<std::string> starts;
    for (const Json& node : document["nodes"]) {
        if (!node["body"].contains("operationId")) continue;
        for (const Json& part : node["body"]["outputs"].front()) starts.insert(part["range"]["start"].dump());
    }
    EXPECT_EQ(starts, (std::set<std::string>{"[0,0]", "[2,0]"}));
    outcome =
        heddle({"graph", path("rows.json"), "--validate", "--environment", "heddle", "--json", path("again.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(read("again.json"), read("rows.json"));
    EXPECT_CONTAINS(heddle({"graph", path("rows.json"), "--validate", "--environment", "operations"}).errors,
                    "error[interchange.node_type]");
}

TEST_F(ShardedGraphs, partial_results_and_what_combines_them) {
    auto outcome = product({"--shard", "col0=5,k=3", "--validate", "--json", path("sums.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "6 tensors, 3 operations, 21 applications");
    outcome =
        heddle({"graph", path("sums.json"), "--validate", "--environment", "heddle", "--json", path("again.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(read("again.json"), read("sums.json"));
    for (const char* kernel : {"shard:numpy_matmul", "add2", "combine:sum"}) {
        for (bool twice : {false, true}) {
            outcome = heddle({"graph", damaged("sums.json", kernel, twice), "--validate"});
            // An operation that nothing is left of is one before it is cut.
            const bool is_gone = !twice && std::string_view(kernel) == "combine:sum";
            EXPECT_EQ(outcome.status, is_gone ? 0 : 1) << kernel << twice;
            EXPECT_CONTAINS(outcome.errors, is_gone ? ""
                                            : twice ? "error[interchange.overlap]"
                                                    : "error[interchange.gap]");
        }
    }
}

// Declared reductions have whole results as parts, also of an operator without a body.
TEST_F(ShardedGraphs, parts_that_an_operator_joins) {
    const std::string library = write("folds.yaml", R"yaml(
hypotenuse:
  inputs: {a: "$T[$shape...]", b: "$T[$shape...]"}
  index: "[$shape...]"
  outputs: {y: "$T"}
  body: "y = sqrt(a * a + b * b)"
length:
  inputs: {x: "$T[$rows, $n]"}
  index: "[$rows]"
  outputs: {y: "$T"}
  reduces: {n: hypotenuse}
  body: "y = sqrt(sum(k < $n : x[@rows, k] * x[@rows, k]))"
outside:
  inputs:
    X: {shape: "[$row, $inner]", dtype: "$T", ipf: "[@row, *]"}
    W: {shape: "[$inner, $col]", dtype: "$T", ipf: "[*, @col]"}
  index: "[$row, $col]"
  outputs: {y: {dtype: "$T"}}
  reduces: {inner: sum}
size_of:
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T"}
  reduces: {n: hypotenuse}
  body: "y[] = sqrt(sum(i < $m, k < $n : x[i, k] * x[i, k]))"
first_and_all:
  inputs: {x: "$T[$m, $n]"}
  index: "[]"
  outputs: {y: "$T[]", z: "$T[$m, $n]", s: "$T[]"}
  body: |
    y[] = x[0, 0]
    z[i, j] = x[i, j]
    s[] = sum(i < $m, j < $n : x[i, j])
)yaml");
    const std::vector<std::tuple<const char*, const char*, const char*>> cases = {
        {"length(x)", "n=4", "6 tensors, 2 operations, 5 applications"},
        {"length(x)", "rows=2,n=3", "4 tensors, 2 operations, 5 applications"},  // of 2, 2 and 0 terms
        {"length(x)", "rows=3", "2 tensors, 1 operations, 2 applications"},      // of 2, 2 and 0 rows
        // A part without dimensions has no empty box: who writes it is an operation of its own.
        {"size_of(x)", "n=2", "4 tensors, 3 operations, 3 applications"},
        {"y, z, s = first_and_all(x)", "i=2,j=2", "5 tensors, 4 operations, 10 applications"},
        {"outside(x, x)", "inner=2,row=2", "4 tensors, 2 operations, 5 applications"},
        {"outside(x, x)", "col=4", "2 tensors, 1 operations, 4 applications"}};
    for (const auto& [call, shards, expected] : cases) {
        auto outcome = heddle({"graph", "--library", library, "--call", call, "--input-type", "x=float32[4,4]",
                               "--shard", shards, "--json", path("folds.json")});
        EXPECT_EQ(outcome.status, 0) << call << shards << outcome.errors;
        EXPECT_CONTAINS(outcome.output, expected);
        outcome = heddle({"graph", path("folds.json"), "--library", library, "--validate", "--environment", "heddle"});
        EXPECT_EQ(outcome.status, 0) << call << shards << outcome.errors;
    }
}

TEST_F(ShardedGraphs, what_is_refused) {
    const std::vector<std::pair<const char*, const char*>> cases = {{"row0", "placing.cut_syntax"},
                                                                    {"rows=2", "placing.cut_name"},
                                                                    {"row0=0", "placing.cut_syntax"},
                                                                    {"row0=5000", "sharding.limit"},
                                                                    {"k=2,row0=-1", "placing.cut_syntax"}};
    for (const auto& [shards, code] : cases) {
        auto outcome = product({"--shard", shards, "--json", path("none.json")});
        EXPECT_EQ(outcome.status, 1) << shards;
        EXPECT_CONTAINS(outcome.errors, std::string("error[") + code + "]");
    }
    EXPECT_FALSE(std::filesystem::exists(path("none.json")));
    const std::string published = in_source("tests/interchange/graphs/sharded_add.json");
    EXPECT_CONTAINS(heddle({"graph", published, "--shard", "n=2"}).errors, "error[cli.graph]");
    EXPECT_CONTAINS(product({"--shard", "row0=2", "--fused", "--svg", path("a.svg")}).errors, "error[cli.graph]");
    auto outcome = heddle({"graph", "--call", "sort(x, axis: 0)", "--input-type", "x=float32[4]", "--shard", "none=2"});
    EXPECT_CONTAINS(outcome.errors, "error[placing.cut_name");
}

TEST_F(ShardedGraphs, parts_of_a_scan_are_refused) {
    auto outcome = heddle({"graph", "--call", "linear_recurrence(a, x)", "--input-type", "x=float32[7,4]",
                           "--input-type", "a=float32[7,4]", "--shard", "t=3", "--json", path("steps.json")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[cli.shard]: parts of axis 't' of");
}

}  // namespace
}  // namespace heddle
