// What must be refused, by code, and what must not.
#include "body_session.h"

namespace heddle::body_test {
namespace {

// A template over x: float32[6] and whatever `more` adds.
std::string over_x(const std::string& body, const std::string& more = "") {
    return "t:\n  inputs: {x: \"$T[$n]\"" + more + "}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: |\n    " +
           body + "\n";
}

std::string code_of(const std::string& text, std::vector<Given> more = {},
                    std::map<std::string, StaticValue> parameters = {}) {
    Library library;
    auto added = library.add_source(std::make_shared<const SourceText>("test.yaml", text));
    if (!added) return added.error()[0].code;
    std::vector<Given> inputs = {{true, false, {counting(DType::float32, {6})}}};
    inputs.insert(inputs.end(), more.begin(), more.end());
    auto outcome = apply(library, "t", inputs, parameters);
    if (!outcome) {
        EXPECT_FALSE(outcome.error()[0].summary.empty());
        return outcome.error()[0].code;
    }
    return "";
}

Given integers() { return {true, false, {counting(DType::int32, {6})}}; }

TEST(BodyErrors, ReadsOutsideTheTensor) {
    EXPECT_EQ(code_of(over_x("y = x[@n + 1]")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("y = x[7]")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("y = @n > 1 ? x[@n - 2] : @n > 0 ? x[@n - 2] : 0")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("y = sum(k < 7 : x[k])")), "symbolic.footprint");
    // Both sides are 3 - @n, each over its own part.
    EXPECT_EQ(code_of(over_x("y = x[@n < 2 ? max(3 - @n, -1) : 3 - @n]")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("let g[j < 3] = x[j]\n    y = g[@n]")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("y = @n > 0 ? x[@n - 1] : 0")), "");
    EXPECT_EQ(code_of(over_x("y = x[@n + 1] ?? 0")), "");
    EXPECT_EQ(code_of(over_x("y = sum(k < 9 if k < $n : x[k])")), "");
    EXPECT_EQ(code_of(over_x("y = sum(k < $n if k <= @n : x[@n - k])")), "");
    EXPECT_EQ(code_of(over_x("y = sum(k < $n if k <= @n + 1 : x[@n - k])")), "symbolic.footprint");
}

// A reduction over nothing says nothing of the points around it.
TEST(BodyErrors, ReadsOutsideTheTensorBesideAnEmptyReduction) {
    const std::string condition = "(@n < 2 ? x[@n] > sum(k < 0 : x[k]) : false) ? ";
    EXPECT_EQ(code_of(over_x("y = " + condition + "x[@n + 9] : 0")), "symbolic.footprint");
    EXPECT_EQ(code_of(over_x("y = " + condition + "x[@n + 4] : 0")), "");
}

// Conditions of two variables bound their sum; there are far too many points to try them all.
TEST(BodyErrors, GuardsOverSeveralVariablesHoldAtAnySize) {
    auto code = [](const std::string& body) {
        auto library = library_of(
            "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: |\n"
            "    y = " +
            body + "\n");
        Session session(library);
        TensorId x = session.add_input("x", {DType::float32, {int64_t{1} << 40}});
        auto applied = session.apply(**library.find("t"), {x}, {});
        return applied ? "" : applied.error()[0].code;
    };
    EXPECT_EQ(code("max(a < 3 if @n + a - 1 >= 0 && @n + a - 1 < $n : x[@n + a - 1])"), "");
    EXPECT_EQ(code("max(a < 3 if 0 <= @n + a - 1 && !(@n + a > $n) : x[@n + a - 1])"), "");
    EXPECT_EQ(code("max(a < 3 if @n + a - 1 >= 0 && @n + a - 1 <= $n : x[@n + a - 1])"), "symbolic.footprint");
    EXPECT_EQ(code("sum(k < $n if k <= @n : x[@n - k])"), "");
    EXPECT_EQ(code("sum(k < $n if k <= @n + 1 : x[@n - k])"), "symbolic.footprint");
    EXPECT_EQ(code("sum(k < $n, j < 5 if 2 * @n + 6 * k < $n : x[@n + 3 * k + j])"), "");
    EXPECT_EQ(code("sum(k < $n, j < 5 if @n + 3 * k < $n - 4 : x[@n + 3 * k + j])"), "");
    EXPECT_EQ(code("sum(k < $n, j < 5 if @n + 3 * k < $n - 3 : x[@n + 3 * k + j])"), "symbolic.footprint");
    EXPECT_EQ(code("@n > 0 ? sum(k < $n if @n + k == $n : x[@n + k - 1]) : 0"), "");
}

TEST(BodyErrors, FootprintNamesPointCoordinateAndBox) {
    Library library = library_of(over_x("y = x[2 * @n - 1]"));
    auto outcome = apply(library, "t", {{true, false, {counting(DType::float32, {6})}}}, {});
    ASSERT_FALSE(outcome);
    std::string text = render(outcome.error());
    EXPECT_NE(text.find("@n = 5"), std::string::npos) << text;
    EXPECT_NE(text.find("coordinate 0 is 9"), std::string::npos) << text;
    EXPECT_NE(text.find("0 .. 5"), std::string::npos) << text;
    EXPECT_NE(text.find("??"), std::string::npos) << text;
    EXPECT_TRUE(outcome.error()[0].place.source != nullptr);
}

TEST(BodyErrors, CoverRule) {
    std::string half =
        "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[m = $n // 2]\"\n  outputs: {y: \"$T[$n]\"}\n  body: |\n    ";
    EXPECT_EQ(code_of(half + "y[2 * @m] = x[@m]\n"), "symbolic.cover");
    EXPECT_EQ(code_of(half + "y[@m] = x[@m]\n"), "symbolic.cover");  // a gap
    EXPECT_EQ(code_of(half + "y[@m] = x[@m]; y[@m + 3] = x[@m + 3]\n"), "");
    EXPECT_EQ(code_of(half + "y[@m] = x[@m]; y[@m + 2] = x[@m]\n"), "symbolic.cover");  // an overlap
    EXPECT_EQ(code_of(half + "y[@m] = x[@m]; y[@m + 4] = x[@m]\n"), "symbolic.cover");  // outside
    EXPECT_EQ(code_of(half + "y[-@m + 2] = x[@m]; y[@m + 3] = 0\n"), "");
    EXPECT_EQ(code_of(half + "for c < 2:\n      y[2 * @m + c] = x[c]\n"), "");
    EXPECT_EQ(code_of(half + "y[@m % 2] = x[@m]\n"), "symbolic.cover");
    std::string twice =
        "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n, m = 3]\"\n  outputs: {y: \"$T[$n]\"}\n  body: \"y[@n] = "
        "x[@n]\"\n";
    EXPECT_EQ(code_of(twice), "symbolic.cover");
}

// The loader finds these in a file; a template that a program made reaches symbolic execution with them.
TEST(BodyErrors, NamesThatTheLoaderWouldHaveRefused) {
    Library library = library_of(over_x("y = sum(k < $n : x[k])"));
    auto code_with = [&](const auto& change) {
        Template changed = **library.find("t");
        change(changed);
        Session session(library);
        TensorId x = session.add_input("x", {DType::float32, {6}});
        auto made = session.apply(changed, {Argument(x)});
        return made ? std::string() : made.error()[0].code;
    };
    EXPECT_EQ(code_with([](Template&) {}), "");
    EXPECT_EQ(code_with([](Template& t) { t.inputs[0].name = "z"; }), "symbolic.unknown_name");
    EXPECT_EQ(code_with([](Template& t) { t.inputs[0].name = "k"; }), "symbolic.shadow");
    EXPECT_EQ(code_with([](Template& t) {
                  t.inputs[0].name = "z";
                  t.outputs.push_back(t.outputs[0]);
                  t.outputs[1].name = "x";
              }),
              "symbolic.output_read");
}

TEST(BodyErrors, ElementTypes) {
    std::string with_i = ", i: \"int32[$n]\"";
    EXPECT_EQ(code_of(over_x("y = x * i", with_i), {integers()}), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = x * float32(i * 0.5)", with_i), {integers()}), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = float32(exp(i))", with_i), {integers()}), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = float32(i / i)", with_i), {integers()}), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = x * (x > 0)")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = sum(k < $n : x[k] > 0)")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = any(k < $n : x[k]) ? 1 : 0")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = mean(k < $n : k)")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = i", with_i), {integers()}), "symbolic.stored_dtype");
    EXPECT_EQ(code_of(over_x("y = x > 0")), "symbolic.stored_dtype");
    EXPECT_EQ(code_of(over_x("y = float32(i) + x", with_i), {integers()}), "");
    EXPECT_EQ(code_of(over_x("y = x + @n * 2 + argmax(k < $n : x[k])")), "");
}

