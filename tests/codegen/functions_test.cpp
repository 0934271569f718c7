// The functions' recipes against the C library in a wider type: dense sweeps over all bit patterns, and the special
// values.
#include "codegen/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "expr/scalar_functions.h"
#include "recipe_interpreter.h"

namespace heddle::codegen {
namespace {

using Long = long double;

// The meaning of the operation in long double.
Long reference(ScalarOp op, Long x, Long y) {
    switch (op) {
#define HEDDLE_SCALAR(...)
#define HEDDLE_FUNCTION(op, ...) \
    case ScalarOp::op: return scalar_functions::of_##op::apply(x);
#include "expr/scalar_ops.def"
    case ScalarOp::power: return std::pow(x, y);
    case ScalarOp::atan2: return std::atan2(x, y);
    case ScalarOp::hypotenuse: return std::hypot(x, y);
    case ScalarOp::copy_sign: return std::copysign(x, y);
    default: return 0;
    }
}

std::vector<ScalarOp> with_recipes() {
    std::vector<ScalarOp> list;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        if (recipe(row.op, DType::float64, Units::plain)) list.push_back(row.op);
    }
    return list;
}

// Of what the accuracy is: of the result; of the gamma functions below zero of it or the larger of two terms.
Long magnitude(ScalarOp op, Long x, Long exact) {
    using namespace scalar_functions;
    if (op == ScalarOp::log_gamma && x < 0) return std::max(std::abs(exact), 1 + std::abs(log_gamma(-x)));
    if (op == ScalarOp::digamma && x < 0)
        return std::max({std::abs(exact), std::abs(exact - psi(1 - x)), std::abs(psi(1 - x))});
    return exact;
}

// Distance of `got` from the exact value in units in the last place of the magnitude (of the smallest subnormal below).
template <typename T>
double error_in_ulps(T got, Long exact, Long magnitude) {
    const T rounded = static_cast<T>(exact);
    if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
    if (std::isinf(rounded) && got == rounded) return 0;
    if (exact == 0) return got == 0 && std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
    if (std::isinf(got) || std::isnan(got)) {  // overflow a rounding early
        return std::isinf(got) && std::abs(exact) > Long(std::numeric_limits<T>::max()) * (1 - 1e-7L) ? 1 : INFINITY;
    }
    int exponent;
    std::frexp(magnitude, &exponent);
    const int lowest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;
    const Long ulp = std::ldexp(Long(1), std::max(exponent - std::numeric_limits<T>::digits, lowest));
    return static_cast<double>(std::abs(Long(got) - exact) / ulp);
}

template <typename T>
void expect_accurate(ScalarOp op, Units units, const std::vector<T>& x, const std::vector<T>& y) {
    const Recipe* found = recipe(op, sizeof(T) == 4 ? DType::float32 : DType::float64, units);
    ASSERT_NE(found, nullptr);
    std::vector<T> got(x.size());
    interpret(*found, x.data(), y.data(), got.data(), x.size());
    const bool may_vanish = op == ScalarOp::exp || op == ScalarOp::exp2 || op == ScalarOp::sigmoid;
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); i++) {
        const Long exact = reference(op, x[i], y[i]);
        if (may_vanish && got[i] == 0 && exact < std::numeric_limits<T>::min()) continue;
        const double error = error_in_ulps(got[i], exact, magnitude(op, x[i], exact));
        if (!(error <= worst)) worst = error, at = i;
    }
    testing::Test::RecordProperty(std::string(info(op).name), std::to_string(worst));
    EXPECT_LE(worst, info(op).ulps) << info(op).name << (sizeof(T) == 4 ? " float32" : " float64")
                                    << (units == Units::plain ? "" : " with parts") << " at " << x[at] << ", " << y[at]
                                    << ": " << got[at] << " for " << double(reference(op, x[at], y[at]));
}

template <typename T>
std::vector<T> special_values() {
    using L = std::numeric_limits<T>;
    std::vector<T> values = {0,
                             1,
                             2,
                             3,
                             T(0.5),
                             T(0.3),
                             T(0.75),
                             T(1.5),
                             T(2.5),
                             7,
                             10,
                             100,
                             L::infinity(),
                             L::max(),
                             L::min(),
                             L::denorm_min(),
                             L::min() / 8,
                             L::epsilon(),
                             T(1) - L::epsilon() / 2,
                             T(1) + L::epsilon(),
                             T(1e9),
                             T(0x1p52),
                             T(0x1p53) - 1,
                             T(0x1p23) + 1,
                             T(0x1p24),
                             T(88.7),
                             T(89),
                             T(104),
                             T(709.7),
                             T(745.2)};
    for (size_t i = 0, n = values.size(); i < n; i++) values.push_back(-values[i]);
    values.push_back(L::quiet_NaN());
    return values;
}

template <typename T>
void expect_accurate(ScalarOp op, const std::vector<T>& x, const std::vector<T>& y) {
    for (Units units : {Units::plain, Units::parts_of_floats}) expect_accurate(op, units, x, y);
}

