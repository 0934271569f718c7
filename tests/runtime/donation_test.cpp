// Outputs in the memory of inputs: what runs give is bit for bit what they give elsewhere, by LLVM's code and by gcc's, on
// one thread and on two; and what must not share memory is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cc/cc_backend.h"
#include "helpers/codes.h"
#include "helpers/device_backend.h"
#include "helpers/running.h"
#include "plan/donation.h"
#include "symbolic/program.h"

namespace heddle::runtime {
namespace {

using plan::Donation;
using Donations = std::vector<Donation>;

// `outputs`: names of results and inputs; none: what the last call gives.
Graph graph_of(const std::string& calls, const std::vector<ProgramInput>& inputs,
               const std::vector<std::string>& outputs = {}, const std::string& templates = "") {
    static std::vector<std::shared_ptr<Library>> libraries;  // graphs point into them
    std::vector<std::string> names, takes, gives;
    std::string lines;
    for (size_t i = 0; i < outputs.size(); i++) {
        names.push_back(fmt::format("o{}", i));
        takes.push_back(fmt::format("i{0}: \"$t{0}[$s{0}...]\"", i));
        gives.push_back(fmt::format("o{0}: \"$t{0}[$s{0}...]\"", i));
        lines += fmt::format("    o{0} = i{0}\n", i);
    }
    const std::string all = fmt::format("all:\n  inputs: {{{}}}\n  outputs: {{{}}}\n  graph: |\n{}",
                                        fmt::join(takes, ", "), fmt::join(gives, ", "), lines);
    libraries.push_back(std::make_shared<Library>(library_with(templates + (outputs.empty() ? "" : all))));
    const std::string text =
        outputs.empty() ? calls
                        : fmt::format("{}\n{} = all({})", calls, fmt::join(names, ", "), fmt::join(outputs, ", "));
    auto graph = build_program(std::make_shared<SourceText>("program", text), *libraries.back(), inputs);
    EXPECT_TRUE(graph) << (graph ? "" : render(graph.error()));
    return graph ? std::move(*graph) : Graph{};
}

ProgramInput input(const std::string& name, std::vector<int64_t> shape, DType dtype = DType::float32) {
    return {name, {dtype, {shape.begin(), shape.end()}}};
}

std::vector<TensorData> feeds_of(const Graph& graph) {
    std::vector<TensorData> feeds;
    for (TensorId id : graph.inputs) {
        const TensorType& type = graph.tensor(id).type;
        TensorData data(type.dtype, type.extents());
        std::mt19937_64 random(feeds.size() + 1);
        std::normal_distribution<double> normal;
        for (int64_t i = 0; i < data.size(); i++)
            data.set_real(i, is_float(type.dtype) ? normal(random) : static_cast<double>(random() % 4));
        feeds.push_back(std::move(data));
    }
    return feeds;
}

std::vector<TensorData> copied(const std::vector<TensorData>& feeds) {
    std::vector<TensorData> copies;
    for (const TensorData& feed : feeds) copies.push_back(feed.clone());
    return copies;
}

std::vector<TensorData> run(plan::Plan plan, const std::vector<TensorData>& feeds, int threads,
                            std::shared_ptr<codegen::Backend> backend) {
    KernelCache cache(std::move(backend));
    auto pool = std::make_shared<ThreadPool>(threads);
    auto executable = Executable::make(std::move(plan), cache, *pool);
    EXPECT_TRUE(executable) << (executable ? "" : render(executable.error()));
    if (!executable) return {};
    Session session(*executable, pool);
    auto found = session.run(feeds);
    EXPECT_TRUE(found) << (found ? "" : render(found.error()));
    return found ? std::move(*found) : std::vector<TensorData>{};
}

std::shared_ptr<codegen::Backend> backend_of(int number) {
    if (number == 0) return std::make_shared<backends::LlvmBackend>();
    if (number == 1) return std::make_shared<backends::CcBackend>(*backends::CCompiler::find(), 0);
    return std::make_shared<FarBackend>();
}

void expect_same(const TensorData& found, const TensorData& expected) {
    ASSERT_EQ(found.byte_size(), expected.byte_size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<size_t>(found.byte_size())), 0);
}

// `in_place`: how many outputs are made where their input lies, not copied there.
void expect_donated(const Graph& graph, const Donations& donations, int in_place) {
    const auto feeds = feeds_of(graph);
    ASSERT_FALSE(graph.outputs.empty());
    const plan::Plan plan = plan_of(graph, {.donations = donations});
    const auto sound = plan::verify(plan);
    ASSERT_TRUE(sound) << render(sound.error());
    EXPECT_EQ(std::ranges::count_if(donations, [&](const Donation& d) { return plan.is_in_place(d); }), in_place)
        << print(plan);
    for (int backend = 0; backend < 3; backend++) {
        const auto expected = run(plan_of(graph), feeds, 1, backend_of(backend));
        for (int threads : {1, 2}) {
            SCOPED_TRACE(testing::Message() << "backend " << backend << ", " << threads << " threads");
            const auto given = copied(feeds);
            const auto found = run(plan, given, threads, backend_of(backend));
            ASSERT_EQ(found.size(), expected.size());
            for (size_t o = 0; o < found.size(); o++) expect_same(found[o], expected[o]);
            for (const auto& [output, input] : donations)
                EXPECT_EQ(found[static_cast<size_t>(output)].data(), given[static_cast<size_t>(input)].data());
            for (size_t i = 0; i < given.size(); i++) {
                const bool donated =
                    std::ranges::find(donations, static_cast<int32_t>(i), &Donation::input) != donations.end();
                if (!donated) expect_same(given[i], feeds[i]);
            }
        }
    }
}

TEST(Donation, OptimisersUpdateInPlace) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {1}, {1000}, {33, 65}}) {
        const bool is_one = shape.empty() || shape == std::vector<int64_t>{1};  // each result is a kernel of its own
        const auto adamw = graph_of("w, m, s = adamw(weight, slope, mean, square, step, rate)",
                                    {input("weight", shape), input("slope", shape), input("mean", shape),
                                     input("square", shape), input("step", {}), input("rate", {})});
        expect_donated(adamw, {{0, 0}, {1, 2}, {2, 3}}, 3);
        expect_donated(adamw, {{2, 1}}, 1);
        expect_donated(adamw, {{0, 3}, {1, 0}, {2, 2}}, is_one ? 2 : 3);  // in whose memory hardly matters
        expect_donated(graph_of("w = sgd(weight, slope, rate)",
                                {input("weight", shape), input("slope", shape), input("rate", {})}),
                       {{0, 0}}, 1);
        expect_donated(
            graph_of("w, v = momentum(weight, slope, velocity, rate, nesterov: true)",
                     {input("weight", shape), input("slope", shape), input("velocity", shape), input("rate", {})}),
            {{0, 0}, {1, 2}}, is_one ? 1 : 2);
    }
}

