// What the command line says of itself: versions, help, near names, completion; and how calls name what they give.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "cli/progress_line.h"
#include "command_test.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class CommandLine : public CommandTest {
protected:
    // The first words of the indented lines below a title of a help text.
    static std::vector<std::string> names_below(const std::string& help, const std::string& title) {
        std::vector<std::string> names;
        std::istringstream lines(help.substr(std::min(help.find("\n" + title + "\n"), help.size())));
        std::string line;
        std::getline(lines, line);
        std::getline(lines, line);
        while (std::getline(lines, line) && line.starts_with("  ")) {
            if (line.starts_with("   ")) continue;  // more of a text
            std::istringstream words(line);
            for (std::string word; words >> word;) {
                names.push_back(word.ends_with(",") ? word.substr(0, word.size() - 1) : word);
                if (!word.ends_with(",")) break;  // "-h, --help"
            }
        }
        return names;
    }
    static std::vector<std::string> commands() { return names_below(heddle({"--help"}).output, "Commands:"); }

    // What bash prints; its status is 0.
    std::string bash(const std::string& script) const {
        const std::string file = write("script.bash", script);
        const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(("bash --norc " + file + " 2>&1").c_str(), "r"),
                                                         [](FILE*) { return 0; });
        std::string text;
        for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
        EXPECT_EQ(::pclose(pipe.get()), 0) << text;
        return text;
    }
    // What completes the last of these words.
    std::set<std::string> completed(const std::vector<std::string>& words) {
        std::string list;
        for (const std::string& word : words) list += " '" + word + "'";
        const std::string found = bash("source " + path("heddle.bash") + "\nCOMP_WORDS=(" + list +
                                       ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                                       "\n_heddle\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
        std::set<std::string> result;
        std::istringstream lines(found);
        for (std::string line; std::getline(lines, line);) {
            if (!line.empty()) result.insert(line);
        }
        return result;
    }

    void expect_usage_error(std::vector<std::string> words, const std::string& code, const std::string& part) {
        auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 2);
        EXPECT_EQ(outcome.output, "");
        EXPECT_CONTAINS(outcome.errors, "error[" + code + "]");
        EXPECT_CONTAINS(outcome.errors, part);
        for (const std::vector<std::string>& format :
             {std::vector<std::string>{"--format", "json"}, std::vector<std::string>{"--format=json"}}) {
            std::vector<std::string> asked = words;
            asked.insert(asked.begin(), format.begin(), format.end());
            outcome = heddle(asked);
            EXPECT_EQ(outcome.status, 2);
            EXPECT_EQ(outcome.errors, "");
            const Json json = Json::parse(outcome.output, nullptr, false);
            ASSERT_TRUE(json.is_object() && json["errors"].size() == 1) << outcome.output;
            EXPECT_EQ(json["errors"][0]["type"], code);
            EXPECT_CONTAINS(json["errors"][0]["message"].get<std::string>(), part);
        }
    }

    std::string x() const {
        TensorData data(DType::float32, {3});
        for (int64_t i = 0; i < 3; i++) data.set_real(i, static_cast<double>(i + 1));
        EXPECT_TRUE(write_npy(path("x.npy"), data));
        return path("x.npy");
    }
    CommandOutcome call(const std::string& text, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words = {"run", "--call", text, "--input", "x=" + x()};
        words.insert(words.end(), more.begin(), more.end());
        return heddle(words);
    }
};

TEST_F(CommandLine, the_version_says_what_this_is) {
    const auto outcome = heddle({"--version", "--format", "json"});
    EXPECT_EQ(outcome.status, 0);
    const Json json = Json::parse(outcome.output, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.output;
    EXPECT_CONTAINS(file_text(in_source("pyproject.toml")),
                    "\nversion = \"" + json["version"].get<std::string>() + "\"\n");
    EXPECT_TRUE(json["llvm"].get<std::string>().starts_with("19."));
    EXPECT_NE(json["commit"], "");
    for (const char* key : {"triple", "cpu", "features"}) EXPECT_TRUE(json["target"][key].is_string()) << key;
    const auto text = heddle({"--version"});
    EXPECT_EQ(text.status, 0);
    for (const Json& part : {json["version"], json["commit"], json["llvm"], json["target"]["triple"]})
        EXPECT_CONTAINS(text.output, part.get<std::string>());
    EXPECT_CONTAINS(file_text(in_source("LICENSE")), "Version 2.0, January 2004");
}

TEST_F(CommandLine, versions_and_help_by_the_words_that_others_use) {
    const std::string version = heddle({"--version"}).output;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"-V"}, {"version"}})
        EXPECT_EQ(heddle(words).output, version) << words[0];
    EXPECT_EQ(heddle({"help"}).output, heddle({"--help"}).output);
    for (const std::string& command : commands())
        EXPECT_EQ(heddle({"help", command}).output, heddle({command, "--help"}).output) << command;
    EXPECT_CONTAINS(heddle({"help", "rn"}).errors, "did you mean run?");
}

