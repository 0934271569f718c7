// The C interface: versions, null pointers, options, what is answered of what is not there. That it is C, and that its tensors
// are DLPack's, is compiled in header_in_c.c and tensor_layout.h.
#include "api/helpers.h"
#include "api/models.h"
#include "api/tensor_layout.h"

namespace heddle::tests {
namespace {

// The code of what a call refuses; its error is freed.
struct Refusal {
    heddle_error* error = nullptr;
    ~Refusal() { heddle_error_free(error); }
    std::string code(heddle_status status) {
        EXPECT_NE(status, HEDDLE_OK);
        return heddle_error_code(error);
    }
};

TEST(EmbeddingInC, VersionsAreCompared) {
    EXPECT_EQ(heddle_api_version(), HEDDLE_API_VERSION);
    EXPECT_TRUE(heddle_api_serves(HEDDLE_API_VERSION));
    EXPECT_FALSE(heddle_api_serves((HEDDLE_API_MAJOR + 1) << 16));
    EXPECT_FALSE(heddle_api_serves(HEDDLE_API_MAJOR << 16 | (HEDDLE_API_MINOR + 1)));
    EXPECT_STRNE(heddle_version(), "");
    for (size_t size : {size_t{0}, size_t{8}, sizeof(heddle_runtime_options) + 8}) {
        heddle_runtime_options options = {};
        options.size = size;
        heddle_runtime* runtime = nullptr;
        Refusal refusal;
        EXPECT_EQ(refusal.code(heddle_runtime_create(&options, &runtime, &refusal.error)), "api.version") << size;
        EXPECT_EQ(runtime, nullptr);
    }
}

TEST(EmbeddingInC, OptionsOutOfRangeAreRefused) {
    const auto code_with = [](auto change) {
        heddle_runtime_options options = {};
        options.size = sizeof options;
        change(options);
        heddle_runtime* runtime = nullptr;
        Refusal refusal;
        return refusal.code(heddle_runtime_create(&options, &runtime, &refusal.error));
    };
    EXPECT_EQ(code_with([](auto& options) { options.threads = -1; }), "api.argument");
    EXPECT_EQ(code_with([](auto& options) { options.threads = 1000000; }), "api.argument");
    EXPECT_EQ(code_with([](auto& options) { options.runs = -3; }), "api.argument");
    const heddle_allocator none = {};
    EXPECT_EQ(code_with([&](auto& options) { options.allocator = &none; }), "api.argument");
    EXPECT_EQ(code_with([](auto& options) { options.operators = "/no/such/folder"; }), "language.file");
}

TEST(EmbeddingInC, NullPointersAreRefusedByName) {
    heddle_runtime* runtime = nullptr;
    ASSERT_EQ(heddle_runtime_create(nullptr, &runtime, nullptr), HEDDLE_OK);
    heddle_model* model = nullptr;
    const char* const inputs[] = {"x", nullptr};
    const auto expect_refused = [](const char* argument, auto call) {
        Refusal refusal;
        EXPECT_EQ(refusal.code(call(&refusal.error)), "api.argument");
        EXPECT_NE(std::string(heddle_error_message(refusal.error)).find(argument), std::string::npos)
            << heddle_error_message(refusal.error);
        EXPECT_EQ(call(nullptr), HEDDLE_FAILED) << "nobody needs to take the error";
    };
    expect_refused("'runtime'", [&](heddle_error** e) { return heddle_runtime_create(nullptr, nullptr, e); });
    expect_refused("'path'",
                   [&](heddle_error** e) { return heddle_model_load(runtime, nullptr, nullptr, 0, &model, e); });
    expect_refused("'runtime'",
                   [&](heddle_error** e) { return heddle_model_load(nullptr, "m", nullptr, 0, &model, e); });
    expect_refused("'model'",
                   [&](heddle_error** e) { return heddle_model_load(runtime, "m", nullptr, 0, nullptr, e); });
    expect_refused("'dimensions'",
                   [&](heddle_error** e) { return heddle_model_load(runtime, "m", nullptr, 2, &model, e); });
    expect_refused("'bytes'", [&](heddle_error** e) {
        return heddle_model_parse(runtime, nullptr, 3, nullptr, nullptr, nullptr, 0, &model, e);
    });
    expect_refused("'inputs'",
                   [&](heddle_error** e) { return heddle_model_from_calls(runtime, "relu(x)", inputs, 2, &model, e); });
    expect_refused("'text'",
                   [&](heddle_error** e) { return heddle_runtime_add_operators_text(runtime, "n", nullptr, e); });
    expect_refused("'path'",
                   [&](heddle_error** e) { return heddle_runtime_add_operators(runtime, nullptr, nullptr, e); });
    ASSERT_EQ(heddle_model_from_calls(runtime, "relu(x)", inputs, 1, &model, nullptr), HEDDLE_OK);
    heddle_executable* executable = nullptr;
    expect_refused("'inputs'",
                   [&](heddle_error** e) { return heddle_model_compile(model, nullptr, 1, nullptr, &executable, e); });
    expect_refused("'model'",
                   [&](heddle_error** e) { return heddle_model_run(nullptr, nullptr, 0, nullptr, nullptr, 0, e); });
    expect_refused("'model'", [&](heddle_error** e) { return heddle_model_let_results_grow(nullptr, e); });
    expect_refused("'inputs'",
                   [&](heddle_error** e) { return heddle_model_run(model, nullptr, 1, nullptr, nullptr, 0, e); });
    expect_refused("'executable'",
                   [&](heddle_error** e) { return heddle_model_compile(model, nullptr, 0, nullptr, nullptr, e); });
    expect_refused("'executable'",
                   [&](heddle_error** e) { return heddle_executable_run(nullptr, nullptr, 0, nullptr, 0, e); });
    int64_t shape = 2;
    heddle_tensor x = {};
    x.device = {1, 0};
    x.ndim = 1;
    x.dtype = {2, 32, 1};
    x.shape = &shape;
    ASSERT_EQ(heddle_model_compile(model, &x, 1, nullptr, &executable, nullptr), HEDDLE_OK);
    expect_refused("'outputs'",
                   [&](heddle_error** e) { return heddle_executable_run(executable, &x, 1, nullptr, 1, e); });
    expect_refused("'tensor'",
                   [&](heddle_error** e) { return heddle_executable_make_output(executable, 0, nullptr, e); });
    heddle_managed_tensor* made = nullptr;
    expect_refused("no output 7",
                   [&](heddle_error** e) { return heddle_executable_make_output(executable, 7, &made, e); });
    // Released in any order; what was made first lives on.
    heddle_runtime_release(runtime);
    heddle_model_release(model);
    ASSERT_EQ(heddle_executable_make_output(executable, 0, &made, nullptr), HEDDLE_OK);
    EXPECT_EQ(made->version.major, 1u);
    float values[2] = {-1, 1};
    x.data = values;
    EXPECT_EQ(heddle_executable_run(executable, &x, 1, &made->dl_tensor, 1, nullptr), HEDDLE_OK);
    heddle_executable_release(executable);
    EXPECT_EQ(static_cast<float*>(made->dl_tensor.data)[0], 0);
    EXPECT_EQ(static_cast<float*>(made->dl_tensor.data)[1], 1);
    made->deleter(made);
}

TEST(EmbeddingInC, WhatIsNotThereIsAnsweredSo) {
    EXPECT_EQ(heddle_model_input(nullptr, 0), nullptr);
    EXPECT_EQ(heddle_executable_output(nullptr, 0), nullptr);
    EXPECT_EQ(heddle_model_input_count(nullptr), 0u);
    EXPECT_STREQ(heddle_error_text(nullptr), "");
    EXPECT_EQ(heddle_runtime_take_notes(nullptr), nullptr);
    heddle_runtime_release(nullptr);
    heddle_model_release(nullptr);
    heddle_executable_release(nullptr);
    heddle_error_free(nullptr);
    const Runtime runtime = tests::runtime();
    const Model model = parsed(runtime, perceptron().bytes);
    EXPECT_EQ(heddle_model_input(model.get(), 1), nullptr);
    EXPECT_EQ(heddle_model_output(model.get(), 1), nullptr);
}

}  // namespace
}  // namespace heddle::tests
