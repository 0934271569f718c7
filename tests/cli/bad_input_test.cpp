// What a user can get wrong: each prints a clear error with its code, gives status 1 (2 for the command line itself)
// and leaves no file behind.
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "command_test.h"

namespace heddle {
namespace {

class BadInput : public CommandTest {
protected:
    BadInput() : model_(write("model.onnx", perceptron())) {}

    // `words` fail with `code`, in text and in JSON, and say all of `parts`.
    void expect_error(const std::vector<std::string>& words, const std::string& code,
                      const std::vector<std::string>& parts = {}) {
        size_t before = files();
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 1) << code;
        EXPECT_CONTAINS(outcome.errors, "error[" + code + "]");
        for (const std::string& part : parts) EXPECT_CONTAINS(outcome.errors, part);
        EXPECT_EQ(files(), before) << code;
        std::vector<std::string> with_format = words;
        with_format.insert(with_format.end(), {"--format", "json"});
        auto json = nlohmann::json::parse(heddle(with_format).output, nullptr, false);
        ASSERT_TRUE(json.contains("errors")) << code;
        bool found = false;
        for (const auto& error : json["errors"]) found = found || error["type"] == code;
        EXPECT_TRUE(found) << code << " is not in " << json.dump();
    }
    void expect_run_error(std::vector<std::string> words, const std::string& code,
                          const std::vector<std::string>& parts = {}) {
        words.insert(words.begin(), {"run", model_, "--output-dir", path("out")});
        expect_error(words, code, parts);
    }
    std::string array(const std::string& name, DType dtype, std::vector<int64_t> shape) const {
        EXPECT_TRUE(write_npy(path(name), TensorData(dtype, std::move(shape))));
        return path(name);
    }
    std::string model_;
};

TEST_F(BadInput, files_that_are_not_there) {
    for (const char* command : {"run", "check"})
        expect_error({command, path("no.onnx")}, "support.file_open", {"no.onnx"});
    expect_error({"compare", path("no.onnx"), "--with", "reference"}, "support.file_open");
    expect_error({"graph", path("no.onnx"), "--svg", path("no.svg")}, "support.file_open");
    expect_error({"explain", "softmax", "--library", path("no.yaml")}, "language.file", {"no.yaml"});
    expect_run_error({"--input", "x=" + path("no.npy")}, "support.file_open", {"no.npy"});
}

TEST_F(BadInput, programs_that_cannot_be_exported) {
    const std::string out = path("out");
    expect_error({"compile", path("no.onnx"), "-o", out}, "support.file_open", {"no.onnx"});
    expect_error({"compile", model_, "-o", out}, "onnx.unbound_dimension", {"batch"});
    expect_error({"compile", model_, "-o", out, "--bind", "batch=8:1"}, "artefact.range", {"batch=8:1"});
    expect_error({"compile", model_, "-o", out, "--bind", "batch=1,other=1:4"}, "cli.unknown_dimension", {"'other'"});
    expect_error({"compile", model_, "-o", out, "--bind", "batch=1", "--cc", "no-such-compiler"}, "artefact.compiler",
                 {"no-such-compiler"});
    expect_error({"compile", model_, "-o", out, "--bind", "batch=1", "--cc-flag", "--no-such-flag"},
                 "artefact.compiler", {"--no-such-flag"});
    expect_error({"compile", model_, "-o", model_ + "/out", "--bind", "batch=1"}, "artefact.folder", {"out"});
}

TEST_F(BadInput, options_of_one_graph_for_a_model_in_stages) {
    ModelWriter list;
    list.inputs = {{"x", {"n"}}};
    list.outputs = {{"y", {"m"}}};
    list.node("SequenceConstruct", {"x", "x"}, {"list"});
    list.node("ConcatFromSequence", {"list"}, {"twice"});
    list.node("Relu", {"twice"}, {"y"});
    const std::string model = write("list.onnx", list.bytes());
    const std::vector<std::string> run{"run", model, "--random", "1", "--bind", "n=3", "--output-dir", path("out")};
    EXPECT_EQ(heddle(run).status, 0) << heddle(run).errors;
    auto with_choice = run;
    with_choice.insert(with_choice.end(), {"--choose", "y=stored"});
    expect_error(with_choice, "cli.stages", {"--choose"});
    auto with_profile = run;
    with_profile.insert(with_profile.end(), {"--profile", path("profile.json"), "--repeat", "3"});
    const auto profiled = heddle(with_profile);
    ASSERT_EQ(profiled.status, 0) << profiled.errors;
    EXPECT_CONTAINS(profiled.output, "medians of 3 warm runs");
    const auto rows = nlohmann::json::parse(file_text(path("profile.json")));
    ASSERT_EQ(rows.size(), 1u) << rows.dump();
    EXPECT_EQ(rows[0]["launches"], 1);
    EXPECT_LE(rows[0]["least_microseconds"], rows[0]["microseconds"]);
    expect_error({"run", model, "--random", "1"}, "onnx.unbound_dimension", {"'n'"});
    expect_error({"run", model, "--input", "list=" + array("a.npy", DType::float32, {3})}, "inference.unknown_input");
    EXPECT_EQ(heddle({"compile", model, "--bind", "n=3", "-o", path("program")}).status, 0);
    ModelWriter mixed;
    mixed.inputs = {{"x", {"n"}}, {"w", {"n", "n"}}};
    mixed.outputs = {{"y", {"m"}}};
    mixed.node("SequenceConstruct", {"x", "w"}, {"list"});
    mixed.node("ConcatFromSequence", {"list"}, {"y"});
    const std::string of_both = write("mixed.onnx", mixed.bytes());
    expect_error({"compile", of_both, "--bind", "n=3", "-o", path("out2")}, "artefact.steps", {"ranks"});
}

TEST_F(BadInput, more_memory_than_there_is) {
    for (const char* backend : {"cpu", "reference"}) {
        expect_error({"run", model_, "--random", "1", "--bind", "batch=1000000000000", "--backend", backend, "--work",
                      "1e18", "--output-dir", path("out")},
                     "cli.out_of_memory");
    }
    // More bytes than 64 bits count, of an input whose elements nobody reads.
    ModelWriter like;
    like.inputs = {{"x", {"2"}}, {"like", {"n"}}};
    like.outputs = {{"y", {"2"}}};
    like.node("CastLike", {"x", "like"}, {"y"});
    std::string unread = write("like.onnx", like.bytes());
    for (const std::string size : {"4611686018427387904", "9223372036854775807", "2305843009213693952"}) {
        expect_error({"run", unread, "--random", "1", "--bind", "n=" + size, "--work", "1e30"}, "cli.out_of_memory");
        expect_error(
            {"compare", unread, "--with", "reference", "--random", "1", "--bind", "n=" + size, "--work", "1e30"},
            "cli.out_of_memory");
        expect_error({"run", unread, "--random", "1", "--bind", "n=" + size}, "evaluate.too_much_work", {"'like'"});
    }
    std::string x = array("x.npy", DType::float32, {1});
    expect_error({"run", "--call", "y = expand(x, shape: [1000000, 1000000])", "--input", "x=" + x},
                 "runtime.out_of_memory", {"'y'"});
}

// Sizes that a file claims: what is more than allowed is said before anything is computed.
TEST_F(BadInput, more_work_than_is_allowed) {
    ModelWriter model;
    model.inputs = {{"x", {"n", "4"}}};
    model.outputs = {{"y", {"n", "n"}}};
    model.node("Transpose", {"x"}, {"t"}, {{"perm", {1, 0}}});
    model.node("MatMul", {"x", "t"}, {"y"});
    std::string file = write("square.onnx", model.bytes());
    for (const char* command : {"run", "compare"}) {
        std::vector<std::string> words = {command, file, "--random", "1", "--bind", "n=100"};
        if (words[0] == "compare")
            words.insert(words.end(), {"--with", "reference", "--work", "1e6"});
        else
            words.insert(words.end(), {"--work", "1e4"});
        expect_error(words, "evaluate.too_much_work", {"'y'", "--work"});
        words.back() = "1e9";
        EXPECT_EQ(heddle(words).status, 0);
    }
    // An input that nobody reads is not made up; one whose elements nobody reads is.
    model.inputs.push_back({"idle", {"1000000", "1000"}});
    file = write("idle.onnx", model.bytes());
    EXPECT_EQ(heddle({"run", file, "--random", "1", "--bind", "n=100", "--work", "1e9"}).status, 0);
    model.node("Shape", {"idle"}, {"sizes"});
    file = write("idle.onnx", model.bytes());
    expect_error({"run", file, "--random", "1", "--bind", "n=100", "--work", "1e9"}, "evaluate.too_much_work",
                 {"'idle'", "--work"});
    // Far more than anyone waits for, whatever the memory is.
    expect_error({"run", file, "--random", "1", "--bind", "n=100000000"}, "evaluate.too_much_work", {"'y'"});
}

TEST_F(BadInput, an_interrupt_ends_the_process) {
    pid_t child = ::fork();
    if (child == 0) {
        cli::end_when_interrupted();
        ::raise(SIGINT);
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
}

TEST_F(BadInput, a_full_standard_output) {
    for (const char* command : {"schema", "explain"}) {  // more than a buffer, and less
        std::vector<std::string> words = {"heddle", command};
        if (words[1] == "explain") words.push_back("softmax");
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        std::fflush(stdout);
        const int output = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
        ::dup2(full, STDOUT_FILENO);
        testing::internal::CaptureStderr();
        const int status = cli::run(static_cast<int>(arguments.size()), arguments.data());
        const std::string errors = testing::internal::GetCapturedStderr();
        std::fflush(stdout);
        std::clearerr(stdout);
        ::dup2(output, STDOUT_FILENO);
        ::close(output);
        ::close(full);
        EXPECT_EQ(status, 1) << command;
        EXPECT_CONTAINS(errors, "standard output");
    }
}

TEST_F(BadInput, devices_are_written_to_and_not_replaced) {
    std::filesystem::create_symlink("/dev/full", path("full.svg"));
    expect_error({"graph", model_, "--svg", path("full.svg"), "--bind", "batch=2"}, "support.file_write", {"full.svg"});
    EXPECT_TRUE(std::filesystem::is_character_file(path("full.svg")));
}

TEST_F(BadInput, a_pipe_is_no_template_file) {
    ASSERT_EQ(::mkfifo(path("pipe.yaml").c_str(), 0600), 0);
    expect_error({"check", path("pipe.yaml")}, "language.file", {"pipe.yaml"});
}

TEST_F(BadInput, an_output_folder_below_a_file) {
    expect_error({"run", model_, "--random", "1", "--bind", "batch=2", "--output-dir", model_ + "/out"},
                 "cli.output_dir", {"model.onnx/out"});
}

TEST_F(BadInput, models_cut_short_anywhere) {
    std::string bytes = perceptron();
    for (size_t length = 0; length < bytes.size(); length += 1 + length / 4) {
        std::string file = write("cut.onnx", bytes.substr(0, length));
        auto outcome = heddle({"run", file, "--random", "1", "--bind", "batch=2", "--output-dir", path("out")});
        EXPECT_EQ(outcome.status, 1) << length;
        EXPECT_CONTAINS(outcome.errors, "error[onnx.");
        EXPECT_FALSE(std::filesystem::exists(path("out"))) << length;
    }
}

TEST_F(BadInput, unknown_operators) {
    ModelWriter model;
    model.inputs = {{"x", {"2"}}};
    model.outputs = {{"y", {"2"}}};
    model.node("Relux", {"x"}, {"y"});
    write("unknown.onnx", model.bytes());
    expect_error({"run", path("unknown.onnx"), "--random", "1"}, "onnx.unsupported_operator", {"Relux"});
    expect_error({"check", path("unknown.onnx")}, "onnx.unsupported_operator", {"Relux"});
    expect_error({"run", "--call", "sofmax(x)", "--input", "x=" + array("x.npy", DType::float32, {2})},
                 "language.unknown_operator", {"softmax"});
    expect_error({"explain", "sofmax"}, "language.unknown_operator", {"softmax"});
}

TEST_F(BadInput, inputs_that_do_not_fit) {
    expect_run_error({"--input", "z=" + array("x.npy", DType::float32, {2, 4})}, "inference.unknown_input", {"'z'"});
    expect_run_error({"--input", "x=" + array("rank.npy", DType::float32, {4})}, "onnx.input_rank");
    expect_run_error({"--input", "x=" + array("shape.npy", DType::float32, {2, 5})}, "onnx.input_shape");
    expect_run_error({"--input", "x=" + array("dtype.npy", DType::int32, {2, 4})}, "runtime.input_dtype",
                     {"float32", "int32"});
    expect_run_error({"--input", "x=" + write("text.npy", "no array")}, "support.npy_format");
    expect_run_error({"--input", "nothing"}, "cli.input", {"NAME=FILE"});
    expect_run_error({"--bind", "batch=2"}, "inference.missing_input", {"--random"});
}

TEST_F(BadInput, bindings_that_do_not_fit) {
    for (const char* text :
         {"batch", "batch=", "=3", "batch=x", "batch=-1", "batch=2x", "batch=2,,", "batch=99999999999999999999"}) {
        expect_run_error({"--random", "1", "--bind", text}, "cli.binding", {"NAME=NUMBER"});
    }
    expect_run_error({"--random", "1"}, "onnx.unbound_dimension", {"--bind batch=NUMBER"});
    expect_run_error({"--input", "x=" + array("x.npy", DType::float32, {2, 4}), "--bind", "batch=3"},
                     "onnx.input_shape", {"batch"});
}

TEST_F(BadInput, templates_that_are_wrong) {
    write("syntax.yaml", "t:\n  inputs: {x: \"$T[$n]\"}\n  outputs: {y: \"$T[$n]\"}\n  body: \"y = x[@n +\"\n");
    auto outcome = heddle({"check", path("syntax.yaml")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "syntax.yaml:4:");
    EXPECT_CONTAINS(outcome.errors, "^");
    // A projection that claims less than what the body reads.
    write("narrow.yaml",
          "t:\n  inputs: {x: {shape: \"[$m, $n]\", dtype: \"$T\", ipf: \"[@m, 0 :> 1]\"}}\n  index: \"[$m]\"\n"
          "  outputs: {y: \"$T[$m]\"}\n  body: \"y = sum(k < $n : x[@m, k])\"\n");
    outcome = heddle({"explain", "t", "x=float32[3,5]", "--library", path("narrow.yaml")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "narrow.yaml:2:");
    EXPECT_CONTAINS(outcome.errors, "error[symbolic.");
    // One name, two sizes.
    outcome = heddle({"explain", "matmul", "X=float32[2,3]", "W=float32[4,5]"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "inner");
}

// `check` has no values: what waits for one is no problem of the model.
TEST_F(BadInput, a_shape_that_is_given_later_is_no_mistake) {
    ModelWriter model;
    model.inputs = {{"x", {"2", "3"}}, {"shape", {"2"}, 7}};
    model.outputs = {{"y", {"3", "2"}}};
    model.node("Reshape", {"x", "shape"}, {"y"});
    std::string file = write("reshape.onnx", model.bytes());
    EXPECT_EQ(heddle({"check", file}).status, 0);
    expect_error({"run", file, "--random", "1"}, "symbolic.not_concrete");
}

// What no application could get right is found without one; what some sizes make right is fine.
TEST_F(BadInput, templates_that_no_size_makes_right) {
    auto of = [](const std::string& body) {
        return "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T[$n]\"}\n  body: |\n    " + body +
               "\n";
    };
    auto check = [&](const std::string& body) { return heddle({"check", write("t.yaml", of(body))}); };
    for (const auto& [body, code] : std::vector<std::pair<std::string, std::string>>{
             {"y[@n] = x[@n + 1]", "symbolic.footprint"},
             {"y[2 * @n] = x[@n]", "symbolic.cover"}}) {  // but of one element
        auto outcome = check(body);
        EXPECT_EQ(outcome.status, 1) << body;
        EXPECT_CONTAINS(outcome.errors, code);
        EXPECT_CONTAINS(outcome.errors, "applied to x: ");
    }
    for (const char* body :
         {"y[@n] = x[max(@n - 1, 0)]", "y[@n] = $n >= 3 ? x[@n] : x[@n + 1]", "y[@n] = x[@n + 1] ?? 0"})
        EXPECT_EQ(check(body).status, 0) << body;
}

TEST_F(BadInput, CheckSaysWhatItHasNotSeenToWork) {
    const std::string head = "t:\n  inputs: {x: \"$T[$n, $m]\"", tail = "  index: \"[$n, $m]\"\n  outputs: {y: \"$T\"}\n";
    auto unknown = heddle({"check", write("huge.yaml", head + "}\n  constraints: {require: [[\"$n == 1000\", \"no\"]]}\n" +
                                                           tail + "  body: \"y = x\"\n")});
    EXPECT_EQ(unknown.status, 3);
    EXPECT_CONTAINS(unknown.errors, "rewrite.not_shown");
    EXPECT_CONTAINS(unknown.output, "not shown to work");
    auto unused = heddle({"check", write("unused.yaml", head + ", b: \"$T[$n, $m]\"}\n" + tail + "  body: \"y = x\"\n")});
    EXPECT_EQ(unused.status, 0);
    EXPECT_CONTAINS(unused.errors, "warning[language.unused]: the input `b`");
    auto wrong = heddle({"check", write("bools.yaml", head + "}\n" + tail + "  body: \"y = x * (x > 0)\"\n")});
    EXPECT_EQ(wrong.status, 1);
    std::filesystem::create_directories(path("empty"));
    expect_error({"check", path("empty")}, "cli.nothing_to_check", {"empty"});
}

TEST_F(BadInput, Metakernels20SeveralErrorsComeInOneRun) {
    std::string file = write("several.yaml",
                             "one:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
                             "  body: \"y = x[n] + alpha\"\n"
                             "two:\n  input: {x: \"$T[$n]\"}\n  outputs: {y: \"$T[$n]\"}\n  body: \"y = x +\"\n"
                             "three:\n  inputs: {x: \"$T[$n]\"}\n  outputs: {y: \"$T[$m]\"}\n  body: \"y = x\"\n");
    auto outcome = heddle({"check", file});
    EXPECT_EQ(outcome.status, 1);
    for (const char* part :
         {"several.yaml:5:", "language.forgotten_at", "language.unknown_name", "several.yaml:7:3",
          "language.unknown_key", "several.yaml:9:", "language.syntax", "several.yaml:12:", "language.unbound_static"})
        EXPECT_CONTAINS(outcome.errors, part);
}

TEST_F(BadInput, command_lines_that_are_wrong) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"weave"},
                                               {"graph", "model.onnx", "--environment", "loom"},
                                               {"compare", "model.onnx"},
                                               {"explain"},
                                               {"check"},
                                               {"run", "m.onnx", "--threads", "0"},
                                               {"run", "m.onnx", "--backend", "abacus"},
                                               {"run", "m.onnx", "--format", "xml"},
                                               {"run", "m.onnx", "--nonsense"}}) {
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 2) << (words.empty() ? "nothing" : words.front());
        EXPECT_NE(outcome.errors, "");
    }
    expect_error({"run"}, "cli.what_to_run");
}

TEST_F(BadInput, help_teaches) {
    auto outcome = heddle({"--help"});
    EXPECT_EQ(outcome.status, 0);
    for (const char* command : {"run", "check", "explain", "compare", "graph"}) {
        EXPECT_CONTAINS(outcome.output, command);
        auto help = heddle({command, "--help"});
        EXPECT_EQ(help.status, 0);
        EXPECT_CONTAINS(help.output, "Example");
    }
}

}  // namespace
}  // namespace heddle
