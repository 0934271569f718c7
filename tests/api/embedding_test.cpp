// The C++ interface, as a program uses it.
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "api/helpers.h"
#include "api/models.h"
#include "helpers/test_folder.h"

namespace heddle::tests {
namespace {

void expect_near(const float* found, const std::vector<double>& expected) {
    for (size_t i = 0; i < expected.size(); i++) ASSERT_NEAR(found[i], expected[i], 1e-5) << i;
}

TEST(Embedding, AModelIsLoadedCompiledAndRunOnMemoryOfTheCaller) {
    const Perceptron model = perceptron();
    const TestFolder folder;
    std::filesystem::create_directories(folder.path);
    const std::string path = folder.path / "perceptron.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes;

    const Runtime runtime = tests::runtime();
    const Model loaded = runtime.load(path).value();
    for (const Model& m : {loaded, parsed(runtime, model.bytes)}) {
        for (int64_t rows : {1, 7}) {
            const auto x = numbers(static_cast<size_t>(rows) * Perceptron::inputs);
            std::vector<float> y(static_cast<size_t>(rows) * Perceptron::outputs, -1);
            const Tensor input = Tensor::of(x.data(), {rows, Perceptron::inputs});
            const Executable executable = m.compile({input}).value();
            ASSERT_TRUE(executable.run({input}, {Tensor::of(y.data(), {rows, Perceptron::outputs})}));
            expect_near(y.data(), model.expected(x));
            const Tensors results = m.run({input}).value();
            EXPECT_EQ(results.at(0).shape(), (std::vector<int64_t>{rows, Perceptron::outputs}));
            EXPECT_EQ(0, std::memcmp(results[0].as<float>(), y.data(), y.size() * sizeof(float)));
        }
    }
}

// The element at (i, j, k).
float at(const Tensor& tensor, int64_t i, int64_t j, int64_t k) {
    const auto& strides = tensor.strides();
    return tensor.as<const float>()[i * strides[0] + j * strides[1] + k * strides[2]];
}

void expect_elements(const Tensor& found, const std::vector<float>& expected) {
    const auto& shape = found.shape();
    ASSERT_EQ(static_cast<size_t>(found.size()), expected.size());
    for (int64_t i = 0, n = 0; i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++) {
            for (int64_t k = 0; k < shape[2]; k++, n++) EXPECT_EQ(at(found, i, j, k), expected[static_cast<size_t>(n)]) << n;
        }
    }
}

// `cache` [2, n, 3] with x [2, 1, 3] + 1 behind.
std::vector<float> longer(const std::vector<float>& cache, const std::vector<float>& x) {
    std::vector<float> all;
    const size_t half = cache.size() / 2;
    for (size_t i = 0; i < 2; i++) {
        all.insert(all.end(), cache.data() + i * half, cache.data() + (i + 1) * half);
        for (size_t k = 0; k < 3; k++) all.push_back(x[i * 3 + k] + 1);
    }
    return all;
}

TEST(Embedding, ResultsThatGrowDoSoInPlace) {
    const Runtime runtime = tests::runtime();
    const Model growing = parsed(runtime, cache_model()), plain = parsed(runtime, cache_model());
    ASSERT_TRUE(growing.let_results_grow());
    std::vector<float> expected = numbers(2 * 16 * 3);
    const std::vector<float> begin = expected, x = numbers(6);
    const Tensor one = Tensor::of(x.data(), {2, 1, 3});
    Tensor cache = Tensor::of(begin.data(), {2, 16, 3});
    std::vector<Tensor> kept;  // so that memory is not used again
    std::set<const void*> places;
    for (int i = 0; i < 30; i++) {
        cache = growing.run({cache, one}).value().at(0);
        expected = longer(expected, x);
        expect_elements(cache, expected);
        places.insert(cache.data());
        kept.push_back(cache);
    }
    EXPECT_LE(places.size(), 3u);
    // Of two that continue one, the second has other memory; who has the first keeps it.
    const Tensor first = growing.run({cache, one}).value().at(0), second = growing.run({cache, one}).value().at(0);
    EXPECT_EQ(first.data(), cache.data());
    EXPECT_NE(second.data(), cache.data());
    expect_elements(first, longer(expected, x));
    expect_elements(second, longer(expected, x));
    expect_elements(cache, expected);
    // Without being asked for, results are row-major, and are taken so.
    EXPECT_EQ(code_of(plain.run({cache, one})), "api.strides");
    const Tensor dense = plain.run({Tensor::of(expected.data(), {2, 46, 3}), one}).value().at(0);
    EXPECT_EQ(dense.strides(), (std::vector<int64_t>{47 * 3, 3, 1}));
}

TEST(Embedding, BytesThatAreLentAreReadInPlaceAndGivenBack) {
    auto bytes = std::make_shared<std::string>(perceptron().bytes);
    const std::weak_ptr<std::string> watched = bytes;
    {
        const Runtime runtime = tests::runtime();
        const Model model = runtime.parse(bytes->data(), bytes->size(), bytes).value();
        bytes.reset();
        EXPECT_FALSE(watched.expired());
        EXPECT_TRUE(model.run({Tensor::of(numbers(130).data(), {1, 130})}));
    }
    EXPECT_TRUE(watched.expired());
    auto broken = std::make_shared<std::string>("no model");
    EXPECT_FALSE(runtime().parse(broken->data(), broken->size(), broken));
    EXPECT_EQ(broken.use_count(), 1);
}

TEST(Embedding, PortsSayNamesTypesAndDimensions) {
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, perceptron().bytes);
    const Port input = model.inputs().at(0), output = model.outputs().at(0);
    EXPECT_EQ(input.name, "x");
    EXPECT_TRUE(input.dtype == dtype_of<float>());
    EXPECT_EQ(input.shape.at(0).size, -1);
    EXPECT_EQ(input.shape.at(0).name, "batch");
    EXPECT_EQ(input.shape.at(1).size, 130);
    EXPECT_EQ(output.name, "y");
    const Executable executable = model.compile({Tensor(nullptr, dtype_of<float>(), {5, 130})}).value();
    EXPECT_EQ(executable.inputs().at(0).shape.at(0).size, 5);
    EXPECT_EQ(executable.outputs().at(0).shape.at(0).size, 5);
    EXPECT_GT(executable.workspace_bytes(), 0);
    EXPECT_GT(executable.weight_bytes(), 0);
    const std::string bytes = perceptron().bytes;
    const Model bound = runtime.parse(bytes.data(), bytes.size(), {{"batch", 3}}).value();
    EXPECT_EQ(bound.inputs().at(0).shape.at(0).size, 3);
    EXPECT_EQ(code_of(runtime.parse(bytes.data(), bytes.size(), {{"bach", 3}})), "api.dimension");
}

