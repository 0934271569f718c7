// Forms of the language that are made of others when an operator is applied: lets in functions, equations that
// interleave, dimensions that expressions bind, bits of integers.
#include <cmath>

#include "body_session.h"

namespace heddle::body_test {
namespace {

std::vector<double> values(const Result<Outcome>& outcome) {
    std::vector<double> list;
    if (!outcome) {
        ADD_FAILURE() << render(outcome.error());
        return list;
    }
    for (int64_t i = 0; i < outcome->outputs[0].size(); ++i) list.push_back(outcome->outputs[0].real_at(i));
    return list;
}

Result<Outcome> applied(const std::string& text, const TensorData& x) {
    Library library;
    auto added = library.add_source(std::make_shared<const SourceText>("test.yaml", text));
    if (!added) return fail(added.error());
    return apply(library, "t", {{true, false, {x}}}, {});
}

TensorData integers(DType dtype, const std::vector<int64_t>& elements) {
    TensorData data(dtype, {static_cast<int64_t>(elements.size())});
    for (size_t i = 0; i < elements.size(); ++i) data.set_integer(static_cast<int64_t>(i), elements[i]);
    return data;
}

// ---- functions

std::string of_function(const std::string& functions, const std::string& value) {
    return "let: |\n" + functions +
           "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = " + value + "\"\n";
}

TEST(BodyForms, FunctionsHaveLetsAndTakeTensors) {
    const TensorData x = counting(DType::float32, {4});
    EXPECT_EQ(values(applied(of_function("  part(v, n, j) =\n"
                                         "    let total = sum(k < n : v[k])\n"
                                         "    let twice[i < n] = 2 * v[i]\n"
                                         "    twice[j] + total +\n"
                                         "      1\n"
                                         "  other(a) = a * 10\n",
                                         "other(part(x, $n, @n))"),
                             x)),
              (std::vector<double>{70, 90, 110, 130}));
    // On one line; a let that stands for another; the same function twice; in statics.
    EXPECT_EQ(
        values(applied(
            of_function("  f(a) = let b = a + 1; let c = b * b; c\n  g(a) = f(a) + f(2 * a)\n", "g(x) + f($n)"), x)),
        (std::vector<double>{27, 38, 59, 90}));
}

TEST(BodyForms, MistakesInFunctionsAreNamed) {
    auto code = [](const std::string& function) {
        auto outcome = applied(of_function(function, "f(x)"), counting(DType::float32, {4}));
        return outcome ? std::string() : outcome.error()[0].code;
    };
    EXPECT_EQ(code("  f(a) =\n    let b = a\n"), "language.syntax");
    EXPECT_EQ(code("  f(a) =\n    let b = c\n    b\n"), "language.unknown_name");
    EXPECT_EQ(code("  f(a) =\n    let a = 1\n    a\n"), "language.shadowing");
    EXPECT_EQ(code("  f(a) =\n    let b = f(a)\n    b\n"), "language.let_cycle");
    EXPECT_EQ(code("  f(a) =\n    let b[i < 2] = a\n    b\n"), "symbolic.type");
    EXPECT_EQ(code("  f(a) =\n"), "language.syntax");
    EXPECT_EQ(code("  f(a) = let b = a\n  g(a) = a\n"), "language.syntax");
}

// ---- interleaved equations

std::string interleaved(const std::string& equations, const std::string& shape = "2 * $n") {
    return "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T[" + shape + "]\"}\n  body: |\n" +
           equations;
}

TEST(BodyForms, InterleavedEquationsAreOne) {
    const TensorData x = counting(DType::float32, {3});
    EXPECT_EQ(values(applied(interleaved("    y[2 * @n + 1] = -x\n    y[2 * @n] = x + 5\n"), x)),
              (std::vector<double>{5, -0.0, 6, -1, 7, -2}));
    // Behind a beginning, in a block, in two dimensions.
    EXPECT_EQ(values(applied("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[3 * $n + 1, 2]\"}\n"
                             "  body: |\n"
                             "    for i < $n:\n"
                             "      y[3 * i + 1, c] = x[i]\n"
                             "      y[3 * i + 2, c] = 10 * x[i]\n"
                             "      y[3 * i + 3, c] = 100 * x[i]\n"
                             "    y[0, c] = 7\n",
                             counting(DType::float32, {2}))),
              (std::vector<double>{7, 7, 0, 0, 0, 0, 0, 0, 1, 1, 10, 10, 100, 100}));
    EXPECT_EQ(values(applied(
                  "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T[2 * $n, 4]\"}\n  body: |\n"
                  "    for j < 2:\n"
                  "      y[2 * @n, 2 * j] = x\n"
                  "      y[2 * @n + 1, 2 * j] = 10 * x\n"
                  "      y[2 * @n, 2 * j + 1] = 100 * x\n"
                  "      y[2 * @n + 1, 2 * j + 1] = 1000 * x\n",
                  counting(DType::float32, {2}))),
              (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 1, 100, 1, 100, 10, 1000, 10, 1000}));
}

// An output of fewer dimensions has no coordinate to compare with.
TEST(BodyForms, InterleavedEquationsBesideAnOutputOfLowerRank) {
    const std::string text =
        "t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n"
        "  outputs: {y: \"$T[2, 2 * $n]\", z: \"$T[$n]\"}\n  body: |\n"
        "    for c < 2, i < $n:\n"
        "      y[c, 2 * i] = x[i]\n"
        "      y[c, 2 * i + 1] = 10 * x[i]\n"
        "    z[i] = x[i]\n";
    EXPECT_EQ(values(applied(text, counting(DType::float32, {2}))), (std::vector<double>{0, 0, 1, 10, 0, 0, 1, 10}));
}

TEST(BodyForms, PhasesThatAreMissingOrTwiceThereAreRefused) {
    auto code = [](const std::string& equations, const std::string& shape = "2 * $n") {
        auto outcome = applied(interleaved(equations, shape), counting(DType::float32, {3}));
        return outcome ? std::string() : outcome.error()[0].code;
    };
    EXPECT_EQ(code("    y[2 * @n] = x\n"), "symbolic.cover");
    EXPECT_EQ(code("    y[2 * @n] = x\n    y[2 * @n] = x\n"), "symbolic.cover");
    EXPECT_EQ(code("    y[2 * @n] = x\n    y[2 * @n + 3] = x\n"), "symbolic.cover");
    EXPECT_EQ(code("    y[3 * @n] = x\n    y[3 * @n + 1] = x\n", "3 * $n"), "symbolic.cover");
    EXPECT_EQ(code("    y[2 * @n] = x\n    y[3 * @n + 1] = x\n"), "symbolic.cover");
    EXPECT_EQ(code("    y[2 * @n + 1] = x\n    y[2 * @n + 2] = x\n"), "symbolic.cover");  // outside
}

// ---- ranges that data decide

Result<Outcome> ragged(const std::string& right, const TensorData& limits) {
    Library library;
    auto added = library.add_source(std::make_shared<const SourceText>(
        "test.yaml",
        "t:\n  inputs: {x: \"$T[$n, $m]\", l: \"$L[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n"
        "  body: \"y = " +
            right + "\"\n"));
    if (!added) return fail(added.error());
    return apply(library, "t", {{true, false, {counting(DType::float32, {4, 3})}}, {true, false, {limits}}}, {});
}

TEST(BodyForms, RangesArePartsOfTheirExtent) {
    using List = std::vector<double>;
    const TensorData limits = integers(DType::int32, {2, 0, 7, -1});
    EXPECT_EQ(values(ragged("sum(k < $m to l[@n] : x[@n, k])", limits)), (List{1, 0, 21, 0}));
    EXPECT_EQ(values(ragged("sum(k < $m from l[@n] : x[@n, k])", limits)), (List{2, 12, 0, 30}));
    EXPECT_EQ(values(ragged("sum(k < $m from l[@n] - 1 to l[@n] + 1 if k > 0 : x[@n, k])", limits)),
              (List{3, 0, 0, 0}));
    EXPECT_EQ(values(ragged("max(k < $m to @n : x[@n, k])", integers(DType::int64, {0, 0, 0, 0})))[2], 7);
    EXPECT_EQ(values(ragged("sum(j < 2, k < $m from j to j + 1 : x[@n, k])", limits)), (List{1, 7, 13, 19}));
    // What the range leaves out is not read: the guard proves it.
    EXPECT_EQ(values(ragged("sum(k < 10 to 3 : x[@n, k])", limits)), (List{3, 12, 21, 30}));
}

TEST(BodyForms, MistakesInRangesAreNamed) {
    auto code = [](const std::string& right) {
        auto outcome = ragged(right, integers(DType::int32, {2, 0, 7, -1}));
        return outcome ? std::string() : outcome.error()[0].code;
    };
    EXPECT_EQ(code("sum(k < $m to x[@n, 0] : x[@n, k])"), "symbolic.coordinate");
    EXPECT_EQ(code("sum(k < $m to w : x[@n, k])"), "language.unknown_name");
    EXPECT_EQ(code("sum(k < l[@n] : x[@n, k])"), "language.extent_not_static");
    EXPECT_EQ(code("sum(k < [2, 2] to 1 : x[@n, k[0]])"), "symbolic.type");
    EXPECT_EQ(code("mean(k < $m to l[@n] : x[@n, k])"), "");  // of those that are kept
    EXPECT_EQ(code("max(k < $m to 3, 4)"), "language.syntax");
    EXPECT_EQ(code("sum(k < 10 to 4 : x[@n, k])"), "symbolic.footprint");
    EXPECT_EQ(code("sum(k < $m to : x[@n, k])"), "language.syntax");
}

// ---- reductions by own functions

std::string joined(const std::string& functions, const std::string& right, const std::string& index = "$n") {
    return "let: |\n" + functions + "t:\n  inputs: {x: \"$T[$n, $m]\"}\n  index: \"[" + index +
           "]\"\n  outputs: {y: \"$T\"}\n  body: \"y = " + right + "\"\n";
}

TEST(BodyForms, FunctionsJoinTerms) {
    const TensorData x = counting(DType::float32, {2, 3});
    const std::string logadd =
        "  logadd(a, b) =\n    let top = max(a, b)\n    top + log1p(exp(min(a, b) - top)) from -inf\n";
    const auto found = values(applied(joined(logadd, "logadd(k < $m : x[@n, k])"), x));
    ASSERT_EQ(found.size(), 2U);
    for (size_t row = 0; row < 2; ++row) {
        double expected = 0;
        for (size_t k = 0; k < 3; ++k) expected += std::exp(static_cast<double>(3 * row + k));
        EXPECT_NEAR(found[row], std::log(expected), 1e-6);
    }
    const std::string times = "  times(a, b) = a * b from 1\n";
    EXPECT_EQ(values(applied(joined(times, "times(k < $m : x[@n, k] + 1) + times(k < 2 : 3)"), x)),
              (std::vector<double>{15, 129}));
    // A filter, a part of the range, no terms, and a term that depends on no point.
    EXPECT_EQ(values(applied(joined(times, "times(k < $m if k != 1 : x[@n, k] + 1)"), x)),
              (std::vector<double>{3, 24}));
    EXPECT_EQ(values(applied(joined(times, "times(k < $m from 1 to @n + 2 : x[@n, k] + 1)"), x)),
              (std::vector<double>{2, 30}));
    EXPECT_EQ(values(applied(joined(times, "times(k < 0 : x[@n, k])"), x)), (std::vector<double>{1, 1}));
    // Of a pair: the largest number, and where it is.
    EXPECT_EQ(values(applied(joined("  better(a, b) = re(b) > re(a) ? b : a from complex(-inf, -1.0)\n",
                                    "im(better(k < $m : complex(x[@n, k] * (x[@n, k] - 3.5), float(k))))"),
                             x)),
              (std::vector<double>{0, 2}));
}

TEST(BodyForms, FunctionsThatJoinNothingAreRefused) {
    auto code = [](const std::string& functions, const std::string& right) {
        auto outcome = applied(joined(functions, right), counting(DType::float32, {2, 3}));
        return outcome ? std::string() : outcome.error()[0].code;
    };
    const std::string times = "  times(a, b) = a * b from 1\n";
    EXPECT_EQ(code("  times(a, b) = a * b\n", "times(k < $m : x[@n, k])"), "language.reducer");
    EXPECT_EQ(code(times, "tims(k < $m : x[@n, k])"), "language.reducer");
    EXPECT_EQ(code("  times(a) = a from 1\n", "times(x[@n, 0])"), "language.reducer");
    EXPECT_EQ(code("  times(a, b) = a * b from @n\n", "times(k < $m : x[@n, k])"), "language.coordinate_in_static");
    EXPECT_EQ(code("  less(a, b) = a - b from 0\n", "less(k < $m : x[@n, k])"), "symbolic.reducer");
    EXPECT_EQ(code("  plus(a, b) = a + b from 1\n", "plus(k < $m : x[@n, k])"), "symbolic.reducer");
    EXPECT_EQ(code(times, "sum(j < $m : times(k < $m : x[@n, k] + j))"), "symbolic.reducer");
    EXPECT_EQ(code(times, "times(k < $m, j < 2 : x[@n, k])"), "symbolic.type");
    EXPECT_EQ(code("  plus(a, b) = int32(a + b) from 0\n", "plus(k < $m : x[@n, k])"), "symbolic.reducer");
    EXPECT_EQ(code("  twice(a, b) = twice(k < 2 : a) from 0\n", "twice(k < $m : x[@n, k])"), "language.let_cycle");
    EXPECT_EQ(code(times, "sum(j < $m : times(k < $m : x[@n, k]))"), "");
}

// ---- dimensions

TEST(BodyForms, ExpressionsInPatternsBindTheirOneUnknownName) {
    auto extent = [](const std::string& dimension, int64_t given, const std::string& params = "") {
        auto outcome = applied("t:\n" + params + "  inputs: {x: \"$T[" + dimension +
                                   "]\"}\n  index: \"[$half]\"\n  outputs: {y: int64}\n  body: \"y = $half\"\n",
                               counting(DType::float32, {given}));
        if (!outcome) return outcome.error()[0].code;
        return std::to_string(outcome->outputs[0].size());
    };
    EXPECT_EQ(extent("2 * $half", 6), "3");
    EXPECT_EQ(extent("$half * 2 + 1", 7), "3");
    EXPECT_EQ(extent("3 * ($half - 1)", 6), "3");
    EXPECT_EQ(extent("10 - $half", 6), "4");
    EXPECT_EQ(extent("$by * $half", 6, "  params: {by: \"int = 3\"}\n"), "2");
    EXPECT_EQ(extent("2 * $half", 7), "symbolic.shape_mismatch");
    EXPECT_EQ(extent("2 * $half + 3", 1), "symbolic.unbound_name");
    EXPECT_EQ(extent("$half * $half", 9), "language.unbound_static");
    EXPECT_EQ(extent("$half // 2", 9), "language.unbound_static");
    EXPECT_EQ(extent("$by * $half", 6), "language.unbound_static");
}

// ---- bits

std::vector<double> counted(const std::string& function, DType dtype, const std::vector<int64_t>& elements) {
    return values(applied("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: \"y = " +
                              function + (function.ends_with(" ") ? "x)\"\n" : "(x)\"\n"),
                          integers(dtype, elements)));
}

TEST(BodyForms, BitsAreThoseOfTheElementsType) {
    using List = std::vector<double>;
    EXPECT_EQ(counted("popcount", DType::int8, {0, 1, -1, 127, -128}), (List{0, 1, 8, 7, 1}));
    EXPECT_EQ(counted("popcount", DType::int64, {-1, INT64_MIN}), (List{64, 1}));
    EXPECT_EQ(counted("popcount", DType::uint64, {-1, 5}), (List{64, 2}));
    EXPECT_EQ(counted("bit_length", DType::int32, {0, 1, 8, -1}), (List{0, 1, 4, 32}));
    EXPECT_EQ(counted("leading_zeros", DType::int16, {0, 1, -1, 255}), (List{16, 15, 0, 8}));
    EXPECT_EQ(counted("trailing_zeros", DType::uint8, {0, 1, 8, 128, 6}), (List{8, 0, 3, 7, 1}));
    EXPECT_EQ(counted("trailing_zeros", DType::int64, {0, INT64_MIN}), (List{64, 63}));
}

TEST(BodyForms, HexadecimalNumbersAreNumbers) {
    EXPECT_EQ(counted("bit_and(0x0F, ", DType::int32, {255, 35}), (std::vector<double>{15, 3}));
}

}  // namespace
}  // namespace heddle::body_test
