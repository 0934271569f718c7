// The schedule's choices are pinned: tiles, blocking, packing, row sizes, phases, maps of buffers. Each file of
// tests/plan/choices is a program, or its gradient by an input, its inputs, and what is chosen for it on two made-up
// targets; results do not show that a choice became worse. Where a choice changes on purpose, the reason stands in the commit.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "gradient/gradient.h"
#include "helpers/files.h"
#include "helpers/library.h"
#include "helpers/source_folder.h"
#include "plan/plan.h"
#include "symbolic/program.h"
#include "text_test.h"

namespace heddle::plan {
namespace {

const std::filesystem::path folder = std::filesystem::path("tests") / "plan" / "choices";

Target target_named(const std::string& name) {
    auto target = load_target(std::filesystem::path(in_source()) / folder / (name + ".json"));
    EXPECT_TRUE(target) << (target ? "" : render(target.error()));
    return target ? *target : Target{};
}

// "x float32 batch=8 64", and behind it "constant" for a weight.
struct InputLine {
    ProgramInput input;
    bool constant = false;
};

std::vector<InputLine> input_lines(const std::string& text) {
    std::vector<InputLine> inputs;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        InputLine read;
        std::string word;
        if (!(words >> read.input.name >> word)) continue;
        auto dtype = dtype_named(word);
        EXPECT_TRUE(dtype) << line;
        read.input.type.dtype = dtype.value_or(DType::float32);
        while (words >> word) {
            const size_t equals = word.find('=');
            if (word == "constant") {
                read.constant = true;
            } else if (equals == std::string::npos) {
                read.input.type.shape.emplace_back(std::stoll(word));
            } else {
                read.input.type.shape.push_back(
                    named_size(word.substr(0, equals), std::stoll(word.substr(equals + 1))));
            }
        }
        inputs.push_back(std::move(read));
    }
    return inputs;
}

Graph gradient_by(const Graph& graph, const std::string& line) {
    const std::string name = line.substr(0, line.find('\n'));
    const auto input = std::ranges::find_if(graph.inputs, [&](TensorId t) { return graph.tensor(t).name == name; });
    EXPECT_NE(input, graph.inputs.end()) << name;
    auto made = gradient::gradient(graph, {*input});
    EXPECT_TRUE(made) << (made ? "" : render(made.error()));
    return made ? std::move(*made) : Graph{};
}

Graph graph_of(const TextCase& test) {
    const auto lines = input_lines(test.part("inputs"));
    std::vector<ProgramInput> inputs;
    for (const InputLine& line : lines) inputs.push_back(line.input);
    auto graph = build_program(std::make_shared<SourceText>(test.file, test.part("program")), library(), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    if (!graph) return {};
    for (const InputLine& line : lines) {
        if (!line.constant) continue;
        auto found = std::find_if(graph->inputs.begin(), graph->inputs.end(),
                                  [&](TensorId t) { return graph->tensor(t).name == line.input.name; });
        Tensor& tensor = graph->tensors[static_cast<size_t>(*found)];
        std::vector<int64_t> shape;
        for (const Size& size : tensor.type.shape) shape.push_back(size.value());
        tensor.constant = TensorData(tensor.type.dtype, shape);
        graph->inputs.erase(found);
    }
    return test.parts.contains("gradient") ? gradient_by(*graph, test.part("gradient")) : std::move(*graph);
}

// What is found where the pins differ lies beside them in the build, to be looked at and taken.
void write_found(const TextCase& test, const std::map<std::string, std::string>& found) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / test.file;
    std::ofstream file(path);
    file << "=== " << test.title << "\n";
    for (const char* part : {"program", "inputs", "gradient"}) {
        if (test.parts.contains(part)) file << "--- " << part << "\n" << test.part(part);
    }
    for (const auto& [target, text] : found) file << "--- " << target << "\n" << text;
    ADD_FAILURE() << test.file << " differs; what is chosen now: " << path;
}

TEST(Choices, ArePinned) {
    const auto cases = read_text_cases(std::filesystem::path(in_source()) / folder);
    EXPECT_GE(cases.size(), 30u);
    for (const TextCase& test : cases) {
        SCOPED_TRACE(test.file + ": " + test.title);
        const Graph graph = graph_of(test);
        std::map<std::string, std::string> found;
        bool same = true;
        for (const char* target : {"narrow", "wide"}) {
            auto plan = make_plan(graph, target_named(target));
            ASSERT_TRUE(plan) << render(plan.error());
            EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
            found[target] = summary(*plan);
            auto pinned = test.parts.find(target);
            same = same && pinned != test.parts.end() && pinned->second == found[target];
            if (pinned != test.parts.end()) {
                EXPECT_EQ(pinned->second, found[target]) << target;
            }
        }
        if (!same) write_found(test, found);
    }
}

}  // namespace
}  // namespace heddle::plan
