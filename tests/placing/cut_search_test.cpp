// The search for cuts against all combinations of them, and what it finds in layers that people cut by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "helpers/programs.h"
#include "placing/choose_cuts.h"
#include "placing/cut_front.h"
#include "placing/parts.h"
#include "alike_processes.h"

namespace heddle::placing {
namespace {

using sharding::PlaceId;

// Chains, trees and residual programs of products, sums, maps and softmax on squares.
class RandomPrograms {
public:
    explicit RandomPrograms(unsigned seed) : random_(seed) {}

    Graph graph(size_t operations) {
        const int64_t size = int64_t{4} << pick(7);
        std::string text;
        std::vector<std::string> values = {"x"};
        const int shape = pick(3);  // a chain, a tree, residual
        for (size_t o = 0; o < operations; o++) {
            const std::string last = values.back();
            const std::string other =
                shape == 0 ? "x" : values[static_cast<size_t>(pick(static_cast<int>(values.size())))];
            const std::string own = fmt::format("v{}", o);
            const std::string operand = shape == 1 ? other : last;
            switch (pick(6)) {
            case 0: text += fmt::format("{} = matmul({}, w{})", own, operand, pick(2)); break;
            case 1: text += fmt::format("{} = relu({})", own, operand); break;
            case 2: text += fmt::format("{} = softmax({}, axis: {})", own, operand, pick(2)); break;
            case 3: text += fmt::format("{} = transpose({}, perm: [1, 0])", own, operand); break;
            case 4: text += fmt::format("{} = matmul({}, {})", own, operand, other); break;
            default: text += fmt::format("{} = add2({}, {})", own, last, other); break;
            }
            text += "; ";
            values.push_back(own);
        }
        return graph_of(text, {input("x", {size, size}), input("w0", {size, size}), input("w1", {size, size})});
    }

    System system(int64_t places) {
        Target device;
        device.operations = power(8, 11);
        device.launch_seconds = power(-7, -5);
        System system = alike_processes(device, static_cast<int32_t>(places), power(8, 11), power(-7, -4));
        if (pick(2) == 0) return system;
        // Two places, one after the other, are a machine with a faster link.
        const double faster = power(0, 2);
        for (Link& link : system.links) {
            if (system.memory(link.from).process / 2 != system.memory(link.to).process / 2) continue;
            link.bandwidth *= faster;
            link.latency /= faster;
        }
        return system;
    }

    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

private:
    double power(int low, int high) { return std::pow(10.0, low + (high - low) * (random_() % 1000) / 1000.0); }

    std::mt19937 random_;
};

// The least seconds of all combinations, each followed with all tensors, none of which is taken for another.
class AllCombinations {
public:
    AllCombinations(const Graph& graph, const CutTable& table, Layouts& layouts)
        : graph_(graph), table_(table), layouts_(layouts), least_(std::numeric_limits<double>::infinity()) {
        std::vector<LayoutId> lie(graph.tensors.size(), Layouts::nowhere);
        for (TensorId t : graph.inputs) lie[t] = Layouts::everywhere;
        follow(0, lie, 0);
    }
    double least() const { return least_; }

private:
    void follow(size_t o, const std::vector<LayoutId>& lie, double cost) {
        if (cost >= least_) return;
        if (o == graph_.operations.size()) {
            for (TensorId t : graph_.outputs)
                cost += layouts_
                            .gather(lie[t], graph_.tensor(t).type.dtype, Box::whole(graph_.tensor(t).type.shape),
                                    PlaceId(0))
                            .seconds;
            least_ = std::min(least_, cost);
            return;
        }
        const auto tensors = tensors_of(graph_.operations[o]);
        std::vector<LayoutId> before;
        for (TensorId t : tensors) before.push_back(lie[t]);
        for (const CutChoice* choice : table_.choices[o]) {
            const auto& step = layouts_.step(choice->cost, before);
            std::vector<LayoutId> after = lie;
            for (size_t i = 0; i < tensors.size(); i++) after[tensors[i]] = step.after[i];
            follow(o + 1, after, cost + choice->seconds + step.seconds);
        }
    }

