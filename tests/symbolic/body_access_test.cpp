// Reads that a guard makes whole, and arrays given to functions: of tensors, local arrays and states alike.
#include "body_session.h"

namespace heddle::body_test {
namespace {

// y for x = 0, 1 .. 5, or the code of the error.
std::string values_of(const std::string& body, const std::string& functions = {}) {
    Library library =
        library_of((functions.empty() ? "" : "let: |\n" + functions) +
                   "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: |\n" + body);
    auto outcome = apply(library, "t", {{true, false, {counting(DType::float32, {6})}}}, {});
    if (!outcome) return outcome.error()[0].code;
    std::string text;
    for (int64_t i = 0; i < 6; ++i)
        text += (i ? " " : "") + std::to_string(static_cast<int64_t>(outcome->outputs[0].real_at(i)));
    return text;
}

TEST(BodyAccess, GuardsOfLocalArrays) {
    EXPECT_EQ(values_of("    let g[j < $n] = x[j] * 2\n    y = g[@n - 1] ?? 7\n"), "7 0 2 4 6 8");
    EXPECT_EQ(values_of("    let g[j < 2, k < 3] = x[3 * j + k]\n    y = g[@n - 4, @n - 3] ?? -1\n"),
              "-1 -1 -1 -1 1 5");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j]\n    y = g[7] ?? 9\n"), "9 9 9 9 9 9");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j]\n    y = g[@n - 1]\n"), "symbolic.footprint");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j]\n    y = g[@n, 0] ?? 0\n"), "symbolic.rank");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j]\n    y = g[@n - 1] ?? (x > 0)\n"), "symbolic.dtype");
}

// Both parts of `x - x % 4` come from one x.
TEST(BodyAccess, WhereGroupsBegin) {
    EXPECT_EQ(values_of("    y = x[@n - @n % 2]\n"), "0 0 2 2 4 4");
    EXPECT_EQ(values_of("    y = x[@n - @n % 4 + 1]\n"), "1 1 1 1 5 5");
    EXPECT_EQ(values_of("    y = x[@n // 2 * 2 + @n % 2]\n"), "0 1 2 3 4 5");
    EXPECT_EQ(values_of("    y = x[2 * (@n // 2) + 1 - @n % 2]\n"), "1 0 3 2 5 4");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j - j % 3 + 2]\n    y = g[@n] - g[@n - @n % 3]\n"), "0 0 0 0 0 0");
    EXPECT_EQ(values_of("    y = x[@n - @n % 4 + 2]\n"), "symbolic.footprint");
    EXPECT_EQ(values_of("    y = x[@n - @n % 2 - 1]\n"), "symbolic.footprint");
}

TEST(BodyAccess, GuardsOfStates) {
    const std::string shifted =
        "    scan t < 3:\n      s[t, j < $n] = (s[t - 1, j - 1] ?? 9) + (t == 0 ? x[j] : 0) from 0\n";
    EXPECT_EQ(values_of(shifted + "    y = s[2, @n]\n"), "9 9 9 1 2 3");
    // Behind the scan a step may lie outside too; -1 is the initial value.
    EXPECT_EQ(values_of(shifted + "    y = (s[3, @n] ?? 5) + (s[-1, @n] ?? 1)\n"), "5 5 5 5 5 5");
    EXPECT_EQ(values_of(shifted + "    y = s[3, @n]\n"), "symbolic.footprint");
}

TEST(BodyAccess, FunctionsMayGiveTheirParametersCoordinates) {
    const std::string functions =
        "  at(v, i) = v[i]\n"
        "  beside(v, i) = at(v, i) + (v[i - 1] ?? 0)\n"
        "  doubled(v) = v + v\n";
    EXPECT_EQ(values_of("    y = at(x, $n - 1 - @n)\n", functions), "5 4 3 2 1 0");
    EXPECT_EQ(values_of("    y = beside(x, @n)\n", functions), "0 1 3 5 7 9");
    EXPECT_EQ(values_of("    y = doubled(x)\n", functions), "0 2 4 6 8 10");
    EXPECT_EQ(values_of("    let g[j < $n] = x[j] * 2\n    y = beside(g, @n)\n", functions), "0 2 6 10 14 18");
    EXPECT_EQ(values_of("    y = at([5, 4, 3, 2, 1, 0], @n)\n", functions), "5 4 3 2 1 0");
    EXPECT_EQ(values_of("    y = at(x + 1, 0)\n", functions), "symbolic.rank");
}

TEST(BodyAccess, PowersAreThoseOfC) {
    EXPECT_EQ(values_of("    y = pow(x, 2.0) + pow(2, 3)\n"), "8 9 12 17 24 33");
    EXPECT_EQ(values_of("    y = pow(x, @n)\n"), "1 1 4 27 256 3125");
}

}  // namespace
}  // namespace heddle::body_test
