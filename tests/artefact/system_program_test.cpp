// One artefact of functions for several targets, loaded as a program in C would, beside the interpreter.
#include "artefact/system_program.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "../../exported/heddle_program.h"
#include "evaluate/compare.h"
#include "helpers/codes.h"
#include "helpers/files.h"
#include "helpers/programs.h"
#include "helpers/running.h"
#include "helpers/source_folder.h"
#include "helpers/test_folder.h"
#include "support/child_process.h"

namespace heddle::artefact {
namespace {

Target system_of_kinds() {
    const char* text = R"({"devices": {
        "cpu0": {"target": {"kind": "cpu"}}, "c0": {"target": {"kind": "c"}}, "ref0": {"target": {"kind": "reference"}},
        "cc": {"target": {"kind": "library", "library": "cc", "options": {"optimise": "1"}}, "host": "cpu0"}},
      "links": [{"from": "cpu0", "to": "c0", "bandwidth": 1e10, "latency": 1e-6},
                {"from": "cpu0", "to": "ref0", "bandwidth": 1e10, "latency": 1e-6}]})";
    auto target = parse_target(std::make_shared<SourceText>("system", text));
    EXPECT_TRUE(target) << (target ? "" : render(target.error()));
    return target ? *target : Target();
}

// n rows; two results, of which one is an input's copy somewhere else.
Result<Graph> network(const std::map<std::string, int64_t>& sizes) {
    const int64_t n = sizes.at("n");
    SizeFacts facts;
    const RecordingFacts recording(facts);
    ProgramInput x{"x", {DType::float32, {named_size("n", n), 32}}};
    Graph graph =
        graph_of("h = relu(x); s = softmax(h, axis: 1); t = tanh(h); y = concat([s, mul(t, s)], axis: 0)", {x});
    graph.dimension_names = {{"n", n}};
    graph.facts = std::move(facts);
    return graph;
}

SystemRequest request_for(std::vector<std::string> annotations) {
    Target narrow;
    narrow.name = "x86-64-v3";
    narrow.vector_bytes = 32;
    narrow.vector_registers = 16;
    narrow.maximum_rows = 6;
    narrow.features = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+popcnt";
    return {.name = "several",
            .dimensions = {{"n", 2, 20, 3}},
            .system = system_of_kinds(),
            .annotations = std::move(annotations),
            .usual_targets = {narrow},
            .graph = network};
}

ArtefactOptions options() { return {.driver_folder = in_source("exported"), .threads = 2}; }

class Loaded {
public:
    explicit Loaded(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        EXPECT_TRUE(handle_) << dlerror();
    }
    ~Loaded() {
        if (handle_) dlclose(handle_);
    }
    template <typename Function>
    Function* function(const char* name) const {
        return handle_ ? reinterpret_cast<Function*>(dlsym(handle_, name)) : nullptr;
    }

private:
    void* handle_;
};

DLTensor tensor_of(const TensorData& data, std::vector<int64_t>& shape) {
    shape = data.shape();
    return {const_cast<std::byte*>(data.data()),
            {kDLCPU, 0},
            static_cast<int32_t>(shape.size()),
            {kDLFloat, 32, 1},
            shape.data(),
            nullptr,
            0};
}

// What the library gives for so many rows; its words where it refuses.
std::string run(const Loaded& library, const TensorData& x, TensorData& y, int32_t* status,
                DLDevice device = {kDLCPU, 0}) {
    std::vector<int64_t> in_shape, out_shape(4);
    DLTensor in = tensor_of(x, in_shape);
    in.device = device;
    const DLTensor* inputs[] = {&in};
    char message[200] = "";
    heddle_call call = {};
    call.inputs = inputs;
    call.message = message;
    call.message_bytes = sizeof message;
    *status =
        library.function<int32_t(heddle_call*, int32_t, int64_t*)>("several_output_shape")(&call, 0, out_shape.data());
    if (*status < 0) return message;
    out_shape.resize(static_cast<size_t>(*status));
    y = TensorData(DType::float32, out_shape);
    DLTensor out = tensor_of(y, out_shape);
    DLTensor* outputs[] = {&out};
    call.outputs = outputs;
    call.workspace_bytes =
        static_cast<size_t>(library.function<int64_t(heddle_call*)>("several_workspace_bytes")(&call));
    std::vector<std::byte> memory(call.workspace_bytes + 64);
    call.workspace = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    *status = library.function<int32_t(heddle_call*)>("several_run")(&call);
    return message;
}

