// What is asked of callers' tensors: devices, types, shapes, strides, addresses, memory of their own.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "api/helpers.h"
#include "api/models.h"

namespace heddle::tests {
namespace {

// y = add2(a, b) of 2 x 3 elements, with tensors that fit.
struct Sum {
    Runtime runtime = tests::runtime();
    Executable executable =
        runtime.calls("y = add2(a, b)", {"a", "b"})
            .value()
            .compile({Tensor(nullptr, dtype_of<float>(), {2, 3}), Tensor(nullptr, dtype_of<float>(), {2, 3})})
            .value();
    std::array<float, 24> a = {1, 2, 3, 4, 5, 6}, b = {10, 20, 30, 40, 50, 60}, y = {};
    Tensor in_a = Tensor::of(a.data(), {2, 3}), in_b = Tensor::of(b.data(), {2, 3}), out = Tensor::of(y.data(), {2, 3});

    // With another first input, or output.
    Result<Done> with(const Tensor& tensor) const { return executable.run({tensor, in_b}, {out}); }
    Result<Done> into(const Tensor& tensor) const { return executable.run({in_a, in_b}, {tensor}); }
};

// The code, and that the message names the tensor.
void expect_refused(const Result<Done>& result, const std::string& code, const std::string& name) {
    ASSERT_FALSE(result) << code;
    EXPECT_EQ(result.error().code(), code) << result.error().text();
    EXPECT_NE(result.error().text().find("'" + name + "'"), std::string::npos) << result.error().text();
}

constexpr heddle_dtype float32 = {2, 32, 1};

TEST(Targets7, ATensorOnAnotherDeviceIsRefusedByItsName) {
    const Sum sum;
    const Tensor on_cuda(sum.a.data(), float32, {2, 3}, {}, {decltype(heddle_device::device_type){2}, 1});
    const auto refused = sum.with(on_cuda);
    expect_refused(refused, "api.device", "a");
    EXPECT_NE(refused.error().text().find("cuda:1"), std::string::npos) << refused.error().text();
    EXPECT_NE(refused.error().json().find("\"input\""), std::string::npos) << refused.error().json();
    expect_refused(sum.into(Tensor(sum.y.data(), float32, {2, 3}, {}, {decltype(heddle_device::device_type){15}, 0})),
                   "api.device", "y");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {2, 3}, {}, {decltype(heddle_device::device_type){1}, 3})),
                   "api.device", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {2, 3}, {}, {decltype(heddle_device::device_type){-7}, 0})),
                   "api.device", "a");
    // Two that are on two devices: each is named.
    const auto both =
        sum.executable.run({on_cuda, sum.in_b},
                           {Tensor(sum.y.data(), float32, {2, 3}, {}, {decltype(heddle_device::device_type){10}, 0})});
    ASSERT_FALSE(both);
    EXPECT_NE(both.error().text().find("input 'a'"), std::string::npos);
    EXPECT_NE(both.error().text().find("output 'y'"), std::string::npos);
    // What is compiled for is looked at, too.
    const Model model = sum.runtime.calls("relu(x)", {"x"}).value();
    EXPECT_EQ(code_of(model.compile({on_cuda})), "api.device");
    EXPECT_TRUE(sum.with(sum.in_a));
}

TEST(EmbeddedTensors, OnlyRowMajorOnesAreTaken) {
    Sum sum;
    EXPECT_TRUE(sum.with(Tensor(sum.a.data(), float32, {2, 3}, {3, 1})));
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {2, 3}, {1, 2})), "api.strides", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {2, 3}, {4, 1})), "api.strides", "a");
    expect_refused(sum.into(Tensor(sum.y.data(), float32, {2, 3}, {3, -1})), "api.strides", "y");
    // The stride of a dimension of one element says nothing, nor do those of no elements.
    const Model model = sum.runtime.calls("y = relu(x)", {"x"}).value();
    EXPECT_TRUE(model.run({Tensor(sum.a.data(), float32, {1, 3}, {77, 1})}));
    EXPECT_TRUE(model.run({Tensor(nullptr, float32, {0, 3}, {77, 5})}));
    EXPECT_TRUE(model.run({Tensor(sum.a.data(), float32, {})}));
}

TEST(EmbeddedTensors, TypesAndShapesAreThoseOfThePorts) {
    Sum sum;
    expect_refused(sum.with(Tensor(sum.a.data(), {0, 32, 1}, {2, 3})), "runtime.input_dtype", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {3, 2})), "runtime.input_shape", "a");
    expect_refused(sum.into(Tensor(sum.y.data(), float32, {3, 2})), "api.output", "y");
    expect_refused(sum.into(Tensor(sum.y.data(), {2, 64, 1}, {2, 3})), "api.output", "y");
    expect_refused(sum.with(Tensor(sum.a.data(), {2, 32, 4}, {2, 3})), "api.dtype", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), {0, 4, 1}, {2, 3})), "api.dtype", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), {99, 32, 1}, {2, 3})), "api.dtype", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {2, -3})), "api.shape", "a");
    expect_refused(sum.with(Tensor(sum.a.data(), float32, {int64_t{1} << 40, int64_t{1} << 40})), "api.shape", "a");
    heddle_tensor wild = sum.in_a.c_tensor();
    for (int32_t ndim : {-1, 65, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
        wild.ndim = ndim;
        heddle_tensor inputs[2] = {wild, sum.in_b.c_tensor()}, output = sum.out.c_tensor();
        heddle_error* error = nullptr;
        EXPECT_EQ(heddle_executable_run(sum.executable.get(), inputs, 2, &output, 1, &error), HEDDLE_FAILED);
        EXPECT_STREQ(heddle_error_code(error), "api.shape");
        heddle_error_free(error);
    }
    EXPECT_EQ(code_of(sum.executable.run({sum.in_a}, {sum.out})), "api.count");
    EXPECT_EQ(code_of(sum.executable.run({sum.in_a, sum.in_b}, {})), "api.count");
    EXPECT_EQ(code_of(parsed(sum.runtime, perceptron().bytes).compile({})), "api.count");
}