TEST_F(CommandLine, alone_it_prints_its_help) {
    const auto alone = heddle({});
    EXPECT_EQ(alone.status, 0);
    EXPECT_EQ(alone.output, heddle({"--help"}).output);
    EXPECT_GE(commands().size(), 9U);
}

TEST_F(CommandLine, help_fits_a_terminal) {
    std::vector<std::vector<std::string>> all = {{"--help"}};
    for (const std::string& command : commands()) all.push_back({command, "--help"});
    for (const auto& words : all) {
        const auto outcome = heddle(words);
        EXPECT_EQ(outcome.status, 0);
        EXPECT_CONTAINS(outcome.output, "--help");
        std::istringstream lines(outcome.output);
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST_F(CommandLine, a_profile_is_of_warm_runs_and_says_of_what) {
    const std::string file = path("profile.json");
    const auto outcome = call("softmax(exp(x))", {"--profile", file});
    ASSERT_EQ(outcome.status, 0) << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "medians of 10 warm runs");
    const Json rows = Json::parse(file_text(file));
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0]["runs"], 10);
    EXPECT_LE(rows[0]["least_microseconds"], rows[0]["microseconds"]);
    EXPECT_CONTAINS(rows[0]["operators"].get<std::string>(), "softmax");
    EXPECT_EQ(rows[0]["reads"], Json{"x: float32[3]"});
    EXPECT_EQ(rows[0]["writes"], Json{"result: float32[3]"});
    const auto repeated = call("exp(x)", {"--profile", file, "--repeat", "7"});
    EXPECT_CONTAINS(repeated.output, "medians of 7 warm runs");
}

TEST_F(CommandLine, near_names_are_suggested) {
    expect_usage_error({"rn"}, "cli.unknown_command", "did you mean run?");
    expect_usage_error({"wrap", "model.onnx"}, "cli.unknown_command", "heddle --help lists the commands");
    expect_usage_error({"--verion"}, "cli.unknown_option", "did you mean --version?");
    expect_usage_error({"run", "m.onnx", "--bnd", "a=1"}, "cli.unknown_option", "did you mean --bind?");
    expect_usage_error({"compare", "m.onnx", "--wth=reference"}, "cli.unknown_option", "did you mean --with?");
    expect_usage_error({"explain", "softmax", "--xyzzy"}, "cli.unknown_option", "explain has no option '--xyzzy'");
    const std::string model = write("model.onnx", perceptron());
    const auto wrong = heddle({"run", model, "--input", "xx=" + x()});
    EXPECT_CONTAINS(wrong.errors, "error[inference.unknown_input]");
    EXPECT_CONTAINS(wrong.errors, "did you mean 'x'?");
    EXPECT_CONTAINS(call("exp(xs)").errors, "did you mean x?");
    EXPECT_CONTAINS(call("exp(value)").errors, "the names are: x");
}

TEST_F(CommandLine, what_cannot_be_parsed_is_told_as_it_was_asked_for) {
    expect_usage_error({"run", "m.onnx", "--threads", "0"}, "cli.usage", "--threads");
    expect_usage_error({"run", "m.onnx", "--threads", "many"}, "cli.usage", "--threads");
    expect_usage_error({"run", "m.onnx", "--backend", "abacus"}, "cli.usage", "reference");
    expect_usage_error({"run", "m.onnx", "n.onnx"}, "cli.usage", "does not take 'n.onnx'");
    expect_usage_error({"run", "--random"}, "cli.usage", "--random");
    expect_usage_error({"compare", "m.onnx"}, "cli.usage", "--with");
    expect_usage_error({"graph", "m.onnx", "--environment", "loom"}, "cli.usage", "--validate");
    expect_usage_error({"completion", "tcsh"}, "cli.usage", "bash");
    expect_usage_error({"run", "m.onnx", "--random", "abc"}, "cli.usage", "--random takes no 'abc'");
    expect_usage_error({"explain"}, "cli.usage", "heddle explain --help");
    // Before the command it is for the command.
    const auto outcome = heddle({"--format", "json", "run"});
    EXPECT_EQ(Json::parse(outcome.output, nullptr, false)["errors"][0]["type"], "cli.what_to_run");
}

