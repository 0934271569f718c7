// Scatters from the library through the whole thread: random graphs around them, fused and unfused, against the
// interpreter; kernels that run once over the terms; in order, whatever the threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "evaluate/evaluate.h"
#include "helpers/codes.h"
#include "helpers/running.h"

namespace heddle::runtime {
namespace {

class RandomGraph {
public:
    explicit RandomGraph(unsigned seed) : random_(seed), session_(library()) {
        const bool elements = pick(2);
        static const char* const joins[] = {"_add", "_mul", "_max", "_min", ""};
        const std::string join = joins[pick(5)];
        const DType dtype = pick(3) ? DType::float32 : DType::int32;
        const int64_t batch = 1 + pick(5), n = 2 + pick(40), inner = pick(2) ? 1 + pick(5) : 40;
        std::vector<int64_t> shape = {batch, n, inner}, ids_shape, updates_shape;
        if (elements) {
            ids_shape = {pick(3) ? batch : 1, 1 + pick(60), pick(3) ? inner : (inner + 1) / 2};
            updates_shape = ids_shape;
        } else {
            const int depth = 1 + pick(2);
            ids_shape = {1 + pick(9), 1 + pick(9), depth};
            updates_shape = {ids_shape[0], ids_shape[1]};
            updates_shape.insert(updates_shape.end(), shape.begin() + depth, shape.end());
        }
        const DType id_type = pick(2) ? DType::int64 : DType::int32;
        TensorId x = input("x", dtype, shape, -40, 40);
        TensorId ids = input("ids", id_type, ids_shape, 0, 1);
        for (int64_t i = 0; i < feeds.back().size(); i++) {
            const int64_t extent = elements ? n : shape[static_cast<size_t>(i % ids_shape.back())];
            feeds.back().set_integer(i, pick(static_cast<int>(2 * extent)) - extent);
        }
        TensorId updates = input("updates", dtype, updates_shape, -40, 40);
        if (pick(2)) updates = call(session_, "add2", {updates, updates});
        if (pick(3) == 0) x = call(session_, "abs", {x});
        std::map<std::string, StaticValue> parameters;
        if (elements) parameters["axis"] = StaticValue::of(int64_t{1});
        TensorId y =
            call(session_, (elements ? "scatter_elements" : "scatter_nd") + join, {x, ids, updates}, parameters);
        if (pick(2)) y = call(session_, "add2", {y, x});
        if (pick(3) == 0) y = call(session_, "reduce_max", {y}, {{"axes", StaticValue::of_integers({pick(3)})}});
        graph = session_.finish({y});
    }

    Graph graph;
    std::vector<TensorData> feeds;

private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    TensorId input(const std::string& name, DType dtype, std::vector<int64_t> shape, int64_t low, int64_t high) {
        TensorData data(dtype, shape);
        for (int64_t i = 0; i < data.size(); i++) {
            const int64_t value = low + pick(static_cast<int>(high - low));
            if (is_float(dtype))
                data.set_real(i, static_cast<double>(value) / 16);
            else
                data.set_integer(i, value);
        }
        feeds.push_back(data);
        return session_.add_input(name, {dtype, {shape.begin(), shape.end()}});
    }

