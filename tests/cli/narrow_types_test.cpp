// Types that are only stored (halves, 8-bit floats, 4-bit integers) through the whole thread: what is compiled gives the
// interpreter's bits, fused or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/running.h"

namespace heddle {
namespace {

std::vector<DType> narrow_types() {
    std::vector<DType> types;
    for (const DTypeInfo& row : all_dtypes()) {
        if (is_narrow(row.dtype)) types.push_back(row.dtype);
    }
    return types;
}

// What rounds or saturates in some type: the values of 8-bit floats, what lies between them, and their neighbours.
std::vector<double> real_values() {
    std::vector<double> values = {
        1e30,       -1e30,  1e-40,     65519.0,    65520.0,         -7.5,     7.5,       8.0,          15.5,
        16.0,       127.5,  -128.5,    1e10,       -1e10,           HUGE_VAL, -HUGE_VAL, std::nan(""), 2147483648.0,
        9.3e18,     1.9e19, 0x1.001p0, 0x1.0018p0, 0x1.01p0 + 1e-9, 0x1.03p0, 0x1p-25,   0x1.8p-25,    0x1p-133,
        0x1.8p-133, -0.0};
    for (DType dtype : narrow_types()) {
        if (!is_float(dtype) || bytes(dtype) != 1) continue;
        TensorData all(dtype, {256});
        for (int code = 0; code < 256; code++) all.mutable_as<uint8_t>()[code] = static_cast<uint8_t>(code);
        for (int code = 0; code < 255; code++) {
            const double value = all.real_at(code), next = all.real_at(code + 1);
            values.push_back(value);
            const auto middle = static_cast<float>((value + next) / 2);
            for (float x : {middle, std::nextafter(middle, 1e30f), std::nextafter(middle, -1e30f)})
                values.push_back(static_cast<double>(x));
        }
    }
    return values;
}

// All codes of small types, values that matter of others.
TensorData values_of(DType dtype) {
    if (bytes(dtype) == 1) {
        TensorData data(dtype, {256});
        for (int code = 0; code < 256; code++)
            data.mutable_as<uint8_t>()[code] = static_cast<uint8_t>(is_bool(dtype) ? code & 1 : code);
        return data;
    }
    const std::vector<double> values = real_values();
    TensorData data(dtype, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); i++) data.set_real(static_cast<int64_t>(i), values[i]);
    return data;
}

bool same_bits(const TensorData& a, const TensorData& b, int64_t i) {
    if (is_float(a.dtype()) && std::isnan(a.real_at(i))) return std::isnan(b.real_at(i));
    const int64_t size = bytes(a.dtype());
    return std::memcmp(a.data() + i * size, b.data() + i * size, static_cast<size_t>(size)) == 0;
}

// Compiled, fused and not: the interpreter's bits.
void expect_bits(const Graph& graph, const std::vector<TensorData>& feeds,
                 std::initializer_list<bool> fusions = {true, false}) {
    auto fine = verify(graph);
    ASSERT_TRUE(fine) << render(fine.error());
    auto expected = evaluate_graph(graph, feeds, Precision::body);
    ASSERT_TRUE(expected) << render(expected.error());
    for (bool fuse : fusions) {
        auto executable = compiled(plan_of(graph, {.fuse = fuse}));
        ASSERT_TRUE(executable);
        auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
        ASSERT_TRUE(found) << render(found.error());
        for (size_t o = 0; o < found->size(); o++) {
            const TensorData &a = (*found)[o], &b = (*expected)[static_cast<size_t>(graph.outputs[o])];
            ASSERT_EQ(a.dtype(), b.dtype());
            ASSERT_EQ(a.size(), b.size());
            for (int64_t i = 0; i < a.size(); i++) {
                ASSERT_TRUE(same_bits(a, b, i))
                    << graph.tensor(graph.outputs[o]).name << (fuse ? "" : " unfused") << " " << name(feeds[0].dtype())
                    << " to " << name(a.dtype()) << ", element " << i << " of "
                    << feeds[0].real_at(std::min(i, feeds[0].size() - 1)) << ": " << a.real_at(i) << " instead of "
                    << b.real_at(i);
            }
        }
    }
}

TEST(NarrowTypes, EveryConversion) {
    for (const DTypeInfo& from : all_dtypes()) {
        Session session(library());
        const TensorData data = values_of(from.dtype);
        const TensorId x = session.add_input("x", {from.dtype, {data.size()}});
        std::vector<TensorId> outputs;
        for (const DTypeInfo& to : all_dtypes()) {
            if (from.dtype != to.dtype && !is_complex(from.dtype) && !is_complex(to.dtype) &&
                (is_narrow(from.dtype) || is_narrow(to.dtype)))
                outputs.push_back(call(session, "cast", {x}, {{"to", StaticValue::of(to.dtype)}}));
        }
        if (!outputs.empty()) expect_bits(session.finish(std::move(outputs)), {data}, {true});
    }
}

// Each operation's result is rounded or wrapped, wherever it is kept.
TEST(NarrowTypes, OneOperationAfterAnother) {
    for (DType dtype : narrow_types()) {
        Session session(library());
        TensorData x(dtype, {64}), z(dtype, {64});
        for (int64_t i = 0; i < 64; i++) {
            x.set_real(i, static_cast<double>(i % 16 - 8) / (is_float(dtype) ? 3 : 1));
            z.set_real(i, static_cast<double>(i / 16 - 1) * (is_float(dtype) ? 1.7 : 3));
        }
        const TensorId a = session.add_input("x", {dtype, {64}}), b = session.add_input("z", {dtype, {64}});
        const TensorId sum = call(session, "add2", {a, b}), product = call(session, "mul", {sum, a});
        const TensorId rest = call(session, "sub", {product, b}), wide = call(session, "maximum", {rest, sum});
        expect_bits(session.finish({wide, call(session, "less", {rest, a})}), {x, z});
    }
}

constexpr const char* templates = R"yaml(
before:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x[@n - 1] ?? 3"
before_long:
  doc: What stands outside has more places than the type.
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T", z: float32}
  body: |
    let v = x[@n - 1] ?? 0.1
    y = v
    z = v
before_wide:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: int32}
  body: "y = int32(x[@n - 1] ?? 100)"
