// The numbered points of the metakernels that `heddle explain` answers, each by the figures that it names.
#include <nlohmann/json.hpp>

#include "command_test.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class ExplainOperator : public CommandTest {
protected:
    static CommandOutcome explain(std::vector<std::string> words) {
        words.insert(words.begin(), "explain");
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.errors;
        return outcome;
    }
    static Json json(std::vector<std::string> words) {
        words.insert(words.end(), {"--format", "json"});
        return Json::parse(explain(std::move(words)).output, nullptr, false);
    }
    // As in a picture.
    static std::string escaped(const std::string& text) {
        std::string result;
        for (char c : text) result += c == '>' ? std::string("&gt;") : std::string(1, c);
        return result;
    }
    static std::vector<int64_t> index_of(const Json& operation) {
        std::vector<int64_t> index;
        for (const Json& axis : operation["index"])
            if (axis["reducer"].is_null()) index.push_back(axis["size"]);
        return index;
    }
};

// ---- 1. the published draft

class Metakernels1 : public ExplainOperator {
protected:
    // To the letter, comments and all.
    static constexpr const char* draft = R"(matmul:
  index: "[$batch..., $in_row, $out_col]"

  constraints:
    dtype:
      enum:
        - int32
        - int64
        - float32
        - float64
        - complex64
        - complex128

  inputs:
    X:
      shape: "[$batch..., $in_row, $inner]"
      dtype: "$dtype"
      ipf: "[..., 1, 0] :> [..., 1, $inner]"

    W:
      shape: "[$batch..., $inner, $out_col]"
      dtype: "$dtype"
      ipf: "[..., 0, 1] :> [..., $inner, 1]"

  outputs:
    result:
      # shape defaults to: "[$.index...]"
      # ipf defaults to: "[...] :> [...]"
      dtype: "$dtype"
)";
};

TEST_F(Metakernels1, ThePublishedDraftLoadsAndProjects) {
    std::string file = write("draft.yaml", draft);
    EXPECT_EQ(heddle({"check", file}).status, 0);
    for (const std::string& library :
         {file, in_source("tests/language/acceptance/templates.yaml"), in_source("operators/contraction.yaml")}) {
        std::vector<std::string> words = {"given::matmul", "X=float32[2,3,4,5]", "W=float32[2,3,5,7]", "--library",
                                          "given=" + library};
        Json found = json(words);
        ASSERT_EQ(found["operations"].size(), 1u);
        const Json& operation = found["operations"][0];
        EXPECT_EQ(index_of(operation), (std::vector<int64_t>{2, 3, 4, 7}));
        EXPECT_EQ(found["outputs"][0]["type"], "float32[2, 3, 4, 7]");
        std::string x = "( 1 0 0 0 | 0 | 1 )\n( 0 1 0 0 | 0 | 1 )\n( 0 0 1 0 | 0 | 1 )\n( 0 0 0 0 | 0 | 5 )\n";
        std::string w = "( 1 0 0 0 | 0 | 1 )\n( 0 1 0 0 | 0 | 1 )\n( 0 0 0 0 | 0 | 5 )\n( 0 0 0 1 | 0 | 1 )\n";
        std::string y = "( 1 0 0 0 | 0 | 1 )\n( 0 1 0 0 | 0 | 1 )\n( 0 0 1 0 | 0 | 1 )\n( 0 0 0 1 | 0 | 1 )\n";
        EXPECT_EQ(operation["inputs"][0]["augmented"], x);
        EXPECT_EQ(operation["inputs"][1]["augmented"], w);
        EXPECT_EQ(operation["outputs"][0]["augmented"], y);
        // They are printed, too.
        words.push_back("--notations");
        std::string text = explain(words).output;
        size_t at = 0;
        for (const std::string& matrix : {x, w, y}) {
            for (size_t begin = 0; begin < matrix.size();) {
                size_t end = matrix.find('\n', begin);
                at = text.find("    " + matrix.substr(begin, end - begin) + "\n", at);
                ASSERT_NE(at, std::string::npos) << text;
                begin = end + 1;
            }
        }
    }
}

