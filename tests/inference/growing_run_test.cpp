// Results that grow in the memory of inputs which were results before: what programs give whose results have memory of their own,
// whoever hands back what.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "helpers/codes.h"
#include "helpers/running.h"
#include "inference/program_cache.h"
#include "plan/instantiate.h"
#include "plan/numbers.h"
#include "zspace/size_facts.h"

namespace heddle::inference {
namespace {

constexpr int64_t heads = 4, width = 16;

// One step of a decoder: what it sees is its cache and what is new.
Graph step_at(int64_t past, int64_t tokens) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    Session s(library());
    const Size n = named_size("past", past), t = named_size("tokens", tokens);
    const auto input = [&](const char* name, std::vector<Size> shape) {
        return s.add_input(name, {DType::float32, std::move(shape)});
    };
    const TensorId x = input("x", {heads, t, width});
    const TensorId weights = s.add_constant("w", random_tensor({width, width}, 1));
    const auto longer = [&](TensorId begin, TensorId more) {
        return call(s, "concat", {{std::vector{begin, more}}}, {{"axis", StaticValue::of(1)}});
    };
    const TensorId keys = longer(input("keys", {heads, n, width}), call(s, "numpy_matmul", {x, weights}));
    const TensorId values = longer(input("values", {heads, n, width}), x);
    const TensorId scores = call(
        s, "numpy_matmul", {x, call(s, "transpose", {keys}, {{"perm", StaticValue::of_integers({0, 2, 1})}})});
    Graph graph = s.finish({call(s, "numpy_matmul", {call(s, "softmax", {scores}), values}), keys, values});
    graph.dimension_names = {{"past", past}, {"tokens", tokens}};
    graph.facts = std::move(facts);
    return graph;
}

bool same(const TensorData& a, const TensorData& b) { return a.shape() == b.shape() && same_value(a, b); }

double difference(const TensorData& a, const TensorData& b) {
    double most = a.shape() == b.shape() ? 0 : INFINITY;
    for (int64_t i = 0; i < std::min(a.size(), b.size()); i++) most = std::max(most, std::abs(a.real_at(i) - b.real_at(i)));
    return most;
}

// Runs both ways, and compares.
class Decoder {
public:
    Decoder() : growing_(engine_), alone_(engine_) {}

