// Scans: what their states may be read at, types that are found although states read themselves, and values.
#include "body_session.h"

namespace heddle::body_test {
namespace {

std::string code_of(const std::string& body, const std::string& outputs = "y: \"$T[$m]\"") {
    Library library;
    std::string text =
        "t:\n  inputs: {x: \"$T[$m, $n]\"}\n  index: \"[$m]\"\n  outputs: {" + outputs + "}\n  body: |\n" + body;
    auto added = library.add_source(std::make_shared<const SourceText>("test.yaml", text));
    if (!added) return added.error()[0].code;
    auto outcome = apply(library, "t", {{true, false, {counting(DType::float32, {2, 3})}}}, {});
    return outcome ? "" : outcome.error()[0].code;
}

// One step's equation, and the final state as the result.
std::string scan(const std::string& equations, const std::string& result = "s[$n - 1]") {
    return "    scan t < $n:\n" + equations + "    y[@m] = " + result + "\n";
}

TEST(BodyScan, StatesAreReadAtStepsThatAreKnown) {
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n")), "");
    EXPECT_EQ(code_of(scan("      s[t] = s[t] + x[@m, t] from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[t + 1] + x[@m, t] from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 2] + x[@m, t] from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[0] + x[@m, t] from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      let a = s[t]\n      s[t] = x[@m, t] + a from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n      r[t] = s[t] + r[t - 1] from 0\n")), "");
    EXPECT_EQ(code_of(scan("      r[t] = s[t] + r[t - 1] from 0\n      s[t] = s[t - 1] + x[@m, t] from 0\n")),
              "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n", "s[-1] + s[0]")), "");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n", "s[-2]")), "symbolic.footprint");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n", "s[$n]")), "symbolic.footprint");
}

TEST(BodyScan, MistakesAreNamed) {
    EXPECT_EQ(code_of(scan("      scan u < 2, v < 2:\n        r[u, v] = r[u - 1, v] from 0\n"
                           "      s[t] = s[t - 1] from 0.5\n")),
              "language.nested_scan");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + 1 from t\n")), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + 1 from x[@m, t]\n")), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      s[t - 1] = x[@m, t] from 0\n")), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      s[] = x[@m, t] from 0\n", "x[@m, 0]")), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      s[t, j] = x[@m, t] from 0\n", "x[@m, 0]")), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      for c < 2:\n        r[t] = x[@m, t] from 0\n", "x[@m, 0]")), "symbolic.scan");
    EXPECT_EQ(code_of("    scan t < [2, 3]:\n      s[t] = 1 from 0\n    y[@m] = x[@m, 0]\n"), "symbolic.scan");
    EXPECT_EQ(code_of(scan("      s[t] = int32(t) from 0.5\n", "x[@m, 0]")), "symbolic.dtype");
    EXPECT_EQ(code_of(scan("      s[t, j < 2] = s[t - 1] + x[@m, t] from 0\n", "s[0, 0]")), "symbolic.rank");
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 1] + x[@m, t] from 0\n", "s")), "symbolic.type");
    EXPECT_EQ(code_of(scan("      y[t] = s[t - 1] from 0\n", "x[@m, 0]")), "language.shadowing");
    EXPECT_EQ(code_of("    y[@m] = sum(t < 3 : scan t < 2)\n"), "language.reserved_word");
    // An output's equation in the scan has its steps on the left.
    EXPECT_EQ(code_of("    scan t < $n:\n      s[t] = s[t - 1] + x[@m, t] from 0\n      y[@m] = s[t]\n"),
              "symbolic.cover");
}

TensorData result_of(const std::string& body, const std::string& outputs, DType dtype = DType::float32) {
    Library library = library_of("t:\n  inputs: {x: \"$T[$m, $n]\"}\n  index: \"[$m]\"\n  outputs: {" + outputs +
                                 "}\n  body: |\n" + body);
    auto outcome = apply(library, "t", {{true, false, {counting(dtype, {2, 3})}}}, {});
    if (outcome) return outcome->outputs[0];
    ADD_FAILURE() << render(outcome.error());
    return TensorData(dtype, {});
}