TEST_F(Metakernels1, ADtypeOutsideOfTheEnumIsRefusedByIt) {
    std::string file = write("draft.yaml", draft);
    auto outcome =
        heddle({"explain", "given::matmul", "X=float16[2,3]", "W=float16[3,4]", "--library", "given=" + file});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "draft.yaml:5:5: error[symbolic.dtype_set]: $dtype is float16");
    EXPECT_CONTAINS(outcome.errors, "expected: int32, int64, float32, float64, complex64, complex128");
    EXPECT_CONTAINS(outcome.errors, "found: float16");
}

TEST_F(Metakernels1, WithoutABodyItIsDrawnAndSharded) {
    std::string file = write("draft.yaml", draft);
    std::vector<std::string> words = {"given::matmul", "X=float32[4,6]", "W=float32[6,5]", "--library",
                                      "given=" + file};
    Json found = json(words);
    EXPECT_EQ(found["operations"][0]["class"], "opaque");
    EXPECT_EQ(found["cost"]["refusal"]["code"], "cli.opaque");
    EXPECT_EQ(found["gradient"]["refusal"]["code"], "gradient.opaque");
    words.insert(words.end(), {"--shard", "in_row=2", "--svg", path("draft.svg")});
    std::string text = explain(words).output;
    EXPECT_CONTAINS(text, "shard 1 [2:4, 0:5]: X[2:4, 0:6], W[0:6, 0:5] -> result[2:4, 0:5]");
    EXPECT_CONTAINS(read("draft.svg"), "matmul in 2 shards");
}

// ---- 2. the pattern example

class Metakernels2 : public ExplainOperator {};

TEST_F(Metakernels2, ThePatternExampleGivesThePublishedBindings) {
    std::string file = write("example.yaml", R"yaml(example:
  inputs:
    tensors: {shape: "[$batch..., $shape=($height, $width), $features[$i]]", dtype: "$dtype", variadic: true}
    masks: {shape: "[$shape=($height, $width), $features[$i]]", dtype: "$dtype", variadic: true}
  index: "[$batch..., $height, $width]"
  outputs: {y: "$dtype"}
  body: "y = sum(t < len($features) : sum(f < $features[t] : tensors[t][@batch..., @height, @width, f] * masks[t][@height, @width, f]))"
)yaml");
    std::vector<std::string> words = {"example",
                                      "tensors=float32[100,128,256,512,2]",
                                      "tensors=float32[100,128,256,512,4]",
                                      "masks=float32[256,512,2]",
                                      "masks=float32[256,512,4]",
                                      "--library",
                                      file};
    EXPECT_CONTAINS(explain(words).output,
                    "bindings\n  $batch=[100,128]\n  $shape=[256,512]\n  $height=256\n  $width=512\n  $i=2\n"
                    "  $features=[2,4]\ndtypes\n");
    EXPECT_EQ(json(words)["bindings"]["patterns"],
              Json::parse(R"({"batch": "[100,128]", "shape": "[256,512]", "height": "256", "width": "512", "i": "2",
                              "features": "[2,4]"})"));
}

// ---- 3. a sum over one axis

class Metakernels3 : public ExplainOperator {};

TEST_F(Metakernels3, ASumOverAxisTwoInThreeNotations) {
    for (const char* axes : {"axes=[2]", "axes=[-2]"}) {
        Json found = json({"reduce_sum", "x=float32[2,3,4,5]", axes, "keepdims=false"});
        EXPECT_EQ(found["outputs"][0]["type"], "float32[2, 3, 5]");
        const Json& x = found["operations"][0]["inputs"][0];
        EXPECT_EQ(x["projection"], Json::parse("[[1,0,0],[0,1,0],[0,0,0],[0,0,1]]"));
        EXPECT_EQ(x["offset"], Json::parse("[0,0,0,0]"));
        EXPECT_EQ(x["shape"], Json::parse("[1,1,4,1]"));
        EXPECT_EQ(x["rows"], "[@kept0, @kept1, *, @kept2]");
        EXPECT_EQ(x["diagonal"], "D[1, 1, *, 1]");
        EXPECT_EQ(x["structured"],
                  "{affineMap: {projection: [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]], offset: [0, 0, 0, 0]}, "
                  "shape: [1, 1, 4, 1]}");
    }
}