coordinates:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T", z: "$T", w: "$T"}
  body: |
    y = @n
    z = cast(100, $T)
    w = cast($n, $T)
largest:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {high: "$T[]", low: "$T[]", place: "int64[]"}
  body: |
    high = max(k < $n if k > 0 : x[k])
    low = min(k < $n : x[k])
    place = argmax(k < $n : x[k])
pick:
  inputs: {table: "float32[16]", ids: "$T[$n]"}
  index: "[$n]"
  outputs: {y: float32}
  body: "y = table[ids[@n] < 0 ? ids[@n] + 16 : ids[@n]]"
limited:
  params: {to: dtype}
  inputs: {x: "float32[$n]"}
  index: "[$n]"
  outputs: {y: "$to"}
  body: "y = cast(clamp(x, -largest_finite($to), largest_finite($to)), $to)"
)yaml";

TEST(NarrowTypes, ReadsBeyondTheEndAndCoordinates) {
    const Library library = library_with(templates);
    for (DType dtype : narrow_types()) {
        Session session(library);
        TensorData data(dtype, {40});
        for (int64_t i = 0; i < 40; i++) data.set_real(i, static_cast<double>((i * 7) % 13 - 6));
        const TensorId x = session.add_input("x", {dtype, {40}});
        std::vector<TensorId> outputs;
        std::vector<std::string> names = {"before", "coordinates", "largest"};
        names.push_back(is_float(dtype) ? "before_long" : "before_wide");
        for (const std::string& name : names) {
            auto made = session.apply(**library.find(name), {x});
            ASSERT_TRUE(made) << name << " " << heddle::name(dtype) << render(made.error());
            outputs.insert(outputs.end(), made->begin(), made->end());
        }
        expect_bits(session.finish(std::move(outputs)), {data});
    }
}

