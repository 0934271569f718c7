// heddle explain: what it shows of an operator, checked as numbers in its JSON and as words in its text.
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "command_test.h"
#include "equations/passes.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class Explain : public CommandTest {
protected:
    static Json json(std::vector<std::string> words) {
        words.insert(words.begin(), "explain");
        words.insert(words.end(), {"--format", "json"});
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.errors;
        return Json::parse(outcome.output, nullptr, false);
    }
};

// A window whose coordinates are clamped has no common start; what a point reads has a box all the same.
TEST_F(Explain, a_clamped_window_says_what_a_point_reads) {
    const std::string blur = write("blur.yaml", R"yaml(blur:
  inputs: {d: "float32[$h, $w]"}
  index: "[$h, $w]"
  outputs: {y: float32}
  body: "y = sum(i < 3, j < 5 : d[clamp(@h + i - 1, 0, $h - 1), min(max(@w + j - 2, 0), $w - 1)])"
)yaml");
    const Json point = json({"blur", "d=float32[16, 20]", "--library", blur})["operations"][0]["point"];
    EXPECT_EQ(point["index"], (Json{{"h", 8}, {"w", 10}}));
    EXPECT_EQ(point["inputs"][0]["start"], (Json{7, 8}));
    EXPECT_EQ(point["inputs"][0]["end"], (Json{10, 13}));
    EXPECT_CONTAINS(heddle({"explain", "blur", "d=float32[16, 20]", "--library", blur}).output,
                    "at [h = 8, w = 10] it reads d[7:10, 8:13]");
    // Where the projection says it, or everything is read, nothing is added.
    EXPECT_TRUE(json({"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]"})["operations"][0]["point"].is_null());
    EXPECT_TRUE(json({"softmax", "x=float32[4, 5]"})["operations"][0]["point"].is_null());
}

TEST_F(Explain, a_strided_window_shows_start_and_extent) {
    Json found = json({"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]", "strides=2"});
    std::string rows = found["operations"][0]["inputs"][0]["rows"];
    EXPECT_CONTAINS(rows, " * 2 :> 3");
}

TEST_F(Explain, classes_come_from_the_body) {
    EXPECT_EQ(json({"transpose", "x=float32[2,3]", "perm=[1,0]"})["operations"][0]["class"], "movement");
    EXPECT_EQ(json({"exp", "x=float32[2,3]"})["operations"][0]["class"], "elementwise");
    EXPECT_EQ(json({"gather", "table=float32[5,3]", "ids=int64[4]"})["operations"][0]["class"], "indirect");
}

TEST_F(Explain, dimensions_may_be_named) {
    Json found = json({"softmax", "x=float32[batch=4, 10]"});
    EXPECT_EQ(found["outputs"][0]["type"], "float32[batch, 10]");
}

TEST_F(Explain, a_list_input_is_given_several_times) {
    Json found = json({"concat", "tensors=float32[2,3]", "tensors=float32[2,5]", "axis=1"});
    EXPECT_EQ(found["outputs"][0]["type"], "float32[2, 8]");
}

TEST_F(Explain, an_input_may_be_a_value) {
    EXPECT_EQ(json({"reshape", "x=float32[2,6]", "shape=[3,4]"})["outputs"][0]["type"], "float32[3, 4]");
}

TEST_F(Explain, onnx_operators_are_named_with_their_prefix) {
    Json found = json({"onnx:Gemm", "A=float32[2,6]", "B=float32[6,3]"});
    EXPECT_EQ(found["outputs"][0]["type"], "float32[2, 3]");
}

TEST_F(Explain, a_users_operator_is_explained_like_any_other) {
    std::string file = write("own.yaml",
                             "swish:\n  doc: x times its sigmoid.\n  inputs: {x: \"$T[$n]\"}\n  outputs: {y: "
                             "\"$T[$n]\"}\n  body: \"y = x[@n] * sigmoid(x[@n])\"\n");
    auto outcome = heddle({"explain", "swish", "x=float32[7]", "--library", file});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "index [n = 7]");
    EXPECT_CONTAINS(outcome.output, "sigmoid(x[@n])");
}