// The three notations, given as declarations, mean the same.
TEST_F(Metakernels3, EachNotationDeclaresTheSameProjection) {
    for (const char* ipf : {"\"[@a, @b, *, @d]\"", "\"[@[:2]..., *, @[2:]...]\"", "\"D[1, 1, *, 1]\"",
                            "{affineMap: {projection: [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]], offset: [0, 0, 0, "
                            "0]}, shape: [1, 1, $c, 1]}"}) {
        std::string file = write("declared.yaml", std::string("total:\n  inputs: {x: {shape: \"[$a, $b, $c, $d]\", "
                                                              "dtype: \"$T\", ipf: ") +
                                                      ipf +
                                                      "}}\n  index: \"[$a, $b, $d]\"\n  outputs: {y: \"$T\"}\n"
                                                      "  body: \"y = sum(k < $c : x[@a, @b, k, @d])\"\n");
        const Json found = json({"total", "x=float32[2,3,4,5]", "--library", file});
        const Json& x = found["operations"][0]["inputs"][0];
        EXPECT_EQ(x["projection"], Json::parse("[[1,0,0],[0,1,0],[0,0,0],[0,0,1]]")) << ipf;
        EXPECT_EQ(x["shape"], Json::parse("[1,1,4,1]")) << ipf;
    }
}

// ---- 9 and 10. shards from the command line

class Metakernels10 : public ExplainOperator {};

TEST_F(Metakernels10, LinearIsShardedOverBatchOutAndIn) {
    std::vector<std::string> words = {"linear", "x=float32[4,6]", "A=float32[6,5]", "b=float32[5]", "--shard"};
    auto with = [&](const std::string& shards) {
        auto all = words;
        all.push_back(shards);
        return all;
    };
    auto input = [](const Json& application, size_t i) { return application["inputs"][i].dump(); };
    auto of = [](const Json& sharding, const char* name) {
        for (const Json& operation : sharding)
            if (operation["operation"] == name) return operation;
        ADD_FAILURE() << name << " is not cut";
        return Json();
    };
    // The bias is added in the product's parts.
    Json both = json(with("row0=2"))["sharding"];
    const Json sum = of(both, "y"), batch = of(both, "linear.z");
    ASSERT_EQ(sum["applications"].size(), 2u);
    EXPECT_EQ(input(sum["applications"][1], 0), R"({"end":[4,5],"start":[2,0],"tensor":"linear.z","unread":0})");
    EXPECT_EQ(input(sum["applications"][1], 1), R"({"end":[5],"start":[0],"tensor":"b","unread":0})");
    ASSERT_EQ(batch["applications"].size(), 2u);
    EXPECT_TRUE(batch["combinations"].empty());
    EXPECT_EQ(input(batch["applications"][1], 0), R"({"end":[4,6],"start":[2,0],"tensor":"x","unread":0})");
    EXPECT_EQ(input(batch["applications"][1], 1), R"({"end":[6,5],"start":[0,0],"tensor":"A","unread":0})");
    both = json(with("col0=5"))["sharding"];
    EXPECT_EQ(input(of(both, "y")["applications"][3], 1), R"({"end":[4],"start":[3],"tensor":"b","unread":0})");
    const Json out = of(both, "linear.z");
    ASSERT_EQ(out["applications"].size(), 5u);
    EXPECT_EQ(input(out["applications"][3], 1), R"({"end":[6,4],"start":[0,3],"tensor":"A","unread":0})");
    // Partial products and a sum that combines them.
    const Json in = of(json(with("linear.z.k=3"))["sharding"], "linear.z");
    ASSERT_EQ(in["applications"].size(), 3u);
    EXPECT_EQ(input(in["applications"][2], 0), R"({"end":[4,6],"start":[0,4],"tensor":"x","unread":0})");
    EXPECT_EQ(input(in["applications"][2], 1), R"({"end":[6,5],"start":[4,0],"tensor":"A","unread":0})");
    ASSERT_EQ(in["combinations"].size(), 1u);
    EXPECT_EQ(in["combinations"][0]["reducer"], "sum");
    EXPECT_EQ(in["combinations"][0]["result"], "linear.z");
    // Of two dimensions each operation has its axes; turns are shards, too.
    both = json(with("col0=5,k=2"))["sharding"];
    EXPECT_EQ(of(both, "linear.z")["applications"].size(), 10u);
    both = json(with("col0=5,shape0=2"))["sharding"];
    EXPECT_EQ(of(both, "linear.z")["shards"].get<int>() % 5, 0);
    EXPECT_EQ(of(json(with("row0/4"))["sharding"], "linear.z")["applications"].size(), 4u);
}

