// Bounds really bound: random float bodies in float against double, within e (and not only 4 e).
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "body_builder.h"
#include "evaluate/compare.h"

namespace heddle {
namespace {

class FloatBody {
public:
    explicit FloatBody(unsigned seed) : random_(seed) {
        i_ = b.variable("i", 6);
        j_ = b.variable("j", 11);
        scope_ = {i_, j_};
        TensorData x(DType::float32, {6, 11});
        for (int64_t n = 0; n < x.size(); n++)
            x.mutable_as<float>()[n] = static_cast<float>(pick(20001) - 10000) / 3333.0f;
        inputs.push_back(x);
        NodeId value = expression(4);
        b.equation(0, {i_, j_}, {b.at(i_), b.at(j_)}, value);
    }
    BodyBuilder b;
    std::vector<TensorData> inputs;

private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    NodeId coordinate(int64_t extent) {
        return b.scalar(
            ScalarOp::modulo,
            {b.plus(b.at(scope_[static_cast<size_t>(pick(static_cast<int>(scope_.size())))]), b.integer(pick(5))),
             b.integer(extent)});
    }
    NodeId expression(int depth) {
        if (depth <= 0)
            return pick(3) ? b.read(0, DType::float32, {coordinate(6), coordinate(11)}) : b.real(pick(100) / 7.0 - 5);
        static const ScalarOp binary[] = {ScalarOp::add,
                                          ScalarOp::subtract,
                                          ScalarOp::multiply,
                                          ScalarOp::divide,
                                          ScalarOp::minimum,
                                          ScalarOp::maximum,
                                          ScalarOp::atan2,
                                          ScalarOp::power,
                                          ScalarOp::modulo,
                                          ScalarOp::floor_divide,
                                          ScalarOp::truncate_remainder};
        static const DType cast_types[] = {DType::float16, DType::float8e4m3fn, DType::float8e5m2, DType::int32};
        static const ScalarOp unary[] = {
            ScalarOp::negate, ScalarOp::absolute, ScalarOp::sign,  ScalarOp::floor, ScalarOp::ceil,
            ScalarOp::round,  ScalarOp::truncate, ScalarOp::sqrt,  ScalarOp::rsqrt, ScalarOp::reciprocal,
            ScalarOp::exp,    ScalarOp::exp2,     ScalarOp::expm1, ScalarOp::log,   ScalarOp::log2,
            ScalarOp::log1p,  ScalarOp::sin,      ScalarOp::cos,   ScalarOp::tan,   ScalarOp::asin,
            ScalarOp::acos,   ScalarOp::atan,     ScalarOp::sinh,  ScalarOp::cosh,  ScalarOp::tanh,
            ScalarOp::asinh,  ScalarOp::acosh,    ScalarOp::atanh, ScalarOp::erf,   ScalarOp::sigmoid};
        switch (pick(8)) {
        case 0: {
            auto k = b.reduced("k", pick(2) ? 9 : 150);
            scope_.push_back(k);
            static const Reducer reducers[] = {Reducer::sum, Reducer::sum, Reducer::minimum, Reducer::maximum,
                                               Reducer::argument_maximum};
            Reducer reducer = reducers[pick(5)];
            NodeId term = expression(depth - 1);
            NodeId filter = pick(3) ? no_id : b.scalar(ScalarOp::less, {expression(depth - 2), b.real(1)});
            scope_.pop_back();
            if (is_argument(reducer)) return b.cast(DType::float32, b.reduce(reducer, {k}, term));
            return b.reduce(reducer, {k}, term, filter);
        }
        case 1:
            return b.select(b.scalar(ScalarOp::less, {expression(depth - 1), expression(depth - 2)}),
                            expression(depth - 1), expression(depth - 1));
        case 2: return b.cast(DType::float32, b.cast(cast_types[static_cast<size_t>(pick(4))], expression(depth - 1)));
        case 3:
        case 4: return b.scalar(unary[static_cast<size_t>(pick(30))], {expression(depth - 1)});
        default:
            return b.scalar(binary[static_cast<size_t>(pick(pick(3) ? 4 : 11))],
                            {expression(depth - 1), expression(depth - 1)});
        }
    }
    std::mt19937 random_;
    VariableId i_, j_;
    std::vector<VariableId> scope_;
};

TEST(Bounded, BoundsBound) {
    int64_t compared = 0, undecided = 0, outside = 0;
    for (unsigned seed = 0; seed < 800; seed++) {
        FloatBody random(seed);
        std::vector<TensorData> single = {TensorData(DType::float32, {6, 11})},
                                exact = {TensorData(DType::float64, {6, 11})};
        std::vector<BoundedTensor> bounded = {
            {TensorData(DType::float64, {6, 11}), TensorData(DType::float64, {6, 11})}};
        std::string text = "seed " + std::to_string(seed) + "\n" + print(random.b.body, {"x"}, {"y"});
        ASSERT_TRUE(evaluate_body(random.b.body, random.inputs, single, Precision::body)) << text;
        ASSERT_TRUE(evaluate_body(random.b.body, random.inputs, exact, Precision::exact)) << text;
        ASSERT_TRUE(evaluate_body_bounded(random.b.body, {{random.inputs[0], {}}}, bounded)) << text;
        BoundedComparison comparison = compare_bounded(single[0], bounded[0]);
        ASSERT_TRUE(comparison.equal) << text << comparison.text() << "\nfound " << single[0].real_at(comparison.worst)
                                      << " expected " << bounded[0].value.real_at(comparison.worst) << " e "
                                      << bounded[0].bound.real_at(comparison.worst);
        for (int64_t n = 0; n < 66; n++) {
            double e = bounded[0].bound.real_at(n), value = bounded[0].value.real_at(n);
            ASSERT_GE(e, 0) << text;
            // The bounded run's value is the exact run's, up to the order of sums in double.
            double tolerance = 1e-9 * std::fabs(value);
            ASSERT_TRUE(e == HUGE_VAL || value == exact[0].real_at(n) || std::isnan(value) ||
                        std::fabs(value - exact[0].real_at(n)) <= tolerance)
                << text;
            compared++;
            if (e == HUGE_VAL) {
                undecided++;
            } else if (!(std::fabs(single[0].real_at(n) - value) <= e) && std::isfinite(value)) {
                outside++;
            }
        }
    }
    EXPECT_LT(undecided, compared / 2);
    EXPECT_LE(outside, compared / 1000);  // functions' stated accuracy is ours, not the C library's
}

// A product whose terms leave the range of their type on the way: in some order that is an infinity, and then no number.
TEST(Bounded, ProductsThatLeaveTheirRangeAreUndecided) {
    auto bound_of = [](const std::vector<float>& terms) {
        BodyBuilder b;
        const VariableId i = b.variable("i", 1), k = b.reduced("k", static_cast<int64_t>(terms.size()));
        b.equation(0, {i}, {b.at(i)}, b.reduce(Reducer::product, {k}, b.read(0, DType::float32, {b.at(k)})));
        TensorData x(DType::float32, {static_cast<int64_t>(terms.size())});
        for (size_t n = 0; n < terms.size(); n++) x.mutable_as<float>()[n] = terms[n];
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {1}), TensorData(DType::float64, {1})}};
        EXPECT_TRUE(evaluate_body_bounded(b.body, {{x, {}}}, bounded));
        return bounded[0].bound.real_at(0);
    };
    EXPECT_EQ(bound_of({1e30f, 1e30f, 0}), HUGE_VAL);
    EXPECT_EQ(bound_of({1e30f, 1e-30f, 1e30f}), HUGE_VAL);
    EXPECT_GE(bound_of({1e-30f, 1e-30f, 1e30f}), 1e-10);  // or it is 0
    EXPECT_LE(bound_of({2, 3, -5}), 1e-4);
    EXPECT_LE(bound_of({1e-30f, 1e30f, 7}), 1e-4);
}

