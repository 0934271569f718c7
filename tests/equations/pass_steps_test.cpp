// What passes do to the steps of scans.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "equations/passes.h"
#include "equations/kept_steps.h"
#include "equations/scatter.h"

namespace heddle::equations {
namespace {

// The system after all passes.
System optimised(const std::string& text) {
    auto system = parse_system(std::make_shared<const SourceText>("scan.txt", text));
    EXPECT_TRUE(system) << render(system.error());
    if (!system) return {};
    const auto before = verify(*system);
    EXPECT_TRUE(before) << render(before.error());
    optimise(*system);
    const auto after = verify(*system);
    EXPECT_TRUE(after) << render(after.error());
    return std::move(*system);
}

int64_t places(const System& system, const std::string& name) {
    const auto kept = kept_steps(system);
    for (size_t t = 0; t < kept.size(); t++) {
        if (system.tensors[t].name == name) return kept[t].places;
    }
    return -1;
}

// What a step makes of the state `h`, as text.
std::string step(const System& system) {
    const std::string text = print(system), begin = " h[(t + 1)";
    const size_t at = text.find("= ", text.find(begin) + begin.size());
    return at == std::string::npos ? text : text.substr(at + 2, text.find('\n', at) - at - 2);
}

// Of a matrix of 61 x 61: so many steps share no sweeps.
std::string elimination(const std::string& right, const std::string& last = "h[61, i, j]") {
    return fmt::format(
        "system s\n in x: float32[61, 61]\n local h: float32[62, 61, 61]\n out y: float32[61, 61]\n"
        " for i < 61, j < 61: h[0, i, j] = x[i, j]\n"
        " for t < 61 named 1 ordered 0, i < 61, j < 61: h[t + 1, i, j] = {}\n"
        " for i < 61, j < 61: y[i, j] = {}\n outputs y",
        right, last);
}

TEST(PassSteps, PivotsAreSetAsideAndTheStateHasOnePlace) {
    const System system = optimised(elimination("min(h[t, i, j], h[t, i, t] + h[t, t, j])"));
    EXPECT_EQ(step(system), "min(h[t, i, j], (h_hoisted_2[t, i] + h_hoisted[t, j]))");
    EXPECT_EQ(places(system, "h"), 1);
}

TEST(PassSteps, NoPivotIsSetAsideWhereNeighboursAreRead) {
    const System system = optimised(elimination("(h[t, i, 60 - j] + h[t, t, j])"));
    EXPECT_EQ(step(system), "(h[t, i, (-j + 60)] + h[t, t, j])");
    EXPECT_EQ(places(system, "h"), 2);
}

TEST(PassSteps, ADivisorOfManyPointsIsInvertedOnce) {
    const System system = optimised(elimination("(h[t, i, j] / x[i, i])"));
    EXPECT_EQ(step(system), "(h[t, i, j] * h_hoisted[i])");
}

// The same, of which each step gives `column`.
std::string factorisation(const std::string& column, const std::string& right) {
    return fmt::format(
        "system s\n in x: float32[61, 61]\n local h: float32[62, 61, 61]\n local c: float32[61, 61]\n"
        " out y: float32[61, 61]\n for i < 61, j < 61: h[0, i, j] = x[i, j]\n"
        " for t < 61 named 1 ordered 0, i < 61: c[t, i] = {}\n"
        " for t < 61 named 1 ordered 0, i < 61, j < 61: h[t + 1, i, j] = {}\n"
        " for s < 61, i < 61: y[s, i] = c[s, i]\n outputs y",
        column, right);
}

TEST(PassSteps, WhatNoLaterStepAsksForIsKept) {
    const std::string update = "(h[t, i, j] - (c[t, i] * c[t, j]))";
    EXPECT_EQ(step(optimised(factorisation("h[t, t, i]", update))), "(((t - i) < 0) ? " + update + " : h[t, i, j])");
    EXPECT_EQ(step(optimised(factorisation("(t < i) ? h[t, t, i] : 0.0", update))),
              "(((i - j) < 0) ? (((t - i) < 0) ? " + update + " : h[t, i, j]) : h[t, i, j])");
}

TEST(PassSteps, WhatALaterStepMayAskForIsMade) {
    const std::string update = "(h[t, i, j] - (c[t, i] * c[t, j]))";
    EXPECT_EQ(step(optimised(factorisation("h[t, 60 - t, i]", update))), update);
    EXPECT_EQ(step(optimised(factorisation("h[t, t, i] + h[t, i, t]", update))), update);
    // What is read at this step may be one behind.
    EXPECT_EQ(step(optimised(factorisation("(0 < t) ? h[t, t - 1, i] : 0.0", update))),
              "(((t - i - 1) < 0) ? " + update + " : h[t, i, j])");
    EXPECT_EQ(step(optimised(elimination("(h[t, i, j] - h[t, t, j])"))), "(h[t, i, j] - h_hoisted[t, j])");
}

TEST(PassSteps, SmallIntegersInsideAreMadeInSmallTypes) {
    const System system = optimised(
        "system s\n in x: int32[64]\n local h: int32[65, 64]\n local f: int64[64, 64]\n local n: int64[65, 64]\n"
        " out y: int32[64]\n out z: int32[64]\n"
        " for i < 64: h[0, i] = x[i]\n for i < 64: n[0, i] = 0\n"
        " for t < 64 named 1 ordered 0, i < 64: f[t, i] = (h[t, i] >= int32(4)) ? 1 : 0\n"
        " for t < 64 named 1 ordered 0, i < 64: h[t + 1, i] = h[t, i] - int32(value.mul(4, f[t, 63 - i]))\n"
        " for t < 64 named 1 ordered 0, i < 64: n[t + 1, i] = value.add(n[t, i], f[t, i])\n"
        " for i < 64: y[i] = h[64, i]\n for i < 64: z[i] = int32(n[64, i])\n outputs y, z");
    for (const SystemTensor& tensor : system.tensors) {
        if (tensor.name == "f") {
            EXPECT_EQ(tensor.dtype, DType::int8);
        }
        if (tensor.name == "n") {
            EXPECT_EQ(tensor.dtype, DType::int32);
        }
    }
}

TEST(PassSteps, ARemainderOfLittleMoreThanTheDivisorIsADifference) {
    const auto made = [](const std::string& added) {
        return step(
            optimised("system s\n in x: uint8[64]\n local h: uint32[65]\n out y: uint32[]\n h[0] = uint32(1)\n"
                      " for t < 64 named 1 ordered 0: h[t + 1] = (h[t] + " +
                      added + ") % uint32(1000)\n y[] = h[64]\n outputs y"));
    };
    EXPECT_EQ(
        made("uint32(x[t])"),
        "(((h[t] + uint32(x[t])) < uint32(1000)) ? (h[t] + uint32(x[t])) : ((h[t] + uint32(x[t])) - uint32(1000)))");
    EXPECT_EQ(made("uint32(x[t]) * uint32(9)"), "((h[t] + (uint32(x[t]) * uint32(9))) % uint32(1000))");
}

TEST(PassSteps, CountsThatAStepComparesAreMadeInSmallTypes) {
    const System system = optimised(
        "system s\n in x: uint8[64, 64]\n local h: uint8[65, 64, 64]\n local c: int64[64, 64, 64]\n"
        " local n: int64[64, 64, 64]\n out y: uint8[64, 64]\n for i < 64, j < 64: h[0, i, j] = x[i, j]\n"
        " for t < 64 named 1 ordered 0, i < 64, j < 64:"
        " c[t, i, j] = sum(a < 3, b < 3 : (h[t, min(i + a, 63), min(j + b, 63)] == uint8(1)) ? 1 : 0)\n"
        " for t < 64 named 1 ordered 0, i < 64, j < 64: n[t, i, j] = c[t, i, j]\n"
        " for t < 64 named 1 ordered 0, i < 64, j < 64:"
        " h[t + 1, i, j] = (n[t, i, j] == 2) ? uint8(1) : (n[t, i, j] == 3) ? uint8(2) : h[t, i, j]\n"
        " for i < 64, j < 64: y[i, j] = h[64, i, j]\n outputs y");
    for (const int32_t index : system.order()) {
        for (Expr e : walk(system.equation(index).right)) {
            const bool adds = e->kind == Kind::scalar && e->op == ScalarOp::add;
            if (adds) { EXPECT_EQ(e->dtype, DType::int8) << print(system); }
        }
    }
}

// A table of 9 x 9, by anti-diagonals: cell (i, t - i) of step t.
std::string table(const std::string& states, const std::string& steps, const std::string& last) {
    return "system s\n in x: float32[8]\n in z: float32[8]\n local h: float32[18, 9]\n" + states +
           " out y: float32[]\n for i < 9: h[0, i] = 0.0\n" + steps + " y[] = " + last + "\n outputs y";
}

const std::string before = " local g: float32[18, 9]\n",
                  hands_on =
                      " for i < 9: g[0, i] = 1.0\n"
                      " for t < 17 named 1 ordered 0, i < 9: g[t + 1, i] = h[t, i]\n";

std::string diagonal(const std::string& right) {
    return " for t < 17 named 1 ordered 0, i < 9: h[t + 1, i] = " + right + "\n";
}

TEST(PassSteps, AStateThatHandsOnAnotherOneIsThatOneAStepEarlier) {
    const System system = optimised(table(before, hands_on + diagonal("g[t, 8 - i] + h[t, i]"), "h[17, 8]"));
    EXPECT_NE(print(system).find("h[(t + 2), i] = (h[t, (-i + 8)] + h[(t + 1), i])"), std::string::npos)
        << print(system);
    EXPECT_EQ(places(system, "h"), 3);
    EXPECT_EQ(places(system, "g"), 0);
}

// What is read four steps back, as it is lowered: a state for each step between.
TEST(PassSteps, CopiesOfCopiesAreTheStateSeveralStepsEarlier) {
    std::string tensors, copies, of = "h";
    for (const char* name : {"g1", "g2", "g3"}) {
        tensors += fmt::format(" local {}: float32[18, 9]\n", name);
        copies += fmt::format(
            " for i < 9: {0}[0, i] = 1.0\n for t < 17 named 1 ordered 0, i < 9: {0}[t + 1, i] = {1}[t, i]\n", name, of);
        of = name;
    }
    const System system = optimised(table(tensors, copies + diagonal("g3[t, 8 - i] + h[t, i]"), "h[17, 8]"));
    EXPECT_NE(print(system).find("h[(t + 4), i] = (h[t, (-i + 8)] + h[(t + 3), i])"), std::string::npos)
        << print(system);
    EXPECT_EQ(places(system, "h"), 5);
}

TEST(PassSteps, ACopyOfOtherElementsIsAStateOfItsOwn) {
    const std::string moved =
        " for i < 9: g[0, i] = 1.0\n"
        " for t < 17 named 1 ordered 0, i < 9: g[t + 1, i] = h[t, 8 - i]\n";
    EXPECT_EQ(places(optimised(table(before, moved + diagonal("g[t, i] + h[t, 8 - i]"), "h[17, 8]")), "g"), 2);
}

// Of a triangle that shrinks, and of a table, whose last cell is asked for.
TEST(PassSteps, WhatNoReadReachesIsLeftOpen) {
    const auto step_of = [](const std::string& right, const std::string& last) {
        return step(optimised(table("", diagonal(right), last)));
    };
    EXPECT_EQ(step_of("(i < 16 - t) ? h[t, i] + h[t, min(i + 1, 8)] : 0.0", "h[17, 0]"),
              "(((t + i - 17) < 0) ? (((t + i - 16) < 0) ? (h[t, i] + h[t, min((i + 1), 8)]) : 0.0) : h[(t + 1), i])");
    // All of the last step is asked for.
    EXPECT_EQ(step_of("(i < 16 - t) ? h[t, i] + h[t, min(i + 1, 8)] : 0.0", "max(i < 9 : h[17, i])"),
              "(((t + i - 16) < 0) ? (h[t, i] + h[t, min((i + 1), 8)]) : 0.0)");
    // Cells behind the last row of what they are compared with, by the guard's bound.
    EXPECT_EQ(step_of("(i < t) ? h[t, max(i - 1, 0)] + h[t, i] + (z[t - i - 1] ?? 0.0) : 1.0", "h[17, 8]"),
              "(((t - i - 9) < 0) ? (((-t + i - 1) < 0) ? (((-t + i) < 0) ? ((h[t, max((i - 1), 0)] + h[t, i]) + "
              "z[(t - i - 1)] ?? 0.0) : 1.0) : h[(t + 1), i]) : h[(t + 1), i])");
}

// A tensor of the steps that has no first value was nothing before: nothing is read of it.
TEST(PassSteps, WhatNothingWasBeforeDoesNotStay) {
    const System system = optimised(
        table(" local g: float32[17, 9, 9]\n",
              " for t < 17 named 1 ordered 0, i < 9, j < 9: g[t, i, j] = (i < t) ? exp(h[t, i]) : 0.0\n" +
                  diagonal("(i < t) ? h[t, max(i - 1, 0)] + g[t, i, min(max(t - i, 0), 8)] + (z[t - i - 1] ?? 0.0) : 1.0"),
              "h[17, 8]"));
    for (const Equation& equation : system.equations) {
        if (equation.dead || system.tensor(equation.tensor).name != "g") continue;
        for (Expr read : reads(equation)) EXPECT_NE(read->tensor(), equation.tensor) << print(system);
    }
}

TEST(PassSteps, ARunningMaximumIsLeftWhereItStays) {
    const std::string best = " local g: float32[18, 9]\n";
    const auto system_of = [&](const std::string& first, const std::string& outside) {
        const std::string run = " for i < 9: g[0, i] = " + first + "\n" +
                                diagonal("(i < t) ? h[t, max(i - 1, 0)] + x[2] : " + outside) +
                                " for t < 17 named 1 ordered 0, i < 9: g[t + 1, i] = max(g[t, i], h[t + 1, i])\n";
        return print(optimised(table(best, run, "max(i < 9 : g[17, i])")));
    };
    EXPECT_NE(system_of("0.0", "0.0").find("? max(g[t, i], h[(t + 1), i]) : g[t, i]"), std::string::npos);
    EXPECT_EQ(system_of("0.0", "0.5").find(": g[t, i]"), std::string::npos);
}

// Of 300 elements, 50 times.
System table(const std::string& right, const std::string& last = "h[50, p]") {
    return optimised(
        fmt::format("system s\n in x: float32[300]\n in a: int32[50]\n in b: int32[50]\n local h: float32[51, 300]\n"
                    " out y: float32[300]\n for p < 300: h[0, p] = x[p]\n"
                    " for t < 50 named 1 ordered 0, p < 300: h[t + 1, p] = {}\n for p < 300: y[p] = {}\n outputs y",
                    right, last));
}

TEST(PassSteps, WhatChangesFewElementsIsNamedAndTheStateHasOnePlace) {
    const std::string old = "h[t, int64(b[t])]";
    const System system = table("((int32(p) == a[t]) ? exp(" + old + ") : ((int32(p) == b[t]) ? (exp(" + old +
                                ") + h[t, p]) : h[t, p]))");
    EXPECT_EQ(step(system), "((int32(p) == a[t]) ? h_change[t] : ((int32(p) == b[t]) ? h_change_2[t] : h[t, p]))");
    EXPECT_EQ(places(system, "h"), 1);
    for (const Equation& equation : system.equations) {
        const auto changes = changes_of(system, equation);
        EXPECT_EQ(changes.size(), system.tensor(equation.tensor).name == "h" && equation.scan >= 0 ? 2U : 0U);
        EXPECT_TRUE(are_apart(changes, equation.tensor));
    }
    // The one that both need is worked out once.
    const std::string text = print(system);
    EXPECT_EQ(text.find("exp("), text.rfind("exp("));
}

TEST(PassSteps, AStateThatChangesElsewhereKeepsItsForm) {
    const auto changes = [](const System& system) {
        size_t count = 0;
        for (const Equation& equation : system.equations) count += changes_of(system, equation).size();
        return count;
    };
    EXPECT_EQ(changes(table("((int32(p) != a[t]) ? h[t, p] : 1.0)")), 1U);
    EXPECT_EQ(changes(table("((int32(p) == a[t]) ? 1.0 : (h[t, p] * 0.5))")), 0U);
    EXPECT_EQ(changes(table("((int32(p) == a[t]) ? 1.0 : h[t, 299 - p])")), 0U);
    EXPECT_EQ(changes(table("((int32(p) < a[t]) ? 1.0 : h[t, p])")), 0U);
    EXPECT_EQ(changes(table("((int32(p) == int32(h[t, int64(a[t])])) ? 1.0 : h[t, p])")), 0U);
}

// Where the step alone says which row is another one, four rows are enough; data say so of 64 elements.
TEST(PassSteps, AStateWhoseStepsChangeARowHasOnePlace) {
    const auto rows = [](const std::string& place, int count) {
        const System system = optimised(fmt::format(
            "system s\n in x: float32[50, 40]\n in a: int32[50]\n local h: float32[51, {0}, 40]\n out y: float32[{0}, "
            "40]\n"
            " for p < {0}, i < 40: h[0, p, i] = 0.0\n"
            " for t < 50 named 1 ordered 0, p < {0}, i < 40: h[t + 1, p, i] = ({1}) ? x[t, i] : h[t, p, i]\n"
            " for p < {0}, i < 40: y[p, i] = h[50, p, i]\n outputs y",
            count, place));
        size_t found = 0;
        for (const Equation& equation : system.equations) found += changes_of(system, equation).size();
        EXPECT_EQ(places(system, "h"), 1);
        return found;
    };
    EXPECT_EQ(rows("p == t // 8", 7), 1U);
    EXPECT_EQ(rows("p == min(t % 8, 7 - t % 8)", 4), 1U);
    EXPECT_EQ(rows("p == t // 32", 2), 0U);
    EXPECT_EQ(rows("p == i + t", 90), 0U);
    EXPECT_EQ(rows("int32(p) == a[t]", 7), 0U);
}

// Waves of 12 rows, of which a reader asks at a step for each of its elements. The places of the state; 0: all steps.
int64_t places_of_waves(const std::string& last, const std::string& outputs = "y") {
    const System system = optimised(fmt::format(
        "system s\n in x: float32[12, 30]\n local h: float32[41, 12, 30]\n out y: float32[20, 10]\n"
        " for i < 12, j < 30: h[0, i, j] = x[i, j]\n"
        " for t < 40 named 1 ordered 0, i < 12, j < 30: h[t + 1, i, j] = h[t, 11 - i, j] * 0.5 + x[i, 29 - j]\n"
        " for a < 20, b < 10: y[a, b] = {}\n outputs {}",
        last, outputs));
    return places(system, "h");
}

TEST(PassSteps, OfWavesOnlyTheSliceThatIsReadIsKept) {
    EXPECT_EQ(places_of_waves("h[(a + 2 * b + 1), 11, (a + 3)]"), 2);
    EXPECT_EQ(places_of_waves("(h[(a + 2 * b + 1), 11, (a + 3)] - h[(40 - a - b), 9, b])"), 2);
    EXPECT_EQ(places_of_waves("h[(a + 2 * b + 1), 0, (a + b)] + h[39, b, a]"), 2);
    EXPECT_EQ(places_of_waves("max(s < 40 : h[(s + 1), 3, (a + b)])"), 2);
    EXPECT_EQ(places_of_waves("(h[(a + 2 * b + 1), 11, (a + 12)] ?? 0.0)"), 2);
}

TEST(PassSteps, AllStepsWhereMoreOfThemIsRead) {
    EXPECT_EQ(places_of_waves("h[(a + 2 * b + 1), b, a]"), 0);
    EXPECT_EQ(places_of_waves("h[(a + 2 * b), 11, (a + 3)]"), 0);  // also what stands before the first step
    EXPECT_EQ(places_of_waves("h[(a + 2 * b + 1), 11, (a + 3)] + h[1, b, a]"), 0);
    EXPECT_EQ(places_of_waves("h[(a + 2 * b + 1), 11, (a + 3)]", "y, h"), 0);
}

}  // namespace
}  // namespace heddle::equations
