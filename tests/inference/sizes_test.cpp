// One program for many sizes: a plan that was made for one and has another's numbers computes what the plan made there does.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "helpers/running.h"
#include "inference/program_cache.h"
#include "plan/class_proof.h"
#include "plan/instantiate.h"
#include "zspace/size_facts.h"

namespace heddle::inference {
namespace {

using Names = std::map<std::string, int64_t>;

// What builds a graph over the names n and m.
struct Program {
    std::string name;
    std::function<std::vector<TensorId>(Session&, const Size& n, const Size& m)> build;
    int64_t multiple = 1;  // of sizes: what halves them reads its margins at some remainders and not at others
    size_t plans = 0;      // of all sizes of one class; 0: not counted
    size_t unproved = 0;   // what of a plan nobody proves for its class
};

StaticValue list(std::vector<int64_t> values) { return StaticValue::of_integers(std::move(values)); }

TensorId input(Session& session, const std::string& name, std::vector<Size> shape) {
    return session.add_input(name, {DType::float32, std::move(shape)});
}

TensorId onnx(Session& session, const std::string& name, const std::vector<Argument>& inputs,
              const std::map<std::string, StaticValue>& parameters = {}) {
    const auto found = library().find_onnx("", name, 19);
    EXPECT_TRUE(found) << name;
    auto made = session.apply(**found, inputs, parameters);
    EXPECT_TRUE(made) << name << (made ? "" : render(made.error()));
    return made ? made->front() : TensorId(0);
}

TensorId as(Session& session, TensorId x, DType dtype) { return call(session, "cast", {x}, {{"to", StaticValue::of(dtype)}}); }

TensorId constant(Session& session, std::vector<double> values) {
    TensorData data(DType::float32, {std::ssize(values)});
    for (int64_t i = 0; i < data.size(); i++) data.set_real(i, values[static_cast<size_t>(i)]);
    return session.add_constant("c", std::move(data));
}

// An image to the sizes of another one, and what runtimes compute it by.
TensorId resized(Session& s, TensorId x, const Size& height, const Size& width, const std::string& mode, const std::string& places) {
    const TensorId sizes = s.add_sizes("sizes", {1, 2, height, width});
    return onnx(s, "Resize", {x, {}, {}, sizes}, {{"mode", StaticValue::of(mode)}, {"coordinate_transformation_mode", StaticValue::of(places)}});
}

const std::vector<Program>& programs() {
    static const std::vector<Program> all = {
        {"two products",
         [](Session& s, const Size& n, const Size&) -> std::vector<TensorId> {
             const TensorId h = call(s, "numpy_matmul", {input(s, "x", {n, 40}), s.add_constant("w1", random_tensor({40, 70}, 1))});
             return {call(s, "numpy_matmul", {call(s, "relu", {h}), s.add_constant("w2", random_tensor({70, 30}, 2))})};
         }},
        {"attention over a cache that grows",
         [](Session& s, const Size& n, const Size&) -> std::vector<TensorId> {
             const TensorId q = input(s, "q", {4, 1, 16});
             const TensorId keys = call(s, "concat", {{std::vector{input(s, "k", {4, n, 16}), input(s, "k_new", {4, 1, 16})}}}, {{"axis", StaticValue::of(1)}});
             const TensorId values = call(s, "concat", {{std::vector{input(s, "v", {4, n, 16}), input(s, "v_new", {4, 1, 16})}}}, {{"axis", StaticValue::of(1)}});
             const TensorId scores = call(s, "numpy_matmul", {q, call(s, "transpose", {keys}, {{"perm", list({0, 2, 1})}})});
             return {call(s, "numpy_matmul", {call(s, "softmax", {scores}), values}), keys, values};
         }},
        {"softmax along both",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {n, m});
             return {call(s, "softmax", {x}), call(s, "softmax", {x}, {{"axis", StaticValue::of(0)}})};
         }},
        {"norm and mean",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {n, m, 24});
             const TensorId y = call(s, "layer_norm", {x, s.add_constant("scale", random_tensor({24}, 3))});
             return {y, call(s, "reduce_mean", {y}, {{"axes", list({1})}}), call(s, "reduce_mean", {x}, {{"axes", list({0, 2})}})};
         }},
        {"convolution and pool",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {1, 3, n, m});
             const TensorId y = call(s, "conv", {x, s.add_constant("w", random_tensor({8, 3, 3, 3}, 4))}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 2})}});
             return {call(s, "max_pool", {call(s, "relu", {y})}, {{"kernel", list({2, 2})}, {"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}})};
         },
         4},
        {"steps of two, twice",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const auto halved = [&](TensorId x, const char* name, std::vector<int64_t> shape) {
                 return call(s, "relu", {call(s, "conv", {x, s.add_constant(name, random_tensor(shape, 4))}, {{"pads", list({1, 1, 1, 1})}, {"strides", list({2, 2})}})});
             };
             return {halved(halved(input(s, "x", {1, 3, n, m}), "v", {8, 3, 3, 3}), "w", {16, 8, 3, 3})};
         },
         1, 1},
        {"moved about",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {n, m, 6});
             const TensorId flat = call(s, "reshape_to", {call(s, "transpose", {x})}, {{"shape", StaticValue::of(StaticValue::List{StaticValue::of(6), StaticValue::of(m * n)})}});
             return {flat, call(s, "pad", {x}, {{"pads", list({2, 1, 0, 1, 3, 0})}, {"mode", StaticValue::of("reflect")}}),
                     call(s, "slice", {x}, {{"starts", list({1, -3})}, {"ends", list({1000, 1000})}, {"axes", list({0, 1})}})};
         },
         1, 0, 4},  // digits of a size, and places that are mirrored round a size
        {"sums along",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             return {call(s, "cumsum", {input(s, "x", {m, n})}, {{"axis", StaticValue::of(1)}})};
         }},
        {"parts beside one another",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId a = input(s, "a", {n, 10}), b = input(s, "b", {m, 10});
             const TensorId all = call(s, "concat", {{std::vector{a, b, a}}}, {{"axis", StaticValue::of(0)}});
             return {all, call(s, "reduce_sum", {all}, {{"axes", list({0})}})};
         }},
        {"sizes halved and divided as floats",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId sizes = as(s, s.add_sizes("sizes", {n, m}), DType::float32);
             const TensorId halves = as(s, call(s, "floor", {call(s, "mul", {sizes, constant(s, {0.5, 2})})}), DType::int64);
             const TensorId thirds = as(s, call(s, "ceil", {call(s, "div", {sizes, constant(s, {3, 2})})}), DType::int64);
             const TensorId x = input(s, "x", {1, 1}), other = call(s, "relu", {input(s, "z", {n, m})});
             return {call(s, "exp", {onnx(s, "Expand", {x, halves})}), call(s, "exp", {onnx(s, "Expand", {x, thirds})}), other};
         },
         1, 1},
        {"a range of floats",
         [](Session& s, const Size& n, const Size&) -> std::vector<TensorId> {
             const TensorId end = call(s, "reshape_to", {as(s, s.add_sizes("n", {n}), DType::float32)}, {{"shape", list({})}});
             const auto number = [&](double value) { return call(s, "reshape_to", {constant(s, {value})}, {{"shape", list({})}}); };
             const TensorId places = call(s, "add", {onnx(s, "Range", {number(0), end, number(1)}), constant(s, {0.5})});
             return {call(s, "mul", {places, input(s, "x", {3, n})})};
         },
         1, 1},
        {"the places of the greatest",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {n, m});
             return {onnx(s, "ArgMax", {x}, {{"axis", StaticValue::of(0)}}), onnx(s, "ArgMin", {x}, {{"axis", StaticValue::of(1)}}),
                     onnx(s, "ArgMax", {call(s, "reshape", {x, s.add_sizes("flat", {-1})})}, {{"axis", StaticValue::of(0)}})};
         },
         1, 1},
        {"roots of sizes",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId root = call(s, "sqrt", {as(s, s.add_sizes("sizes", {n * m}), DType::float32)});
             return {call(s, "div", {input(s, "x", {n, m}), root})};
         },
         1, 1},
        {"places between elements",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {1, 40, n, 24});  // so much that its windows are looked at
             const auto by = [](double height, double width) {
                 return StaticValue::of(StaticValue::List{StaticValue::of(1.0), StaticValue::of(1.0), StaticValue::of(height), StaticValue::of(width)});
             };
             return {call(s, "resize_linear", {x}, {{"scales", by(2, 2)}}), call(s, "resize_linear", {x}, {{"scales", by(1.5, 0.5)}}),
                     call(s, "resize_cubic", {x}, {{"scales", by(2, 1)}}), call(s, "resize_nearest", {input(s, "z", {1, 2, m, 8})}, {{"scales", by(1.5, 1)}})};
         },
         1, 1},
        {"what several levels of an image find, side by side",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {1, 6, n, m});
             const TensorId half = call(s, "max_pool", {x}, {{"kernel", list({2, 2})}, {"strides", list({2, 2})}, {"ceil_mode", StaticValue::of(1)}});
             const auto flat = [&](TensorId level) { return call(s, "reshape", {level, s.add_sizes("flat", {0, 0, -1})}); };
             const TensorId all = call(s, "concat", {{std::vector{flat(call(s, "relu", {x})), flat(half)}}}, {{"axis", StaticValue::of(2)}});
             return {call(s, "exp", {all}), call(s, "sigmoid", {call(s, "slice", {all}, {{"starts", list({4})}, {"ends", list({6})}, {"axes", list({1})}})})};
         },
         2, 0},
        {"an image to the size of another one",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {1, 2, n, 24});
             const TensorId other = call(s, "relu", {input(s, "z", {m, 2})});
             return {other, resized(s, x, m, n + 3, "linear", "half_pixel"), resized(s, x, 2 * n, m, "linear", "align_corners"),
                     resized(s, x, m, m, "nearest", "asymmetric"), resized(s, x, n, m, "cubic", "pytorch_half_pixel")};
         },
         1, 4},
        {"sums of what stands before, places by narrow indices, and a block in a cache",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {n, 6});
             TensorData places(DType::int8, {3});
             for (int64_t i = 0; i < 3; i++) places.set_integer(i, 2 - i);
             const TensorId at = s.add_constant("at", std::move(places));
             return {call(s, "cumsum", {x}, {{"axis", StaticValue::of(0)}, {"exclusive", StaticValue::of(true)}}),
                     call(s, "gather", {x, at}, {{"axis", StaticValue::of(0)}}),
                     call(s, "pad", {input(s, "z", {m, 5})}, {{"pads", list({2, 1, 0, 1})}})};
         },
         1, 2},
        {"pools that end at any remainder",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const auto pooled = [&](TensorId x) {
                 return call(s, "relu", {call(s, "max_pool", {x}, {{"kernel", list({3, 3})}, {"strides", list({2, 2})}, {"ceil_mode", StaticValue::of(1)}})});
             };
             return {pooled(pooled(call(s, "relu", {input(s, "x", {1, 4, n, m})})))};
         },
         1, 1, 4},  // rows of a task, counted from its first one
        {"products along an open size, and where the greatest of windows stand",
         [](Session& s, const Size& n, const Size& m) -> std::vector<TensorId> {
             const TensorId x = input(s, "x", {7, n}), w = input(s, "w", {n, 5});
             const auto pooled = s.apply(**library().find("max_pool"), {input(s, "z", {2, m, 9, 12})}, {{"kernel", list({2, 2})}});
             return {call(s, "matmul", {x, w}), pooled->at(0), pooled->at(1)};
         },
         1, 1},
    };
    return all;
}

