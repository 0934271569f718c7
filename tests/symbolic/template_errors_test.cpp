// Mistakes of templates that only show when an operator is applied.
#include "session_test_support.h"

namespace heddle {
namespace {

using session_test::shape_text;
using session_test::type;

// The codes of applying `t` to one tensor of shape [4].
std::string outcome(const std::string& text) {
    Library library = library_of(text);
    auto found = library.find("t");
    if (!found) {
        std::string codes = "loading:";
        for (const Diagnostic& diagnostic : found.error()) codes += " " + diagnostic.code;
        return codes;
    }
    Session session(library);
    TensorId x = session.add_input("x", type({4}));
    return shape_text(session, session.apply(**found, {x}));
}

TEST(TemplateErrors, a_name_that_only_a_missing_input_binds) {
    EXPECT_EQ(outcome("t:\n"
                      "  inputs: {x: \"$dtype[$n]\", b: \"$dtype[$m]?\"}\n"
                      "  index: \"[$n, $m]\"\n"
                      "  outputs: {y: \"$dtype\"}\n"
                      "  body: \"y = x[@n]\"\n"),
              "symbolic.unbound_name");
}

TEST(TemplateErrors, an_output_without_a_dtype) {
    EXPECT_EQ(outcome("t:\n"
                      "  inputs: {x: \"$dtype[$n]\"}\n"
                      "  index: \"[$n]\"\n"
                      "  outputs: {y: {shape: \"[$n]\"}}\n"
                      "  body: \"y = x\"\n"),
              "symbolic.output_type");
}

TEST(TemplateErrors, a_variadic_output_without_each) {
    EXPECT_EQ(outcome("t:\n"
                      "  inputs: {x: \"$dtype[$n]\"}\n"
                      "  index: \"[$n]\"\n"
                      "  outputs: {y: {dtype: \"$dtype\", variadic: true}}\n"
                      "  body: \"y = x\"\n"),
              "symbolic.variadic_output");
}

}  // namespace
}  // namespace heddle
