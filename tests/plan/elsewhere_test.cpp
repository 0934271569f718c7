// Operators that a program for one host does not compute: those without a body, and those of values on placements.
#include <gtest/gtest.h>

#include "helpers/codes.h"
#include "helpers/library.h"
#include "plan/plan.h"
#include "symbolic/session.h"

namespace heddle::plan {
namespace {

Graph applied(const Library& library, const std::string& name, DType dtype) {
    Session session(library);
    const TensorId x = session.add_input("x", {dtype, {4}});
    auto made = session.apply(**library.find(name), {Argument(x)}, {});
    if (!made) ADD_FAILURE() << render(made.error());
    return session.finish(made ? std::vector<TensorId>(*made) : std::vector<TensorId>{});
}

TEST(Elsewhere, WithoutABodyIsNamedWithItsKernels) {
    const Library library = library_of(
        "own:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
        "rows:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
        "  kernels: [\"(Host, (HostTensor) -> HostTensor => [runtime] => Self::fast)\"]\n");
    for (const auto& [name, word] : {std::pair("own", "neither"), std::pair("rows", "fast")}) {
        const auto plan = make_plan(applied(library, name, DType::float32), Target());
        ASSERT_FALSE(plan) << name;
        EXPECT_EQ(plan.error()[0].code, "plan.opaque");
        EXPECT_NE(plan.error()[0].summary.find(name), std::string::npos);
        EXPECT_NE(plan.error()[0].found.find(word), std::string::npos) << plan.error()[0].found;
        EXPECT_FALSE(plan.error()[0].remedy.empty());
    }
}

TEST(Elsewhere, ValuesOnPlacementsAreNotComputedInTheClear) {
    const Library library = library_with();
    for (const char* name : {"share", "reveal"}) {
        const auto fine = check_placements(applied(library, name, DType::uint64));
        ASSERT_FALSE(fine) << name;
        EXPECT_EQ(fine.error()[0].code, "plan.placement");
        EXPECT_NE(fine.error()[0].summary.find(name), std::string::npos);
        EXPECT_FALSE(fine.error()[0].remedy.empty());
    }
    EXPECT_TRUE(check_placements(applied(library, "exp", DType::float32)));
}

}  // namespace
}  // namespace heddle::plan