// The graph at these sizes, with what the sizes have decided.
Result<Graph> graph_at(const Program& program, const Names& names) {
    SizeFacts facts;
    const RecordingFacts recording(facts);
    Session session(library());
    std::vector<TensorId> outputs =
        program.build(session, named_size("n", names.at("n")), named_size("m", names.at("m")));
    Graph graph = session.finish(std::move(outputs));
    graph.dimension_names = names;
    graph.facts = std::move(facts);
    return graph;
}

std::vector<TensorData> inputs_of(const Graph& graph, uint64_t seed) {
    std::vector<TensorData> inputs;
    for (TensorId id : graph.inputs) inputs.push_back(random_tensor(numbers_of(graph.tensor(id).type.shape), seed++));
    return inputs;
}

class Sizes : public testing::TestWithParam<size_t> {};

TEST_P(Sizes, one_program_computes_what_those_for_each_size_do) {
    const Program& program = programs()[GetParam()];
    const auto engine = make_engine(2);
    ProgramCache generic(engine);
    std::mt19937 random(7);
    constexpr int count = 24;
    for (int i = 0; i < count; i++) {
        // Within a class, at its ends, and small ones.
        const auto size = [&] {
            constexpr int64_t ends[] = {3, 4, 15, 16, 63, 64};
            const int64_t any = random() % 4 == 0 ? ends[random() % 6] : 16 + static_cast<int64_t>(random() % 48);
            return (any + program.multiple - 1) / program.multiple * program.multiple;
        };
        const Names names = {{"n", size()}, {"m", size()}};
        const auto graph = graph_at(program, names);
        ASSERT_TRUE(graph);
        const std::vector<TensorData> inputs = inputs_of(*graph, 100 + static_cast<uint64_t>(i));
        const Specialise specialise = [&](const auto&, Progress*) { return graph_at(program, names); };
        const auto found = generic.run("", inputs, specialise);
        ASSERT_TRUE(found) << program.name << render(found.error());
        ProgramCache alone(engine);
        const auto wanted = alone.run("", inputs, specialise);
        ASSERT_TRUE(wanted) << program.name << render(wanted.error());
        ASSERT_EQ(found->size(), wanted->size());
        for (size_t o = 0; o < wanted->size(); o++) {
            ASSERT_EQ((*found)[o].shape(), (*wanted)[o].shape()) << program.name;
            EXPECT_EQ(std::memcmp((*found)[o].data(), (*wanted)[o].data(), static_cast<size_t>((*wanted)[o].byte_size())), 0)
                << program.name << " output " << o << " at n = " << names.at("n") << ", m = " << names.at("m");
        }
    }
    EXPECT_LE(generic.compiled(), size_t{count} / 2) << program.name << ": hardly one holds for another size";
}