TEST(Embedding, TensorsAreGivenByNameToo) {
    const Runtime runtime = tests::runtime();
    const Model model = runtime.calls("y = sub(a, b)", {"a", "b"}).value();
    const float a[2] = {5, 7}, b[2] = {1, 2};
    float y[2] = {};
    const NamedTensors inputs = {{"b", Tensor::of(b, {2})}, {"a", Tensor::of(a, {2})}};
    const Executable executable = model.compile_named(inputs).value();
    ASSERT_TRUE(executable.run_named(inputs, {{"y", Tensor::of(y, {2})}}));
    EXPECT_EQ(y[0], 4);
    EXPECT_EQ(y[1], 5);
    EXPECT_EQ(code_of(executable.run_named({{"a", Tensor::of(a, {2})}}, {{"y", Tensor::of(y, {2})}})), "api.name");
    EXPECT_EQ(code_of(executable.run_named(inputs, {{"z", Tensor::of(y, {2})}})), "api.name");
    EXPECT_EQ(code_of(executable.run_named(inputs, {{"y", inputs[0].second}, {"y", inputs[0].second}})), "api.name");
}

TEST(Embedding, OperatorsOfYourOwnAreTextsOrFiles) {
    const char* const twice =
        "twice:\n  inputs: {x: \"$dtype[$shape...]\"}\n  index: \"[$shape...]\"\n"
        "  outputs: {y: \"$dtype\"}\n  body: \"y = x + x\"\n";
    const std::string thrice =
        "twice:\n  inputs: {x: \"$dtype[$shape...]\"}\n  index: \"[$shape...]\"\n"
        "  outputs: {y: \"$dtype\"}\n  body: \"y = x * 3\"\n";
    const float x[3] = {1, 2, 3};
    const Tensor input = Tensor::of(x, {3});
    const Runtime runtime = tests::runtime();
    const Model before = runtime.calls("twice(x)", {"x"}).value();
    EXPECT_EQ(code_of(before.compile({input})), "language.unknown_operator");
    ASSERT_TRUE(runtime.add_operators_text("mine", twice));
    const Model after = runtime.calls("twice(x)", {"x"}).value();
    EXPECT_EQ(after.run({input}).value().at(0).as<float>()[2], 6);
    // A text of the same name takes its place; models keep what they were made from.
    ASSERT_TRUE(runtime.add_operators_text("mine", thrice));
    EXPECT_EQ(runtime.calls("twice(x)", {"x"}).value().run({input}).value().at(0).as<float>()[2], 9);
    EXPECT_EQ(after.run({input}).value().at(0).as<float>()[2], 6);
    EXPECT_EQ(code_of(before.compile({input})), "language.unknown_operator");
    // What cannot be read changes nothing, and says where it is wrong.
    const auto wrong = runtime.add_operators_text("broken", "twice:\n  inputs: {x\n");
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().text().find("broken:"), std::string::npos) << wrong.error().text();
    EXPECT_EQ(runtime.calls("twice(x)", {"x"}).value().run({input}).value().at(0).as<float>()[2], 9);

    const TestFolder folder;
    std::filesystem::create_directories(folder.path);
    std::ofstream(folder.path / "own.yaml") << twice;
    const Runtime other = tests::runtime();
    ASSERT_TRUE(other.add_operators(folder.path / "own.yaml"));
    ASSERT_TRUE(other.add_operators(folder.path / "own.yaml", "named"));
    EXPECT_EQ(other.calls("named::twice(x)", {"x"}).value().run({input}).value().at(0).as<float>()[0], 2);
    EXPECT_EQ(code_of(other.add_operators(folder.path / "none.yaml")), "language.file");
}

