#include "support/diagnostic.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/dtype.h"

namespace heddle {
namespace {

Diagnostic sample() {
    auto source = std::make_shared<const SourceText>("file.yaml", "first: 1\n\tb\xC3\xA4r: [x, yy]\nlast");
    Diagnostic diagnostic;
    diagnostic.code = "test.sample";
    diagnostic.summary = "the name is not known";
    diagnostic.place = {source, source->text().find("yy"), 2};
    diagnostic.expected = "x";
    diagnostic.found = "yy";
    diagnostic.remedy = "write x";
    diagnostic.params = {{"operator", "matmul"}};
    diagnostic.contexts = {{"it was bound here", {source, 0, 5}}};
    return diagnostic;
}

TEST(Diagnostic, RendersForPeople) {
    EXPECT_EQ(render(sample()),
              "file.yaml:2:11: error[test.sample]: the name is not known\n"
              "    \tb\xC3\xA4r: [x, yy]\n"
              "    \t         ^^\n"
              "  expected: x\n"
              "     found: yy\n"
              "    remedy: write x\n"
              "  file.yaml:1:1: note: it was bound here\n"
              "    first: 1\n"
              "    ^^^^^\n");
}

TEST(Diagnostic, RendersWithoutAPlace) {
    Diagnostic diagnostic;
    diagnostic.code = "a.b";
    diagnostic.summary = "no";
    EXPECT_EQ(render(Diagnostics{diagnostic, diagnostic}), "error[a.b]: no\nerror[a.b]: no\n");
}

TEST(Diagnostic, ShowsALongLineAroundItsPlace) {
    std::string text;
    for (int i = 0; i < 100'000; i++) text += "\xC3\xA4";
    for (size_t at : {size_t{0}, text.size() / 2, text.size() / 2 + 1, text.size() - 2, text.size()}) {
        Diagnostic diagnostic{.code = "a.b", .summary = "no", .place = {}};
        diagnostic.place = {std::make_shared<const SourceText>("t", text), at, text.size()};
        const std::string shown = render(diagnostic);
        EXPECT_LT(shown.size(), 1'000u);
        EXPECT_EQ(shown.find("    ...") != std::string::npos, at > 100);
        EXPECT_EQ(shown.find("...\n") != std::string::npos, at < text.size() - 200);
        EXPECT_NO_THROW(nlohmann::json(shown).dump()) << "no letter is cut in two";
    }
    Diagnostic diagnostic{.code = "a.b", .summary = "no", .place = {}};
    diagnostic.place = {std::make_shared<const SourceText>("t", std::string(150, 'x') + "y" + std::string(150, 'z')),
                        150, 1};
    EXPECT_EQ(render(diagnostic), "t:1:151: error[a.b]: no\n    ..." + std::string(100, 'x') + "y" +
                                      std::string(139, 'z') + "...\n" + std::string(107, ' ') + "^\n");
}

TEST(Diagnostic, RendersAsJson) {
    auto json = nlohmann::json::parse(render_json({sample()}));
    ASSERT_EQ(json.size(), 1u);
    EXPECT_EQ(json[0]["type"], "test.sample");
    EXPECT_EQ(json[0]["line"], 2);
    EXPECT_EQ(json[0]["column"], 11);
    EXPECT_EQ(json[0]["params"]["operator"], "matmul");
    EXPECT_EQ(json[0]["params"]["expected"], "x");
    EXPECT_EQ(json[0]["contexts"][0]["line"], 1);
    Diagnostic broken = sample();
    broken.summary = "\xFF";  // not UTF-8: replaced, never thrown
    EXPECT_NO_THROW(nlohmann::json::parse(render_json({broken})));
}

TEST(SourceText, LocatesEverywhere) {
    SourceText text("t", "a\r\nb\n\n");
    EXPECT_EQ(text.line_at(0), "a");
    EXPECT_EQ(text.line_at(3), "b");
    EXPECT_EQ(text.locate(5).line, 3);
    EXPECT_EQ(text.line_at(5), "");
    EXPECT_EQ(text.locate(1000).line, 4);
    EXPECT_EQ(text.line_at(1000), "");
    EXPECT_EQ(SourceText("t", "").line_at(0), "");
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
    std::vector<std::string> names = {"matmul", "softmax", "relu", "transpose"};
    EXPECT_EQ(nearest_name("matmull", names), "matmul");
    EXPECT_EQ(nearest_name("sofmtax", names), "softmax");
    EXPECT_EQ(nearest_name("transpsoe", names), "transpose");
    EXPECT_EQ(nearest_name("convolution", names), "");
    EXPECT_EQ(nearest_name("x", {}), "");
    EXPECT_EQ(nearest_name("ab", {"ad", "ac"}), "ad");  // the first of equals
}

TEST(DType, TableIsConsistent) {
    for (const DTypeInfo& row : all_dtypes()) {
        EXPECT_EQ(&info(row.dtype), &row);
        EXPECT_EQ(dtype_named(row.name), row.dtype);
    }
    EXPECT_FALSE(dtype_named("float"));
}

}  // namespace
}  // namespace heddle
