// Complex numbers from templates to running code: the interpreter, LLVM's code and our C under gcc, against std::complex.
#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <random>

#include "backends/cc/cc_backend.h"
#include "backends/llvm/llvm_backend.h"
#include "evaluate/compare.h"
#include "evaluate/evaluate.h"
#include "helpers/library.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "symbolic/program.h"

namespace heddle {
namespace {

using Complex = std::complex<double>;
using Vector = std::vector<Complex>;

Graph graph_of(const std::string& call, const Library& library, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(std::make_shared<SourceText>("call", call), library, inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

std::vector<TensorData> run(const Graph& graph, const std::vector<TensorData>& feeds, bool fuse,
                            std::shared_ptr<codegen::Backend> backend) {
    auto made = plan::make_plan(graph, detect_host(), {.fuse = fuse});
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    if (!made) return {};
    EXPECT_TRUE(made->notes.empty()) << render(made->notes);
    runtime::KernelCache cache(std::move(backend));
    auto pool = std::make_shared<ThreadPool>(2);
    auto executable = runtime::Executable::make(std::move(*made), cache, *pool);
    EXPECT_TRUE(executable) << (executable ? "" : render(executable.error()));
    if (!executable) return {};
    auto found = runtime::Session(*executable, pool).run(feeds);
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    return found ? std::move(*found) : std::vector<TensorData>{};
}

Vector values_of(const TensorData& data) {
    Vector values;
    const bool complex = is_complex(data.dtype());
    const TensorData parts = data.reals();
    for (int64_t i = 0; i < data.size(); i++)
        values.push_back(complex ? Complex(parts.real_at(2 * i), parts.real_at(2 * i + 1)) : Complex(data.real_at(i)));
    return values;
}

TensorData tensor_of(DType dtype, std::vector<int64_t> shape, const Vector& values) {
    TensorData data(dtype, std::move(shape)), parts = data.reals();
    for (int64_t i = 0; i < data.size(); i++) {
        const Complex value = values[static_cast<size_t>(i)];
        if (!is_complex(dtype)) {
            data.set_real(i, value.real());
            continue;
        }
        parts.set_real(2 * i, value.real());
        parts.set_real(2 * i + 1, value.imag());
    }
    return data;
}

TensorData random_tensor(DType dtype, std::vector<int64_t> shape, std::mt19937& random) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    std::uniform_real_distribution<double> uniform(-1, 1);
    Vector values;
    for (int64_t i = 0; i < size; i++) {
        const double re = uniform(random);
        values.emplace_back(re, uniform(random));
    }
    return tensor_of(dtype, std::move(shape), values);
}

void expect_near(const TensorData& found, const Vector& expected, double tolerance, const std::string& what) {
    const Vector values = values_of(found);
    ASSERT_EQ(values.size(), expected.size()) << what;
    for (size_t i = 0; i < values.size(); i++)
        ASSERT_LE(std::abs(values[i] - expected[i]), tolerance * (1 + std::abs(expected[i])))
            << what << " element " << i << ": " << values[i] << ", expected " << expected[i];
}

// By the interpreter in both precisions, and by each backend, fused and not.
void expect_everywhere(const Graph& graph, const std::vector<TensorData>& feeds, const std::vector<Vector>& expected,
                       double tolerance, const std::string& what, bool c = true) {
    for (Precision precision : {Precision::body, Precision::exact}) {
        auto values = evaluate_graph(graph, feeds, precision);
        ASSERT_TRUE(values) << what << render(values.error());
        for (size_t i = 0; i < expected.size(); i++)
            expect_near((*values)[static_cast<size_t>(graph.outputs[i])], expected[i], tolerance, what + " evaluated");
    }
    auto bounded = evaluate_graph_bounded(graph, feeds);
    ASSERT_TRUE(bounded) << what << render(bounded.error());
    for (bool fuse : {true, false}) {
        for (bool gcc : {false, true}) {
            if (gcc && !(c && fuse)) continue;
            std::shared_ptr<codegen::Backend> backend;
            if (gcc)
                backend = std::make_shared<backends::CcBackend>(*backends::CCompiler::find(), 0);
            else
                backend = std::make_shared<backends::LlvmBackend>();
            auto found = run(graph, feeds, fuse, backend);
            ASSERT_EQ(found.size(), expected.size()) << what;
            for (size_t i = 0; i < expected.size(); i++) {
                const TensorId id = graph.outputs[i];
                EXPECT_EQ(found[i].dtype(), graph.tensor(id).type.dtype);
                EXPECT_EQ(found[i].shape(), graph.tensor(id).type.extents());
                expect_near(found[i], expected[i], tolerance, what + (gcc ? " by gcc" : fuse ? " fused" : " unfused"));
                auto comparison = compare_bounded(found[i].reals(), (*bounded)[static_cast<size_t>(id)]);
                EXPECT_TRUE(comparison.equal) << what << comparison.text();
            }
        }
    }
}

double tolerance_of(DType dtype) { return dtype == DType::complex64 ? 2e-5 : 1e-12; }

// ---- random elements

struct Inputs {
    Vector z, w, r;
};

// An expression in the language and in std::complex, at one element.
struct Expression {
    std::string text;
    std::function<Complex(const Inputs&, size_t)> value;
};

class RandomExpressions {
public:
    RandomExpressions(uint32_t seed, std::string dtype) : random_(seed), dtype_(std::move(dtype)) {}

    Expression complex(int depth) {
        using F = Expression;
        if (depth == 0) {
            switch (below(4)) {
            case 0: return {"z", [](const Inputs& in, size_t i) { return in.z[i]; }};
            case 1: return {"w", [](const Inputs& in, size_t i) { return in.w[i]; }};
            case 2: return {dtype_ + "(r)", [](const Inputs& in, size_t i) { return in.r[i]; }};
            default:
                return {"(z[@n - 1] ?? 0)",
                        [](const Inputs& in, size_t i) { return i == 0 ? Complex(0) : in.z[i - 1]; }};
            }
        }
        const F a = complex(depth - 1);
        switch (below(10)) {
        case 0: return joined(a, complex(depth - 1), "+", [](Complex x, Complex y) { return x + y; });
        case 1: return joined(a, complex(depth - 1), "-", [](Complex x, Complex y) { return x - y; });
        case 2:
        case 3: return joined(a, complex(depth - 1), "*", [](Complex x, Complex y) { return x * y; });
        case 4: {
            const F b = complex(depth - 1);
            return {"(" + a.text + " / (2 + conj(" + b.text + ") * " + b.text + "))",
                    [a, b](const Inputs& in, size_t i) { return a.value(in, i) / (2.0 + std::norm(b.value(in, i))); }};
        }
        case 5: return {"conj(" + a.text + ")", [a](const Inputs& in, size_t i) { return std::conj(a.value(in, i)); }};
        case 6: return {"(-" + a.text + ")", [a](const Inputs& in, size_t i) { return -a.value(in, i); }};
        case 7: {
            const F x = real(depth - 1), y = real(depth - 1);
            return {"complex(" + x.text + ", " + y.text + ")", [x, y](const Inputs& in, size_t i) {
                        return Complex(x.value(in, i).real(), y.value(in, i).real());
                    }};
        }
        case 8: {
            const F b = complex(depth - 1), x = real(depth - 1);
            return {"(" + x.text + " < 0.25 ? " + a.text + " : " + b.text + ")", [a, b, x](const Inputs& in, size_t i) {
                        return x.value(in, i).real() < 0.25 ? a.value(in, i) : b.value(in, i);
                    }};
        }
        default: return {"(" + a.text + " * 0.5)", [a](const Inputs& in, size_t i) { return a.value(in, i) * 0.5; }};
        }
    }

    Expression real(int depth) {
        if (depth == 0) return {"r", [](const Inputs& in, size_t i) { return in.r[i]; }};
        const Expression a = complex(depth - 1);
        switch (below(3)) {
        case 0: return {"re(" + a.text + ")", [a](const Inputs& in, size_t i) { return a.value(in, i).real(); }};
        case 1: return {"im(" + a.text + ")", [a](const Inputs& in, size_t i) { return a.value(in, i).imag(); }};
        default: return {"abs(" + a.text + ")", [a](const Inputs& in, size_t i) { return std::abs(a.value(in, i)); }};
        }
    }

private:
    size_t below(size_t count) { return random_() % count; }
    static Expression joined(const Expression& a, const Expression& b, const char* op, Complex (*f)(Complex, Complex)) {
        return {"(" + a.text + " " + op + " " + b.text + ")",
                [a, b, f](const Inputs& in, size_t i) { return f(a.value(in, i), b.value(in, i)); }};
    }

    std::mt19937 random_;
    std::string dtype_;
};

TEST(Complex, RandomElementsAgreeWithTheLibrary) {
    for (uint32_t seed = 0; seed < 16; seed++) {
        const DType dtype = seed % 2 ? DType::complex64 : DType::complex128;
        const std::string type(name(dtype)), part(name(real_type(dtype)));
        RandomExpressions expressions(seed, type);
        const Expression first = expressions.complex(3), second = expressions.complex(3), size = expressions.real(3);
        const std::string head = ":\n  inputs: {z: \"" + type + "[$n]\", w: \"" + type + "[$n]\", r: \"" + part +
                                 "[$n]\"}\n  index: \"[$n]\"\n  outputs: {y: " + type;
        const Library library =
            library_of("f" + head + "}\n  body: \"y = " + first.text + "\"\ng" + head + ", s: " + part +
                       "}\n  body: |\n    y = " + second.text + "\n    s = " + size.text + "\n");
        const int64_t n = 1 + static_cast<int64_t>(seed) * 3;
        const Graph graph = graph_of("t = f(z, w, r); y, s = g(t, w, r)", library,
                                     {{"z", {dtype, {n}}}, {"w", {dtype, {n}}}, {"r", {real_type(dtype), {n}}}});
        std::mt19937 random(seed);
        std::vector<TensorData> feeds;
        for (TensorId id : graph.inputs) feeds.push_back(random_tensor(graph.tensor(id).type.dtype, {n}, random));
        std::map<std::string, Vector> given;
        for (size_t i = 0; i < feeds.size(); i++) given[graph.tensor(graph.inputs[i]).name] = values_of(feeds[i]);
        Inputs inputs{given["z"], given["w"], given["r"]}, then = inputs;
        Vector y, s;
        for (size_t i = 0; i < static_cast<size_t>(n); i++) then.z[i] = first.value(inputs, i);
        for (size_t i = 0; i < static_cast<size_t>(n); i++) {
            y.push_back(second.value(then, i));
            s.push_back(size.value(then, i));
        }
        const std::string what = "f: " + first.text + ", g: " + second.text + " and " + size.text;
        expect_everywhere(graph, feeds, {y, s}, tolerance_of(dtype), what, seed < 6);
    }
}

// ---- operators of the library and of a text

const char* const own = R"yaml(
fourier:
  inputs: {x: "$T[$batch..., $n]"}
  outputs: {y: "$T[$batch..., $n]"}
  index: "[$batch..., f = $n]"
  body: |
    y = sum(k < $n : x[@batch..., k] * complex(cos(2 * pi * (@f * k % $n) / $n), -sin(2 * pi * (@f * k % $n) / $n)))
spectrum:
  inputs: {x: "float64[$n]"}
  index: "[f = $n]"
  outputs: {y: float64}
  body: "y = abs(sum(k < $n : complex128(x[k]) * complex(cos(2 * pi * (@f * k % $n) / $n), -sin(2 * pi * (@f * k % $n) / $n))))"
recurrence:
  inputs: {a: "$T[$n]", x: "$T[$n]"}
  index: "[]"
  outputs: {y: "$T[$n]"}
  body: |
    scan t < $n:
      h[t] = a[t] * h[t - 1] + x[t] from 1
      y[t] = h[t]
smoothed:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: |
    let square[j < $n] = x[j] * x[j]
    y = (square[@n] + conj(square[(@n + 1) % $n])) / complex(0, 2)
statistics:
  inputs: {x: "$T[$n]"}
  index: "[]"
  outputs: {average: "$T", same: int64}
  body: |
    average = mean(k < $n : x[k])
    same = count(k < $n : x[k] == x[0]) + 10 * count(k < $n : x[k] != x[0])
widened:
  inputs: {x: "complex64[$n]"}
  index: "[$n]"
  outputs: {y: complex128}
  body: "y = complex128(x) * 2"
)yaml";

struct Case {
    std::string call;
    std::vector<std::vector<int64_t>> shapes;
    std::function<Vector(const std::vector<Vector>&)> expected;
    std::vector<DType> dtypes = {};  // empty: complex64 and complex128
};

Vector mapped(size_t count, const std::function<Complex(size_t)>& f) {
    Vector result;
    for (size_t i = 0; i < count; i++) result.push_back(f(i));
    return result;
}

Vector dft_of(const Vector& x, size_t rows) {
    const size_t n = x.size() / rows;
    return mapped(x.size(), [&](size_t i) {
        Complex sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += x[i / n * n + k] *
                   std::polar(1.0, -2 * M_PI * static_cast<double>(i % n * k % n) / static_cast<double>(n));
        return sum;
    });
}

std::vector<Case> cases() {
    using Vs = std::vector<Vector>;
    return {
        {"y = numpy_matmul(a, b)",
         {{2, 1, 5, 7}, {3, 7, 4}},
         [](const Vs& in) {
             return mapped(2 * 3 * 5 * 4, [&](size_t i) {
                 const size_t column = i % 4, row = i / 4 % 5, second = i / 20 % 3, first = i / 60;
                 Complex sum = 0;
                 for (size_t k = 0; k < 7; k++)
                     sum += in[0][first * 35 + row * 7 + k] * in[1][second * 28 + k * 4 + column];
                 return sum;
             });
         }},
        {"y = matmul(a, b)",
         {{37, 33}, {33, 35}},
         [](const Vs& in) {
             return mapped(37 * 35, [&](size_t i) {
                 Complex sum = 0;
                 for (size_t k = 0; k < 33; k++) sum += in[0][i / 35 * 33 + k] * in[1][k * 35 + i % 35];
                 return sum;
             });
         }},
        {"y = fourier(a)", {{3, 12}}, [](const Vs& in) { return dft_of(in[0], 3); }},
        {"y = recurrence(a, b)",
         {{9}, {9}},
         [](const Vs& in) {
             Complex state = 1;
             return mapped(9, [&](size_t t) { return state = in[0][t] * state + in[1][t]; });
         }},
        {"y = smoothed(a)",
         {{6}},
         [](const Vs& in) {
             return mapped(6, [&](size_t i) {
                 const Complex x = in[0][i], next = in[0][(i + 1) % 6];
                 return (x * x + std::conj(next * next)) / Complex(0, 2);
             });
         }},
        {"m, same = statistics(a); y = add2(m, m)",
         {{6}},
         [](const Vs& in) {
             Complex sum = 0;
             for (Complex x : in[0]) sum += x;
             return Vector{sum / 3.0};
         }},
        {"y = reduce_sum(a, axes: [0], keepdims: false)",
         {{5, 4}},
         [](const Vs& in) {
             return mapped(4, [&](size_t i) {
                 Complex sum = 0;
                 for (size_t k = 0; k < 5; k++) sum += in[0][k * 4 + i];
                 return sum;
             });
         }},
        {"y = div(a, b)",
         {{40}, {40}},
         [](const Vs& in) { return mapped(40, [&](size_t i) { return in[0][i] / in[1][i]; }); }},
        {"t = transpose(a, perm: [1, 0]); u = pad(t, pads: [1, 0, 0, 2]); y = slice(u, starts: [0], ends: [4], axes: "
         "[0])",
         {{3, 5}},
         [](const Vs& in) {
             return mapped(4 * 5, [&](size_t i) {
                 const size_t row = i / 5, column = i % 5;
                 return row == 0 || column >= 3 ? Complex(0) : in[0][column * 5 + row - 1];
             });
         }},
        {"t = concat(a, b, axis: 0); y = flip(t, axes: [0])",
         {{3, 2}, {1, 2}},
         [](const Vs& in) {
             return mapped(8, [&](size_t i) {
                 const size_t row = 3 - i / 2;
                 return row < 3 ? in[0][row * 2 + i % 2] : in[1][i % 2];
             });
         }},
        {"y = spectrum(a)",
         {{10}},
         [](const Vs& in) {
             const Vector y = dft_of(in[0], 1);
             return mapped(10, [&](size_t i) { return std::abs(y[i]); });
         },
         {DType::float64}},
        {"y = widened(a)",
         {{5}},
         [](const Vs& in) { return mapped(5, [&](size_t i) { return in[0][i] * 2.0; }); },
         {DType::complex64}},
    };
}

TEST(Complex, OperatorsAgreeWithTheLibrary) {
    const Library operators = library_with(own);
    uint32_t seed = 0;
    for (const Case& one : cases()) {
        for (DType dtype : one.dtypes.empty() ? std::vector{DType::complex64, DType::complex128} : one.dtypes) {
            std::mt19937 random(++seed);
            std::vector<ProgramInput> inputs;
            std::vector<TensorData> feeds;
            std::vector<Vector> values;
            for (size_t i = 0; i < one.shapes.size(); i++) {
                const auto& shape = one.shapes[i];
                inputs.push_back({i == 0 ? "a" : "b", {dtype, {shape.begin(), shape.end()}}});
                feeds.push_back(random_tensor(dtype, shape, random));
                values.push_back(values_of(feeds.back()));
            }
            const Graph graph = graph_of(one.call, operators, inputs);
            ASSERT_FALSE(graph.outputs.empty()) << one.call;
            expect_everywhere(graph, feeds, {one.expected(values)}, tolerance_of(dtype), one.call,
                              dtype == DType::complex64);
        }
    }
}

// No squares overflow, and what is infinite stays so.
TEST(Complex, ExtremeValues) {
    const Library library = library_of(R"yaml(
both:
  inputs: {x: "complex64[$n]", y: "complex64[$n]"}
  index: "[$n]"
  outputs: {size: float32, quotient: complex64}
  body: |
    size = abs(x)
    quotient = x / y
)yaml");
    const double infinity = INFINITY;
    const Vector x = {{3e38, 0}, {0, -3e38}, {1e-40, 1e-40}, {0, 0}, {-infinity, 1}, {1, NAN}, {NAN, infinity}, {1, 2}};
    const Vector y = {{2e38, 1e38}, {0, 3e38}, {1e-40, 1e-40}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, {0, 0}};
    const int64_t n = static_cast<int64_t>(x.size());
    const Graph graph = graph_of("size, quotient = both(x, y)", library,
                                 {{"x", {DType::complex64, {n}}}, {"y", {DType::complex64, {n}}}});
    const std::vector<TensorData> feeds = {tensor_of(DType::complex64, {n}, x), tensor_of(DType::complex64, {n}, y)};
    auto found = run(graph, feeds, true, std::make_shared<backends::LlvmBackend>());
    auto values = evaluate_graph(graph, feeds, Precision::body);
    ASSERT_TRUE(values && found.size() == 2);
    for (const TensorData* size : {&found[0], &(*values)[static_cast<size_t>(graph.outputs[0])]}) {
        for (size_t i = 0; i < x.size(); i++) {
            const double expected = std::hypot(x[i].real(), x[i].imag()), got = size->real_at(static_cast<int64_t>(i));
            if (std::isnan(expected) || std::isinf(expected))
                EXPECT_EQ(std::isnan(got) ? 1 : got, std::isnan(expected) ? 1 : expected) << i;
            else
                EXPECT_NEAR(got, expected, 1e-6 * expected + 1e-44) << i;
        }
    }
    for (const TensorData* quotient : {&found[1], &(*values)[static_cast<size_t>(graph.outputs[1])]}) {
        const Vector q = values_of(*quotient);
        EXPECT_LE(std::abs(q[0] - Complex(1.2, -0.6)), 1e-6);
        EXPECT_LE(std::abs(q[1] - Complex(-1, 0)), 1e-6);
        EXPECT_LE(std::abs(q[2] - Complex(1, 0)), 1e-2);  // of subnormal parts
        EXPECT_EQ(q[3], Complex(0, 0));
        EXPECT_TRUE(std::isinf(q[7].real()) && std::isinf(q[7].imag()));
    }
}

}  // namespace
}  // namespace heddle