TEST_P(Sizes, an_instantiated_plan_is_sound) {
    const Program& program = programs()[GetParam()];
    const auto graph = graph_at(program, {{"n", 40}, {"m", 48}});
    ASSERT_TRUE(graph);
    plan::Plan plan = plan_of(*graph);
    ASSERT_TRUE(plan.facts);
    int held = 0;
    std::set<std::string> broken;  // by what it does not hold
    for (int64_t n = 16; n < 64; n += 5 * program.multiple) {
        for (int64_t m = program.multiple == 1 ? 17 : 20; m < 64; m += 9 * program.multiple) {
            const Names names = {{"n", n}, {"m", m}};
            if (const SizeFact* fact = plan.facts->broken_by(names)) {
                broken.insert(fact->text());
                continue;
            }
            ASSERT_TRUE(plan::instantiate(plan, names));
            const auto sound = verify(plan);
            EXPECT_TRUE(sound) << program.name << " at n = " << n << ", m = " << m << render(sound.error());
            held++;
        }
    }
    EXPECT_GT(held, 0) << program.name << ": " << testing::PrintToString(broken);
}

// Without any other size: what `verify` sees for one follows for all.
TEST_P(Sizes, a_plan_is_proved_for_its_class) {
    const Program& program = programs()[GetParam()];
    const auto graph = graph_at(program, {{"n", 40}, {"m", 48}});
    ASSERT_TRUE(graph);
    plan::Plan plan = plan_of(*graph);
    const plan::ClassProof proof = plan::prove_class(plan);
    EXPECT_GT(proof.statements, 10);
    EXPECT_LE(proof.unproved.size(), program.unproved) << program.name << ": of " << proof.statements << ", as "
                                                       << testing::PrintToString(proof.unproved);
    // Numbers that are right here alone.
    int noticed = 0, spoilt = 0;
    const auto spoil = [&](Size& size) {
        if (!size.named()) return;
        const Size before = size;
        size = size.number();
        spoilt++;
        noticed += plan::prove_class(plan).unproved.size() > proof.unproved.size();
        size = before;
    };
    for (plan::Buffer& buffer : plan.buffers) {
        if (buffer.packed.empty()) spoil(buffer.bytes);
    }
    for (plan::Batch& batch : plan.run) {
        for (plan::Launch& launch : batch) spoil(launch.tasks);
    }
    EXPECT_EQ(noticed, spoilt) << program.name;
    EXPECT_GT(spoilt, 0) << program.name;
}

