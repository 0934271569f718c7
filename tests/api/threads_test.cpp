// One runtime, one executable, many threads.
#include <atomic>
#include <thread>

#include "api/helpers.h"
#include "api/models.h"

namespace heddle::tests {
namespace {

template <typename Work>
void on_threads(int count, const Work& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; t++) threads.emplace_back([&, t] { work(t); });
    for (std::thread& thread : threads) thread.join();
}

TEST(EmbeddedThreads, ShareOneExecutable) {
    for (int runs : {1, 3}) {
        RuntimeOptions options;
        options.runs = runs;
        const Runtime runtime = tests::runtime(options);
        const Executable executable =
            parsed(runtime, perceptron().bytes).compile({Tensor(nullptr, {2, 32, 1}, {4, 130})}).value();
        std::vector<std::vector<float>> inputs, expected;
        for (size_t t = 0; t < 5; t++) {
            auto x = numbers(4 * 130);
            for (float& value : x) value *= static_cast<float>(t);
            const Tensors results = executable.run({Tensor::of(x.data(), {4, 130})}).value();
            expected.emplace_back(results[0].as<float>(), results[0].as<float>() + 4 * 40);
            inputs.push_back(std::move(x));
        }
        std::atomic<int> wrong = 0;
        on_threads(5, [&](int t) {
            const auto own = static_cast<size_t>(t);
            std::vector<float> y(4 * 40);
            for (int i = 0; i < 40; i++) {
                const auto done =
                    executable.run({Tensor::of(inputs[own].data(), {4, 130})}, {Tensor::of(y.data(), {4, 40})});
                if (!done || y != expected[own]) wrong++;
            }
        });
        EXPECT_EQ(wrong, 0) << runs;
    }
}

TEST(EmbeddedThreads, CompileAtOnceWhileOthersRunAndWhileHandlesGo) {
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, perceptron().bytes);
    std::atomic<int> failed = 0;
    on_threads(4, [&](int t) {
        for (int64_t rows : {1, 2, 3, 2, 1}) {
            const auto x = numbers(static_cast<size_t>(rows) * 130);
            auto results = model.run({Tensor::of(x.data(), {rows, 130})});
            if (!results || results->at(0).shape()[0] != rows) failed++;
            const auto error = model.run({Tensor::of(x.data(), {130, rows})});  // of this thread alone
            if (t % 2 == 0 && code_of(error) == "ok") failed++;
            if (!runtime.add_operators_text("text" + std::to_string(t),
                                            "own" + std::to_string(t) +
                                                ": {graph: \"y = relu(x)\", inputs: {x: \"$dtype[$shape...]\"}, "
                                                "outputs: {y: \"$dtype[$shape...]\"}}\n"))
                failed++;
        }
    });
    EXPECT_EQ(failed, 0);
    // Equal calls get one executable.
    const Tensors input = {Tensor(nullptr, {2, 32, 1}, {6, 130})};
    std::vector<std::string> stages;
    const auto told = [&](const Progress& p) {
        stages.push_back(p.stage);
        return true;
    };
    ASSERT_TRUE(model.compile(input, told));
    EXPECT_FALSE(stages.empty());
    stages.clear();
    ASSERT_TRUE(model.compile(input, told));
    EXPECT_TRUE(stages.empty());
}

}  // namespace
}  // namespace heddle::tests
