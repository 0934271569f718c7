// The table of scalar operations, walked: every column of every row, against what uses it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "equations/system.h"
#include "evaluate/bounds.h"
#include "evaluate/evaluate.h"
#include "expr/scalar_interval.h"
#include "gradient/scalar_rules.h"
#include "graph/verify.h"
#include "language/functions.h"
#include "schedules/kernel.h"
#include "schedules/tree.h"

namespace heddle {
namespace {

std::vector<DType> types_of(size_t count, DType dtype) { return std::vector<DType>(count, dtype); }

// ---- one operation on elements of inputs, at each stage

Body body_of(ScalarOp op, DType result, const std::vector<DType>& operands) {
    Body body;
    Node node{.kind = Node::Kind::scalar, .dtype = result, .op = op};
    for (size_t i = 0; i < operands.size(); ++i) {
        body.nodes.push_back({.kind = Node::Kind::read, .dtype = operands[i], .index = static_cast<int32_t>(i)});
        node.operands.push_back(NodeId(i));
    }
    body.nodes.push_back(node);
    body.equations.push_back({.value = next_id<NodeId>(operands)});
    return body;
}

bool body_takes(ScalarOp op, DType result, const std::vector<DType>& operands) {
    std::vector<TensorType> inputs;
    for (DType dtype : operands) inputs.push_back({dtype, {}});
    return verify(body_of(op, result, operands), inputs, {{result, {}}}).has_value();
}

bool system_takes(ScalarOp op, DType result, const std::vector<DType>& operands) {
    using namespace equations;
    System system;
    auto add = [&](DType dtype, SystemTensor::Kind kind) {
        SystemTensor tensor;
        tensor.name = "t";
        tensor.kind = kind;
        tensor.dtype = dtype;
        return system.add_tensor(std::move(tensor));
    };
    std::vector<Expr> reads;
    for (DType dtype : operands) {
        system.inputs.push_back(add(dtype, SystemTensor::Kind::input));
        reads.push_back(system.arena->read(system.inputs.back(), dtype, {}));
    }
    Equation equation;
    equation.tensor = add(result, SystemTensor::Kind::computed);
    equation.right = system.arena->scalar(op, result, reads);
    system.tensor(equation.tensor).is_output = true;
    system.outputs.push_back(equation.tensor);
    system.add_equation(std::move(equation));
    return verify(system).has_value();
}

bool kernel_takes(ScalarOp op, DType result, const std::vector<DType>& operands) {
    using namespace schedules;
    Kernel kernel;
    std::vector<Expr> reads;
    for (size_t i = 0; i < operands.size(); ++i) {
        kernel.tensors.push_back({.name = "x" + std::to_string(i), .dtype = operands[i]});
        reads.push_back(kernel.arena->read(TensorIndex(i), operands[i], {}));
    }
    kernel.tensors.push_back({.name = "y", .role = KernelTensor::Role::output, .dtype = result});
    kernel.equations.push_back(
        {.tensor = next_id<TensorIndex>(operands), .right = kernel.arena->scalar(op, result, reads)});
    return verify(kernel).has_value();
}

bool tree_takes(ScalarOp op, DType result, const std::vector<DType>& operands) {
    using namespace schedules;
    Tree tree;
    tree.name = "one";
    Expression value{.kind = Expression::Kind::scalar, .dtype = result, .op = op};
    for (size_t i = 0; i < operands.size(); ++i) {
        tree.memories.push_back({.name = "x" + std::to_string(i), .dtype = operands[i]});
        Expression load{.kind = Expression::Kind::load, .dtype = operands[i]};
        load.address.memory = MemoryId(i);
        tree.expressions.push_back(load);
        value.operands.push_back(ExpressionId(i));
    }
    tree.memories.push_back({.name = "y", .kind = Memory::Kind::output, .dtype = result});
    tree.expressions.push_back(value);
    Store store;
    store.address.memory = next_id<MemoryId>(operands);
    store.value = next_id<ExpressionId>(operands);
    tree.body.push_back({Phase{.name = "only", .body = {{store}}}});
    return verify(tree).has_value();
}

TEST(ScalarTable, EveryVerifierHasItsTyping) {
    int taken = 0;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        for (const DTypeInfo& of : all_dtypes()) {
            for (const DTypeInfo& result : all_dtypes()) {
                for (size_t count : {1, 2}) {
                    const auto operands = types_of(count, of.dtype);
                    const std::string what(fmt::format("{} of {} {} to {}", row.name, count, of.name, result.name));
                    const bool typed = is_typed(row.op, result.dtype, operands);
                    const bool real = typed && !is_complex(of.dtype) && !is_complex(result.dtype);
                    taken += typed;
                    ASSERT_EQ(is_typed_real(row.op, result.dtype, operands), real) << what;
                    ASSERT_EQ(body_takes(row.op, result.dtype, operands), typed) << what;
                    // An arena makes no operation of another number of operands.
                    if (count == static_cast<size_t>(row.operands)) {
                        ASSERT_EQ(system_takes(row.op, result.dtype, operands), real) << what;
                    }
                    ASSERT_EQ(kernel_takes(row.op, result.dtype, operands), real) << what;
                    ASSERT_EQ(tree_takes(row.op, result.dtype, operands), real) << what;
                }
            }
        }
        const std::vector<DType> mixed = {DType::float32, DType::float64};
        EXPECT_FALSE(is_typed(row.op, result_type(row.op, mixed[0]), mixed)) << row.name;
    }
    EXPECT_GT(taken, 300);
}

// ---- values

std::vector<double> samples(std::mt19937& random, bool whole, double low, double high) {
    std::vector<double> values;
    std::uniform_real_distribution<double> uniform(low, high);
    for (int i = 0; i < 200; ++i) values.push_back(whole ? std::floor(uniform(random)) : uniform(random));
    return values;
}

// The operation on pairs of elements, by the evaluator.
TensorData evaluated(ScalarOp op, DType dtype, const std::vector<double>& a, const std::vector<double>& b) {
    const DType result = result_type(op, dtype);
    std::vector<DType> operands(static_cast<size_t>(info(op).operands), dtype);
    Body body = body_of(op, result, operands);
    const auto count = static_cast<int64_t>(a.size());
    body.variables.push_back({"i", Variable::Kind::index, count});
    body.nodes.insert(body.nodes.begin(), {.kind = Node::Kind::variable, .dtype = DType::int64});
    for (Node& node : body.nodes) {
        for (NodeId& operand : node.operands) ++operand;
        if (node.kind == Node::Kind::read) node.operands = {NodeId(0)};
    }
    body.equations[0] = {0, {VariableId(0)}, {NodeId(0)}, NodeId(body.equations[0].value + 1)};
    std::vector<TensorData> inputs, outputs = {TensorData(result, {count})};
    for (size_t operand = 0; operand < operands.size(); ++operand) {
        inputs.emplace_back(dtype, std::vector{count});
        for (int64_t i = 0; i < count; ++i) inputs.back().set_real(i, (operand == 0 ? a : b)[static_cast<size_t>(i)]);
    }
    auto done = evaluate_body(body, inputs, outputs, Precision::body);
    EXPECT_TRUE(done) << info(op).name << render(done.error());
    return outputs[0];
}

TEST(ScalarTable, ValuesAreTheEvaluators) {
    std::mt19937 random(1);
    int compared = 0;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        for (DType dtype : {DType::float64, DType::int64, DType::boolean}) {
            const bool has_value = is_float(dtype) ? row.real != nullptr : row.integer != nullptr;
            if (!accepts(row.op, dtype) || is_complex(row.op) || row.operands == 3) continue;
            ASSERT_TRUE(has_value) << row.name << " " << name(dtype);
            const double low = is_bool(dtype) ? 0 : -20, high = is_bool(dtype) ? 2 : 20;
            const auto a = samples(random, !is_float(dtype), low, high),
                       b = samples(random, !is_float(dtype), low, high);
            const TensorData found = evaluated(row.op, dtype, a, b);
            for (size_t i = 0; i < a.size(); ++i) {
                const double value = found.real_at(static_cast<int64_t>(i));
                double expected =
                    is_float(dtype)
                        ? row.real(a[i], b[i])
                        : static_cast<double>(row.integer(static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i])));
                if (is_bool(found.dtype())) expected = std::fmod(std::abs(expected), 2);  // bits of a truth
                EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
                    << row.name << " " << name(dtype) << " of " << a[i] << ", " << b[i] << ": " << value << ", "
                    << expected;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 10'000);
}

TEST(ScalarTable, IntervalsHoldSampledValues) {
    std::mt19937 random(2);
    int known = 0;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        for (int round = 0; round < 300; ++round) {
            auto pick = [&](int range) { return static_cast<int64_t>(random() % static_cast<uint32_t>(range)); };
            const bool truth = !accepts(row.op, DType::int64);
            const int64_t a = truth ? 0 : pick(20) - 10, b = truth ? 0 : pick(20) - 10;
            const Interval x{a, a + pick(truth ? 2 : 8)}, y{b, b + pick(truth ? 2 : 8)};
            const Interval whole = interval_of(row.op, x, y);
            for (int64_t p = x.low; row.integer && p <= x.high; ++p) {
                for (int64_t q = y.low; q <= y.high; ++q) {
                    if (!accepts(row.op, DType::int64) && !accepts(row.op, DType::boolean)) continue;
                    ASSERT_TRUE(Interval::point(row.integer(p, q)).within(whole)) << row.name << " " << p << ", " << q;
                }
            }
            if (!accepts(row.op, DType::float64) || row.kind == ScalarClass::predicate || !row.real) continue;
            std::uniform_real_distribution<double> uniform(-3, 3), inside(0, 1);
            RealInterval u{uniform(random), 0}, v{uniform(random), 0};
            u.high = u.low + inside(random), v.high = v.low + inside(random);
            const bool comparison = row.kind == ScalarClass::comparison;
            const RealInterval reals = interval_of(row.op, u, v);
            const Interval decided = comparison ? interval_of_comparison(row.op, u, v) : Interval();
            known += reals.known();
            for (int i = 0; i < 20; ++i) {
                const double value =
                    row.real(u.low + (u.high - u.low) * inside(random), v.low + (v.high - v.low) * inside(random));
                if (comparison) {
                    ASSERT_TRUE(Interval::point(static_cast<int64_t>(value)).within(decided)) << row.name;
                } else if (reals.known()) {
                    ASSERT_TRUE(value >= reals.low && value <= reals.high) << row.name << ": " << value;
                }
            }
        }
    }
    EXPECT_GT(known, 4'000);
}

// What the operands' errors make of the result's is no more than the bound says.
TEST(ScalarTable, CarriesHoldSampledErrors) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform(-4, 4), error(0, 0.1), part(-1, 1);
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        if (!row.real || !accepts(row.op, DType::float64)) continue;
        const evaluation::Carry carry = evaluation::carry_of(row.op, true);
        ASSERT_NE(carry, nullptr) << row.name;
        for (int round = 0; round < 2'000; ++round) {
            const double a = uniform(random), b = uniform(random), ea = error(random), eb = error(random);
            const double r = row.real(a, b), bound = carry(a, ea, b, row.operands == 2 ? eb : 0, r);
            if (std::isnan(r) || bound == HUGE_VAL) continue;
            const double moved = row.real(a + ea * part(random), b + eb * part(random));
            const double slack = 1e-6 * (1 + std::abs(r));  // of quotients' own rounding
            EXPECT_LE(std::abs(moved - r), bound * (1 + 1e-9) + slack) << row.name << " " << a << ", " << b;
        }
    }
}

