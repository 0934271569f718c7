// The text form of plans: a parsed plan prints to the same text and runs to the same bits; what is wrong is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "../equations/graph_builder.h"
#include "helpers/running.h"
#include "symbolic/program.h"

namespace heddle::plan {
namespace {

using equations::testing::GraphBuilder;
using equations::testing::random_data;

std::shared_ptr<const SourceText> source(const std::string& text) { return std::make_shared<SourceText>("plan", text); }

Constants constants(const Graph& graph) {
    auto made = constants_of(graph);
    EXPECT_TRUE(made) << render(made.error());
    return made ? std::move(*made) : Constants{};
}

// A compiler of its own for each plan: nothing is found by a key that the other has left.
std::vector<TensorData> run(Plan plan, const std::vector<TensorData>& feeds) {
    auto executable = compiled(std::move(plan));
    if (!executable) return {};
    auto results = runtime::Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
    EXPECT_TRUE(results) << render(results.error());
    return results ? std::move(*results) : std::vector<TensorData>{};
}

void check(const Graph& graph, const PlanOptions& options = {}) {
    Plan plan = plan_of(graph, options);
    const std::string text = print(plan);
    auto parsed = parse_plan(source(text), constants(graph));
    ASSERT_TRUE(parsed) << render(parsed.error()) << "\n" << text;
    EXPECT_EQ(print(*parsed), text);
    std::mt19937 random(7);
    const auto feeds = equations::testing::random_feeds(random, graph);
    const auto expected = run(std::move(plan), feeds), found = run(std::move(*parsed), feeds);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_FALSE(expected.empty());
    for (size_t i = 0; i < found.size(); i++) {
        ASSERT_EQ(found[i].shape(), expected[i].shape());
        EXPECT_EQ(std::memcmp(found[i].data(), expected[i].data(), static_cast<size_t>(found[i].byte_size())), 0)
            << "output " << i << "\n"
            << text;
    }
}

Graph program(const std::string& text, const std::vector<ProgramInput>& inputs) {
    auto graph = build_program(source(text), library(), inputs);
    EXPECT_TRUE(graph) << render(graph.error());
    return graph ? std::move(*graph) : Graph{};
}

// Names that need quotes, sizes with origins, a weight that is packed, buffers with margins, a bias and relu.
Graph convolution() {
    heddle::Session session(library());
    std::mt19937 random(3);
    auto call = [&](const std::string& name, const std::vector<Argument>& inputs,
                    const std::map<std::string, StaticValue>& parameters = {}) {
        auto made = session.apply(*library().find(name).value(), inputs, parameters);
        EXPECT_TRUE(made) << render(made.error());
        return made ? made->front() : TensorId(0);
    };
    auto weight = [&](const std::string& name, std::vector<int64_t> shape) {
        return session.add_constant(name, random_data(random, DType::float32, std::move(shape)));
    };
    const Size batch = named_size("batch 'size'", 2), height = named_size("height", 14) + Size(1);
    TensorId x = session.add_input("the\nimage \\ \x01", {DType::float32, {batch, 16, height, height}});
    const std::map<std::string, StaticValue> padded = {{"pads", StaticValue::of_integers({1, 1, 1, 1})}};
    TensorId y = call("relu", {call("conv", {x, weight("w", {32, 16, 3, 3}), weight("b", {32})}, padded)});
    TensorId z = call("relu", {call("conv", {y, weight("v", {24, 32, 3, 3}), weight("c", {24})}, padded)});
    return session.finish({z});
}

Graph attention() {
    return program("s = numpy_matmul(q, transpose(k, perm: [0, 2, 1])); o = numpy_matmul(softmax(s, axis: -1), v)",
                   {{"q", {DType::float32, {3, 33, 16}}},
                    {"k", {DType::float32, {3, 33, 16}}},
                    {"v", {DType::float32, {3, 33, 16}}}});
}

// A chain of operations drawn by `seed`, with weights and an output in the middle.
Graph random_graph(uint32_t seed) {
    std::mt19937 random(seed);
    GraphBuilder b;
    TensorId x = b.input("x", DType::float32, {4, 8, 12});
    for (int step = 0; step < 5; step++) {
        const int64_t last = b.shape(x).back().value();
        const std::string name = "w" + std::to_string(step);
        switch (random() % 7) {
        case 0: x = b.matmul(x, b.constant(name, random_data(random, DType::float32, {last, 20}))); break;
        case 1: x = b.transpose(x, {0, 2, 1}); break;
        case 2: x = b.softmax(x); break;
        case 3: x = b.pad(x, 1, 1, 2, -0.0); break;
        case 4: x = b.binary(ScalarOp::add, x, b.constant(name, random_data(random, DType::float32, {last}))); break;
        case 5: x = b.concat({x, b.unary(ScalarOp::tanh, x)}, 1); break;
        default: x = b.slice(x, 2, 1, last - 2); break;
        }
        if (step == 2) b.output(x);
    }
    b.output(b.reduce(Reducer::sum, x, 1));
    return b.graph;
}

TEST(PlanText, softmax) { check(program("softmax(x)", {{"x", {DType::float32, {37, 100}}}})); }
TEST(PlanText, padded_convolutions_with_bias_and_relu) { check(convolution()); }
TEST(PlanText, attention) { check(attention()); }
TEST(PlanText, attention_with_every_buffer_kept) { check(attention(), {.fuse = false, .keep_all = true}); }
TEST(PlanText, a_tensor_without_elements_between_kernels) {
    check(program("y = reduce_sum(abs(x), axes: [1])", {{"x", {DType::float32, {2, 0, 4}}}}));
}
TEST(PlanText, random_graphs) {
    for (uint32_t seed = 0; seed < 6; seed++) check(random_graph(seed), {.fuse = seed % 2 == 0});
}

// The list of buffers grows while a buffer is packed: its name must not be read from the list behind that.
TEST(PlanText, a_packed_buffer_is_named_after_its_source) {
    Plan plan = plan_of(program("dft(m)", {{"m", {DType::float32, {40, 40, 2}}}}));
    std::set<std::string> names, launches;
    for (const Buffer& buffer : plan.buffers) names.insert(buffer.name);
    for (const auto* phase : {&plan.prepare, &plan.run}) {
        for (const Batch& batch : *phase) {
            for (const Launch& launch : batch) launches.insert(launch.name);
        }
    }
    int packed = 0;
    for (const Buffer& buffer : plan.buffers) {
        if (buffer.packed.empty()) continue;
        packed++;
        EXPECT_TRUE(buffer.name.ends_with(" packed")) << buffer.name;
        EXPECT_TRUE(names.contains(buffer.name.substr(0, buffer.name.size() - 7))) << buffer.name;
        EXPECT_TRUE(launches.contains(buffer.name)) << buffer.name;
    }
    EXPECT_GT(packed, 0);
}

// Lowering makes a table of cosines that is no tensor of the graph.
TEST(PlanText, a_table_is_bound_again) {
    GraphBuilder b;
    TensorId x = b.input("x", DType::float32, {40, 30});
    b.output(b.map("turn", {x}, DType::float32, b.shape(x), [&](auto& body, const auto& at) {
        auto angle = body.cast(DType::float32, at[1]);
        return body.times(body.read(0, DType::float32, at), body.scalar(ScalarOp::cos, {angle}));
    }));
    EXPECT_NE(print(plan_of(b.graph)).find("'table' constant"), std::string::npos);
    check(b.graph);
}

// Trees of indirect reads have expressions that no statement needs any more.
TEST(PlanText, an_embedding_that_is_normalised) {
    GraphBuilder b;
    std::mt19937 random(2);
    TensorId ids = b.input("ids", DType::int64, {4, 9});
    TensorId table = b.constant("words", random_data(random, DType::float32, {7, 24}));
    TensorId places = b.constant("places", random_data(random, DType::float32, {9, 24}));
    b.output(b.softmax(b.binary(ScalarOp::add, b.gather(table, ids, 0), places)));
    check(b.graph);
}

// Weights in a file that is mapped are not aligned: kernels that rely on it get a copy.
TEST(PlanText, constants_are_bound_wherever_they_lie) {
    const Graph graph = convolution();
    const std::string text = print(plan_of(graph));
    Constants borrowed;
    for (const auto& [name, data] : constants(graph)) {
        auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(data.byte_size()) + 2);
        std::memcpy(bytes->data() + 2, data.data(), static_cast<size_t>(data.byte_size()));
        borrowed.emplace(name, TensorData(data.dtype(), data.shape(), bytes, bytes->data() + 2));
    }
    auto parsed = parse_plan(source(text), borrowed);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_TRUE(verify(*parsed));
    const std::vector<TensorData> feeds = {TensorData(DType::float32, {2, 16, 15, 15})};
    const auto expected = run(plan_of(graph), feeds), found = run(std::move(*parsed), feeds);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(std::memcmp(found[0].data(), expected[0].data(), static_cast<size_t>(found[0].byte_size())), 0);
}

TEST(PlanText, sizes_keep_their_origins) {
    using Kind = Origin::Kind;
    Plan plan = plan_of(program("relu(x)", {{"x", {DType::float32, {3}}}}));
    const OriginPointer n = Origin::of_name("n"), m = Origin::of_name("batch size"), two = Origin::of_constant(-2);
    for (Kind kind :
         {Kind::add, Kind::subtract, Kind::multiply, Kind::floor_divide, Kind::modulo, Kind::minimum, Kind::maximum}) {
        Size size(3, Origin::of(kind, Origin::of(Kind::add, n, two), m));
        plan.input_types[0].shape = plan.buffers[0].sizes = {size};
        auto parsed = parse_plan(source(print(plan)), {});
        ASSERT_TRUE(parsed) << render(parsed.error());
        EXPECT_EQ(parsed->input_types[0].shape[0], size) << size.text();
        EXPECT_EQ(parsed->buffers[0].sizes[0], size);
    }
}

// ---- what is wrong --------------------------------------------------------------------------------------------------

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Wrong {
    const char *from, *to, *code, *line;  // how the line begins that the error points into
};

TEST(PlanText, each_error_has_its_place) {
    heddle::Session session(library());
    std::mt19937 random(1);
    TensorId x = session.add_input("x", {DType::float32, {37, 40}});
    TensorId w = session.add_constant("w", random_data(random, DType::float32, {40, 50}));
    TensorId y = session.apply(*library().find("numpy_matmul").value(), {x, w}, {}, {.names = {"y"}})->front();
    const Graph graph =
        session.finish({session.apply(*library().find("softmax").value(), {y}, {}, {.names = {"z"}})->front()});
    const std::string good = print(plan_of(graph, {.fuse = false}));
    const Constants table = constants(graph);
    ASSERT_TRUE(parse_plan(source(good), table)) << good;
    const Wrong cases[] = {
        {"plan:", "plam:", "schedules.syntax", "plam"},
        {"buffer 1", "buffer 2", "schedules.syntax", "  buffer 2"},
        {"buffer 1", "bufer 1", "schedules.syntax", "  bufer"},
        {"'x' input", "'x input", "schedules.syntax", "  buffer 0"},
        {"'x' input", "'x' given", "schedules.syntax", "  buffer 0"},
        {"float32[37, 40]", "float31[37, 40]", "schedules.syntax", "  input 0"},
        {"float32[37, 40]", "float32[37, -40]", "schedules.syntax", "  input 0"},
        {"float32[37, 40]", "float32[37, n]", "schedules.syntax", "  input 0"},
        {"float32[37, 40]", "float32[37, (n ? 2) = 40]", "schedules.syntax", "  input 0"},
        {"float32[37, 40]", "float32[37, sum(n, 2) = 40]", "schedules.syntax", "  input 0"},
        {"row-major", "row-minor", "schedules.syntax", "  buffer 0"},
        {"row-major", "order 0", "schedules.syntax", "  buffer 0"},
        {"row-major", "row-major margins 2: 1 1", "schedules.syntax", "  buffer 0"},
        {"run 0", "run 1", "schedules.syntax", "  run 1"},
        {" tasks ", " tasks 99999999999999999999 ", "schedules.syntax", "  prepare 0"},
        {"scheduled kernel\n", "scheduled kernel\n      array t: float\n", "schedules.syntax", "      array"},
        {"\"vector_bytes\":", "\"vector_byte\":", "target.unknown_key", "  target"},
        {"target {", "target [", "target.syntax", "  target"},
        {"step $", "step $99", "schedules.tree_index", "  kernel 0"},
        {"'w' constant", "'v' constant", "plan.constant", "  buffer"},
        {"float32[40, 50]", "float32[50, 40]", "plan.constant", "  buffer"},
        {"\"vector_bytes\": ", "\"vector_bytes\": 1", "plan.key", "  kernel 0"},
        {"row-major", "order 0 0", "plan.broken", "  buffer 0"},
        {"float32[37, 40]", "float32[40, 37]", "plan.broken", "  buffer 0"},
        {" bytes row-major", " bytes row-major margins 1: 4611686018427387904 1", "plan.broken", "  buffer 1"},
        {"kernel 1 tasks", "kernel 77 tasks", "plan.broken", "  prepare"},
        {" buffers 0 ", " buffers 99 ", "plan.broken", "  run 0"},
        {" buffers 0 ", " buffers 0 0 ", "plan.broken", "  run 0"},
        {"batches 0..", "batches 1..", "plan.broken", "  run 0"},
        {"plan: ", "plan: 1", "plan.broken", "plan: 1"},
    };
    for (const Wrong& wrong : cases) {
        const auto text = source(replaced(good, wrong.from, wrong.to));
        auto parsed = parse_plan(text, table);
        ASSERT_FALSE(parsed) << wrong.to << "\n" << text->text();
        const Diagnostic& error = parsed.error().front();
        EXPECT_EQ(error.code, wrong.code) << wrong.to << "\n" << render(error) << "\n" << good;
        ASSERT_EQ(error.place.source ? error.place.source->name() : "", "plan") << render(error);
        EXPECT_TRUE(text->line_at(error.place.offset).starts_with(wrong.line))
            << wrong.to << ": " << text->line_at(error.place.offset) << "\n"
            << render(error);
    }
}

// Whatever is lost is noticed: no line of a plan is idle but those that only people read.
TEST(PlanText, a_lost_line_is_noticed) {
    const Graph graph = convolution();
    const std::string good = print(plan_of(graph));
    const Constants table = constants(graph);
    for (size_t begin = 0; begin < good.size();) {
        const size_t end = good.find('\n', begin) + 1;
        const std::string line = good.substr(begin, end - begin);
        auto parsed = parse_plan(source(good.substr(0, begin) + good.substr(end)), table);
        EXPECT_FALSE(parsed && line.find(" fact ") == std::string::npos) << line;
        begin = end;
    }
}

TEST(PlanText, mutated_texts_never_crash) {
    const Graph graph = convolution();
    const std::string good = print(plan_of(graph));
    const Constants table = constants(graph);
    std::mt19937 random(11);
    const std::string bytes = "0123456789 -#'$\\,:[]()=\n{}axn%\x01\xff";
    for (int round = 0; round < 1'500; round++) {
        std::string text = good;
        // The head has all that is the plan's own; trees have their own test.
        const size_t head = text.find("  kernel 0 ");
        for (size_t i = 0; i < 1 + random() % 3; i++) {
            const size_t at = random() % (round % 3 == 0 ? text.size() : head);
            switch (random() % 3) {
            case 0: text[at] = bytes[random() % bytes.size()]; break;
            case 1: text.erase(at, 1 + random() % 8); break;
            default: text.insert(at, 1, bytes[random() % bytes.size()]); break;
            }
        }
        auto parsed = parse_plan(source(text), table);
        if (parsed) {
            EXPECT_TRUE(verify(*parsed));
            EXPECT_TRUE(parse_plan(source(print(*parsed)), table)) << text;
        } else {
            for (const Diagnostic& error : parsed.error()) EXPECT_TRUE(error.place.source) << render(error);
        }
    }
    for (size_t at = 0; at < good.size(); at += 97) EXPECT_FALSE(parse_plan(source(good.substr(0, at)), table));
}

}  // namespace
}  // namespace heddle::plan