TEST_F(Metakernels10, AnAxisThatNoOperationHas) {
    auto cut = [&](const char* shards) {
        return heddle({"explain", "linear", "x=float32[4,6]", "A=float32[6,5]", "b=float32[5]", "--shard", shards});
    };
    auto outcome = cut("rows=2");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[placing.cut_name]: no operation has an axis 'rows'");
    EXPECT_CONTAINS(outcome.errors, "one of col0, k, row0, shape0, shape1");
    EXPECT_CONTAINS(cut("z.k=2").errors, "there is no operation 'z' to cut");
    EXPECT_CONTAINS(cut("row0=5000").errors, "error[sharding.limit]");
}

// ---- 11. halos

class Metakernels11 : public ExplainOperator {};

// The cells of one dimension that outputs from `begin` to `end` need, found one by one.
std::vector<int64_t> needed(int64_t begin, int64_t end, int64_t stride, int64_t dilation, int64_t pad, int64_t window,
                            int64_t size) {
    std::vector<int64_t> cells;
    for (int64_t at = 0; at < size; at++) {
        bool found = false;
        for (int64_t o = begin; o < end; o++)
            for (int64_t k = 0; k < window; k++) found = found || o * stride - pad + k * dilation == at;
        if (found) cells.push_back(at);
    }
    return cells;
}

TEST_F(Metakernels11, ConvolutionsOfAnyRankReadExactlyTheirHalos) {
    struct Case {
        int64_t rank, group, stride, dilation, pad;
    };
    for (const Case& c : {Case{1, 1, 1, 1, 1}, Case{1, 2, 2, 1, 0}, Case{1, 4, 4, 1, 0}, Case{2, 1, 1, 2, 2},
                          Case{2, 2, 2, 1, 1}, Case{2, 2, 4, 1, 1}, Case{3, 2, 2, 2, 1}, Case{3, 1, 3, 1, 0}}) {
        SCOPED_TRACE(testing::Message() << c.rank << " " << c.group << " " << c.stride << " " << c.dilation);
        constexpr int64_t size = 11, window = 3, channels = 4;
        std::string spatial, kernel;
        for (int64_t d = 0; d < c.rank; d++)
            spatial += "," + std::to_string(size), kernel += "," + std::to_string(window);
        Json found =
            json({"conv", "X=float32[2,4" + spatial + "]",
                  "W=float32[8," + std::to_string(channels / c.group) + kernel + "]",
                  "group=" + std::to_string(c.group), "strides=" + std::to_string(c.stride),
                  "dilations=" + std::to_string(c.dilation), "pads=" + std::to_string(c.pad), "--shard", "out0=3"});
        int64_t out = (size + 2 * c.pad - (window - 1) * c.dilation - 1) / c.stride + 1;
        for (const Json& application : found["sharding"][0]["applications"]) {
            const Json& x = application["inputs"][0];
            ASSERT_EQ(x["tensor"], "X");
            int64_t box = 2 * channels, cells = box;
            for (int64_t d = 0; d < c.rank; d++) {
                int64_t begin = 0, end = out;
                for (const Json& axis : application["index"])
                    if (axis["axis"] == "out" + std::to_string(d)) begin = axis["start"], end = axis["end"];
                auto expected = needed(begin, end, c.stride, c.dilation, c.pad, window, size);
                auto at = static_cast<size_t>(d + 2);
                EXPECT_EQ(x["start"][at], expected.front());
                EXPECT_EQ(x["end"][at], expected.back() + 1);
                box *= expected.back() + 1 - expected.front();
                cells *= static_cast<int64_t>(expected.size());
            }
            EXPECT_EQ(x["unread"], box - cells);  // the surplus of the hull
        }
    }
}