TEST(EmbeddedTensors, MemoryIsThereAlignedAndNotAnOutputsToo) {
    Sum sum;
    expect_refused(sum.with(Tensor(nullptr, float32, {2, 3})), "api.no_data", "a");
    expect_refused(sum.into(Tensor(nullptr, float32, {2, 3})), "api.no_data", "y");
    const char* const between = reinterpret_cast<const char*>(sum.a.data()) + 2;
    expect_refused(sum.with(Tensor(between, float32, {2, 3})), "api.alignment", "a");
    expect_refused(sum.into(sum.in_a), "api.overlap", "y");
    expect_refused(sum.into(Tensor::of(sum.b.data() + 5, {2, 3})), "api.overlap", "b");
    EXPECT_TRUE(sum.into(Tensor::of(sum.b.data() + 6, {2, 3}))) << "beside another tensor";
    EXPECT_TRUE(sum.executable.run({sum.in_a, sum.in_a}, {sum.out})) << "inputs may share memory";
    // From the byte that byte_offset says on.
    heddle_tensor inputs[2] = {sum.in_a.c_tensor(), sum.in_b.c_tensor()}, output = sum.out.c_tensor();
    inputs[0].byte_offset = 3 * sizeof(float);
    EXPECT_EQ(heddle_executable_run(sum.executable.get(), inputs, 2, &output, 1, nullptr), HEDDLE_OK);
    EXPECT_EQ(sum.y[0], 4 + 10);
}

TEST(EmbeddedTensors, NothingIsWrittenOutsideOfAnOutput) {
    const Runtime runtime = tests::runtime();
    const Model model = runtime.calls("y = add2(x, x)", {"x"}).value();
    for (int64_t size : {1, 3, 7, 13, 64, 65, 1000}) {
        for (int64_t shift : {0, 1, 3}) {  // at any address of an element
            const auto x = numbers(static_cast<size_t>(size + shift));
            const Tensor input = Tensor::of(x.data() + shift, {size});
            std::vector<float> memory(static_cast<size_t>(size) + 64, 77.0f);
            float* const begin = memory.data() + 16 + shift;
            ASSERT_TRUE(model.compile({input}).value().run({input}, {Tensor::of(begin, {size})}));
            for (size_t i = 0; i < memory.size(); i++) {
                const auto at = static_cast<int64_t>(i) - 16 - shift;
                const float expected = at < 0 || at >= size ? 77.0f : 2 * x[static_cast<size_t>(at + shift)];
                ASSERT_EQ(memory[i], expected) << size << " " << shift << " " << at;
            }
        }
    }
}

TEST(EmbeddedTensors, EveryElementTypeGoesThrough) {
    const Runtime runtime = tests::runtime();
    const Model model = runtime.calls("y = identity(x)", {"x"}).value();
    const std::vector<std::pair<heddle_dtype, const char*>> types = {
        {{6, 8, 1}, "bool"},      {{0, 8, 1}, "int8"},       {{0, 16, 1}, "int16"},       {{0, 32, 1}, "int32"},
        {{0, 64, 1}, "int64"},    {{1, 8, 1}, "uint8"},      {{1, 16, 1}, "uint16"},      {{1, 32, 1}, "uint32"},
        {{1, 64, 1}, "uint64"},   {{2, 16, 1}, "float16"},   {{2, 32, 1}, "float32"},     {{2, 64, 1}, "float64"},
        {{4, 16, 1}, "bfloat16"}, {{5, 64, 1}, "complex64"}, {{5, 128, 1}, "complex128"}, {{10, 8, 1}, "e4m3fn"},
        {{11, 8, 1}, "e4m3fnuz"}, {{12, 8, 1}, "e5m2"},      {{13, 8, 1}, "e5m2fnuz"}};
    for (const auto& [dtype, name] : types) {
        alignas(16) std::array<unsigned char, 160> bytes;
        for (size_t i = 0; i < bytes.size(); i++)
            bytes[i] = dtype.code == 6 ? i % 2 : static_cast<unsigned char>(i % 48);
        const auto result = model.run({Tensor(bytes.data(), dtype, {5, 2})});
        ASSERT_TRUE(result) << name << "\n" << result.error().text();
        const Tensors results = *const_cast<Result<Tensors>&>(result);
        EXPECT_TRUE(results.at(0).dtype() == dtype) << name;
        EXPECT_EQ(0, std::memcmp(results[0].data(), bytes.data(), 10 * dtype.bits / 8)) << name;
    }
}

TEST(EmbeddedTensors, AnIndexThatIsDataIsCheckedInARun) {
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, table_model());
    const int64_t good[2] = {4, 0}, bad[2] = {1, 5};
    EXPECT_TRUE(model.run({Tensor::of(good, {2})}));
    EXPECT_EQ(code_of(model.run({Tensor::of(bad, {2})})), "runtime.index_out_of_range");
    EXPECT_TRUE(model.run({Tensor::of(good, {2})}));
}

}  // namespace
}  // namespace heddle::tests