// ---- derivatives

// The share of the adjoint 1 that an operand gets, at many points.
std::vector<double> shares(ScalarOp op, size_t operand, const std::vector<double>& a, const std::vector<double>& b) {
    Body body;
    BodyNodes nodes(body);
    const auto count = static_cast<int64_t>(a.size());
    const VariableId i = nodes.add_variable("i", Variable::Kind::index, count);
    const NodeId at = nodes.variable(i);
    NodeList operands;
    std::vector<TensorData> inputs;
    for (int32_t n = 0; n < info(op).operands; ++n) {
        operands.push_back(nodes.read(TensorIndex(n), DType::float64, {at}));
        inputs.emplace_back(DType::float64, std::vector{count});
        for (int64_t k = 0; k < count; ++k) inputs.back().set_real(k, (n == 0 ? a : b)[static_cast<size_t>(k)]);
    }
    const NodeId y = nodes.scalar(op, operands), one = nodes.real(1, DType::float64, true);
    const gradient::Share share = gradient::share_of(nodes, y, operand, one, y);
    const NodeId zero = nodes.real(0, DType::float64, true);
    body.equations.push_back(
        {0, {i}, {at}, share.condition < 0 ? share.value : nodes.select(share.condition, share.value, zero)});
    std::vector<TensorData> outputs = {TensorData(DType::float64, {count})};
    auto done = evaluate_body(body, inputs, outputs, Precision::body);
    EXPECT_TRUE(done) << info(op).name << render(done.error());
    std::vector<double> result;
    for (int64_t k = 0; k < count; ++k) result.push_back(outputs[0].real_at(k));
    return result;
}

