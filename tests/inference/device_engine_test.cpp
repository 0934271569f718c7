// Engines whose backend has a device: programs by shapes, their memory, and what of them is kept.
#include <gtest/gtest.h>

#include <cstring>

#include "cache/folder.h"
#include "helpers/codes.h"
#include "helpers/device_backend.h"
#include "helpers/library.h"
#include "helpers/running.h"
#include "helpers/test_folder.h"
#include "inference/compare_tensors.h"
#include "inference/kept_program.h"
#include "inference/program_cache.h"

namespace heddle::inference {
namespace {

// softmax(x w + b) for as many rows as are given.
Result<Graph> layer(const std::vector<TensorData>& inputs, Progress*) {
    Session session(library());
    const TensorId x = session.add_input("x", {DType::float32, {Size(inputs[0].shape()[0]), Size(64)}});
    const TensorId w = session.add_constant("w", random_tensor({64, 48}, 5));
    const TensorId b = session.add_constant("b", random_tensor({48}, 6));
    const TensorId y = call(session, "linear", {{x}, {w}, {b}});
    return session.finish({call(session, "softmax", {y}, {{"axis", StaticValue::of(1)}})});
}

class DeviceEngine : public testing::Test {
protected:
    std::shared_ptr<Engine> engine(std::shared_ptr<cache::Folder> folder = nullptr) {
        return make_engine(2, make_kernel_cache(std::move(folder), backend_));
    }
    static TensorData rows(int64_t count) { return random_tensor({count, 64}, 7); }

    const std::shared_ptr<FarBackend> backend_ = std::make_shared<FarBackend>();
};

TEST_F(DeviceEngine, RunsAsThisProcessDoes) {
    ProgramCache here(make_engine(2)), there(engine());
    for (int64_t count : {3, 40, 3}) {
        const auto expected = here.run("", {rows(count)}, layer), found = there.run("", {rows(count)}, layer);
        ASSERT_TRUE(expected) << render(expected.error());
        ASSERT_TRUE(found) << render(found.error());
        const auto size = static_cast<size_t>(expected->front().byte_size());
        EXPECT_EQ(std::memcmp(found->front().data(), expected->front().data(), size), 0) << count;
    }
    EXPECT_FALSE(there.memory().empty());
}

TEST_F(DeviceEngine, TensorsOfKernelsAreCompared) {
    const auto graph = layer({rows(9)}, nullptr);
    ASSERT_TRUE(graph);
    const auto verdicts = compare_tensors(*graph, {rows(9)}, *engine(), {});
    ASSERT_TRUE(verdicts) << render(verdicts.error());
    EXPECT_FALSE(verdicts->empty());
    EXPECT_TRUE(all_within(*verdicts)) << verdicts_text(*verdicts, "reference");
}

// Memory of a device is not what a file can hold; its kernels are.
TEST_F(DeviceEngine, KernelsAreKeptAndProgramsAreNot) {
    const TestFolder test_folder;
    auto folder = cache::Folder::open(test_folder.path.string());
    ASSERT_TRUE(folder);
    const ProgramSource source{.key = "layer", .label = "layer"};
    const auto graph = layer({rows(9)}, nullptr);
    ASSERT_TRUE(graph);
    for (bool again : {false, true}) {
        const auto other = engine(*folder);
        const ValueOf none = [](size_t, const std::string&) { return nullptr; };
        EXPECT_FALSE(find_program(source, none, *other));
        const auto made = compile(*graph, *other);
        ASSERT_TRUE(made) << render(made.error());
        EXPECT_EQ((*made)->kernels().compiled == 0, again);
        EXPECT_EQ((*made)->kernels().loaded > 0, again);
        EXPECT_TRUE(keep_program(source, none, {*made, {"x"}, {"y"}}, *other).empty());
    }
    for (const cache::Kept& kept : (*folder)->list()) EXPECT_NE(kept.kind, cache::Kind::program);
}

// Two devices, or a device and this process, share what is prepared by nothing.
TEST_F(DeviceEngine, EachDeviceHasItsWeights) {
    const auto prepared = std::make_shared<runtime::PreparedStore>();
    const auto other = std::make_shared<FarBackend>();
    const auto graph = layer({rows(9)}, nullptr);
    ASSERT_TRUE(graph);
    std::vector<TensorData> results;
    for (const std::shared_ptr<codegen::Backend>& backend :
         {std::shared_ptr<codegen::Backend>(backend_), std::shared_ptr<codegen::Backend>(other),
          std::shared_ptr<codegen::Backend>()}) {
        const auto engine = make_engine(1, make_kernel_cache(nullptr, backend), prepared);
        const auto made = compile(*graph, *engine);
        ASSERT_TRUE(made) << render(made.error());
        auto found = runtime::Session(*made, engine->pool).run({rows(9)});
        ASSERT_TRUE(found) << render(found.error());
        results.push_back(found->front());
        EXPECT_EQ(std::memcmp(results.back().data(), results.front().data(),
                              static_cast<size_t>(results.front().byte_size())),
                  0);
    }
    EXPECT_GT(other->far->copied_to, 0);
}

}  // namespace
}  // namespace heddle::inference
