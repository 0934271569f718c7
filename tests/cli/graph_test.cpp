// heddle graph with documents: in and out, validation, environments, pictures.
#include "command_test.h"
#include "helpers/files.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

class GraphDocuments : public CommandTest {
protected:
    static std::string published(const std::string& name) { return in_source("tests/interchange/graphs/") + name; }
    std::string changed(const std::string& from, const std::string& to) {
        std::string text = file_text(published("sharded_add.json"));
        size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos);
        return write("changed.json", text.replace(at, from.size(), to));
    }
    CommandOutcome call(std::vector<std::string> more) {
        more.insert(more.begin(), {"graph", "--call", "add([A, B])", "--input-type", "A=int32[10,10]", "--input-type",
                                   "B=int32[200:210, -5:5]"});
        return heddle(more);
    }
};

class Metakernels6 : public GraphDocuments {};
class Metakernels7 : public GraphDocuments {};
class Metakernels8 : public GraphDocuments {};
class Metakernels15 : public GraphDocuments {};
class Metakernels5 : public GraphDocuments {};

TEST_F(Metakernels6, the_example_from_the_command_line) {
    auto outcome = heddle({"graph", "--call", "add([A, B])", "--input-type", "A=int32[10,10]", "--input-type",
                           "B=int32[10,10]", "--validate", "--json", path("sum.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "3 tensors, 1 operations, 1 applications");
    EXPECT_CONTAINS(outcome.output, "valid in the environment 'heddle'; 1 operators applied again");
    std::string text = read("sum.json");
    for (const char* part :
         {"\"kernel\": \"add\"", "IPFIndex", "IPFSignature", "nodes/Application", "\"label\": \"B\""})
        EXPECT_CONTAINS(text, part);
    outcome = heddle({"graph", path("sum.json"), "--validate", "--environment", "heddle", "--json", path("again.json"),
                      "--format", "json"});
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(read("again.json"), text);
    EXPECT_CONTAINS(outcome.output, "\"valid\": true");
}

TEST_F(Metakernels5, ranges_that_begin_anywhere) {
    auto outcome = call({"--validate", "--json", path("sum.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(read("sum.json"), "\"offset\": [200, -5]");
    outcome = heddle({"explain", "add", "tensors=int32[10, 10]", "tensors=int32[200:210, -5:5]"});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "[@shape0 + 200, @shape1 - 5]");
    EXPECT_CONTAINS(outcome.output, "int32[200:210, -5:5]");
    for (const char* wrong :
         {"A=int32[3:1]", "A=int32[1:]", "A=int32[x:2]", "A=int32[-9223372036854775808:9223372036854775807]"}) {
        outcome = heddle({"graph", "--call", "add([A, A])", "--input-type", wrong});
        EXPECT_EQ(outcome.status, 1) << wrong;
        EXPECT_CONTAINS(outcome.errors, "error[cli.type]");
    }
}

TEST_F(Metakernels7, published_graphs_come_back_byte_for_byte) {
    for (const char* name : {"masked_add.json", "sharded_add.json"}) {
        auto outcome = heddle({"graph", published(name), "--validate", "--json", path(name)});
        ASSERT_EQ(outcome.status, 0) << outcome.errors;
        EXPECT_CONTAINS(outcome.output, "valid in the environment 'loom'");
        EXPECT_EQ(read(name), file_text(published(name)));
    }
}

TEST_F(Metakernels8, issues_as_text_and_json) {
    std::string file = changed("[205, 50]", "[206, 50]");
    auto outcome = heddle({"graph", file, "--validate", "--svg", path("never.svg")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "changed.json:");
    EXPECT_CONTAINS(outcome.errors, "error[interchange.selection]");
    EXPECT_CONTAINS(outcome.errors, "expected: [205:210, 50:55]");
    EXPECT_EQ(files(), 1u);
    outcome = heddle({"graph", file, "--validate", "--format", "json"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.output, "\"type\": \"interchange.selection\"");
    EXPECT_CONTAINS(outcome.output, "\"path\": \"$.nodes[5].body.inputs.tensors[1].range\"");
    // Without --validate it is read, and drawn.
    outcome = heddle({"graph", file, "--svg", path("drawn.svg")});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
}

TEST_F(Metakernels15, environments_by_name_and_by_file) {
    std::string file = published("sharded_add.json");
    EXPECT_EQ(heddle({"graph", file, "--validate", "--environment", "loom"}).status, 0);
    auto outcome = heddle({"graph", file, "--validate", "--environment", "operations"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[interchange.node_type]");
    EXPECT_CONTAINS(outcome.errors, "the environment 'operations' names its node types");
    outcome = heddle({"graph", file, "--validate", "--environment", "heddle"});
    EXPECT_CONTAINS(outcome.errors, "error[interchange.unknown_kernel]");
    outcome = heddle({"graph", file, "--validate", "--environment", "looms"});
    EXPECT_CONTAINS(outcome.errors, "error[interchange.unknown_environment]");
    EXPECT_CONTAINS(outcome.errors, "did you mean 'loom'?");
    std::string own = write("own.json", R"({"node_types": ["Tensor", "Operation", "Application"],
        "tag_types": ["IPFIndex", "IPFSignature"], "dtypes": ["int32"], "kernels": ["op:*"]})");
    EXPECT_EQ(heddle({"graph", file, "--validate", "--environment", own}).status, 0);
    outcome = heddle({"graph", published("masked_add.json"), "--validate", "--environment", own});
    EXPECT_CONTAINS(outcome.errors, "error[interchange.unknown_dtype]");
    EXPECT_CONTAINS(outcome.errors, "error[interchange.unknown_kernel]");
}

TEST_F(GraphDocuments, pictures_show_regions) {
    auto outcome = heddle({"graph", published("sharded_add.json"), "--svg", path("a.svg")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    std::string svg = read("a.svg");
    for (const char* part : {"int32[200:210, 50:55]", "reads t1 [205:210, 50:55]", "writes z0 [0:5, 0:5]", "op:add",
                             "fill-opacity=\"0.4\""})
        EXPECT_CONTAINS(svg, part);
    heddle({"graph", published("sharded_add.json"), "--svg", path("b.svg")});
    EXPECT_EQ(svg, read("b.svg"));
    // A cycle is drawn against the stream: the operation writes what it reads.
    std::string id = "00000000-0000-4000-8000-00000000000";
    std::string file = changed("\"tensorId\": \"" + id + "1\"", "\"tensorId\": \"" + id + "4\"");
    outcome = heddle({"graph", file, "--svg", path("c.svg")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(read("c.svg"), "#c0392b");
    EXPECT_CONTAINS(heddle({"graph", file, "--validate"}).errors, "error[interchange.cycle]");
}

TEST_F(GraphDocuments, of_a_model) {
    std::string model = write("model.onnx", perceptron());
    auto outcome = heddle({"graph", model, "--bind", "batch=2", "--validate", "--json", path("model.json")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "valid in the environment 'heddle'");
    outcome = heddle({"graph", path("model.json"), "--validate", "--environment", "heddle", "--json",
                      path("again.json"), "--svg", path("model.svg")});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_EQ(read("model.json"), read("again.json"));
}

TEST_F(GraphDocuments, wrong_options) {
    std::string file = published("sharded_add.json");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"graph"},
             {"graph", file, "--call", "add([A, B])"},
             {"graph", file, "--input-type", "A=int32[1]"},
             {"graph", file, "--svg", path("x.svg"), "--fused"},
             {"graph", file, "--input", "x=x.npy"},
             {"graph", "--call", "add([A])", "--input-type", "A=int32[1]", "--input", "A=a.npy"},
         }) {
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 1);
        EXPECT_CONTAINS(outcome.errors, "error[cli.graph]");
    }
    EXPECT_CONTAINS(heddle({"graph", "--call", "add([A])", "--input-type", "int32[1]"}).errors, "error[cli.argument]");
    EXPECT_CONTAINS(heddle({"graph", path("none.json")}).errors, "error[support.file_open]");
    EXPECT_CONTAINS(heddle({"graph", write("bad.json", "{")}).errors, "error[graph.json_syntax]");
    EXPECT_EQ(heddle({"graph", file, "--environment", "loom"}).status, 2);  // it is for --validate
    std::string many = "{\"id\": \"00000000-0000-4000-8000-000000000000\", \"nodes\": [";
    for (int i = 1; i <= 2001; i++) {
        many += (i > 1 ? "," : "") + std::string("{\"id\": \"00000000-0000-4000-8000-") +
                std::to_string(100000000000 + i) +
                "\", \"type\": \"http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/Note\", "
                "\"body\": {\"message\": \"\"}}";
    }
    many += "]}";
    auto outcome = heddle({"graph", write("many.json", many), "--svg", path("many.svg")});
    EXPECT_CONTAINS(outcome.errors, "too large for a picture");
}

}  // namespace
}  // namespace heddle
