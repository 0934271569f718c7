// With an allocator of the caller's, nothing else holds elements of tensors.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/allocation_watch.h"
#include "api/counting_allocator.h"
#include "api/helpers.h"
#include "api/models.h"
#include "helpers/source_folder.h"
#include "helpers/test_folder.h"

namespace heddle::tests {
namespace {

// Memory for a tensor of any type, of the test.
struct Memory {
    explicit Memory(const Port& port) {
        int64_t elements = 1;
        std::vector<int64_t> shape;
        for (const Dimension& dimension : port.shape) {
            shape.push_back(dimension.size);
            elements *= dimension.size;
        }
        bytes.resize(static_cast<size_t>(elements) * ((port.dtype.bits + 7) / 8) / sizeof(double) + 1);
        tensor = Tensor(bytes.data(), port.dtype, std::move(shape));
    }
    std::vector<double> bytes;
    Tensor tensor;
};

std::vector<Memory> memory_of(const std::vector<Port>& ports) {
    std::vector<Memory> memory;
    for (const Port& port : ports) memory.emplace_back(port);
    return memory;
}

Tensors tensors_of(const std::vector<Memory>& memory) {
    Tensors tensors;
    for (const Memory& one : memory) tensors.push_back(one.tensor);
    return tensors;
}

// Some weights of these models have as many; the compiler's own objects are smaller.
constexpr size_t weight_bytes = size_t{1} << 20;
// What a run may at most take for itself at a time: lists of addresses.
constexpr size_t tensor_bytes = 1024;

// All from reading the model to its results, on the allocator's memory or on the system's. `inputs`: types and shapes.
void run_whole(const std::string& bytes, const Tensors& inputs, CountingAllocator* allocator,
               const std::string& cache = {}) {
    RuntimeOptions options;
    options.allocator = allocator;
    options.cache = !cache.empty();
    options.cache_folder = cache;
    const Runtime runtime = tests::runtime(options);
    const AllocationWatch watch(weight_bytes);
    const Model model = parsed(runtime, bytes);
    const Executable executable = model.compile(inputs).value();
    const int64_t while_compiled = AllocationWatch::buffers();
    EXPECT_EQ(AllocationWatch::large_objects(), 0) << "weights on the heap";
    const auto in = memory_of(executable.inputs()), out = memory_of(executable.outputs());
    ASSERT_TRUE(executable.run(tensors_of(in), tensors_of(out)));  // which makes the workspace
    const int64_t while_first = AllocationWatch::buffers();
    const long calls = allocator ? allocator->calls : 0;
    {
        const AllocationWatch of_runs(tensor_bytes);
        for (int i = 0; i < 3; i++) ASSERT_TRUE(executable.run(tensors_of(in), tensors_of(out)));
        EXPECT_EQ(AllocationWatch::buffers(), 0);
        EXPECT_EQ(AllocationWatch::large_objects(), 0) << "a run takes no memory but its lists";
    }
    if (!allocator) {
        EXPECT_GT(while_compiled, 0) << "the watch sees nothing, so that it shows nothing";
        EXPECT_GT(while_first, while_compiled);
        return;
    }
    EXPECT_EQ(while_first, 0);
    EXPECT_EQ(allocator->calls, calls) << "later runs take nothing more";
    EXPECT_GE(allocator->live_bytes, static_cast<size_t>(executable.workspace_bytes()));
    const AllocationWatch of_outputs(tensor_bytes);
    const Tensors made = executable.make_outputs().value();
    EXPECT_EQ(AllocationWatch::buffers(), 0);
    EXPECT_EQ(AllocationWatch::large_objects(), 0);
    for (const Tensor& tensor : made) EXPECT_TRUE(allocator->has(tensor.data()));
    EXPECT_GT(allocator->calls, calls);
}

Tensor type_of(std::vector<int64_t> shape, heddle_dtype dtype = dtype_of<float>()) {
    return Tensor(nullptr, dtype, std::move(shape));
}

struct Whole {
    const char* name;
    std::string bytes;
    Tensors inputs;
};
std::vector<Whole> made_models() {
    return {{"perceptron", perceptron().bytes, {type_of({9, 130})}},
            {"image", image_model(), {type_of({2, 3, 20, 20})}},
            {"table", table_model(), {type_of({50}, dtype_of<int64_t>())}}};
}

TEST(Targets8, AllTensorDataOfWholeModelsComeFromTheAllocator) {
    if (!can_watch()) GTEST_SKIP() << "sanitizers have the functions that this test watches";
    for (const Whole& model : made_models()) {
        SCOPED_TRACE(model.name);
        CountingAllocator allocator;
        run_whole(model.bytes, model.inputs, &allocator);
        EXPECT_GT(allocator.all_bytes, model.bytes.size());  // which are copied
        EXPECT_EQ(allocator.live_bytes, 0u);
    }
}

TEST(Targets8, WithoutAnAllocatorTheSameWatchSeesTheSystems) {
    if (!can_watch()) GTEST_SKIP() << "sanitizers have the functions that this test watches";
    for (const Whole& model : made_models()) {
        SCOPED_TRACE(model.name);
        run_whole(model.bytes, model.inputs, nullptr);
    }
}

TEST(Targets8, WhatTheDiskKeepsComesToTheAllocatorsMemory) {
    if (!can_watch()) GTEST_SKIP() << "sanitizers have the functions that this test watches";
    for (const Whole& model : made_models()) {
        SCOPED_TRACE(model.name);
        const TestFolder folder;
        size_t bytes[2] = {};
        for (size_t& all : bytes) {
            CountingAllocator allocator;
            run_whole(model.bytes, model.inputs, &allocator, folder.path);
            all = allocator.most_live_bytes;
            EXPECT_EQ(allocator.live_bytes, 0u);
        }
        EXPECT_GT(bytes[1], model.bytes.size() / 2) << "weights are not the mapped file's";
    }
}

// Models that were fetched (scripts/models).
TEST(Targets8, SoDoRealModels) {
    if (!can_watch()) GTEST_SKIP() << "sanitizers have the functions that this test watches";
    const std::vector<std::pair<const char*, Tensors>> models = {{"magika", {type_of({1, 2048}, dtype_of<int32_t>())}},
                                                                 {"squeezenet", {type_of({1, 3, 224, 224})}},
                                                                 {"text-classifier", {type_of({2, 3, 48, 192})}}};
    int64_t found = 0;
    for (const auto& [name, inputs] : models) {
        SCOPED_TRACE(name);
        std::ifstream file(in_source(".cache/models/") + name + ".onnx", std::ios::binary);
        if (!file) continue;
        std::stringstream bytes;
        bytes << file.rdbuf();
        found++;
        CountingAllocator allocator;
        run_whole(bytes.str(), inputs, &allocator);
        EXPECT_EQ(allocator.live_bytes, 0u);
        RecordProperty(name, std::to_string(allocator.most_live_bytes));
    }
    if (found == 0) GTEST_SKIP() << "no models in .cache/models (scripts/models fetches them)";
}

// The whole way, with results that are made by the library.
ErrorKind kind_of_run(CountingAllocator& allocator, const std::string& bytes) {
    RuntimeOptions options;
    options.allocator = &allocator;
    options.threads = 2;
    const auto x = numbers(9 * 130);
    auto runtime = Runtime::create(options);
    if (!runtime) return runtime.error().kind();
    auto model = runtime->parse(bytes.data(), bytes.size());
    if (!model) return model.error().kind();
    auto results = model->run({Tensor::of(x.data(), {9, 130})});
    return results ? ErrorKind{HEDDLE_OK} : results.error().kind();
}

TEST(EmbeddedMemory, WhicheverAllocationFailsTheCallSaysSo) {
    const std::string bytes = perceptron().bytes;
    CountingAllocator all;
    ASSERT_EQ(kind_of_run(all, bytes), ErrorKind{HEDDLE_OK});
    ASSERT_GT(all.calls, 5);
    for (long n = 0; n < all.calls; n++) {
        CountingAllocator allocator;
        allocator.fail_at = n;
        EXPECT_EQ(kind_of_run(allocator, bytes), ErrorKind::out_of_memory) << "allocation " << n;
        EXPECT_EQ(allocator.live_bytes, 0u) << "allocation " << n;
    }
}

TEST(EmbeddedMemory, AnAllocatorThatAlignsNothingIsNamed) {
    struct Shifted : CountingAllocator {
        void* allocate(size_t bytes, size_t alignment) noexcept override {
            return static_cast<char*>(CountingAllocator::allocate(bytes + 8, alignment)) + 8;
        }
        void release(void* memory, size_t bytes) noexcept override {
            CountingAllocator::release(static_cast<char*>(memory) - 8, bytes + 8);
        }
    } allocator;
    RuntimeOptions options;
    options.allocator = &allocator;
    const Runtime runtime = Runtime::create(options).value();
    const std::string bytes = perceptron().bytes;
    EXPECT_EQ(code_of(runtime.parse(bytes.data(), bytes.size())), "api.allocator");
    EXPECT_EQ(allocator.live_bytes, 0u);
}

TEST(EmbeddedMemory, ResultsOutliveTheirModel) {
    CountingAllocator allocator;
    Tensors results;
    {
        RuntimeOptions options;
        options.allocator = &allocator;
        const Runtime runtime = tests::runtime(options);
        const float x[3] = {-1, 2, 3};
        results = runtime.calls("relu(x)", {"x"}).value().run({Tensor::of(x, {3})}).value();
    }
    EXPECT_GT(allocator.live_bytes, 0u);
    EXPECT_EQ(results[0].as<float>()[1], 2);
    results.clear();
    EXPECT_EQ(allocator.live_bytes, 0u);
}

}  // namespace
}  // namespace heddle::tests
