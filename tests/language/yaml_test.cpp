// Text that is no sound file: encodings, limits, and thousands of mutations of sound ones. Nothing crashes, nothing
// hangs.
#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "helpers/files.h"
#include "helpers/source_folder.h"
#include "language/template.h"
#include "language/yaml_document.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

const fs::path root = in_source();

std::shared_ptr<const SourceText> source(const std::string& text) {
    return std::make_shared<const SourceText>("t.yaml", text);
}

// "code line:column" of the first diagnostic.
std::string first_error(const std::string& text) {
    auto loaded = load_template_file(source(text));
    if (loaded) return "ok";
    const Diagnostic& diagnostic = loaded.error().front();
    auto at = diagnostic.place.source->locate(diagnostic.place.offset);
    return diagnostic.code + " " + std::to_string(at.line) + ":" + std::to_string(at.column);
}

const std::string head = "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n";

TEST(Yaml, EncodingsAreRefused) {
    EXPECT_EQ(first_error("\xEF\xBB\xBFt: 1\n"), "language.encoding 1:1");
    EXPECT_EQ(first_error(std::string("t:\n  doc: a\0b\n", 13)), "language.encoding 2:9");
    EXPECT_EQ(first_error("t:\n  doc: \xFF\n"), "language.encoding 2:8");
    EXPECT_EQ(first_error("t: \xC0\xAF\n"), "language.encoding 1:4");
    EXPECT_EQ(first_error("t: \xED\xA0\x80\n"), "language.encoding 1:4");
    EXPECT_EQ(first_error("t: \xF4\x90\x80\x80\n"), "language.encoding 1:4");
    EXPECT_EQ(first_error(head + "  doc: ünïcode 漢字\n  body: \"y = x\"\n"), "ok");
}