// The new weight is written behind what reads the old one, and in the same kernel as its gradient.
TEST(Donation, StepsOfTraining) {
    const auto graph = graph_of(
        "h = tanh(numpy_matmul(x, v))\ny = numpy_matmul(h, w)\nd_w = numpy_matmul(transpose(h, perm: [1, 0]), y)\n"
        "d_h = mul(numpy_matmul(y, transpose(w, perm: [1, 0])), h)\nd_v = numpy_matmul(transpose(x, perm: [1, 0]), "
        "d_h)\n"
        "v1, mv1, sv1 = adamw(v, d_v, mv, sv, n, r)\nw1, mw1, sw1 = adamw(w, d_w, mw, sw, n, r)",
        {input("x", {37, 50}), input("v", {50, 90}), input("w", {90, 41}), input("mv", {50, 90}), input("sv", {50, 90}),
         input("mw", {90, 41}), input("sw", {90, 41}), input("n", {}), input("r", {})},
        {"v1", "mv1", "sv1", "w1", "mw1", "sw1"});
    ASSERT_EQ(graph.outputs.size(), 6u);
    expect_donated(graph, {{0, 1}, {1, 3}, {2, 4}, {3, 2}, {4, 5}, {5, 6}}, 6);
}

TEST(Donation, OtherReadersComeBefore) {
    expect_donated(graph_of("a = add(x, y)\nb = tanh(transpose(x, perm: [1, 0]))",
                            {input("x", {40, 40}), input("y", {40, 40})}, {"a", "b"}),
                   {{0, 0}}, 1);
    expect_donated(graph_of("b = tanh(transpose(x, perm: [1, 0]))\na = add(x, y)",
                            {input("x", {40, 40}), input("y", {40, 40})}, {"b", "a"}),
                   {{1, 0}}, 1);
    // What is read of the input later follows from what would overwrite it.
    expect_donated(
        graph_of("a = add(x, y)\nb = numpy_matmul(a, x)", {input("x", {40, 40}), input("y", {40, 40})}, {"a", "b"}),
        {{0, 0}}, 0);
}

