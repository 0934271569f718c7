// Every wrong template of tests/text/language fails with what it says, where it says; and every diagnostic has a case.
#include <regex>
#include <set>

#include "helpers/files.h"
#include "helpers/source_folder.h"
#include "language/template.h"
#include "text_test.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

const fs::path root = in_source();

TEST(LanguageDiagnostics, TextCases) {
    auto cases = read_text_cases(root / "tests/text/language");
    ASSERT_GT(cases.size(), 100U);
    for (const TextCase& test : cases) {
        auto loaded = load_template_file(std::make_shared<const SourceText>("t.yaml", test.part("template")));
        expect_diagnostics(test, test.part("expect"), loaded ? Diagnostics{} : loaded.error());
    }
}

// Codes that the room's sources write, against those that its tests expect.
TEST(LanguageDiagnostics, EveryCodeHasACase) {
    std::set<std::string> codes;
    std::regex code_pattern("\"(language\\.[a-z_]+)\"");
    for (const auto& entry : fs::directory_iterator(root / "src/language")) {
        std::string text = file_text(entry.path());
        for (std::sregex_iterator at(text.begin(), text.end(), code_pattern), end; at != end; ++at)
            codes.insert((*at)[1]);
    }
    std::string expected =
        file_text(root / "tests/language/library_test.cpp") + file_text(root / "tests/language/yaml_test.cpp");
    for (const TextCase& test : read_text_cases(root / "tests/text/language")) expected += test.part("expect");
    EXPECT_GT(codes.size(), 40U);
    for (const std::string& code : codes) {
        EXPECT_TRUE(std::regex_search(expected, std::regex(code + "\\b"))) << "no test expects " << code;
    }
}

}  // namespace
}  // namespace heddle