TEST(Embedding, AValueThatDecidesAShapeBelongsToTheExecutable) {
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, reshape_model());
    const auto x = numbers(12);
    const int64_t tall[2] = {6, 2}, wide[2] = {2, 6};
    const Tensor data = Tensor::of(x.data(), {3, 4}), nothing;
    EXPECT_FALSE(model.inputs().at(2).is_read);
    const Executable first = model.compile({data, Tensor::of(tall, {2}), nothing}).value();
    const Executable second = model.compile({data, Tensor::of(wide, {2}), nothing}).value();
    EXPECT_EQ(first.outputs().at(0).shape.at(0).size, 6);
    EXPECT_EQ(second.outputs().at(0).shape.at(0).size, 2);
    EXPECT_TRUE(first.run({data, Tensor::of(tall, {2}), nothing}));
    EXPECT_EQ(code_of(first.run({data, Tensor::of(wide, {2}), nothing})), "runtime.decided_input");
    EXPECT_FALSE(model.compile({data, Tensor(nullptr, dtype_of<int64_t>(), {2}), nothing}));
    const NamedTensors named = {{"x", data}, {"shape", Tensor::of(wide, {2})}};
    EXPECT_TRUE(model.compile_named(named)) << "what nothing reads may be left out";
}

TEST(Embedding, ALoopRunsForInputsOfAnySizes) {
    const Model model = parsed(tests::runtime(), doubling_model());
    for (int64_t trips : {0, 3, 1}) {
        const std::vector<float> x{1, 2, 3};
        const Tensors inputs{Tensor::of(x.data(), {3}), Tensor::of(&trips, {})};
        const Tensors results = model.run(inputs).value();
        ASSERT_EQ(results.at(0).shape(), (std::vector<int64_t>{3 << trips}));
        for (int64_t i = 0; i < 3 << trips; i++) EXPECT_EQ(results[0].as<float>()[i], static_cast<float>(i % 3 + 1));
        const auto executable = model.compile(inputs);
        ASSERT_FALSE(executable);
        EXPECT_EQ(executable.error().code(), "onnx.step");
    }
    EXPECT_EQ(model.run({Tensor::of(static_cast<const float*>(nullptr), {0})}).error().code(), "api.count");
}

TEST(Embedding, AnOutputThatIsAListIsRefused) {
    const Model model = parsed(tests::runtime(), doubling_model(true));
    const std::vector<float> x{1, 2, 3};
    const int64_t trips = 2;
    EXPECT_EQ(model.run({Tensor::of(x.data(), {3}), Tensor::of(&trips, {})}).error().code(), "api.list");
}

