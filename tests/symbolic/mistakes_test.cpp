// Every typical mistake of a template's author in tests/text/mistakes is found at its place, with a remedy. A case with
// a part `call` is applied, to inputs of the types under `inputs`; the others fail when they are loaded.
#include <sstream>

#include "helpers/source_folder.h"
#include "language/library.h"
#include "support/dtype.h"
#include "symbolic/program.h"
#include "text_test.h"

namespace heddle {
namespace {

// "x=float32[5, 3]", one a line.
std::vector<ProgramInput> program_inputs(const std::string& text) {
    std::vector<ProgramInput> inputs;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        size_t equal = line.find('='), open = line.find('[');
        if (equal == std::string::npos || open == std::string::npos) continue;
        auto dtype = dtype_named(line.substr(equal + 1, open - equal - 1));
        EXPECT_TRUE(dtype) << line;
        TensorType type{dtype.value_or(DType::float32), {}};
        std::istringstream extents(line.substr(open + 1, line.find(']') - open - 1));
        for (std::string extent; std::getline(extents, extent, ',');) type.shape.emplace_back(std::stoll(extent));
        inputs.push_back({line.substr(0, equal), type});
    }
    return inputs;
}

Diagnostics outcome(const TextCase& test) {
    Library library;
    auto shipped = library.add_folder(in_source("operators"));
    EXPECT_TRUE(shipped) << (shipped ? "" : render(shipped.error()));
    auto added = library.add_source(std::make_shared<const SourceText>("t.yaml", test.part("template")));
    if (!added) return added.error();
    if (!test.parts.contains("call")) return {};
    auto program = std::make_shared<const SourceText>("call", test.part("call"));
    auto graph = build_program(program, library, program_inputs(test.part("inputs")));
    return graph ? Diagnostics{} : graph.error();
}

TEST(Mistakes, are_found_at_their_place_with_a_remedy) {
    auto cases = read_text_cases(in_source("tests/text/mistakes"));
    ASSERT_GE(cases.size(), 50U);
    for (const TextCase& test : cases) {
        Diagnostics found = outcome(test);
        EXPECT_FALSE(found.empty()) << test.title << " is accepted";
        EXPECT_NE(test.part("expect").find("| "), std::string::npos) << test.title << ": the case expects no remedy";
        expect_diagnostics(test, test.part("expect"), found);
        for (const Diagnostic& diagnostic : found) {
            EXPECT_FALSE(diagnostic.remedy.empty()) << test.title << "\n" << render(diagnostic);
            EXPECT_NE(diagnostic.place.source, nullptr) << test.title;
        }
    }
}

}  // namespace
}  // namespace heddle