TEST(Programs, AnOpenDimensionIsTakenFromAnInput) {
    const ProgramRequest request{.name = "rows", .dimensions = {{"n", 2, 3, 1}, {"other", 1, 4, 1}}, .targets = {Target()}, .graph = network};
    EXPECT_EQ(code_of(make_program(request)), "artefact.dimension");
}

TEST(Targets21, OneArtefactHasFunctionsInObjectCodeAndInCForSeveralTargets) {
    const TestFolder folder;
    auto program = make_system_program(request_for({"h=cpu0", "s=c0", "t=cc", "y=cpu0"}));
    ASSERT_TRUE(program) << render(program.error());
    auto files = write_system_artefact(*program, folder.path.string(), options());
    ASSERT_TRUE(files) << render(files.error());
    for (const SystemPart& part : program->parts)
        EXPECT_LE(part.program.variants[0].groups.size(), 4u) << "a plan for each of its classes, not for each size";
    std::set<std::string> names;
    for (const WrittenFile& file : *files) names.insert(std::filesystem::path(file.path).filename());
    EXPECT_TRUE(names.contains("libseveral.so") && names.contains("several.c") && names.contains("several_part1.c"));
    const auto json = nlohmann::json::parse(file_text(folder.path.string() + "/several.json"));
    std::set<std::string> kinds;
    for (const auto& part : json["parts"]) kinds.insert(part["code"].get<std::string>());
    EXPECT_EQ(kinds, (std::set<std::string>{"c", "object"}));
    const FinishedProcess needed =
        run_to_end({"nm", "-D", "--undefined-only", folder.path.string() + "/libseveral.so"});
    ASSERT_EQ(needed.status, 0) << needed.words;
    EXPECT_EQ(needed.words.find(" U "), std::string::npos) << "it needs another library: " << needed.words;
    // Sizes come from the arguments: one host function serves all of the range.
    const Loaded library(folder.path.string() + "/libseveral.so");
    for (int64_t n : {2, 5, 20}) {
        const TensorData x = random_tensor({n, 32}, static_cast<uint64_t>(n));
        TensorData y;
        int32_t status = -1;
        const std::string words = run(library, x, y, &status);
        ASSERT_EQ(status, 0) << words;
        const auto graph = network({{"n", n}});
        const auto expected = evaluate_graph_bounded(*graph, {x});
        ASSERT_TRUE(expected);
        const auto verdict = compare_bounded(y, (*expected)[graph->outputs[0]]);
        EXPECT_TRUE(verdict.equal) << verdict.text();
    }
    TensorData y;
    int32_t status = 0;
    EXPECT_NE(run(library, random_tensor({6, 32}, 1), y, &status).find("n from 2 to 20 by 3"), std::string::npos);
    EXPECT_LT(status, 0);
    EXPECT_NE(run(library, random_tensor({32}, 1), y, &status).find("x"), std::string::npos);
    EXPECT_LT(status, 0);
    for (const DLDevice elsewhere : {DLDevice{static_cast<DLDeviceType>(2), 0}, DLDevice{kDLCPU, 1}}) {
        EXPECT_EQ(run(library, random_tensor({2, 32}, 1), y, &status, elsewhere),
                  "a tensor lies on another device than the CPU: x");
        EXPECT_LT(status, 0);
    }
}

TEST(SystemArtefact, KindsThatDoNotLeaveHomeAreRefusedAndNothingIsLeft) {
    EXPECT_EQ(code_of(make_system_program(request_for({"s=ref0"}))), "artefact.kind");
    auto program = make_system_program(request_for({"s=c0"}));
    ASSERT_TRUE(program) << render(program.error());
    const TestFolder folder;
    ArtefactOptions wrong = options();
    wrong.compiler = "/nowhere/cc";
    EXPECT_EQ(code_of(write_system_artefact(*program, folder.path.string() + "/out", wrong)), "artefact.compiler");
    EXPECT_FALSE(std::filesystem::exists(folder.path.string() + "/out"));
}

TEST(SystemArtefact, AProgramOfOtherOperationsAtOtherSizesIsRefused) {
    SystemRequest request = request_for({});
    request.graph = [](const std::map<std::string, int64_t>& sizes) -> Result<Graph> {
        ProgramInput x{"x", {DType::float32, {named_size("n", sizes.at("n")), 32}}};
        Graph graph = graph_of(sizes.at("n") > 10 ? "exp(relu(x))" : "relu(x)", {x});
        graph.dimension_names = sizes;
        return graph;
    };
    EXPECT_EQ(code_of(make_system_program(request)), "artefact.structure");
}

}  // namespace
}  // namespace heddle::artefact
