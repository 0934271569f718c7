// Our C, compiled by gcc, as a backend. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../backends/c/gcc_runner.h"
#include "backends/c/c_source.h"
#include "codegen/backend.h"

namespace heddle {

class GccBackend : public codegen::Backend {
public:
    std::string name() const override { return "gcc"; }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        return CompileConfig{name(), print(request.target), "-O0", ""};
    }
    Result<std::vector<std::string>> objects(const std::vector<const schedules::Tree*>& trees, const Target&, int,
                                             Progress*, std::shared_ptr<const void>) override {
        std::vector<std::string> texts;
        for (const schedules::Tree* tree : trees)
            texts.push_back(backends::c_source(*tree, "kernel" + std::to_string(texts.size())));
        return texts;
    }
    Result<std::shared_ptr<codegen::CompiledKernels>> link(const std::vector<std::string_view>& objects) override {
        std::string text;
        for (std::string_view object : objects) text += object;
        return std::make_shared<Kernels>(text);
    }
    Result<std::string> source(const schedules::Tree& tree, const Target&) override {
        return backends::c_source(tree, "kernel");
    }

private:
    struct Kernels : codegen::CompiledKernels {
        explicit Kernels(const std::string& text) : library(text, "-O0") { EXPECT_EQ(library.error, ""); }
        codegen::KernelFunction function(size_t i) const override {
            return library.function<codegen::KernelFunction>("kernel" + std::to_string(i));
        }
        backends::GccLibrary library;
    };
};

}  // namespace heddle
