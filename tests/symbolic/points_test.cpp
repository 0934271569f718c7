// Proofs at the points that there are: none where a size is 0; indices that are computed are checked when they run.
#include <fmt/format.h>

#include "body_session.h"

namespace heddle::body_test {
namespace {

std::string found(const std::string& text, const TensorData& x,
                  const std::map<std::string, StaticValue>& parameters = {}) {
    auto outcome = apply(library_of(text), "t", {{true, false, {x}}}, parameters);
    if (!outcome) return outcome.error()[0].code;
    std::string values;
    for (int64_t i = 0; i < outcome->outputs[0].size(); ++i)
        values += fmt::format("{}{}", i ? " " : "", outcome->outputs[0].real_at(i));
    return values;
}

std::string over(const std::string& index, const std::string& body, const std::string& shape = "$n") {
    return "t:\n  inputs: {x: \"$T[" + shape + "]\"}\n  index: \"" + index + "\"\n  outputs: {y: \"$T\"}\n  body: |\n" +
           body;
}

TEST(Points, WhereThereAreNoneNothingIsProved) {
    const TensorData none(DType::float32, {0});
    EXPECT_EQ(found(over("[f = max(0, ($n - 5) // 3 + 1)]",
                         "    let d[k < 2] = sum(j < 3 : x[@f * 3 + j + k])\n    y = d[0]\n"),
                    none),
              "");
    EXPECT_EQ(found(over("[c = $n // 8]",
                         "    let g[p < 8] = x[clamp(8 * @c + p + 1, 0, 8 * $n - 1)]\n    y = sum(p < 8 : g[p])\n"),
                    none),
              "");
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[3 * $per]\"}\n  index: \"[g = 3]\"\n  outputs: {y: \"$T[3 * $per]\"}\n"
                    "  body: |\n    for c < $per:\n      y[@g * $per + c] = x[@g * $per + c]\n",
                    none),
              "");
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[$n]\"}\n  index: \"[]\"\n  outputs: {y: \"int64[$n]\"}\n  body: |\n"
                    "    scan t < $n:\n      at[t] = argmax(i < $n : x[i]) from int64(0)\n    y[t] = at[t]\n",
                    none),
              "");
    EXPECT_EQ(found(over("[]", "    y = x[0]\n"), none), "symbolic.footprint");
    EXPECT_EQ(found(over("[]", "    y = cast(argmax(i < $n : x[i]), $T)\n"), none), "symbolic.extent");
    EXPECT_EQ(found(over("[]", "    y = $n > 0 ? cast(argmax(i < $n : x[i]), $T) : -1\n"), none), "-1");
}

TEST(Points, ListsWithoutElementsAndStepsOfNone) {
    const std::string text =
        "t:\n  params: {steps: int}\n  inputs: {x: \"$T[$n]\"}\n  let: \"$s = [2 ^ t for t < $steps]\"\n"
        "  index: \"[$n]\"\n  outputs: {y: \"$T\"}\n  body: |\n"
        "    scan t < $steps:\n      u[t] = u[t - 1] * $s[t] from x\n    y = u[$steps - 1]\n";
    const TensorData x = counting(DType::float32, {3});
    EXPECT_EQ(found(text, x, {{"steps", StaticValue::of(int64_t{0})}}), "0 1 2");
    EXPECT_EQ(found(text, x, {{"steps", StaticValue::of(int64_t{3})}}), "0 8 16");
}

TEST(Points, NeutralElementsOfADType) {
    TensorData x(DType::uint32, {3});
    for (int64_t i = 0; i < 3; ++i) x.set_integer(i, 1 + 2 * i);
    EXPECT_EQ(found("let: \"xored(a, b) = bit_xor(a, b) from uint32(0)\"\n"
                    "t:\n  inputs: {x: \"uint32[$n]\"}\n  index: \"[]\"\n  outputs: {y: uint32}\n"
                    "  body: \"y = xored(k < $n : x[k])\"\n",
                    x),
              "7");
}

TEST(Points, ComputedIndicesAreProvedOrChecked) {
    const TensorData x = counting(DType::float32, {4});
    EXPECT_EQ(found(over("[m = 6]", "    y = x[bit_and(@m, 3)]\n"), x), "0 1 2 3 0 1");
    EXPECT_EQ(found(over("[m = 6]", "    y = x[trailing_zeros(@m + 1)]\n"), x), "0 1 0 2 0 1");
    EXPECT_EQ(found(over("[m = 20]", "    y = x[trailing_zeros(@m + 1)]\n"), x), "evaluate.out_of_range");
    EXPECT_EQ(found(over("[m = 6]", "    y = x[shift_right(@m, 1)]\n"), x), "0 0 1 1 2 2");
    // What is chosen is checked alone.
    EXPECT_EQ(found(over("[m = 20]", "    y = @m < 5 ? x[trailing_zeros(@m + 1)] : 9\n"), x).substr(0, 13),
              "0 1 0 2 0 9 9");
    EXPECT_EQ(found(over("[m = 6]", "    y = x[bit_xor(@m, 4) - 4] ?? 7\n"), x), "0 1 2 3 7 7");
}

TEST(Points, ConditionsOnAnyValueNarrowIt) {
    // A state's guard on a remainder, at more points than are looked at one by one.
    const std::string text =
        "t:\n  params: {times: int}\n  inputs: {x: \"$T[$m]\"}\n  index: \"[]\"\n  outputs: {y: \"$T[$m]\"}\n  body: |\n"
        "    scan s < $times * $m:\n      let r = s % $m\n"
        "      q[s, j < $m] = j == r ? (q[s - 1, r - 1] ?? 1) : q[s - 1, j] from x[j]\n"
        "    y[j] = q[$times * $m - 1, j]\n";
    EXPECT_EQ(found(text, counting(DType::float32, {5}), {{"times", StaticValue::of(int64_t{20})}}), "1 1 1 1 1");
    // A table in a local array is known as one in the text is.
    EXPECT_EQ(found("t:\n  inputs: {x: \"$T[8]\"}\n  index: \"[m = 8]\"\n  outputs: {y: \"$T\"}\n  body: |\n"
                    "    let c[t < 3] = shift_left(1, 2 - t)\n"
                    "    y = sum(t < 3 : x[@m % 4 // c[t] * 2 * c[t] + @m % 4 % c[t]])\n",
                    counting(DType::float32, {8})),
              "0 4 10 14 0 4 10 14");
}

}  // namespace
}  // namespace heddle::body_test