TEST_F(Metakernels11, GroupsReadTheirOwnChannels) {
    Json found = json({"conv", "X=float32[1,6,9]", "W=float32[4,3,3]", "group=2", "--shard", "group=2"});
    const Json& applications = found["sharding"][0]["applications"];
    ASSERT_EQ(applications.size(), 2u);
    EXPECT_EQ(applications[1]["inputs"][0],
              Json::parse(R"({"tensor": "X", "start": [0,3,0], "end": [1,6,9], "unread": 0})"));
    EXPECT_EQ(applications[1]["inputs"][1],
              Json::parse(R"({"tensor": "W", "start": [2,0,0], "end": [4,3,3], "unread": 0})"));
    EXPECT_EQ(applications[1]["outputs"][0]["start"], Json::parse("[0,2,0]"));
    std::string text =
        explain({"conv", "X=float32[1,1,19]", "W=float32[1,1,3]", "strides=4", "--shard", "out0=3"}).output;
    EXPECT_CONTAINS(text, "X[0:1, 0:1, 8:15] (1 not needed)");
}

// ---- 12. a projection that is declared larger than what is read

class Metakernels12 : public ExplainOperator {};

TEST_F(Metakernels12, ALooseProjectionIsAcceptedAndMeasured) {
    std::string file = write("loose.yaml",
                             "pairs:\n  inputs: {x: {shape: \"[$n, 8]\", dtype: \"$T\", ipf: \"[@n, *]\"}}\n"
                             "  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x[@n, 2] + x[@n, 4]\"\n");
    std::vector<std::string> words = {"pairs", "x=float32[3,8]", "--library", file};
    Json notes = json(words)["notes"];
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0]["type"], "symbolic.ipf_loose");
    EXPECT_EQ(notes[0]["expected"], "3 elements a point");
    EXPECT_EQ(notes[0]["found"], "8 elements a point");
    EXPECT_CONTAINS(explain(words).output,
                    "note: the declared projection of 'x' is larger than what the body reads: "
                    "8 elements a point, where 3 elements a point would do");
    std::string tight = write("tight.yaml",
                              "pairs:\n  inputs: {x: {shape: \"[$n, 8]\", dtype: \"$T\", ipf: \"[@n, 3 :> 1]\"}}\n"
                              "  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x[@n, 2] + x[@n, 4]\"\n");
    auto outcome = heddle({"explain", "pairs", "x=float32[3,8]", "--library", tight});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors,
                    "error[symbolic.ipf]: the body reaches outside the declared projection of 'x': at [");
    EXPECT_CONTAINS(outcome.errors, "coordinate 1 is 2");
    EXPECT_CONTAINS(outcome.errors, "expected: inside 3 .. 3");
}

// ---- 19. everything, in three forms

class Metakernels19 : public ExplainOperator {
protected:
    // Every kind of operator: a body, a scan, a scatter, a composition, several operations, a kernel elsewhere with and
    // without a body, one that has nothing to do, one whose result is known.
    std::vector<std::vector<std::string>> operators() const {
        std::string file = write("own.yaml",
                                 "far:\n  doc: Elsewhere.\n  inputs: {x: \"$T[$n, $m]\", w: \"$T[$m, $k]\"}\n"
                                 "  index: \"[$n, $k]\"\n  outputs: {y: \"$T\"}\n");
        return {{"matmul", "X=float32[2,3,4,5]", "W=float32[2,3,5,7]"},
                {"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]", "strides=2", "pads=1"},
                {"cumsum", "x=float32[3,7]", "axis=1"},
                {"lstm", "X=float32[4,2,3]", "W=float32[1,20,3]", "R=float32[1,20,5]"},
                {"scatter_nd", "x=float32[5,3]", "ids=int64[2,1]", "updates=float32[2,3]"},
                {"gather", "table=float32[5,3]", "ids=int64[4]"},
                {"linear", "x=float32[4,6]", "A=float32[6,5]", "b=float32[5]"},
                {"concat", "tensors=float32[2,3]", "tensors=float32[2,0]", "tensors=float32[2,5]", "axis=-1"},
                {"split", "x=float32[0,7]", "chunk=3", "axis=-1"},
                {"share", "x=uint64[4]"},
                {"argmax", "x=float32[batch=3,4]", "axis=1"},
                {"far", "x=float32[3,4]", "w=float32[4,5]", "--library", file},
                {"arange", "start=0", "stop=5", "dtype=float32"}};
    }
};

