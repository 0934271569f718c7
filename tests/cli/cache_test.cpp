// Compiled code that is kept on disk, as commands use it: found by later runs, never trusted, not missed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <sys/wait.h>

#include "command_test.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

class Cache : public CommandTest {
protected:
    Cache() { model_ = write("model.onnx", perceptron()); }

    std::vector<std::string> command(std::vector<std::string> more, const std::string& outputs = "out") const {
        std::vector<std::string> words = {"run",     model_,         "--random",    "3",        "--bind",
                                          "batch=5", "--output-dir", path(outputs), "--format", "json"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    // Of a run that must not fail; the bytes of its results.
    std::string results(std::vector<std::string> more = {}) {
        last_ = heddle(command(std::move(more)));
        EXPECT_EQ(last_.status, 0) << last_.errors;
        return read("out/output_0.npy") + read("out/output_1.npy");
    }
    int64_t number(const std::string& name) const {
        const size_t at = last_.output.find("\"" + name + "\": ");
        EXPECT_NE(at, std::string::npos) << last_.output;
        return std::atoll(last_.output.c_str() + at + name.size() + 4);
    }
    bool loaded() const { return last_.output.find("\"program_loaded\": true") != std::string::npos; }
    fs::path only(const std::string& kind) const {
        std::vector<fs::path> files = kept();
        std::erase_if(files, [&](const fs::path& file) { return file.extension() != "." + kind; });
        EXPECT_EQ(files.size(), 1u) << kind;
        return files.front();
    }
    std::string folder() const { return cache_home() + "/heddle"; }
    std::vector<fs::path> kept() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(folder())) {
            if (entry.path().has_extension()) files.push_back(entry.path());
        }
        std::ranges::sort(files);
        return files;
    }

    std::string model_;
    CommandOutcome last_;
};

TEST_F(Cache, keeps_programs) {
    const std::string first = results();
    const int64_t kernels = number("kernels_compiled");
    EXPECT_GE(kernels, 2);
    EXPECT_EQ(number("kernels_loaded"), 0);
    EXPECT_FALSE(loaded());
    EXPECT_EQ(results(), first);
    EXPECT_TRUE(loaded());
    EXPECT_EQ(number("kernels_compiled"), 0);
    EXPECT_EQ(number("kernels_loaded"), kernels);
    EXPECT_EQ(last_.errors, "");
    EXPECT_EQ(results({"--no-cache"}), first);
    EXPECT_EQ(number("kernels_compiled"), kernels);
    EXPECT_EQ(results({"--cache-dir", path("other")}), first);
    EXPECT_EQ(number("kernels_compiled"), kernels);
    EXPECT_EQ(results({"--cache-dir", path("other")}), first);
    EXPECT_EQ(number("kernels_loaded"), kernels);
    fs::remove(only("program"));  // kernels alone
    EXPECT_EQ(results(), first);
    EXPECT_FALSE(loaded());
    EXPECT_EQ(number("kernels_loaded"), kernels);
    EXPECT_EQ(results({"--backend", "reference"}).size(), first.size());
    EXPECT_FALSE(loaded());
    const auto compared = heddle({"compare", model_, "--with", "reference", "--random", "3", "--bind", "batch=5"});
    EXPECT_EQ(compared.status, 0) << compared.errors;
}

TEST_F(Cache, compiles_again_what_is_damaged) {
    const std::string first = results();
    std::mt19937 random(5);
    for (int i = 0; i < 30; i++) {
        const auto files = kept();
        const fs::path file = files[random() % files.size()];
        std::string bytes = file_text(file);
        bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        std::ofstream(file, std::ios::binary) << bytes;
        EXPECT_EQ(results(), first);
        EXPECT_CONTAINS(last_.errors, "warning[cache.damaged]: a file of the cache");
        EXPECT_EQ(std::ranges::count(last_.errors, '\n'), 1) << last_.errors;
        EXPECT_EQ(results(), first);
        EXPECT_EQ(last_.errors, "");
    }
}