std::vector<double> values(const TensorData& tensor) {
    std::vector<double> list;
    for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(tensor.real_at(i));
    return list;
}

TEST(BodyScan, EarlierStepsAreReadWithAValueForThoseThatAreNot) {
    EXPECT_EQ(values(result_of("    scan t < $n:\n"
                               "      s[t] = x[@m, t] + (s[t - 2] ?? 10) from 100\n"
                               "      y[@m, t] = s[t]\n",
                               "y: \"$T[$m, $n]\"")),
              (std::vector<double>{10, 101, 12, 13, 104, 18}));
    // Steps further back, a value that depends on the step, and of an array also a coordinate outside.
    EXPECT_EQ(values(result_of("    scan t < $n:\n"
                               "      s[t, i < 2] = 1 + (s[t - 3, i - 1] ?? t) from 7\n"
                               "      y[@m, t] = s[t, 1]\n",
                               "y: \"$T[$m, $n]\"")),
              (std::vector<double>{1, 2, 8, 1, 2, 8}));
    // Before its equation, and behind the scan.
    EXPECT_EQ(values(result_of("    scan t < $n:\n"
                               "      let before = s[t - 2] ?? 0\n"
                               "      s[t] = before + 1 from 5\n"
                               "    y[@m, i] = s[i - 2] ?? 9\n",
                               "y: \"$T[$m, $n]\"")),
              (std::vector<double>{9, 5, 1, 9, 5, 1}));
    EXPECT_EQ(code_of(scan("      s[t] = s[t - 65] ?? 0 from 0\n")), "symbolic.state_step");
    EXPECT_EQ(code_of(scan("      s[t] = s[t + 1] ?? 0 from 0\n")), "symbolic.state_step");
}

// A scan with an `until`: the steps of each point of the index are its own.
std::string until(const std::string& condition, const std::string& equations) {
    return "    scan t < $n until " + condition + ":\n" + equations;
}

TEST(BodyScan, StatesStayAsTheyAreOnceTheConditionHolds) {
    const std::string sums = "      s[t] = s[t - 1] + x[@m, t] from 0\n      y[@m, t] = s[t]\n";
    const std::string all = "y: \"$T[$m, $n]\"";  // x is 0 1 2, 3 4 5
    EXPECT_EQ(values(result_of(until("s[t] >= 3", sums), all)), (std::vector<double>{0, 1, 3, 3, 3, 3}));
    EXPECT_EQ(values(result_of(until("s[t - 1] >= 3", sums), all)), (std::vector<double>{0, 1, 3, 3, 7, 7}));
    EXPECT_EQ(values(result_of(until("true", sums), all)), (std::vector<double>{0, 0, 0, 3, 3, 3}));
    EXPECT_EQ(values(result_of(until("false", sums), all)), (std::vector<double>{0, 1, 3, 3, 7, 12}));
    // By a name of the block, and over a state's own axis; a state may be read further back.
    const std::string pair =
        "      let d = abs(s[t - 1, 0] - s[t - 1, 1])\n"
        "      s[t, j < 2] = s[t - 1, 1 - j] + (s[t - 2, j] ?? j) * x[@m, t] from j\n"
        "    y[@m] = s[$n - 1, 0]\n";
    EXPECT_EQ(values(result_of(until("d > 5 || any(j < 2 : s[t, j] > 1)", pair), "y: \"$T[$m]\"")),
              (std::vector<double>{0, 1}));
    EXPECT_EQ(code_of(until("s[t]", sums), all), "symbolic.type");
    EXPECT_EQ(code_of(until("r > 0", sums), all), "language.unknown_name");
    EXPECT_EQ(code_of(until("s[t + 1] > 0", sums), all), "symbolic.state_step");
    EXPECT_EQ(code_of("    for t < $n until t > 2:\n      let a = t\n    y[@m] = 0\n"), "language.syntax");
}

