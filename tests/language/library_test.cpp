// Look-up of operators, versions of ONNX operators, compositions; the operator library and the acceptance templates
// load.
#include "helpers/codes.h"
#include "helpers/files.h"
#include "helpers/source_folder.h"
#include "language/library.h"
#include "language/unused.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

namespace heddle {
namespace {

namespace fs = std::filesystem;

const fs::path root = in_source();

std::shared_ptr<const SourceText> source(const std::string& text) {
    return std::make_shared<const SourceText>("user.yaml", text);
}

// An operator of one input and one output with the section `last`.
std::string unary(const std::string& name, const std::string& last) {
    return name + ":\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  " + last + "\n";
}

// A folder of files that is removed again.
class Folder {
public:
    Folder() {
        auto pattern = (fs::temp_directory_path() / "heddle_library_XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() { fs::remove_all(path_); }
    void write(const std::string& name, const std::string& text) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

TEST(OperatorLibrary, AllFilesLoadAndAllCompositionsHold) {
    auto library = open_library(root / "operators");
    ASSERT_TRUE(library.has_value()) << render(library.error());
    auto checked = library->check_all();
    EXPECT_TRUE(checked.has_value()) << render(checked.error());
    EXPECT_GT(library->names().size(), 60U);
}

TEST(OperatorLibrary, AcceptanceTemplatesLoad) {
    for (auto [name, count] : {std::pair<const char*, size_t>{"templates.yaml", 76}, {"short.yaml", 5}}) {
        auto path = root / "tests/language/acceptance" / name;
        auto loaded = load_template_file(std::make_shared<const SourceText>(path.string(), file_text(path)));
        ASSERT_TRUE(loaded.has_value()) << render(loaded.error());
        EXPECT_EQ(loaded->templates.size(), count);
    }
}

TEST(OperatorLibrary, FindsMembersOfFamilies) {
    auto library = open_library(root / "operators");
    ASSERT_TRUE(library.has_value());
    auto relu = library->find("relu");
    ASSERT_TRUE(relu.has_value()) << render(relu.error());
    EXPECT_EQ(print(*(*relu)->body.front()), "y = max(0, x)");
    EXPECT_EQ(*library->find("relu"), *relu);
}

TEST(OperatorLibrary, UnknownOperatorNamesTheNearest) {
    auto library = open_library(root / "operators");
    ASSERT_TRUE(library.has_value());
    auto found = library->find("sofmax");
    ASSERT_EQ(code_of(found), "language.unknown_operator");
    EXPECT_EQ(found.error().front().remedy, "did you mean softmax?");
}

TEST(OperatorLibrary, UserFilesOverrideLastFirst) {
    Library library;
    ASSERT_TRUE(library.add_folder(root / "operators").has_value());
    ASSERT_TRUE(library.add_source(source(unary("relu", "body: \"y = x + 1\""))).has_value());
    EXPECT_EQ(print(*(*library.find("relu"))->body.front()), "y = x + 1");
    ASSERT_TRUE(library.add_source(source(unary("relu", "body: \"y = x + 2\""))).has_value());
    EXPECT_EQ(print(*(*library.find("relu"))->body.front()), "y = x + 2");
    EXPECT_TRUE(library.find("exp").has_value());
}

TEST(OperatorLibrary, ABrokenUserFileIsReported) {
    Library library;
    EXPECT_EQ(code_of(library.add_source(source(unary("t", "body: \"y = z\"")))), "language.unknown_name");
    EXPECT_EQ(code_of(library.add_library("/nowhere/at/all.yaml")), "language.file");
    EXPECT_EQ(code_of(library.add_folder("/nowhere/at/all")), "language.file");
}

TEST(OperatorLibrary, FilesAreOpenedWhenNamed) {
    Folder folder;
    folder.write("good.yaml", unary("good", "body: \"y = x\""));
    folder.write("broken.yaml", unary("broken", "body: \"y = (\""));
    Library library;
    ASSERT_TRUE(library.add_folder(folder.path()).has_value());
    EXPECT_TRUE(library.find("good").has_value());
    EXPECT_EQ(code_of(library.find("broken")), "language.syntax");
    EXPECT_EQ(library.names(), std::vector<std::string>{"good"});
    EXPECT_EQ(code_of(library.check_all()), "language.syntax");
}

TEST(OperatorLibrary, TwoFilesWithOneNameAreReported) {
    Folder folder;
    folder.write("a.yaml", unary("t", "body: \"y = x\""));
    folder.write("b.yaml", unary("t", "body: \"y = x\""));
    Library library;
    ASSERT_TRUE(library.add_folder(folder.path()).has_value());
    EXPECT_EQ(code_of(library.check_all()), "language.duplicate_operator");
}

TEST(OperatorLibrary, GreatestSinceNotAboveTheOpset) {
    Folder folder;
    folder.write("onnx/ops.yaml", unary("Exp_1", "body: \"y = exp(x)\"\n  onnx: {name: Exp}") +
                                      unary("Exp_13", "body: \"y = exp(x)\"\n  onnx: {name: Exp, since: 13}") +
                                      unary("New", "body: \"y = x\"\n  onnx: {domain: ai.onnx, name: New, since: 20}") +
                                      unary("Own", "body: \"y = x\"\n  onnx: {domain: my.domain, name: Exp}"));
    auto library = open_library(folder.path());
    ASSERT_TRUE(library.has_value());
    EXPECT_EQ((*library->find_onnx("", "Exp", 12))->name, "Exp_1");
    EXPECT_EQ((*library->find_onnx("ai.onnx", "Exp", 13))->name, "Exp_13");
    EXPECT_EQ((*library->find_onnx("", "Exp", 21))->name, "Exp_13");
    EXPECT_EQ((*library->find_onnx("my.domain", "Exp", 1))->name, "Own");
    EXPECT_EQ(code_of(library->find_onnx("", "New", 19)), "language.onnx_version");
    auto unknown = library->find_onnx("", "Expp", 13);
    EXPECT_EQ(code_of(unknown), "language.unknown_onnx_operator");
    EXPECT_NE(unknown.error().front().remedy.find("did you mean Exp?"), std::string::npos);
    EXPECT_EQ(library->onnx_names(), (std::vector<std::string>{"Exp", "New", "my.domain::Exp"}));
    // The core namespace does not see them.
    EXPECT_EQ(code_of(library->find("Exp_1")), "language.unknown_operator");
}

TEST(OperatorLibrary, OnnxFamiliesNameTheirMembers) {
    Folder folder;
    folder.write("onnx/ops.yaml",
                 "unary:\n  family: {Exp: {f: \"exp(x)\"}, Log: {f: \"log(x)\", onnx: {name: Ln, since: 3}}}\n" +
                     unary("", "").substr(2) + "  body: \"y = $f\"\n  onnx: {since: 6}\n");
    auto library = open_library(folder.path());
    ASSERT_TRUE(library.has_value());
    auto exp = library->find_onnx("", "Exp", 6);
    ASSERT_TRUE(exp.has_value()) << render(exp.error());
    EXPECT_EQ((*exp)->onnx->since, 6);
    auto log = library->find_onnx("", "Ln", 3);
    ASSERT_TRUE(log.has_value()) << render(log.error());
    EXPECT_EQ((*log)->name, "Log");
}

TEST(OperatorLibrary, CompositionsLookInTheCoreFirstThenInTheirOwnFolder) {
    Folder folder;
    folder.write("core.yaml", unary("twice", "body: \"y = x + x\""));
    folder.write("onnx/ops.yaml", unary("twice", "graph: \"y = twice(x)\"\n  onnx: {name: Twice}") +
                                      unary("helper", "body: \"y = x\"") +
                                      unary("Help", "graph: \"y = helper(x)\"\n  onnx: {name: Help}"));
    auto library = open_library(folder.path());
    ASSERT_TRUE(library.has_value());
    auto twice = library->find_onnx("", "Twice", 1);
    ASSERT_TRUE(twice.has_value()) << render(twice.error());
    EXPECT_EQ((*library->find_from(**twice, "twice"))->space, Namespace::core);
    auto help = library->find_onnx("", "Help", 1);
    ASSERT_TRUE(help.has_value()) << render(help.error());
    EXPECT_EQ((*library->find_from(**help, "helper"))->space, Namespace::onnx);
    EXPECT_EQ(code_of(library->find("helper")), "language.unknown_operator");
    EXPECT_TRUE(library->check_all().has_value());
}

TEST(OperatorLibrary, CompositionsAreCheckedWhenHandedOut) {
    Folder folder;
    folder.write("a.yaml", unary("unknown", "graph: \"y = softmx(x)\"") + unary("softmax", "body: \"y = x\"") +
                               unary("named", "graph: \"y = softmax(x, axs: 1)\"") +
                               unary("many", "graph: \"y = softmax(x, x)\"") +
                               unary("left", "graph: \"y = right(x)\""));
    folder.write("b.yaml", unary("right", "graph: \"y = left(x)\""));
    Library library;
    ASSERT_TRUE(library.add_folder(folder.path()).has_value());
    auto unknown = library.find("unknown");
    EXPECT_EQ(code_of(unknown), "language.unknown_operator");
    EXPECT_EQ(unknown.error().front().remedy, "did you mean softmax?");
    EXPECT_EQ(code_of(library.find("named")), "language.unknown_parameter");
    EXPECT_EQ(code_of(library.find("many")), "language.operator_arguments");
    EXPECT_EQ(code_of(library.find("left")), "language.composition_cycle");
}

TEST(OperatorLibrary, Imports) {
    Folder folder;
    folder.write("shared.yaml", "let: \"twice(a) = a + a\"\n" + unary("shared", "body: \"y = x\""));
    folder.write("main.yaml", "import: [shared.yaml]\n" + unary("t", "body: \"y = twice(x)\""));
    folder.write("loop.yaml", "import: [loop2.yaml]\n");
    folder.write("loop2.yaml", "import: [loop.yaml]\n");
    folder.write("outside.yaml", "import: [../shared.yaml]\n");
    folder.write("missing.yaml", "import: [nothing.yaml]\n");
    Library library;
    auto added = library.add_library(folder.path() / "main.yaml");
    ASSERT_TRUE(added.has_value()) << render(added.error());
    EXPECT_TRUE(library.find("t").has_value());
    EXPECT_TRUE(library.find("shared").has_value());
    EXPECT_EQ(code_of(library.add_library(folder.path() / "loop.yaml")), "language.import");
    EXPECT_EQ(code_of(library.add_library(folder.path() / "outside.yaml")), "language.import");
    EXPECT_EQ(code_of(library.add_library(folder.path() / "missing.yaml")), "language.file");
}

TEST(OperatorLibrary, RewriteRulesOfUserFiles) {
    Library library;
    auto added = library.add_source(source(
        "rewrites:\n  r:\n    match: \"f(X)\"\n    replace: \"g([h(X)[i] for i < $c])\"\n    params: {c: int}\n"));
    ASSERT_TRUE(added.has_value()) << render(added.error());
    ASSERT_EQ(library.rewrites().size(), 1U);
    EXPECT_EQ(print(*library.rewrites()[0]->replace), "g([h(X)[i] for i < $c])");
}

// ---- namespaces (metakernels, point 14)

std::string body_of(const Result<const Template*>& found) {
    return found ? print(*(*found)->body.front()) : found.error().front().code;
}

TEST(Metakernels14, TwoLibrariesWithOneNameAreToldApart) {
    Folder folder;
    folder.write("core/ops.yaml", unary("act", "body: \"y = x\"") + unary("plain", "body: \"y = x + 9\"") +
                                      unary("shipped", "graph: \"y = act(x)\""));
    folder.write("red.yaml", unary("act", "body: \"y = x + 1\"") + unary("twice", "graph: \"y = act(act(x))\""));
    folder.write("blue/one.yaml", unary("act", "body: \"y = x + 2\""));
    folder.write("blue/two.yaml", unary("mixed", "graph: \"y = red::act(act(core::act(x)))\""));
    Library library;
    ASSERT_TRUE(library.add_folder(folder.path() / "core").has_value());
    ASSERT_TRUE(library.add_library(folder.path() / "red.yaml").has_value());
    EXPECT_EQ(body_of(library.find("act")), "y = x + 1");
    auto added = library.add_library(folder.path() / "blue");
    ASSERT_TRUE(added.has_value()) << render(added.error());
    EXPECT_EQ(body_of(library.find("red::act")), "y = x + 1");
    EXPECT_EQ(body_of(library.find("blue::act")), "y = x + 2");
    EXPECT_EQ(body_of(library.find("core::act")), "y = x");
    EXPECT_EQ(body_of(library.find("plain")), "y = x + 9");
    auto bare = library.find("act");
    ASSERT_EQ(code_of(bare), "language.ambiguous_operator");
    EXPECT_EQ(bare.error().front().remedy, "write red::act or blue::act");
    EXPECT_EQ(bare.error().front().contexts.size(), 2U);
    // A composition means its own library's operator first, a shipped one the shipped.
    auto shipped = library.find("shipped");
    ASSERT_TRUE(shipped.has_value()) << render(shipped.error());
    EXPECT_EQ(body_of(library.find_from(**shipped, "act")), "y = x");
    auto twice = library.find("twice"), mixed = library.find("mixed");
    ASSERT_TRUE(twice.has_value()) << render(twice.error());
    ASSERT_TRUE(mixed.has_value()) << render(mixed.error());
    EXPECT_EQ(body_of(library.find_from(**twice, "act")), "y = x + 1");
    EXPECT_EQ(body_of(library.find_from(**mixed, "act")), "y = x + 2");
    EXPECT_EQ(body_of(library.find_from(**mixed, "red::act")), "y = x + 1");
    EXPECT_TRUE(library.check_all().has_value());
}

TEST(Metakernels14, ShippedCompositionsMeanShippedOperators) {
    Folder folder;
    folder.write("core/ops.yaml", unary("act", "body: \"y = x\"") + unary("twice", "graph: \"y = act(act(x))\""));
    folder.write("red.yaml", unary("act", "body: \"y = x + 1\""));
    folder.write("blue.yaml", unary("act", "body: \"y = x + 2\""));
    Library library;
    ASSERT_TRUE(library.add_folder(folder.path() / "core").has_value());
    for (const char* name : {"red.yaml", "blue.yaml"}) {
        ASSERT_TRUE(library.add_library(folder.path() / name).has_value());
        auto twice = library.find("twice");
        ASSERT_TRUE(twice.has_value()) << render(twice.error());
        EXPECT_EQ(body_of(library.find_from(**twice, "act")), "y = x");
        EXPECT_TRUE(library.check_all().has_value());
    }
}

TEST(Metakernels14, NamespacesHaveNames) {
    Folder folder;
    folder.write("a/ops.yaml", unary("f", "body: \"y = x\""));
    folder.write("b/ops.yaml", unary("f", "body: \"y = x + x\""));
    folder.write("my-ops.2.yaml", unary("g", "body: \"y = x\""));
    folder.write("core.yaml", unary("h", "body: \"y = x\""));
    Library library;
    ASSERT_TRUE(library.add_library(folder.path() / "a/ops.yaml").has_value());
    EXPECT_TRUE(library.add_library(folder.path() / "a/ops.yaml").has_value()) << "the same again";
    EXPECT_EQ(code_of(library.add_library(folder.path() / "b/ops.yaml")), "language.library_name");
    ASSERT_TRUE(library.add_library(folder.path() / "b/ops.yaml", "other").has_value());
    EXPECT_EQ(body_of(library.find("ops::f")), "y = x");
    EXPECT_EQ(body_of(library.find("other::f")), "y = x + x");
    ASSERT_TRUE(library.add_library(folder.path() / "my-ops.2.yaml").has_value());
    EXPECT_TRUE(library.find("my_ops_2::g").has_value());
    EXPECT_EQ(code_of(library.add_library(folder.path() / "core.yaml")), "language.library_name");
    EXPECT_EQ(code_of(library.add_library(folder.path() / "core.yaml", "a b")), "language.library_name");
    EXPECT_EQ(code_of(library.find("nowhere::f")), "language.unknown_library");
    EXPECT_EQ(code_of(library.find("ops::nothing")), "language.unknown_operator");
}

TEST(Metakernels14, AFolderIsOneLibrary) {
    Folder folder;
    folder.write("ops/shared.yaml", "let: \"twice(a) = a + a\"\n" + unary("base", "body: \"y = twice(x)\""));
    folder.write("ops/more.yaml", "import: [shared.yaml]\n" + unary("more", "graph: \"y = base(base(x))\"") +
                                      "family_of:\n  family: {up: {f: \"x + 1\"}, down: {f: \"x - 1\"}}\n" +
                                      unary("", "body: \"y = $f\"").substr(2));
    folder.write("double/one.yaml", unary("same", "body: \"y = x\""));
    folder.write("double/two.yaml", unary("same", "body: \"y = x\""));
    folder.write("broken/one.yaml", unary("bad", "body: \"y = z\""));
    Library library;
    auto added = library.add_library(folder.path() / "ops/");
    ASSERT_TRUE(added.has_value()) << render(added.error());
    for (const char* name : {"base", "ops::base", "ops::more", "ops::up", "down"})
        EXPECT_TRUE(library.find(name).has_value()) << name;
    EXPECT_EQ(code_of(library.add_library(folder.path() / "double")), "language.duplicate_operator");
    EXPECT_EQ(code_of(library.add_library(folder.path() / "broken")), "language.unknown_name");
    EXPECT_EQ(code_of(library.add_library(folder.path() / "nothing")), "language.file");
}

// The names of what is said to be unused, with language.unused.
std::string unused_in(const std::string& sections) {
    Library library;
    const auto added = library.add_source(source("t:\n" + sections));
    EXPECT_TRUE(added) << (added ? "" : render(added.error()));
    std::string names;
    for (const Diagnostic& remark : unused_names(**library.find("t"))) {
        EXPECT_EQ(remark.code, "language.unused");
        const size_t quote = remark.summary.find('`') + 1;
        names += (names.empty() ? "" : " ") + remark.summary.substr(quote, remark.summary.find('`', quote) - quote);
    }
    return names;
}

TEST(OperatorLibrary, WhatATemplateDoesNotUseIsRemarkedOn) {
    const std::string head = "  inputs: {x: \"$T[$n]\", b: \"$T[$m]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n";
    EXPECT_EQ(unused_in("  params: {k: \"int = 1\"}\n  let: \"$z = 3\"\n" + head + "  body: |\n    let q = x\n    y = x\n"), "k b z q");
    EXPECT_EQ(unused_in("  params: {k: \"int = 1\"}\n  let: \"$z = $k\"\n" + head + "  body: |\n    let q = b[0] * $z\n    y = q\n"), "");
    // For its shape or dtype alone.
    EXPECT_EQ(unused_in("  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = 0\"\n"), "");
    EXPECT_EQ(unused_in("  inputs: {x: \"$T[$n]\", b: \"$T[$n]?\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
                        "  body: \"y = has(b) ? x : 0\"\n"), "");
}

}  // namespace
}  // namespace heddle