TEST_F(Metakernels19, EveryPartIsInTextJsonAndPicture) {
    for (std::vector<std::string> words : operators()) {
        SCOPED_TRACE(words[0]);
        std::string svg = path(words[0] + ".svg");
        words.insert(words.end(), {"--svg", svg});
        std::string brief = explain(words).output;
        Json found = json(words);
        words.push_back("--notations");
        std::string text = explain(words).output;
        std::string picture = read(words[0] + ".svg");
        for (const char* key :
             {"bindings", "outputs", "operations", "cost", "gradient", "compiled", "rows", "template", "doc"})
            EXPECT_TRUE(found.contains(key)) << key;
        for (const std::string* form : {&text, &picture}) {
            for (const char* title : {"cost", "gradient", "kernels", "result"}) EXPECT_CONTAINS(*form, title);
            for (const auto& [name, value] : found["bindings"]["patterns"].items())
                EXPECT_CONTAINS(*form, "$" + name + "=" + value.get<std::string>());
            for (const Json& output : found["outputs"]) EXPECT_CONTAINS(*form, output["type"].get<std::string>());
            for (const Json& adjoint : found["gradient"].value("outputs", Json::array()))
                EXPECT_CONTAINS(*form, adjoint["name"].get<std::string>());
        }
        for (const Json& operation : found["operations"]) {
            std::string of_class = operation["class"];
            for (const std::string* form : {&text, &picture}) {
                EXPECT_CONTAINS(*form, "(" + of_class + ")");
                EXPECT_CONTAINS(*form, "index [");
                EXPECT_CONTAINS(*form, "shards along");
                EXPECT_CONTAINS(*form, "structured  {affineMap");
            }
            for (const char* side : {"inputs", "outputs"}) {
                for (const Json& tensor : operation[side]) {
                    EXPECT_CONTAINS(brief, "    rows " + tensor["rows"].get<std::string>() + "\n");
                    EXPECT_CONTAINS(text, "rows        " + tensor["rows"].get<std::string>());
                    EXPECT_CONTAINS(text, "structured  " + tensor["structured"].get<std::string>());
                    EXPECT_CONTAINS(picture, "rows        " + escaped(tensor["rows"]));
                    std::string diagonal = tensor["diagonal"].is_null() ? "none: " : std::string(tensor["diagonal"]);
                    EXPECT_CONTAINS(text, "diagonal    " + diagonal);
                    EXPECT_CONTAINS(picture, "diagonal    " + escaped(diagonal));
                }
            }
            EXPECT_EQ(brief.find("structured"), std::string::npos);  // one notation is enough
            for (const Json& axis : operation["axes"]) {
                std::string line =
                    axis["name"].get<std::string>() + " = " + std::to_string(axis["size"].get<int>()) + ":";
                for (const std::string* form : {&text, &picture}) {
                    size_t begin = form->find(line);
                    ASSERT_NE(begin, std::string::npos) << line << "\n" << *form;
                    const Json& combiners = axis["combiners"];
                    for (const Json& combiner : combiners.is_array() ? combiners : Json::array())
                        EXPECT_CONTAINS(form->substr(begin), combiner.get<std::string>());
                }
            }
        }
    }
}