TEST(BodyErrors, NamesScopesAndShapes) {
    EXPECT_EQ(code_of(over_x("y = x[@n, 0]")), "symbolic.rank");
    EXPECT_EQ(code_of(over_x("y[@n, 0] = x")), "symbolic.rank");
    EXPECT_EQ(code_of(over_x("y = x[x]")), "symbolic.coordinate");
    EXPECT_EQ(code_of(over_x("let a = x\n    y = a[@n] ?? 0")), "symbolic.guard");
    EXPECT_EQ(code_of(over_x("y = sum(k < 'six' : x[k])")), "symbolic.static_extent");
    EXPECT_EQ(code_of(over_x("y = sum(k < $n - 9 : x[k])")), "symbolic.extent");
    EXPECT_EQ(code_of(over_x("y = x[argmax(k < 0 : x[k])]")), "symbolic.extent");
    EXPECT_EQ(code_of(over_x("y = @ > 1 ? x : 0")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("y = x + b", ", b: \"$T[$n]?\""), {{false, false, {}}}), "symbolic.not_given");
    EXPECT_EQ(code_of(over_x("y = [1, 2.5, 7][@n % 3]")), "");
    EXPECT_EQ(code_of(over_x("y = @n < 3 ? [1, 2.5, 7][@n] : 0")), "");
    for (const char* list : {"[1, 2.5, 7]", "[1, 2, 3]"}) {  // a chain of selections, a progression
        EXPECT_EQ(code_of(over_x(std::string("y = ") + list + "[@n - 8000]")), "symbolic.footprint") << list;
        EXPECT_EQ(code_of(over_x(std::string("y = ") + list + "[x]")), "symbolic.coordinate") << list;
    }
    EXPECT_EQ(code_of(over_x("y = x * [][@n]")), "symbolic.table");
    std::string other =
        "t:\n  inputs: {x: \"$T[$m]\"}\n  index: \"[a = 2, b = 3]\"\n  outputs: {y: \"$T[$m]\"}\n  body: ";
    EXPECT_EQ(code_of(other + "\"y[3 * @a + @b] = x\"\n"), "symbolic.no_element");
    EXPECT_EQ(code_of(other + "\"y = 0\"\n"), "symbolic.no_element");
}