// Bits above the four that count never reach an address.
TEST(NarrowTypes, FourBitsAsCoordinates) {
    const Library library = library_with(templates);
    for (DType dtype : {DType::int4, DType::uint4}) {
        Session session(library);
        TensorData table(DType::float32, {16}), ids(dtype, {256});
        for (int64_t i = 0; i < 16; i++) table.set_real(i, static_cast<double>(i));
        for (int i = 0; i < 256; i++) ids.mutable_as<uint8_t>()[i] = static_cast<uint8_t>(i);
        const TensorId t = session.add_input("table", {DType::float32, {16}});
        const TensorId n = session.add_input("ids", {dtype, {256}});
        auto made = session.apply(**library.find("pick"), {t, n});
        ASSERT_TRUE(made) << render(made.error());
        const Graph graph = session.finish(std::move(*made));
        expect_bits(graph, {table, ids});
        auto values = evaluate_graph(graph, {table, ids}, Precision::body);
        for (int64_t i = 0; i < 256; i++)
            ASSERT_EQ((*values)[static_cast<size_t>(graph.outputs[0])].real_at(i), static_cast<double>(i % 16));
    }
}

TEST(NarrowTypes, LargestFinite) {
    const Library library = library_with(templates);
    for (DType dtype : narrow_types()) {
        if (!is_float(dtype)) continue;
        Session session(library);
        const TensorId x = session.add_input("x", {DType::float32, {4}});
        auto made = session.apply(**library.find("limited"), {x}, {{"to", StaticValue::of(dtype)}});
        ASSERT_TRUE(made) << render(made.error());
        const Graph graph = session.finish(std::move(*made));
        TensorData data(DType::float32, {4});
        for (int64_t i = 0; i < 4; i++)
            data.set_real(i, std::array{HUGE_VAL, -HUGE_VAL, std::nan(""), 1.0}[static_cast<size_t>(i)]);
        expect_bits(graph, {data});
        auto values = evaluate_graph(graph, {data}, Precision::body);
        const TensorData& y = (*values)[static_cast<size_t>(graph.outputs[0])];
        EXPECT_EQ(y.real_at(0), info(dtype).format.greatest);
        EXPECT_EQ(y.real_at(1), -info(dtype).format.greatest);
        EXPECT_TRUE(std::isnan(y.real_at(2)));
    }
}

// A product is summed in float32 and rounded once; the bound holds for any order.
TEST(NarrowTypes, Products) {
    for (DType dtype : narrow_types()) {
        Session session(library());
        TensorData x(dtype, {9, 40}), w(dtype, {40, 33});
        const TensorData values = random_tensor({9 * 40 + 40 * 33}, 5, is_float(dtype) ? 0.2 : 4);
        for (int64_t i = 0; i < x.size(); i++) x.set_real(i, values.real_at(i));
        for (int64_t i = 0; i < w.size(); i++) w.set_real(i, values.real_at(x.size() + i));
        const TensorId a = session.add_input("x", {dtype, {9, 40}}), b = session.add_constant("w", w);
        const TensorId product = call(session, "numpy_matmul", {a, b});
        const Graph graph = session.finish({product, call(session, "relu", {product})});
        auto expected = evaluate_graph_bounded(graph, {x});
        ASSERT_TRUE(expected) << render(expected.error());
        for (bool fuse : {true, false}) {
            auto executable = compiled(plan_of(graph, {.fuse = fuse}));
            ASSERT_TRUE(executable);
            auto found = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run({x});
            ASSERT_TRUE(found) << render(found.error());
            for (size_t o = 0; o < 2; o++) {
                auto equal = compare_bounded((*found)[o], (*expected)[static_cast<size_t>(graph.outputs[o])]);
                EXPECT_TRUE(equal.equal) << name(dtype) << " " << equal.text();
                EXPECT_EQ(equal.undecided, 0) << name(dtype);
            }
        }
    }
}

}  // namespace
}  // namespace heddle