// A factor may be multiplied behind the sum, and the sum without it leave the type: an infinity, and times 0 no number.
TEST(Bounded, SumsOfLargeFactorsAreUndecided) {
    auto bound_of = [](double large, int64_t terms) {
        BodyBuilder b;
        const VariableId i = b.variable("i", 1), k = b.reduced("k", terms);
        const NodeId factor = b.read(0, DType::float32, {b.at(i)}), other = b.read(1, DType::float32, {b.at(k)});
        const NodeId term = b.scalar(ScalarOp::multiply, {factor, other});
        b.equation(0, {i}, {b.at(i)}, b.reduce(Reducer::sum, {k}, term));
        TensorData zero(DType::float32, {1}), factors(DType::float32, {terms});
        for (int64_t n = 0; n < terms; n++) factors.set_real(n, large);
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {1}), TensorData(DType::float64, {1})}};
        EXPECT_TRUE(evaluate_body_bounded(b.body, {{zero, {}}, {factors, {}}}, bounded));
        EXPECT_EQ(bounded[0].value.real_at(0), 0);
        return bounded[0].bound.real_at(0);
    };
    for (int64_t terms : {3, 80, 5000}) {
        EXPECT_EQ(bound_of(3e38, terms), HUGE_VAL) << terms;
        EXPECT_EQ(bound_of(3e34, terms), 0) << terms;
    }
}