TEST_F(Explain, the_compiled_parts_are_all_there) {
    Json found = json({"softmax", "x=float32[8,100]", "--equations", "--schedule", "--source"});
    EXPECT_CONTAINS(found["equations"]["lowered"].get<std::string>(), "max");
    EXPECT_CONTAINS(found["equations"]["kernels"].get<std::string>(), "kernel 0");
    EXPECT_FALSE(found["equations"]["decisions"].empty());
    ASSERT_EQ(found["schedule"]["kernels"].size(), 1u);
    ASSERT_EQ(found["source"].size(), 1u);
    EXPECT_CONTAINS(found["source"][0]["c"].get<std::string>(), found["source"][0]["function"].get<std::string>());
    auto text = heddle({"explain", "softmax", "x=float32[8,100]", "--equations", "--schedule", "--source"});
    for (const char* part : {"rows", "equations as lowered", "decisions", "plan: 1 launches", "body"})
        EXPECT_CONTAINS(text.output, part);
}

TEST_F(Explain, gradients_are_operations_with_bodies) {
    Json found = json({"numpy_matmul", "a=float32[2,3]", "b=float32[3,5]", "--gradient", "--equations"});
    const Json& gradient = found["gradient"];
    ASSERT_EQ(gradient["inputs"].size(), 3u);
    EXPECT_EQ(gradient["inputs"][2], Json::parse(R"({"name": "d_y", "type": "float32[2, 5]"})"));
    ASSERT_EQ(gradient["outputs"].size(), 2u);
    EXPECT_EQ(gradient["outputs"][1]["name"], "d_b");
    ASSERT_EQ(gradient["operations"].size(), 2u);
    EXPECT_EQ(gradient["operations"][0]["class"], "contraction");
    EXPECT_CONTAINS(gradient["operations"][1]["body"].get<std::string>(),
                    "sum(row0 < 2 : d_y[row0, @p1] * a[row0, @p0])");
    EXPECT_CONTAINS(found["equations"]["lowered"].get<std::string>(), "d_b");
    auto text = heddle({"explain", "softmax", "x=float32[8,100]", "--gradient"});
    EXPECT_EQ(text.status, 0);
    EXPECT_CONTAINS(text.output, "operation softmax.d_x");
    EXPECT_CONTAINS(text.output, "tape\n  beside inputs and results, adjoints ask for 3264 bytes in 3 tensors");
    auto refused = heddle({"explain", "argmax", "x=float32[8]", "--gradient"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_CONTAINS(refused.errors, "gradient.output");
    refused = heddle({"explain", "not", "x=bool[8]", "--gradient"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_CONTAINS(refused.errors, "gradient.input");
}

// What is repeated is a loop or a function, also where a gradient needs all of the forward body again.
TEST_F(Explain, the_code_of_a_gradient_is_short) {
    Json found = json({"ssim", "a=float32[512,512]", "b=float32[512,512]", "--library",
                       in_source("examples/gallery/vision.yaml"), "--gradient", "--source"});
    size_t bytes = 0;
    for (const Json& kernel : found["source"]) bytes += kernel["c"].get<std::string>().size();
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, 800'000u);  // on any machine: masks cost more code on some
}

TEST_F(Explain, without_arguments_it_shows_the_template) {
    auto outcome = heddle({"explain", "softmax"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_CONTAINS(outcome.output, "axis");
}

TEST_F(Explain, tensors_without_elements_have_kernels_too) {
    for (const char* shape : {"x=float32[0,3]", "x=float32[3,0]", "x=float32[n=0,3]", "x=float32[0]"}) {
        Json found = json({"softmax", shape, "--equations", "--schedule", "--source"});
        EXPECT_TRUE(found.contains("schedule")) << shape;
    }
}

struct WrongArguments {
    std::vector<std::string> words;
    std::string code, part;
};

TEST_F(Explain, wrong_arguments_are_pointed_at) {
    for (const WrongArguments& wrong : std::vector<WrongArguments>{
             {{"sofmax", "x=float32[2]"}, "language.unknown_operator", "softmax"},
             {{"onnx:Sofmax", "x=float32[2]"}, "language.unknown_onnx_operator", "Softmax"},
             {{"softmax", "y=float32[2]"}, "cli.unknown_argument", "inputs x; parameters axis"},
             {{"softmax", "x=float32[2]", "axes=0"}, "cli.unknown_argument", "did you mean axis?"},
             {{"softmax", "X=float32[2]"}, "cli.unknown_argument", "did you mean x?"},
             {{"softmax", "float32[2]"}, "cli.argument", "NAME=TYPE"},
             {{"softmax", "x=float32[2]", "x=float32[2]"}, "cli.argument", "given twice"},
             {{"softmax", "x=float3[2]"}, "cli.type", "^^^^^^"},
             {{"softmax", "x=float32[2"}, "cli.type", "the end"},
             {{"softmax", "x=float32[n, 2]"}, "cli.type", "n=NUMBER"},
             {{"softmax", "x=float32[2;3]"}, "cli.type", "commas"},
             {{"softmax", "x=float32[2] 3"}, "cli.type", "follows"},
             {{"add2", "a=float32[n=2]", "b=float32[n=3]"}, "cli.dimension_conflict", "has two numbers"},
             {{"reshape", "x=float32[2,6]", "shape=[[3],4]"}, "cli.value", "no tensor"},
             {{"softmax", "x=float32[2]", "axis=1 +"}, "language.", "argument:1:"},
             {{"softmax", "x=float32[2]", "axis=7"}, "symbolic.", "axis"},
             {{"softmax", "axis=0"}, "symbolic.missing_input", "x"},
         }) {
        std::vector<std::string> words{"explain"};
        words.insert(words.end(), wrong.words.begin(), wrong.words.end());
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 1) << wrong.code;
        EXPECT_CONTAINS(outcome.errors, "error[" + wrong.code);
        EXPECT_CONTAINS(outcome.errors, wrong.part);
        EXPECT_EQ(outcome.output, "");
    }
}

TEST_F(Explain, Metakernels9ShardsWithTheirRegions) {
    Json found =
        json({"matmul", "X=float32[4,6]", "W=float32[6,5]", "--shard", "in_row=2,k=3", "--svg", path("a.svg")});
    const Json& shards = found["sharding"][0];
    EXPECT_EQ(shards["shards"], 6);
    ASSERT_EQ(shards["applications"].size(), 6u);
    const Json& last = shards["applications"][5];
    EXPECT_EQ(last["index"][0], Json::parse(R"({"axis": "in_row", "start": 2, "end": 4})"));
    EXPECT_EQ(last["inputs"][1], Json::parse(R"({"tensor": "W", "start": [4, 0], "end": [6, 5], "unread": 0})"));
    EXPECT_EQ(shards["combinations"][0]["reducer"], "sum");
    EXPECT_EQ(shards["combinations"][0]["result"], "result");
    std::string svg = read("a.svg");
    EXPECT_CONTAINS(svg, "shard 5: in_row 2:4, k 4:6");
    EXPECT_CONTAINS(svg, "combined by sum into result");
    // The region of each shard in each tensor, at its place in the tensor's frame, 26 wide for an element.
    for (const std::string& tensor : {std::string("X: float32[4, 6]"), std::string("W: float32[6, 5]")}) {
        size_t title = svg.find("<title>" + tensor), begin = svg.rfind("<rect x=\"", title);
        ASSERT_NE(title, std::string::npos);
        double left = std::stod(svg.substr(begin + 9)), top = std::stod(svg.substr(svg.find("y=\"", begin) + 3));
        for (const Json& application : shards["applications"]) {
            const Json& region = application["inputs"][tensor[0] == 'X' ? 0 : 1];
            auto at = [&](const char* side, size_t d) { return 26.0 * region[side][d].get<double>(); };
            EXPECT_CONTAINS(svg, fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                                             "rx=\"0.0\" fill=\"none\"",
                                             left + at("start", 1), top + at("start", 0), at("end", 1) - at("start", 1),
                                             at("end", 0) - at("start", 0)));
        }
    }
    // The same bytes each time.
    json({"matmul", "X=float32[4,6]", "W=float32[6,5]", "--shard", "k=3,in_row=2", "--svg", path("b.svg")});
    EXPECT_EQ(svg, read("b.svg"));
    auto outcome = heddle({"explain", "matmul", "X=float32[4,6]", "W=float32[6,5]", "--shard", "k=2"});
    EXPECT_CONTAINS(outcome.output, "shard 1 [0:4, 0:5, 3:6]: X[0:4, 3:6], W[3:6, 0:5] -> matmul sum[1:2, 0:4, 0:5]");
}

TEST_F(Explain, Metakernels9RegionsOfTensorsWhoseRangesBeginElsewhere) {
    Json found = json({"add2", "a=int32[10,5]", "b=int32[200:210,50:55]", "--shard", "shape0=2"});
    const Json& second = found["sharding"][0]["applications"][1];
    EXPECT_EQ(second["inputs"][0]["start"], Json::parse("[5, 0]"));
    EXPECT_EQ(second["inputs"][1]["start"], Json::parse("[205, 50]"));
    EXPECT_EQ(second["inputs"][1]["end"], Json::parse("[210, 55]"));
}

TEST_F(Explain, shards_are_fused_and_compiled_like_anything_else) {
    Json found = json({"softmax", "x=float32[8,64]", "--shard", "outer0=2", "--equations", "--schedule"});
    EXPECT_TRUE(found.contains("equations"));
    EXPECT_FALSE(found["schedule"]["kernels"].empty());
}

TEST_F(Explain, shards_that_cannot_be_say_why) {
    auto code = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "explain");
        words.insert(words.end(), {"--format", "json"});
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 1);
        return Json::parse(outcome.output)["errors"][0]["type"];
    };
    EXPECT_EQ(code({"exp", "x=float32[4]", "--shard", "n=2"}), "placing.cut_name");
    EXPECT_EQ(code({"exp", "x=float32[4]", "--shard", "n"}), "placing.cut_syntax");
    EXPECT_EQ(code({"exp", "x=[1.0, 2.0]", "--shard", "n=2"}), "cli.shard");
}

TEST_F(Explain, Flavours7TheKernelMatrix) {
    auto outcome = heddle({"explain", "--kernels"});
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "| ring_mul | Replicated |");
    EXPECT_CONTAINS(outcome.output, "| nonzero | 0 of 1 | - |");
    Json one = Json::parse(heddle({"explain", "--kernels", "share", "--format", "json"}).output);
    EXPECT_EQ(one["row_count"], 2);
    EXPECT_EQ(one["rows"][1]["before"][0], "uint64_to_ring64");
    EXPECT_EQ(heddle({"explain"}).status, 2);
    std::string wrong =
        write("wrong.yaml",
              "hidden:\n  inputs: {x: \"uint64[$n]\"}\n  outputs: {y: \"uint64[$n]\"}\n  kernels: [\"(Host, "
              "(Tensor) -> Tensor) => [transparent -> transparent] => ring_reveal\"]\n");
    outcome = heddle({"check", wrong});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[flavours.contradiction]");
    outcome = heddle({"explain", "--library", wrong, "--kernels", "hidden"});
    EXPECT_EQ(outcome.status, 1);
}

