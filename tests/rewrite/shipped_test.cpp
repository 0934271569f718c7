// The rules that come with the library: types, values, and what they make of programs (metakernels, point 13).
#include "rewrite_session.h"

namespace heddle::rewrite {
namespace {

TEST(Metakernels13, ShippedRulesKeepTypesAndValues) {
    Library library = library_with();
    auto sources = library.rewrites();
    ASSERT_GE(sources.size(), 9U);
    for (const RewriteRule* source : sources) {
        auto rule = compile_rule(*source, library);
        ASSERT_TRUE(rule) << source->name << "\n" << render(rule.error());
        auto types = check_types(*rule, library);
        ASSERT_TRUE(types) << source->name << "\n" << render(types.error());
        EXPECT_GE(types->instances, 8) << source->name;
        auto verdict = verify_rule(*rule, library, {.trials = 40, .seed = 3, .progress = {}});
        ASSERT_TRUE(verdict) << source->name << "\n" << render(verdict.error());
        EXPECT_FALSE(verdict->counterexample)
            << source->name << "\n"
            << verdict->counterexample->before << verdict->counterexample->after << verdict->counterexample->element;
        EXPECT_GE(verdict->trials, 20) << source->name;
        EXPECT_GE(verdict->elements, 100) << source->name;
        std::cout << source->name << ": " << types->instances << (types->symbolic ? " symbolic" : " numbers") << ", "
                  << verdict->trials << " trials, " << verdict->elements << " elements\n";
    }
}

}  // namespace
}  // namespace heddle::rewrite