TEST(Donation, WhatReadsOtherPointsIsCopied) {
    const char* const own = R"yaml(
turned:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x[$n - 1 - @n]"
smoothed:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x[@n] + (x[@n - 1] ?? 0) + (x[@n + 1] ?? 0)"
scaled_by_first:
  inputs: {x: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x[@n] * x[0]"
both:
  inputs: {x: "$T[$n]", z: "$T[$n]"}
  index: "[$n]"
  outputs: {y: "$T", w: "$T"}
  body: |
    y = x[@n] + z[@n]
    w = x[@n] * z[$n - 1 - @n]
gathered:
  inputs: {x: "$T[$n]", at: "int64[$n]"}
  index: "[$n]"
  outputs: {y: "$T"}
  body: "y = x[at[@n]] + x[@n]"
)yaml";
    for (int64_t n : {5, 64, 1000, 70000}) {
        const std::vector<ProgramInput> one = {input("x", {n})}, two = {input("x", {n}), input("z", {n})};
        expect_donated(graph_of("y = turned(x)", one, {}, own), {{0, 0}}, 0);
        expect_donated(graph_of("y = smoothed(x)", one, {}, own), {{0, 0}}, 0);
        expect_donated(graph_of("y = scaled_by_first(x)", one, {}, own), {{0, 0}}, 0);
        expect_donated(graph_of("y, w = both(x, z)", two, {}, own), {{0, 0}, {1, 1}}, 1);
        expect_donated(graph_of("y = gathered(x, at)", {input("x", {n}), input("at", {n}, DType::int64)}, {}, own),
                       {{0, 0}}, 0);
        expect_donated(graph_of("y = softmax(x, axis: 0)", one), {{0, 0}}, 0);
        expect_donated(graph_of("y = cumsum(x, axis: 0)", one), {{0, 0}}, 1);
    }
}

// Of a scatter only what changes is written.
TEST(Donation, UpdatesOfFewElements) {
    const std::vector<ProgramInput> inputs = {input("x", {500, 9}), input("at", {7, 1}, DType::int64),
                                              input("u", {7, 9})};
    expect_donated(graph_of("y = scatter_nd_add(x, at, u)", inputs), {{0, 0}}, 1);
    expect_donated(graph_of("y = scatter_nd_add(x, at, u)\nz = reduce_sum(x, axes: [0])", inputs, {"y", "z"}), {{0, 0}},
                   1);
    expect_donated(graph_of("y = scatter_nd_add(x, at, u)\nz = add(y, x)", inputs, {"y", "z"}), {{0, 0}}, 0);
}

TEST(Donation, InputsThatAreHandedOn) {
    const std::vector<ProgramInput> two = {input("x", {300}), input("y", {300})};
    expect_donated(graph_of("a = add(x, y)", two, {"x", "a"}), {{0, 0}}, 1);
    expect_donated(graph_of("a = add(x, y)", two, {"x", "a"}), {{1, 0}}, 0);
    expect_donated(graph_of("a = add(x, y)", two, {"y", "x", "a"}), {{0, 0}, {1, 1}}, 0);
    expect_donated(graph_of("a = add(x, y)", two, {"a", "a", "y"}), {{0, 0}, {1, 1}}, 1);
}

TEST(Donation, OtherTypes) {
    // Of complex numbers the real parts are worked out in a loop of their own, which reads what another one overwrites.
    for (DType dtype : {DType::float16, DType::bfloat16, DType::float64, DType::int8, DType::int64, DType::complex64})
        expect_donated(graph_of("a = add(x, y)\nb = mul(a, x)",
                                {input("x", {33, 5}, dtype), input("y", {33, 5}, dtype)}, {"a", "b"}),
                       {{0, 0}, {1, 1}}, dtype == DType::complex64 ? 0 : 2);
    expect_donated(graph_of("a = add(x, y)", {input("x", {0, 3}), input("y", {0, 3})}), {{0, 0}}, 1);
}

TEST(Donation, SharedMemoryIsRefused) {
    const auto graph = graph_of("a = add(x, y)", {input("x", {16}), input("y", {16})});
    auto pool = std::make_shared<ThreadPool>(1);
    Session session(compiled(plan_of(graph, {.donations = {{0, 0}}})), pool);
    const TensorData x = random_tensor({32}, 1), first(DType::float32, {16}, nullptr, x.data()),
                     late(DType::float32, {16}, nullptr, x.data() + 4),
                     second(DType::float32, {16}, nullptr, x.data() + 64);
    for (const TensorData& y : {first, late}) {
        const auto found = session.run({first, y});
        ASSERT_FALSE(found);
        EXPECT_EQ(codes(found), Codes{"runtime.donation"});
    }
    EXPECT_TRUE(session.run({first, second}));
}

}  // namespace
}  // namespace heddle::runtime