TEST(Embedding, ErrorsAreValuesWithTextAndData) {
    const Runtime runtime = tests::runtime();
    const auto missing = runtime.load("no/such/model.onnx");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind(), ErrorKind::failed);
    EXPECT_EQ(missing.error().code(), "support.file_open");
    EXPECT_NE(missing.error().text().find("no/such/model.onnx"), std::string::npos);
    EXPECT_EQ(missing.error().json().front(), '[');
    EXPECT_THROW(runtime.load("no/such/model.onnx").value(), std::runtime_error);
    EXPECT_EQ(code_of(runtime.parse("garbage", 7)), "onnx.not_a_model");
    const std::string unknown = one_node_of("NoSuchOperator");
    EXPECT_EQ(code_of(runtime.parse(unknown.data(), unknown.size())), "onnx.unsupported_operator");
    EXPECT_EQ(code_of(runtime.calls("relu(x", {"x"}).value().compile({Tensor::of(numbers(2).data(), {2})})),
              "language.syntax");
    EXPECT_EQ(code_of(runtime.calls("relu(x)", {"x", "x"})), "api.argument");
    EXPECT_EQ(code_of(runtime.calls("relu(x)", {""})), "api.argument");
}

TEST(Embedding, ACompileIsToldAndCanBeEnded) {
    const Runtime runtime = tests::runtime();
    const std::string bytes = image_model();
    const Model model = parsed(runtime, bytes);
    const Tensors inputs = {Tensor(nullptr, dtype_of<float>(), {1, 3, 20, 20})};
    for (const char* last : {"load", "symbolic", "fusion", "code"}) {
        const auto cancelled = model.compile(inputs, [&](const Progress& p) { return p.stage != last; });
        ASSERT_FALSE(cancelled) << last;
        EXPECT_EQ(cancelled.error().kind(), ErrorKind::cancelled);
        EXPECT_EQ(cancelled.error().code(), "support.cancelled");
    }
    std::vector<std::string> stages;
    ASSERT_TRUE(model.compile(inputs, [&](const Progress& p) {
        if (stages.empty() || stages.back() != p.stage) stages.push_back(p.stage);
        return p.done <= p.total && p.seconds >= 0;
    }));
    EXPECT_EQ(stages, (std::vector<std::string>{"load", "symbolic", "fusion", "plan", "code", "link", "prepare"}));
    // What is there already is not made again.
    stages.clear();
    ASSERT_TRUE(model.compile(inputs, [&](const Progress& p) {
        stages.push_back(p.stage);
        return true;
    }));
    EXPECT_TRUE(stages.empty());
}

TEST(Embedding, AnInputThatHasAValueMayBeGiven) {
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, weighted_model());
    ASSERT_EQ(model.inputs().size(), 1u);
    ASSERT_EQ(model.initializers().size(), 1u);
    EXPECT_EQ(model.initializers()[0].name, "w");
    const float x[] = {10, 20, 30}, w[] = {-1, 0, 1};
    const Tensor first = Tensor::of(x, {3}), second = Tensor::of(w, {3});
    EXPECT_EQ(model.run({first}).value()[0].as<float>()[2], 33);
    const Model with = model.with_initializers({"w"}).value();
    ASSERT_EQ(with.inputs().size(), 2u);
    EXPECT_TRUE(with.initializers().empty());
    EXPECT_EQ(with.run({first, second}).value()[0].as<float>()[2], 31);
    EXPECT_EQ(code_of(model.with_initializers({"x"})), "api.argument");
    EXPECT_EQ(code_of(with.run({first})), "api.count");
}

TEST(Embedding, MoreWorkThanARuntimeAllowsIsRefused) {
    RuntimeOptions options;
    options.work = 2;
    const float x[] = {10, 20, 30};
    EXPECT_EQ(code_of(parsed(tests::runtime(options), weighted_model()).run({Tensor::of(x, {3})})),
              "evaluate.too_much_work");
}

TEST(Embedding, ProgramsAreKeptOnDiskWhereThatIsAsked) {
    const TestFolder folder;
    const std::string bytes = perceptron().bytes;
    const auto x = numbers(130);
    std::vector<float> first;
    for (int process = 0; process < 2; process++) {
        RuntimeOptions options;
        options.cache = true;
        options.cache_folder = folder.path;
        const Runtime runtime = tests::runtime(options);
        std::vector<std::string> stages;
        const Model model = parsed(runtime, bytes);
        const Tensor input = Tensor::of(x.data(), {1, 130});
        const Executable executable = model
                                          .compile({input},
                                                   [&](const Progress& p) {
                                                       stages.push_back(p.stage);
                                                       return true;
                                                   })
                                          .value();
        EXPECT_EQ(std::find(stages.begin(), stages.end(), "symbolic") == stages.end(), process == 1);
        const Tensors results = executable.run({input}).value();
        const std::vector<float> y(results[0].as<float>(), results[0].as<float>() + results[0].size());
        if (process == 0) first = y;
        EXPECT_EQ(y, first);
        EXPECT_EQ(runtime.take_notes(), "");
    }
}

}  // namespace
}  // namespace heddle::tests
