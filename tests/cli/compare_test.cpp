// heddle compare: agrees where it must, and notices what is wrong.
#include <nlohmann/json.hpp>

#include "command_test.h"

namespace heddle {
namespace {

using Json = nlohmann::json;

class Compare : public CommandTest {
protected:
    Compare() : model_(write("model.onnx", perceptron())) {}

    // Expected outputs as `heddle run` computes them from made-up inputs, and the input beside them.
    std::string expected_folder() {
        TensorData x(DType::float32, {2, 4});
        for (int64_t i = 0; i < x.size(); i++) x.set_real(i, 0.25 * static_cast<double>(i) - 1);
        std::string folder = path("expected");
        std::filesystem::create_directories(folder);
        EXPECT_TRUE(write_npy(folder + "/input_0.npy", x));
        auto outcome = heddle(
            {"run", model_, "--input", "x=" + folder + "/input_0.npy", "--output-dir", folder, "--threads", "1"});
        EXPECT_EQ(outcome.status, 0) << outcome.errors;
        return folder;
    }

    std::string model_;
};

TEST_F(Compare, the_interpreter_agrees_tensor_by_tensor) {
    auto outcome =
        heddle({"compare", model_, "--with", "reference", "--random", "3", "--bind", "batch=5", "--format", "json"});
    EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.errors;
    Json found = Json::parse(outcome.output);
    EXPECT_GE(found["compared"], 2);
    EXPECT_LE(found["worst_ratio"], 4.0);
    EXPECT_TRUE(found["failures"].empty());
}

TEST_F(Compare, an_unfused_plan_agrees) {
    auto outcome = heddle({"compare", model_, "--with", "unfused", "--random", "3", "--bind", "batch=5"});
    EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "all within their bounds");
}

TEST_F(Compare, expected_outputs_agree_with_inputs_from_the_same_folder) {
    auto outcome = heddle({"compare", model_, "--with", expected_folder()});
    EXPECT_EQ(outcome.status, 0) << outcome.output << outcome.errors;
    EXPECT_CONTAINS(outcome.output, "max|b|");
}

TEST_F(Compare, a_changed_expected_output_is_noticed) {
    std::string file = expected_folder() + "/output_1.npy";
    auto values = read_npy(file);
    ASSERT_TRUE(values);
    // Two columns change places.
    TensorData changed = values->clone();
    for (int64_t row = 0; row < 2; row++) {
        changed.set_real(row * 3, values->real_at(row * 3 + 1));
        changed.set_real(row * 3 + 1, values->real_at(row * 3));
    }
    ASSERT_TRUE(write_npy(file, changed));
    auto outcome = heddle({"compare", model_, "--with", path("expected"), "--format", "json"});
    EXPECT_EQ(outcome.status, 1);
    Json found = Json::parse(outcome.output);
    EXPECT_FALSE(found["equal"]);
    EXPECT_TRUE(found["outputs"][0]["equal"]);
    EXPECT_FALSE(found["outputs"][1]["equal"]);
}

TEST_F(Compare, an_expected_output_of_another_shape_differs) {
    std::string folder = expected_folder();
    ASSERT_TRUE(write_npy(folder + "/output_0.npy", TensorData(DType::float32, {3, 3})));
    auto outcome = heddle({"compare", model_, "--with", folder});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.output, "expected float32[3, 3]");
}

TEST_F(Compare, wrong_requests) {
    auto outcome = heddle({"compare", model_, "--with", path("nowhere"), "--random", "1", "--bind", "batch=2"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[cli.compare_with]");
    std::filesystem::create_directories(path("empty"));
    outcome = heddle({"compare", model_, "--with", path("empty"), "--random", "1", "--bind", "batch=2"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[cli.expected_output]");
    EXPECT_CONTAINS(outcome.errors, "output_1.npy");
    outcome = heddle({"compare", model_});
    EXPECT_EQ(outcome.status, 2);
}

TEST_F(Compare, a_page_is_compiled_alone) {
    auto outcome = heddle({"compile", model_, "--target", "webgpu", "--target", "native", "-o", path("page")});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_CONTAINS(outcome.errors, "error[cli.compile_target]");
    EXPECT_FALSE(std::filesystem::exists(path("page")));
}

}  // namespace
}  // namespace heddle
