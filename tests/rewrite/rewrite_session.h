// Rules and programs over the operator library, for the tests of rewriting.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "helpers/codes.h"
#include "helpers/library.h"
#include "rewrite/verify.h"

namespace heddle::rewrite {

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

}  // namespace heddle::rewrite