TEST(BodyErrors, AStaticConditionLeavesTheOtherBranchUntyped) {
    EXPECT_EQ(code_of(over_x("y = $n > 3 ? x : x[17] + (x > 0)")), "");
    EXPECT_EQ(code_of(over_x("y = has(b) ? b : x", ", b: \"$T[$n]?\""), {{false, false, {}}}), "");
}

TEST(BodyErrors, IndependentErrorsComeTogetherAndUsersOfAFailedNameAreSilent) {
    Library library = library_of(over_x("let a = x * (x > 0)\n    let b = a + 1\n    let c = x[@n, 0]\n    y = b + c"));
    auto outcome = apply(library, "t", {{true, false, {counting(DType::float32, {6})}}}, {});
    ASSERT_FALSE(outcome);
    ASSERT_EQ(outcome.error().size(), 2u) << render(outcome.error());
    EXPECT_EQ(outcome.error()[0].code, "symbolic.dtype");
    EXPECT_EQ(outcome.error()[1].code, "symbolic.rank");
}

TEST(BodyErrors, DeclaredProjections) {
    auto declared = [](const std::string& ipf, const std::string& body) {
        return "t:\n  inputs: {x: {shape: \"[$n]\", dtype: \"$T\", ipf: \"" + ipf +
               "\"}}\n  index: \"[m = $n - 2]\"\n  outputs: {y: \"$T[$n - 2]\"}\n  body: \"" + body + "\"\n";
    };
    std::string window = "y[@m] = sum(k < 3 : x[@m + k])";
    EXPECT_EQ(code_of(declared("[@m :> 3]", window)), "");
    EXPECT_EQ(code_of(declared("D[1] :> [3]", window)), "");
    EXPECT_EQ(code_of(declared("[*]", window)), "");
    EXPECT_EQ(code_of(declared("[@m - 1 :> 5]", window)), "");  // loose
    EXPECT_EQ(code_of(declared("[@m :> 2]", window)), "symbolic.ipf");
    EXPECT_EQ(code_of(declared("[@m + 1 :> 3]", window)), "symbolic.ipf");
    EXPECT_EQ(code_of(declared("[2 * @m :> 3]", window)), "symbolic.ipf");
    EXPECT_EQ(code_of(declared("[@m, @m]", window)), "symbolic.ipf");
}

