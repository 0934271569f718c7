// Every diagnostic code of the sources occurs in a test that must fail with it, and in the catalogue
// docs/diagnostics.yaml.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "helpers/files.h"
#include "helpers/source_folder.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

// Codes that no test can provoke, and why.
const std::map<std::string, std::string>& exceptions() {
    static const std::map<std::string, std::string> list = {
        {"backends.internal", "LLVM refuses what we made: a mistake of ours, that no input is known to cause"},
        {"cli.broken", "an exception that no room has caught: a mistake of ours, that no input is known to cause"},
        {"symbolic.cycle", "loading a template finds every circle of its names first (language.let_cycle)"},
        {"symbolic.ipf_loose", "a note, not an error: nothing fails with it"},
    };
    return list;
}

template <typename Function>
void each_file(const fs::path& folder, const std::set<std::string>& extensions, Function function) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (extensions.contains(entry.path().extension().string())) function(entry.path());
    }
}

std::string without_comments(const std::string& text) {
    std::stringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        size_t first = line.find_first_not_of(' ');
        if (first == std::string::npos || line.compare(first, 2, "//") != 0) result += line + "\n";
    }
    return result;
}

// A literal that is a room's name, a point and a name in small letters is a code.
std::set<std::string> codes_of_sources() {
    fs::path source = in_source("src");
    std::set<std::string> rooms = {"onnx"}, codes;
    for (const auto& entry : fs::directory_iterator(source)) {
        if (entry.is_directory()) rooms.insert(entry.path().filename().string());
    }
    static const std::regex code("\"([a-z]+)(\\.[a-z][a-z0-9_]+)\"");
    each_file(source, {".cpp", ".h"}, [&](const fs::path& path) {
        std::string text = without_comments(file_text(path));
        for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match) {
            if (rooms.contains((*match)[1])) codes.insert((*match)[1].str() + (*match)[2].str());
        }
    });
    return codes;
}

std::set<std::string> codes_of_tests() {
    std::set<std::string> found;
    static const std::regex word("[a-z]+\\.[a-z][a-z0-9_]+");
    each_file(in_source("tests"), {".cpp", ".h", ".py", ".test", ".txt"}, [&](const fs::path& path) {
        if (path.filename() == fs::path(__FILE__).filename()) return;
        std::string text = without_comments(file_text(path));
        for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match)
            found.insert(match->str());
    });
    return found;
}

// The codes of the catalogue in its order. A line that is neither a comment nor an entry is a failure.
std::vector<std::string> codes_of_catalogue() {
    static const std::regex entry(
        R"re(([a-z]+\.[a-z][a-z0-9_]+): \{means: "((?:[^"\\]|\\.)+)", remedy: "((?:[^"\\]|\\.)+)"\})re");
    std::vector<std::string> codes;
    std::stringstream lines(file_text(in_source("docs/diagnostics.yaml")));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::smatch match;
        if (std::regex_match(line, match, entry)) {
            codes.push_back(match[1]);
        } else {
            ADD_FAILURE() << "docs/diagnostics.yaml: no entry: " << line;
        }
    }
    return codes;
}

TEST(Metakernels20, TheCatalogueOfDiagnosticsIsComplete) {
    std::vector<std::string> listed = codes_of_catalogue();
    EXPECT_TRUE(std::is_sorted(listed.begin(), listed.end()))
        << "docs/diagnostics.yaml is in the order of the alphabet";
    std::set<std::string> codes = codes_of_sources(), known(listed.begin(), listed.end());
    EXPECT_EQ(known.size(), listed.size()) << "a code stands twice in docs/diagnostics.yaml";
    for (const std::string& code : codes) {
        EXPECT_TRUE(known.contains(code)) << code << " is not in docs/diagnostics.yaml: add, in the alphabet's order,\n"
                                          << code << ": {means: \"what it means\", remedy: \"what usually helps\"}";
    }
    for (const std::string& code : known) {
        EXPECT_TRUE(codes.contains(code)) << code << " is no code of the sources any more: remove its line from "
                                          << "docs/diagnostics.yaml";
    }
}

TEST(Metakernels20, EachDiagnosticHasATestThatFailsWithIt) {
    std::set<std::string> codes = codes_of_sources(), tested = codes_of_tests();
    EXPECT_GT(codes.size(), 150u);
    for (const std::string& code : codes) {
        if (!exceptions().contains(code)) {
            EXPECT_TRUE(tested.contains(code)) << code << " occurs in no test";
        }
    }
    for (const auto& [code, why] : exceptions()) {
        EXPECT_TRUE(codes.contains(code)) << code << " is no code of the sources any more";
    }
}

}  // namespace
}  // namespace heddle