size_t accesses_unproved(const plan::Plan& plan) {
    const auto unproved = plan::prove_class(plan).unproved;
    return static_cast<size_t>(std::ranges::count_if(unproved, [](const std::string& what) { return what.contains(" accesses nothing "); }));
}

// Memory that is one element short, and an access that goes one element further with each step.
TEST_P(Sizes, what_leaves_a_buffer_is_not_proved) {
    const Program& program = programs()[GetParam()];
    const auto graph = graph_at(program, {{"n", 40}, {"m", 48}});
    ASSERT_TRUE(graph);
    plan::Plan plan = plan_of(*graph);
    const size_t before = accesses_unproved(plan);
    if (before > 0) return;
    for (plan::Buffer& buffer : plan.buffers) {
        const bool is_full = buffer.kind == plan::Buffer::Kind::output && !plan.growth_of(buffer.index);
        if (!is_full || !buffer.bytes.named()) continue;
        const Size whole = buffer.bytes;
        buffer.bytes -= bytes(buffer.dtype);
        EXPECT_GT(accesses_unproved(plan), before) << program.name << ": " << buffer.name << " is short";
        buffer.bytes = whole;
    }
    int moved = 0, noticed = 0;
    for (plan::Batch& batch : plan.run) {
        for (plan::Launch& launch : batch) {
            const auto& tree = *plan.trees[static_cast<size_t>(launch.tree)];
            for (size_t i = 0; i < launch.numbers.size(); i++) {
                if (!launch.numbers[i].named() || !tree.numbers[i].what.starts_with("stride of t")) continue;
                launch.numbers[i] += 1;
                moved++;
                noticed += accesses_unproved(plan) > before;
                launch.numbers[i] -= 1;
            }
        }
    }
    EXPECT_GE(noticed * 2, moved) << program.name << ": of " << moved;
}

size_t plans_of_a_class(const Program& program) {
    std::vector<SizeFacts> plans;
    std::mt19937 random(3);
    for (int i = 0; i < 40; i++) {
        const Names names = {{"n", 17 + static_cast<int64_t>(random() % 200)}, {"m", 17 + static_cast<int64_t>(random() % 200)}};
        if (std::ranges::any_of(plans, [&](const SizeFacts& facts) { return !facts.broken_by(names); })) continue;
        const auto graph = graph_at(program, names);
        if (!graph) return SIZE_MAX;
        plans.push_back(*plan_of(*graph).facts);
    }
    return plans.size();
}

// Of programs that say how many.
TEST(SizesOfAClass, have_few_plans) {
    for (const Program& program : programs()) {
        if (program.plans > 0) EXPECT_LE(plans_of_a_class(program), program.plans) << program.name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Sizes, testing::Range<size_t>(0, programs().size()));

}  // namespace
}  // namespace heddle::inference