class Functions : public testing::TestWithParam<ScalarOp> {};

TEST_P(Functions, SingleOverAllBitPatterns) {
    std::vector<float> x, y;
    std::mt19937 random(1);
    for (uint64_t pattern = 0; pattern < (uint64_t{1} << 32); pattern += 20011) {
        x.push_back(std::bit_cast<float>(static_cast<uint32_t>(pattern)));
        y.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    }
    std::uniform_real_distribution<float> uniform(-12, 12);
    for (int i = 0; i < 200000; i++) x.push_back(uniform(random)), y.push_back(uniform(random));
    expect_accurate(GetParam(), x, y);
}

TEST_P(Functions, Double) {
    std::vector<double> x, y;
    std::mt19937_64 random(2);
    for (int i = 0; i < 30000; i++) {
        x.push_back(std::bit_cast<double>(static_cast<uint64_t>(random())));
        y.push_back(std::bit_cast<double>(static_cast<uint64_t>(random())));
    }
    for (double width : {1.0, 3.0, 40.0, 700.0}) {
        std::uniform_real_distribution<double> uniform(-width, width);
        for (int i = 0; i < 20000; i++) x.push_back(uniform(random)), y.push_back(uniform(random));
    }
    std::uniform_real_distribution<double> near_one(0.5, 2), large(-400, 400);
    for (int i = 0; i < 20000; i++) x.push_back(near_one(random)), y.push_back(large(random));
    expect_accurate(GetParam(), x, y);
}

TEST_P(Functions, SpecialValues) {
    const auto singles = special_values<float>();
    const auto doubles = special_values<double>();
    std::vector<float> x, y;
    for (float a : singles)
        for (float b : singles) x.push_back(a), y.push_back(b);
    expect_accurate(GetParam(), x, y);
    std::vector<double> u, v;
    for (double a : doubles)
        for (double b : doubles) u.push_back(a), v.push_back(b);
    expect_accurate(GetParam(), u, v);
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(with_recipes()),
                         [](const auto& parameter) { return std::string(heddle::info(parameter.param).name); });

// Far from zero, where a rounding of the reduced angle shows: among them 6381956970095103 * 2^797, of all float64 the
// nearest to a multiple of pi / 2 (Muller, Elementary Functions), and numbers next to the switch between reductions.
TEST(Functions, AnglesToTheEndOfTheRange) {
    std::vector<double> x = {
        6381956970095103.0 * 0x1p797,      0x1p50, 0x1.0000000000001p50, 0x1.fffffffffffffp49, 1e16, 2.7e15, 1e22,
        std::numeric_limits<double>::max()};
    std::mt19937_64 random(3);
    for (int exponent = 50; exponent < 1024; exponent++) {
        for (int i = 0; i < 40; i++)
            x.push_back(std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, exponent));
    }
    for (size_t i = 0, n = x.size(); i < n; i++) x.push_back(-x[i]);
    std::vector<float> y;
    for (double angle : x) y.push_back(static_cast<float>(std::fmod(angle, 3e38)));
    for (ScalarOp op : {ScalarOp::sin, ScalarOp::cos, ScalarOp::tan}) {
        expect_accurate(op, x, x);
        expect_accurate(op, y, y);
    }
}

// By it schedules choose how often a term is written out. A step on doubles is two instructions beside float32's one.
TEST(Functions, SizesAreThoseOfTheRecipes) {
    const auto is_free = [](const Step& step) {
        return step.primitive == Primitive::constant || step.primitive == Primitive::argument ||
               step.primitive == Primitive::bits_of || step.primitive == Primitive::float_of_bits;
    };
    const auto is_double = [](const Step& step) {
        return step.type == StepType::float64 || step.type == StepType::int64 || step.type == StepType::mask64;
    };
    for (ScalarOp op : with_recipes()) {
        const Recipe& made = *recipe(op, DType::float32, Units::parts_of_floats);
        int64_t size = 0;
        for (size_t i = 0; i < made.steps.size(); i++) {
            const bool rare = std::ranges::any_of(
                made.rare, [&](const RareSteps& steps) { return steps.first <= i && i < steps.last; });
            if (!rare && !is_free(made.steps[i])) size += is_double(made.steps[i]) ? 2 : 1;
        }
        EXPECT_NEAR(size, heddle::info(op).size, 2 + size / 20) << heddle::info(op).name;
    }
}