    // The keys and values behind these and `tokens` more.
    std::pair<Value, Value> step(const Value& keys, const Value& values, int64_t tokens, uint64_t seed) {
        const Value x = Value::of(random_tensor({heads, tokens, width}, seed));
        const Specialise made = [](const std::vector<TensorData>& inputs, Progress*) {
            return Result<Graph>(step_at(inputs[1].shape()[1], inputs[0].shape()[1]));
        };
        const std::vector<Value> inputs = {x, keys, values};
        const auto wanted = alone_.run("", *tensors_of(inputs), made);
        auto found = growing_.run(inputs, true, made);
        EXPECT_TRUE(wanted && found);
        const auto tensors = tensors_of(*found);
        EXPECT_LE(difference((*wanted)[0], (*tensors)[0]), 1e-5) << "sums may be in another order: elements lie elsewhere";
        for (size_t o : {1, 2}) EXPECT_TRUE(same((*wanted)[o], (*tensors)[o])) << o << " of " << tokens << " tokens, " << seed;
        return {(*found)[1], (*found)[2]};
    }
    size_t compiled() const { return growing_.compiled(); }

private:
    std::shared_ptr<Engine> engine_ = make_engine(2);
    ProgramCache growing_, alone_;
};

Value cache_of(int64_t length, uint64_t seed) { return Value::of(random_tensor({heads, length, width}, seed)); }

TEST(GrowingRun, what_is_handed_back_grows_where_it_lies) {
    Decoder decoder;
    Value keys = cache_of(16, 1), values = cache_of(16, 2);
    std::set<const void*> memories;
    for (uint64_t i = 0; i < 60; i++) {
        std::tie(keys, values) = decoder.step(keys, values, 1, 10 + i);
        ASSERT_TRUE(keys.growing && values.growing);
        EXPECT_EQ(keys.growing->length, static_cast<int64_t>(17 + i));
        memories.insert(keys.growing->memory.get());
    }
    EXPECT_LE(memories.size(), 4u) << "capacities: 33, 50, 75, 113";
    EXPECT_EQ(decoder.compiled(), 1u);
}

TEST(GrowingRun, whoever_has_a_shorter_one_keeps_it) {
    Decoder decoder;
    const auto [keys, values] = decoder.step(cache_of(20, 1), cache_of(20, 2), 2, 3);
    const TensorData before = keys.growing->dense();
    const auto first = decoder.step(keys, values, 1, 4);
    const auto second = decoder.step(keys, values, 1, 5);
    const auto further = decoder.step(first.first, first.second, 3, 6);
    EXPECT_EQ(first.first.growing->memory, keys.growing->memory);
    EXPECT_NE(second.first.growing->memory, keys.growing->memory) << "another has the places";
    EXPECT_EQ(further.first.growing->memory, keys.growing->memory);
    EXPECT_TRUE(same(before, keys.growing->dense()));
    // A shorter one that nobody was given, one memory for two inputs, one of them in memory of its own.
    const Value begin = Value::of_growing({keys.growing->memory, 18});
    decoder.step(begin, begin, 1, 7);
    decoder.step(keys, keys, 1, 8);
    decoder.step(second.first, Value::of(second.second.growing->dense()), 1, 9);
    EXPECT_TRUE(same(before, keys.growing->dense()));
}

TEST(GrowingRun, lengths_of_all_kinds) {
    Decoder decoder;
    for (int64_t length : {0, 1, 3, 15, 16, 255}) {
        auto [keys, values] = decoder.step(cache_of(length, 1), cache_of(length, 2), 5, 3);
        for (int64_t tokens : {1, 30, 2}) std::tie(keys, values) = decoder.step(keys, values, tokens, 4);
    }
}

TEST(GrowingRun, lists_are_refused) {
    ProgramCache programs(make_engine(1));
    const auto found = programs.run({Value::of_list({})}, true, [](const auto&, Progress*) { return Result<Graph>(step_at(4, 1)); });
    EXPECT_EQ(codes(found), Codes{"onnx.step"});
}

// ---- plans

plan::Plan growing_plan(int64_t past = 20, int64_t tokens = 1) { return plan_of(step_at(past, tokens), {.grow = true}); }

TEST(Growth, plans_copy_nothing_and_hold_for_other_lengths) {
    plan::Plan plan = growing_plan();
    EXPECT_EQ(plan.growths, (std::vector<plan::Growth>{{1, 1, 1}, {2, 2, 1}}));
    ASSERT_EQ(plan.capacity, "capacity");
    EXPECT_EQ(plan.names.at("capacity"), 37);
    // Values are copied, keys are computed; neither is read to be copied.
    for (const plan::Batch& batch : plan.run) {
        for (const plan::Launch& launch : batch) {
            const bool writes_keys = launch.name.find("concat") != std::string::npos;
            for (int32_t b : launch.buffers) {
                const plan::Buffer& buffer = plan.buffers[static_cast<size_t>(b)];
                if (writes_keys) EXPECT_FALSE(buffer.kind == plan::Buffer::Kind::input && buffer.index > 0) << launch.name;
            }
        }
    }
    const std::vector<TensorData> inputs = {TensorData(DType::float32, {heads, 1, width}), TensorData(DType::float32, {heads, 33, width}),
                                            TensorData(DType::float32, {heads, 33, width})};
    plan::Numbers numbers(plan);
    EXPECT_EQ(numbers.capacity, 37);
    ASSERT_TRUE(plan::SizedPlan(plan).resize(numbers, inputs, {}, [](int64_t longest) { return longest + 17; }));
    EXPECT_EQ(numbers.capacity, 51);
    EXPECT_FALSE(plan::SizedPlan(plan).resize(numbers, inputs, {}, [](int64_t longest) { return longest - 1; }));
    ASSERT_TRUE(plan::instantiate(plan, numbers.names));
    EXPECT_EQ(plan::Numbers(plan), numbers);
    EXPECT_EQ(plan.capacity_of(plan.growths[0]).number(), 51);
    EXPECT_TRUE(verify(plan));
}

TEST(Growth, texts_come_back) {
    const plan::Plan plan = growing_plan();
    const auto constants = plan::constants_of(step_at(20, 1));
    ASSERT_TRUE(constants);
    const auto parsed = plan::parse_plan(std::make_shared<SourceText>("plan", print(plan)), *constants);
    ASSERT_TRUE(parsed) << render(parsed.error());
    EXPECT_EQ(print(*parsed), print(plan));
    EXPECT_EQ(parsed->growths, plan.growths);
    EXPECT_NE(summary(plan).find("grows behind input 'keys' along dimension 1\n"), std::string::npos) << summary(plan);
}

TEST(Growth, a_name_of_the_model_is_not_taken) {
    Graph graph = step_at(20, 1);
    graph.dimension_names["capacity"] = 5;
    EXPECT_EQ(plan_of(graph, {.grow = true}).capacity, "capacity'");
}

TEST(Growth, only_what_may_be_handed_back_grows) {
    const auto growths = [](const std::function<std::vector<TensorId>(Session&, const Size&)>& build) {
        SizeFacts facts;
        const RecordingFacts recording(facts);
        Session session(library());
        Graph graph = session.finish(build(session, named_size("n", 20)));
        graph.dimension_names = {{"n", 20}};
        graph.facts = std::move(facts);
        return plan_of(graph, {.grow = true}).growths;
    };
    const auto joined = [](Session& s, TensorId a, TensorId b) {
        return call(s, "concat", {{std::vector{a, b}}}, {{"axis", StaticValue::of(0)}});
    };
    const auto input = [](Session& s, const char* name, const Size& rows) {
        return s.add_input(name, {DType::float32, {rows, 8}});
    };
    using Outputs = std::vector<TensorId>;
    EXPECT_EQ(growths([&](Session& s, const Size& n) -> Outputs { return {joined(s, input(s, "x", n), input(s, "y", 1))}; }).size(), 1u);
    // Behind something else; of a fixed size; twice the same; of one input two.
    EXPECT_TRUE(growths([&](Session& s, const Size& n) -> Outputs { return {joined(s, input(s, "y", 1), input(s, "x", n))}; }).empty());
    EXPECT_TRUE(growths([&](Session& s, const Size&) -> Outputs { return {joined(s, input(s, "x", 4), input(s, "y", 1))}; }).empty());
    EXPECT_TRUE(growths([&](Session& s, const Size& n) -> Outputs {
                    const TensorId one = joined(s, input(s, "x", n), input(s, "y", 1));
                    return {one, one};
                }).empty());
    EXPECT_EQ(growths([&](Session& s, const Size& n) -> Outputs {
                  const TensorId x = input(s, "x", n);
                  return {joined(s, x, input(s, "y", 1)), joined(s, x, input(s, "z", 2))};
              }).size(),
              1u);
}

TEST(Growth, damage_is_noticed) {
    const auto broken = [](const std::function<void(plan::Plan&)>& damage) {
        plan::Plan plan = growing_plan();
        damage(plan);
        return codes(verify(plan));
    };
    EXPECT_TRUE(verify(growing_plan()));
    const Codes wrong = {"plan.broken"};
    EXPECT_EQ(broken([](plan::Plan& plan) { plan.growths[0].input = 2; }), wrong);
    EXPECT_EQ(broken([](plan::Plan& plan) { plan.growths[0].output = 0; }), wrong);
    EXPECT_EQ(broken([](plan::Plan& plan) { plan.growths[0].dimension = 2; }), wrong);
    EXPECT_EQ(broken([](plan::Plan& plan) { plan.growths[0].dimension = 9; }), wrong);
    EXPECT_EQ(broken([](plan::Plan& plan) { plan.growths.pop_back(); }), wrong) << "an output that lies apart";
    EXPECT_EQ(broken([](plan::Plan& plan) {
                  for (plan::Buffer& buffer : plan.buffers) {
                      if (buffer.kind != plan::Buffer::Kind::output || buffer.index != 2) continue;
                      buffer.storage.room[1] += 1;
                      buffer.bytes = buffer.storage.elements() * 4;
                  }
              }),
              wrong)
        << "of other places than the others have";
    // An input that nothing reads has no buffer; one that something reads lies as its output does.
    const auto read = [](const std::function<void(plan::Buffer&)>& damage) {
        SizeFacts facts;
        const RecordingFacts recording(facts);
        Session s(library());
        const TensorId x = s.add_input("x", {DType::float32, {3, named_size("n", 20), 4}});
        const TensorId y = s.add_input("y", {DType::float32, {3, 1, 4}});
        const TensorId longer = call(s, "concat", {{std::vector{x, y}}}, {{"axis", StaticValue::of(1)}});
        Graph graph = s.finish({longer, call(s, "relu", {x})});
        graph.dimension_names = {{"n", 20}};
        graph.facts = std::move(facts);
        plan::Plan plan = plan_of(graph, {.grow = true});
        for (plan::Buffer& buffer : plan.buffers) {
            if (buffer.kind == plan::Buffer::Kind::input && buffer.index == 0) damage(buffer);
        }
        return codes(verify(plan));
    };
    EXPECT_EQ(read([](plan::Buffer& buffer) { EXPECT_TRUE(buffer.storage.has_room()); }), Codes{});
    EXPECT_EQ(read([](plan::Buffer& buffer) {
                  buffer.storage.room[1] += 1;
                  buffer.bytes = buffer.storage.elements() * 4;
              }),
              wrong);
}

}  // namespace
}  // namespace heddle::inference