TEST(ScalarTable, DerivativesAreThoseOfDifferences) {
    std::mt19937 random(4);
    int compared = 0, derived = 0;
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        if (!row.real || !accepts(row.op, DType::float64) || result_type(row.op, DType::float64) != DType::float64)
            continue;
        derived += gradient::has_derivative(row.op);
        const auto a = samples(random, false, -1.5, 1.5), b = samples(random, false, -1.5, 1.5);
        for (size_t operand = 0; operand < static_cast<size_t>(row.operands); ++operand) {
            const auto found =
                gradient::has_derivative(row.op) ? shares(row.op, operand, a, b) : std::vector<double>(a.size(), 0);
            for (size_t i = 0; i < a.size(); ++i) {
                constexpr double step = 0x1p-16;
                auto moved = [&](double by) {
                    return row.real(a[i] + (operand == 0 ? by * step : 0), b[i] + (operand == 1 ? by * step : 0));
                };
                const double expected = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step);
                if (!(std::abs(expected) < 100 && std::abs(found[i]) < 100)) continue;  // near a pole, or jumps between
                EXPECT_NEAR(found[i], expected, 1e-6 * (1 + std::abs(expected)))
                    << row.name << " by operand " << operand << " at " << a[i] << ", " << b[i];
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 6'000);
    EXPECT_EQ(derived, 40);
}

TEST(ScalarTable, TemplatesCallEveryFunction) {
    for (const ScalarOpInfo& row : all_scalar_ops()) {
        const bool is_operator = !row.infix.empty() || row.op == ScalarOp::negate || row.op == ScalarOp::logical_not;
        if (is_operator && row.op != ScalarOp::power) continue;
        if (row.op == ScalarOp::dot_pairs) continue;  // of words, which the equations alone make
        const FunctionInfo* function = function_named(row.name);
        ASSERT_NE(function, nullptr) << row.name;
        EXPECT_LE(function->least, row.operands);
        EXPECT_EQ(scalar_op_named(row.name), row.op);
    }
}

TEST(ScalarTable, Reducers) {
    for (Reducer reducer : {Reducer::sum, Reducer::product, Reducer::minimum, Reducer::maximum, Reducer::any,
                            Reducer::all, Reducer::argument_minimum, Reducer::argument_maximum}) {
        EXPECT_EQ(reducer_named(name(reducer)), reducer);
        const auto join = joining_op(reducer);
        EXPECT_EQ(join.has_value(), !is_argument(reducer));
        for (const DTypeInfo& of : all_dtypes()) {
            if (join && accepts(reducer, of.dtype)) {
                EXPECT_TRUE(is_typed(*join, of.dtype, types_of(2, of.dtype))) << name(reducer) << " " << of.name;
            }
        }
    }
    EXPECT_TRUE(accepts(Reducer::any, DType::int32));  // of words; the language has it of bools
    EXPECT_FALSE(accepts(Reducer::any, DType::float32));
    EXPECT_FALSE(accepts(Reducer::sum, DType::boolean));
    EXPECT_FALSE(accepts(Reducer::sum, DType::float16));
    EXPECT_TRUE(accepts(Reducer::sum, DType::complex64));
    EXPECT_FALSE(accepts(Reducer::maximum, DType::complex64));
}

TEST(Reducers, NeutralTermsChangeNothing) {
    int checked = 0;
    for (Reducer reducer :
         {Reducer::sum, Reducer::product, Reducer::minimum, Reducer::maximum, Reducer::any, Reducer::all}) {
        const ScalarOpInfo& join = info(*joining_op(reducer));
        for (const DTypeInfo& type : all_dtypes()) {
            if (!accepts(reducer, type.dtype) || is_complex(type.dtype) || type.dtype == DType::uint64) continue;
            const NeutralTerm term = neutral(reducer, type.dtype);
            const Interval values = interval_of(type.dtype);
            std::vector<int64_t> integers = {0, 1};
            if (is_integer(type.dtype)) integers.insert(integers.end(), {values.low, values.high, 7});
            for (int64_t value : integers) {
                const auto real = static_cast<double>(value);
                if (is_float(type.dtype)) {
                    EXPECT_EQ(join.real(term.real, real), real) << name(reducer) << " " << type.name;
                } else {
                    EXPECT_EQ(join.integer(term.integer, value), value) << name(reducer) << " " << type.name;
                }
                ++checked;
            }
            if (is_integer(type.dtype) && (reducer == Reducer::minimum || reducer == Reducer::maximum)) {
                EXPECT_EQ(term.integer, reducer == Reducer::minimum ? values.high : values.low);
            }
        }
    }
    EXPECT_EQ(neutral(Reducer::minimum, DType::uint64).integer, -1);
    EXPECT_EQ(neutral(Reducer::maximum, DType::uint64).integer, 0);
    EXPECT_EQ(neutral(Reducer::argument_maximum, DType::float32).real, -INFINITY);
    EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace heddle
