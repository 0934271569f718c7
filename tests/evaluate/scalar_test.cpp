// Every scalar operation and every cast on edge values, against the naive interpreter; and the rules that it could
// share a mistake on.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "body_builder.h"
#include "evaluate/evaluate.h"
#include "graph/verify.h"
#include "naive.h"

namespace heddle {
namespace {

std::vector<double> edge_reals() {
    const double infinity = HUGE_VAL;
    return {0.0,    -0.0,     1,         -1,          0.5,  -0.5,  1.5,   2.5,          -2.5,          3,
            -7,     0.1,      100,       -100,        1e30, -1e30, 1e-40, 2147483648.0, -2147483649.0, 9.3e18,
            1.9e19, infinity, -infinity, std::nan("")};
}

// All pairs of edge values of a type, as two tensors.
std::vector<TensorData> edge_pairs(DType dtype) {
    std::vector<int64_t> integers = {0,        1,         -1,        2,         3,         -3,
                                     7,        31,        63,        64,        100,       INT8_MIN,
                                     INT8_MAX, INT16_MIN, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    auto reals = edge_reals();
    auto n = static_cast<int64_t>(is_float(dtype) ? reals.size() : is_bool(dtype) ? 2 : integers.size());
    TensorData a(dtype, {n * n}), b(dtype, {n * n});
    for (int64_t i = 0; i < n * n; i++) {
        auto first = static_cast<size_t>(i / n), second = static_cast<size_t>(i % n);
        if (is_float(dtype)) {
            a.set_real(i, reals[first]);
            b.set_real(i, reals[second]);
        } else {
            a.set_integer(i, is_bool(dtype) ? i / n : integers[first]);
            b.set_integer(i, is_bool(dtype) ? i % n : integers[second]);
        }
    }
    return {a, b};
}

bool close(double x, double y, DType dtype, bool function) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (x == y) return std::signbit(x) == std::signbit(y);
    double unit = dtype == DType::float64 ? 0x1p-52 : 0x1p-23;
    return function && std::fabs(x - y) <= 4 * unit * std::max(std::fabs(x), 0x1p-126);
}

void check_op(ScalarOp op, DType dtype) {
    auto inputs = edge_pairs(dtype);
    BodyBuilder b;
    auto i = b.variable("i", inputs[0].size());
    std::vector<NodeId> operands = {b.read(0, dtype, {b.at(i)})};
    while (operands.size() < static_cast<size_t>(info(op).operands)) operands.push_back(b.read(1, dtype, {b.at(i)}));
    NodeId value = b.scalar(op, operands);
    b.equation(0, {i}, {b.at(i)}, value);
    std::vector<TensorData> found = {TensorData(b.type(value), {inputs[0].size()})}, expected = {found[0].clone()};
    ASSERT_TRUE(Naive(b.body, inputs).run(expected)) << info(op).name << " " << name(dtype);
    auto done = evaluate_body(b.body, inputs, found, Precision::body);
    ASSERT_TRUE(done) << render(done.error());
    bool function = info(op).ulps > 0.5 || op == ScalarOp::rsqrt || op == ScalarOp::modulo;
    for (int64_t n = 0; n < found[0].size(); n++) {
        if (is_float(found[0].dtype())) {
            bool zero_sign_free =
                op == ScalarOp::sign || op == ScalarOp::modulo || op == ScalarOp::minimum || op == ScalarOp::maximum;
            double x = found[0].real_at(n), y = expected[0].real_at(n);
            ASSERT_TRUE((zero_sign_free && x == y) || close(x, y, dtype, function))
                << info(op).name << " " << name(dtype) << " of " << inputs[0].real_at(n) << ", " << inputs[1].real_at(n)
                << ": " << x << " expected " << y;
        } else {
            ASSERT_EQ(found[0].integer_at(n), expected[0].integer_at(n))
                << info(op).name << " " << name(dtype) << " of " << inputs[0].integer_at(n) << ", "
                << inputs[1].integer_at(n);
        }
    }
}

bool accepted(ScalarOp op, DType dtype) {
    BodyBuilder b;
    auto i = b.variable("i", 1);
    std::vector<NodeId> operands(static_cast<size_t>(info(op).operands), b.read(0, dtype, {b.at(i)}));
    NodeId value = b.scalar(op, operands);
    b.equation(0, {i}, {b.at(i)}, value);
    return verify(b.body, {{dtype, {1}}}, {{b.type(value), {1}}}).has_value();
}

TEST(Scalar, EveryOperationOnEdgeValues) {
    int checked = 0;
    for (int op = 0; op <= static_cast<int>(ScalarOp::is_infinite); op++) {
        for (const DTypeInfo& row : all_dtypes()) {
            if (is_complex(row.dtype) || !accepted(static_cast<ScalarOp>(op), row.dtype)) continue;
            check_op(static_cast<ScalarOp>(op), row.dtype);
            checked++;
        }
    }
    EXPECT_GT(checked, 250);
}

TEST(Scalar, EveryCastOnEdgeValues) {
    for (const DTypeInfo& from : all_dtypes()) {
        for (const DTypeInfo& to : all_dtypes()) {
            if (is_complex(from.dtype) || is_complex(to.dtype)) continue;
            auto inputs = edge_pairs(from.dtype);
            BodyBuilder b;
            auto i = b.variable("i", inputs[0].size());
            b.equation(0, {i}, {b.at(i)}, b.cast(to.dtype, b.read(0, from.dtype, {b.at(i)})));
            std::vector<TensorData> found = {TensorData(to.dtype, {inputs[0].size()})}, expected = {found[0].clone()};
            ASSERT_TRUE(Naive(b.body, inputs).run(expected));
            auto done = evaluate_body(b.body, inputs, found, Precision::body);
            ASSERT_TRUE(done) << from.name << " to " << to.name << "\n" << render(done.error());
            for (int64_t n = 0; n < found[0].size(); n++) {
                if (is_float(to.dtype)) {
                    ASSERT_TRUE(close(found[0].real_at(n), expected[0].real_at(n), to.dtype, false))
                        << from.name << " to " << to.name << " of " << inputs[0].real_at(n) << ": "
                        << found[0].real_at(n) << " expected " << expected[0].real_at(n);
                } else {
                    ASSERT_EQ(found[0].integer_at(n), expected[0].integer_at(n))
                        << from.name << " to " << to.name << " of " << inputs[0].real_at(n);
                }
            }
        }
    }
}

// The value of one operation on literals.
double value_of(ScalarOp op, DType dtype, double a, double b) {
    BodyBuilder builder;
    auto literal = [&](double value) {
        return is_float(dtype) ? builder.real(value, dtype) : builder.integer(static_cast<int64_t>(value), dtype);
    };
    std::vector<NodeId> operands = {literal(a)};
    if (info(op).operands == 2) operands.push_back(literal(b));
    NodeId value = builder.scalar(op, operands);
    builder.equation(0, {}, {}, value);
    std::vector<TensorData> outputs = {TensorData(builder.type(value), {})};
    EXPECT_TRUE(evaluate_body(builder.body, {}, outputs, Precision::body));
    return outputs[0].real_at(0);
}

TEST(Scalar, RulesOfTheLanguage) {
    using enum ScalarOp;
    EXPECT_EQ(value_of(add, DType::int8, 127, 1), -128);
    EXPECT_EQ(value_of(multiply, DType::uint8, 16, 17), 16);
    EXPECT_EQ(value_of(floor_divide, DType::int32, -7, 2), -4);
    EXPECT_EQ(value_of(truncate_divide, DType::int32, -7, 2), -3);
    EXPECT_EQ(value_of(modulo, DType::int32, -7, 2), 1);
    EXPECT_EQ(value_of(truncate_remainder, DType::int32, -7, 2), -1);
    EXPECT_EQ(value_of(floor_divide, DType::int32, 7, 0), 0);
    EXPECT_EQ(value_of(modulo, DType::int32, 7, 0), 0);
    EXPECT_EQ(value_of(truncate_remainder, DType::int32, 7, 0), 0);
    EXPECT_EQ(value_of(floor_divide, DType::int32, INT32_MIN, -1), INT32_MIN);
    EXPECT_EQ(value_of(absolute, DType::int8, -128, 0), -128);
    EXPECT_EQ(value_of(modulo, DType::float32, -1, 3), 2);
    EXPECT_EQ(value_of(truncate_remainder, DType::float32, -7, 3), -1);
    EXPECT_EQ(value_of(round, DType::float32, 2.5, 0), 2);
    EXPECT_EQ(value_of(round, DType::float32, -1.5, 0), -2);
    EXPECT_TRUE(std::isnan(value_of(minimum, DType::float32, NAN, 1)));
    EXPECT_TRUE(std::isnan(value_of(maximum, DType::float32, 1, NAN)));
    EXPECT_TRUE(std::signbit(value_of(maximum, DType::float32, -0.0, 0.0)));  // the first wins
    EXPECT_EQ(value_of(shift_left, DType::int8, 1, 7), -128);
    EXPECT_EQ(value_of(shift_left, DType::int8, 1, 8), 0);
    EXPECT_EQ(value_of(shift_right, DType::int8, -128, 100), -1);
    EXPECT_EQ(value_of(power, DType::int32, 3, 4), 81);
    EXPECT_EQ(value_of(power, DType::int32, 2, -1), 0);
}

// A reduction of a float tensor.
struct Reduced {
    bool fine;
    double value;
    std::string code;
};
Reduced reduced(Reducer reducer, std::vector<double> terms, bool filter_all = false) {
    BodyBuilder b;
    TensorData x(DType::float32, {static_cast<int64_t>(terms.size())});
    for (size_t i = 0; i < terms.size(); i++) x.set_real(static_cast<int64_t>(i), terms[i]);
    auto k = b.reduced("k", x.size());
    NodeId term = b.read(0, DType::float32, {b.at(k)});
    NodeId value = b.reduce(reducer, {k}, term, filter_all ? b.integer(0, DType::boolean) : no_id);
    b.equation(0, {}, {}, value);
    std::vector<TensorData> outputs = {TensorData(b.type(value), {})};
    auto done = evaluate_body(b.body, {x}, outputs, Precision::body);
    return {done.has_value(), outputs[0].real_at(0), done ? "" : done.error()[0].code};
}

TEST(Reduction, RulesOfTheLanguage) {
    for (bool filtered : {false, true}) {
        std::vector<double> terms;
        if (filtered) terms = {5, 6};
        EXPECT_EQ(reduced(Reducer::sum, terms, filtered).value, 0);
        EXPECT_EQ(reduced(Reducer::product, terms, filtered).value, 1);
        EXPECT_EQ(reduced(Reducer::maximum, terms, filtered).value, -HUGE_VAL);
        EXPECT_EQ(reduced(Reducer::minimum, terms, filtered).value, HUGE_VAL);
        EXPECT_EQ(reduced(Reducer::argument_maximum, terms, filtered).value, -1);
    }
    for (size_t extra : {size_t{0}, size_t{1000}}) {  // over loops and over lanes
        std::vector<double> terms = {1, 3, 2, 3};
        terms.resize(4 + extra, 1.5);
        EXPECT_EQ(reduced(Reducer::argument_maximum, terms).value, 1);
        EXPECT_EQ(reduced(Reducer::argument_minimum, terms).value, 0);
        terms[2] = NAN;
        EXPECT_EQ(reduced(Reducer::argument_maximum, terms).value, 2);
        EXPECT_EQ(reduced(Reducer::argument_minimum, terms).value, 2);
        EXPECT_TRUE(std::isnan(reduced(Reducer::maximum, terms).value));
        EXPECT_TRUE(std::isnan(reduced(Reducer::minimum, terms).value));
    }
    std::vector<double> tenths(1 << 20, 0.1f);
    EXPECT_NEAR(reduced(Reducer::sum, tenths).value, 0.1f * (1 << 20),
                0.2);  // one serial float accumulator is off by hundreds
}

}  // namespace
}  // namespace heddle
