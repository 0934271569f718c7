// Graphs of programs of calls of shipped operators. Tests only.
#pragma once

#include <string>
#include <vector>

#include "helpers/library.h"
#include "symbolic/program.h"

namespace heddle {

inline Graph graph_of(const std::string& calls, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(std::make_shared<SourceText>("program", calls), library(), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

inline ProgramInput input(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::float32) {
    return {name, {dtype, {shape.begin(), shape.end()}}};
}

}  // namespace heddle