// A program follows from its model, the operators, what is given, and options.
TEST_F(Cache, takes_no_other_program) {
    const std::string first = results();
    const auto made = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"run", "--format", "json"});
        last_ = heddle(words);
        EXPECT_EQ(last_.status, 0) << last_.errors;
        return !loaded();
    };
    const std::string library = write("mine.yaml",
                                      "twice: {doc: Doubles., inputs: {x: \"$T[$s...]\"}, index: "
                                      "\"[$s...]\", outputs: {y: $T}, body: \"y = x + x\"}\n");
    EXPECT_FALSE(made({model_, "--random", "3", "--bind", "batch=5"}));
    EXPECT_FALSE(made({model_, "--random", "4", "--bind", "batch=5"})) << "values decide nothing here";
    EXPECT_TRUE(made({model_, "--random", "3", "--bind", "batch=6"}));
    EXPECT_TRUE(made({model_, "--random", "3", "--bind", "batch=5", "--unfused"}));
    EXPECT_TRUE(made({model_, "--random", "3", "--bind", "batch=5", "--library", library}));
    EXPECT_FALSE(made({model_, "--random", "3", "--bind", "batch=5", "--library", library}));
    write("mine.yaml", read("mine.yaml") + "# other\n");
    EXPECT_TRUE(made({model_, "--random", "3", "--bind", "batch=5", "--library", library}));
    EXPECT_FALSE(made({model_, "--random", "3", "--bind", "batch=5"}));
    std::string bytes = perceptron();
    const size_t weight = bytes.find(std::string("\0\0\0\xbf", 4));  // -0.5
    ASSERT_NE(weight, std::string::npos);
    bytes[weight + 3] = '\x3f';
    write("model.onnx", bytes);
    EXPECT_TRUE(made({model_, "--random", "3", "--bind", "batch=5"}));
    EXPECT_NE(results(), first);
    EXPECT_TRUE(loaded());
}

TEST_F(Cache, limits_work_all_the_same) {
    results();
    last_ = heddle(command({"--work", "10"}));
    EXPECT_EQ(last_.status, 1);
    EXPECT_CONTAINS(last_.output, "evaluate.too_much_work");
}

TEST_F(Cache, does_without) {
    const std::string first = results();
    fs::permissions(folder(), fs::perms::all);
    EXPECT_EQ(results(), first);
    EXPECT_CONTAINS(last_.errors, "warning[cache.not_ours]");
    EXPECT_EQ(number("kernels_loaded"), 0);
    EXPECT_EQ(results({"--no-cache"}), first);
    EXPECT_EQ(last_.errors, "");
    EXPECT_EQ(results({"--cache-dir", model_}), first);
    EXPECT_CONTAINS(last_.errors, "warning[cache.folder]");
    ::setenv("XDG_CACHE_HOME", model_.c_str(), 1);  // nobody asked for it there
    EXPECT_EQ(results(), first);
    EXPECT_EQ(last_.errors, "");
}

TEST_F(Cache, is_shown_and_removed) {
    results();
    const auto files = kept();
    auto shown = heddle({"cache", "--list"});
    EXPECT_EQ(shown.status, 0) << shown.errors;
    EXPECT_CONTAINS(shown.output, folder());
    EXPECT_CONTAINS(shown.output, "of at most 1000.0 MB");
    EXPECT_CONTAINS(shown.output, "kernel");
    EXPECT_CONTAINS(shown.output, "MB  w packed\n");  // by what it writes
    EXPECT_CONTAINS(shown.output, model_);
    last_ = heddle({"cache", "--format", "json", "--limit", "200MB", "--list"});
    EXPECT_EQ(last_.status, 0) << last_.errors;
    EXPECT_EQ(number("limit"), 200000000);
    EXPECT_GT(number("bytes"), 0);
    size_t listed = 0;
    for (size_t at = 0; (at = last_.output.find("last_used", at)) != std::string::npos; at++) listed++;
    EXPECT_EQ(listed, files.size()) << last_.output;
    last_ = heddle({"cache", "--format", "json", "--clear"});
    EXPECT_EQ(number("bytes"), 0);
    EXPECT_GT(number("removed"), 0);
    EXPECT_EQ(number("limit"), 200000000);
    EXPECT_TRUE(kept().empty());
    EXPECT_EQ(heddle({"cache", "--cache-dir", model_}).status, 1);
    EXPECT_CONTAINS(heddle({"cache", "--cache-dir", model_, "--format", "json"}).output, "cache.folder");
    const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("HOME");
    EXPECT_CONTAINS(heddle({"cache"}).errors, "there is no place for a cache");
    ::setenv("HOME", home.c_str(), 1);
}

// Whole commands, killed by SIGKILL at any moment: the next gives the right results, and nothing is left behind.
TEST_F(Cache, survives_kills) {
    const std::string right = results({"--no-cache"});
    const auto begin = std::chrono::steady_clock::now();
    results({"--cache-dir", path("timed")});
    const auto longest =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
    std::mt19937 random(3);
    for (int i = 0; i < 40; i++) {
        const pid_t child = ::fork();
        if (child == 0) {
            heddle(command({}, "of_child"));
            ::_exit(0);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(longest.count() + 1)));
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        if (i % 4 != 0) continue;
        ASSERT_EQ(results(), right);
        EXPECT_EQ(last_.errors, "");
        EXPECT_TRUE(fs::is_empty(folder() + "/parts"));
        if (i % 8 == 0) heddle({"cache", "--clear"});
    }
}

}  // namespace
}  // namespace heddle