TEST_F(Metakernels19, ClassCostGradientAndKernelsOfEachKind) {
    auto of = [&](const std::string& name) {
        for (const auto& words : operators())
            if (words[0] == name) return json(words);
        return Json();
    };
    EXPECT_EQ(of("lstm")["operations"][0]["class"], "scan");
    EXPECT_EQ(of("scatter_nd")["operations"].back()["class"], "indirect");
    // 2 * 3 * 4 * 7 sums of 5 products; 4 bytes an element of X, W and the result.
    const Json product = of("matmul");
    EXPECT_EQ(product["cost"]["operations"], 2 * 3 * 4 * 7 * 5 * 2);
    EXPECT_EQ(product["cost"]["bytes_moved"], 4 * (2 * 3 * 4 * 5 + 2 * 3 * 5 * 7 + 2 * 3 * 4 * 7));
    EXPECT_EQ(product["cost"]["peak_bytes"], 4 * (2 * 3 * 4 * 5 + 2 * 3 * 5 * 7 + 2 * 3 * 4 * 7));
    EXPECT_EQ(product["cost"]["launches"], 1);
    EXPECT_EQ(product["cost"]["devices"], 1);
    EXPECT_GT(product["cost"]["time_seconds"], 0);
    EXPECT_EQ(product["compiled"][0]["writes"], "result");
    EXPECT_EQ(product["gradient"]["adjoints"], Json::parse(R"([{"name": "d_result", "type": "float32[2, 3, 4, 7]"}])"));
    EXPECT_EQ(product["gradient"]["outputs"].size(), 2u);
    EXPECT_EQ(of("linear")["gradient"]["outputs"].size(), 3u);
    EXPECT_EQ(of("split")["cost"]["launches"], 0);
    EXPECT_EQ(of("argmax")["gradient"]["refusal"]["code"], "gradient.output");
    EXPECT_EQ(of("arange")["outputs"][0]["value"], "0 1 2 3 4");
    EXPECT_EQ(of("share")["rows"].size(), 2u);
    EXPECT_EQ(of("far")["operations"][0]["inputs"][0]["diagonal"], "D[1, 0] :> [1, 4]");
    EXPECT_CONTAINS(explain({"share", "x=uint64[4]"}).output,
                    "on placements: (ReplicatedPlacement, (HostRing64Tensor)");
    EXPECT_CONTAINS(explain({"linear", "x=float32[4,6]", "A=float32[6,5]"}).output, "derived: d_x, d_A from ");
}

TEST_F(Metakernels19, TensorsOfAnySizeAreExplained) {
    Json found = json({"add2", "a=float64[1000000000000000]", "b=float64[1000000000000000]"});
    EXPECT_EQ(found["cost"]["refusal"]["code"], "cli.large_tensor");
    EXPECT_EQ(found["operations"][0]["index"][0]["size"], 1000000000000000);
    EXPECT_CONTAINS(explain({"exp", "x=float32[1000000000000]", "--svg", path("large.svg")}).output, "8 TB moved");
}

// A part of a tensor whose range begins elsewhere is shown where it is.
TEST_F(Metakernels19, RangesThatBeginAnywhere) {
    explain({"add2", "a=int32[10,5]", "b=int32[200:210,50:55]", "--svg", path("a.svg")});
    EXPECT_CONTAINS(read("a.svg"), "in the picture  [205:206, 52:53]");
}

TEST_F(Metakernels19, AxesWithTheirCombiners) {
    Json found = json({"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]", "strides=2"});
    const Json& axes = found["operations"][0]["axes"];
    auto axis = [&](const std::string& name) {
        for (const Json& one : axes)
            if (one["name"] == name) return one;
        return Json();
    };
    EXPECT_EQ(axis("out0")["cut"], "passed");
    Json moves = axis("out0")["inputs"][0]["moves"];
    EXPECT_EQ(moves, Json::parse(R"([{"dimension": 2, "step": 2, "window": 3, "halo": 1}])"));
    EXPECT_TRUE(axis("out0")["inputs"][1]["moves"].empty());
    EXPECT_EQ(axis("c")["cut"], "partial");
    EXPECT_EQ(axis("c")["combiners"], Json::parse(R"(["sum"])"));
    EXPECT_CONTAINS(explain({"softmax", "x=float32[4, 10]"}).output, "partial results, combined by max, then sum");
}

// The box of the index's middle point, where it is: the window of a padded convolution of stride 1 around [4, 4].
TEST_F(Metakernels19, ThePictureShowsTheBoxOfAPoint) {
    explain({"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]", "pads=1", "--svg", path("a.svg")});
    std::string svg = read("a.svg");
    EXPECT_CONTAINS(svg, "below: the boxes of the point [0, 0, 1, 4, 4]");
    EXPECT_CONTAINS(svg, "in the picture  [0:1, 0:2, 3:6, 3:6]");
    EXPECT_CONTAINS(svg, "<title>[0:1, 0:2, 3:6, 3:6]</title>");
    explain({"conv", "X=float32[1,2,9,9]", "W=float32[3,2,3,3]", "pads=1", "--svg", path("b.svg")});
    EXPECT_EQ(svg, read("b.svg"));
}

}  // namespace
}  // namespace heddle