TEST(BodyErrors, AnOrderIsTheValueOfALocalArray) {
    EXPECT_EQ(code_of(over_x("let at[r < $n] = order(i < $n : x[i])\n    y = x[at[@n]] ?? 0")), "");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n if x[i] > 0 : [x[i] > 1, i % 2])\n    y = x[at[1]] ?? 0")),
              "");
    EXPECT_EQ(code_of(over_x("for c < 2:\n      let at[r < 3] = order(i < $n : x[i] * c)\n    y = x")), "");
    EXPECT_EQ(code_of(over_x("y = order(i < $n : x[i])")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n if x[i] : x[i])\n    y = x")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("let at = order(i < $n : x[i])\n    y = x")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n : x[i]) + 1\n    y = x")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3, q < 2] = order(i < $n : x[i])\n    y = x")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n, j < $n : x[i])\n    y = x")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n : [])\n    y = x")), "symbolic.type");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < $n : complex(x[i], x[i]))\n    y = x")), "symbolic.complex");
    EXPECT_EQ(code_of(over_x("let at[r < 3] = order(i < 1000000000 : i)\n    y = x")), "symbolic.limit");
    EXPECT_EQ(
        code_of(over_x("scan t < 4:\n      let at[r < 3] = order(i < $n : x[i])\n      s[t] = s[t - 1] + at[0] from 0\n"
                       "    y = x")),
        "symbolic.type");
}

TEST(BodyErrors, FirstPlacesAreOfConditions) {
    EXPECT_EQ(code_of(over_x("y = x[first(k < $n : x[k] > 1)] ?? 0")), "");
    EXPECT_EQ(code_of(over_x("y = x[first(k < $n : x[k])] ?? 0")), "symbolic.dtype");
    EXPECT_EQ(code_of(over_x("y = first(x > 1)")), "language.function_arguments");
}

TEST(BodyErrors, LimitsHold) {
    // Nested functions that double at each level end with a diagnostic, not with memory.
    std::string text = "let: |\n";
    text += "  f0(v) = v + v * 3\n";
    for (int i = 1; i < 30; ++i)
        text += "  f" + std::to_string(i) + "(v) = f" + std::to_string(i - 1) + "(v) + f" + std::to_string(i - 1) +
                "(v * 2)\n";
    EXPECT_EQ(code_of(text + over_x("y = f29(x)")), "symbolic.limit");
    std::string chain = over_x("let a0 = x + 1");
    for (int i = 1; i < 4000; ++i) chain += "    let a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " * x\n";
    EXPECT_EQ(code_of(chain + "    y = a3999\n"), "symbolic.limit");
}

}  // namespace
}  // namespace heddle::body_test