TEST(BodyScan, ValuesStepByStep) {
    EXPECT_EQ(values(result_of("    scan t < $n:\n      s[t] = s[t - 1] + x[@m, t] from 0\n      y[@m, t] = s[t]\n",
                               "y: \"$T[$m, $n]\"")),
              (std::vector<double>{0, 1, 3, 3, 7, 12}));
    EXPECT_EQ(values(result_of(
                  "    scan t < $n:\n      y[@m, t] = s[t - 1]\n      s[t] = s[t - 1] + x[@m, $n - 1 - t] from 7\n",
                  "y: \"$T[$m, $n]\"")),
              (std::vector<double>{7, 9, 10, 7, 12, 16}));
    // Two states that read each other, axes of their own, and a local array between them.
    auto expected = [] {
        std::vector<double> result;
        for (int m = 0; m < 2; ++m) {
            double a = 1, b[2] = {0, 1}, at[3];
            for (int t = 0; t < 3; ++t) {
                double d[2] = {b[1] + 3 * m + t, b[0] + 3 * m + t};
                at[t] = a = a + b[0];
                for (int j = 0; j < 2; ++j) b[j] = d[j] + a;
            }
            for (int j = 0; j < 2; ++j) result.push_back(b[j] + 100 * at[j]);
        }
        return result;
    };
    EXPECT_EQ(values(result_of("    scan t < $n:\n      let d[i < 2] = b[t - 1, 1 - i] + x[@m, t]\n"
                               "      a[t] = a[t - 1] + b[t - 1, 0] from 1\n"
                               "      b[t, j < 2] = d[j] + a[t] from j\n    y[@m, j] = b[$n - 1, j] + 100 * a[j]\n",
                               "y: \"$T[$m, 2]\"")),
              expected());
}

// A sum whose filter chooses the element may be computed for all elements together, but for each step anew.
TEST(BodyScan, ElementsAreChosenAtEachStep) {
    EXPECT_EQ(values(result_of("    scan t < $n:\n"
                               "      s[t, j < 3] = sum(k < 3 if (k + 1) % 3 == j : s[t - 1, k]) + x[@m, t] from j\n"
                               "    y[@m, j] = s[$n - 1, j]\n",
                               "y: \"$T[$m, 3]\"")),
              (std::vector<double>{3, 4, 5, 12, 13, 14}));
}

// ---- several axes: against cells in row-major order

// One cell's equation over a table of 2 x 3 with x = 0 1 2, 3 4 5, for both points of the index.
std::string cells(const std::string& equations) { return "    scan i < $n - 1, j < $n:\n" + equations; }
const std::string table = "y: \"$T[$m, 2, $n]\"";

TEST(BodyScan, CellsAreComputedRowByRow) {
    auto expected = [](auto from, auto cell) {
        std::vector<double> result;
        for (int m = 0; m < 2; ++m) {
            double s[6][8];
            for (int i = 0; i < 6; ++i)
                for (int j = 0; j < 8; ++j) s[i][j] = from(m, i - 2, j - 2);
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 3; ++j) result.push_back(s[i + 2][j + 2] = cell(3 * m + j, &s[i + 2][j + 2]));
        }
        return result;
    };
    const auto row = 8;
    EXPECT_EQ(values(result_of(cells("      s[i, j] = s[i - 1, j] + 2 * s[i, j - 1] - s[i - 1, j - 1] + x[@m, j]"
                                     " from 1 + i + 10 * j + 100 * @m\n      y[@m, i, j] = s[i, j]\n"),
                               table)),
              expected([](int m, int i, int j) { return 1 + i + 10 * j + 100 * m; },
                       [&](int x, const double* s) { return s[-row] + 2 * s[-1] - s[-row - 1] + x; }));
    // Further on in the row before, further back, and a border on all sides that reads a tensor where it may.
    EXPECT_EQ(
        values(result_of(cells("      let own[k < 2] = x[@m, j] + k\n"
                               "      s[i, j] = s[i - 1, j + 2] + 2 * s[i - 2, j - 1] + own[1] from j >= 0 && j < 3 ? "
                               "x[@m, j] : i\n    y[@m, i, j] = s[i, j]\n"),
                         table)),
        expected([](int m, int i, int j) { return j >= 0 && j < 3 ? 3 * m + j : i; },
                 [&](int x, const double* s) { return s[-row + 2] + 2 * s[-2 * row - 1] + x + 1; }));
    // Three axes, whose states read one another; what is written reads other cells, and the border.
    EXPECT_EQ(values(result_of("    scan i < 2, j < $n, k < 2:\n"
                               "      a[i, j, k] = b[i - 1, j, k + 1] + a[i, j - 1, k] + 1 from 0\n"
                               "      b[i, j, k] = a[i, j, k] + b[i, j, k - 1] from 1\n"
                               "    y[@m, i, j] = b[i, j, 1] + b[-1, j, 2]\n",
                               table)),
              (std::vector<double>{6, 10, 14, 10, 22, 38, 6, 10, 14, 10, 22, 38}));
    // An axis of the state's own, and what is outside of it; what is read behind the scan may be outside of all.
    EXPECT_EQ(values(result_of(cells("      s[i, j, k < 2] = (s[i - 1, j, k - 1] ?? 10) + s[i, j - 1, k] from k\n") +
                                   "    y[@m, i, j] = s[i, j, 1] + (s[i, j - 2, 0] ?? 1000)\n",
                               table)),
              (std::vector<double>{1001, 1, 11, 1011, 31, 71, 1001, 1, 11, 1011, 31, 71}));
}