TEST_F(CommandLine, all_that_help_lists_is_completed) {
    const std::string script = heddle({"completion", "bash"}).output, zsh = heddle({"completion", "zsh"}).output;
    write("heddle.bash", script);
    EXPECT_EQ(bash("bash -n " + path("heddle.bash")), "");
    EXPECT_CONTAINS(bash("source " + path("heddle.bash") + "; complete -p heddle"), "-F _heddle heddle");
    const auto as_set = [](std::vector<std::string> list) { return std::set<std::string>(list.begin(), list.end()); };
    EXPECT_EQ(completed({"heddle", ""}), as_set(commands()));
    EXPECT_EQ(completed({"heddle", "-"}), as_set(names_below(heddle({"--help"}).output, "Options:")));
    for (const std::string& command : commands()) {
        SCOPED_TRACE(command);
        const auto options = names_below(heddle({command, "--help"}).output, "Options:");
        EXPECT_GE(options.size(), 2U);
        EXPECT_EQ(completed({"heddle", command, "-"}), as_set(options));
        const size_t arm = zsh.find("\n    " + command + ")\n");
        ASSERT_NE(arm, std::string::npos);
        const std::string words = zsh.substr(arm, zsh.find("\n        ;;\n", arm) - arm);
        for (const std::string& option : options) EXPECT_CONTAINS(words, option + "[");
        EXPECT_CONTAINS(zsh, "\n        '" + command + ":");
    }
    // zsh is not on every machine.
    EXPECT_EQ(bash("if command -v zsh > " + path("where") + "; then zsh -n " + write("_heddle", zsh) + "; fi"), "");
}

TEST_F(CommandLine, values_are_completed) {
    using Words = std::set<std::string>;
    write("heddle.bash", heddle({"completion", "bash"}).output);
    EXPECT_EQ(completed({"heddle", "ru"}), Words{"run"});
    EXPECT_EQ(completed({"heddle", "run", "m.onnx", "--format", ""}), (Words{"json", "text"}));
    EXPECT_EQ(completed({"heddle", "run", "--backend", "r"}), Words{"reference"});
    EXPECT_EQ(completed({"heddle", "run", "--backend", "=", "c"}), Words{"cpu"});
    EXPECT_EQ(completed({"heddle", "run", "--backend", "="}), (Words{"cpu", "reference"}));
    EXPECT_EQ(completed({"heddle", "compare", "m.onnx", "--with", "u"}), Words{"unfused"});
    EXPECT_EQ(completed({"heddle", "completion", ""}), (Words{"bash", "fish", "zsh"}));
    // Files are the shell's.
    EXPECT_EQ(completed({"heddle", "run", ""}), Words{});
    EXPECT_EQ(completed({"heddle", "run", "--library", "-"}), Words{});
}

// ---- how far it is

TEST_F(CommandLine, a_line_says_how_far_a_program_is) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    {
        cli::ProgressLine line(ends[1], std::chrono::milliseconds(0));
        line.begin(Stage::code, 54);
        line.step(12);  // sooner than lines are drawn again
        std::this_thread::sleep_for(std::chrono::milliseconds(110));
        line.step();
        line.finish();
        cli::ProgressLine quiet(ends[1], std::chrono::hours(1));
        quiet.begin(Stage::plan, 3);
        quiet.step(3);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    text.resize(static_cast<size_t>(::read(ends[0], text.data(), text.size())));
    ::close(ends[0]);
    EXPECT_CONTAINS(text, "\r\x1b[Kcompiling: code, 13 of 54 kernels (0.1 s)");
    EXPECT_EQ(text.find("12 of 54"), std::string::npos);
    EXPECT_EQ(text.find("plan"), std::string::npos);
    EXPECT_TRUE(text.ends_with("\r\x1b[K"));  // it goes
}