    const Graph& graph_;
    const CutTable& table_;
    Layouts& layouts_;
    double least_;
};

TEST(CutSearch, EqualsAllCombinations) {
    size_t greedy = 0, narrow = 0, usual = 0;
    constexpr size_t programs = 1000;
    for (unsigned seed = 0; seed < programs; seed++) {
        RandomPrograms random(seed);
        const Mesh mesh = std::vector<Mesh>{{2}, {3}, {4}, {2, 2}}[static_cast<size_t>(random.pick(4))];
        const Graph graph =
            random.graph(static_cast<size_t>(mesh.size() > 1 ? 1 + random.pick(4) : 1 + random.pick(8)));
        const System system = random.system(place_count(mesh));
        const auto kinds = kinds_of(graph, *system.devices.front().target);
        const auto table = cut_table(graph, kinds, {mesh, {}}, system, nullptr);
        ASSERT_TRUE(table) << render(table.error());
        Layouts layouts(system);
        CutSearch search(graph, *table, layouts, {PlaceId(0)});
        const auto found = search.search({}, {});
        const double least = AllCombinations(graph, *table, layouts).least();
        ASSERT_TRUE(found.is_least) << "seed " << seed;
        ASSERT_NEAR(found.cost, least, 1e-9 * least) << "seed " << seed;
        ASSERT_NEAR(search.costs(found.choices).seconds(), least, 1e-9 * least) << "seed " << seed;
        // One state at a time, as one would choose by hand; and eight, with exchanges.
        const auto one = search.search({}, {.first_beam = 1, .beam = 1, .exchanges = 0});
        const auto few = search.search({}, {.first_beam = 8, .beam = 8});
        const auto first = search.search({}, {.beam = 0});
        usual += first.cost <= least * (1 + 1e-9);
        greedy += one.cost <= least * (1 + 1e-9);
        narrow += few.cost <= least * (1 + 1e-9);
        EXPECT_TRUE(!few.is_least || few.cost <= least * (1 + 1e-9)) << "seed " << seed;
        EXPECT_TRUE(!one.is_least || one.cost <= least * (1 + 1e-9)) << "seed " << seed;
    }
    fmt::print("least of all: {} of {} by one state, {} by eight and exchanges, {} by 32 and exchanges\n", greedy,
               programs, narrow, usual);
    EXPECT_GE(narrow, programs * 9 / 10);
}

Cutting chosen(const Graph& graph, int32_t places, double bandwidth, double latency) {
    auto cutting =
        choose_cuts(graph, {{places}, {}}, alike_processes(Target{}, places, bandwidth, latency), {PlaceId(0)});
    EXPECT_TRUE(cutting) << render(cutting.error());
    for (size_t o = 0; cutting && o < graph.operations.size(); o++)
        fmt::print("{}: {}\n", graph.operations[o].name, cutting->axes[o].front());
    return std::move(*cutting);
}

// One token after others: its weights are what takes time.
TEST(CutSearch, FindsColumnsThenRowsAndHeads) {
    const Graph graph = graph_of(
        "q = einsum([x, wq], equation: 'bse,ehd->bhsd'); a = attention(q, k, v); f = reshape_to(a, shape: [1, 1, "
        "1024]); "
        "o = numpy_matmul(f, wo); r = add2(x, o); u = numpy_matmul(r, w1); g = relu(u); d = numpy_matmul(g, w2); y = "
        "add2(r, d)",
        {input("x", {1, 1, 1024}), input("wq", {1024, 16, 64}), input("k", {1, 16, 512, 64}),
         input("v", {1, 16, 512, 64}), input("wo", {1024, 1024}), input("w1", {1024, 4096}),
         input("w2", {4096, 1024})});
    const Cutting cutting = chosen(graph, 4, 1e10, 2e-5);
    std::vector<std::string> axes;
    for (const auto& own : cutting.axes) axes.push_back(own.front());
    const auto number = [&](const std::string& name) {
        for (size_t o = 0; o < graph.operations.size(); o++)
            if (graph.tensor(graph.operations[o].outputs[0]).name.ends_with(name)) return o;
        return size_t{0};
    };
    const auto axes_of = [&](size_t o) { return sharding::axes_of(graph, graph.operations[o]); };
    const auto moves = [&](const std::string& name, size_t input) {  // the dimension of its input that is cut
        const size_t o = number(name);
        const auto all = axes_of(o);
        const auto axis = std::ranges::find(all, axes[o], &sharding::Axis::name);
        return axis == all.end() || axis->inputs[input].empty() ? -1 : axis->inputs[input].front().dimension;
    };
    EXPECT_EQ(moves("q", 1), 1);  // heads of the queries' weights
    EXPECT_EQ(moves("a", 1), 1);  // heads
    EXPECT_EQ(moves("o", 1), 0);  // rows: those of the heads
    EXPECT_EQ(moves("u", 1), 1);  // columns
    EXPECT_EQ(moves("d", 1), 0);  // rows
}

TEST(CutSearch, FindsTheBatchOfConvolutions) {
    const Graph graph =
        graph_of("a = conv(x, w1); b = relu(a); c = conv(b, w2); d = add2(c, x); y = relu(d)",
                 {input("x", {8, 64, 28, 28}), input("w1", {64, 64, 1, 1}), input("w2", {64, 64, 1, 1})});
    const Cutting cutting = chosen(graph, 4, 1e10, 1e-5);
    for (size_t o = 0; o < graph.operations.size(); o++) {
        const auto all = sharding::axes_of(graph, graph.operations[o]);
        const auto axis = std::ranges::find(all, cutting.axes[o].front(), &sharding::Axis::name);
        ASSERT_NE(axis, all.end()) << graph.operations[o].name;
        EXPECT_EQ(axis->outputs[0].front().dimension, 0) << graph.operations[o].name;
    }
}

TEST(CutFront, IsTheSameForOneSeedAndHasNoWayThatAnotherCovers) {
    RandomPrograms random(3);
    const Graph graph = random.graph(8);
    const Machines machines{
        4, [](int64_t count) { return alike_processes(Target{}, static_cast<int32_t>(count), 1e10, 1e-6); }};
    ThreadPool pool(2);
    const auto first = search_front(graph, machines, {PlaceId(0)}, {.pool = &pool});
    const auto second = search_front(graph, machines, {PlaceId(0)}, {});
    ASSERT_TRUE(first && second);
    ASSERT_EQ(first->size(), second->size());
    for (size_t i = 0; i < first->size(); i++) {
        EXPECT_EQ((*first)[i].axes, (*second)[i].axes);
        for (size_t j = 0; j < first->size(); j++)
            EXPECT_TRUE(i == j || !covers((*first)[i], (*first)[j])) << i << " " << j;
    }
}

TEST(CutFiles, AreReadAsTheyAreWritten) {
    const Graph graph = graph_of("y = matmul(x, w); z = relu(y)", {input("x", {8, 8}), input("w", {8, 8})});
    const std::vector<std::vector<std::string>> axes = {{"in_row", ""}, {"", ""}};
    const std::vector<std::string> rules = {"split_inner(chunk: 4)", "a \"quoted\" one"};
    const std::string text = print_cuts(graph, {2, 2}, axes, rules);
    const auto said = read_cuts(std::make_shared<SourceText>("cuts.json", text));
    ASSERT_TRUE(said) << render(said.error());
    EXPECT_EQ(said->mesh, (Mesh{2, 2}));
    EXPECT_EQ(said->rules, rules);
    ASSERT_EQ(said->cuts.size(), 4u);
    EXPECT_EQ(said->cuts[0].axis, "in_row");
    EXPECT_EQ(said->cuts[1].axis, "");
    const auto cutting = choose_cuts(graph, *said, alike_processes(Target{}, 4, 1e10, 1e-6), {PlaceId(0)});
    ASSERT_TRUE(cutting) << render(cutting.error());
    EXPECT_EQ(cutting->axes, axes);
}

TEST(CutFiles, AreForOneProgramOfWhateverSizes) {
    const auto program = [](const std::string& text, int64_t rows) {
        return graph_of(text, {input("x", {rows, 8}), input("w", {8, 8})});
    };
    const Graph graph = program("y = matmul(x, w); z = relu(y)", 8);
    const auto said =
        read_cuts(std::make_shared<SourceText>("cuts.json", print_cuts(graph, {2}, {{"in_row"}, {"shape0"}}, {})));
    ASSERT_TRUE(said) << render(said.error());
    EXPECT_TRUE(check_program(*said, program("y = matmul(x, w); z = relu(y)", 20)));
    for (const char* other : {"y = matmul(x, w); z = tanh(y)", "a = relu(x); z = matmul(a, w)",
                              "y = matmul(x, w); z = relu(y); u = relu(z)", "a = matmul(x, w); z = relu(a)"}) {
        const auto cutting =
            choose_cuts(program(other, 8), *said, alike_processes(Target{}, 2, 1e10, 1e-6), {PlaceId(0)});
        ASSERT_FALSE(cutting) << other;
        EXPECT_EQ(cutting.error().front().code, "placing.cut_program") << other;
    }
}

TEST(CutFiles, WrongOnesAreRefusedWithAPlace) {
    const std::vector<std::pair<std::string, std::string>> texts = {
        {"{", ""},
        {"[]", ""},
        {R"({"mesh": [2]})", ""},
        {R"({"mesh": [], "cuts": {}})", "the mesh"},
        {R"({"mesh": [0], "cuts": {}})", "the mesh"},
        {R"({"mesh": [4097], "cuts": {}})", "the mesh"},
        {R"({"mesh": [2, 9223372036854775807], "cuts": {}})", "the mesh"},
        {R"({"mesh": ["a"], "cuts": {}})", "the mesh"},
        {R"({"mesh": [2], "cuts": []})", "\"cuts\""},
        {R"({"mesh": [2], "cuts": {"y": "k"}})", "'y'"},
        {R"({"mesh": [2], "cuts": {"y": ["k", null]}})", "'y'"},
        {R"({"mesh": [2], "cuts": {"y": [1]}})", "'y'"},
        {R"({"mesh": [2], "cuts": {"y": [""]}})", "'y'"},
        {R"({"mesh": [2], "cuts": {}, "program": 1})", "\"program\""},
        {R"({"mesh": [2], "cuts": {}, "rules": "r"})", "\"rules\""},
        {R"({"mesh": [2], "cuts": {}, "rules": [1]})", "\"rules\""},
        {R"({"mesh": [2], "cuts": {"y": ["k"], "y": ["k"]}})", ""},
    };
    for (const auto& [text, what] : texts) {
        const auto said = read_cuts(std::make_shared<SourceText>("cuts.json", text));
        ASSERT_FALSE(said) << text;
        EXPECT_EQ(said.error().front().code, "placing.cut_file") << text;
        EXPECT_TRUE(said.error().front().summary.find(what) != std::string::npos) << render(said.error());
        EXPECT_TRUE(said.error().front().place.source) << text;
    }
}

}  // namespace
}  // namespace heddle::placing