// Infinity times what may be zero, but for rounding, may be an infinity or no number; times what is zero it is the latter.
TEST(Bounded, InfinityTimesWhatMayBeZeroIsUndecided) {
    auto bound_of = [](double e) {
        BodyBuilder b;
        const VariableId i = b.variable("i", 1);
        const NodeId product = b.scalar(ScalarOp::multiply, {b.read(0, DType::float32, {b.at(i)}), b.real(-INFINITY)});
        b.equation(0, {i}, {b.at(i)}, product);
        TensorData zero(DType::float32, {1}), bound(DType::float64, {1});
        bound.set_real(0, e);
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {1}), TensorData(DType::float64, {1})}};
        EXPECT_TRUE(evaluate_body_bounded(b.body, {{zero, bound}}, bounded));
        EXPECT_TRUE(std::isnan(bounded[0].value.real_at(0)));
        return bounded[0].bound.real_at(0);
    };
    EXPECT_EQ(bound_of(0), 0);
    EXPECT_EQ(bound_of(1e-9), HUGE_VAL);
}

// What may be anything may be no number, too: a function with ends says nothing of it. A cast to a type without infinities
// gives such values.
TEST(Bounded, FunctionsWithEndsOfWhatMayBeAnythingAreUndecided) {
    for (ScalarOp op : {ScalarOp::sigmoid, ScalarOp::tanh, ScalarOp::erf, ScalarOp::atan, ScalarOp::sign, ScalarOp::sin,
                        ScalarOp::cos}) {
        BodyBuilder b;
        const VariableId i = b.variable("i", 1);
        const NodeId narrow = b.cast(DType::float8e4m3fn, b.read(0, DType::float32, {b.at(i)}));
        b.equation(0, {i}, {b.at(i)}, b.scalar(op, {b.cast(DType::float32, narrow)}));
        TensorData nearly_too_large(DType::float32, {1}), bound(DType::float64, {1});
        nearly_too_large.set_real(0, 463);
        bound.set_real(0, 2);
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {1}), TensorData(DType::float64, {1})}};
        EXPECT_TRUE(evaluate_body_bounded(b.body, {{nearly_too_large, bound}}, bounded));
        EXPECT_EQ(bounded[0].bound.real_at(0), HUGE_VAL) << info(op).name;
    }
}

// A function may give zero below the normal numbers: also where only its operand's error may take the result there.
TEST(Bounded, AFunctionMayGiveZeroWhereItsResultMayBeSubnormal) {
    auto bound_of = [](double x) {
        BodyBuilder b;
        const VariableId i = b.variable("i", 1);
        b.equation(0, {i}, {b.at(i)}, b.scalar(ScalarOp::exp, {b.read(0, DType::float32, {b.at(i)})}));
        TensorData operand(DType::float32, {1}), bound(DType::float64, {1});
        operand.set_real(0, x);
        bound.set_real(0, 1e-5);
        std::vector<BoundedTensor> bounded = {{TensorData(DType::float64, {1}), TensorData(DType::float64, {1})}};
        EXPECT_TRUE(evaluate_body_bounded(b.body, {{operand, bound}}, bounded));
        return bounded[0].bound.real_at(0);
    };
    const double least = std::log(0x1p-126);
    EXPECT_GE(bound_of(least + 2e-6), 0x1p-126);  // a normal number
    EXPECT_GE(bound_of(least - 2e-6), 0x1p-126);
    EXPECT_LT(bound_of(least + 1e-3), 0x1p-130);
}

}  // namespace
}  // namespace heddle
