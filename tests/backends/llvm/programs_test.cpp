// Scalar operations on special values against the language's rules, random expressions between the backends, and what a
// failing check reports.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "../c/gcc_runner.h"
#include "backends/c/c_source.h"
#include "backends/llvm/llvm_backend.h"
#include "expr/scalar_functions.h"
#include "../kernel_harness.h"
#include "target/target.h"

namespace heddle::backends {
namespace {

// Kernels compiled together by both backends.
class Programs {
public:
    explicit Programs(const std::vector<std::string>& texts) : set_(target_) {
        for (const std::string& text : texts) {
            auto kernel = schedules::parse_kernel(std::make_shared<SourceText>("program", text));
            EXPECT_TRUE(kernel) << text << (kernel ? "" : render(kernel.error()));
            if (!kernel) return;
            auto prepared = prepare(*kernel, target_);
            EXPECT_TRUE(prepared) << text << (prepared ? "" : render(prepared.error()));
            if (!prepared) return;
            prepared_.push_back(std::move(*prepared));
        }
        for (const Prepared& p : prepared_) set_.add(p);
        auto compiled = LlvmBackend().compile(set_.trees(), target_, 2);
        EXPECT_TRUE(compiled) << (compiled ? "" : render(compiled.error()));
        if (compiled) compiled_ = *compiled;
        std::string source;
        for (size_t i = 0; i < set_.trees().size(); i++)
            source += c_source(*set_.trees()[i], "kernel" + std::to_string(i), set_.units());
        library_ = std::make_unique<GccLibrary>(source, "-O0");
        EXPECT_TRUE(library_->function<KernelFunction>("kernel0")) << library_->error;
    }
    const Kernel& kernel(size_t i) const { return prepared_[i].kernel; }
    int32_t by_llvm(size_t i, std::vector<Buffer>& buffers, std::vector<int64_t>* report = nullptr) {
        return run(
            prepared_[i], pointers_to(buffers), [&](const Tree& t) { return compiled_->function(set_.index(t)); },
            report);
    }
    int32_t by_gcc(size_t i, std::vector<Buffer>& buffers, std::vector<int64_t>* report = nullptr) {
        return run(
            prepared_[i], pointers_to(buffers),
            [&](const Tree& t) { return library_->function<KernelFunction>("kernel" + std::to_string(set_.index(t))); },
            report);
    }

private:
    Target target_ = detect_host();
    TreeSet set_;
    std::vector<Prepared> prepared_;
    std::shared_ptr<codegen::CompiledKernels> compiled_;
    std::unique_ptr<GccLibrary> library_;
};

template <typename T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, float>)
        return DType::float32;
    else if constexpr (std::is_same_v<T, double>)
        return DType::float64;
    else if constexpr (std::is_same_v<T, int8_t>)
        return DType::int8;
    else if constexpr (std::is_same_v<T, uint8_t>)
        return DType::uint8;
    else if constexpr (std::is_same_v<T, int32_t>)
        return DType::int32;
    else if constexpr (std::is_same_v<T, uint32_t>)
        return DType::uint32;
    else
        return DType::int64;
}

template <typename T>
std::vector<T> special_values() {
    using L = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        std::vector<T> v = {0,      1,        T(0.5),          T(2.5),   T(3.5),        7,          T(1e6),
                            T(0.1), L::min(), L::denorm_min(), L::max(), L::infinity(), T(123456.7)};
        for (size_t i = 0, n = v.size(); i < n; i++) v.push_back(-v[i]);
        v.push_back(L::quiet_NaN());
        return v;
    } else {
        return {0,
                1,
                2,
                3,
                5,
                7,
                8,
                31,
                33,
                63,
                64,
                100,
                L::max(),
                L::min(),
                static_cast<T>(-1),
                static_cast<T>(-2),
                static_cast<T>(-7)};
    }
}

template <typename T>
struct Operation {
    ScalarOp op;
    T (*expected)(T, T);
};