TEST(BodyScan, MistakesWithCellsAreNamed) {
    const auto code = [](const std::string& equations) {
        return code_of(cells(equations) + "    y[@m, i, j] = s[i, j]\n", table);
    };
    EXPECT_EQ(code("      s[i, j] = s[i - 1, j] from 0.5\n"), "");
    EXPECT_EQ(code("      s[i, j] = s[i, j] + 1 from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i, j + 1] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i + 1, j - 1] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i - 1, 0] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[j - 1, i] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i - 65, j] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i - 2, j + 40] + s[i - 2, j] from 0\n"), "");
    EXPECT_EQ(code("      s[i, j] = s[i - 1, j + 40] + s[i - 2, j] from 0\n"), "symbolic.state_step");
    EXPECT_EQ(code("      s[i, j] = s[i - 1] from 0\n"), "symbolic.rank");
    EXPECT_EQ(code("      s[j, i] = s[i - 1, j] from 0\n"), "symbolic.scan");
    EXPECT_EQ(code("      s[i] = 1 from 0\n"), "symbolic.scan");
    EXPECT_EQ(code("      let a = x[@m, j]\n      s[i, j] = s[i - 1, j] + a from a\n"), "symbolic.unknown_name");
    EXPECT_EQ(code("      s[i, j] = s[i - 1, j] from x[@m, j]\n"), "symbolic.footprint");
    EXPECT_EQ(code_of(cells("      s[i, j] = s[i - 1, j] from 0\n") + "    y[@m, i, j] = s[i + 1, j]\n", table),
              "symbolic.footprint");
    EXPECT_EQ(code_of("    scan i < [2, 3], j < 2:\n      s[i, j] = 1 from 0\n    y[@m] = x[@m, 0]\n"),
              "symbolic.scan");
    EXPECT_EQ(code_of("    scan i < 2, i < 2:\n      s[i, i] = 1 from 0\n    y[@m] = x[@m, 0]\n"),
              "language.shadowing");
}

// ---- scans in scans: x is 0 1 2, 3 4 5

