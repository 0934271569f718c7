// States and local arrays of static numbers take the dtype of what uses them.
#include "body_session.h"

#include <random>

namespace heddle::body_test {
namespace {

// By name, the dtypes of the locals of an operator of float32 `x`, float64 `z` and int32 `k`; or the code of its error.
std::map<std::string, std::string> locals_of(const std::string& body) {
    Library library = library_of(
        "t:\n  inputs: {x: \"float32[$n]\", z: \"float64[$n]\", k: \"int32[$n]\"}\n  index: \"[$n]\"\n"
        "  outputs: {y: \"float32\", w: \"float64\", m: \"int32\"}\n  body: |\n    m = k\n" +
        body);
    auto outcome = apply(library, "t",
                         {{true, false, {counting(DType::float32, {5})}},
                          {true, false, {counting(DType::float64, {5})}},
                          {true, false, {counting(DType::int32, {5})}}},
                         {});
    if (!outcome) return {{"", outcome.error()[0].code}};
    std::map<std::string, std::string> dtypes;
    for (const Operation& operation : outcome->graph.operations)
        for (const Local& local : operation.body->locals) {
            const std::string dtype(name(local.dtype));
            auto [known, added] = dtypes.emplace(local.name, dtype);
            if (!added && known->second != dtype) known->second = "several";
        }
    return dtypes;
}

using Dtypes = std::map<std::string, std::string>;
const std::string rest = "    w = z\n";
const std::string weights = "    let K[i < 3] = i == 0 ? 0.1 : 0.5\n";

TEST(StaticArrays, TakeTheDtypeOfTheirUsers) {
    EXPECT_EQ(locals_of(weights + rest + "    y = K[1] * x\n"), (Dtypes{{"K", "float32"}}));
    EXPECT_EQ(locals_of(weights + rest + "    y = sum(i < 3 : K[i] * K[i]) * x\n"), (Dtypes{{"K", "float32"}}));
    EXPECT_EQ(locals_of(weights + "    w = K[1] * z\n    y = x\n"), (Dtypes{{"K", "float64"}}));
    EXPECT_EQ(locals_of(weights + rest + "    y = K[1]\n"), (Dtypes{{"K", "float32"}}));  // what stores it, too
    EXPECT_EQ(locals_of(weights + rest + "    y = x < K[1] ? x : K[0] ^ 2 + sqrt(K[2])\n"), (Dtypes{{"K", "float32"}}));
    EXPECT_EQ(locals_of(weights + rest + "    y = x * float32(K[1])\n"), (Dtypes{{"K", "float32"}}));
}

TEST(StaticArrays, StatesTakeIt) {
    const std::string state = "    scan t < 4:\n      s[t] = 0.5 * s[t - 1] + 0.1 from 1\n";
    EXPECT_EQ(locals_of(state + rest + "    y = s[3] * x\n"), (Dtypes{{"s", "float32"}}));
    EXPECT_EQ(locals_of(state + "    w = s[3] * z\n    y = x\n"), (Dtypes{{"s", "float64"}}));
    // Values of earlier steps are states of their own.
    EXPECT_EQ(locals_of("    scan t < 4:\n      s[t] = 0.5 * s[t - 1] + (s[t - 2] ?? 0) from 0.5\n" + rest +
                        "    y = s[3] * x\n"),
              (Dtypes{{"s", "float32"}, {"s_before1", "float32"}}));
    EXPECT_EQ(locals_of("    scan t < 4:\n      scan u < 2:\n"
                        "        r[u, j < 3] = 0.5 * r[u - 1, j] + j from 1.0\n"
                        "      s[t] = s[t - 1] * r[1, 2] from 0.5\n" +
                        rest + "    y = s[3] * x\n"),
              (Dtypes{{"r", "float32"}, {"s", "float32"}}));
}

// What meets in one value is of one dtype, whichever of it is used.
TEST(StaticArrays, ThoseThatAreComputedWithOneAnotherTakeOneDtype) {
    const std::string two = weights + "    let L[i < 3] = 2.0 * K[i]\n";
    EXPECT_EQ(locals_of(two + rest + "    y = L[1] * x\n"), (Dtypes{{"K", "float32"}, {"L", "float32"}}));
    const std::string apart = weights + "    let L[i < 3] = i * 0.3\n";
    EXPECT_EQ(locals_of(apart + "    w = L[1] * z\n    y = K[1] * x\n"), (Dtypes{{"K", "float32"}, {"L", "float64"}}));
    const Dtypes exact = {{"K", "float64"}, {"L", "float64"}};
    EXPECT_EQ(locals_of(apart + "    w = L[1] * z\n    y = K[1] < L[1] ? K[1] * x : x\n"), exact);
    EXPECT_EQ(
        locals_of("    scan t < 4:\n      a[t] = 0.5 * b[t - 1] from 1.0\n      b[t] = 0.5 * a[t - 1] from 1.0\n" +
                  rest + "    y = a[3] * x\n"),
        (Dtypes{{"a", "float32"}, {"b", "float32"}}));
}

TEST(StaticArrays, StayExactBetweenUsersOfTwoDtypes) {
    EXPECT_EQ(locals_of(weights + "    y = K[1] * x\n    w = K[1] * z\n"), (Dtypes{{"K", "float64"}}));
    EXPECT_EQ(locals_of(weights + "    y = x\n    w = z\n"), (Dtypes{}));  // nothing reads it
}

TEST(StaticArrays, WholeNumbersStayExactWhereTheyAreComputedWith) {
    const std::string counts = "    let K[i < 3] = i == 1 ? 2 : 1\n";
    EXPECT_EQ(locals_of(counts + rest + "    y = K[1] * x\n"), (Dtypes{{"K", "float32"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = sum(i < 3 : K[i] * 0.5) * x\n"), (Dtypes{{"K", "float32"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = (x[@n + K[1]] ?? 0) * K[1]\n"), (Dtypes{{"K", "int64"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = (K[1] * K[1] - 3) * x\n"), (Dtypes{{"K", "int64"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = bit_and(K[1], 3) * x\n"), (Dtypes{{"K", "int64"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = x * float32(K[1])\n"), (Dtypes{{"K", "int64"}}));
    EXPECT_EQ(locals_of(counts + rest + "    y = K[1] * x + float32(k * K[1])\n"), (Dtypes{{"K", "int64"}}));
    EXPECT_EQ(locals_of("    let K[i < 3] = 0.6 * i\n" + rest + "    y = (x[@n + floor(K[1])] ?? 0) * K[1]\n"),
              (Dtypes{{"K", "float64"}}));
    // A generator of random numbers goes on in whole numbers.
    EXPECT_EQ(locals_of("    scan t < 4:\n      s[t] = (s[t - 1] * 1103515245 + 12345) % 2147483648 from 42\n" + rest +
                        "    y = s[3] / 2147483648.0 * x\n"),
              (Dtypes{{"s", "int64"}}));
}

TEST(StaticArrays, FractionsAreNoIntegers) {
    EXPECT_EQ(locals_of(weights + rest + "    y = float32(k * K[1])\n"), (Dtypes{{"", "symbolic.dtype"}}));
    EXPECT_EQ(locals_of("    scan t < 4:\n      s[t] = 0.5 * s[t - 1] from 1\n" + rest + "    y = float32(k + s[3])\n"),
              (Dtypes{{"", "symbolic.dtype"}}));
}

// Random expressions of static numbers.
class Numbers {
public:
    std::string pick(std::initializer_list<const char*> texts) { return texts.begin()[random_() % texts.size()]; }
    std::string whole(int depth) {
        if (depth == 0) return pick({"A[1]", "A[i]", "c[2]", "3", "i"});
        return pick({"(", "-("}) + whole(depth - 1) + pick({" + ", " * ", " // ", " % "}) +
               pick({"A[0]", "2", "c[1]"}) + ")";
    }
    std::string quarters(int depth) {
        if (depth == 0) return pick({"F[1]", "F[i]", "s[2]", "0.25", "A[2]", "G[i]"});
        const std::string left = random_() % 4 == 0 ? whole(depth - 1) : quarters(depth - 1);
        return pick({"(", "abs(", "-("}) + left + pick({" + ", " - ", " * "}) + quarters(depth - 1) + ")";
    }

private:
    std::mt19937_64 random_{7};
};

Result<Outcome> applied(const std::string& body) {
    Library library = library_of(
        "t:\n  inputs: {x: \"float32[$n]\", z: \"float64[$n]\"}\n  index: \"[$n]\"\n"
        "  outputs: {y: \"float32\", w: \"float64\"}\n  body: |\n" +
        body);
    return apply(library, "t",
                 {{true, false, {counting(DType::float32, {5})}}, {true, false, {counting(DType::float64, {5})}}}, {});
}

// What uses them is accepted as if numbers stood there, and gets what float64 would give: of quarters that is exact.
TEST(StaticArrays, AreAcceptedWhereverNumbersAre) {
    Numbers numbers;
    const std::string arrays =
        "    let A[i < 3] = 2 * i - 1\n    let F[i < 3] = i == 1 ? 0.5 : 0.25 * i\n"
        "    let G[i < 3] = F[i] < 0.5 ? 0.75 : 0.5\n"
        "    scan t < 3:\n      c[t] = c[t - 1] + 1 from 0\n      s[t] = 0.5 * s[t - 1] + 0.5 from 1\n";
    for (int round = 0; round < 300; ++round) {
        const std::string value = numbers.quarters(2), place = numbers.whole(2);
        const std::string other = numbers.pick({"z", "z * F[1]", "z + A[2]", "z * c[1]"});
        const auto body = [&](const std::string& used) {
            return arrays + "    y = sum(i < 3 : x * " + used + " + x[clamp(" + place + ", 0, 4)])\n    w = " + other +
                   "\n";
        };
        const auto found = applied(body(value)), exact = applied(body("float32(float64(" + value + "))"));
        ASSERT_TRUE(found) << body(value) << render(found.error());
        ASSERT_TRUE(exact) << body(value) << render(exact.error());
        for (size_t output = 0; output < 2; ++output)
            for (int64_t at = 0; at < 5; ++at)
                EXPECT_EQ(found->outputs[output].real_at(at), exact->outputs[output].real_at(at)) << body(value);
    }
}

}  // namespace
}  // namespace heddle::body_test