// Integers are computed in 64 bits and wrapped, as the evaluator does.
template <typename T, typename Rule>
T by_rule(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return Rule::apply(a, b);
    else
        return static_cast<T>(Rule::template apply<int64_t>(a, b));
}

// One of the table, where it takes two of the type, gives that type, and rounds correctly.
template <typename T, typename Rule>
void add_operation(std::vector<Operation<T>>& list, ScalarOp op) {
    using Lane = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
    if constexpr (scalar_functions::BinaryOf<Rule, Lane>) {
        const bool same = result_type(op, dtype_of<T>()) == dtype_of<T>();
        if (same && accepts(op, dtype_of<T>()) && (!is_float(dtype_of<T>()) || info(op).ulps <= 0.5))
            list.push_back({op, by_rule<T, Rule>});
    }
}

template <typename T>
std::vector<Operation<T>> operations() {
    std::vector<Operation<T>> list;
#define HEDDLE_FUNCTION(...)
#define HEDDLE_SCALAR(op, name, infix, kind, operands, accepts, cost, size, ulps, meaning, ...) \
    add_operation<T, scalar_functions::meaning>(list, ScalarOp::op);
#include "expr/scalar_ops.def"
    return list;
}

template <typename T>
class BinaryOperations : public testing::Test {};
using ElementTypes = testing::Types<float, double, int8_t, uint8_t, int32_t, int64_t>;
TYPED_TEST_SUITE(BinaryOperations, ElementTypes);

TYPED_TEST(BinaryOperations, FollowTheLanguage) {
    using T = TypeParam;
    const auto values = special_values<T>();
    const std::string n = std::to_string(values.size() * values.size()), type(name(dtype_of<T>()));
    std::vector<std::string> texts;
    for (const auto& o : operations<T>()) {
        texts.push_back("kernel program\n  axis a = " + n + " hint " + n + " named\n  input x: " + type + " [" + n +
                        "]\n  input z: " + type + " [" + n + "]\n  output y: " + type + " [" + n +
                        "]\n  common a\n  y[a] over [a] = " + std::string(info(o.op).name) + "(x[a], z[a])\n");
    }
    Programs programs(texts);
    for (size_t p = 0; p < texts.size(); p++) {
        std::vector<Buffer> a, b;
        for (const KernelTensor& t : programs.kernel(p).tensors) {
            a.push_back(schedules::reference::make_buffer(t));
            T* x = reinterpret_cast<T*>(a.back().data());
            for (size_t i = 0; i < values.size() * values.size(); i++) {
                x[i] = t.name == "x" ? values[i / values.size()] : t.name == "z" ? values[i % values.size()] : T(0);
            }
            b.push_back(schedules::reference::make_buffer(t));
            std::memcpy(b.back().data(), x, values.size() * values.size() * sizeof(T));
        }
        EXPECT_EQ(programs.by_llvm(p, a), 0);
        EXPECT_EQ(programs.by_gcc(p, b), 0);
        const auto operation = operations<T>()[p];
        for (size_t i = 0; i < values.size() * values.size(); i++) {
            const T x = values[i / values.size()], z = values[i % values.size()], expected = operation.expected(x, z);
            for (std::vector<Buffer>* buffers : {&a, &b}) {
                const T got = reinterpret_cast<T*>((*buffers)[2].data())[i];
                EXPECT_TRUE(got == expected || (got != got && expected != expected))
                    << info(operation.op).name << "(" << +x << ", " << +z << ") = " << +got << " for " << +expected
                    << " of " << type << (buffers == &a ? " by LLVM" : " by gcc");
            }
        }
    }
}