    std::mt19937 random_;
    heddle::Session session_;
};

void expect_near(const TensorData& found, const TensorData& wanted) {
    ASSERT_EQ(found.shape(), wanted.shape());
    for (int64_t i = 0; i < wanted.size(); i++) {
        if (!is_float(wanted.dtype())) {
            ASSERT_EQ(found.integer_at(i), wanted.integer_at(i)) << "element " << i;
            continue;
        }
        const double a = found.real_at(i), b = wanted.real_at(i);
        ASSERT_TRUE(a == b || std::abs(a - b) <= 1e-5 * std::max(1.0, std::abs(b)))
            << "element " << i << ": " << a << " instead of " << b;
    }
}

TEST(Scatters, random_graphs_fused_and_unfused_are_as_interpreted) {
    for (unsigned seed = 0; seed < 24; seed++) {
        RandomGraph random(seed);
        SCOPED_TRACE(std::to_string(seed) + "\n" + print(random.graph));
        auto wanted = evaluate_graph(random.graph, random.feeds, Precision::body);
        ASSERT_TRUE(wanted) << render(wanted.error());
        const auto output = static_cast<size_t>(random.graph.outputs[0]);
        for (bool fuse : {true, false}) {
            auto executable = compiled(plan_of(random.graph, {.fuse = fuse}));
            ASSERT_TRUE(executable);
            for (int threads : {1, 3}) {
                Session session(executable, std::make_shared<ThreadPool>(threads));
                auto found = session.run(random.feeds);
                ASSERT_TRUE(found) << render(found.error());
                ASSERT_NO_FATAL_FAILURE(expect_near((*found)[0], (*wanted)[output])) << (fuse ? "fused" : "unfused");
            }
        }
    }
}

// An index outside is an error of every scatter, fused or not, and interpreted.
TEST(Scatters, indices_outside_are_errors) {
    for (const char* join : {"", "_add", "_mul", "_max", "_min"}) {
        for (bool elements : {false, true}) {
            heddle::Session session(library());
            TensorId x = session.add_input("x", {DType::float32, {6, 4}});
            TensorId ids =
                session.add_input("ids", {DType::int64, elements ? std::vector<Size>{3, 4} : std::vector<Size>{3, 2}});
            TensorId updates = session.add_input(
                "updates", {DType::float32, elements ? std::vector<Size>{3, 4} : std::vector<Size>{3}});
            const std::string name = std::string(elements ? "scatter_elements" : "scatter_nd") + join;
            Graph graph = session.finish({call(session, name, {x, ids, updates})});
            SCOPED_TRACE(name);
            std::vector<TensorData> feeds;
            for (TensorId input : graph.inputs)
                feeds.emplace_back(graph.tensor(input).type.dtype, graph.tensor(input).type.extents());
            for (int64_t wrong : {6, -7, 1'000'000, 5, -6}) {  // the last two are inside
                feeds[1].set_integer(2, wrong);
                const bool inside = wrong == 5 || wrong == -6;
                EXPECT_EQ(evaluate_graph(graph, feeds, Precision::body).has_value(), inside) << wrong;
                for (bool fuse : {true, false}) {
                    auto executable = compiled(plan_of(graph, {.fuse = fuse}));
                    ASSERT_TRUE(executable);
                    auto found = Session(executable, std::make_shared<ThreadPool>(2)).run(feeds);
                    ASSERT_EQ(found.has_value(), inside) << wrong;
                    if (!inside) {
                        EXPECT_EQ(codes(found), Codes{"runtime.index_out_of_range"});
                    }
                }
            }
        }
    }
}

Graph add_graph(int64_t elements, int64_t terms) {
    heddle::Session session(library());
    TensorId x = session.add_input("x", {DType::float32, {elements}});
    TensorId ids = session.add_input("ids", {DType::int64, {terms, 1}});
    TensorId updates = session.add_input("updates", {DType::float32, {terms}});
    return session.finish({call(session, "scatter_nd_add", {x, ids, updates})});
}

// 200,000 terms into 300,000 elements: element by element this would be 6e10 steps.
TEST(Scatters, are_linear_and_need_no_memory) {
    const int64_t elements = 300000, terms = 200000;
    auto plan = plan::make_plan(add_graph(elements, terms), detect_host());
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->launches(), 1);
    EXPECT_EQ(plan->workspace_bytes, 0);
    EXPECT_LE(plan->scratch_bytes, 64);
    auto executable = compiled(plan_of(add_graph(elements, terms)));
    ASSERT_TRUE(executable);
    TensorData x(DType::float32, {elements}), ids(DType::int64, {terms, 1}), updates(DType::float32, {terms});
    for (int64_t t = 0; t < terms; t++) {
        ids.set_integer(t, t * 7919 % elements - (t % 2) * elements);
        updates.set_real(t, 1);
    }
    Session session(executable, std::make_shared<ThreadPool>(2));
    auto found = session.run({x, ids, updates});
    ASSERT_TRUE(found);
    double sum = 0;
    for (int64_t e = 0; e < elements; e++) sum += (*found)[0].real_at(e);
    EXPECT_EQ(sum, terms);
}

// Elements added to a product at places that are data, and rows put into it at a place that is data.
Graph in_place_graph(bool append, bool read_later, bool input) {
    heddle::Session session(library());
    TensorId a = session.add_input("a", {DType::float32, {200, 300}});
    TensorId w = session.add_input("w", {DType::float32, {300, 300}});
    TensorId old = input ? a : call(session, "numpy_matmul", {a, w});
    std::vector<TensorId> outputs;
    if (append) {
        TensorId rows = session.add_input("rows", {DType::float32, {20, 300}});
        TensorId place = session.add_input("place", {DType::int64, {}});
        outputs = {call(session, "cache_append", {old, rows, place})};
    } else {
        TensorId ids = session.add_input("ids", {DType::int64, {1, 20, 2}});
        TensorId updates = session.add_input("updates", {DType::float32, {1, 20}});
        // The updates need all of the old values: whoever makes these is another kernel.
        TensorId greatest = call(session, "reduce_max", {call(session, "numpy_matmul", {old, w})},
                                 {{"axes", StaticValue::of_integers({0, 1})}});
        outputs = {call(session, "scatter_nd_add", {old, ids, call(session, "add2", {updates, greatest})})};
    }
    if (read_later) outputs.push_back(old);
    return session.finish(outputs);
}

std::vector<TensorData> in_place_feeds(const Graph& graph) {
    std::vector<TensorData> feeds;
    std::mt19937 random(5);
    for (TensorId t : graph.inputs) {
        TensorData data(graph.tensor(t).type.dtype, graph.tensor(t).type.extents());
        for (int64_t i = 0; i < data.size(); i++) {
            if (is_float(data.dtype()))
                data.set_real(i, static_cast<double>(random() % 17) / 4 - 2);
            else
                data.set_integer(i, static_cast<int64_t>(random() % 190));
        }
        feeds.push_back(data);
    }
    return feeds;
}

// How many launches of the plan both read and write one buffer.
int updating_launches(const plan::Plan& plan) {
    int count = 0;
    for (const auto& batch : plan.run) {
        for (const auto& launch : batch) {
            for (const auto& memory : plan.trees[static_cast<size_t>(launch.tree)]->memories)
                count += memory.kind == schedules::Memory::Kind::in_out;
        }
    }
    return count;
}

TEST(Scatters, update_in_place_what_dies_there_and_copy_what_does_not) {
    for (bool append : {false, true}) {
        for (bool read_later : {false, true}) {
            for (bool input : {false, true}) {
                for (bool fuse : {true, false}) {
                    SCOPED_TRACE(
                        fmt::format("append {}, read later {}, input {}, fused {}", append, read_later, input, fuse));
                    const Graph graph = in_place_graph(append, read_later, input);
                    auto plan = plan::make_plan(graph, detect_host(), {.fuse = fuse});
                    ASSERT_TRUE(plan) << render(plan.error());
                    EXPECT_TRUE(plan->notes.empty()) << render(plan->notes);
                    const bool in_place = !read_later && !input;
                    // Fused, a block may be put into a product by the product's kernel, which needs no old values;
                    // unfused, a scatter has a tensor of its own, which is then added.
                    if (append != fuse) {
                        EXPECT_EQ(updating_launches(*plan), in_place) << plan::print(*plan);
                    }
                    auto executable = compiled(plan_of(graph, {.fuse = fuse}));
                    ASSERT_TRUE(executable);
                    const auto feeds = in_place_feeds(graph);
                    auto wanted = evaluate_graph(graph, feeds, Precision::body);
                    Session session(executable, std::make_shared<ThreadPool>(2));
                    auto found = session.run(feeds);
                    ASSERT_TRUE(found && wanted);
                    for (size_t o = 0; o < graph.outputs.size(); o++)
                        ASSERT_NO_FATAL_FAILURE(
                            expect_near((*found)[o], (*wanted)[static_cast<size_t>(graph.outputs[o])]));
                }
            }
        }
    }
}

}  // namespace
}  // namespace heddle::runtime