TEST_F(CommandLine, a_run_has_the_time_of_each_stage) {
    const auto outcome = call("y = softmax(x, axis: 0)", {"--no-cache", "--format", "json"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_EQ(outcome.errors, "");  // no line: it is no terminal
    const Json json = Json::parse(outcome.output, nullptr, false);
    ASSERT_TRUE(json.contains("stages_ms")) << outcome.output;
    for (const char* stage : {"load", "symbolic", "fusion", "plan", "code", "link", "prepare"}) {
        ASSERT_TRUE(json["stages_ms"][stage].is_number()) << stage;
        EXPECT_GE(json["stages_ms"][stage].get<double>(), 0) << stage;
    }
    EXPECT_EQ(json["stages_ms"].size(), 7U);
    EXPECT_GT(json["stages_ms"]["code"].get<double>(), 0);
}

// Nothing keeps it: neither a file nor a result is left, whatever it was doing.
TEST_F(CommandLine, an_interrupt_ends_a_compile) {
    const std::string file = x();
    const size_t before = files();
    const pid_t child = ::fork();
    if (child == 0) {
        cli::end_when_interrupted();
        ::freopen("/dev/null", "w", stdout);
        ::freopen("/dev/null", "w", stderr);
        std::vector<std::string> words = {
            "heddle",  "run",      "--no-cache", "--call", "y = softmax(cumsum(x, axis: 0), axis: 0)",
            "--input", "x=" + file};
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        for (;;) cli::run(static_cast<int>(arguments.size()), arguments.data());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(child, SIGINT);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 130);
    EXPECT_EQ(files(), before);
}

// ---- what calls give

class Calls : public CommandLine {
protected:
    Calls() {
        library_ = write("mine.yaml",
                         "two:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n"
                         "  outputs: {twice: \"$T\", square: \"$T\"}\n"
                         "  body: |\n    twice = x * 2\n    square = x * x\n"
                         "both:\n  inputs: {x: \"$T[$n]\"}\n  outputs: {a: \"$T\", b: \"$T\"}\n"
                         "  graph: |\n    p, q = two(x)\n    a = add2(p, q)\n    b = two(q)\n"
                         "halves:\n  inputs: {x: \"$T[$n]\", w: \"$T[$n]?\"}\n  outputs: {y: \"$T\", z: \"$T?\"}\n"
                         "  graph: |\n    y = mul(x, 0.5)\n    z = w\n"
                         "exp:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
                         "  body: \"y = x + 100\"\n");
    }
    // "name: type = values" of each result.
    std::vector<std::string> results(const std::string& text, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words = {"--library", library_};
        words.insert(words.end(), more.begin(), more.end());
        const auto outcome = call(text, words);
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        std::vector<std::string> found;
        std::istringstream lines(outcome.output);
        for (std::string line; std::getline(lines, line) && !line.starts_with("load ");) found.push_back(line);
        return found;
    }
    std::string library_;
};

TEST_F(Calls, give_all_results_under_the_templates_names) {
    using Lines = std::vector<std::string>;
    const Lines all = {"twice: float32[3] = 2 4 6", "square: float32[3] = 1 4 9"};
    EXPECT_EQ(results("two(x)"), all);
    EXPECT_EQ(results("two(x)", {"--backend", "reference"}), all);
    EXPECT_EQ(results("a, b = two(x)"), (Lines{"a: float32[3] = 2 4 6", "b: float32[3] = 1 4 9"}));
    EXPECT_EQ(results("a = two(x)"), (Lines{"a: float32[3] = 2 4 6"}));
    EXPECT_EQ(results("two(x)[1]"), (Lines{"result: float32[3] = 1 4 9"}));
    EXPECT_EQ(results("both(x)"), (Lines{"a: float32[3] = 3 8 15", "b: float32[3] = 2 8 18"}));
    EXPECT_EQ(results("split(x, chunk: 2)"), (Lines{"parts0: float32[2] = 1 2", "parts1: float32[1] = 3"}));
    EXPECT_EQ(results("core::exp(x)").size(), 1U);
    EXPECT_EQ(results("y = x"), (Lines{"y: float32[3] = 1 2 3"}));
    EXPECT_EQ(results("dropout_inference(x)"), (Lines{"y: float32[3] = 1 2 3", "mask: bool[3] = 1 1 1"}));
    // An optional result that is not made has no line.
    EXPECT_EQ(results("halves(x)"), (Lines{"y: float32[3] = 0.5 1 1.5"}));
    const auto missing = call("y, z = halves(x)", {"--library", library_});
    EXPECT_EQ(missing.status, 1);
    EXPECT_CONTAINS(missing.errors, "error[symbolic.results]");
}

TEST_F(Calls, mean_the_users_operator_first) {
    EXPECT_EQ(results("exp(x)"), (std::vector<std::string>{"result: float32[3] = 101 102 103"}));
    EXPECT_EQ(results("core::exp(x)"), (std::vector<std::string>{"result: float32[3] = 2.71828 7.38906 20.0855"}));
    const std::string other =
        write("other.yaml",
              "exp:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = x\"\n");
    const auto ambiguous = call("exp(x)", {"--library", library_, "--library", other});
    EXPECT_EQ(ambiguous.status, 1);
    EXPECT_CONTAINS(ambiguous.errors, "error[language.ambiguous_operator]");
    EXPECT_CONTAINS(ambiguous.errors, "write mine::exp or other::exp");
}

// A document of a call says what was called: validating applies the same operator again.
TEST_F(Calls, of_documents_mean_the_users_operator_too) {
    const std::string document = path("exp.json");
    ASSERT_EQ(
        heddle({"graph", "--call", "exp(x)", "--input-type", "x=float32[3]", "--library", library_, "--json", document})
            .status,
        0);
    const auto valid = heddle({"graph", document, "--validate", "--environment", "heddle", "--library", library_});
    EXPECT_EQ(valid.status, 0) << valid.errors;
    EXPECT_CONTAINS(valid.output, "1 operators applied again");
}

}  // namespace
}  // namespace heddle