// C has no digamma to hold ours against: it is, at some points, what tables say, and elsewhere differences of lgamma's.
TEST(Functions, TheMeaningOfDigamma) {
    constexpr Long euler = 0.57721566490153286060651209008240243L, log_2 = 0.69314718055994530941723212145817657L;
    using scalar_functions::psi;
    EXPECT_NEAR(double(psi(Long(1)) + euler), 0, 4e-18);
    EXPECT_NEAR(double(psi(Long(0.5)) + euler + 2 * log_2), 0, 4e-18);
    EXPECT_NEAR(double(psi(Long(-0.5)) + euler + 2 * log_2 - 2), 0, 4e-18);
    EXPECT_TRUE(std::isnan(psi(-3.0)) && std::isnan(psi(-std::numeric_limits<double>::infinity())));
    EXPECT_EQ(psi(0.0), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(psi(-0.0), std::numeric_limits<double>::infinity());
    const Long step = 0x1p-9L;
    for (Long x : {0.3L, 1.4L, 1.46L, 2.7L, 9.0L, 80.5L, 3e4L, -0.4L, -2.55L, -17.6L}) {
        auto at = [&](int steps) { return scalar_functions::log_gamma(x + static_cast<Long>(steps) * step); };
        const Long slope = (45 * (at(1) - at(-1)) - 9 * (at(2) - at(-2)) + (at(3) - at(-3))) / (60 * step);
        EXPECT_NEAR(double(psi(x)), double(slope), 1e-9) << double(x);
    }
}

// Kernels know the functions of rare steps by their names: operations have one in common where they do the same, as
// with the angles that lie far from zero.
TEST(Functions, RareStepsHaveNamesOfTheirOwn) {
    const std::set<ScalarOp> angles = {ScalarOp::sin, ScalarOp::cos, ScalarOp::tan};
    for (DType type : {DType::float32, DType::float64}) {
        for (Units units : {Units::plain, Units::parts_of_floats}) {
            std::set<std::string> names;
            size_t others = 0;
            for (ScalarOp op : with_recipes()) {
                for (const RareSteps& rare : recipe(op, type, units)->rare) {
                    EXPECT_EQ(rare.name == "sin_far_angle", angles.contains(op)) << heddle::info(op).name;
                    const bool is_new = names.insert(rare.name).second;
                    EXPECT_TRUE(is_new || angles.contains(op)) << rare.name;
                    others += !angles.contains(op);
                }
            }
            EXPECT_EQ(names.size(), others + 1);
            EXPECT_TRUE(names.contains("lgamma_below_zero") && names.contains("digamma_below_zero"));
        }
    }
}

// Whatever order a compiler evaluates arguments in while it writes a recipe.
TEST(Functions, SelectionsFollowRareSteps) {
    for (DType type : {DType::float32, DType::float64}) {
        for (Units units : {Units::plain, Units::parts_of_floats}) {
            for (ScalarOp op : with_recipes()) {
                const Recipe& made = *recipe(op, type, units);
                for (const RareSteps& rare : made.rare) {
                    ASSERT_LE(rare.last + rare.selections, made.steps.size());
                    for (size_t i = rare.last; i < rare.last + rare.selections; i++) {
                        EXPECT_EQ(made.steps[i].primitive, Primitive::select) << rare.name;
                        EXPECT_EQ(made.steps[i].operands[0], rare.mask) << rare.name;
                    }
                }
            }
        }
    }
}

// What float32 alone gives, of everything but subnormal results (which such devices may flush) and far angles.
TEST(Functions, SingleUnitsAreNearlyAsAccurate) {
    std::mt19937 random(4);
    std::vector<float> x, y;
    for (int i = 0; i < 100000; i++) {
        x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
        y.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    }
    for (float width : {1.0f, 12.0f, 80.0f, 9000.0f}) {
        std::uniform_real_distribution<float> uniform(-width, width);
        for (int i = 0; i < 50000; i++) x.push_back(uniform(random)), y.push_back(uniform(random) / 100);
    }
    for (float a : special_values<float>())
        for (float b : special_values<float>()) x.push_back(a), y.push_back(b);
    const std::set<ScalarOp> angles = {ScalarOp::sin, ScalarOp::cos, ScalarOp::tan};
    for (ScalarOp op : with_recipes()) {
        const Recipe* found = recipe(op, DType::float32, Units::single);
        EXPECT_EQ(found == nullptr, op == ScalarOp::log_gamma || op == ScalarOp::digamma);
        if (!found) continue;
        for (const Step& step : found->steps) ASSERT_NE(step.type, StepType::float64) << heddle::info(op).name;
        std::vector<float> got(x.size());
        interpret(*found, x.data(), y.data(), got.data(), x.size());
        double worst = 0;
        size_t at = 0;
        for (size_t i = 0; i < x.size(); i++) {
            if (angles.contains(op) && std::abs(x[i]) > single_angle) continue;
            const Long exact = reference(op, x[i], y[i]);
            if (std::abs(exact) < 0x1p-126L && exact != 0) continue;
            const double error = error_in_ulps(got[i], exact, exact);
            if (error > worst) worst = error, at = i;
        }
        EXPECT_LE(worst, heddle::info(op).ulps)
            << heddle::info(op).name << " at " << x[at] << ", " << y[at] << ": " << got[at];
    }
}

TEST(Functions, InstructionsHaveNoRecipe) {
    EXPECT_EQ(recipe(ScalarOp::add, DType::float32, Units::plain), nullptr);
    EXPECT_EQ(recipe(ScalarOp::exp, DType::int32, Units::plain), nullptr);
}

}  // namespace
}  // namespace heddle::codegen
