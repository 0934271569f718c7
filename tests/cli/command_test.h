// Calls the command line as a shell does, and keeps what it says.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/cli.h"
#include "helpers/files.h"
#include "helpers/test_folder.h"
#include "onnx_writer.h"
#include "support/npy.h"

namespace heddle {

struct CommandOutcome {
    int status = -1;
    std::string output, errors;
};

class CommandTest : public testing::Test {
protected:
    CommandTest() {
        std::filesystem::create_directories(folder_);
        // Compiled code of this test alone.
        ::setenv("XDG_CACHE_HOME", cache_home().c_str(), 1);
    }
    ~CommandTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(cache_home(), ignored);
    }
    std::string cache_home() const { return folder_.string() + ".cache"; }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }
    std::string read(const std::string& name) const { return file_text(path(name)); }
    size_t files() const {
        return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }

    static CommandOutcome heddle(std::vector<std::string> words) {
        words.insert(words.begin(), "heddle");
        std::vector<char*> arguments;
        for (std::string& word : words) arguments.push_back(word.data());
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        CommandOutcome outcome;
        outcome.status = cli::run(static_cast<int>(arguments.size()), arguments.data());
        outcome.output = testing::internal::GetCapturedStdout();
        outcome.errors = testing::internal::GetCapturedStderr();
        return outcome;
    }

    // y = relu(x w + b), softmax of it, over [batch, 4] with three columns.
    static std::string perceptron() {
        ModelWriter model;
        model.inputs = {{"x", {"batch", "4"}}};
        model.outputs = {{"y", {"batch", "3"}}, {"p", {"batch", "3"}}};
        model.weight("w", {4, 3}, {0.5f, -1, 2, 1, 0.25f, -0.5f, 0.125f, 3, -2, 1, 1, 0.5f});
        model.weight("b", {3}, {0.5f, -0.25f, 1});
        model.node("MatMul", {"x", "w"}, {"product"});
        model.node("Add", {"product", "b"}, {"sum"});
        model.node("Relu", {"sum"}, {"y"});
        model.node("Softmax", {"y"}, {"p"});
        return model.bytes();
    }

    const TestFolder test_folder_;
    const std::filesystem::path& folder_ = test_folder_.path;
};

#define EXPECT_CONTAINS(text, part) \
    EXPECT_NE((text).find(part), std::string::npos) << "no \"" << (part) << "\" in\n" << (text)

}  // namespace heddle
