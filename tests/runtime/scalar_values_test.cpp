// Values of scalar operations that code once computed otherwise than the evaluator or the field's other tools, through
// the whole thread: compiled, interpreted, and as constants.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "evaluate/evaluate.h"
#include "helpers/running.h"

namespace heddle::runtime {
namespace {

TensorData tensor(DType dtype, const std::vector<double>& values) {
    TensorData data(dtype, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_real(static_cast<int64_t>(i), values[i]);
    return data;
}

void expect_values(const TensorData& found, const std::vector<double>& expected, const std::string& what) {
    for (size_t i = 0; i < expected.size(); i++) {
        const double value = found.real_at(static_cast<int64_t>(i));
        const double unit = found.dtype() == DType::float64 ? 0x1p-52 : 0x1p-23;
        EXPECT_TRUE(value == expected[i] || (std::isnan(value) && std::isnan(expected[i])) ||
                    std::abs(value - expected[i]) <= 4 * unit * std::abs(expected[i]))
            << what << " element " << i << ": " << value << " instead of " << expected[i];
    }
}

void expect_call(const std::string& name, const std::vector<TensorData>& operands,
                 const std::vector<double>& expected) {
    for (bool constant : {false, true}) {
        heddle::Session session(library());
        std::vector<Argument> arguments;
        for (size_t i = 0; i < operands.size(); i++) {
            const std::string input = "x" + std::to_string(i);
            const TensorType type{operands[i].dtype(), {operands[i].shape().begin(), operands[i].shape().end()}};
            arguments.push_back(constant ? session.add_constant(input, operands[i]) : session.add_input(input, type));
        }
        const Graph graph = session.finish({call(session, name, arguments)});
        const std::vector<TensorData> feeds = constant ? std::vector<TensorData>() : operands;
        auto reference = evaluate_graph(graph, feeds, Precision::body);
        ASSERT_TRUE(reference) << render(reference.error());
        expect_values((*reference)[static_cast<size_t>(graph.outputs[0])], expected, name + " interpreted");
        auto executable = compiled(plan_of(graph));
        ASSERT_TRUE(executable);
        auto found = Session(executable, std::make_shared<ThreadPool>(1)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        expect_values((*found)[0], expected, name + (constant ? " of constants" : " compiled"));
    }
}

TEST(ScalarValues, AnglesFarFromZero) {
    const std::vector<double> angles = {1e16, -2.7e15, 1e22, 0x1p100, 3, 3e38, 0x1.fffffffffffffp49};
    for (DType dtype : {DType::float32, DType::float64}) {
        const TensorData x = tensor(dtype, angles);
        std::vector<double> sines, cosines, tangents;
        for (int64_t i = 0; i < x.size(); i++) {
            sines.push_back(std::sin(x.real_at(i)));
            cosines.push_back(std::cos(x.real_at(i)));
            tangents.push_back(std::tan(x.real_at(i)));
        }
        expect_call("sin", {x}, sines);
        expect_call("cos", {x}, cosines);
        expect_call("tan", {x}, tangents);
    }
    expect_call("sin", {tensor(DType::float64, {HUGE_VAL, -HUGE_VAL, NAN, 1e300})}, {NAN, NAN, NAN, std::sin(1e300)});
}

TEST(ScalarValues, PowersOfIntegersByFractions) {
    const TensorData base = tensor(DType::int32, {4, 27, 2, -8}),
                     exponent = tensor(DType::float32, {0.5, 1.0f / 3, -1, 3});
    expect_call("power_mixed", {base, exponent}, {2, 3, 0, -512});
    expect_call("power_mixed", {base, tensor(DType::int64, {2, 1, 10, 3})}, {16, 27, 1024, -512});
    expect_call("power_mixed", {tensor(DType::float32, {2, 9}), tensor(DType::float64, {0.5, 0.5})},
                {std::sqrt(2.0f), 3});
}

// Divisors just below a power of two, and quotients of any size.
TEST(ScalarValues, RemaindersAreExact) {
    std::mt19937_64 random(7);
    for (DType dtype : {DType::float32, DType::float64}) {
        const bool wide = dtype == DType::float64;
        std::vector<double> dividends, divisors, expected;
        for (int i = 0; i < 4000; i++) {
            const auto number = [&](double mantissa, int range) {
                const double made = std::ldexp(mantissa, static_cast<int>(random() % static_cast<uint64_t>(range)));
                return wide ? made : static_cast<double>(static_cast<float>(made));
            };
            std::uniform_real_distribution<double> mantissas(1, 2);
            const double below = i % 2 ? 2 - std::ldexp(static_cast<double>(random() % 4096), -20) : mantissas(random);
            dividends.push_back(number(mantissas(random), wide ? 900 : 120));
            divisors.push_back(number(std::min(below, 2 - 0x1p-20), wide ? 300 : 40));
            expected.push_back(std::fmod(dividends.back(), divisors.back()));
        }
        expect_call("mod", {tensor(dtype, dividends), tensor(dtype, divisors)}, expected);
    }
}

// -2 as an unsigned integer of 64 bits is no small number.
TEST(ScalarValues, NegativeNumbersAsUnsignedOnes) {
    heddle::Session session(library());
    const TensorId x = session.add_input("x", {DType::int16, {Size(5)}});
    const std::map<std::string, StaticValue> to = {{"to", StaticValue::of(DType::uint64)}};
    const TensorId wide = call(session, "cast", {x}, to);
    TensorData limit(DType::uint64, {1});
    limit.set_integer(0, 44);
    const TensorId below = call(session, "less", {wide, session.add_constant("limit", limit)});
    const Graph graph = session.finish({below});
    const TensorData feed = tensor(DType::int16, {-2, -32768, 3, 44, 43});
    auto found = Session(compiled(plan_of(graph)), std::make_shared<ThreadPool>(1)).run({feed});
    ASSERT_TRUE(found) << render(found.error());
    expect_values((*found)[0], {0, 0, 1, 0, 1}, "less");
}

TEST(ScalarValues, FlooredQuotientsOfInfinity) {
    for (DType dtype : {DType::float32, DType::float64}) {
        const TensorData a = tensor(dtype, {HUGE_VAL, -HUGE_VAL, HUGE_VAL, 7, -7, 1, 0, -0.0});
        const TensorData b = tensor(dtype, {2, 2, HUGE_VAL, 2, 2, 0, 0, 5});
        expect_call("floor_div", {a, b}, {NAN, NAN, NAN, 3, -4, HUGE_VAL, NAN, 0});
    }
}

}  // namespace
}  // namespace heddle::runtime