TEST_F(Explain, the_system_behind_a_pass) {
    const std::vector<std::string> softmax = {"explain", "softmax", "x=float32[8, 100]"};
    const auto with = [&](const char* option) {
        auto words = softmax;
        words.emplace_back(option);
        return heddle(words);
    };
    const std::string plain = with("--equations").output;
    EXPECT_EQ(plain.find("equations after common-subexpressions"), std::string::npos);
    const std::string one = with("--equations=common-subexpressions").output;
    EXPECT_CONTAINS(one, "equations after common-subexpressions\n  system");
    EXPECT_CONTAINS(one, "equations after substitution\n");
    EXPECT_CONTAINS(with("--equations=sweeps").output, "equations after sweeps: nothing has changed\n");
    Json found = json({"softmax", "x=float32[8, 100]", "--equations=all"});
    EXPECT_EQ(found["equations"]["passes"][0]["pass"], "prune");
    EXPECT_GE(found["equations"]["passes"].size(), equations::passes().size());
}

TEST_F(Explain, there_is_no_such_pass) {
    const auto outcome = heddle({"explain", "softmax", "x=float32[8, 100]", "--equations=hoisting"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "explain.pass");
    EXPECT_CONTAINS(outcome.errors, "common-subexpressions");
}

}  // namespace
}  // namespace heddle
