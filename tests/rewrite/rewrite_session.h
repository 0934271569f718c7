// Rules and programs over the operator library, for the tests of rewriting.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "rewrite/verify.h"

namespace heddle::rewrite {

// The operator library, with a text of templates and rules of the user's.
inline Library library_with(const std::string& text = {}) {
    auto library = open_library(HEDDLE_SOURCE_DIR "/operators");
    EXPECT_TRUE(library) << (library ? "" : render(library.error()));
    if (!text.empty()) {
        auto added = library->add_source(std::make_shared<const SourceText>("rules.yaml", text));
        EXPECT_TRUE(added) << (added ? "" : render(added.error()));
    }
    return std::move(*library);
}

inline CallGraph program(const Library& library, const std::string& text, const std::vector<ProgramInput>& inputs) {
    auto graph = CallGraph::of_program(std::make_shared<const SourceText>("program", text), library, inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return std::move(*graph);
}

inline ProgramInput input(const std::string& name, std::vector<Size> shape, DType dtype = DType::float32) {
    return {name, {dtype, std::move(shape)}};
}

inline RuleUse use(const Library& library, const std::string& text) {
    auto made = read_rule_use(text, library);
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return std::move(*made);
}

template <typename T>
std::string code_of(const Result<T>& result) {
    return result ? "ok" : result.error().front().code;
}

}  // namespace heddle::rewrite