// A random expression over float32 inputs x and z, float64 w, int32 i and half h, as text of the wanted type.
class RandomExpression {
public:
    explicit RandomExpression(uint32_t seed) : random_(seed) {}
    std::string real(int depth) {
        if (depth == 0) return pick({"x[a]", "z[a]", "float32(w[a])", "float32(h[a])", "0.75", "float32(i[a])"});
        const std::string op = pick({"add", "sub", "mul", "div", "min", "max", "min", "max"});
        switch (random_() % 8) {
        case 0: return pick({"neg", "abs", "floor", "round", "trunc", "ceil", "sign"}) + "(" + real(depth - 1) + ")";
        case 1: return "(" + truth(depth - 1) + " ? " + real(depth - 1) + " : " + real(depth - 1) + ")";
        case 2: return "float32(" + integer(depth - 1) + ")";
        case 3:
            return pick({"exp", "tanh", "log", "sqrt", "erf", "sigmoid", "sin", "atan"}) + "(" + real(depth - 1) + ")";
        default: return op + "(" + real(depth - 1) + ", " + real(depth - 1) + ")";
        }
    }

private:
    std::string pick(const std::vector<std::string>& of) { return of[random_() % of.size()]; }
    std::string integer(int depth) {
        if (depth == 0) return pick({"i[a]", "int32(3)", "int32(x[a])", "int32(3 * a + 1)"});
        // Not of a number alone: that would be the text of an int32 literal.
        if (random_() % 4 == 0) return "int32(neg(" + real(depth - 1) + "))";
        return pick({"add", "sub", "mul", "floor_div", "mod", "bit_xor", "min", "max"}) + "(" + integer(depth - 1) +
               ", " + integer(depth - 1) + ")";
    }
    std::string truth(int depth) {
        if (depth == 0) return "less(x[a], z[a])";
        switch (random_() % 4) {
        case 0: return pick({"and", "or", "xor"}) + "(" + truth(depth - 1) + ", " + truth(depth - 1) + ")";
        case 1:
            return pick({"equal", "less_equal", "greater"}) + "(" + integer(depth - 1) + ", " + integer(depth - 1) +
                   ")";
        case 2: return "is_nan(" + real(depth - 1) + ")";
        default:
            return pick({"less", "not_equal", "greater_equal"}) + "(" + real(depth - 1) + ", " + real(depth - 1) + ")";
        }
    }
    std::mt19937 random_;
};

constexpr std::array small_floats = {DType::float16,        DType::bfloat16,   DType::float8e4m3fn,
                                     DType::float8e4m3fnuz, DType::float8e5m2, DType::float8e5m2fnuz};

TEST(RandomPrograms, BackendsAgreeOnEveryBit) {
    std::vector<std::string> texts;
    for (uint32_t seed = 0; seed < 24; seed++) {
        RandomExpression expression(seed);
        std::string text =
            "kernel program\n  axis a = 101 hint 101 named\n  input x: float32 [101]\n  input z: float32 [101]\n"
            "  input w: float64 [101]\n  input i: int32 [101]\n  input h: HALF [101]\n  output y: float32 [101]\n"
            "  output g: HALF [101]\n  output k: WHOLE [101]\n  common a\n";
        const std::string half(name(small_floats[seed % small_floats.size()]));
        for (size_t at; (at = text.find("HALF")) != std::string::npos;) text.replace(at, 4, half);
        const std::string whole = std::array{"int8", "int4", "uint4"}[seed / 6 % 3];
        text.replace(text.find("WHOLE"), 5, whole);
        text += "  y[a] over [a] = " + expression.real(4) + "\n";
        text += "  g[a] over [a] = " + half + "(" + expression.real(2) + ")\n";
        text += "  k[a] over [a] = " + whole + "(" + expression.real(2) + ")\n";
        texts.push_back(text);
    }
    Programs programs(texts);
    const auto specials = special_values<float>();
    for (size_t p = 0; p < texts.size(); p++) {
        auto a = random_buffers(programs.kernel(p)), b = random_buffers(programs.kernel(p));
        for (auto* buffers : {&a, &b}) {
            std::memcpy((*buffers)[0].data(), specials.data(), specials.size() * sizeof(float));
            std::memcpy((*buffers)[1].data() + 40, specials.data(), specials.size() * sizeof(float));
        }
        EXPECT_EQ(programs.by_llvm(p, a), 0);
        EXPECT_EQ(programs.by_gcc(p, b), 0);
        for (size_t t = 5; t < 8; t++) {
            const KernelTensor& tensor = programs.kernel(p).tensors[t];
            EXPECT_TRUE(same(tensor, a[t], b[t])) << tensor.name << "\n" << texts[p];
        }
    }
}

