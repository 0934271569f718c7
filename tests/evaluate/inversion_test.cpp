// Reductions that are turned round give exactly what they give as they are written: values, bounds and failures.
#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "body_builder.h"
#include "evaluate/executor.h"
#include "evaluate/evaluate.h"

namespace heddle {
namespace {

using namespace evaluation;

constexpr int64_t rows = 3, places = 7, columns = 4;

// y[r, i, c] = join(x[r, i, c], reduce(k, l if chosen(r, k, l) == i + offset and more : term))
struct RandomScatter {
    BodyBuilder b;
    std::vector<TensorData> inputs;
    TensorData output;

    explicit RandomScatter(unsigned seed) : random_(seed) {
        static const DType types[] = {DType::float32, DType::float64, DType::int32, DType::int64};
        static const Reducer reducers[] = {Reducer::sum, Reducer::product, Reducer::minimum, Reducer::maximum};
        const DType dtype = types[pick(4)];
        const Reducer reducer = reducers[pick(4)];
        const int64_t terms = pick(3) ? 5 : 300;
        VariableId r = b.variable("r", rows), i = b.variable("i", places), c = b.variable("c", columns);
        VariableId k = b.reduced("k", terms), l = b.reduced("l", 2);
        inputs = {values(dtype, {rows, places, columns}, 9),
                  values(pick(2) ? DType::int32 : DType::int64, {rows, terms, 2}, 11),
                  values(dtype, {terms, 2, columns}, 9)};
        const DType id_type = inputs[1].dtype();
        NodeId id = b.read(1, id_type, {b.at(r), pick(8) ? b.at(k) : b.plus(b.at(k), b.integer(1)), b.at(l)});
        NodeId place = b.at(i);
        if (pick(3) == 0) place = b.plus(place, b.integer(pick(5) - 2));
        if (id_type != DType::int64) place = b.cast(id_type, place);
        NodeId filter = b.scalar(ScalarOp::equal, {id, place});
        if (pick(2)) filter = both(b.scalar(ScalarOp::less, {b.at(l), b.plus(b.at(r), b.integer(0))}), filter);
        if (pick(4) == 0) {
            NodeId other = b.scalar(
                ScalarOp::less,
                {b.read(1, id_type, {b.at(r), b.plus(b.at(k), b.integer(pick(2))), b.at(l)}), b.integer(3, id_type)});
            filter = pick(2) ? both(filter, other) : both(other, filter);
        }
        NodeId term = b.read(2, dtype, {pick(6) ? b.at(k) : b.plus(b.at(k), b.integer(-1)), b.at(l), b.at(c)});
        if (pick(2)) term = b.plus(term, b.read(0, dtype, {b.at(r), b.integer(2), b.at(c)}));
        if (pick(6) == 0)
            term = b.times(term, b.read(0, dtype, {b.at(r), b.at(i), b.at(c)}));  // stays as it is written
        NodeId value = b.reduce(reducer, {k, l}, term, filter);
        if (pick(2)) value = b.plus(b.read(0, dtype, {b.at(r), b.at(i), b.at(c)}), value);
        output = TensorData(dtype, {rows, places, columns});
        b.equation(0, {r, i, c}, {b.at(r), b.at(i), b.at(c)}, value);
    }

private:
    // `&&` as scalars have it, or as the language does.
    NodeId both(NodeId a, NodeId c) {
        return pick(2) ? b.scalar(ScalarOp::logical_and, {a, c}) : b.select(a, c, b.integer(0, DType::boolean));
    }
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    TensorData values(DType dtype, std::vector<int64_t> shape, int range) {
        TensorData data(dtype, std::move(shape));
        for (int64_t n = 0; n < data.size(); n++) {
            const double value = pick(range) - 2;
            if (is_float(dtype))
                data.set_real(n, value * 0.37);
            else
                data.set_integer(n, static_cast<int64_t>(value));
        }
        return data;
    }
    std::mt19937 random_;
};

struct Outcome {
    bool failed = false;
    TensorData value, bound;
    int scatters = 0;
};

Outcome outcome(const RandomScatter& random, bool inverted, bool bounded) {
    Outcome result;
    std::vector<TensorData> inputs, outputs;
    for (const TensorData& input : random.inputs) {
        inputs.push_back(input);
        if (!bounded || !is_float(input.dtype())) continue;
        TensorData wide(DType::float64, input.shape());
        for (int64_t n = 0; n < input.size(); n++) wide.set_real(n, input.real_at(n));
        inputs.back() = wide;
    }
    const bool wide = bounded && is_float(random.output.dtype());
    outputs = {TensorData(wide ? DType::float64 : random.output.dtype(), random.output.shape())};
    auto program =
        compile(random.b.body, inputs, outputs, {.exact = bounded, .loops_only = true, .inverted = inverted});
    EXPECT_TRUE(program.has_value());
    result.scatters = static_cast<int>(program->scatters.size());
    TensorBounds bounds;
    for (const TensorData& input : inputs) {
        bounds.inputs.push_back({});
        if (!is_float(input.dtype())) continue;
        bounds.inputs.back() = TensorData(DType::float64, input.shape());
        for (int64_t n = 0; n < input.size(); n++) bounds.inputs.back().set_real(n, 1e-3 * static_cast<double>(n % 5));
    }
    bounds.outputs = {TensorData(DType::float64, random.output.shape())};
    auto done = Executor(random.b.body, *program, inputs, outputs, bounded ? &bounds : nullptr).run();
    result.failed = !done;
    result.value = outputs[0];
    result.bound = bounds.outputs[0];
    return result;
}

void expect_same_bytes(const TensorData& a, const TensorData& b) {
    ASSERT_EQ(a.shape(), b.shape());
    for (int64_t n = 0; n < a.size(); n++) {
        if (is_float(a.dtype()))
            ASSERT_EQ(std::bit_cast<uint64_t>(a.real_at(n)), std::bit_cast<uint64_t>(b.real_at(n))) << "element " << n;
        else
            ASSERT_EQ(a.integer_at(n), b.integer_at(n)) << "element " << n;
    }
}

TEST(Inversion, turned_round_is_as_written) {
    int inverted = 0, failed = 0;
    for (unsigned seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(seed);
        const RandomScatter random(seed);
        const Outcome direct = outcome(random, false, false), turned = outcome(random, true, false);
        EXPECT_EQ(direct.scatters, 0);
        inverted += turned.scatters;
        failed += direct.failed;
        ASSERT_EQ(direct.failed, turned.failed);
        if (!direct.failed) expect_same_bytes(turned.value, direct.value);
    }
    EXPECT_GT(inverted, 250);
    EXPECT_GT(failed, 20);
    EXPECT_LT(failed, 200);
}

TEST(Inversion, bounds_are_as_written) {
    for (unsigned seed = 1000; seed < 1150; seed++) {
        SCOPED_TRACE(seed);
        const RandomScatter random(seed);
        const Outcome direct = outcome(random, false, true), turned = outcome(random, true, true);
        ASSERT_EQ(direct.failed, turned.failed);
        if (direct.failed) continue;
        expect_same_bytes(turned.value, direct.value);
        expect_same_bytes(turned.bound, direct.bound);
    }
}

// A local that is nothing but a reduction that is turned round.
TEST(Inversion, a_local_may_be_one) {
    BodyBuilder b;
    VariableId i = b.variable("i", 4), j = b.variable("j", 4, Variable::Kind::parallel), k = b.reduced("k", 6);
    NodeId filter = b.scalar(ScalarOp::equal, {b.read(0, DType::int64, {b.at(k)}), b.at(j)});
    NodeId histogram = b.reduce(Reducer::sum, {k}, b.integer(1), filter);
    int32_t counts = b.local("counts", {j}, histogram);
    b.equation(0, {i}, {b.at(i)}, b.local_read(counts, {b.minus(b.integer(3), b.at(i))}));
    TensorData ids(DType::int64, {6});
    for (int64_t t = 0; t < 6; t++) ids.set_integer(t, t * t % 5);
    std::vector<TensorData> outputs = {TensorData(DType::int64, {4})};
    ASSERT_TRUE(evaluate_body(b.body, {ids}, outputs, Precision::body));
    const int64_t wanted[] = {0, 0, 2, 2};
    for (int64_t e = 0; e < 4; e++) EXPECT_EQ(outputs[0].integer_at(e), wanted[e]);
}

// 200,000 terms into 100,000 elements: as written this would take hours.
TEST(Inversion, is_linear) {
    BodyBuilder b;
    const int64_t n = 100000, terms = 200000;
    VariableId i = b.variable("i", n), k = b.reduced("k", terms);
    NodeId filter = b.scalar(ScalarOp::equal, {b.read(0, DType::int64, {b.at(k)}), b.at(i)});
    b.equation(0, {i}, {b.at(i)}, b.reduce(Reducer::sum, {k}, b.cast(DType::int64, b.integer(1)), filter));
    TensorData ids(DType::int64, {terms});
    for (int64_t t = 0; t < terms; t++) ids.set_integer(t, t * 7919 % n);
    std::vector<TensorData> outputs = {TensorData(DType::int64, {n})};
    ASSERT_TRUE(evaluate_body(b.body, {ids}, outputs, Precision::body));
    for (int64_t e = 0; e < n; e++) ASSERT_EQ(outputs[0].integer_at(e), 2);
}

}  // namespace
}  // namespace heddle
