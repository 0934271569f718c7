// Programs of jobs' derivations: modes, widths, and what is done with each argument's shadow.
#include "gradient/derived_program.h"

#include <cmath>
#include <random>

#include "differences.h"
#include "gradient/job_program.h"
#include "helpers/codes.h"

namespace heddle::gradient {
namespace {

using Mode = heddle::Derivation::Mode;
using enum Activity;

const Case case_of_two = {"h = tanh(numpy_matmul(x, w)); p = numpy_matmul(h, v); y, z = own(p, h)",
                          {{"x", {3, 4}}, {"w", {4, 5}}, {"v", {5, 5}}}};

// Outputs y and z, of which z does not depend on v.
Graph network() {
    const Library own = library_with(R"yaml(
own: {inputs: {p: "$T[$n, $m]", h: "$T[$n, $m]"}, index: "[$n, $m]", outputs: {y: "$T", z: "$T"}, body: "y = sin(p) * h; z = exp(h)"}
)yaml");
    std::vector<ProgramInput> inputs;
    for (const Given& given : case_of_two.inputs)
        inputs.push_back({given.name, {DType::float64, {given.shape.begin(), given.shape.end()}}});
    auto graph = build_program(std::make_shared<SourceText>("case", case_of_two.text), own, inputs);
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

DerivedProgram made(const Graph& graph, const heddle::Derivation& derivation) {
    auto program = derived_program(graph, derivation);
    EXPECT_TRUE(program) << render(program.error());
    if (!program) return {};
    auto sound = verify(program->graph);
    EXPECT_TRUE(sound) << render(sound.error());
    return std::move(*program);
}

std::vector<std::string> names(const Graph& graph, const std::vector<TensorId>& tensors) {
    std::vector<std::string> list;
    for (TensorId id : tensors) list.push_back(graph.tensor(id).name);
    return list;
}

using Names = std::vector<std::string>;

// The first feeds, and values in random order for all further inputs.
std::vector<TensorData> completed(const Graph& graph, std::vector<TensorData> feeds, std::mt19937& random) {
    for (size_t i = feeds.size(); i < graph.inputs.size(); ++i)
        feeds.push_back(spread(random, DType::float64, graph.tensor(graph.inputs[i]).type.extents(), -1, 1));
    return feeds;
}

TensorData sum(const TensorData& a, const TensorData& b) {
    TensorData result(a.dtype(), a.shape());
    for (int64_t i = 0; i < result.size(); ++i) result.set_real(i, a.real_at(i) + b.real_at(i));
    return result;
}

// Tangents of each width are those of one direction after another, and what the primal computes is there once.
TEST(CompileJobs6, ForwardModeOfAnyWidth) {
    const Graph graph = network();
    std::mt19937 random(1);
    const std::vector<TensorData> feeds = feeds_of(case_of_two, DType::float64, random);
    const Graph single = made(graph, {.mode = Mode::forward}).graph;
    size_t operations = 0;
    for (int32_t width : {1, 2, 4, 8, 16}) {
        SCOPED_TRACE(width);
        const heddle::Derivation derivation{
            .mode = Mode::forward, .width = width, .activities = {batched, batched, constant, batched, batched}};
        const Graph wide = made(graph, derivation).graph;
        EXPECT_EQ(names(wide, wide.inputs), (Names{"x", "w", "v", "t_x", "t_w"}));
        if (operations == 0) operations = wide.operations.size();
        EXPECT_EQ(wide.operations.size(), operations);
        EXPECT_EQ(std::ranges::count(wide.operations, "program.numpy_matmul", &Operation::name), 1);
        const std::vector<TensorData> all = completed(wide, feeds, random), found = outputs_of(wide, all);
        ASSERT_EQ(found.size(), 4u);
        for (int64_t row = 0; row < width; ++row) {
            std::vector<TensorData> one = feeds;
            one.push_back(row_of(all[3], row)), one.push_back(row_of(all[4], row));
            one.emplace_back(DType::float64, feeds[2].shape());  // a tangent of zeros
            const std::vector<TensorData> expected = outputs_of(single, one);
            EXPECT_TRUE(agree(found[0], expected[0]) && agree(found[1], expected[1]));
            EXPECT_TRUE(agree(row_of(found[2], row), expected[2]) && agree(row_of(found[3], row), expected[3]));
        }
    }
}

// In one program and in two, whatever the tape keeps.
TEST(CompileJobs7, CombinedAndSplitAgree) {
    std::mt19937 random(2);
    for (const Case& one : structured_cases()) {
        SCOPED_TRACE(one.text);
        const Graph graph = program(one, DType::float64);
        const std::vector<TensorData> feeds = feeds_of(one, DType::float64, random);
        const Graph combined = made(graph, {.mode = Mode::combined}).graph;
        const size_t shadows = float_inputs(graph).size(), results = graph.outputs.size();
        const std::vector<TensorData> all = completed(combined, feeds, random), expected = outputs_of(combined, all);
        for (const char* policy : {"save_all", "recompute_all", "budget 256", "checkpoints 2"}) {
            SCOPED_TRACE(policy);
            const DerivedProgram augmented = made(graph, {.mode = Mode::augmented, .tape_policy = policy});
            const DerivedProgram reverse = made(graph, {.mode = Mode::reverse, .tape_policy = policy});
            EXPECT_EQ(augmented.tape.bytes, reverse.tape.bytes);
            const std::vector<TensorData> forward = outputs_of(augmented.graph, feeds);
            ASSERT_EQ(forward.size(), results + augmented.tape.entries.size());
            std::vector<TensorData> given;
            for (const TensorData& value : all) given.push_back(value);
            given.resize(feeds.size());
            std::vector<TensorId> seen = graph.inputs;
            for (size_t i = 0; i < results; ++i) {
                if (std::ranges::find(seen, graph.outputs[i]) != seen.end()) continue;
                seen.push_back(graph.outputs[i]);
                given.push_back(forward[i]);
            }
            given.insert(given.end(), forward.begin() + static_cast<int64_t>(results), forward.end());
            given.insert(given.end(), all.begin() + static_cast<int64_t>(feeds.size()), all.end());
            const std::vector<TensorData> found = outputs_of(reverse.graph, given);
            ASSERT_EQ(found.size(), shadows);
            for (size_t i = 0; i < shadows; ++i) EXPECT_TRUE(agree(found[i], expected[results + i])) << i;
        }
    }
}

TEST(CompileJobs8, AConstantHasNoShadow) {
    const Graph graph = network();
    for (Mode mode : {Mode::forward, Mode::combined}) {
        const heddle::Derivation derivation{.mode = mode,
                                            .activities = {constant, duplicated, constant, constant, duplicated}};
        const Graph one = made(graph, derivation).graph;
        const bool forward = mode == Mode::forward;
        EXPECT_EQ(names(one, one.inputs),
                  forward ? (Names{"x", "w", "v", "t_w"}) : (Names{"x", "w", "v", "d_z", "shadow_w"}));
        EXPECT_EQ(one.outputs.size(), 3u);
    }
    // Of the two outputs of the network one has no adjoint: what only it needs is its value.
    const heddle::Derivation half{.mode = Mode::reverse,
                                  .activities = {duplicated, constant, constant, constant, duplicated}};
    const Graph reverse = made(graph, half).graph;
    const Names inputs = names(reverse, reverse.inputs);
    EXPECT_EQ(std::ranges::count(inputs, "d_y"), 0);
    EXPECT_EQ(std::ranges::count(inputs, "d_z"), 1);
}

TEST(CompileJobs8, ADuplicatedShadowIsAddedTo) {
    const Graph graph = network();
    std::mt19937 random(3);
    const std::vector<TensorData> feeds = feeds_of(case_of_two, DType::float64, random);
    auto plain = gradient(graph, graph.inputs);
    ASSERT_TRUE(plain) << render(plain.error());
    for (int32_t width : {1, 3}) {
        const Graph adding = made(graph, {.mode = Mode::combined, .width = width}).graph;
        const std::vector<TensorData> all = completed(adding, feeds, random), found = outputs_of(adding, all);
        ASSERT_EQ(found.size(), 5u);
        for (int64_t row = 0; row < width; ++row) {
            auto at = [&](const TensorData& data) { return width == 1 ? data : row_of(data, row); };
            const std::vector<TensorData> alone =
                outputs_of(*plain, {feeds[0], feeds[1], feeds[2], at(all[3]), at(all[4])});
            for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(agree(at(found[2 + i]), sum(at(all[5 + i]), alone[i]))) << i;
        }
    }
}

TEST(CompileJobs8, WhatNobodyNeedsIsNoResult) {
    const Graph graph = network();
    for (Mode mode : {Mode::forward, Mode::combined}) {
        const heddle::Derivation derivation{
            .mode = mode, .activities = {duplicated, duplicated, duplicated, duplicated_no_need, duplicated}};
        const Graph one = made(graph, derivation).graph;
        EXPECT_EQ(one.tensor(one.outputs[0]).name, "z");
        EXPECT_EQ(one.outputs.size(), mode == Mode::forward ? 3u : 4u);
    }
}

bool is_zero(const TensorData& data) {
    for (int64_t i = 0; i < data.size(); ++i)
        if (data.real_at(i) != 0) return false;
    return data.size() > 0;
}

TEST(CompileJobs8, AnOverwrittenOutputConsumesAndClearsItsShadow) {
    const Graph graph = network();
    std::mt19937 random(7);
    const std::vector<TensorData> feeds = feeds_of(case_of_two, DType::float64, random);
    for (int32_t width : {1, 3}) {
        const Activity usual = width == 1 ? duplicated : batched;
        const std::vector<Activity> kept = {usual, constant, usual, usual, usual},
                                    gone = {usual, constant, usual, overwritten, usual};
        const Graph plain = made(graph, {.mode = Mode::combined, .width = width, .activities = kept}).graph;
        const Graph one = made(graph, {.mode = Mode::combined, .width = width, .activities = gone}).graph;
        EXPECT_EQ(names(one, one.inputs), names(plain, plain.inputs));
        const std::vector<TensorData> all = completed(plain, feeds, random), expected = outputs_of(plain, all),
                                      found = outputs_of(one, all);
        ASSERT_EQ(found.size(), expected.size() + 1);
        for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(agree(found[i], expected[i])) << i;
        EXPECT_EQ(found.back().shape(), all[3].shape()) << "d_y's";
        EXPECT_TRUE(is_zero(found.back()));
    }
}

// In two programs its value may be gone, too: the tape has what is asked for.
TEST(CompileJobs8, AnOverwrittenOutputIsNotReadByTheReverseProgram) {
    const Case one = {"y = exp(x)", {{"x", {4}}}};
    const Graph graph = program(one, DType::float64);
    const heddle::Derivation kept{.mode = Mode::reverse, .activities = {duplicated, duplicated}},
        gone{.mode = Mode::reverse, .activities = {duplicated, overwritten}};
    const DerivedProgram with = made(graph, kept), without = made(graph, gone);
    EXPECT_EQ(std::ranges::count(names(with.graph, with.graph.inputs), "y"), 1);
    EXPECT_EQ(std::ranges::count(names(without.graph, without.graph.inputs), "y"), 0);
    EXPECT_EQ(with.graph.outputs.size() + 1, without.graph.outputs.size());
}

// Memory b holds sin(x), of which c takes a part, and then exp(x), of which it takes another: backwards, each writer of b
// takes what its own readers have added to b's shadow, and no more.
TEST(CompileJobs8, WhatIsWrittenTwiceHasEachAdjointOnce) {
    const auto derived = [](const char* text, const char* input, std::vector<Activity> activities) {
        return made(program({text, {{input, {4}}}}, DType::float64),
                    {.mode = Mode::combined, .activities = std::move(activities)})
            .graph;
    };
    const Graph first = derived("b = sin(x)", "x", {duplicated, overwritten}),
                second = derived("b = exp(x)", "x", {duplicated, overwritten}),
                reader = derived("c = square(b)", "b", {duplicated, duplicated});
    std::mt19937 random(8);
    const TensorData x = spread(random, DType::float64, {4}, -1, 1), d_c = spread(random, DType::float64, {4}, -1, 1);
    TensorData shadow_x(DType::float64, {4}), shadow_b(DType::float64, {4});
    for (const Graph* writer : {&second, &first}) {
        const TensorData b = outputs_of(*writer, {x, shadow_b, shadow_x})[0];
        shadow_b = outputs_of(reader, {b, d_c, shadow_b})[1];
        const std::vector<TensorData> behind = outputs_of(*writer, {x, shadow_b, shadow_x});
        shadow_x = behind[1], shadow_b = behind[2];
    }
    EXPECT_TRUE(is_zero(shadow_b));
    for (int64_t i = 0; i < 4; ++i) {
        const double at = x.real_at(i), s = std::sin(at), e = std::exp(at);
        EXPECT_NEAR(shadow_x.real_at(i), d_c.real_at(i) * (2 * s * std::cos(at) + 2 * e * e), 1e-12);
    }
}

struct NamedBackend : ConfigSource {
    std::string name() const override { return "named"; }
    Result<CompileConfig> compile_config(const CompileRequest& request) const override {
        if (request.derivation.width > 4)
            return fail(Diagnostic{.code = "backends.width", .summary = "more than four at once"});
        return CompileConfig{.backend = "named", .target = print(request.target), .options = "", .version = "1"};
    }
};

// Its layout is known from the job alone, in another process too, and is what the forward program hands on.
TEST(CompileJobs8, TheJobThatABackendMakesAnswersForTheTape) {
    const Graph graph = network();
    std::mt19937 random(9);
    const std::vector<TensorData> feeds = feeds_of(case_of_two, DType::float64, random);
    for (const char* policy : {"save_all", "recompute_all", "fewest_bytes"}) {
        SCOPED_TRACE(policy);
        std::vector<TapeLayout> told;
        for (Mode mode : {Mode::augmented, Mode::reverse}) {
            const auto job = job_for(NamedBackend(), Target(), graph, {.mode = mode, .tape_policy = policy});
            ASSERT_TRUE(job) << render(job.error());
            EXPECT_EQ(job->config.backend, "named");
            const auto again = parse_compile_job(canonical_bytes(*job));
            ASSERT_TRUE(again) << render(again.error());
            const auto answer = program_of(*again, graph);
            ASSERT_TRUE(answer) << render(answer.error());
            told.push_back(answer->tape);
            if (mode == Mode::reverse) continue;
            const std::vector<TensorData> made = outputs_of(answer->graph, feeds);
            ASSERT_EQ(made.size(), graph.outputs.size() + answer->tape.entries.size());
            int64_t end = 0;
            for (size_t e = 0; e < answer->tape.entries.size(); ++e) {
                const TapeEntry& entry = answer->tape.entries[e];
                const TensorData& value = made[graph.outputs.size() + e];
                EXPECT_EQ(entry.bytes, value.byte_size());
                EXPECT_EQ(entry.type.dtype, value.dtype());
                EXPECT_EQ(entry.type.extents(), value.shape());
                EXPECT_GE(entry.offset, end);
                end = entry.offset + entry.bytes;
            }
            EXPECT_LE(end, answer->tape.bytes);
        }
        EXPECT_EQ(told[0].bytes, told[1].bytes);
        EXPECT_EQ(told[0].entries.size(), told[1].entries.size());
        EXPECT_EQ(told[0].entries.empty(), std::string(policy) != "save_all");
    }
}

TEST(CompileJobs8, AJobAnswersForItsOwnGraphAlone) {
    const Graph graph = network(), other = program({"y = exp(x)", {{"x", {4}}}}, DType::float64);
    const auto job = job_for(NamedBackend(), Target(), graph, {.mode = Mode::augmented});
    ASSERT_TRUE(job) << render(job.error());
    EXPECT_EQ(codes(program_of(*job, other)), Codes{"gradient.job"});
    EXPECT_EQ(codes(job_for(NamedBackend(), Target(), graph, {.mode = Mode::forward, .width = 8})),
              Codes{"backends.width"});
}

// v reaches no output that has an adjoint, and z none of what has a tangent.
TEST(CompileJobs8, WhatDependsOnNoShadowIsZeroInEachRow) {
    const Graph graph = network();
    const Graph reverse =
        made(graph,
             {.mode = Mode::combined, .width = 3, .activities = {constant, constant, batched, constant, batched}})
            .graph;
    const Graph forward =
        made(graph, {.mode = Mode::forward, .width = 3, .activities = {constant, constant, batched, constant, batched}})
            .graph;
    std::mt19937 random(6);
    const std::vector<TensorData> feeds = feeds_of(case_of_two, DType::float64, random);
    const std::vector<TensorData> all = completed(reverse, feeds, random), found = outputs_of(reverse, all);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(agree(found[2], all[4])) << "the shadow, with nothing added";
    const TensorData tangent = outputs_of(forward, completed(forward, feeds, random))[2];
    EXPECT_EQ(tangent.shape(), (std::vector<int64_t>{3, 3, 5}));
    for (int64_t i = 0; i < tangent.size(); ++i) EXPECT_EQ(tangent.real_at(i), 0);
}

TEST(CompileJobs9, WithRespectToANumber) {
    const Library own = library_with(R"yaml(
wave: {inputs: {x: "$T[$n]", speed: "$T[]"}, index: "[$n]", outputs: {y: "$T"}, body: "y = sin(speed[] * x[@n])"}
)yaml");
    auto graph = build_program(std::make_shared<SourceText>("case", "y = wave(x, speed)"), own,
                               {{"x", {DType::float64, {6}}}, {"speed", {DType::float64, {}}}});
    ASSERT_TRUE(graph) << render(graph.error());
    const Graph one =
        made(*graph, {.mode = Mode::combined, .activities = {constant, active, duplicated_no_need}}).graph;
    EXPECT_EQ(names(one, one.inputs), (Names{"x", "speed", "d_y"}));
    std::mt19937 random(4);
    const TensorData x = spread(random, DType::float64, {6}, -1, 1), seed = spread(random, DType::float64, {6}, -1, 1);
    TensorData speed(DType::float64, {});
    speed.set_real(0, 0.7);
    double expected = 0;
    for (int64_t i = 0; i < 6; ++i) expected += seed.real_at(i) * x.real_at(i) * std::cos(0.7 * x.real_at(i));
    const std::vector<TensorData> found = outputs_of(one, {x, speed, seed});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_NEAR(found[0].real_at(0), expected, 1e-12);
}

TEST(DerivedProgramErrors, AreOfActivitiesAndPolicies) {
    const Graph graph = program({"y = gather(t, i)", {{"t", {5}}, {"i", {3}, 0, 0, {0, 0, 0}}}}, DType::float32);
    auto code = [&](const heddle::Derivation& derivation) { return codes(derived_program(graph, derivation)); };
    const Codes activity{"gradient.activity"};
    EXPECT_EQ(code({.mode = Mode::forward, .width = 0}), activity);
    EXPECT_EQ(code({.mode = Mode::forward, .width = 1 << 20}), activity);
    EXPECT_EQ(code({.mode = Mode::forward, .activities = {duplicated}}), activity);
    EXPECT_EQ(code({.mode = Mode::forward, .activities = {duplicated, duplicated, duplicated}}),
              activity);                                                                                // of integers
    EXPECT_EQ(code({.mode = Mode::combined, .activities = {active, constant, duplicated}}), activity);  // no number
    EXPECT_EQ(code({.mode = Mode::combined, .activities = {overwritten, constant, duplicated}}), activity);  // an input
    EXPECT_EQ(code({.mode = Mode::forward, .width = 2, .activities = {duplicated, constant, batched}}), activity);
    EXPECT_EQ(code({.mode = Mode::forward, .activities = {duplicated, constant, constant}}), Codes{"gradient.output"});
    for (const char* policy :
         {"everything", "budget", "budget -1", "budget 1x", "budget 99999999999999999999", "checkpoints"})
        EXPECT_EQ(code({.mode = Mode::augmented, .tape_policy = policy}), Codes{"gradient.tape_policy"}) << policy;
}

}  // namespace
}  // namespace heddle::gradient