TEST(Yaml, LimitsAreKept) {
    EXPECT_EQ(first_error(std::string(yaml_text_limit + 1, ' ')), "language.too_large 1:1");
    std::string many = "t: [";
    for (size_t i = 0; i <= yaml_node_limit; i++) many += "1,";
    EXPECT_EQ(first_error(many + "1]\n").substr(0, 18), "language.too_large");
    EXPECT_NE(first_error(std::string(100'000, '[')), "ok");
    EXPECT_NE(first_error(std::string(100'000, '{')), "ok");
    EXPECT_NE(first_error(std::string(5'000, '-') + " a"), "ok");
    std::string dashes;
    for (int i = 0; i < 20'000; i++) dashes += "- ";
    EXPECT_NE(first_error(dashes), "ok");
}

TEST(Yaml, FamiliesDoNotMultiply) {
    std::string text = "t:\n  family:\n";
    for (int i = 0; i < 3'000; i++) text += "    m" + std::to_string(i) + ": {f: \"x\"}\n";
    text += head.substr(3) + "  body: \"y = sum(i < 3 : f([";
    for (int i = 0; i < 1'000; i++) text += "$f, ";
    EXPECT_EQ(first_error(text + "]))\"\n").substr(0, 18), "language.too_large");
    std::string inputs = "t:\n  outputs: {y: \"$T[2]\"}\n  inputs:\n";
    for (int i = 0; i < 2'000; i++)
        inputs += "    x" + std::to_string(i) + ": \"$T[$a" + std::to_string(i) + "...]\"\n";
    EXPECT_EQ(first_error(inputs).substr(0, 18), "language.too_large");
}

TEST(Yaml, DeepExpressionsAreRefused) {
    for (const char* bracket : {"(", "[", "-", "!", "x[", "f(", "x ? ", "2 ^ ", "x ?? ", "[a = "}) {
        std::string deep;
        for (int i = 0; i < 20'000; i++) deep += bracket;
        EXPECT_EQ(first_error(head + "  body: \"y = " + deep + "\"\n").substr(0, 17), "language.too_deep") << bracket;
    }
}

TEST(Yaml, BlocksInBlocksAreBounded) {
    std::string text = head + "  body: |\n";
    for (int i = 0; i < 400; i++)
        text += std::string(static_cast<size_t>(4 + i), ' ') + "for v" + std::to_string(i) + " < 2:\n";
    EXPECT_EQ(first_error(text + std::string(500, ' ') + "y = x\n").substr(0, 17), "language.too_deep");
}

TEST(Yaml, ManyErrorsAreCut) {
    std::string text = head + "  body: |\n";
    for (int i = 0; i < 5'000; i++) text += "    let a" + std::to_string(i) + " = z" + std::to_string(i) + "\n";
    auto loaded = load_template_file(source(text + "    y = x\n"));
    ASSERT_FALSE(loaded.has_value());
    EXPECT_EQ(loaded.error().size(), 100U);
}

// The place of the `z` that nothing binds, in every way that YAML writes text.
TEST(Yaml, PlacesInEveryKindOfScalar) {
    EXPECT_EQ(first_error(head + "  body: y = x + z\n"), "language.unknown_name 5:17");
    EXPECT_EQ(first_error(head + "  body: 'y = x + z'\n"), "language.unknown_name 5:18");
    EXPECT_EQ(first_error(head + "  body: \"y = x + z\"\n"), "language.unknown_name 5:18");
    EXPECT_EQ(first_error(head + "  body: \"\\x79 = x \\u002b z\"\n"), "language.unknown_name 5:26");
    EXPECT_EQ(first_error(head + "  body: '$T == ''a'' ? 1 : z'\n").substr(0, 15), "language.syntax");
    EXPECT_EQ(first_error(head + "  body: 'y = ''a'' == ''b'' ? x : z'\n"), "language.unknown_name 5:35");
    EXPECT_EQ(first_error(head + "  body: |\n    y = x\n\n      + z\n"), "language.unknown_name 8:9");
    EXPECT_EQ(first_error(head + "  body: |-\n\n\n    y = x\n     + z"), "language.unknown_name 9:8");
    EXPECT_EQ(first_error(head + "  body: |2\n      y = x\n        + z\n"), "language.unknown_name 7:11");
    EXPECT_EQ(first_error(head + "  body: | # why\n    y = x # ü\n      + z\n"), "language.unknown_name 7:9");
    std::string windows;
    for (char c : head + "  body: |\n    let a = x\n    y = x + z\n")
        windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_EQ(first_error(windows), "language.unknown_name 7:13");
}

// ---------------------------------------------------------------- mutations

// Single templates with the file's functions before them: small texts, so that thousands are quick.
std::vector<std::string> seeds() {
    std::vector<std::string> texts;
    std::string all = file_text(root / "tests/language/acceptance/templates.yaml");
    std::string current, functions;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line[0] != ' ' && line[0] != '#') {
            if (current.starts_with("let:")) {
                functions = current;
            } else if (!current.empty()) {
                texts.push_back(functions + current);
            }
            current.clear();
        }
        if (!line.starts_with("# --")) current += line + "\n";
    }
    texts.push_back(functions + current);
    return texts;
}

class Mutator {
public:
    Mutator() : random_(20240701) {}

    std::string mutate(std::string text, const std::string& other) {
        for (int count = 1 + pick(4); count > 0; count--) change(text, other);
        return text;
    }

private:
    int pick(size_t below) { return static_cast<int>(random_() % std::max<size_t>(below, 1)); }
    size_t spot(const std::string& text) { return static_cast<size_t>(pick(text.size() + 1)); }

    void change(std::string& text, const std::string& other) {
        static const std::string_view marks[] = {"[",     "]",
                                                 "(",     ")",
                                                 "{",     "}",
                                                 "...",   "$",
                                                 "@",     "~",
                                                 "?",     "??",
                                                 ":",     ":>",
                                                 "*",     "=",
                                                 "<",     "'",
                                                 "\"",    "\n",
                                                 "  ",    "#",
                                                 "|",     ">",
                                                 "&",     "!",
                                                 "- ",    ";",
                                                 "for",   "if",
                                                 "let ",  "scan",
                                                 "from",  "9223372036854775808",
                                                 "1e999", "\t",
                                                 "%",     "\xC3\xBC",
                                                 "\xFF",  ", "};
        size_t at = spot(text);
        size_t length = std::min<size_t>(static_cast<size_t>(pick(20)), text.size() - at);
        switch (pick(6)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, marks[pick(std::size(marks))]); break;
        case 2: text.insert(spot(text), text.substr(at, length)); break;
        case 3: {
            size_t from = spot(other);
            text.insert(at, other.substr(from, static_cast<size_t>(pick(40))));
            break;
        }
        case 4:
            if (at < text.size()) text[at] = static_cast<char>(pick(256));
            break;
        default: text.replace(at, length, marks[pick(std::size(marks))]);
        }
    }

    std::mt19937 random_;
};

TEST(Metakernels22, MutatedFilesAreReadOrRefused) {
    std::vector<std::string> texts = seeds();
    ASSERT_GT(texts.size(), 50U);
    Mutator mutator;
    size_t sound = 0;
    for (size_t i = 0; i < 4'000; i++) {
        const std::string& seed = texts[i % texts.size()];
        std::string text = mutator.mutate(seed, texts[(i * 7 + 3) % texts.size()]);
        auto loaded = load_template_file(source(text));
        if (loaded) {
            sound++;
            for (const auto& made : loaded->templates) ASSERT_FALSE(print(*made).empty());
            continue;
        }
        ASSERT_FALSE(loaded.error().empty());
        for (const Diagnostic& diagnostic : loaded.error()) {
            ASSERT_FALSE(diagnostic.code.empty()) << text;
            ASSERT_FALSE(diagnostic.summary.empty()) << text;
            ASSERT_TRUE(diagnostic.place.source) << text;
            ASSERT_LE(diagnostic.place.offset + diagnostic.place.length, text.size() + 1) << text;
        }
        ASSERT_FALSE(render(loaded.error()).empty());
    }
    // Both happen: the mutations are neither harmless nor hopeless.
    EXPECT_GT(sound, 100U);
    EXPECT_LT(sound, 3'000U);
}

}  // namespace
}  // namespace heddle