TEST(BodyScan, StepsOfAScanInAScanBeginAnew) {
    const std::string all = "y: \"$T[$m, $n]\"";
    auto nested = [](const std::string& head, const std::string& equations, const std::string& rest) {
        return "    scan t < $n:\n      scan " + head + ":\n" + equations + rest;
    };
    const std::string sums = "        u[k] = u[k - 1] + x[@m, t] from s[t - 1]\n";
    const std::string kept = "      s[t] = u[1] from 100\n      y[@m, t] = s[t]\n";
    EXPECT_EQ(values(result_of(nested("k < 2", sums, kept), all)), (std::vector<double>{100, 102, 106, 106, 114, 124}));
    // A condition ends each of them; no step is needed.
    EXPECT_EQ(values(result_of(nested("k < 2 until u[k] > 103", sums, kept), all)),
              (std::vector<double>{100, 102, 104, 106, 110, 115}));
    EXPECT_EQ(values(result_of(nested("k < 0", sums, "      s[t] = u[-1] + t from 5\n      y[@m, t] = s[t]\n"), all)),
              (std::vector<double>{5, 6, 8, 5, 6, 8}));
    // Two states, one with an axis of its own, one scan more inside, and what is written at each of the steps.
    EXPECT_EQ(values(result_of(nested("k < 2",
                                      "        let both[i < 2] = v[k - 1, i] + (v[k - 1, i - 1] ?? 10)\n"
                                      "        scan l < 3:\n          w[l] = w[l - 1] * 2 from u[k - 1]\n"
                                      "        u[k] = w[2] + both[1] from 1\n"
                                      "        v[k, i < 2] = both[i] + x[@m, t] from i\n"
                                      "        z[@m, t, k] = u[k]\n",
                                      "      s[t] = s[t - 1] + v[1, 0] from 0\n      y[@m, t] = s[t]\n"),
                               all + ", z: \"$T[$m, $n, 2]\"")),
              (std::vector<double>{20, 42, 66, 26, 54, 84}));
    EXPECT_EQ(code_of(nested("k < 65", sums, kept), all), "symbolic.nested_scan");
    EXPECT_EQ(code_of(nested("k < 2", "        u[k] = u[k - 2] + x[@m, t] from 0\n", kept), all),
              "symbolic.state_step");
    EXPECT_EQ(code_of(nested("k < 2", "        u[k] = u[k] + x[@m, t] from 0\n", kept), all), "symbolic.state_step");
    EXPECT_EQ(code_of(nested("k < 1", sums, kept), all), "symbolic.state_step");
    EXPECT_EQ(code_of(nested("k < 2", "        u[t] = x[@m, t] from 0\n", kept), all), "symbolic.scan");
    EXPECT_EQ(code_of(nested("k < 2", "        u[] = x[@m, t] from 0\n", kept), all), "symbolic.scan");
    EXPECT_EQ(code_of(nested("k < 2", "        u[k, j] = x[@m, t] from 0\n", kept), all), "symbolic.scan");
    EXPECT_EQ(code_of(nested("k < 2 until u[k]", sums, kept), all), "symbolic.type");
    EXPECT_EQ(code_of(nested("k < 2", "        u[k, j < 2] = x[@m, t] from 0\n", kept), all), "symbolic.rank");
    EXPECT_EQ(code_of(nested("k < 2", "        u[k] = x[@m, t] from int32(0)\n", kept), all), "symbolic.dtype");
}

TEST(BodyScan, TypesAreFound) {
    // A weak state takes integers; halves are kept in single precision until they are stored.
    EXPECT_EQ(values(result_of("    scan t < $n:\n      c[t] = c[t - 1] + 1 from 0\n    y[@m] = c[$n - 1]\n",
                               "y: \"int64[$m]\"")),
              (std::vector<double>{3, 3}));
    EXPECT_EQ(
        values(result_of("    scan t < $n:\n      s[t] = s[t - 1] * 0.5 + x[@m, t] from 4096.5\n    y[@m] = s[-1]\n",
                         "y: \"float32[$m]\"", DType::float16)),
        (std::vector<double>{4096.5, 4096.5}));
    EXPECT_EQ(values(result_of("    scan t < $n:\n      s[t] = !s[t - 1] from x[@m, 0] > 1\n    y[@m] = s[$n - 1]\n",
                               "y: \"bool[$m]\"")),
              (std::vector<double>{1, 0}));
    // Known to be real only by what the equation asks of it.
    EXPECT_EQ(
        values(result_of("    scan t < $n:\n      s[t] = mean(k < 2 : s[t - 1] + x[@m, t]) from 0\n    y[@m] = s[-1]\n",
                         "y: \"$T[$m]\"")),
        (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace heddle::body_test