// All codes of types that are only stored, and special values to each of them; a type of each kind stands for the others.
TEST(Conversions, BackendsAgreeOnEveryBit) {
    auto stands_for_others = [](DType dtype) {
        return is_narrow(dtype) || is_bool(dtype) || dtype == DType::float32 || dtype == DType::float64 ||
               dtype == DType::int64;
    };
    std::vector<std::string> texts;
    for (const DTypeInfo& from : all_dtypes()) {
        if (!stands_for_others(from.dtype)) continue;
        std::string text =
            fmt::format("kernel program\n  axis a = 256 hint 256 named\n  input x: {} [256]\n", from.name);
        std::string equations;
        for (const DTypeInfo& to : all_dtypes()) {
            const bool between = is_narrow(from.dtype) && is_narrow(to.dtype) && to.dtype != DType::uint4;
            if (from.dtype == to.dtype || between || !stands_for_others(to.dtype)) continue;
            if (!is_narrow(from.dtype) && !is_narrow(to.dtype)) continue;
            text += fmt::format("  output to_{0}: {0} [256]\n", to.name);
            equations += fmt::format("  to_{0}[a] over [a] = {0}(x[a])\n", to.name);
        }
        texts.push_back(text + "  common a\n" + equations);
    }
    Programs programs(texts);
    const auto specials = special_values<float>();
    for (size_t p = 0; p < texts.size(); p++) {
        auto a = random_buffers(programs.kernel(p)), b = random_buffers(programs.kernel(p));
        const DType from = programs.kernel(p).tensors[0].dtype;
        for (auto* buffers : {&a, &b}) {
            for (int64_t i = 0; i < 256; i++) {
                schedules::reference::Scalar s;
                s.integer = i;
                s.real = i < static_cast<int64_t>(specials.size())
                             ? static_cast<double>(specials[static_cast<size_t>(i)])
                             : std::ldexp(static_cast<double>(i % 32 - 16), static_cast<int>(i / 16) - 12);
                schedules::reference::store((*buffers)[0], from, i, s);
                if (bytes(from) == 1 && !is_bool(from)) (*buffers)[0].data()[i] = static_cast<std::byte>(i);
            }
        }
        EXPECT_EQ(programs.by_llvm(p, a), 0);
        EXPECT_EQ(programs.by_gcc(p, b), 0);
        for (size_t t = 1; t < a.size(); t++) {
            const KernelTensor& tensor = programs.kernel(p).tensors[t];
            EXPECT_TRUE(same(tensor, a[t], b[t])) << name(from) << " " << tensor.name;
        }
    }
}

TEST(Checks, ReportTheFirstFailingPoint) {
    const std::string text =
        "kernel take\n  axis i = 40 hint 40 named\n  input t: float32 [9]\n  input n: int64 [40]\n  output y: float32 "
        "[40]\n"
        "  common i\n  y[i] over [i] = t[n[i]]\n";
    Programs programs({text});
    for (const int64_t bad : {int64_t{9}, int64_t{-1}, INT64_MAX}) {
        auto buffers = random_buffers(programs.kernel(0));
        reinterpret_cast<int64_t*>(buffers[1].data())[37] = bad;
        std::vector<int64_t> report;
        EXPECT_EQ(programs.by_llvm(0, buffers, &report), 1);
        ASSERT_EQ(report.size(), 4u);
        EXPECT_EQ(report[1], bad);
        EXPECT_EQ(report[2], 9);
        std::vector<int64_t> same;
        EXPECT_EQ(programs.by_gcc(0, buffers, &same), 1);
        EXPECT_EQ(same, report);
    }
}

}  // namespace
}  // namespace heddle::backends
